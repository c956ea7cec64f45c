// Package origin says which part of a model a kernel computes, where a compiler of graphs made it: torch.compile's Inductor. It reads no
// graph: whoever launches the kernel knows, and documents, sessions and their comparisons carry it.
package origin

import (
	"fmt"
	"path"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Origin is where one launch comes from.
type Origin struct {
	Text     string `json:"text"`             // all of it in a few words, as Check makes it; "" where no node is known
	Region   string `json:"region,omitempty"` // the names that the program gave to what it was doing, outermost first, with slashes
	Graph    string `json:"graph"`            // the compiler's number of the graph, such as "0/0"
	Backward bool   `json:"backward"`         // the graph computes gradients
	Nodes    []Node `json:"nodes"`            // what the kernel computes, in the order of the graph; none: the compiler did not say
	More     int64  `json:"more,omitempty"`   // operations beyond those, where not all fitted
}

// Node is an operation of a graph.
type Node struct {
	Node     string `json:"node"`               // its name in the graph
	Op       string `json:"op"`                 // what the program called: "aten.add.Tensor"
	Module   string `json:"module,omitempty"`   // of the model: "layers.0.norm (LayerNorm)"
	File     string `json:"file,omitempty"`     // of the user's program; "" unknown
	Line     uint32 `json:"line,omitempty"`     //
	Function string `json:"function,omitempty"` // in which the line stands
	Code     string `json:"code,omitempty"`     // of the line
}

// Bounds on what is carried.
const (
	MaxNodes = 256
	maxText  = 4096
)

// Check refuses what no compiler says, and puts the rest in words.
func (o *Origin) Check() error {
	if o == nil {
		return nil
	}
	if len(o.Nodes) > MaxNodes {
		return fault.Usagef("origin: %d nodes, at most %d are possible", len(o.Nodes), MaxNodes)
	}
	long := max(len(o.Region), len(o.Graph))
	for i := range o.Nodes {
		n := &o.Nodes[i]
		long = max(long, len(n.Node), len(n.Op), len(n.Module), len(n.File), len(n.Function), len(n.Code))
	}
	if long > maxText {
		return fault.Usagef("origin: a text of %d bytes, at most %d are possible", long, maxText)
	}
	o.More = max(o.More, 0)
	o.Text = o.sentence()
	return nil
}

// shown is how many operations a sentence names.
const shown = 4

// sentence says it in a few words: "aten.add.Tensor and aten.relu in layers.0 (Linear), at model.py:12, backward of graph 0/0". It is "" where
// the compiler said nothing of nodes.
func (o *Origin) sentence() string {
	if len(o.Nodes) == 0 {
		return ""
	}
	var b strings.Builder
	if ops := distinct(o.Nodes, func(n *Node) string { return n.Op }); len(ops) > 0 {
		b.WriteString(list(ops))
	} else {
		b.WriteString("operations without names")
	}
	if modules := distinct(o.Nodes, func(n *Node) string { return n.Module }); len(modules) > 0 {
		b.WriteString(" in " + list(modules))
	}
	if lines := distinct(o.Nodes, place); len(lines) > 0 {
		b.WriteString(", at " + list(lines))
	}
	direction := "graph"
	if o.Backward {
		direction = "backward of graph"
	}
	fmt.Fprintf(&b, ", %s %s", direction, o.Graph)
	if o.Region != "" {
		b.WriteString(", in " + o.Region)
	}
	if o.More > 0 {
		fmt.Fprintf(&b, "; %d operations more that are not listed", o.More)
	}
	return b.String()
}

func place(n *Node) string {
	if n.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(strings.ReplaceAll(n.File, `\`, "/")), n.Line)
}

// distinct lists what nodes say, each once, without what they do not say.
func distinct(nodes []Node, of func(*Node) string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for i := range nodes {
		if s := of(&nodes[i]); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func list(words []string) string {
	more := len(words) - shown
	if more > 0 {
		words = words[:shown]
		return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), more)
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

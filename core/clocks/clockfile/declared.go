package clockfile

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Declared is a file in which somebody states the offsets of clocks.
type Declared struct {
	Reference     int    // -1 when not stated, or stated by a name without a number
	ReferenceName string // as written where it has no number of its own, a host name or the id of a trace; else ""
	Nodes         []DeclaredNode
}

// DeclaredNode states one node's clock: at the instant AtNS of the reference's clock it is OffsetNS ahead, and gains DriftPPM.
type DeclaredNode struct {
	Node     int
	Name     string  // the key as written, "node1" or "1" or a host name; Node is -1 when the key holds no number
	OffsetNS int64   // positive: the node's clock is ahead of the reference's
	DriftPPM float64 // positive: it runs faster
	BoundNS  int64   // -1 when not stated
	AtNS     int64   // 0 when not stated, which is allowed only without drift
}

func (f *File) readTOML(ctx context.Context, src *file.Source) error {
	b, err := readAll(src, maxDocument)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fault.FromIO(src.Path(), err)
	}
	if depth(b) > maxDepth {
		return fault.Formatf(f.Path, fault.Unknown, "TOML nested deeper than %d", maxDepth).WithHint(Expected)
	}
	var doc map[string]any
	if _, err := toml.Decode(string(trimBOM(b)), &doc); err != nil {
		return fault.FromTOML(f.Path, "neither JSON nor TOML", err).WithHint(Expected)
	}
	if _, ok := doc["nodes"].(map[string]any); !ok {
		return fault.Formatf(f.Path, fault.Unknown, "a TOML file without a table [nodes.<id>]").WithHint(Expected)
	}
	if err := f.setKind(KindDeclared, 1); err != nil {
		return err
	}
	f.Lines = 1
	return f.declared(doc)
}

// depth returns the largest nesting of brackets, whatever they belong to: a guard for the recursive TOML parser.
func depth(b []byte) int {
	d, most := 0, 0
	for _, c := range b {
		switch c {
		case '[', '{':
			d++
			most = max(most, d)
		case ']', '}':
			d = max(0, d-1)
		}
	}
	return most
}

// declaredJSON reads {"reference": 0, "nodes": {"node1": {"offset_ns": 37000000, ...}}}.
func (f *File) declaredJSON(b []byte) error {
	doc := map[string]any{}
	err := object(b, func(key, value []byte) error {
		if string(key) != "nodes" {
			doc[string(key)] = jsonScalar(value)
			return nil
		}
		nodes := map[string]any{}
		doc["nodes"] = nodes
		return object(value, func(name, v []byte) error {
			fields := map[string]any{}
			if _, dup := nodes[string(name)]; dup {
				return fmt.Errorf("node %q is declared twice", clip(string(name)))
			}
			nodes[string(name)] = fields
			return object(v, func(k, x []byte) error {
				fields[string(k)] = jsonScalar(x)
				return nil
			})
		})
	})
	if err != nil {
		return fault.Formatf(f.Path, fault.Unknown, "declared offsets: %v", err).WithHint(declaredExample)
	}
	return f.declared(doc)
}

func jsonScalar(v []byte) any {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	if x, err := float(v); err == nil && v[0] != '"' {
		return x
	}
	return string(unquote(v))
}

const declaredExample = `expected for instance: [nodes.node1] with offset_ns = 37000000, drift_ppm = 120.0, at_ns = 1795226081526501402, bound_ns = 200`

// declared builds the Declared of a decoded document. Every key must be known: a misspelt one would silently change nothing.
func (f *File) declared(doc map[string]any) error {
	d := f.Declared
	d.Reference = -1
	nodes, _ := doc["nodes"].(map[string]any)
	if len(nodes) == 0 {
		return f.declaredErr("no nodes are declared: expected a table of them")
	}
	for _, k := range sortedKeys(doc) {
		switch k {
		case "nodes", "schema", "comment":
		case "reference":
			if err := d.setReference(doc[k]); err != nil {
				return f.declaredErr("%v", err)
			}
		default:
			return f.declaredErr("unknown key %q; known are reference and nodes", clip(k))
		}
	}
	if len(nodes) > maxEdges {
		return fault.New(fault.Limit, "declares %d nodes; %d are allowed", len(nodes), maxEdges).WithPath(f.Path)
	}
	seen := map[int]string{}
	for _, name := range sortedKeys(nodes) {
		fields, ok := nodes[name].(map[string]any)
		if !ok {
			return f.declaredErr("node %q is not a table", clip(name))
		}
		n := DeclaredNode{Node: -1, Name: name, BoundNS: -1}
		if id, ok := nodeOfKey(name); ok {
			n.Node = id
			if other, dup := seen[id]; dup {
				return f.declaredErr("node %d is declared twice, as %q and as %q", id, clip(other), clip(name))
			}
			seen[id] = name
		}
		if err := n.set(fields); err != nil {
			return f.declaredErr("node %q: %v", clip(name), err)
		}
		d.Nodes = append(d.Nodes, n)
	}
	if len(d.Nodes) == 0 {
		return f.declaredErr("declares no node")
	}
	sort.SliceStable(d.Nodes, func(i, j int) bool { return d.Nodes[i].Node < d.Nodes[j].Node })
	return nil
}

// setReference takes what the keys of nodes may be: a number, a number with a name in front, or another name.
func (d *Declared) setReference(v any) error {
	written := strings.TrimSpace(fmt.Sprint(v))
	if n, ok := nodeOfKey(written); ok {
		d.Reference = n
		return nil
	}
	if _, text := v.(string); !text || written == "" {
		return fmt.Errorf("reference %q is not a node", clip(fmt.Sprint(v)))
	}
	d.ReferenceName = written
	return nil
}

func (f *File) declaredErr(format string, args ...any) error {
	return fault.Formatf(f.Path, fault.Unknown, "declared offsets: "+format, args...).WithHint(declaredExample)
}

func (n *DeclaredNode) set(fields map[string]any) error {
	haveOffset := false
	for _, k := range sortedKeys(fields) {
		var err error
		switch k {
		case "offset_ns":
			n.OffsetNS, err = wholeNS(fields[k])
			haveOffset = true
		case "at_ns":
			n.AtNS, err = wholeNS(fields[k])
			if err == nil && n.AtNS <= 0 {
				err = fmt.Errorf("%d is not an instant", n.AtNS)
			}
		case "bound_ns":
			n.BoundNS, err = wholeNS(fields[k])
			if err == nil && n.BoundNS < 0 {
				err = fmt.Errorf("%d is negative", n.BoundNS)
			}
		case "drift_ppm":
			n.DriftPPM, err = number(fields[k])
		case "comment":
		default:
			err = fmt.Errorf("unknown key; known are offset_ns, drift_ppm, at_ns, bound_ns")
		}
		if err != nil {
			return fmt.Errorf("%s: %v", clip(k), err)
		}
	}
	switch {
	case !haveOffset:
		return fmt.Errorf("offset_ns is missing")
	case n.OffsetNS > maxOffsetNS || n.OffsetNS < -maxOffsetNS:
		return fmt.Errorf("offset_ns %d exceeds 10 years", n.OffsetNS)
	case math.Abs(n.DriftPPM) > 1e5:
		return fmt.Errorf("drift_ppm %g exceeds 10 %%", n.DriftPPM)
	case n.DriftPPM != 0 && n.AtNS == 0:
		return fmt.Errorf("drift_ppm needs at_ns: the instant, on the reference's clock, at which offset_ns holds")
	}
	return nil
}

// wholeNS accepts an integer, and a float only when it is integral and small enough to be exact.
func wholeNS(v any) (int64, error) {
	switch x := v.(type) {
	case int64:
		return x, nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), nil
		}
		return 0, fmt.Errorf("%v is not a whole number of ns", x)
	}
	return 0, fmt.Errorf("%v is not a whole number of ns", v)
}

func number(v any) (float64, error) {
	switch x := v.(type) {
	case int64:
		return float64(x), nil
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%v is not a number", v)
}

// nodeOfKey reads "3", "node3", "node-3", "rank_3".
func nodeOfKey(k string) (int, bool) {
	i := strings.LastIndexFunc(k, func(r rune) bool { return r < '0' || r > '9' })
	switch strings.TrimRight(strings.ToLower(k[:i+1]), "_-:. ") {
	case "", "node", "rank", "host", "process":
	default:
		return 0, false
	}
	n, err := strconv.Atoi(k[i+1:])
	return n, err == nil && n >= 0 && n <= MaxNode
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

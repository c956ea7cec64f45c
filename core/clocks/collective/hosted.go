package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
)

// PyTorch's gloo executes collectives on threads of the host. Its profiler writes a range for each execution, "gloo:all_reduce", with the shapes of
// the input and nothing of the process group or a number. So the order tells which belong together, and how often each rank executed what
// tells the group.

// hosts finds out whether collectives of the trace were executed on the host: where no kernel was one.
func (c *recordedReader) hosts() bool {
	c.onHost = c.distributed != nil && strings.Contains(c.distributed.Backend, "gloo") && len(c.part.Spans)+len(c.launched) == 0 && c.planes == nil
	return c.onHost
}

// hosted adds a collective that the host executed.
func (c *recordedReader) hosted(x *source.Call) {
	if c.part.ProcessGroups == nil {
		c.part.ProcessGroups = map[int32][][]int64{c.opt.Node: c.processGroups()}
	}
	_, name, _ := strings.Cut(x.Name, ":")
	name = collectiveName(name)
	op := Op{Key: "gloo/" + name, Kind: kindOfCollective(name), Ranked: true, Grouped: true}
	s := c.span(&x.Span, -1)
	switch op.Kind {
	case event.SendRecv, event.AllToAll: // nothing says between whom, or that everyone gives to everyone
		op.Kind = event.Unknown
	case event.Scatter, event.Gather: // of which the root has other inputs
	default:
		if n := elements(x.Shapes); n > 0 {
			op.Key += fmt.Sprintf(" of %d", n)
		}
	}
	s.Op = c.part.op(opID{key: op.Key}, func() Op { return op })
	c.part.add(s)
}

// processGroups lists the groups of several ranks that the trace's rank is in.
func (c *recordedReader) processGroups() (out [][]int64) {
	for _, g := range c.distributed.Groups {
		if len(g.Ranks) != g.Size || g.Size < 2 {
			continue
		}
		ranks := make([]int64, len(g.Ranks))
		for i, r := range g.Ranks {
			ranks[i] = int64(r)
		}
		out = append(out, ranks)
	}
	return out
}

const reasonGroup = "which of its process groups executed it is not recorded, and how often each rank did does not tell"

// settle finds the process group of operations that come without: the executions of a rank are those of all its groups together, and all
// members of a group executed the same ones.
func (p *Part) settle() {
	byKey := map[string][]int32{} // ops
	for i := range p.Ops {
		if p.Ops[i].Grouped {
			byKey[p.Ops[i].Key] = append(byKey[p.Ops[i].Key], int32(i))
		}
	}
	if len(byKey) == 0 {
		return
	}
	nodes := make([]int32, len(p.Ops)) // whose an op is
	counts := make([]int, len(p.Ops))
	for i := range p.Spans {
		nodes[p.Spans[i].Op], counts[p.Spans[i].Op] = p.Spans[i].Node, counts[p.Spans[i].Op]+1
	}
	for _, ops := range byKey {
		executed := map[int32]int{}
		for _, i := range ops {
			executed[nodes[i]] += counts[i]
		}
		of := groupsByCount(p.ProcessGroups, executed)
		for _, i := range ops {
			o := &p.Ops[i]
			if ranks := of[nodes[i]]; ranks != nil {
				o.Groups, o.Size = [][]int64{ranks}, len(ranks)
			} else {
				o.Broken = reasonGroup
			}
		}
	}
}

// unknownCount is that of a group of which it is not known yet how often it executed an operation.
const unknownCount = -1

// groupsByCount finds, for each node, the one of its groups that executed an operation, by how often the nodes did. nil: it was none, or several,
// or cannot be determined.
func groupsByCount(groups map[int32][][]int64, executed map[int32]int) map[int32][]int64 {
	count := map[string]int{}
	for _, list := range groups {
		for _, g := range list {
			count[fmt.Sprint(g)] = unknownCount
		}
	}
	nodes := slices.Sorted(maps.Keys(groups))
	for changed, rounds := true, 0; changed && rounds <= len(count); rounds++ {
		changed = false
		for _, node := range nodes {
			list := groups[node]
			left, open := executed[node], []string{}
			for _, g := range list {
				if n := count[fmt.Sprint(g)]; n == unknownCount {
					open = append(open, fmt.Sprint(g))
				} else {
					left -= n
				}
			}
			switch {
			case left < 0:
				return nil
			case left == 0: // nothing is left for the others
				for _, g := range open {
					count[g], changed = 0, true
				}
			case len(open) == 1:
				count[open[0]], changed = left, true
			}
		}
	}
	out := map[int32][]int64{}
	for node, list := range groups {
		var by [][]int64
		total, known := 0, true
		for _, g := range list {
			n := count[fmt.Sprint(g)]
			known = known && n != unknownCount
			if total += max(n, 0); n > 0 {
				by = append(by, g)
			}
		}
		if known && len(by) == 1 && total == executed[node] {
			out[node] = slices.Clone(by[0])
		}
	}
	return out
}

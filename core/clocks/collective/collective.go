// Package collective finds the collectives in the traces of several nodes, matches the executions that belong together, and
// says whether their order is possible: nobody can finish receiving before the sender began.
//
// Extraction reads what an event is from the trace itself: from the HLO module of its program where there is one, from the
// arguments that PyTorch records, and only as a flagged last resort from a name. Matching never shifts: executions whose
// partners are missing or unknown are counted as unmatched. Judging takes clocks from the caller and carries their
// error bounds into the verdict. The package draws no conclusion about clocks; docs/concepts/collectives.md explains the rules.
package collective

import (
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// MaxSpans is how many executions all nodes together may hold in memory unless the caller says otherwise: about 100 MiB.
const MaxSpans = 1 << 19

// PerNode returns the share of most executions for each of n nodes: a thousand at least, where there are as many.
func PerNode(most, n int) int {
	return max(most/max(n, 1), min(1<<10, most))
}

// Op is a collective operation as one node's trace describes it.
type Op struct {
	Key   string // what identifies it on every node; also what documents show
	Kind  event.Kind
	Guess bool // the kind was read from a name, for lack of anything better

	Grouped bool // one of the process groups of its rank executed it, and it is not recorded which: Join finds out

	Variant uint64     // fingerprint of the program, which tells programs of one name apart where executions have no run id
	Groups  [][]int64  // who takes part, by participant; nil: one group of everyone
	Pairs   []hlo.Pair // transfers of a permute or send-recv, by participant
	Devices []int64    // global device id of each participant; nil where not recorded
	Ranked  bool       // participants are ranks, one per node
	Size    int        // members of a group where Groups is nil; 0 unknown
	Rooted  bool       // Root is known; for Groups of HLO the root is the first member
	Root    int64      // participant, for Ranked ops
	Sends   bool       // the sending side of a send-recv
	Broken  string     // why groups or pairs are unusable; "" when they are fine
	Chain   string     // communicator, which executes its operations in one order on every device; "" where that is not so
	Phase   hlo.Phase
	Start   string // key of the operation that begins what this one, a Done, ends
}

// Slot is one device of one node.
type Slot struct{ Node, Device int32 }

// Part is what extraction found in one file.
type Part struct {
	Ops       []Op
	Spans     []event.Span // Op indexes Ops
	DeviceIDs map[Slot]int64
	Ranks     map[int32]int // node -> rank, where the trace or the caller says it
	Dropped   int64         // executions beyond the limit: the latest of each device
	Thinned   int64         // executions beyond the limit whose launches were left out, by lot, over the whole time
	Halvings  uint8         // how often half of the launches were left out
	Turns     map[Seat]Turn // of executions without a number: how many there were, and whether they came in order
	Shortest  []short       // where launches were left out: the shortest of each operation over the whole time
	Unknown   int64         // events of compiled programs that could be collectives but came without their program
	Warnings  []string
	Programs  *Programs // of an XSpace: what its compiled programs say

	// ProcessGroups are those of each node's rank, where operations come without theirs.
	ProcessGroups map[int32][][]int64

	rest    *Rest             // takes what there is no room for; nil: it is left out
	id      uint32            // of this part in rest
	number  int32             // of its node
	origins map[uint32]origin // of a joined part: the parts whose executions it holds, by their id in rest

	everyone  []Slot          // devices that executed anything; nil: those of Spans
	wanted    map[launch]bool // launches that are kept whatever is drawn
	short     *shortest       // nil before a launch is left out
	hashes    []uint64        // of the keys of Ops, as far as they were needed
	limit     int
	cut       bool  // executions from horizonNS on were left out
	horizonNS int64 // meaningful when cut
	byKey     map[opID]int32
	paired    []event.Span // starts and dones until finish joins them
}

// opID tells ops of one part apart.
type opID struct {
	key     string
	variant uint64
	extra   string
}

// begin makes the part of a node.
func begin(opt Options) *Part {
	p := newPart(opt.Limit)
	p.number = opt.Node
	if opt.Rest != nil {
		p.rest, p.id = opt.Rest, opt.Rest.part()
	}
	return p
}

func newPart(limit int) *Part {
	if limit <= 0 {
		limit = MaxSpans
	}
	return &Part{limit: limit, DeviceIDs: map[Slot]int64{}, Ranks: map[int32]int{}, Turns: map[Seat]Turn{}, byKey: map[opID]int32{}}
}

// op returns the index of the op of an id, made by build when it is new.
func (p *Part) op(id opID, build func() Op) int32 {
	if i, ok := p.byKey[id]; ok {
		return i
	}
	i := int32(len(p.Ops))
	p.Ops = append(p.Ops, build())
	p.byKey[id] = i
	return i
}

const maxWarnings = 50

func (p *Part) warn(text string) {
	for _, w := range p.Warnings {
		if w == text {
			return
		}
	}
	if len(p.Warnings) < maxWarnings {
		p.Warnings = append(p.Warnings, text)
	}
}

// Join puts parts together, in their order, for Match.
func Join(parts ...*Part) *Part {
	out := newPart(MaxSpans)
	n := 0
	for _, p := range parts {
		n += len(p.Spans)
	}
	out.Spans = make([]event.Span, 0, n)
	wanted := map[launch]bool{}
	for _, p := range parts { // all keep the launches that the fullest one keeps
		out.Halvings = max(out.Halvings, p.Halvings)
		for l := range p.wanted {
			wanted[l] = true
		}
	}
	out.wanted, out.origins = wanted, map[uint32]origin{}
	for _, p := range parts {
		p.wanted = wanted
		if p.Halvings < out.Halvings {
			p.thin(out.Halvings)
		}
		base := int32(len(out.Ops))
		if p.rest != nil {
			out.rest, out.origins[p.id] = p.rest, origin{base, p.number}
		}
		out.Ops = append(out.Ops, p.Ops...)
		for _, s := range p.Spans {
			s.Op += base
			out.Spans = append(out.Spans, s)
		}
		for at, turn := range p.Turns {
			at.Op += base
			out.Turns[at] = turn
		}
		for s, id := range p.DeviceIDs {
			out.DeviceIDs[s] = id
		}
		for n, r := range p.Ranks {
			out.Ranks[n] = r
		}
		for n, g := range p.ProcessGroups {
			if out.ProcessGroups == nil {
				out.ProcessGroups = map[int32][][]int64{}
			}
			out.ProcessGroups[n] = g
		}
		out.Dropped += p.Dropped
		out.Thinned += p.Thinned
		out.Unknown += p.Unknown
		for _, w := range p.Warnings {
			out.warn(w)
		}
	}
	out.settle()
	return out
}

// Renumber gives the part's spans another node number: parts are made before the nodes are put in order.
func (p *Part) Renumber(node int32) {
	for i := range p.Spans {
		p.Spans[i].Node = node
	}
	p.number = node
	ids := make(map[Slot]int64, len(p.DeviceIDs))
	for s, id := range p.DeviceIDs {
		ids[Slot{node, s.Device}] = id
	}
	p.DeviceIDs = ids
	turns := make(map[Seat]Turn, len(p.Turns))
	for at, turn := range p.Turns {
		at.Node = node
		turns[at] = turn
	}
	p.Turns = turns
	for old, r := range p.Ranks {
		if old != node {
			delete(p.Ranks, old)
			p.Ranks[node] = r
		}
	}
	for old, g := range p.ProcessGroups {
		if old != node {
			delete(p.ProcessGroups, old)
			p.ProcessGroups[node] = g
		}
	}
}

// Empty returns a part without executions.
func Empty(opt Options) *Part { return begin(opt) }

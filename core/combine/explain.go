package combine

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
)

// Explanation is why a node's clock is where it is: what rests_on of the node names, execution by execution.
type Explanation struct {
	Node    string       `json:"node"`
	AtMost  []TightOrder `json:"at_most"`  // what keeps its clock from being further ahead, tightest first
	AtLeast []TightOrder `json:"at_least"` // what keeps it from being further behind
	Ends    Residuals    `json:"ends"`
}

// TightOrder is an execution that one member left little later than another, whose data it needed, had entered.
type TightOrder struct {
	Key        string `json:"key"`
	Kind       string `json:"kind"`
	Occurrence int    `json:"occurrence"`
	Entered    string `json:"entered"`    // the node that had to enter first
	EnteredNS  int64  `json:"entered_ns"` // on the reference's clock
	Left       string `json:"left"`       // the node that left after it
	LeftNS     int64  `json:"left_ns"`
	RoomNS     int64  `json:"room_ns"` // what lies between: by more the clock cannot be off that way
}

// Residuals is how far the node left collectives, of which every member waits for every other, from the middle one of the others.
type Residuals struct {
	Executions int   `json:"executions"`
	P50NS      int64 `json:"p50_ns"` // of the distance
	P99NS      int64 `json:"p99_ns"`
	MaxNS      int64 `json:"max_ns"`
}

// mostExplained is how many executions either way an explanation lists.
const mostExplained = 5

// explain says what a node's clock rests on, if that was asked for. m is what was matched within the time range; nil: nothing.
func explain(in *inputs, c *clocks, m *collective.Matched) (*Explanation, error) {
	if in.req.Explain == "" {
		return nil, nil
	}
	k, err := findNode(in.nodes, in.req.Explain)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Node: in.nodes[k].ID, AtMost: []TightOrder{}, AtLeast: []TightOrder{}}
	if m == nil {
		return e, nil
	}
	x := explaining{in: in, shares: c.shares, center: c.shares.with(k), clock: c.clock(in), m: m, e: e}
	for i := range m.Groups {
		g := &m.Groups[i]
		m.Orders(g, func(givers, receivers []int32) { x.order(g, givers, receivers) })
	}
	slices.Sort(x.ends)
	if n := len(x.ends); n > 0 {
		e.Ends = Residuals{Executions: n, P50NS: x.ends[n/2], P99NS: x.ends[n*99/100], MaxNS: x.ends[n-1]}
	}
	return e, nil
}

// explaining gathers an explanation.
type explaining struct {
	in     *inputs
	shares sharing
	center int // the node whose clock is explained
	clock  collective.Clock
	m      *collective.Matched
	e      *Explanation
	ends   []int64
}

// own reports whether a member is on the clock that is explained.
func (x *explaining) own(g *collective.Group, i int32) bool {
	return x.shares.with(x.in.nodeOf(x.m.Part.Spans[g.Members[i].Span].Node)) == x.center
}

// instant is the begin or the end of a member's execution, on the reference's clock.
func (x *explaining) instant(g *collective.Group, i int32, end bool) int64 {
	s := &x.m.Part.Spans[g.Members[i].Span]
	at := s.StartNS
	if end {
		at = s.EndNS
	}
	y, _ := x.clock(s, at)
	return y
}

func (x *explaining) slot(g *collective.Group, i int32) string {
	s := &x.m.Part.Spans[g.Members[i].Span]
	return x.in.slot(collective.Slot{Node: s.Node, Device: s.Device})
}

// order looks at one statement: of the others the last that entered limits when the node left, the first that left when it entered.
func (x *explaining) order(g *collective.Group, givers, receivers []int32) {
	pick := func(list []int32, own, end bool) (best int32, at int64) {
		best = -1
		for _, i := range list {
			if x.own(g, i) != own {
				continue
			}
			if v := x.instant(g, i, end); best < 0 || end && v < at || !end && v > at {
				best, at = i, v
			}
		}
		return best, at
	}
	for _, own := range [2]bool{true, false} { // who entered
		giver, entered := pick(givers, own, false)
		receiver, left := pick(receivers, !own, true)
		if giver < 0 || receiver < 0 {
			continue
		}
		op := &x.m.Part.Ops[g.Op]
		o := TightOrder{
			Key: op.Key, Kind: op.Kind.String(), Occurrence: g.Occurrence, Entered: x.slot(g, giver), EnteredNS: entered,
			Left: x.slot(g, receiver), LeftNS: left, RoomNS: left - entered,
		}
		if own {
			x.e.AtLeast = keepTightest(x.e.AtLeast, o)
		} else {
			x.e.AtMost = keepTightest(x.e.AtMost, o)
		}
	}
	if x.m.Part.Ops[g.Op].Kind.Symmetric() {
		x.residual(g, receivers)
	}
}

func keepTightest(list []TightOrder, o TightOrder) []TightOrder {
	i, _ := slices.BinarySearchFunc(list, o, func(a, b TightOrder) int {
		return cmp.Or(cmp.Compare(a.RoomNS, b.RoomNS), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Occurrence, b.Occurrence))
	})
	if i >= mostExplained {
		return list
	}
	list = slices.Insert(list, i, o)
	return list[:min(len(list), mostExplained)]
}

// residual compares when the node left with the median of the others.
func (x *explaining) residual(g *collective.Group, members []int32) {
	var own, others []int64
	for _, i := range members {
		if v := x.instant(g, i, true); x.own(g, i) {
			own = append(own, v)
		} else {
			others = append(others, v)
		}
	}
	if len(own) == 0 || len(others) == 0 {
		return
	}
	slices.Sort(others)
	d := slices.Min(own) - others[len(others)/2]
	x.ends = append(x.ends, max(d, -d))
}

// findNode returns the index of the node that is called by its id, number or host.
func findNode(nodes []*Node, name string) (int, error) {
	k, err := findReference(nodes, name)
	if err != nil {
		return 0, fault.Usagef("there is no node %q to explain", name).WithHint("%s", fault.Of(err).Hint)
	}
	return k, nil
}

package combine

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
)

// Traces of one host share its wall clock, unless their collectives show otherwise: then each is taken to have a clock of its own.

// shareClocks finds the nodes that share the clock of another. m may be nil: then nothing shows otherwise.
func (t *task) shareClocks(m *collective.Matched) {
	byHost := map[string][]*Node{}
	var hosts []string
	for _, n := range t.nodes {
		host := t.probers.hostOf(n)
		if host == "" || !n.absolute || n.parts() > 1 {
			continue
		}
		if byHost[host] == nil {
			hosts = append(hosts, host)
		}
		byHost[host] = append(byHost[host], n)
	}
	t.shares = map[*Node]*Node{}
	for _, h := range hosts {
		list := byHost[h]
		if len(list) < 2 {
			continue
		}
		if key, found := t.impossibleAmong(m, list); found {
			t.warn("the traces %s are of one host, %s, and yet %s was impossible on one clock: each is taken to have a clock of its own", ids(list), list[0].Host, key)
			continue
		}
		center := list[0]
		if i := slices.Index(list, t.nodes[t.ref]); i >= 0 {
			center = list[i]
		}
		for _, n := range list {
			t.shares[n] = center
		}
		t.note("the traces %s are of one host, %s, and share its clock", ids(list), list[0].Host)
	}
}

// impossibleAmong looks for a collective of nodes that cannot have happened as they recorded it on one clock.
func (t *task) impossibleAmong(m *collective.Matched, list []*Node) (key string, found bool) {
	if m == nil {
		return "", false
	}
	read := t.wallClock()
	parties := t.parties()
	for gi := range m.Groups {
		g := &m.Groups[gi]
		m.Orders(g, func(givers, receivers []int32) {
			if found {
				return
			}
			var last, first int64
			gives, takes := false, false
			for _, i := range givers {
				s := &m.Part.Spans[g.Members[i].Span]
				if slices.Contains(list, t.nodes[parties[s.Node].node]) {
					at, bound := read(s, s.StartNS)
					if at -= bound; !gives || at > last {
						last, gives = at, true
					}
				}
			}
			for _, i := range receivers {
				s := &m.Part.Spans[g.Members[i].Span]
				if slices.Contains(list, t.nodes[parties[s.Node].node]) {
					at, bound := read(s, s.EndNS)
					if at += bound; !takes || at < first {
						first, takes = at, true
					}
				}
			}
			if gives && takes && first < last-roundedNS {
				key, found = fmt.Sprintf("%s (occurrence %d)", m.Part.Ops[g.Op].Key, g.Occurrence), true
			}
		})
		if found {
			return key, true
		}
	}
	return "", false
}

// roundedNS is what recorders of one host may have rounded instants by: those that write microseconds cut up to three off an order.
const roundedNS = 3000

// sharedWith is the node whose clock a node shares; itself where it shares none.
func (t *task) sharedWith(n *Node) *Node {
	if c := t.shares[n]; c != nil {
		return c
	}
	return n
}

func ids(list []*Node) string {
	s := ""
	for i, n := range list {
		switch {
		case i == 4 && len(list) > 5:
			return s + fmt.Sprintf(" and %d more", len(list)-4)
		case i > 0:
			s += ", "
		}
		s += n.ID
	}
	return s
}

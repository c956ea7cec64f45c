package combine

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
)

// Traces of one host share its wall clock, unless their collectives show otherwise: then each is taken to have a clock of its own.

// sharing is, by node, the place of the node whose clock it shares; nil: each has its own.
type sharing []int

// with is the place of the node whose clock node k shares; its own where it shares none.
func (s sharing) with(k int) int {
	if s == nil {
		return k
	}
	return s[k]
}

// allWith reports whether all of some nodes share the clock of one.
func (s sharing) allWith(k, nodes int) bool {
	for i := range nodes {
		if s.with(i) != k {
			return false
		}
	}
	return true
}

// shareClocks finds the nodes that share the clock of another. own reads the clocks of nodes as recorded.
func shareClocks(in *inputs, p probers, m *collective.Matched, own collective.Clock) (shares sharing, said remarks) {
	byHost := map[string][]int{}
	var hosts []string
	for k, n := range in.nodes {
		shares = append(shares, k)
		host := p.hostOf(n)
		if host == "" || !n.absolute || n.parts() > 1 {
			continue
		}
		if byHost[host] == nil {
			hosts = append(hosts, host)
		}
		byHost[host] = append(byHost[host], k)
	}
	for _, h := range hosts {
		list := byHost[h]
		if len(list) < 2 {
			continue
		}
		named, host := ids(in.nodes, list), in.nodes[list[0]].Host
		if key, found := impossibleAmong(in, m, own, list); found {
			said.warn("the traces %s are of one host, %s, and yet %s was impossible on one clock: each is taken to have a clock of its own", named, host, key)
			continue
		}
		center := list[0]
		if slices.Contains(list, in.ref) {
			center = in.ref
		}
		for _, k := range list {
			shares[k] = center
		}
		said.note("the traces %s are of one host, %s, and share its clock", named, host)
	}
	return shares, said
}

// impossibleAmong looks for a collective of nodes that cannot have happened as they recorded it on one clock.
func impossibleAmong(in *inputs, m *collective.Matched, own collective.Clock, list []int) (key string, found bool) {
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
				if slices.Contains(list, in.nodeOf(s.Node)) {
					at, bound := own(s, s.StartNS)
					if at -= bound; !gives || at > last {
						last, gives = at, true
					}
				}
			}
			for _, i := range receivers {
				s := &m.Part.Spans[g.Members[i].Span]
				if slices.Contains(list, in.nodeOf(s.Node)) {
					at, bound := own(s, s.EndNS)
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

// ids names the nodes at some places.
func ids(nodes []*Node, list []int) string {
	s := ""
	for i, k := range list {
		switch {
		case i == 4 && len(list) > 5:
			return s + fmt.Sprintf(" and %d more", len(list)-4)
		case i > 0:
			s += ", "
		}
		s += nodes[k].ID
	}
	return s
}

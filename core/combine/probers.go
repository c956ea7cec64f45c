package combine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// A prober measures the clock of a host, on which several processes of a job may run: its number is the place of the host in the list of
// peers, while traces are numbered by process. Where probers say which ranks are on their host, or traces and probers name their hosts, that
// relates them; elsewhere their numbers do.

// probers says whose clocks were measured.
type probers struct {
	of    map[*Node]*Node // nodes whose clock was measured -> the one by whose number the stamps know the clock
	ranks [][]int         // by prober, as probers state it
}

// probedBy is the node by whose number the probes know a node's clock.
func (t *task) probedBy(n *Node) *Node {
	if c := t.probers.of[n]; c != nil {
		return c
	}
	return n
}

// ofRank is the number of the prober that measures the clock of a rank.
func (p probers) ofRank(rank int) int {
	if i := slices.IndexFunc(p.ranks, func(ranks []int) bool { return slices.Contains(ranks, rank) }); i >= 0 {
		return i
	}
	return rank
}

// rankOf is the rank of a node as the job numbers its processes.
func rankOf(n *Node) int {
	if n.Rank != nil && *n.Rank >= 0 && *n.Rank <= clockfile.MaxNode {
		return int(*n.Rank)
	}
	return n.Number
}

// hostOf tells hosts apart: by their names, and where probers state the ranks on theirs, by these too. "" when the trace names none.
func (p probers) hostOf(n *Node) string {
	if i := slices.IndexFunc(p.ranks, func(ranks []int) bool { return slices.Contains(ranks, rankOf(n)) }); i >= 0 && n.Host != "" {
		return fmt.Sprintf("%s\n%d", n.Host, i)
	}
	return n.Host
}

// placeProbers relates probers to traces, and gives stamps the numbers of traces.
func (t *task) placeProbers(p *probes) {
	measured, how := t.byRank(p), "their ranks"
	if measured == nil {
		measured, how = t.byHostname(p), "the names of their hosts"
	}
	if len(measured) == 0 {
		return
	}
	if t.alone() { // the reference may be any node of the probes: they keep their numbers
		if n := t.nodes[0]; n.Number != measured[n] {
			t.note("%s has the clock that node %d of the probes measured, by %s", n.ID, measured[n], how)
			n.Number = measured[n]
		}
		return
	}
	named := map[int]*Node{} // the node of a prober whose number its stamps get
	for _, n := range append([]*Node{t.nodes[t.ref]}, t.nodes...) {
		if k, ok := measured[n]; ok && named[k] == nil {
			named[k] = n
		}
	}
	t.probers.of = map[*Node]*Node{}
	moved := false
	for n, k := range measured {
		t.probers.of[n] = named[k]
		moved = moved || n.Number != k
	}
	if !moved {
		return
	}
	t.numberNodes()
	t.renumber(p, measured, named)
	t.note("the clocks of %d traces are those that %d nodes of the probes measured, by %s", len(measured), len(named), how)
}

// renumber gives stamps the numbers of the nodes they are of, and those of other probers numbers that no node has.
func (t *task) renumber(p *probes, measured map[*Node]int, named map[int]*Node) {
	taken := map[int]bool{}
	for _, n := range t.nodes {
		if _, ok := measured[n]; ok {
			taken[n.Number] = true
		}
	}
	of := map[int32]int32{}
	number := func(k int32) int32 {
		to, ok := of[k]
		if ok {
			return to
		}
		switch n := named[int(k)]; {
		case n != nil:
			to = int32(n.Number)
		case taken[int(k)]:
			to = int32(clockfile.MaxNode + 3 + len(t.nodes) + int(k))
		default:
			to = k
		}
		of[k] = to
		return to
	}
	for i := range p.stamps {
		s := &p.stamps[i]
		s.Src, s.Dst = number(s.Src), number(s.Dst)
	}
	for i := range p.metas {
		p.metas[i].Node = int(number(int32(p.metas[i].Node)))
	}
}

// byRank finds the probers of nodes by the ranks that the probers state; nil where they state none, or not alike.
func (t *task) byRank(p *probes) map[*Node]int {
	var stated [][]int
	for _, one := range p.probers {
		switch {
		case one.Ranks == nil:
		case stated == nil:
			stated = one.Ranks
		case !reflect.DeepEqual(stated, one.Ranks):
			t.warn("the probes are of several jobs, which have other ranks on their hosts: they are taken by their numbers")
			return nil
		}
	}
	if stated == nil {
		return nil
	}
	t.probers.ranks = stated
	of := map[int]int{}
	for k, ranks := range stated {
		for _, r := range ranks {
			of[r] = k
		}
	}
	measured := map[*Node]int{}
	for _, n := range t.nodes {
		if k, ok := of[rankOf(n)]; ok && n.parts() < 2 {
			measured[n] = k
		}
	}
	return measured
}

// byHostname finds the probers of nodes by the names of their hosts. A name that several probers have, and a node that the user named, are
// left to their numbers.
func (t *task) byHostname(p *probes) map[*Node]int {
	of, twice := map[string]int{}, map[string]bool{}
	for _, one := range p.probers {
		name := hostname(one.Hostname)
		if k, ok := of[name]; ok && k != one.Node {
			twice[name] = true
		}
		of[name] = one.Node
	}
	measured := map[*Node]int{}
	for _, n := range t.nodes {
		name := hostname(n.Host)
		if k, ok := of[name]; ok && name != "" && !twice[name] && n.Source != "given" && n.parts() < 2 {
			measured[n] = k
		}
	}
	return measured
}

// hostname is the name of a host without its domain, as names are compared.
func hostname(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return strings.ToLower(name)
}

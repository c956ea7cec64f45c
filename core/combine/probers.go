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
	of    []int   // by node: the node by whose number the stamps know its clock; nil: each is known by its own
	ranks [][]int // by prober, as probers state it
}

// probedBy is the place of the node by whose number the probes know the clock of node k.
func (p probers) probedBy(k int) int {
	if p.of == nil {
		return k
	}
	return p.of[k]
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

// placeProbers relates probers to traces, gives stamps the numbers of traces, and says by which number each node is known then.
func placeProbers(in *inputs, p *probes) (found probers, numbers []int, said remarks) {
	for _, n := range in.nodes {
		numbers = append(numbers, n.Number)
	}
	found.ranks, said = statedRanks(p.probers)
	measured, how := byRank(in.nodes, found.ranks), "their ranks"
	if measured == nil {
		measured, how = byHostname(in.nodes, p.probers), "the names of their hosts"
	}
	if len(measured) == 0 {
		return found, numbers, said
	}
	if in.alone() { // the reference may be any node of the probes: they keep their numbers
		if k := measured[0]; numbers[0] != k {
			said.note("%s has the clock that node %d of the probes measured, by %s", in.nodes[0].ID, k, how)
			numbers[0] = k
		}
		return found, numbers, said
	}
	named := map[int]int{} // the node of a prober whose number its stamps get
	moved := false
	for _, k := range in.referenceFirst() {
		prober, ok := measured[k]
		if _, taken := named[prober]; ok && !taken {
			named[prober] = k
		}
		moved = moved || ok && numbers[k] != prober
	}
	for k := range in.nodes {
		found.of = append(found.of, k)
		if prober, ok := measured[k]; ok {
			found.of[k] = named[prober]
		}
	}
	if !moved {
		return found, numbers, said
	}
	numbers = allNumbered(numbers)
	renumber(p, numbers, measured, named)
	said.note("the clocks of %d traces are those that %d nodes of the probes measured, by %s", len(measured), len(named), how)
	return found, numbers, said
}

// allNumbered gives nodes that no clock file can speak of a number of their own.
func allNumbered(numbers []int) []int {
	out := slices.Clone(numbers)
	for k := range out {
		if out[k] < 0 {
			out[k] = clockfile.MaxNode + 3 + k
		}
	}
	return out
}

// renumber gives stamps the numbers of the nodes they are of, and those of other probers numbers that no node has.
func renumber(p *probes, numbers []int, measured, named map[int]int) {
	taken := map[int]bool{}
	for k := range measured {
		taken[numbers[k]] = true
	}
	of := map[int32]int32{}
	number := func(prober int32) int32 {
		to, ok := of[prober]
		if ok {
			return to
		}
		k, ok := named[int(prober)]
		switch {
		case ok:
			to = int32(numbers[k])
		case taken[int(prober)]:
			to = int32(clockfile.MaxNode + 3 + len(numbers) + int(prober))
		default:
			to = prober
		}
		of[prober] = to
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

// statedRanks are the ranks on the host of each prober; nil where they state none, or not alike.
func statedRanks(list []clockfile.Prober) (stated [][]int, said remarks) {
	for _, one := range list {
		switch {
		case one.Ranks == nil:
		case stated == nil:
			stated = one.Ranks
		case !reflect.DeepEqual(stated, one.Ranks):
			said.warn("the probes are of several jobs, which have other ranks on their hosts: they are taken by their numbers")
			return nil, said
		}
	}
	return stated, said
}

// byRank finds the probers of nodes, by their places, by the ranks that the probers state; nil where they state none.
func byRank(nodes []*Node, stated [][]int) map[int]int {
	if stated == nil {
		return nil
	}
	of := map[int]int{}
	for prober, ranks := range stated {
		for _, r := range ranks {
			of[r] = prober
		}
	}
	measured := map[int]int{}
	for k, n := range nodes {
		if prober, ok := of[rankOf(n)]; ok && n.parts() < 2 {
			measured[k] = prober
		}
	}
	return measured
}

// byHostname finds the probers of nodes by the names of their hosts. A name that several probers have, and a node that the user named, are
// left to their numbers.
func byHostname(nodes []*Node, list []clockfile.Prober) map[int]int {
	of, twice := map[string]int{}, map[string]bool{}
	for _, one := range list {
		name := hostname(one.Hostname)
		if k, ok := of[name]; ok && k != one.Node {
			twice[name] = true
		}
		of[name] = one.Node
	}
	measured := map[int]int{}
	for k, n := range nodes {
		name := hostname(n.Host)
		if prober, ok := of[name]; ok && name != "" && !twice[name] && n.Source != "given" && n.parts() < 2 {
			measured[k] = prober
		}
	}
	return measured
}

// hostname is the name of a host without its domain, as names are compared.
func hostname(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return strings.ToLower(name)
}

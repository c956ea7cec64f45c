package straggler

import (
	"cmp"
	"slices"
	"strings"
)

// mostBandwidths is how many rows Document.Bandwidths has at most.
const mostBandwidths = 1000

// busFactor is what nccl-tests multiplies the algorithm's bandwidth with to get the bus's, for n members.
func busFactor(kind string, n int) float64 {
	share := float64(n-1) / float64(max(n, 1))
	switch kind {
	case "all-reduce":
		return 2 * share
	case "all-gather", "reduce-scatter", "all-to-all", "gather", "scatter":
		return share
	}
	return 1
}

// moved is what operations are told apart by whose bandwidths are compared.
type moved struct {
	group, operation, kind string
	ranks                  int
	pair                   link
	bytes                  int64
}

// bandwidths fills Document.Bandwidths.
func (f *finder) bandwidths() {
	j := f.job
	members := make([][]int32, len(j.Ops))
	for e := range j.Events {
		if o := j.Events[e].Op; j.Ops[o].Bytes > 0 && f.counts[o] && len(j.Ops[o].Gates) > 0 {
			members[o] = append(members[o], int32(e))
		}
	}
	type times struct{ transfer, whole, bound []int64 }
	all := map[moved]*times{}
	for k := range j.Ops {
		if len(members[k]) < 2 {
			continue
		}
		o := &j.Ops[k]
		m := moved{group: o.Group, operation: o.Name, kind: o.Kind, ranks: o.Members, bytes: o.Bytes, pair: link{a: -1, b: -1}}
		if l := j.linkOf(int32(k)); l.a >= 0 && o.Members == 2 {
			m.pair = l
		}
		t := all[m]
		if t == nil {
			t = &times{}
			all[m] = t
		}
		transfer, whole, bound := j.transfers(members[k])
		t.transfer, t.whole, t.bound = append(t.transfer, transfer), append(t.whole, whole), append(t.bound, bound)
	}
	for m, t := range all {
		b := Bandwidth{Group: m.group, Operation: m.operation, Kind: m.kind, Ranks: m.ranks, Bytes: m.bytes, Pair: []string{}, Operations: len(t.transfer)}
		if m.pair.a >= 0 && m.pair.b >= 0 {
			b.Pair = append(b.Pair, j.Ranks[m.pair.a].ID, j.Ranks[m.pair.b].ID)
		}
		b.SlowestTransferNS = slices.Max(t.transfer)
		b.TransferNS, b.DurationNS, b.BoundNS = middle(t.transfer), middle(t.whole), middle(t.bound)
		factor := busFactor(m.kind, m.ranks)
		b.AlgorithmRate, b.BusRate = rates(m.bytes, b.TransferNS, factor)
		b.WholeAlgorithm, b.WholeBus = rates(m.bytes, b.DurationNS, factor)
		f.doc.Bandwidths = append(f.doc.Bandwidths, b)
	}
	slices.SortFunc(f.doc.Bandwidths, func(a, b Bandwidth) int {
		return cmp.Or(cmp.Compare(b.TransferNS*int64(b.Operations), a.TransferNS*int64(a.Operations)), strings.Compare(a.Group, b.Group), strings.Compare(a.Operation, b.Operation),
			cmp.Compare(a.Bytes, b.Bytes), slices.Compare(a.Pair, b.Pair), cmp.Compare(a.Ranks, b.Ranks), strings.Compare(a.Kind, b.Kind))
	})
	f.doc.Bandwidths = f.doc.Bandwidths[:min(len(f.doc.Bandwidths), mostBandwidths)]
}

// transfers is how long an operation took from when all were there: the time of the one that entered last, by that one's own clock. Where
// others may have been last, bound is by how much theirs differs. whole is the longest time of a member.
func (j *Job) transfers(members []int32) (transfer, whole, bound int64) {
	last := slices.MaxFunc(members, func(a, b int32) int { return cmp.Compare(j.Events[a].EnterNS, j.Events[b].EnterNS) })
	took := func(e int32) int64 { return max(j.Events[e].LeaveNS-j.Events[e].EnterNS, 0) }
	transfer = took(last)
	for _, e := range members {
		whole = max(whole, took(e))
		if j.Events[last].EnterNS-j.Events[e].EnterNS <= j.between(last, e) {
			bound = max(bound, took(e)-transfer, transfer-took(e))
		}
	}
	return transfer, whole, bound
}

// rates are the bandwidths of an algorithm and of the bus in bytes per second, 0 where no time is known.
func rates(bytes, ns int64, factor float64) (algorithm, bus int64) {
	if ns <= 0 {
		return 0, 0
	}
	rate := float64(bytes) / float64(ns) * 1e9
	return int64(rate + 0.5), int64(rate*factor + 0.5)
}

// middle is the median of a list, which it sorts.
func middle(list []int64) int64 {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

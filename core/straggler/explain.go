package straggler

import (
	"cmp"
	"slices"
)

// What a rank did before it was late is compared with what all ranks did before the same operation. A name that took longer than elsewhere explains a
// lateness where it makes up half of it; else a kind of names does, as all kernels of a slow device; else what it did is not seen.

// comparedEvents is how many events between the same two operations are compared at most; of more, some are drawn at equal distances.
const comparedEvents = 2048

// between2 are the classes of two operations that a rank executed one after the other.
type between2 struct{ from, to string }

// explain says of each lateness of a rank what took longer before it, where it is known what ranks did.
func (m *measures) explain(late []lateness) {
	j := m.job
	if j.Doing == nil {
		return
	}
	asked := map[between2][]int{}
	for i := range late {
		if l := &late[i]; !l.transfer && l.costNS > 0 && m.before[l.event] >= 0 {
			p := m.pairOf(l.event)
			asked[p] = append(asked[p], i)
		}
	}
	like := map[between2][]int32{}
	for e := range j.Events {
		if m.before[e] < 0 {
			continue
		}
		if p := m.pairOf(int32(e)); asked[p] != nil {
			like[p] = append(like[p], int32(e))
		}
	}
	several := map[string]int32{}
	for p, list := range asked {
		usual := m.usually(like[p])
		for _, i := range list {
			late[i].work = m.because(late[i].event, usual)
		}
	}
	for i := range late { // in the order of the chain, so that numbers do not depend on that of a map
		if l := &late[i]; l.work < between {
			kind := manyKinds[-l.work-2]
			n, ok := several[kind.Kind]
			if !ok {
				n = int32(len(j.Names))
				several[kind.Kind], j.Names = n, append(j.Names, kind)
			}
			l.work = n
		}
	}
}

// manyKinds are what is said where no single name explains a lateness.
var manyKinds = []Did{
	{"all its kernels", DidKernel},
	{"several copies", DidCopy},
	{"several calls of the host", DidHost},
	{"several other operations", DidCollective},
}

func (m *measures) pairOf(e int32) between2 {
	j := m.job
	return between2{j.Ops[j.Events[m.before[e]].Op].Class, j.Ops[j.Events[e].Op].Class}
}

// usually is the median time of each name in what events were preceded by; where a name does not occur it took none.
func (m *measures) usually(events []int32) map[int32]int64 {
	every := (len(events) + comparedEvents - 1) / comparedEvents
	took, n := map[int32][]int64{}, 0
	for i := 0; i < len(events); i += max(every, 1) {
		n++
		for name, ns := range m.doing(events[i]) {
			took[name] = append(took[name], ns)
		}
	}
	out := map[int32]int64{}
	for name, list := range took {
		if at := (n-1)/2 - (n - len(list)); at >= 0 { // the others took none
			slices.Sort(list)
			out[name] = list[at]
		}
	}
	return out
}

// doing sums up by name what the rank of an event did since it had left the operation before; between is what is not known.
func (m *measures) doing(e int32) map[int32]int64 {
	x := &m.job.Events[e]
	from, to := m.job.Events[m.before[e]].LeaveNS, x.EnterNS
	sums, rest := worked(m.job.Doing[x.Rank], from, to)
	if rest > 0 {
		sums[between] = rest
	}
	return sums
}

// worked sums up work by name between two instants. rest is the time in which none is known.
func worked(list []Work, from, to int64) (sums map[int32]int64, rest int64) {
	sums, rest = map[int32]int64{}, to-from
	at, _ := slices.BinarySearchFunc(list, from, func(w Work, t int64) int { return cmp.Compare(w.ToNS, t) })
	for _, w := range list[at:] {
		if w.FromNS >= to {
			break
		}
		if ns := min(w.ToNS, to) - max(w.FromNS, from); ns > 0 {
			sums[w.Name] += ns
			rest -= ns
		}
	}
	return sums, rest
}

// because is the name that took longer than usual before an event by half of all that took longer; below between: a place in manyKinds.
func (m *measures) because(e int32, usual map[int32]int64) int32 {
	j := m.job
	took := m.doing(e)
	for name := range usual {
		if _, ok := took[name]; !ok {
			took[name] = 0
		}
	}
	whole, most, worst := int64(0), between, int64(0)
	kinds := map[string]int64{}
	for name, ns := range took {
		over := ns - usual[name]
		whole += over
		if name == between {
			continue
		}
		kinds[j.Names[name].Kind] += over
		if over > worst || over == worst && over > 0 && name < most {
			most, worst = name, over
		}
	}
	if whole <= 0 || 2*worst >= whole {
		return most
	}
	for i, k := range manyKinds {
		if 2*kinds[k.Kind] >= whole {
			return between - 1 - int32(i)
		}
	}
	return between
}

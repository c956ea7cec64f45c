package straggler

import "slices"

// piece is a part of what a rank did between two operations: work of one name, or the rest.
type piece struct {
	what int32 // place in measures.kinds
	ns   int64
}

// measures says how long the same things take elsewhere.
type measures struct {
	job    *Job
	before []int32
	kinds  map[kind]int32
	names  []int32 // of work, by kind; between: of what lies between
	usual  []int64 // the median of each kind over all ranks
	over   []int64 // by event: by how much longer than usual its rank took before it
	most   []int32 // likewise: what took most of that
}

// kind is what is compared: work of a name, or what lies between two classes of operations.
type kind struct {
	name     int32 // -1: between
	from, to string
}

// between is the name of the time in which nothing is known to have run.
const between = int32(-1)

func (j *Job) measure(before []int32) *measures {
	m := &measures{job: j, before: before, kinds: map[kind]int32{}}
	var all [][]int64
	for e := range j.Events {
		for _, p := range m.pieces(int32(e)) {
			for int(p.what) >= len(all) {
				all = append(all, nil)
			}
			all[p.what] = append(all[p.what], p.ns)
		}
	}
	m.usual = make([]int64, len(all))
	for i, list := range all {
		slices.Sort(list)
		m.usual[i] = list[(len(list)-1)/2] // of two ranks that of the faster one
	}
	m.over, m.most = make([]int64, len(j.Events)), make([]int32, len(j.Events))
	for e := range j.Events {
		m.over[e], m.most[e] = m.exceeded(int32(e))
	}
	return m
}

// pieces lists what the rank of an event did since it had left the operation before. Nothing is known of what it did before its first one.
func (m *measures) pieces(e int32) (out []piece) {
	j, b := m.job, m.before[e]
	if b < 0 {
		return nil
	}
	x := &j.Events[e]
	from, to := j.Events[b].LeaveNS, x.EnterNS
	rest := to - from
	var sums map[int32]int64
	if j.Work != nil {
		sums, rest = worked(j.Work[x.Rank], from, to)
	}
	names := make([]int32, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, piece{m.kind(kind{name: name}), sums[name]})
	}
	return append(out, piece{m.kind(kind{between, j.Ops[j.Events[b].Op].Class, j.Ops[x.Op].Class}), max(rest, 0)})
}

func (m *measures) kind(k kind) int32 {
	n, ok := m.kinds[k]
	if !ok {
		n = int32(len(m.kinds))
		m.kinds[k], m.names = n, append(m.names, k.name)
	}
	return n
}

// excess is by how much longer than usual a rank took before an event, and what took most of that.
func (m *measures) excess(e int32) (ns int64, most int32) { return m.over[e], m.most[e] }

func (m *measures) exceeded(e int32) (ns int64, most int32) {
	worst := int64(0)
	most = between
	for _, p := range m.pieces(e) {
		over := p.ns - m.usual[p.what]
		ns += over
		if over > worst {
			worst, most = over, m.names[p.what]
		}
	}
	return ns, most
}

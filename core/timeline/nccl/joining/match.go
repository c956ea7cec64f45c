package joining

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/nccl/operation"
)

const (
	codeColl = 1
	codeP2P  = 2
)

// matchKey is what the parts of one operation have in common.
type matchKey struct {
	function   string
	sequence   uint64
	occurrence int32
	kind       operation.Kind
	from, to   int32 // of a send and its receive, else -1
}

// found is an operation of one communicator while its parts are looked for.
type found struct {
	key   matchKey
	parts []operation.Part
	place int32
}

// match finds the same operations. Members execute them in one order nearly always, so the one after the last is looked at first.
func (b *builder) match() {
	for ci := range b.out.Comms {
		c := &b.out.Comms[ci]
		m := matcher{b: b, comm: int32(ci), at: map[matchKey]int32{}}
		for seat := range c.Seats {
			if c.Seats[seat].Recording >= 0 {
				m.member(int32(seat), &c.Seats[seat])
			}
		}
		m.take()
	}
}

type matcher struct {
	b    *builder
	comm int32
	all  []found
	at   map[matchKey]int32
}

func (m *matcher) member(seat int32, s *operation.Seat) {
	r := m.b.out.Recordings[s.Recording]
	guess := int32(0)
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Member != s.Member {
			continue
		}
		k := matchKey{function: r.Name(op.Func), sequence: op.Sequence, occurrence: op.Occurrence, kind: op.Kind, from: -1, to: -1}
		switch op.Kind {
		case operation.Send:
			k = matchKey{occurrence: op.Occurrence, kind: operation.Send, from: seat, to: op.Peer}
		case operation.Recv:
			k = matchKey{occurrence: op.Occurrence, kind: operation.Send, from: op.Peer, to: seat}
		}
		n, ok := guess, int(guess) < len(m.all) && m.all[guess].key == k
		if !ok {
			if n, ok = m.at[k]; !ok {
				n = int32(len(m.all))
				m.at[k] = n
				m.all = append(m.all, found{key: k})
			}
		}
		m.all[n].parts = append(m.all[n].parts, operation.Part{Seat: seat, Rank: s.Rank, Recording: s.Recording, Op: int32(i)})
		guess = n + 1
	}
}

// doubtful reports whether it is not known which executions are the same: records were lost of operations that are told apart by
// counting them.
func (m *matcher) doubtful(f *found, repeated map[matchKey]bool) bool {
	code := codeColl
	if f.key.kind == operation.Send {
		code = codeP2P
	} else {
		k := f.key
		k.occurrence = 0
		if !repeated[k] {
			return false
		}
	}
	c := &m.b.out.Comms[m.comm]
	for i := range c.Seats {
		if n := c.Seats[i].Recording; n >= 0 && m.b.out.Recordings[n].Loss.ByCode[code] > 0 {
			if code == codeColl || int32(i) == f.key.from || int32(i) == f.key.to {
				return true
			}
		}
	}
	return false
}

// take makes matches of what was found.
func (m *matcher) take() {
	repeated := map[matchKey]bool{}
	for i := range m.all {
		if k := m.all[i].key; k.kind != operation.Send && k.occurrence > 0 {
			k.occurrence = 0
			repeated[k] = true
		}
	}
	m.place()
	doubtful := 0
	out := m.b.out
	for i := range m.all {
		f := &m.all[i]
		if m.doubtful(f, repeated) {
			doubtful++
			continue
		}
		match := operation.Match{Comm: m.comm, Kind: f.key.kind, Func: f.key.function, Sequence: f.key.sequence, Occurrence: f.key.occurrence, Place: f.place, From: int32(len(out.Parts))}
		if f.key.kind == operation.Send {
			match.Func = "Send"
			slices.SortStableFunc(f.parts, func(x, y operation.Part) int { return cmp.Compare(out.Op(&x).Kind, out.Op(&y).Kind) })
		}
		out.Parts = append(out.Parts, f.parts...)
		match.To = int32(len(out.Parts))
		out.Matches = append(out.Matches, match)
	}
	if doubtful > 0 {
		m.b.warn("%d operations of %s are not compared: records were lost or overwritten, and only counting tells them apart", doubtful, out.Comms[m.comm].Name)
	}
}

// place numbers operations in the order of the communicator: that of the members, merged.
func (m *matcher) place() {
	order := make([]int32, len(m.all))
	for i := range order {
		order[i] = int32(i)
	}
	rank := make([]int64, len(m.all)) // the latest place that a member executed it at
	count := map[int32]int64{}
	type seen struct {
		seat, op int32
		match    int32
	}
	var all []seen
	for i := range m.all {
		for _, p := range m.all[i].parts {
			all = append(all, seen{p.Seat, p.Op, int32(i)})
		}
	}
	slices.SortFunc(all, func(x, y seen) int { return cmp.Or(cmp.Compare(x.seat, y.seat), cmp.Compare(x.op, y.op)) })
	for _, s := range all {
		n := count[s.seat]
		count[s.seat] = n + 1
		rank[s.match] = max(rank[s.match], n)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(rank[x], rank[y]) })
	for n, i := range order {
		m.all[i].place = int32(n)
	}
}

// order sorts matches by communicator and place.
func (b *builder) order() {
	slices.SortStableFunc(b.out.Matches, func(x, y operation.Match) int {
		return cmp.Or(cmp.Compare(x.Comm, y.Comm), cmp.Compare(x.Place, y.Place))
	})
}

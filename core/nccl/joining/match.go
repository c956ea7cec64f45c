package joining

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
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
	rank  int64 // the latest place that a member executed it at
	place int32
	parts int32 // how many it has
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
	b     *builder
	comm  int32
	all   []found
	at    map[matchKey]int32
	parts []operation.Part // of all, member by member
	of    []int32          // by part: place in all
}

func (m *matcher) member(seat int32, s *operation.Seat) {
	r := m.b.out.Recordings[s.Recording]
	guess, executed := int32(0), int64(0)
	lastFunc, lastName := operation.None, ""
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Member != s.Member {
			continue
		}
		if op.Func != lastFunc {
			lastFunc, lastName = op.Func, r.Name(op.Func)
		}
		k := matchKey{function: lastName, sequence: op.Sequence, occurrence: op.Occurrence, kind: op.Kind, from: -1, to: -1}
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
		m.parts = append(m.parts, operation.Part{Seat: seat, Rank: s.Rank, Recording: s.Recording, Op: int32(i)})
		m.of = append(m.of, n)
		f := &m.all[n]
		f.parts++
		f.rank = max(f.rank, executed)
		executed++
		guess = n + 1
	}
}

// doubtful reports whether it is not known which executions are the same: records were lost of operations that are told apart by
// counting them.
func (m *matcher) doubtful(f *found, repeated map[matchKey]bool) bool {
	code := operation.CodeColl
	if f.key.kind == operation.Send {
		code = operation.CodeP2P
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
			if code == operation.CodeColl || int32(i) == f.key.from || int32(i) == f.key.to {
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
	grouped, begin := m.grouped()
	for i := range m.all {
		f := &m.all[i]
		if m.doubtful(f, repeated) {
			doubtful++
			continue
		}
		parts := grouped[begin[i]:begin[i+1]]
		match := operation.Match{Comm: m.comm, Kind: f.key.kind, Func: f.key.function, Sequence: f.key.sequence, Occurrence: f.key.occurrence, Place: f.place, From: int32(len(out.Parts))}
		if f.key.kind == operation.Send {
			match.Func = "Send"
			slices.SortStableFunc(parts, func(x, y operation.Part) int { return cmp.Compare(out.Op(&x).Kind, out.Op(&y).Kind) })
		}
		out.Parts = append(out.Parts, parts...)
		match.To = int32(len(out.Parts))
		out.Matches = append(out.Matches, match)
	}
	if doubtful > 0 {
		m.b.warn("%d operations of %s are not compared: records were lost or overwritten, and only counting tells them apart", doubtful, out.Comms[m.comm].Name)
	}
}

// grouped returns the parts operation by operation, and where those of each begin.
func (m *matcher) grouped() (parts []operation.Part, begin []int32) {
	begin = make([]int32, len(m.all)+1)
	for i := range m.all {
		begin[i+1] = begin[i] + m.all[i].parts
	}
	next := slices.Clone(begin)
	parts = make([]operation.Part, len(m.parts))
	for i, n := range m.of {
		parts[next[n]] = m.parts[i]
		next[n]++
	}
	m.parts, m.of = nil, nil
	return parts, begin
}

// place numbers operations in the order of the communicator: that of the members, merged.
func (m *matcher) place() {
	order := make([]int32, len(m.all))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(m.all[x].rank, m.all[y].rank) })
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

package offsets

import "slices"

// Meetings are executions that several clocks took part in, such as a collective: nobody whom it needed others for left before those had
// entered. Each is kept once with its members, however many pairs they make.
type Meetings struct {
	clocks  []Clock
	index   map[Clock]int32
	members []Presence
	ends    []int32 // of each meeting in members
	level   []bool  // whose members leave together where their network lets them: all wait for all

	// Steady says that nobody can set the clocks, as CLOCK_MONOTONIC: no step can go unseen.
	Steady bool
}

// Presence is one clock's part in a meeting.
type Presence struct {
	Clock   int32 // as Meetings.Clock numbers it; they ascend within a meeting
	Gives   bool  // others could not leave before this one had entered
	Takes   bool  // this one could not leave before the givers had entered
	EnterNS int64 // on the clock
	LeftNS  int64
}

// Clock gives a clock its number.
func (m *Meetings) Clock(c Clock) int32 {
	if m.index == nil {
		m.index = map[Clock]int32{}
	}
	i, ok := m.index[c]
	if !ok {
		i = int32(len(m.clocks))
		m.index[c] = i
		m.clocks = append(m.clocks, c)
	}
	return i
}

// Add adds a meeting, whose members it copies.
func (m *Meetings) Add(members []Presence) {
	level := true
	for _, p := range members {
		level = level && p.Gives && p.Takes
	}
	m.members = append(m.members, members...)
	m.ends = append(m.ends, int32(len(m.members)))
	m.level = append(m.level, level)
}

// without returns the meetings but some.
func (m *Meetings) without(out map[int32]bool) *Meetings {
	kept := &Meetings{clocks: m.clocks, index: m.index}
	for i := range m.Len() {
		if !out[int32(i)] {
			kept.Add(m.Of(i))
		}
	}
	return kept
}

// Len returns how many meetings there are.
func (m *Meetings) Len() int {
	if m == nil {
		return 0
	}
	return len(m.ends)
}

// Of returns the members of a meeting.
func (m *Meetings) Of(i int) []Presence {
	from := int32(0)
	if i > 0 {
		from = m.ends[i-1]
	}
	return m.members[from:m.ends[i]]
}

// usable reports whether an instant is one that can be aligned.
func (p *Presence) usable() bool {
	return p.EnterNS >= 0 && p.LeftNS >= p.EnterNS && p.LeftNS < maxInstant
}

// Meet adds meetings to the graph: each pair of members is bound by what both went through, and all of them together. Edges are made from one
// member of each meeting to the others, so that their number is that of the members: from the root of a
// rooted operation, else from the reference where it is there, else from the clock that met the most others.
func (g *Graph) Meet(m *Meetings, reference Clock) {
	g.meetings = m
	rank := m.ranks(reference)
	for i := range m.Len() {
		list := m.Of(i)
		hub := hubOf(list, rank)
		for k := range list {
			if k != hub && list[k].usable() && list[hub].usable() {
				g.bind(m, &list[hub], &list[k])
			}
		}
	}
}

// hubOf is the member that the others are bound to: the one that alone gives or takes, else the best center.
func hubOf(list []Presence, rank []int) int {
	gives, takes := 0, 0
	best, giver, taker := 0, 0, 0
	for k, p := range list {
		if p.Gives {
			gives, giver = gives+1, k
		}
		if p.Takes {
			takes, taker = takes+1, k
		}
		if rank[p.Clock] < rank[list[best].Clock] {
			best = k
		}
	}
	switch {
	case gives == 1:
		return giver
	case takes == 1:
		return taker
	}
	return best
}

// bind says of two members what each must have seen of the other.
func (g *Graph) bind(m *Meetings, a, b *Presence) {
	for range 2 {
		if a.Gives && b.Takes {
			g.Between(m.clocks[a.Clock], m.clocks[b.Clock], Collectives).Before(m.clocks[a.Clock], a.EnterNS, b.LeftNS)
		}
		a, b = b, a
	}
}

// ranks orders clocks by how good a center they are: the reference first, then who met the most others.
func (m *Meetings) ranks(reference Clock) []int {
	met := make([]int, len(m.clocks))
	for i := range m.Len() {
		list := m.Of(i)
		for _, p := range list {
			met[p.Clock] += len(list)
		}
	}
	order := make([]int, len(m.clocks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case m.clocks[a] == reference:
			return -1
		case m.clocks[b] == reference:
			return 1
		case met[a] != met[b]:
			return met[b] - met[a]
		}
		return m.clocks[a].compare(m.clocks[b])
	})
	rank := make([]int, len(order))
	for place, i := range order {
		rank[i] = place
	}
	return rank
}

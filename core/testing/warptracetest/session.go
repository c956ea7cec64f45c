package warptracetest

import "fmt"

// Sessions says how to make two sessions of launches. The zero value of a field takes the default.
type Sessions struct {
	Seed     uint64
	Launches int // of the first, default 12
	Inserted int // launches that only the second has
	Missing  int // launches that only the first has
	Changed  int // launches of the second that run a kernel with a bug
	Warps    int // of each launch, default 8
}

// SessionTruth says which launches belong together, by position.
type SessionTruth struct {
	Pairs []SessionPair `json:"pairs"`  // ascending
	OnlyA []int         `json:"only_a"` // launches that the second session misses
	OnlyB []int         `json:"only_b"` // launches that were inserted into it
}

// SessionPair are two launches of the same work.
type SessionPair struct {
	A       int         `json:"a"`
	B       int         `json:"b"`
	Differs bool        `json:"differs"`
	First   *Difference `json:"first,omitempty"`
	Bug     *Bug        `json:"bug,omitempty"`
}

// launched is one launch of a session before it runs.
type launched struct {
	program *Program
	launch  Launch
	a       int // position in the first session, -1: inserted
	bug     bool
}

// Make runs both sessions: the steps of a training loop, each with the same few kernels on other data. An inserted launch has a grid
// and arguments that no other has.
func (s Sessions) Make() (a, b []*Recording, truth *SessionTruth) {
	if s.Launches == 0 {
		s.Launches = 12
	}
	if s.Warps == 0 {
		s.Warps = 8
	}
	r := NewRandom(s.Seed, 8)
	programs := make([]*Program, 3)
	for i := range programs {
		programs[i] = NewProgram(Config{Seed: s.Seed*16 + uint64(i), Kernel: fmt.Sprintf("%s_%d", kernelNames[(int(s.Seed%6)+i)%len(kernelNames)], i), Size: 3})
	}
	var second []launched
	for i := range s.Launches {
		l := launched{program: programs[i%len(programs)], a: i, launch: Launch{Warps: s.Warps, Data: s.Seed*1000 + uint64(i) + 1}}
		l.launch.Index = uint64(i)
		a = append(a, l.program.Run(l.launch))
		second = append(second, l)
	}
	truth = &SessionTruth{Pairs: []SessionPair{}, OnlyA: []int{}, OnlyB: []int{}}
	gone := pick(r, s.Launches, s.Missing)
	for i := len(second) - 1; i >= 0; i-- {
		if gone[i] {
			second = append(second[:i], second[i+1:]...)
		}
	}
	for i := range s.Launches {
		if gone[i] {
			truth.OnlyA = append(truth.OnlyA, i)
		}
	}
	for i := range pick(r, len(second), s.Changed) {
		second[i].bug = true
	}
	for k := range s.Inserted {
		l := launched{program: programs[r.Below(len(programs))], a: -1, launch: Launch{Warps: s.Warps + 4*(k+1), Data: s.Seed*1000 + 500 + uint64(k)}}
		at := r.Below(len(second) + 1)
		second = append(second[:at], append([]launched{l}, second[at:]...)...)
	}
	for i, l := range second {
		b = append(b, l.run(i, truth, a))
	}
	return a, b, truth
}

// run runs a launch of the second session and notes what it belongs to.
func (l *launched) run(i int, truth *SessionTruth, a []*Recording) *Recording {
	l.launch.Index = uint64(i)
	p := l.program
	if l.bug {
		var err error
		if p, err = p.WithBug("compare"); err != nil {
			panic(err)
		}
	}
	rec := p.Run(l.launch)
	if l.a < 0 {
		truth.OnlyB = append(truth.OnlyB, i)
		return rec
	}
	pair := SessionPair{A: l.a, B: i, Bug: p.Bug}
	if d := Compare(a[l.a], rec, WithValues); len(d) > 0 {
		pair.Differs, pair.First = true, &d[0]
	}
	truth.Pairs = append(truth.Pairs, pair)
	return rec
}

// pick chooses n of the numbers below all.
func pick(r *Random, all, n int) map[int]bool {
	out := map[int]bool{}
	for len(out) < min(n, all) {
		out[r.Below(all)] = true
	}
	return out
}

package simt

// Statements of structured programs in which lanes spin on words that other lanes of their warp write. Every wait ends under a fair
// schedule: who is waited for waits for nobody, or for a lane below it, before it writes.

// spin writes one such statement of the lanes that come to it together.
func (s *structured) spin() {
	s.put("activemask.b32 %%m;")
	line := s.line
	s.op(structuredOp{line: line, kind: opMeet, guard: -1, meet: &meeting{line: line, name: "activemask", target: -1, kept: true}})
	first := 32 * s.spinWords
	s.spinWords++
	switch s.IntN(3) {
	case 0:
		s.spinOnLeader(first)
	case 1:
		s.spinOnNext(first)
	case 2:
		s.spinOnLock(first)
	}
}

// look writes the loop, in which lanes look at the word at %f until it is not 0.
func (s *structured) look(first int, which func(*twinLane, *cell) int) {
	again := s.fresh()
	s.at(again)
	s.put("ld.volatile.global.u32 %%s, [%%f+%d];", 4*first)
	s.put("setp.eq.u32 %%q, %%s, 0;")
	s.put("@%%q bra %s;", again)
	s.op(structuredOp{kind: opSpin, guard: -1, try: func(l *twinLane) bool { return l.warp.flags[first+which(l, l.cell())] != 0 }})
}

// set writes the word at %f.
func (s *structured) set(first int, which func(*twinLane, *cell) int) {
	s.put("st.volatile.global.u32 [%%f+%d], 1;", 4*first)
	s.op(structuredOp{guard: -1, do: func(l *twinLane, c *cell) { l.warp.flags[first+which(l, c)] = 1 }})
}

// between writes what lanes do before they write a word, or behind the loop in which they spun.
func (s *structured) between() {
	for range s.IntN(3) {
		switch s.IntN(4) {
		case 0:
			s.store()
		case 1:
			d := s.reg()
			line := s.put("activemask.b32 %%r%d;", d)
			s.op(structuredOp{line: line, kind: opMeet, guard: -1, meet: &meeting{line: line, name: "activemask", target: d}})
		case 2:
			a, d := s.reg(), s.reg()
			line := s.put("atom.global.add.u32 %%r%d, [%%counter], %%r%d;", d, a)
			s.op(structuredOp{line: line, kind: opAtomic, guard: -1, meet: &meeting{line: line, name: "atom", source: a, target: d}})
		default:
			s.compute()
		}
	}
}

// chosen lets those lanes skip what follows for whom %q holds.
func (s *structured) chosen(label string, holds func(*twinLane, *cell) bool) int {
	line := s.put("@%%q bra %s;", label)
	return s.op(structuredOp{line: line, kind: opGo, guard: -1, when: holds})
}

func leaderOf(_ *twinLane, c *cell) int { return lowest(c.mask) }

// spinOnLeader lets all but the lowest lane wait for it, in either arm of a branch.
func (s *structured) spinOnLeader(first int) {
	s.put("neg.s32 %%s, %%m;")
	s.put("and.b32 %%s, %%s, %%m;")
	s.put("bfind.u32 %%s, %%s;")
	s.put("mul.wide.u32 %%f, %%s, 4;")
	s.put("add.s64 %%f, %%f, %%flags;")
	s.put("mov.u32 %%t, %%laneid;")
	leads := s.IntN(2) == 0 // who leads goes to the second arm
	s.put("setp.%s.u32 %%q, %%s, %%t;", map[bool]string{true: "eq", false: "ne"}[leads])
	other, end := s.fresh(), s.fresh()
	skip := s.chosen(other, func(l *twinLane, c *cell) bool { return (leaderOf(l, c) == l.number) == leads })
	arm := func(leader bool) {
		if leader {
			s.between()
			s.set(first, leaderOf)
		} else {
			s.look(first, leaderOf)
		}
		s.between()
	}
	arm(!leads)
	over := s.jump(end)
	s.here(skip)
	s.at(other)
	arm(leads)
	s.here(over)
	s.at(end)
}

// spinOnNext lets each lane wait for the next one below it, as in a scan that looks back.
func (s *structured) spinOnNext(first int) {
	below := func(l *twinLane, c *cell) int { return highest(c.mask & (1<<l.number - 1)) }
	s.put("mov.u32 %%s, %%lanemask_lt;")
	s.put("and.b32 %%s, %%s, %%m;")
	s.put("setp.eq.u32 %%q, %%s, 0;")
	s.put("bfind.u32 %%s, %%s;")
	s.put("mul.wide.u32 %%f, %%s, 4;")
	s.put("add.s64 %%f, %%f, %%flags;")
	free := s.fresh()
	skip := s.chosen(free, func(l *twinLane, c *cell) bool { return below(l, c) < 0 })
	s.look(first, below)
	s.here(skip)
	s.at(free)
	s.between()
	s.put("mov.u32 %%t, %%laneid;")
	s.put("mul.wide.u32 %%f, %%t, 4;")
	s.put("add.s64 %%f, %%f, %%flags;")
	s.set(first, func(l *twinLane, _ *cell) int { return l.number })
}

// spinOnLock lets one lane after the other hold a lock.
func (s *structured) spinOnLock(first int) {
	again := s.fresh()
	s.at(again)
	s.put("atom.global.cas.b32 %%s, [%%flags+%d], 0, 1;", 4*first)
	s.put("setp.ne.u32 %%q, %%s, 0;")
	s.put("@%%q bra %s;", again)
	s.op(structuredOp{kind: opSpin, guard: -1, try: func(l *twinLane) bool {
		free := l.warp.flags[first] == 0
		l.warp.flags[first] = 1
		return free
	}})
	s.between()
	s.put("atom.global.exch.b32 %%s, [%%flags+%d], 0;", 4*first)
	s.op(structuredOp{guard: -1, do: func(l *twinLane, _ *cell) { l.warp.flags[first] = 0 }})
}

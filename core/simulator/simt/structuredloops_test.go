package simt

// The statements of structured programs that branch: if and else, loops of every form, break and continue.

// choice writes an if, often with an else.
func (s *structured) choice() {
	p, end := s.condition(), s.fresh()
	if s.IntN(2) == 0 {
		skip := s.branch(p, true, end)
		s.block()
		s.here(skip)
		s.at(end)
		return
	}
	other := s.fresh()
	skip := s.branch(p, true, other)
	s.block()
	over := s.jump(end)
	s.here(skip)
	s.at(other)
	s.block()
	s.here(over)
	s.at(end)
}

// loop writes a loop of at most three passes, in one of four forms.
func (s *structured) loop() {
	i, a, mask := s.counters, s.reg(), uint32(1+s.IntN(3))
	s.counters++
	s.put("and.b32 %%n%d, %%r%d, %d;", i, a, mask)
	head, l := s.fresh(), structuredLoop{out: s.fresh(), next: s.fresh()}
	form, first := s.IntN(4), 0
	if form == 2 && s.waits {
		form = 0
	}
	if form == 3 {
		first = -1
	}
	s.put("mov.b32 %%c%d, %d;", i, first)
	s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) { c.bound[i], c.count[i] = int32(c.r[a]&mask), int32(first) }})
	enter := s.op(structuredOp{kind: opEnter, guard: -1})
	count := func() {
		s.put("add.s32 %%c%d, %%c%d, 1;", i, i)
		s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) { c.count[i]++ }})
	}
	test := func(name string, label string, holds func(count, bound int32) bool) int {
		s.put("setp.%s.s32 %%p0, %%c%d, %%n%d;", name, i, i)
		s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) { c.p[0] = holds(c.count[i], c.bound[i]) }})
		return s.branch(0, false, label)
	}
	beyond, before := func(c, n int32) bool { return c >= n }, func(c, n int32) bool { return c < n }
	// again is an instruction in forms 0 and 3; else a branch of the text leads to the head itself
	again := func(at int, empty bool) { s.op(structuredOp{kind: opAgain, guard: -1, to: at, empty: empty}) }
	whole := enter + 1
	switch form {
	case 0, 3: // tested where a pass begins; in form 3 counted there, so that continue goes there
		s.at(head)
		if form == 3 {
			l.next = head
			count()
		}
		l.toOut = append(l.toOut, test("ge", l.out, beyond))
		l = s.passes(l)
		if form == 0 {
			s.at(l.next)
			s.here(l.toNext...)
			count()
		}
		s.put("bra %s;", head)
		again(whole, false)
		if form == 3 {
			s.here(l.toNext...)
			again(whole, true)
		}
	case 1: // tested where a pass ends
		s.at(head)
		l = s.passes(l)
		s.at(l.next)
		s.here(l.toNext...)
		count()
		back := test("lt", head, before)
		s.f.ops[back].to = len(s.f.ops) + 1
		l.toOut = append(l.toOut, s.op(structuredOp{kind: opGo, guard: -1, empty: true}))
		again(whole, true)
	case 2: // entered at its test, behind the body
		into := s.jump(l.next + "T")
		s.at(head)
		body := len(s.f.ops)
		l = s.passes(l)
		s.at(l.next)
		s.here(l.toNext...)
		count()
		s.at(l.next + "T")
		s.here(into)
		back := test("lt", head, before)
		s.f.ops[back].to = len(s.f.ops) + 1
		l.toOut = append(l.toOut, s.op(structuredOp{kind: opGo, guard: -1, empty: true}))
		again(body, true)
	}
	s.at(l.out)
	s.here(l.toOut...)
	for _, o := range l.toOut {
		s.f.ops[o].loop++
	}
}

// passes writes the body of a loop and returns what the loop knows then.
func (s *structured) passes(l structuredLoop) structuredLoop {
	s.loops = append(s.loops, l)
	s.block()
	last := len(s.loops) - 1
	l = s.loops[last]
	s.loops = s.loops[:last]
	return l
}

// jumpOut writes break or continue, of the innermost loop or of one around it, often with something to do before.
func (s *structured) jumpOut() {
	p, skip := s.condition(), s.fresh()
	levels := 1
	if len(s.loops) > 1 && s.IntN(3) == 0 {
		levels = 2
	}
	l := len(s.loops) - levels
	next := s.IntN(2) == 0
	label := s.loops[l].out
	if next {
		label = s.loops[l].next
	}
	var jump int
	if s.IntN(2) == 0 {
		jump = s.branch(p, false, label)
	} else {
		over := s.branch(p, true, skip)
		s.work()
		jump = s.jump(label)
		s.here(over)
		s.at(skip)
	}
	s.f.ops[jump].loop = levels - 1 // the loop itself is left where its end is known
	if next {
		s.loops[l].toNext = append(s.loops[l].toNext, jump)
	} else {
		s.loops[l].toOut = append(s.loops[l].toOut, jump)
	}
}

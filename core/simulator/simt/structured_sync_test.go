package simt

import "slices"

// What lanes of structured programs do in the arms of a branch with each other, and where the ways of a branch come together.

// exchange writes a branch in both arms of which lanes exchange values with all that came to it.
func (s *structured) exchange() {
	line := s.put("activemask.b32 %%m;")
	s.op(structuredOp{line: line, kind: opMeet, guard: -1, meet: &meeting{line: line, name: "activemask", target: -1, kept: true}})
	if s.groups {
		s.partition()
	}
	name := []string{"ballot", "redux", "match", "shfl"}[s.IntN(4)]
	p, end, other := s.condition(), s.fresh(), s.fresh()
	skip := s.branch(p, true, other)
	arm := func() {
		for range s.IntN(3) {
			s.compute()
		}
		a, d := s.reg(), s.reg()
		m := &meeting{name: name, kept: true, source: a, target: d}
		switch name {
		case "ballot":
			m.predicate = s.condition()
			m.line = s.put("vote.sync.ballot.b32 %%r%d, %%p%d, %%m;", d, m.predicate)
		case "redux":
			m.line = s.put("redux.sync.add.u32 %%r%d, %%r%d, %%m;", d, a)
		case "match":
			m.line = s.put("match.any.sync.b32 %%r%d, %%r%d, %%m;", d, a)
		case "shfl":
			m.by = s.IntN(32)
			m.line = s.put("shfl.sync.bfly.b32 %%r%d, %%r%d, %d, 31, %%m;", d, a, m.by)
		}
		s.op(structuredOp{line: m.line, kind: opMeet, guard: -1, meet: m})
		if name == "shfl" {
			s.put("mov.u32 %%t, %%laneid;")
			s.put("xor.b32 %%t, %%t, %d;", m.by)
			s.put("shr.u32 %%t, %%m, %%t;")
			s.put("and.b32 %%t, %%t, 1;")
			s.put("mul.lo.s32 %%r%d, %%r%d, %%t;", d, d)
		}
	}
	arm()
	over := s.jump(end)
	s.here(skip)
	s.at(other)
	if s.IntN(4) > 0 {
		arm()
	}
	s.here(over)
	s.at(end)
}

// partition takes those lanes out of the mask that differ in one bit of their number.
func (s *structured) partition() {
	shift := s.IntN(5)
	clear := []uint32{0x55555555, 0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff}[shift]
	s.put("mov.u32 %%t, %%laneid;")
	s.put("and.b32 %%t, %%t, %d;", 1<<shift)
	s.put("setp.eq.u32 %%p0, %%t, 0;")
	s.put("selp.b32 %%t, %d, %d, %%p0;", clear, ^clear)
	s.put("and.b32 %%m, %%m, %%t;")
	s.op(structuredOp{guard: -1, do: func(l *twinLane, c *cell) {
		if c.p[0] = l.number>>shift&1 == 0; c.p[0] {
			c.mask &= clear
		} else {
			c.mask &^= clear
		}
	}})
}

// follow lists the operations that can come behind one; that behind the last is the end of the function.
func (f *structuredFunction) follow(at int) (next []int) {
	o, end := &f.ops[at], len(f.ops)
	guarded := o.guard >= 0 || o.when != nil
	switch o.kind {
	case opGo:
		next = append(next, o.to)
	case opAgain:
		return []int{o.to}
	case opSwitch:
		return o.cases
	case opReturn, opEnd:
		next = append(next, end)
	case opTrap:
	case opSpin:
		return []int{at, at + 1}
	case opCall:
		guarded = guarded || o.call.comesBack()
	default:
		guarded = true
	}
	if guarded {
		next = append(next, at+1)
	}
	return next
}

// comesBack reports whether control can come back from a function.
func (f *structuredFunction) comesBack() bool {
	seen := make([]bool, len(f.ops)+1)
	for list := []int{0}; len(list) > 0; {
		at := list[len(list)-1]
		list = list[:len(list)-1]
		if at == len(f.ops) || seen[at] {
			continue
		}
		if seen[at] = true; f.ops[at].kind == opReturn {
			return true
		}
		list = append(list, f.follow(at)...)
	}
	return false
}

// joinOf finds the nearest operation through which every way from one to the end of the function leads, -1 none. It is the slow way:
// of all operations, those without which the end cannot be reached.
func (f *structuredFunction) joinOf(from int) int {
	if join, known := f.join[from]; known {
		return join
	}
	end, join := len(f.ops), -1
	if f.reaches(from, end, -1) {
		join = end
		var all []int
		for at := range f.ops {
			if at != from && f.reaches(from, at, -1) && !f.reaches(from, end, at) {
				all = append(all, at)
			}
		}
		for _, at := range all { // the nearest is on the way to all others
			if !slices.ContainsFunc(all, func(other int) bool { return other != at && f.reaches(from, other, at) }) {
				join = at
			}
		}
		for join < end && f.ops[join].empty {
			join = f.ops[join].to
		}
	}
	if f.join == nil {
		f.join = map[int]int{}
	}
	f.join[from] = join
	return join
}

// meetsFrom reports whether control can come from an operation, itself included, to one at which lanes look at each other.
func (f *structuredFunction) meetsFrom(from int) bool {
	if f.meets == nil {
		f.meets = map[int]bool{}
	}
	met, known := f.meets[from]
	if !known {
		met = f.looksForMeets(from)
		f.meets[from] = met
	}
	return met
}

func (f *structuredFunction) looksForMeets(from int) bool {
	meets := func(at int) bool {
		return at < len(f.ops) && (f.ops[at].kind == opMeet || f.ops[at].kind == opCall)
	}
	if meets(from) {
		return true
	}
	for at := range f.ops {
		if meets(at) && f.reaches(from, at, -1) {
			return true
		}
	}
	return false
}

// reaches reports whether control can come from behind one operation to another one without passing a third.
func (f *structuredFunction) reaches(from, to, without int) bool {
	if f.next == nil {
		for at := range f.ops {
			f.next = append(f.next, f.follow(at))
		}
	}
	seen := make([]bool, len(f.ops)+1)
	for list := append(make([]int, 0, len(f.ops)), f.next[from]...); len(list) > 0; {
		at := list[len(list)-1]
		list = list[:len(list)-1]
		if at == without || seen[at] {
			continue
		}
		if at == to {
			return true
		}
		if seen[at] = true; at < len(f.ops) {
			list = append(list, f.next[at]...)
		}
	}
	return false
}

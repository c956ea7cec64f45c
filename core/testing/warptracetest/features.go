package warptracetest

import "github.com/prlx-go/prlx/core/recording/warptrace"

// helperFile is the file of the functions that are inlined.
const helperFile = "device_helpers.cuh"

// features are the pieces that every program has, each with a place for one of the bugs. The list is in a fixed order.
func (b *builder) features(tid, acc, t *variable) []func() []*stmt {
	out := []func() []*stmt{
		func() []*stmt { return b.boundedLoop(tid, acc, t) },
		func() []*stmt { return b.maskedLoad(tid, acc) },
		func() []*stmt { return b.rowIndex(tid, acc, t) },
		func() []*stmt { return b.threshold(tid, acc) },
		func() []*stmt { return b.doubleBuffer(tid, acc, t) },
	}
	if !b.c.Portable {
		out = append(out, func() []*stmt { return b.reduction(tid, acc, t) })
	}
	out = append(out, func() []*stmt { return b.bestOf(tid, acc, t) })
	for range b.c.Noise {
		out = append(out, func() []*stmt { return b.noise() })
	}
	if b.c.Race {
		out = append(out, func() []*stmt { return b.ticket(false) })
	}
	return out
}

// boundedLoop sums a few elements. Bug "bound": one too many.
func (b *builder) boundedLoop(tid, acc, t *variable) []*stmt {
	s := b.forLoop("r", constant(int64(b.Between(3, 5))), func(r *variable) []*stmt {
		v, load := b.load("item", b.x, combine(opAdd, combine(opMul, use(tid), constant(4)), use(r)))
		return []*stmt{load, b.assign(acc, combine(opAdd, use(acc), use(v)))}
	})
	b.seed("bound", s, func() { s.cond.pred = cmpSLE })
	return []*stmt{s}
}

// maskedLoad reads where a column exists. Bug "mask": one column too many.
func (b *builder) maskedLoad(tid, acc *variable) []*stmt {
	col, s := b.declare("col", combine(opAnd, leaf(opThread), constant(31)))
	v := b.fresh("m", warptrace.TypeI32)
	load := b.conditional(stSelect, cmpSLT, use(col), argument("cols"))
	load.dst, load.array, load.index, load.declares = v, b.x, combine(opAdd, use(tid), use(col)), true
	v.from = load
	b.seed("mask", load, func() { load.cond.pred = cmpSLE })
	return []*stmt{s, load, b.assign(acc, combine(opAdd, use(acc), use(v)))}
}

// rowIndex asks a function where a row begins, and branches on what is there. Bug "swap": the operands change places.
func (b *builder) rowIndex(tid, acc, t *variable) []*stmt {
	start := b.fresh("row", warptrace.TypeI32)
	call := newStmt(stCall)
	call.call, call.dst, call.declares = b.helpers[0], start, true
	call.args = []*expr{combine(opAdd, use(tid), use(t)), combine(opAdd, use(t), constant(5))}
	start.def = combine(opAdd, combine(opMul, call.args[0], argument("stride")), call.args[1])
	v, load := b.load("head", b.x, use(start))
	s := b.conditional(stIf, cmpSGT, use(v), constant(int64(b.Between(90, 160))))
	s.body = []*stmt{b.assign(acc, combine(opSub, use(acc), use(v)))}
	b.seedBefore("swap", b.rowStartBug.at, s, func() {
		b.rowStartBug.apply()
		start.def = combine(opAdd, combine(opMul, call.args[1], argument("stride")), call.args[0])
		load.operands = []prov{provenance("address", use(start), 3)}
	})
	return []*stmt{call, load, s}
}

// threshold branches on data. Bug "compare": the comparison is turned round.
func (b *builder) threshold(tid, acc *variable) []*stmt {
	v, load := b.load("level", b.x, combine(opAdd, use(tid), use(acc)))
	s := b.conditional(stIf, cmpSLT, use(v), constant(int64(b.Between(90, 160))))
	s.body = []*stmt{b.store(b.out, use(tid), use(v), true)}
	s.other = []*stmt{b.assign(acc, combine(opAdd, use(acc), constant(3)))}
	b.seed("compare", s, func() { s.cond.pred = cmpSGT })
	return []*stmt{load, s}
}

// doubleBuffer writes one half of a tile and reads it back. Bug "stale": it reads the half of the round before.
func (b *builder) doubleBuffer(tid, acc, t *variable) []*stmt {
	v, load := b.load("next", b.x, combine(opAdd, combine(opMul, use(tid), constant(3)), use(t)))
	half := combine(opMul, combine(opAnd, use(t), constant(1)), argument("block_size"))
	put := b.store(b.tile, combine(opAdd, half, leaf(opThread)), use(v), false)
	bar := newStmt(stBarrier)
	w, get := b.load("cur", b.tile, combine(opAdd, half, leaf(opThread)))
	s := b.conditional(stIf, cmpSLT, use(w), constant(int64(b.Between(90, 160))))
	s.body = []*stmt{b.assign(acc, combine(opAdd, use(acc), use(w)))}
	b.seedBefore("stale", get, s, func() {
		other := combine(opMul, combine(opXor, combine(opAnd, use(t), constant(1)), constant(1)), argument("block_size"))
		get.index = combine(opAdd, other, leaf(opThread))
		get.operands = []prov{provenance("address", get.index, 3)}
	})
	return []*stmt{load, put, bar, get, s}
}

// reduction sums over the lanes and branches on the sum. Bugs "order": it adds in another order; "precision": the terms were rounded
// to half precision.
func (b *builder) reduction(tid, acc, t *variable) []*stmt {
	v, load := b.load("term", b.y, combine(opAdd, use(tid), combine(opMul, use(t), constant(7))))
	scaled, scale := b.declare("scaled", combine(opFMul, use(v), floatConstant(1.7)))
	sum := b.fresh("sum", warptrace.TypeF32)
	red := newStmt(stReduce)
	red.dst, red.src, red.declares = sum, use(scaled), true
	red.operands = []prov{provenance("value", use(scaled), 3)}
	sum.from = red
	s := b.conditional(stIf, cmpOGT, use(sum), floatConstant(27.25))
	s.body = []*stmt{b.assign(acc, combine(opAdd, use(acc), constant(1)))}
	b.seed("order", red, func() { red.tree = true })
	b.seedBefore("precision", scale, red, func() {
		scale.src = throughHalf(scale.src)
		scaled.def = scale.src
		red.operands = []prov{provenance("value", use(scaled), 3)}
	})
	return []*stmt{load, scale, red, s}
}

// bestOf keeps the largest of a few. Bug "uninit": it starts from what the register held.
func (b *builder) bestOf(tid, acc, t *variable) []*stmt {
	best, s := b.declare("best", constant(0))
	best.carry = true
	var better *stmt
	loop := b.forLoop("c", constant(int64(b.Between(2, 3))), func(c *variable) []*stmt {
		v, load := b.load("cand", b.x, combine(opAdd, combine(opMul, use(tid), constant(2)), use(c)))
		better = b.conditional(stIf, cmpSGT, use(v), use(best))
		better.body = []*stmt{b.assign(best, use(v))}
		return []*stmt{load, better}
	})
	b.seedBefore("uninit", s, better, func() {
		s.garbage = true
		best.def = nil
		better.operands[1] = provenance("rhs", use(best), 3)
	})
	return []*stmt{s, loop, b.assign(acc, combine(opAdd, use(acc), use(best)))}
}

// noise writes a place whose outcome depends on the run: a ticket, or a clock.
func (b *builder) noise() []*stmt {
	if b.chance(2) {
		return b.ticket(true)
	}
	v := b.fresh("clk", warptrace.TypeU32)
	s := newStmt(stClock)
	s.dst, s.declares, s.racy = v, true, true
	v.from = s
	slow := b.conditional(stIf, cmpSGT, use(v), constant(700))
	slow.racy = true
	slow.body = []*stmt{b.racyCount()}
	return []*stmt{s, slow}
}

// ticket takes a ticket from a counter that all warps share; who gets the even ones goes one way. It is the race of bug "race".
func (b *builder) ticket(expected bool) []*stmt {
	v := b.fresh("ticket", warptrace.TypeI32)
	s := newStmt(stAtomic)
	s.array, s.index, s.src, s.dst, s.declares, s.racy = b.counts, constant(int64(16+b.Below(16))), constant(1), v, true, true
	s.operands = []prov{provenance("address", s.index, 1), provenance("value", s.src, 1)}
	v.from = s
	b.p.shared = true
	won := b.conditional(stIf, cmpEQ, combine(opAnd, use(v), constant(3)), constant(0))
	won.racy = true
	won.body = []*stmt{b.racyCount()}
	if !expected {
		b.seed("race", s, func() {})
		for _, r := range []*stmt{s, won, won.body[0]} {
			r.racy = false
		}
		s.own = false
	}
	return []*stmt{s, won}
}

func (b *builder) racyCount() *stmt {
	s := newStmt(stAtomic)
	s.array, s.index, s.src, s.own, s.racy = b.counts, constant(15), constant(1), true, true
	s.operands = []prov{provenance("address", s.index, 1), provenance("value", s.src, 1)}
	return s
}

// begin starts a function to be inlined, with two integer parameters.
func (b *builder) begin(name, symbol string) *function {
	b.f = &function{name: name, symbol: symbol, file: helperFile}
	for _, p := range []string{"a", "b"} {
		v := b.fresh(p, warptrace.TypeI32)
		v.argOf = true
		b.f.params = append(b.f.params, v)
	}
	b.f.result = b.fresh("result", warptrace.TypeI32)
	return b.f
}

// rowStart computes where a row begins: b + a * stride. Bug "swap": a + b * stride.
func (b *builder) rowStart() *function {
	f := b.begin("row_start", "_Z9row_startii")
	row, col := f.params[0], f.params[1]
	s := b.assign(f.result, combine(opAdd, combine(opMul, use(row), argument("stride")), use(col)))
	f.body = []*stmt{s}
	b.rowStartBug = seeded{at: s, apply: func() { s.src = combine(opAdd, combine(opMul, use(col), argument("stride")), use(row)) }}
	return f
}

// clampHelper branches inside an inlined function, so that one line becomes several sites.
func (b *builder) clampHelper() *function {
	f := b.begin("clamp_add", "_Z9clamp_addii")
	v, load := b.load("v", b.x, use(f.params[1]))
	high := b.conditional(stIf, cmpSGT, use(v), constant(int64(b.Between(100, 200))))
	high.body = []*stmt{b.assign(f.result, combine(opAdd, use(f.params[0]), constant(100)))}
	high.other = []*stmt{b.assign(f.result, combine(opAdd, use(f.params[0]), use(v)))}
	f.body = []*stmt{load, high}
	return f
}

// stepHelper loops inside an inlined function.
func (b *builder) stepHelper() *function {
	f := b.begin("steps", "_Z5stepsii")
	v, load := b.load("n", b.x, use(f.params[1]))
	init := b.assign(f.result, use(f.params[0]))
	loop := b.forLoop("i", combine(opAnd, use(v), constant(3)), func(i *variable) []*stmt {
		return []*stmt{b.assign(f.result, combine(opAdd, use(f.result), use(i)))}
	})
	f.body = []*stmt{load, init, loop}
	return f
}

// seeded is a place for a bug, where it shows first, and how to put it there.
type seeded struct {
	at    *stmt
	shows *stmt
	apply func()
}

// seed notes a place for a bug at a statement that records.
func (b *builder) seed(name string, at *stmt, apply func()) { b.seedBefore(name, at, at, apply) }

// seedBefore notes a place for a bug at a statement that records nothing; a later one shows it.
func (b *builder) seedBefore(name string, at, shows *stmt, apply func()) {
	b.p.bugs[name] = seeded{at, shows, apply}
}

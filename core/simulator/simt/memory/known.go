package memory

// known is what somebody knows of the clocks of warps: of those of one block, by warp, and all that others know which it is made of. Nil is
// nothing. What is known grows with each warp that tells others, and most of it nobody ever asks for: so it is put together from what was
// known before, and searched when an access may race. It does not change, but where a search has made a table of it.
type known struct {
	block  uint32
	only   uint32 // 1 + the block of which alone the others count; 0: all do
	depth  int32  // of those that it is made of
	clocks []uint32
	first  *known
	second *known
	table  map[uint64]uint32 // all of it, by block and warp; nil it has none
}

const searched = 64 // of known, before a table is made

// deepest is how deep known may be, unless a table would be larger.
var deepest int32 = 1024

func clockOf(block uint32, warp int) uint64 { return uint64(block)<<5 | uint64(warp) }

// join is what two know together.
func (w *watch) join(a, b *known) *known {
	switch {
	case a == nil || a == b:
		return b
	case b == nil || a.first == b && a.only == 0 || a.second == b:
		return a
	case b.first == a && b.only == 0 || b.second == a:
		return b
	}
	return w.made(&known{first: a, second: b})
}

// within is what somebody knows of one block.
func (w *watch) within(a *known, block uint32) *known {
	if a == nil {
		return nil
	}
	return w.made(&known{first: a, only: block + 1})
}

// made counts what is made, and makes a table of what is deep.
func (w *watch) made(k *known) *known {
	w.spent++
	for _, part := range []*known{k.first, k.second} {
		if part != nil {
			k.depth = max(k.depth, part.depth+1)
		}
	}
	if k.depth > deepest && k.depth > w.size {
		w.tabulate(k)
	}
	return k
}

// knows reports whether somebody knows that a warp came to a clock.
func (w *watch) knows(whole *known, block uint32, warp int, clock uint32) bool {
	var room [searched]*known
	list := append(room[:0], whole)
	for looked := 0; len(list) > 0; looked++ {
		k := list[len(list)-1]
		list = list[:len(list)-1]
		switch {
		case k == nil || k.only != 0 && k.only != block+1:
			continue
		case k.table != nil:
			if k.table[clockOf(block, warp)] >= clock {
				return true
			}
			continue
		case k.block == block && warp < len(k.clocks) && k.clocks[warp] >= clock:
			return true
		}
		if looked >= searched {
			w.tabulate(whole)
			return whole.table[clockOf(block, warp)] >= clock
		}
		list = append(list, k.first, k.second)
	}
	return false
}

// knownPart is known as far as it is of one block; 0: all of it.
type knownPart struct {
	of   *known
	only uint32
}

// tabulate makes a table of all that is known.
func (w *watch) tabulate(whole *known) {
	table := map[uint64]uint32{}
	done := map[knownPart]bool{}
	list := []knownPart{{of: whole}}
	note := func(only uint32, key uint64, at uint32) {
		if block := uint32(key>>5) + 1; (only == 0 || only == block) && table[key] < at {
			table[key] = at
		}
	}
	for len(list) > 0 {
		p := list[len(list)-1]
		list = list[:len(list)-1]
		if p.of == nil || done[p] {
			continue
		}
		done[p] = true
		for key, at := range p.of.table {
			note(p.only, key, at)
		}
		for warp, at := range p.of.clocks {
			note(p.only, clockOf(p.of.block, warp), at)
		}
		if p.of.only != 0 {
			if p.only != 0 && p.only != p.of.only {
				continue
			}
			p.only = p.of.only
		}
		list = append(list, knownPart{p.of.first, p.only}, knownPart{p.of.second, p.only})
	}
	w.spent += len(done) + len(table)
	w.size = max(w.size, int32(len(table)))
	*whole = known{table: table}
}

package memory

// Sight is what the blocks of one worker did to global memory, where several workers look for races. Each sees its own blocks alone, in the
// order in which it ran them. Apart says whether that was enough.
type Sight struct{ watch watch }

// Sight makes a worker's own. Watch was called.
func (g *Global) Sight() *Sight {
	s := &Sight{*newWatch()}
	for i := range g.watch.ranges {
		r := &g.watch.ranges[i]
		s.watch.ranges = append(s.watch.ranges, newWatched(r.start, r.end))
	}
	return s
}

// See makes a block part of what a worker sees.
func (b *Block) See(s *Sight) { b.sight = s }

// Apart reports whether no block of several workers touched a word that another block wrote. Then each block did what it does alone, in
// whatever order they run: between blocks there is no race, and those within a block were found.
func Apart(sights []*Sight) bool {
	for _, s := range sights {
		if s.watch.mixed {
			return false
		}
	}
	for j, s := range sights {
		for _, other := range sights[:j] {
			for i := range s.watch.ranges {
				for number, c := range s.watch.ranges[i].chapters {
					from := other.watch.ranges[i].chapters[number]
					for k := range c {
						if from != nil && !strangers(&s.watch.past, &other.watch.past, &c[k], &from[k]) {
							return false
						}
					}
				}
			}
		}
	}
	return true
}

// strangers reports whether no word of a page was written by the blocks of one worker and touched by those of another.
func strangers(p, q *past, of, from *page) bool {
	if of.numbers == nil || from.numbers == nil {
		return true
	}
	unit := max(of.unit, from.unit)
	x, y := unit-of.unit, unit-from.unit
	for i := range pageBytes >> unit {
		for _, v := range of.numbers[i<<x : (i+1)<<x] {
			for _, w := range from.numbers[i<<y : (i+1)<<y] {
				a, b := &p.states[v], &q.states[w]
				if v != 0 && w != 0 && (a.wrote != 0 || b.wrote != 0) {
					return false
				}
			}
		}
	}
	return true
}

// Undo is what memory held before a launch.
type Undo struct{ bytes map[int][]byte }

// MayUndo says how many bytes an Undo needs; ok is false where a launch changes more than bytes, or arrays that it does not list: through
// pointers that it loads, if it does that. stores are the parameters to whose arrays it stores, as bits.
func (g *Global) MayUndo(loads bool, stores uint64) (bytes int64, ok bool) {
	for i := range g.regions {
		in := &g.regions[i]
		if in.written != nil {
			return 0, false
		}
		if g.changes(in, stores) {
			bytes += int64(len(in.bytes))
		}
	}
	return bytes, len(g.standing) == 0 && g.heap.empty() || !loads && g.any == 0
}

// changes reports whether stores to the arrays of some parameters may change a region.
func (g *Global) changes(in *region, stores uint64) bool {
	return !in.readOnly && (stores&g.any != 0 || stores&in.params != 0 || in.params == 0)
}

// Keep copies all that a launch may change.
func (g *Global) Keep(stores uint64) *Undo {
	u := &Undo{map[int][]byte{}}
	for i := range g.regions {
		if in := &g.regions[i]; g.changes(in, stores) {
			u.bytes[i] = append([]byte(nil), in.bytes...)
		}
	}
	return u
}

// Restore puts it back. Nothing was seen then.
func (g *Global) Restore(u *Undo) {
	for i, bytes := range u.bytes {
		copy(g.regions[i].bytes, bytes)
	}
	g.Watch()
}

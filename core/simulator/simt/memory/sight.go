package memory

// Sight is what the blocks of one worker did to global memory, where several workers look for races. Each sees its own blocks alone, in the
// order in which it ran them. Apart says whether that was enough.
type Sight struct{ watch watch }

// touched is which block wrote and which one read a word: 1 + its number; 0 none, several more than one.
type touched struct{ wrote, read uint32 }

const several = ^uint32(0)

func (t *touched) by(block uint32, u use) {
	if u&stores != 0 {
		join(&t.wrote, block+1)
	}
	if u&loads != 0 {
		join(&t.read, block+1)
	}
}

func join(to *uint32, who uint32) {
	switch *to {
	case 0:
		*to = who
	case who:
	default:
		if who != 0 {
			*to = several
		}
	}
}

// Sight makes a worker's own. Watch was called.
func (g *Global) Sight() *Sight {
	s := &Sight{watch{published: map[uint64]*published{}}}
	for i := range g.watch.ranges {
		r := &g.watch.ranges[i]
		s.watch.ranges = append(s.watch.ranges, watched{
			start: r.start, end: r.end, split: map[uint64]*[4]watchCell{},
			pages: make([]*[pageWords]watchCell, len(r.pages)), touched: make([]*[pageWords]touched, len(r.pages)),
		})
	}
	return s
}

// See makes a block part of what a worker sees.
func (b *Block) See(s *Sight) { b.sight = s }

func (r *watched) touch(i uint64) *touched {
	page := &r.touched[i/pageWords]
	if *page == nil {
		*page = new([pageWords]touched)
	}
	return &(*page)[i%pageWords]
}

// Apart reports whether no block of several workers touched a word that another block wrote. Then each block did what it does alone, in
// whatever order they run: between blocks there is no race, and those within a block were found.
func Apart(sights []*Sight) bool {
	for i := range sights[0].watch.ranges {
		for page := range sights[0].watch.ranges[i].pages {
			var all [pageWords]touched
			for _, s := range sights {
				list := s.watch.ranges[i].touched[page]
				if list == nil {
					continue
				}
				for k := range list {
					join(&all[k].wrote, list[k].wrote)
					join(&all[k].read, list[k].read)
				}
			}
			for _, t := range all {
				if t.wrote != 0 && (t.wrote == several || t.read != 0 && t.read != t.wrote) {
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
// pointers that it loads, if it does that.
func (g *Global) MayUndo(loads bool) (bytes int64, ok bool) {
	for i := range g.regions {
		in := &g.regions[i]
		if in.written != nil {
			return 0, false
		}
		if !in.readOnly {
			bytes += int64(len(in.bytes))
		}
	}
	return bytes, len(g.standing) == 0 && g.heap.empty() || !loads && g.any == 0
}

// Keep copies all that a launch may change.
func (g *Global) Keep() *Undo {
	u := &Undo{map[int][]byte{}}
	for i := range g.regions {
		if in := &g.regions[i]; !in.readOnly {
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

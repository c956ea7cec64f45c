package script

import "slices"

// symbolTable says where each key of b stands: as a bit map when it is frequent, else as a list of positions.
type symbolTable struct {
	slots   []symbolSlot // hash table: a power of two of them, at most half full
	shift   uint
	symbols []symbol
	of      []int32 // symbol of each element of b
	words   int     // of a bit map
	maps    []uint64
	lists   []int32
}

// symbolSlot is a key and its symbol, counted from 1; 0: the slot is free.
type symbolSlot struct {
	key    uint32
	symbol int32
}

// symbol is one key that b has.
type symbol struct {
	count  int32
	at     int32 // in maps when mapped, else in lists
	filled int32 // positions in the list so far
	mapped bool
}

// fewSlots is enough for the sites of most kernels, and fits the first-level cache.
const fewSlots = 512

// build indexes b.
func (s *symbolTable) build(b []uint32) {
	s.resize(fewSlots)
	s.symbols = s.symbols[:0]
	s.of = resized(s.of, len(b))
	for j, key := range b {
		slot := s.slots[s.home(key)]
		if slot.key != key || slot.symbol == 0 {
			at := s.find(key)
			if s.slots[at].symbol == 0 {
				at = s.insert(at, key)
			}
			slot = s.slots[at]
		}
		n := slot.symbol - 1
		s.symbols[n].count++
		s.of[j] = n
	}
	s.words = (len(b) + 63) / 64
	maps, lists := 0, int32(0)
	for i := range s.symbols {
		sym := &s.symbols[i]
		if int(sym.count)*4 >= s.words { // at most 256 keys are that frequent
			sym.mapped, sym.at = true, int32(maps)
			maps++
		} else {
			sym.at = lists
			lists += sym.count
		}
	}
	s.maps = resized(s.maps, maps*s.words)
	clear(s.maps)
	s.lists = resized(s.lists, int(lists))
	for j, n := range s.of {
		sym := &s.symbols[n]
		if sym.mapped {
			s.maps[int(sym.at)*s.words+j/64] |= 1 << (j % 64)
		} else {
			s.lists[sym.at+sym.filled] = int32(j)
			sym.filled++
		}
	}
}

// resize makes an empty hash table of so many slots.
func (s *symbolTable) resize(slots int) {
	s.slots = resized(s.slots, slots)
	clear(s.slots)
	for s.shift = 64; slots > 1; slots /= 2 {
		s.shift--
	}
}

// home is where a key stands when no other one was there first.
func (s *symbolTable) home(key uint32) uint64 { return uint64(key) * 0x9e3779b97f4a7c15 >> s.shift }

// find returns the place of a key, or the free one where it would be.
func (s *symbolTable) find(key uint32) int {
	mask := len(s.slots) - 1
	at := int(s.home(key))
	for {
		slot := s.slots[at&mask]
		if slot.key == key && slot.symbol != 0 || slot.symbol == 0 {
			return at & mask
		}
		at++
	}
}

// insert puts a new key into its free place and returns where it is then.
func (s *symbolTable) insert(at int, key uint32) int {
	s.symbols = append(s.symbols, symbol{})
	s.slots[at] = symbolSlot{key, int32(len(s.symbols))}
	if 2*len(s.symbols) <= len(s.slots) {
		return at
	}
	old := slices.Clone(s.slots)
	s.resize(2 * len(old))
	for _, slot := range old {
		if slot.symbol != 0 {
			s.slots[s.find(slot.key)] = slot
		}
	}
	return s.find(key)
}

// symbolsOf returns the symbols of keys, counted from 1; 0: b has no such key.
func (s *symbolTable) symbolsOf(keys []uint32, into []int32) []int32 {
	into = resized(into, len(keys))
	for i, key := range keys {
		slot := s.slots[s.home(key)]
		if slot.key != key || slot.symbol == 0 {
			slot = s.slots[s.find(key)]
		}
		into[i] = slot.symbol
	}
	return into
}

// matches returns the bits of words lo to hi where a symbol stands, nil when it is nowhere in them. The result may be in scratch.
func (s *symbolTable) matches(n int32, lo, hi int, scratch []uint64) []uint64 {
	if n == 0 {
		return nil
	}
	sym := &s.symbols[n-1]
	if sym.mapped {
		at := int(sym.at) * s.words
		return s.maps[at+lo : at+hi+1]
	}
	list := s.lists[sym.at : sym.at+sym.count]
	from, _ := slices.BinarySearch(list, int32(lo*64))
	list = list[from:]
	if len(list) == 0 || int(list[0])/64 > hi {
		return nil
	}
	clear(scratch)
	for _, j := range list {
		w := int(j) / 64
		if w > hi {
			break
		}
		scratch[w-lo] |= 1 << (j % 64)
	}
	return scratch
}

package script

import (
	"math/bits"
	"slices"
)

// symbolTable says where each key of b stands: as a bit map when it is frequent, else as a list of positions.
type symbolTable struct {
	slots []symbolSlot // hash table, a power of two of them
	shift uint
	words int // of a bit map
	maps  []uint64
	lists []int32
	of    []uint32 // slot of each element of b
}

type symbolSlot struct {
	key    uint32
	count  int32 // 0: the slot is free
	at     int32 // in maps when mapped, else in lists
	filled int32 // positions in the list so far
	mapped bool
}

// build indexes b.
func (s *symbolTable) build(b []uint32) {
	size := uint(bits.Len(uint(len(b)))) + 1
	s.shift = 64 - size
	s.slots = resized(s.slots, 1<<size)
	clear(s.slots)
	s.words = (len(b) + 63) / 64
	s.of = resized(s.of, len(b))
	for j, key := range b {
		slot, at := s.slot(key)
		slot.count++
		s.of[j] = at
	}
	maps, lists := 0, int32(0)
	for i := range s.slots {
		slot := &s.slots[i]
		switch {
		case slot.count == 0:
		case int(slot.count)*4 >= s.words: // at most 256 keys are that frequent
			slot.mapped, slot.at = true, int32(maps)
			maps++
		default:
			slot.at = lists
			lists += slot.count
		}
	}
	s.maps = resized(s.maps, maps*s.words)
	clear(s.maps)
	s.lists = resized(s.lists, int(lists))
	for j, at := range s.of {
		slot := &s.slots[at]
		if slot.mapped {
			s.maps[int(slot.at)*s.words+j/64] |= 1 << (j % 64)
		} else {
			s.lists[slot.at+slot.filled] = int32(j)
			slot.filled++
		}
	}
}

// slot finds the slot of a key and its place, a free one when the key is not there.
func (s *symbolTable) slot(key uint32) (*symbolSlot, uint32) {
	mask := uint64(len(s.slots) - 1)
	for i := uint64(key) * 0x9e3779b97f4a7c15 >> s.shift; ; i = (i + 1) & mask {
		slot := &s.slots[i]
		if slot.key == key && slot.count != 0 {
			return slot, uint32(i)
		}
		if slot.count == 0 {
			slot.key = key
			return slot, uint32(i)
		}
	}
}

// matches returns the bits of words lo to hi where a key stands, nil when it is nowhere in them. The result may be in scratch.
func (s *symbolTable) matches(key uint32, lo, hi int, scratch []uint64) []uint64 {
	slot, _ := s.slot(key)
	if slot.count == 0 {
		return nil
	}
	if slot.mapped {
		at := int(slot.at) * s.words
		return s.maps[at+lo : at+hi+1]
	}
	list := s.lists[slot.at : slot.at+slot.count]
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

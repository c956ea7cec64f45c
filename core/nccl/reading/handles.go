package reading

// handles finds what a handle names. The recorder counts handles up in blocks of 4,096, a block a thread, so pages of a table serve nearly
// all of them; a file that makes more pages than its size allows gets a map for the rest.
type handles struct {
	pages map[uint64]*[pageSize]int32 // place + 1
	last  *[pageSize]int32
	at    uint64 // of last
	room  int    // pages that may be made
	rest  map[uint64]int32
}

const (
	pageSize     = 4096
	sequenceBits = 42
	sequenceMask = 1<<sequenceBits - 1
)

func newHandles(fileBytes int64) *handles {
	return &handles{pages: map[uint64]*[pageSize]int32{}, room: 64 + int(fileBytes>>12), at: ^uint64(0), rest: map[uint64]int32{}}
}

func codeOf(handle uint64) int { return int(handle>>sequenceBits) & 63 }

func (h *handles) page(number uint64, make bool) *[pageSize]int32 {
	if number == h.at {
		return h.last
	}
	p := h.pages[number]
	if p == nil && make && h.room > 0 {
		h.room--
		p = new([pageSize]int32)
		h.pages[number] = p
	}
	if p != nil {
		h.at, h.last = number, p
	}
	return p
}

func (h *handles) set(handle uint64, place int32) {
	n := handle & sequenceMask
	if p := h.page(n/pageSize, true); p != nil {
		p[n%pageSize] = place + 1
		return
	}
	h.rest[handle] = place + 1
}

// get is the place that was set last for the number of a handle, whatever its code is: who asks compares the handle that stands there.
func (h *handles) get(handle uint64) int32 {
	n := handle & sequenceMask
	if p := h.page(n/pageSize, false); p != nil {
		return p[n%pageSize] - 1
	}
	return h.rest[handle] - 1
}

package pybind

import (
	"encoding/binary"
	"sync"
)

// kept holds the replies that were too large for the caller's first buffer, until Fetch.
var kept struct {
	sync.Mutex
	last    int64
	replies map[int64][]byte
}

// deliver copies a reply to out or keeps it, as the package comment says.
func deliver(reply []byte, out uint64, room int) int64 {
	to := view(out, room)
	if len(reply) <= room {
		return int64(copy(to, reply))
	}
	binary.LittleEndian.PutUint64(to, uint64(len(reply)))
	kept.Lock()
	defer kept.Unlock()
	if kept.replies == nil {
		kept.replies = make(map[int64][]byte)
	}
	kept.last++
	kept.replies[kept.last] = reply
	return -kept.last
}

func fetch(id int64, to []byte) int64 {
	kept.Lock()
	defer kept.Unlock()
	reply, ok := kept.replies[id]
	if !ok || len(reply) != len(to) {
		return 0
	}
	delete(kept.replies, id)
	return int64(copy(to, reply))
}

package file

import (
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
)

// A Mapping is a range of a file in memory, as the system's cache holds it: reading it copies nothing.
//
// Where a mapped file becomes shorter, or a disk fails, the processor faults on what is gone. Guarded turns that into an error, for the
// goroutine that it runs in: mapped bytes are read under Guarded and nowhere else.
type Mapping struct {
	path   string
	off    int64
	file   *os.File
	mapped []byte // from the start of a page
	skip   int    // bytes of that page in front of the range
	users  atomic.Int32
}

// Hold adds a user, who releases the mapping, too.
func (m *Mapping) Hold() { m.users.Add(1) }

// Bytes are valid until every user has released the mapping.
func (m *Mapping) Bytes() []byte { return m.mapped[m.skip:] }

// live are the mappings of the process, so that a fault can be told from others.
var live struct {
	sync.Mutex
	all []*Mapping
}

// Map maps a range of the source. It returns nil where that is not possible: the source is no file, or the system says no; ReadAt
// does then.
func (s *Source) Map(off int64, n int) *Mapping {
	f, ok := s.at.(*os.File)
	if !ok || n <= 0 || off < 0 || off+int64(n) > s.size {
		return nil
	}
	skip := int(off % int64(os.Getpagesize()))
	mapped, err := mapFile(f, off-int64(skip), n+skip)
	if err != nil {
		return nil
	}
	m := &Mapping{path: s.path, off: off, file: f, mapped: mapped, skip: skip}
	m.users.Store(1)
	live.Lock()
	live.all = append(live.all, m)
	live.Unlock()
	return m
}

// Release unmaps where this was the last user. It reports whether the file still has the bytes that were read: behind the end of a file
// the rest of a page reads as zeros.
func (m *Mapping) Release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	end := m.off + int64(len(m.Bytes()))
	live.Lock()
	live.all = slices.DeleteFunc(live.all, func(o *Mapping) bool { return o == m })
	live.Unlock()
	unmapFile(m.mapped)
	m.mapped, m.skip = nil, 0
	if st, err := m.file.Stat(); err == nil && st.Size() < end {
		return shortened(m.path, st.Size())
	}
	return nil
}

func shortened(path string, at int64) error {
	return fault.Formatf(path, at, "file became shorter while it was read").WithHint("wait until it is written, or copy it")
}

// Guarded runs f. A fault on bytes that are mapped is an error.
func Guarded(f func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			if err = lost(r); err == nil {
				panic(r)
			}
		}
	}()
	return f()
}

// lost is the error for a fault on mapped bytes, nil for other panics.
func lost(r any) error {
	at, ok := r.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	live.Lock()
	defer live.Unlock()
	for _, m := range live.all {
		if offset, ok := offsetIn(m.mapped, at.Addr()); ok {
			return shortened(m.path, m.off-int64(m.skip)+offset)
		}
	}
	return nil
}

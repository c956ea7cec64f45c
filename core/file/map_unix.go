//go:build unix

package file

import (
	"os"
	"syscall"
	"unsafe"
)

func mapFile(f *os.File, off int64, n int) ([]byte, error) {
	var mapped []byte
	c, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	control := c.Control(func(fd uintptr) {
		mapped, err = syscall.Mmap(int(fd), off, n, syscall.PROT_READ, syscall.MAP_SHARED)
	})
	if control != nil {
		return nil, control
	}
	return mapped, err
}

func unmapFile(b []byte) { _ = syscall.Munmap(b) } // which only fails for what is not mapped

// offsetIn is where an address lies in mapped bytes.
func offsetIn(b []byte, at uintptr) (int64, bool) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int64(at - from), at >= from && at-from < uintptr(len(b))
}

package probe

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// Of linux/net_tstamp.h and linux/errqueue.h.
const (
	txSoftware = 1 << 1
	rxSoftware = 1 << 3
	software   = 1 << 4
	optID      = 1 << 7
	optOnly    = 1 << 11

	originTimestamping = 4
	stampSent          = 0
)

// askForStamps asks the kernel to stamp what passes. With counted, stamps of what was sent carry its number, from 0.
func askForStamps(fd int, counted bool) bool {
	flags := txSoftware | rxSoftware | software | optOnly
	if counted {
		flags |= optID
	}
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPING, flags) == nil
}

func askForNothing(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPING, 0)
}

func bindToDevice(fd int, device string) error { return syscall.BindToDevice(fd, device) }

// sentStamps gives each packet that is sent a number and finds it again when the kernel says when it was sent.
type sentStamps struct {
	count  uint32 // of packets sent since the kernel's count began
	base   uint64
	open   int        // packets whose kernel stamps have not come
	before [256]int64 // the clock, before a packet was handed to the kernel
}

// number notes a packet that the kernel took, and was made not before an instant.
func (s *sentStamps) number(before int64) (id uint64) {
	id = s.base + uint64(s.count) + 1
	s.before[id%uint64(len(s.before))] = before
	s.count++
	s.open++
	return id
}

// told returns the packet of the kernel's number. A stamp from before the packet was made, or of the future, is of another packet or of a
// clock that stepped.
func (s *sentStamps) told(number uint32, ns int64) (id uint64, ok bool) {
	s.open--
	id = s.base + uint64(number) + 1
	if number >= s.count || s.count-number > uint32(len(s.before)) || ns < s.before[id%uint64(len(s.before))] || ns > time.Now().UnixNano() {
		return 0, false
	}
	return id, true
}

// sentStamp reads a message of the queue on which the kernel says when packets were sent.
func sentStamp(oob []byte) (number uint32, ns int64, ok bool) {
	var stamped, numbered bool
	controls(oob, func(level, kind int32, data []byte) {
		ne := binary.NativeEndian
		switch {
		case level == syscall.SOL_SOCKET && kind == syscall.SCM_TIMESTAMPING:
			ns, stamped = timespec(data)
		case level == syscall.SOL_IP && kind == syscall.IP_RECVERR, level == syscall.SOL_IPV6 && kind == syscall.IPV6_RECVERR:
			if len(data) >= 16 && data[4] == originTimestamping && ne.Uint32(data[8:]) == stampSent {
				number, numbered = ne.Uint32(data[12:]), true
			}
		}
	})
	return number, ns, stamped && numbered
}

// receiveStamp returns when the kernel received a datagram.
func receiveStamp(oob []byte) (ns int64, ok bool) {
	controls(oob, func(level, kind int32, data []byte) {
		if level == syscall.SOL_SOCKET && kind == syscall.SCM_TIMESTAMPING {
			ns, ok = timespec(data)
		}
	})
	return ns, ok
}

// timespec reads the first of three timespecs, the software's; all zero where there is none.
func timespec(data []byte) (int64, bool) {
	const word = int(unsafe.Sizeof(syscall.Timespec{}.Sec))
	if len(data) < 2*word {
		return 0, false
	}
	var ts syscall.Timespec
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&ts)), unsafe.Sizeof(ts)), data)
	ns := ts.Nano()
	return ns, ns > 0
}

// controls walks the control messages of a datagram without copying them.
func controls(oob []byte, visit func(level, kind int32, data []byte)) {
	const head = syscall.SizeofCmsghdr
	for len(oob) >= head {
		h := (*syscall.Cmsghdr)(unsafe.Pointer(&oob[0]))
		n := int(h.Len)
		if n < head || n > len(oob) {
			return
		}
		visit(h.Level, h.Type, oob[head:n])
		const align = int(unsafe.Sizeof(uintptr(0)))
		n = (n + align - 1) &^ (align - 1)
		if n >= len(oob) {
			return
		}
		oob = oob[n:]
	}
}

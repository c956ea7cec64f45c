package probe

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// batch is a socket that is read in batches. Go's poller does not know it, or it would wake a thread for every packet. What never
// blocks is called without telling Go's scheduler, which would wake others up to take over.
type batch struct {
	fd       int
	v4       bool   // the socket takes IPv4 addresses only
	alert    *alert // where the process stamps packets; nil: the kernel does
	sent     sentStamps
	lost     bool // the kernel's count of what was sent is not known
	unmarked int  // packets in a row that arrived without a stamp of the kernel
	flooded  bool
	messages [batchSize]message
	parts    [batchSize]syscall.Iovec
	names    [batchSize]syscall.RawSockaddrInet6 // an IPv4 address fits
	bytes    [batchSize][2 * packetSize]byte
	controls [batchSize][controlSize]byte
}

const (
	batchSize   = 16
	controlSize = 256
	// mostBatches is how many batches are read before the loop looks at its other duties.
	mostBatches = 64
	// mostUnmarked is after how many packets without a stamp the socket is read as soon as something arrives.
	mostUnmarked = 8
	// receiveBuffer is asked for, bytes: many packets wait when somebody sends others.
	receiveBuffer = 1 << 20
)

// message is mmsghdr of recvmmsg(2).
type message struct {
	header syscall.Msghdr
	length uint32
}

// newBatch takes over a socket, which may be closed then; nil where the system does not let it.
func newBatch(fd int, v4 bool) *batch {
	own, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if failed != 0 {
		return nil
	}
	b := &batch{fd: int(own), v4: v4}
	if !askForStamps(b.fd, true) {
		b.unstamped()
	}
	_ = syscall.SetsockoptInt(b.fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
	return b
}

// give gives the socket back.
func (b *batch) give() {
	if b.alert != nil {
		b.alert.close()
	}
	askForNothing(b.fd)
	_ = syscall.Close(b.fd)
}

// kernel reports whether the kernel stamps packets.
func (b *batch) kernel() bool { return b.alert == nil }

// unstamped makes do without stamps of the kernel.
func (b *batch) unstamped() {
	askForNothing(b.fd)
	b.alert = newAlert(b.fd)
}

// send sends a packet whose stamp is told later.
func (b *batch) send(to netip.AddrPort, packet []byte) (id uint64, err error) {
	if b.v4 && !to.Addr().Unmap().Is4() {
		return 0, syscall.EAFNOSUPPORT
	}
	var name syscall.RawSockaddrInet6
	length := putAddress(&name, to, b.v4)
	before := time.Now().UnixNano()
	_, _, failed := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(b.fd), uintptr(unsafe.Pointer(&packet[0])), uintptr(len(packet)), syscall.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&name)), uintptr(length))
	switch {
	case failed != 0: // nobody knows whether it was counted
		b.lost = true
		return 0, failed
	case b.alert != nil:
		b.alert.sent()
		return 0, nil
	case b.lost:
		return 0, nil
	}
	id = b.sent.number(before)
	b.lost = b.sent.count == 1<<32-1
	return id, nil
}

// recount begins the kernel's count of packets anew.
func (b *batch) recount() {
	for b.read(syscall.MSG_ERRQUEUE) > 0 {
	}
	_ = askForStamps(b.fd, false) && askForStamps(b.fd, true)
	b.sent.base += 1 << 33
	b.sent.count, b.sent.open, b.lost = 0, 0, false
}

// receive lets the time pass and then reads what has arrived. Where the kernel does not stamp what arrives, or more arrives than is
// read at once, it reads at once.
func (b *batch) receive(u *udp, p *prober, wait time.Duration, mono func() int64) error {
	if b.alert != nil {
		return b.receiveAtOnce(u, p, wait, mono)
	}
	switch {
	case wait <= 0:
	case b.flooded || b.unmarked >= mostUnmarked:
		b.poll(wait)
	default:
		time.Sleep(wait)
	}
	b.sentWhen(u, p)
	if b.lost {
		b.recount()
	}
	b.flooded = false
	for k := range mostBatches {
		n := b.read(0)
		if n < 0 {
			return syscall.Errno(-n)
		}
		now := time.Now().UnixNano()
		for i := range n {
			b.deliver(i, now, u, p, mono())
		}
		if n < batchSize {
			break
		}
		b.flooded = k > 0
	}
	b.sentWhen(u, p) // of answers, mostly: the next probes tell them
	return nil
}

// sentWhen tells the prober when the kernel sent what it sent.
func (b *batch) sentWhen(u *udp, p *prober) {
	for b.sent.open > 0 {
		n := b.read(syscall.MSG_ERRQUEUE)
		if n <= 0 {
			return
		}
		for i := range n {
			if number, ns, ok := sentStamp(b.control(i)); ok {
				if id, ok := b.sent.told(number, ns); ok {
					p.Transmitted(id, u.shown(ns))
				}
			}
		}
	}
}

// deliver gives a packet to the prober.
func (b *batch) deliver(i int, now int64, u *udp, p *prober, mono int64) {
	at := stamp{NS: u.shown(now)}
	ns, ok := receiveStamp(b.control(i))
	if ok {
		b.unmarked = 0
	} else {
		b.unmarked++
	}
	if ok && ns <= now {
		at = stamp{u.shown(ns), true}
	}
	p.Received(b.bytes[i][:b.messages[i].length], addressOf(&b.names[i]), at, mono)
}

// read reads messages and returns how many there were, or the negative number of an error.
func (b *batch) read(flags uintptr) int {
	for i := range b.messages {
		b.parts[i].Base = &b.bytes[i][0]
		b.parts[i].SetLen(len(b.bytes[i]))
		h := &b.messages[i].header
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&b.names[i])), uint32(unsafe.Sizeof(b.names[i]))
		h.Iov, h.Iovlen = &b.parts[i], 1
		h.Control = &b.controls[i][0]
		h.SetControllen(controlSize)
	}
	for {
		n, _, failed := syscall.RawSyscall6(syscall.SYS_RECVMMSG, uintptr(b.fd), uintptr(unsafe.Pointer(&b.messages[0])), batchSize, flags|syscall.MSG_DONTWAIT, 0, 0)
		switch failed {
		case 0:
			return int(n)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0
		default:
			return -int(failed)
		}
	}
}

// control returns the control messages of a message that was read.
func (b *batch) control(i int) []byte {
	return b.controls[i][:min(controlSize, int(b.messages[i].header.Controllen))]
}

// poll waits until something can be read, at most so long.
func (b *batch) poll(wait time.Duration) {
	fd, ts := pollFD{int32(b.fd), pollIn, 0}, syscall.NsecToTimespec(int64(wait))
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// pollFD is pollfd of poll(2).
type pollFD struct {
	fd            int32
	events, found int16
}

const pollIn = 1

// putAddress writes an address as the kernel reads it and returns its length.
func putAddress(to *syscall.RawSockaddrInet6, at netip.AddrPort, v4 bool) int {
	if v4 {
		a := (*syscall.RawSockaddrInet4)(unsafe.Pointer(to))
		a.Family, a.Addr = syscall.AF_INET, at.Addr().Unmap().As4()
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&a.Port))[:], at.Port())
		return syscall.SizeofSockaddrInet4
	}
	to.Family, to.Addr, to.Scope_id = syscall.AF_INET6, at.Addr().As16(), scopeOf(at.Addr().Zone())
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&to.Port))[:], at.Port())
	return syscall.SizeofSockaddrInet6
}

// scopeOf is the number of the interface on which a link-local address is.
func scopeOf(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	return 0
}

// addressOf reads an address as the kernel writes it.
func addressOf(from *syscall.RawSockaddrInet6) netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&from.Port))[:])
	if from.Family == syscall.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*syscall.RawSockaddrInet4)(unsafe.Pointer(from)).Addr), port)
	}
	a := netip.AddrFrom16(from.Addr).Unmap()
	if from.Scope_id != 0 && a.Is6() {
		a = a.WithZone(strconv.Itoa(int(from.Scope_id)))
	}
	return netip.AddrPortFrom(a, port)
}

package probe

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// alert is how a process waits for packets that it has to stamp itself. How long it takes to wake up is in every round trip, and differs from
// packet to packet by more than all else. So for a moment after a packet was sent, when the answer or the next probe of a row may come, its
// thread sleeps in the kernel, which wakes it up at once; Go's scheduler, which would wake other threads up first, is not told. The rest of the
// time it sleeps as all of Go does, which costs nothing.
type alert struct {
	until time.Time // the thread waits by itself
	queue int       // an epoll(7) that Go's poller knows, and that knows the socket for one packet at a time; -1: there is none
	file  *os.File
	raw   syscall.RawConn
}

// alertFor is how long a thread waits by itself: Go cannot use its turn for anything else meanwhile.
const alertFor = 500 * time.Microsecond

const epollOneShot = 1 << 30

// newAlert watches a socket.
func newAlert(fd int) *alert {
	a := &alert{queue: -1}
	queue, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return a
	}
	nothing := syscall.EpollEvent{}
	if syscall.SetNonblock(queue, true) != nil || syscall.EpollCtl(queue, syscall.EPOLL_CTL_ADD, fd, &nothing) != nil {
		_ = syscall.Close(queue)
		return a
	}
	file := os.NewFile(uintptr(queue), "packets")
	raw, err := file.SyscallConn()
	if err != nil || file.SetReadDeadline(time.Time{}) != nil { // Go's poller does not take it
		_ = file.Close()
		return a
	}
	a.queue, a.file, a.raw = queue, file, raw
	return a
}

func (a *alert) close() {
	if a.file != nil {
		_ = a.file.Close()
	}
}

// sent notes that a packet was sent.
func (a *alert) sent() { a.until = time.Now().Add(alertFor) }

// wait waits until something can be read, and reports whether it did: else something else has to.
func (a *alert) wait(fd int, until time.Time) bool {
	if a.queue < 0 {
		return false
	}
	once := syscall.EpollEvent{Events: syscall.EPOLLIN | epollOneShot}
	if syscall.EpollCtl(a.queue, syscall.EPOLL_CTL_MOD, fd, &once) != nil || a.file.SetReadDeadline(until) != nil {
		return false
	}
	err := a.raw.Read(func(uintptr) bool {
		var found [1]syscall.EpollEvent
		n, err := syscall.EpollWait(a.queue, found[:], 0)
		return n > 0 || err != nil && err != syscall.EINTR
	})
	return err == nil || os.IsTimeout(err)
}

// receiveAtOnce waits for packets and gives the prober those that have arrived.
func (b *batch) receiveAtOnce(u *udp, p *prober, wait time.Duration, mono func() int64) error {
	now := time.Now()
	until := now.Add(wait)
	n := b.read(0)
	if n == 0 {
		first := b.alert.until
		if until.Before(first) {
			first = until
		}
		if wait := first.Sub(now); wait > 0 {
			fd, ts := pollFD{int32(b.fd), pollIn, 0}, syscall.NsecToTimespec(int64(wait))
			_, _, _ = syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
			n = b.read(0)
			now = time.Now()
		}
	}
	if n == 0 && now.Before(until) {
		if !b.alert.wait(b.fd, until) {
			b.poll(until.Sub(now))
		}
		n = b.read(0)
	}
	at := time.Now().UnixNano()
	if n < 0 {
		return syscall.Errno(-n)
	}
	for i := range n {
		p.Received(b.bytes[i][:b.messages[i].length], addressOf(&b.names[i]), stamp{NS: u.shown(at)}, mono())
	}
	return nil
}

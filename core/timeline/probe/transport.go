package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

// UDP is a Transport on a socket of this machine, with stamps of the kernel where the system gives them.
type UDP struct {
	// Shown is what a clock that is not this machine's shows when this machine's shows ns: for tests of clocks whose truth is
	// known. All stamps go through it, those of the kernel too. nil: this machine's clock.
	Shown func(ns int64) int64

	conn   *net.UDPConn
	raw    syscall.RawConn
	v4     bool // the socket takes IPv4 addresses only
	stamps bool // the kernel stamps packets

	count  uint32 // of packets sent since the kernel's count began
	base   uint64
	open   int // packets whose kernel stamps have not come
	before [256]int64
	told   []transmitted
	buf    [2 * PacketSize]byte
	oob    [512]byte
	errBuf [2 * PacketSize]byte
	errOOB [512]byte
}

// transmitted is a kernel stamp of something that was sent.
type transmitted struct {
	id uint64
	at int64
}

// Listen opens a socket. Where an interface is named, packets leave and arrive there only.
func Listen(addr netip.AddrPort, device string) (*UDP, error) {
	network := "udp"
	if addr.Addr().Is4() {
		network = "udp4"
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		if device == "" {
			return nil
		}
		var bound error
		if err := c.Control(func(fd uintptr) { bound = bindToDevice(int(fd), device) }); err != nil {
			return err
		}
		return bound
	}}
	conn, err := lc.ListenPacket(context.Background(), network, addr.String())
	if err != nil {
		return nil, listenError(addr, device, err)
	}
	return NewUDP(conn.(*net.UDPConn)), nil
}

func listenError(addr netip.AddrPort, device string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.IO, "UDP port %d is taken", addr.Port()).Wrap(err).WithHint("another prober may run here; else give this node another port in the list of peers")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fault.New(fault.IO, "this machine does not have the address %s", addr.Addr()).Wrap(err).WithHint("name the interface with --interface, or say which peer this node is with --node")
	case device != "":
		return fault.New(fault.IO, "cannot use interface %s: %v", device, err).Wrap(err).WithHint("ip link shows the interfaces")
	}
	return fault.New(fault.IO, "cannot listen on %s: %v", addr, err).Wrap(err)
}

// NewUDP makes a transport of a socket that is open.
func NewUDP(conn *net.UDPConn) *UDP {
	u := &UDP{conn: conn}
	if local, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		u.v4 = local.AddrPort().Addr().Is4()
	}
	if raw, err := conn.SyscallConn(); err == nil {
		u.raw = raw
		_ = raw.Control(func(fd uintptr) { u.stamps = askForStamps(int(fd), true) })
	}
	return u
}

// Kernel reports whether the kernel stamps packets.
func (u *UDP) Kernel() bool { return u.stamps }

// WithoutKernelStamps makes do with the process's own stamps, as on a system that has no others.
func (u *UDP) WithoutKernelStamps() {
	if u.stamps {
		_ = u.raw.Control(func(fd uintptr) { askForNothing(int(fd)) })
		u.stamps = false
	}
}

// Addr returns the socket's address.
func (u *UDP) Addr() netip.AddrPort { return u.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Close closes the socket.
func (u *UDP) Close() error { return u.conn.Close() }

func (u *UDP) shown(ns int64) int64 {
	if u.Shown == nil {
		return ns
	}
	return u.Shown(ns)
}

// Now reads the clock.
func (u *UDP) Now() int64 { return u.shown(time.Now().UnixNano()) }

// Send sends a packet. The kernel's stamp is mostly there when it returns.
func (u *UDP) Send(to netip.AddrPort, b []byte) (Sent, error) {
	if !to.IsValid() {
		return Sent{}, errUnknownAddress
	}
	if u.v4 {
		to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	}
	before := time.Now().UnixNano()
	if _, err := u.conn.WriteToUDPAddrPort(b, to); err != nil {
		u.recount()
		return Sent{}, err
	}
	if !u.stamps {
		return Sent{}, nil
	}
	id := u.base + uint64(u.count) + 1
	u.before[id%uint64(len(u.before))] = before
	u.count++
	u.open++
	if u.count == 1<<32-1 {
		u.recount()
	}
	u.drain()
	for i, t := range u.told {
		if t.id == id {
			u.told = append(u.told[:i], u.told[i+1:]...)
			return Sent{Kernel: t.at}, nil
		}
	}
	return Sent{ID: id}, nil
}

var errUnknownAddress = errors.New("the peer's name has no address yet")

// recount begins the kernel's count of packets anew: after an error nobody knows whether it counted.
func (u *UDP) recount() {
	if !u.stamps {
		return
	}
	_ = u.raw.Control(func(fd uintptr) {
		for u.fromErrorQueue(int(fd)) {
		}
		u.stamps = askForStamps(int(fd), false) && askForStamps(int(fd), true)
	})
	u.base += 1 << 33
	u.count, u.open, u.told = 0, 0, u.told[:0]
}

// drain reads the kernel's stamps of what was sent.
func (u *UDP) drain() {
	if u.open <= 0 {
		return
	}
	_ = u.raw.Control(func(fd uintptr) {
		for u.open > 0 && u.fromErrorQueue(int(fd)) {
		}
	})
}

// tell keeps a stamp. One from before the packet was made, or of the future, is of another packet or of a clock that stepped.
func (u *UDP) tell(number uint32, ns int64) {
	u.open--
	id := u.base + uint64(number) + 1
	if number >= u.count || u.count-number > uint32(len(u.before)) || ns < u.before[id%uint64(len(u.before))] || ns > time.Now().UnixNano() {
		return
	}
	u.told = append(u.told, transmitted{id, u.shown(ns)})
}

// Receive waits for a datagram until the deadline and gives it, and every stamp that came meanwhile, to the prober.
func (u *UDP) Receive(p *Prober, wait time.Duration, mono func() int64) error {
	if err := u.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	n, oobn, _, from, err := u.conn.ReadMsgUDPAddrPort(u.buf[:], u.oob[:])
	now := time.Now().UnixNano()
	u.drain()
	for _, t := range u.told {
		p.Transmitted(t.id, t.at)
	}
	u.told = u.told[:0]
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	at := Stamp{NS: u.shown(now)}
	if ns, ok := receiveStamp(u.oob[:oobn]); ok && u.stamps && ns <= now {
		at = Stamp{u.shown(ns), true}
	}
	p.Received(u.buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), at, mono())
	return nil
}

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

// udp is a Transport on a socket of this machine, with stamps of the kernel where the system gives them.
//
// A packet that the kernel stamps can wait: what arrived is read in batches, when the prober has something to send anyway, and so are
// the stamps of what was sent. Where the process stamps, it wakes up for every packet.
//
// On Linux it has the socket to itself, outside of Go's poller.
type udp struct {
	// Shown is what a clock that is not this machine's shows when this machine's shows ns: for tests of clocks whose truth is
	// known. All stamps go through it, those of the kernel too. nil: this machine's clock.
	Shown func(ns int64) int64

	conn  *net.UDPConn // nil where there is a batch
	local netip.AddrPort
	batch *batch // on Linux; else nil
	buf   [2 * packetSize]byte
}

// listen opens a socket. Where an interface is named, packets leave and arrive there only.
func listen(addr netip.AddrPort, device string) (*udp, error) {
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
	return newUDP(conn.(*net.UDPConn)), nil
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

// newUDP makes a transport of a socket that is open, and takes it over.
func newUDP(conn *net.UDPConn) *udp {
	u := &udp{conn: conn}
	if local, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		u.local = local.AddrPort()
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { u.batch = newBatch(int(fd), u.local.Addr().Is4()) })
	}
	if u.batch != nil {
		u.conn = nil
		_ = conn.Close() // Go's poller forgets the socket, which stays open
	}
	return u
}

// Kernel reports whether the kernel stamps packets.
func (u *udp) Kernel() bool { return u.batch != nil && u.batch.kernel() }

// WithoutKernelStamps makes do with the process's own stamps, as on a system that has no others. It is for before the first packet.
func (u *udp) WithoutKernelStamps() {
	if u.Kernel() {
		u.batch.unstamped()
	}
}

// Addr returns the socket's address.
func (u *udp) Addr() netip.AddrPort { return u.local }

// Close closes the socket.
func (u *udp) Close() error {
	if u.batch != nil {
		u.batch.give()
		return nil
	}
	return u.conn.Close()
}

func (u *udp) shown(ns int64) int64 {
	if u.Shown == nil {
		return ns
	}
	return u.Shown(ns)
}

// now reads the clock.
func (u *udp) Now() int64 { return u.shown(time.Now().UnixNano()) }

// Send sends a packet.
func (u *udp) Send(to netip.AddrPort, b []byte) (id uint64, err error) {
	if !to.IsValid() {
		return 0, errUnknownAddress
	}
	if u.batch != nil {
		return u.batch.send(to, b)
	}
	if u.local.Addr().Is4() {
		to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	}
	_, err = u.conn.WriteToUDPAddrPort(b, to)
	return 0, err
}

var errUnknownAddress = errors.New("the peer's name has no address yet")

// Receive gives the prober what arrives within the time, and every stamp that came meanwhile. Where the process stamps, it returns after
// the first packet.
func (u *udp) Receive(p *prober, wait time.Duration, mono func() int64) error {
	if u.batch != nil {
		return u.batch.receive(u, p, wait, mono)
	}
	if err := u.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	n, from, err := u.conn.ReadFromUDPAddrPort(u.buf[:])
	now := time.Now().UnixNano()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Received(u.buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), stamp{NS: u.shown(now)}, mono())
	return nil
}

package probe_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/probe"
)

// loopback opens a socket on a port that the system gives.
func loopback(t testing.TB, network string) *net.UDPConn {
	t.Helper()
	ip := net.IPv4(127, 0, 0, 1)
	if network == "udp6" {
		ip = net.IPv6loopback
	}
	conn, err := net.ListenUDP(network, &net.UDPAddr{IP: ip})
	if err != nil {
		t.Skipf("no %s on loopback: %v", network, err)
	}
	return conn
}

type kept []probe.Exchange

func (k *kept) Exchange(e *probe.Exchange) { *k = append(*k, *e) }

// TestTwoProbersOnOneClockMeasureNoDifference over real sockets: the truth, 0, is inside what every exchange allows.
func TestTwoProbersOnOneClockMeasureNoDifference(t *testing.T) {
	for _, network := range []string{"udp4", "udp6"} {
		for _, kernel := range []bool{true, false} {
			var sockets []*probe.UDP
			var peers []netip.AddrPort
			for range 2 {
				u := probe.NewUDP(loopback(t, network))
				defer u.Close()
				if !kernel {
					u.WithoutKernelStamps()
				}
				sockets, peers = append(sockets, u), append(peers, u.Addr())
			}
			start := time.Now()
			mono := func() int64 { return int64(time.Since(start)) }
			sinks := make([]kept, 2)
			var probers []*probe.Prober
			for i, u := range sockets {
				p, err := probe.New(probe.Config{Peers: peers, Node: i, Key: []byte("0123456789abcdef"), Random: uint64(i + 1), Rate: 2000}, u, u, &sinks[i], mono())
				if err != nil {
					t.Fatal(err)
				}
				probers = append(probers, p)
			}
			for len(sinks[0])+len(sinks[1]) < 200 && time.Since(start) < 2*time.Minute {
				for i, p := range probers {
					p.Advance(mono())
					if err := sockets[i].Receive(p, 200*time.Microsecond, mono); err != nil {
						t.Fatal(err)
					}
				}
			}
			all, stamped := 0, 0
			for i, p := range probers {
				p.Close()
				for _, e := range sinks[i] {
					all++
					if e.T1.Kernel && e.T2.Kernel && e.T3.Kernel && e.T4.Kernel {
						stamped++
					}
					if e.T1.NS > e.T2.NS || e.T2.NS > e.T3.NS || e.T3.NS > e.T4.NS {
						t.Errorf("%s: stamps of one clock out of order: %+v", network, e)
					}
				}
			}
			t.Logf("%s, kernel stamps %v: %d exchanges, %d with four kernel stamps; %+v", network, kernel, all, stamped, probers[0].Counters())
			if all < 200 {
				t.Errorf("%s: %d exchanges", network, all)
			}
			if kernel && sockets[0].Kernel() && stamped < all/2 {
				t.Errorf("%s: %d of %d exchanges have four kernel stamps", network, stamped, all)
			}
			if !kernel && stamped > 0 {
				t.Errorf("%s: %d exchanges have kernel stamps that nobody asked for", network, stamped)
			}
		}
	}
}

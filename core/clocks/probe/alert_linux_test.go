package probe_test

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/probe"
)

// TestAProcessThatStampsWaitsWithoutTurning: a socket whose packets the process stamps sleeps while nothing arrives, also after something was
// sent, and wakes up for a packet, however it waits.
func TestAProcessThatStampsWaitsWithoutTurning(t *testing.T) {
	for _, network := range []string{"udp4", "udp6"} {
		u := probe.NewUDP(loopback(t, network))
		defer u.Close()
		u.WithoutKernelStamps()
		start := time.Now()
		mono := func() int64 { return int64(time.Since(start)) }
		peer := loopback(t, network)
		defer peer.Close()
		there := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		p, err := probe.New(probe.Config{Peers: []netip.AddrPort{u.Addr(), there}, Key: []byte("0123456789abcdef"), Random: 1}, u, u, &kept{}, mono())
		if err != nil {
			t.Fatal(err)
		}
		for _, sends := range []bool{false, true} {
			if sends {
				if _, err := u.Send(there, make([]byte, probe.PacketSize)); err != nil {
					t.Fatal(err)
				}
			}
			const wait = 200 * time.Millisecond
			before, spent := time.Now(), cpuTime(t)
			if err := u.Receive(p, wait, mono); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(before); took < wait {
				t.Errorf("%s, sends %v: came back after %v of %v with nothing", network, sends, took, wait)
			}
			if spent = cpuTime(t) - spent; spent > wait/2 {
				t.Errorf("%s, sends %v: spent %v of %v", network, sends, spent, wait)
			}
		}
		for _, after := range []time.Duration{0, 50 * time.Microsecond, 20 * time.Millisecond} { // waiting already, by itself or as Go does
			rejected := p.Counters().Malformed
			if _, err := u.Send(there, make([]byte, probe.PacketSize)); err != nil {
				t.Fatal(err)
			}
			go func() {
				time.Sleep(after)
				_, _ = peer.WriteToUDPAddrPort([]byte("no packet of ours"), u.Addr())
			}()
			before := time.Now()
			if err := u.Receive(p, time.Minute, mono); err != nil {
				t.Fatal(err)
			}
			if p.Counters().Malformed != rejected+1 || time.Since(before) > 30*time.Second {
				t.Errorf("%s: a packet after %v did not wake it up: %+v after %v", network, after, p.Counters(), time.Since(before))
			}
		}
	}
}

// cpuTime is what the process has spent.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package snapshot_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// chronyNumber is a number as chrony's protocol writes it: 7 bits of exponent, 25 of coefficient.
func chronyNumber(v float64) uint32 {
	if v == 0 {
		return 0
	}
	frac, exp := math.Frexp(v) // v = frac * 2^exp, |frac| < 1
	return uint32(exp+1)<<25 | uint32(int32(math.Round(frac*(1<<24))))&(1<<25-1)
}

// tracking is an answer of chronyd to the request "tracking".
type tracking struct {
	reference                            uint32
	leap                                 uint16
	off, rms, residual, skew, delay, dis float64
}

func (r tracking) answer(ask []byte) []byte {
	be, b := binary.BigEndian, make([]byte, 104)
	b[0], b[1] = 6, 2
	be.PutUint16(b[4:], 33)
	be.PutUint16(b[6:], 5)
	copy(b[16:], ask[8:12])
	be.PutUint32(b[28:], r.reference)
	be.PutUint16(b[54:], r.leap)
	for at, v := range map[int]float64{68: r.off, 76: r.rms, 80: -2.5, 84: r.residual, 88: r.skew, 92: r.delay, 96: r.dis} {
		be.PutUint32(b[at:], chronyNumber(v))
	}
	return b
}

// chronyd stands in for chronyd; it returns the variable that leads to it.
func chronyd(t *testing.T, answers func(ask []byte) [][]byte) string {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDP(b)
			if err != nil {
				return
			}
			if n != 104 || b[0] != 6 || b[1] != 1 || binary.BigEndian.Uint16(b[4:]) != 33 {
				continue
			}
			for _, a := range answers(b[:n]) {
				conn.WriteToUDP(a, from)
			}
		}
	}()
	return fmt.Sprintf("PRLX_CHRONY_PORT=%d", conn.LocalAddr().(*net.UDPAddr).Port)
}

// said runs the sampler for a moment and returns what a daemon said; nil: nothing.
func said(t *testing.T, program, source string, environment ...string) *clockfile.SystemClock {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if out, err := runC(t, environment, program, "clock", path, "monotonic"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range read(t, path).System {
		if s.Source == source {
			return &s
		}
	}
	return nil
}

func TestChronySaysHowFarTheClockCanBeOff(t *testing.T) {
	program, _ := cLibrary(t)
	good := tracking{reference: 0x0a000001, off: -2e-6, rms: 3e-6, residual: 0.25, skew: 0.5, delay: 100e-6, dis: 40e-6}
	changed := func(change func(*tracking)) tracking { r := good; change(&r); return r }
	type state struct {
		synchronized          bool
		most, growth, likeley int64
	}
	for _, c := range []struct {
		name string
		r    tracking
		want *state
	}{
		{"kept", good, &state{true, 92_000, 1750, 3000}}, // 2 + 40 + 100/2 us
		{"not synchronized", changed(func(r *tracking) { r.leap = 3 }), &state{false, 92_000, 1750, 3000}},
		{"its own reference", changed(func(r *tracking) { r.reference = 0x7f7f0101 }), &state{false, 92_000, 1750, 3000}},
		{"no reference", changed(func(r *tracking) { r.reference = 0 }), &state{false, 92_000, 1750, 3000}},
		{"a negative delay", changed(func(r *tracking) { r.delay = -1e-3 }), nil},
		{"a negative dispersion", changed(func(r *tracking) { r.dis = -1e-3 }), nil},
		{"more than any clock is off", changed(func(r *tracking) { r.off = 1e12 }), nil},
		{"a skew beyond belief", changed(func(r *tracking) { r.skew = 1e15 }), nil},
	} {
		got := said(t, program, "chrony", chronyd(t, func(ask []byte) [][]byte { return [][]byte{c.r.answer(ask)} }))
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
			continue
		}
		if got == nil {
			continue
		}
		near := func(a, b int64) bool { return a-b <= 2 && b-a <= 2 }
		if got.Synchronized != c.want.synchronized || !near(got.MaxErrorNS, c.want.most) || !near(got.GrowthPPB, c.want.growth) || !near(got.EstErrorNS, c.want.likeley) ||
			!near(got.DriftPPB, 2500) || got.Reference != clockfile.UTC {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestChronyWithoutAPortAnswersOnItsSocket: with "cmdport 0" it does so for sockets in its own directory.
func TestChronyWithoutAPortAnswersOnItsSocket(t *testing.T) {
	program, _ := cLibrary(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "chronyd.sock")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUnix(b)
			if err != nil {
				return
			}
			if n == 104 && from != nil {
				r := tracking{reference: 0x0a000001, off: 1e-6, delay: 100e-6, dis: 40e-6}
				_, _ = conn.WriteToUnix(r.answer(b[:n]), from)
			}
		}
	}()
	closed, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	noPort := fmt.Sprintf("PRLX_CHRONY_PORT=%d", closed.LocalAddr().(*net.UDPAddr).Port)
	closed.Close()
	got := said(t, program, "chrony", noPort, "PRLX_CHRONY_SOCKET="+path)
	if got == nil || !got.Synchronized || got.MaxErrorNS < 90_999 || got.MaxErrorNS > 91_003 {
		t.Errorf("got %+v", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, missing := range []string{filepath.Join(dir, "no.sock"), filepath.Join(dir, strings.Repeat("long", 40)), "chronyd.sock"} {
		if got := said(t, program, "chrony", noPort, "PRLX_CHRONY_SOCKET="+missing); got != nil {
			t.Errorf("%s: got %+v of a socket that there is not", missing, got)
		}
	}
}

// TestAnswersThatAreNoneAreNotTakenForOnes: an answer to another question, a short one, another protocol. The right one may follow.
func TestAnswersThatAreNoneAreNotTakenForOnes(t *testing.T) {
	program, _ := cLibrary(t)
	good := tracking{reference: 0x0a000001, delay: 100e-6, dis: 40e-6}
	wrong := func(ask []byte) [][]byte {
		b := good.answer(ask)
		other := func(at int, v byte) []byte { c := slices.Clone(b); c[at] ^= v; return c }
		return [][]byte{b[:103], other(0, 1), other(1, 3), other(5, 1), other(19, 255), {}}
	}
	if got := said(t, program, "chrony", chronyd(t, wrong)); got != nil {
		t.Errorf("got %+v of answers to nothing", got)
	}
	if got := said(t, program, "chrony", chronyd(t, func(ask []byte) [][]byte { return append(wrong(ask), good.answer(ask)) })); got == nil {
		t.Error("the answer after them is not found")
	}
	if got := said(t, program, "chrony", chronyd(t, func(ask []byte) [][]byte {
		b := good.answer(ask)
		b[9] = 2 // a status: not authorized
		return [][]byte{b}
	})); got != nil {
		t.Errorf("got %+v of a refusal", got)
	}
	if got := said(t, program, "chrony", chronyd(t, func([]byte) [][]byte { return nil })); got != nil {
		t.Errorf("got %+v of nobody", got)
	}
	if got := said(t, program, "chrony", "PRLX_CHRONY_PORT=99999"); got != nil {
		t.Errorf("got %+v of a port that there is not", got)
	}
}

// ptpClock is what a ptp4l of tests has to say.
type ptpClock struct {
	off, delay                        int64 // ns
	steps                             uint16
	state, mechanism, stamping, flags byte
	grandmaster                       bool
	face                              string
	cut                               int // of each answer's end
}

// answer is the answer to a question; nil where there is none.
func (c ptpClock) answer(ask []byte) []byte {
	be := binary.BigEndian
	id := be.Uint16(ask[52:])
	own, master := []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{0x11, 0x22, 0x33, 0xff, 0xfe, 0x44, 0x55, 0x66}
	if c.grandmaster {
		master = own
	}
	port := append(slices.Clone(own), 0, 1)
	var d []byte
	switch id {
	case 0x2001:
		d = be.AppendUint64(be.AppendUint64(be.AppendUint16(nil, c.steps), uint64(c.off<<16)), uint64(c.delay<<16))
	case 0x2002:
		d = append(make([]byte, 24), master...)
	case 0x2003:
		d = append(be.AppendUint16(nil, 37), c.flags, 0xa0)
	case 0x2004:
		d = make([]byte, 26)
		copy(d, port)
		d[10], d[23] = c.state, c.mechanism
	case 0xc004:
		d = append(append(port, c.state, c.stamping, byte(len(c.face))), c.face...)
	}
	b := slices.Clone(ask[:54])
	b[46] = 2
	be.PutUint16(b[50:], uint16(2+len(d)))
	b = append(b, d...)
	return b[:len(b)-c.cut]
}

// ptp4l stands in for ptp4l; it returns the variable that leads to it.
func ptp4l(t *testing.T, c ptpClock) string {
	path := filepath.Join(t.TempDir(), "ptp4l")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUnix(b)
			if err != nil {
				return
			}
			if n == 54 && b[0] == 0x0d && b[46] == 0 && b[4] == 3 {
				conn.WriteToUnix(c.answer(b[:n]), from)
			}
		}
	}()
	return "PRLX_PTP4L_SOCKET=" + path
}

func TestPTP4LSaysHowFarTheClockIsFromTheGrandmaster(t *testing.T) {
	program, standIn := cLibrary(t)
	phc := "LD_PRELOAD=" + standIn("phc")
	const slave, endToEnd, peerToPeer, hardware, timescale = 9, 1, 2, 1, 8
	for _, c := range []struct {
		name         string
		clock        ptpClock
		synchronized bool
		most, likely int64 // most 0: not stated
	}{
		{"next to it", ptpClock{off: -300, delay: 2000, steps: 1, state: slave, mechanism: endToEnd, face: "eth0"}, true, 2301, 300},
		{"a clock between", ptpClock{off: -300, delay: 2000, steps: 2, state: slave, mechanism: endToEnd, face: "eth0"}, true, 0, 300},
		{"delays from peer to peer", ptpClock{off: -300, delay: 2000, steps: 1, state: slave, mechanism: peerToPeer, face: "eth0"}, true, 0, 300},
		{"not yet a slave", ptpClock{off: -300, delay: 2000, steps: 1, state: 8, mechanism: endToEnd, face: "eth0"}, false, 0, 0},
		{"itself", ptpClock{state: 6, grandmaster: true, face: "eth0"}, true, 2, 0},
		{"a card's clock", ptpClock{off: 40, delay: 500, steps: 1, state: slave, mechanism: endToEnd, stamping: hardware, flags: timescale, face: "eth7"}, true, 2242, 1460},
		{"a card's clock, another timescale", ptpClock{off: 40, delay: 500, steps: 1, state: slave, mechanism: endToEnd, stamping: hardware, face: "eth7"}, true, 37_000_002_242, 37_000_001_460},
		{"a card without a clock", ptpClock{off: 40, delay: 500, steps: 1, state: slave, mechanism: endToEnd, stamping: hardware, flags: timescale, face: "eth8"}, true, 0, 0},
		{"a negative delay", ptpClock{off: 40, delay: -500, steps: 1, state: slave, mechanism: endToEnd, face: "eth0"}, false, -1, 0},
		{"an offset of years", ptpClock{off: 1 << 46, delay: 500, steps: 1, state: slave, mechanism: endToEnd, face: "eth0"}, true, 1<<46 + 501, 1 << 46},
		{"answers that end early", ptpClock{off: 40, delay: 500, steps: 1, state: slave, mechanism: endToEnd, face: "eth0", cut: 1}, false, -1, 0},
	} {
		got := said(t, program, "ptp4l", ptp4l(t, c.clock), "PRLX_PTP_DOMAIN=3", phc)
		if (got == nil) != (c.most < 0) {
			t.Errorf("%s: got %+v", c.name, got)
			continue
		}
		if got == nil {
			continue
		}
		to := "PTP 112233.fffe.445566"
		if c.clock.grandmaster {
			to = "PTP 010203.0405.060708"
		}
		// the narrowest bracket is 400 ns wide, in the middle of which the card is 1,500 ns ahead
		if got.Synchronized != c.synchronized || max(got.MaxErrorNS-c.most, c.most-got.MaxErrorNS) > 2 || got.EstErrorNS != c.likely || got.Reference != to {
			t.Errorf("%s: got %+v, want %v, %d, %d, %s", c.name, got, c.synchronized, c.most, c.likely, to)
		}
	}
	if got := said(t, program, "ptp4l", ptp4l(t, ptpClock{face: "eth0"})); got != nil { // domain 0
		t.Errorf("another domain: got %+v", got)
	}
}

func TestThePTPClockOfTheHypervisorIsRead(t *testing.T) {
	program, standIn := cLibrary(t)
	phc := "LD_PRELOAD=" + standIn("phc")
	got := said(t, program, "PTP-KVM", phc, "STANDIN_HYPERVISOR=1")
	if got == nil || !got.Synchronized || got.MaxErrorNS != 2701 || got.Reference != "hypervisor" {
		t.Errorf("got %+v", got)
	}
	for _, e := range [][]string{{phc}, {phc, "STANDIN_HYPERVISOR=1", "STANDIN_OLD_DRIVER=1"}, {}} {
		if got := said(t, program, "PTP-KVM", e...); got != nil {
			t.Errorf("%v: got %+v", e, got)
		}
	}
}

// TestACardsClockIsReadWithinTheKernel: of the driver's brackets the narrowest is taken, and a reading that is not a time is left out.
func TestACardsClockIsReadWithinTheKernel(t *testing.T) {
	program, standIn := cLibrary(t)
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if out, err := runC(t, []string{"LD_PRELOAD=" + standIn("phc")}, program, "clock", path, "ptp:/dev/ptp7"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := read(t, path)
	if got.TracerClock != "PTP /dev/ptp7" || len(got.Pairs) != 5 {
		t.Fatalf("%d pairs of %q", len(got.Pairs), got.TracerClock)
	}
	for _, p := range got.Pairs {
		if p.BracketNS != 400 || p.TracerNS-p.SysNS != 37_000_001_500 {
			t.Errorf("got %+v", p)
		}
	}
}

package probe_test

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Real packets between processes. Every process has an identity and a wall clock of its own: an offset and a drift against the machine's,
// applied to its own stamps and the kernel's alike.

// skewed is a clock of known error.
type skewed struct {
	zero, offset int64
	drift        float64 // parts of one
	steps, by    int64   // when it steps, on the machine's clock, and by how much; 0: never
}

func (c skewed) shown(ns int64) int64 {
	shown := ns + c.offset + int64(math.Round(c.drift*float64(ns-c.zero)))
	if c.steps > 0 && ns >= c.steps {
		shown += c.by
	}
	return shown
}

// TestProberProcess is what the processes of the other tests run.
func TestProberProcess(t *testing.T) {
	if os.Getenv("PROBER_PROCESS") == "" {
		t.Skip("is run by other tests, in processes of their own")
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(os.Getenv("PROBER_"+name), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	node := int(number("PROCESS"))
	peers := strings.Split(os.Getenv("PROBER_PEERS"), ",")
	var socket *probe.UDP
	if os.Getenv("PROBER_SOCKET") != "" {
		conn, err := net.FilePacketConn(os.NewFile(3, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		socket = probe.NewUDP(conn.(*net.UDPConn))
	} else {
		u, err := net.ResolveUDPAddr("udp", peers[node])
		if err != nil {
			t.Fatal(err)
		}
		if socket, err = probe.Listen(u.AddrPort(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("PROBER_KERNEL") == "" {
		socket.WithoutKernelStamps()
	}
	c := skewed{number("ZERO"), number("OFFSET"), float64(number("DRIFT")) / 1e9, number("STEPS"), number("BY")}
	socket.Shown = c.shown
	_, err := probe.Run(job.New(context.Background(), job.Options{}), probe.Request{
		Peers: peers, Node: &node, Output: os.Getenv("PROBER_OUTPUT"), Duration: time.Duration(number("DURATION")), Rate: float64(number("RATE")),
		Environment: map[string]string{"PRLX_JOB_KEY": "a key of the test's job"}, HostClock: os.Getenv("PROBER_ID") + strconv.Itoa(node), Socket: socket,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// measured is what processes found out about each other.
type measured struct {
	errors, bounds []int64 // ascending
	minRTT         int64
	beyond, n      int
	stamps, kernel int
	cpu            time.Duration // of all processes
}

// processes runs one prober a peer and holds the solution against the truth. The clock of the stepper, if it is none of them -1, steps. command makes the command of a node; sockets are those that it inherits.
func processes(t *testing.T, peers []string, sockets []*os.File, kernel bool, stepper int, command func(node int, program string, arguments ...string) *exec.Cmd) measured {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := rand.New(rand.NewSource(int64(len(peers)) + 5))
	clocks := make([]skewed, len(peers))
	duration, rate := 6*time.Second, 150
	if d, err := time.ParseDuration(os.Getenv("PROBER_SECONDS")); err == nil { // for measurements, at the default rate
		duration, rate = d, probe.DefaultRate
	}
	var running []*exec.Cmd
	zero := time.Now().UnixNano()
	for i := range peers {
		clocks[i] = skewed{zero: zero, offset: r.Int63n(4e9) - 2e9, drift: (r.Float64()*2 - 1) * 200e-6}
		if i == stepper {
			clocks[i].steps, clocks[i].by = zero+int64(duration)/2, 2_000_000
		}
		drift := int64(clocks[i].drift * 1e9)
		clocks[i].drift = float64(drift) / 1e9
		cmd := command(i, program, "-test.run=^TestProberProcess$")
		for name, value := range map[string]string{
			"PROCESS": strconv.Itoa(i), "PEERS": strings.Join(peers, ","), "ZERO": fmt.Sprint(zero), "OFFSET": fmt.Sprint(clocks[i].offset), "DRIFT": fmt.Sprint(drift),
			"STEPS": fmt.Sprint(clocks[i].steps), "BY": fmt.Sprint(clocks[i].by), "OUTPUT": dir, "DURATION": fmt.Sprint(int64(duration)), "RATE": strconv.Itoa(rate), "ID": dir,
		} {
			cmd.Env = append(cmd.Env, "PROBER_"+name+"="+value)
		}
		if kernel {
			cmd.Env = append(cmd.Env, "PROBER_KERNEL=1")
		}
		if sockets != nil {
			cmd.ExtraFiles = []*os.File{sockets[i]}
			cmd.Env = append(cmd.Env, "PROBER_SOCKET=1")
		}
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "TMPDIR="+dir)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	var m measured
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("node %d: %v", i, err)
		}
		u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		m.cpu += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	m.judge(t, dir, clocks)
	return m
}

// judge solves what lies in a directory and compares it with the truth.
func (m *measured) judge(t *testing.T, dir string, clocks []skewed) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "probes_node*.jsonl"))
	var all []clockfile.Stamp
	for _, path := range found {
		src, err := file.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := clockfile.Read(context.Background(), src)
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f.Stamps...)
		text, _ := os.ReadFile(path)
		m.kernel += strings.Count(string(text), `"kkkk"`)
	}
	m.stamps = len(all)
	s, err := offsets.SolveStamps(context.Background(), all, offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != len(clocks) {
		t.Fatalf("%d of %d nodes have a clock; %q", len(s.Nodes), len(clocks), s.Warnings)
	}
	for _, l := range s.Links {
		if m.minRTT == 0 || l.MinRTTNS < m.minRTT {
			m.minRTT = l.MinRTTNS
		}
	}
	for _, n := range s.Nodes {
		if n.Node == s.Reference {
			continue
		}
		c, ref := clocks[n.Node], clocks[s.Reference]
		from, to, _ := n.Map.Span()
		for i := range int64(500) {
			x := from + (to-from)/500*i
			// the instant at which this clock showed x
			at := c.zero + int64(math.Round(float64(x-c.zero-c.offset)/(1+c.drift)))
			if c.steps > 0 && at >= c.steps {
				if at -= c.by; at < c.steps { // it never showed x
					continue
				}
			}
			y, bound, coverage := n.Map.At(x)
			e := y - ref.shown(at)
			e = max(e, -e)
			m.n++
			if e > bound+1 { // the truth is rounded twice
				m.beyond++
			}
			if coverage&clock.InStep == 0 {
				m.errors, m.bounds = append(m.errors, e), append(m.bounds, bound)
			}
		}
		if stepped := c.steps > 0 || ref.steps > 0; stepped != (len(n.Steps) == 1) {
			t.Errorf("node %d stepped: %v, found %+v", n.Node, stepped, n.Steps)
		}
	}
	slices.Sort(m.errors)
	slices.Sort(m.bounds)
}

func (m *measured) say(t *testing.T, where string) {
	t.Helper()
	t.Logf("%s: error p50 %d, p99 %d, max %d ns; bound median %d, max %d ns; smallest round trip %d ns; %d stamps, %d with four of the kernel; CPU time of all processes %v",
		where, m.errors[len(m.errors)/2], m.errors[len(m.errors)*99/100], m.errors[len(m.errors)-1], m.bounds[len(m.bounds)/2], m.bounds[len(m.bounds)-1], m.minRTT, m.stamps, m.kernel, m.cpu)
	if m.beyond > 0 {
		t.Errorf("%s: %d of %d errors are beyond their bound", where, m.beyond, m.n)
	}
}

// onLoopback opens a socket for each of so many processes.
func onLoopback(t *testing.T, count int) (peers []string, sockets []*os.File) {
	t.Helper()
	for range count {
		conn := loopback(t, "udp4")
		f, err := conn.File()
		if err != nil {
			t.Fatal(err)
		}
		peers, sockets = append(peers, conn.LocalAddr().String()), append(sockets, f)
		conn.Close()
		t.Cleanup(func() { f.Close() })
	}
	return peers, sockets
}

func TestAClockThatStepsWhileItIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, kernel := range []bool{true, false} {
		peers, sockets := onLoopback(t, 3)
		m := processes(t, peers, sockets, kernel, 2, func(_ int, program string, arguments ...string) *exec.Cmd { return exec.Command(program, arguments...) })
		m.say(t, fmt.Sprintf("a step, kernel stamps %v", kernel))
	}
}

func TestEightProcessesOverLoopbackFindTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, kernel := range []bool{true, false} {
		peers, sockets := onLoopback(t, 8)
		m := processes(t, peers, sockets, kernel, -1, func(_ int, program string, arguments ...string) *exec.Cmd { return exec.Command(program, arguments...) })
		m.say(t, fmt.Sprintf("loopback, kernel stamps %v", kernel))
	}
}

// TestEightProcessesInNetworksOfTheirOwnFindTheTruth runs each in a network namespace; pairs of virtual devices lead to a bridge.
func TestEightProcessesInNetworksOfTheirOwnFindTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if os.Getuid() != 0 {
		t.Skip("2 measurements left out: network namespaces need root")
	}
	ip := func(arguments ...string) error {
		out, err := exec.Command("ip", arguments...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %v: %s", strings.Join(arguments, " "), err, out)
		}
		return nil
	}
	base := fmt.Sprintf("prlx%d", os.Getpid())
	if err := ip("netns", "add", base); err != nil {
		t.Skipf("2 measurements left out: %v", err)
	}
	defer ip("netns", "delete", base)
	must := func(arguments ...string) {
		t.Helper()
		if err := ip(arguments...); err != nil {
			t.Fatal(err)
		}
	}
	must("-n", base, "link", "add", "bridge", "type", "bridge")
	must("-n", base, "link", "set", "bridge", "up")
	var peers []string
	for i := range 8 {
		name := fmt.Sprintf("%s-%d", base, i)
		must("netns", "add", name)
		defer ip("netns", "delete", name)
		must("-n", base, "link", "add", fmt.Sprintf("port%d", i), "type", "veth", "peer", "name", "uplink", "netns", name)
		must("-n", base, "link", "set", fmt.Sprintf("port%d", i), "master", "bridge", "up")
		must("-n", name, "address", "add", fmt.Sprintf("10.77.0.%d/24", i+1), "dev", "uplink")
		must("-n", name, "link", "set", "uplink", "up")
		peers = append(peers, fmt.Sprintf("10.77.0.%d:47474", i+1))
	}
	for _, kernel := range []bool{true, false} {
		m := processes(t, peers, nil, kernel, -1, func(node int, program string, arguments ...string) *exec.Cmd {
			return exec.Command("ip", append([]string{"netns", "exec", fmt.Sprintf("%s-%d", base, node), program}, arguments...)...)
		})
		m.say(t, fmt.Sprintf("network namespaces, kernel stamps %v", kernel))
	}
}

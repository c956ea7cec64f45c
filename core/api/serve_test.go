package api

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/simulator/device"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// client is a process without Python, at the other end of a pipe: it has the memory of its device at another address than we.
type client struct {
	t      testing.TB
	pipe   *os.File
	memory []byte
	ended  chan []byte // the reply of serve_device
}

const clientBase = 0x200000000000

func newClient(t testing.TB, bytes int) *client {
	return newClientOf(t, bytes, "null")
}

// newClientOf has a device that is part of a run.
func newClientOf(t testing.TB, bytes int, run string) *client {
	t.Helper()
	held, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	if err == nil {
		err = held.Truncate(int64(bytes))
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := syscall.Mmap(int(held.Fd()), 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, pipe: os.NewFile(uintptr(ends[0]), "ours"), memory: ours, ended: make(chan []byte, 1)}
	go func() {
		request := fmt.Sprintf(`{"pipe": %d, "memory": %d, "base": %d, "bytes": %d, "run": %s}`, ends[1], held.Fd(), uint64(clientBase), bytes, run)
		c.ended <- New().Call("serve_device", []byte(request))
		held.Close()
	}()
	t.Cleanup(func() {
		c.pipe.Close()
		_ = syscall.Munmap(ours)
	})
	return c
}

// send sends an operation.
func (c *client) send(op string, request any) {
	c.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	frame := binary.LittleEndian.AppendUint32([]byte("PRV1"), uint32(len(op)))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)))
	if _, err := c.pipe.Write(append(append(frame, op...), text...)); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends an operation and takes the reply.
func (c *client) ask(op string, request any) []byte {
	c.t.Helper()
	c.send(op, request)
	var head [4]byte
	if _, err := io.ReadFull(c.pipe, head[:]); err != nil {
		c.t.Fatal(err)
	}
	reply := make([]byte, binary.LittleEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c.pipe, reply); err != nil {
		c.t.Fatal(err)
	}
	return reply
}

func (c *client) must(op string, request, into any) {
	c.t.Helper()
	reply := c.ask(op, request)
	if reply[0] != replyDocument {
		c.t.Fatalf("%s: %s", op, reply[1:])
	}
	if err := json.Unmarshal(reply[1:], into); err != nil {
		c.t.Fatal(err)
	}
}

// counted is increment with a variable that says how many threads there were.
var counted = strings.Replace(increment, ".visible", ".visible .global .align 4 .u32 threads = 7;\n.visible", 1)

// TestAProcessWithoutPythonHasADevice: it loads, maps, launches, reads what the kernel wrote and what is wrong with it, over a pipe.
func TestAProcessWithoutPythonHasADevice(t *testing.T) {
	c := newClient(t, 1<<16)
	var loaded simulateLoadDocument
	c.must("simulate_load", map[string]any{"name": "increment.ptx", "ptx": counted, "signatures": true}, &loaded)
	if len(loaded.Kernels) != 1 || !loaded.Signatures[0].Params[0].Pointer {
		t.Fatalf("loaded %+v", loaded)
	}
	var mapped simulateArraysDocument
	const x, other = clientBase + 512, clientBase + 1024
	c.must("simulate_arrays", map[string]any{"add": []map[string]any{{"name": "x", "address": x, "bytes": 40}, {"name": "other", "address": other, "bytes": 64}}}, &mapped)
	if mapped.Arrays != 2 {
		t.Fatalf("mapped %+v", mapped)
	}
	for i := range 10 {
		binary.LittleEndian.PutUint32(c.memory[512+4*i:], uint32(100*i))
	}
	launch := func(n int) map[string]any {
		return map[string]any{
			"module": loaded.Module, "kernel": "increment", "grid": [3]int{1, 1, 1}, "block": [3]int{64, 1, 1}, "table": mapped.Table,
			"params": []map[string]any{{"name": "p", "type": "u64", "bits": x, "allocation": -2}, {"name": "n", "type": "u32", "bits": n, "allocation": -2}},
		}
	}
	var ran simulation.Document
	if c.must("simulate_launch", launch(10), &ran); ran.Status != "clean" {
		t.Errorf("findings: %+v", ran.Findings)
	}
	for i := range 10 {
		if got := binary.LittleEndian.Uint32(c.memory[512+4*i:]); got != uint32(100*i+1) {
			t.Errorf("element %d is %d", i, got)
		}
	}
	if c.must("simulate_launch", launch(11), &ran); len(ran.Findings) == 0 || ran.Findings[0].Check != "out-of-bounds" || ran.Findings[0].Access.Nearest != "x" || ran.Findings[0].Line != 12 {
		t.Errorf("an element behind the array: %+v", ran.Findings)
	}
	c.must("simulate_arrays", map[string]any{"table": mapped.Table, "remove": []uint64{x}}, &mapped)
	if c.must("simulate_launch", launch(10), &ran); len(ran.Findings) == 0 || ran.Findings[0].Check != "use-after-free" {
		t.Errorf("an array that is gone: %+v", ran.Findings)
	}
	variable := func(name string, offset, at, n int, write bool) map[string]any {
		return map[string]any{"module": loaded.Module, "name": name, "offset": offset, "address": at, "bytes": n, "write": write}
	}
	var size simulateVariableDocument
	if c.must("simulate_variable", variable("threads", 0, 0, 0, false), &size); size.Bytes != 4 {
		t.Errorf("the variable has %d bytes", size.Bytes)
	}
	c.must("simulate_variable", variable("threads", 0, other, 4, false), &size)
	if got := binary.LittleEndian.Uint32(c.memory[1024:]); got != 7 {
		t.Errorf("the variable is %d, want 7", got)
	}
	c.memory[1024] = 9
	c.must("simulate_variable", variable("threads", 1, other, 1, true), &size)
	if c.must("simulate_variable", variable("threads", 0, other, 4, false), &size); binary.LittleEndian.Uint32(c.memory[1024:]) != 7+9<<8 {
		t.Errorf("the variable is %#x", binary.LittleEndian.Uint32(c.memory[1024:]))
	}
	for request, want := range map[string]map[string]any{
		"no variable": variable("thread", 0, other, 4, false), "the variable threads has 4": variable("threads", 2, other, 4, true),
		"not within the memory of the device": variable("threads", 0, clientBase+1<<16-2, 4, false), "there is no module": {"module": 99, "name": "threads"},
	} {
		if reply := c.ask("simulate_variable", want); reply[0] != replyError || !strings.Contains(string(reply), request) {
			t.Errorf("%v: %s, want %q", want, reply, request)
		}
	}
	for _, op := range []string{"combine", "serve_device", "nothing", "convert"} {
		if reply := c.ask(op, map[string]any{}); reply[0] != replyError || !strings.Contains(string(reply), "there is no operation") {
			t.Errorf("%s: %s", op, reply)
		}
	}
	var facts simulateTargetDocument
	if c.must("simulate_target", map[string]any{}, &facts); facts.Name != "sm_80" || facts.Warp != 32 || facts.SharedOfBlock != 163<<10 || facts.Capability != [2]uint32{8, 0} {
		t.Errorf("the device is %+v", facts)
	}
	c.pipe.Close()
	if reply := <-c.ended; reply[0] != replyDocument || !strings.Contains(string(reply), `"requests":`) {
		t.Errorf("the end of the pipe: %s", reply)
	}
}

// TestADeviceEndsWithItsClient, also in the middle of a launch that would never end.
func TestADeviceEndsWithItsClient(t *testing.T) {
	endless := strings.Replace(increment, "	@%p1 bra $done;", "$again:\n	bra $again;", 1)
	c := newClient(t, 1<<16)
	var loaded simulateLoadDocument
	c.must("simulate_load", map[string]any{"name": "endless.ptx", "ptx": endless}, &loaded)
	c.send("simulate_launch", map[string]any{
		"module": loaded.Module, "kernel": "increment", "grid": [3]int{1, 1, 1}, "block": [3]int{64, 1, 1}, "max_instructions": 0,
		"params": []map[string]any{{"name": "p", "type": "u64", "allocation": -2}, {"name": "n", "type": "u32", "allocation": -2}},
	})
	c.pipe.Close()
	select {
	case reply := <-c.ended:
		if reply[0] != replyDocument {
			t.Errorf("the device ended with %s", reply)
		}
	case <-time.After(time.Minute):
		t.Fatal("the device still runs the launch of a client that is gone")
	}
}

// TestADeviceRefusesWhatIsNoRequest, and memory that is not there.
func TestADeviceRefusesWhatIsNoRequest(t *testing.T) {
	for name, bytes := range map[string]string{
		"noise": "GET / HTTP/1.1\r\n\r\n", "no name": "PRV1\x00\x00\x00\x00\x02\x00\x00\x00{}", "a long name": "PRV1\x41\x00\x00\x00\x02\x00\x00\x00{}",
		"too much": "PRV1\x04\x00\x00\x00\x01\x00\x00\x10name", "the name is cut": "PRV1\x04\x00\x00\x00\x02\x00\x00\x00na", "the request is cut": "PRV1\x04\x00\x00\x00\x09\x00\x00\x00name{}",
		"the head is cut": "PRV",
	} {
		c := newClient(t, 4096)
		if _, err := c.pipe.WriteString(bytes); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Shutdown(int(c.pipe.Fd()), syscall.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		if reply := <-c.ended; reply[0] != replyError {
			t.Errorf("%s: %s", name, reply)
		}
	}
	small, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	for request, want := range map[string]string{
		fmt.Sprintf(`{"pipe": 0, "memory": %d, "base": 4096, "bytes": 4096}`, small.Fd()): "the shared memory has 0 bytes",
		`{"pipe": 0, "memory": 987654, "base": 4096, "bytes": 4096}`:                      "the shared memory",
		`{"pipe": 0, "memory": 0, "base": 0, "bytes": 4096}`:                              "no memory of a device",
		`{"pipe": 0, "memory": 0, "base": 18446744073709551615, "bytes": 4096}`:           "no memory of a device",
		`{"pipe": 0, "memory": 0, "base": 4096, "bytes": -1}`:                             "no memory of a device",
	} {
		if reply := New().Call("serve_device", []byte(request)); reply[0] != replyError || !strings.Contains(string(reply), want) {
			t.Errorf("%s: %s", request, reply)
		}
	}
}

// TestALaunchThatFindsTheSameIsRepeated: what it leaves is there again without an instruction; anything else that it finds is executed.
func TestALaunchThatFindsTheSameIsRepeated(t *testing.T) {
	held := make([]byte, 4096)
	c := New()
	c.SeeMemory(device.Window(clientBase, held))
	ask := func(op string, request any, into any) []byte {
		t.Helper()
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		reply := c.Call(op, text)
		if reply[0] != replyDocument || json.Unmarshal(reply[1:], into) != nil {
			t.Fatalf("%s: %s", op, reply)
		}
		return text
	}
	threads := strings.Replace(counted, "	setp.ge.u32", "	ld.global.u32 %r1, [threads];\n	setp.ge.u32", 1)
	var loaded simulateLoadDocument
	var mapped simulateArraysDocument
	ask("simulate_load", map[string]any{"name": "increment.ptx", "ptx": threads}, &loaded)
	ask("simulate_arrays", map[string]any{"add": []map[string]any{{"name": "x", "address": clientBase + 512, "bytes": 40}, {"name": "aside", "address": clientBase + 1024, "bytes": 4}}}, &mapped)
	run := &servedRun{Folder: t.TempDir(), Repeat: true}
	launch := func(n int) (executed bool) {
		t.Helper()
		request, err := json.Marshal(map[string]any{
			"module": loaded.Module, "kernel": "increment", "grid": [3]int{1, 1, 1}, "block": [3]int{64, 1, 1}, "table": mapped.Table,
			"params": []map[string]any{{"name": "p", "type": "u64", "bits": clientBase + 512, "allocation": -2}, {"name": "n", "type": "u32", "bits": n, "allocation": -2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		done := run.launch(&c.device, request, func(request []byte) []byte {
			executed = true
			return c.Call("simulate_launch", request)
		})
		if done[0] != replyDocument {
			t.Fatalf("%s", done)
		}
		return executed
	}
	set := func(at, value int) { binary.LittleEndian.PutUint32(held[at:], uint32(value)) }
	for i, step := range []struct {
		before   func()
		n        int
		executed bool
		first    uint32 // what it leaves in element 0
	}{
		{func() { set(512, 5) }, 10, true, 6},
		{func() {}, 10, true, 7},
		{func() { clear(held[512:552]); set(512, 5) }, 10, false, 6},
		{func() {}, 11, true, 7},                                                  // another parameter
		{func() { clear(held[512:552]); set(512, 5); set(1024, 1) }, 10, true, 6}, // another array has changed
		{func() {
			clear(held[512:552])
			set(512, 5)
			set(2048, 0)
			var size simulateVariableDocument
			ask("simulate_variable", map[string]any{"module": loaded.Module, "name": "threads", "address": clientBase + 2048, "bytes": 4, "write": true}, &size)
		}, 10, true, 5}, // a variable of the module has, by which no thread does anything
	} {
		step.before()
		if executed := launch(step.n); executed != step.executed {
			t.Errorf("step %d: executed is %v, want %v", i, executed, step.executed)
		}
		if got := binary.LittleEndian.Uint32(held[512:]); got != step.first {
			t.Errorf("step %d: element 0 is %d, want %d", i, got, step.first)
		}
	}
	repeated := 0
	for _, row := range journal(t, run.Folder) {
		var ran simulation.Document
		if err := json.Unmarshal(row.Document, &ran); err != nil || ran.Instructions == 0 {
			t.Errorf("a row of the journal: %v, %d instructions", err, ran.Instructions)
		}
		if row.Outcome == "repeated" {
			repeated++
		}
	}
	if repeated != 1 {
		t.Errorf("%d rows of the journal say repeated", repeated)
	}
}

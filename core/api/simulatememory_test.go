package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// mapped is a machine whose memory is a file of one page.
func mapped(t *testing.T, protection int) (m *machine, cut func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "array.bin")
	if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m = newMachine(t, increment)
	if m.memory, err = syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), protection, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m.memory) })
	m.SeeMemory(func(_ uint64, n int) []byte { return m.memory[:n:n] })
	return m, func() {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// where is the address of a machine's memory in this process.
func (m *machine) where() uint64 { return uint64(uintptr(unsafe.Pointer(&m.memory[0]))) }

// hosted is request with the true address of the memory.
func (m *machine) hosted(more map[string]any) map[string]any {
	r := m.request(100, 40, more)
	r["params"].([]map[string]any)[0]["bits"] = m.where()
	r["allocations"].([]map[string]any)[0]["address"] = m.where()
	return r
}

func TestAnArrayWhoseFileShrankIsAnErrorThatNamesIt(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"worker":    nil,
		"recording": {"record": map[string]any{"path": filepath.Join(t.TempDir(), "a.prlx")}},
	} {
		m, cut := mapped(t, syscall.PROT_READ|syscall.PROT_WRITE)
		cut()
		reply := string(m.call("simulate_launch", m.hosted(more)))
		if reply[0] != replyError {
			t.Fatalf("%s: got %s, want an error", name, reply[1:])
		}
		for _, want := range []string{`"kind":"memory"`, "increment", "p (400 bytes)", "byte 0", `"hint"`} {
			if !strings.Contains(reply, want) {
				t.Errorf("%s: %s is missing from %s", name, want, reply[1:])
			}
		}
	}
}

func TestAnArrayThatTheProcessMayNotWriteIsAnErrorThatNamesIt(t *testing.T) {
	m, _ := mapped(t, syscall.PROT_READ)
	reply := string(m.call("simulate_launch", m.hosted(nil)))
	if reply[0] != replyError || !strings.Contains(reply, `"kind":"memory"`) || !strings.Contains(reply, "p (400 bytes)") {
		t.Errorf("got %s", reply[1:])
	}
}

// A fault elsewhere is a bug of ours and says so.
func TestAFaultOutsideOfTheArraysIsABug(t *testing.T) {
	m, cut := mapped(t, syscall.PROT_READ|syscall.PROT_WRITE)
	cut()
	reply := string(m.call("simulate_launch", m.request(100, 40, nil)))
	if reply[0] != replyError || !strings.Contains(reply, `"kind":"internal"`) || !strings.Contains(reply, fmt.Sprintf("%#x", m.where())) {
		t.Errorf("got %s", reply[1:])
	}
}

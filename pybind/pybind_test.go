package pybind

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// at is the address of memory as Python would pass it; the test keeps p alive.
func at(p []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&p[0]))) }

func TestReplyFitsOrIsFetched(t *testing.T) {
	room := make([]byte, 4096)
	n := Call("version", 0, 0, at(room), len(room))
	if n <= 0 || room[0] != 0 || !strings.HasPrefix(string(room[1:n]), `{"schema":"prlx.version/1"`) {
		t.Fatalf("Call = %d, %q", n, room[:max(0, n)])
	}
	want := string(room[:n])

	small := make([]byte, 8)
	id := Call("version", 0, 0, at(small), len(small))
	if id >= 0 || binary.LittleEndian.Uint64(small) != uint64(n) {
		t.Fatalf("Call into 8 bytes = %d, length %d; want a negative id and length %d", id, binary.LittleEndian.Uint64(small), n)
	}
	whole := make([]byte, n)
	if got := Fetch(-id, at(whole), len(whole)-1); got != 0 {
		t.Errorf("Fetch with the wrong length = %d, want 0", got)
	}
	if got := Fetch(-id, at(whole), len(whole)); got != n || string(whole) != want {
		t.Errorf("Fetch = %d, %q; want %d, %q", got, whole, n, want)
	}
	if got := Fetch(-id, at(whole), len(whole)); got != 0 {
		t.Errorf("a second Fetch = %d, want 0", got)
	}
}

func TestWrongMemoryIsARefusalNotTheEndOfTheProcess(t *testing.T) {
	room := make([]byte, 64)
	for name, got := range map[string]int64{
		"no room":            Call("version", 0, 0, 0, 0),
		"null address":       Call("version", 0, 0, 0, 100),
		"unmapped address":   Call("version", 0, 0, 4096, 1<<20),
		"negative size":      Call("version", at(room), -1, at(room), len(room)),
		"unmapped start":     Start("version", 4096, 10),
		"unmapped functions": Arrow(4096, at(room)),
		"unmapped addresses": Arrow(at(room), 4096),
		"fetch of nothing":   Fetch(1<<40, at(room), len(room)),
		"release of nothing": Release(1 << 40),
		"cancel of nothing":  Cancel(1<<40, true),
	} {
		if got != 0 {
			t.Errorf("%s: got %d, want 0", name, got)
		}
	}
	large := make([]byte, 1<<16)
	if n := Call("version", 4096, 10, at(large), len(large)); n <= 0 || !strings.Contains(string(large[:n]), `"kind":"internal"`) {
		t.Errorf("unmapped request: got %d, %q; want an internal error", n, large[:max(0, n)])
	}
	runtime.KeepAlive(room)
}

func TestUnknownJobHasFinished(t *testing.T) {
	if got := Wait(1<<40, 60_000); got != 1 {
		t.Errorf("Wait = %d, want 1", got)
	}
	room := make([]byte, 4096)
	if n := Result(1<<40, at(room), len(room)); n <= 0 || room[0] != 1 {
		t.Errorf("Result = %d, %q; want an error", n, room[:max(0, n)])
	}
}

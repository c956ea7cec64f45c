package compat

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/prlx-go/prlx/core/fault"
)

// SessionResult is what original prlx 0.5 would have found in two sessions.
type SessionResult struct {
	Launches   []LaunchResult // in the order of A
	UnmatchedA []string       // "name (launch N)"
	UnmatchedB []string
	Threshold  int64
	Warnings   []string
}

// LaunchResult is one launch that both sessions have.
type LaunchResult struct {
	Kernel      string
	Launch      uint64
	Divergences int64
	Error       string // why it could not be compared; "" when it was
}

func (l *LaunchResult) status() string {
	if l.Error != "" {
		return "error"
	}
	return status(l.Divergences == 0)
}

// identical reports whether every launch has its equal.
func (s *SessionResult) identical() bool { return s.complete() && s.divergences() == 0 }

// Passed reports whether all launches could be compared and have no more divergences together than are allowed.
func (s *SessionResult) Passed() bool { return s.complete() && s.divergences() <= s.Threshold }

func (s *SessionResult) complete() bool {
	for i := range s.Launches {
		if s.Launches[i].Error != "" {
			return false
		}
	}
	return len(s.UnmatchedA) == 0 && len(s.UnmatchedB) == 0
}

func (s *SessionResult) divergences() (n int64) {
	for i := range s.Launches {
		n += s.Launches[i].Divergences
	}
	return n
}

// JSON is original prlx 0.5's document of two sessions, byte for byte.
func (s *SessionResult) JSON() []byte {
	p := &printer{}
	p.open('{')
	p.text("status", status(s.identical()))
	p.key("kernel_results")
	p.open('[')
	for i := range s.Launches {
		l := &s.Launches[i]
		p.item()
		p.open('{')
		p.text("kernel", l.Kernel)
		p.number("launch", int64(l.Launch))
		p.text("status", l.status())
		p.number("divergences", l.Divergences)
		if l.Error != "" {
			p.text("error", l.Error)
		}
		p.close('}')
	}
	p.close(']')
	for _, side := range []struct {
		name  string
		names []string
	}{{"unmatched_a", s.UnmatchedA}, {"unmatched_b", s.UnmatchedB}} {
		p.key(side.name)
		p.open('[')
		for _, name := range side.names {
			p.item()
			p.raw(quote(name))
		}
		p.close(']')
	}
	p.number("threshold", s.Threshold)
	p.truth("passed", s.Passed())
	p.close('}')
	return p.b
}

// Refusal is how original prlx 0.5 words why it could not compare a launch: err, from opening the recording at path or from
// Compare, in its words.
func Refusal(path string, err error) string {
	f := fault.Of(err)
	if f.Kind == fault.Incompatible {
		if f.Hint != "" {
			return f.Msg + "\nHint: " + f.Hint
		}
		return f.Msg
	}
	head := make([]byte, 160)
	file, openErr := os.Open(path)
	if openErr != nil {
		return "Failed to open trace file: " + path
	}
	defer file.Close()
	info, statErr := file.Stat()
	if statErr != nil || !info.Mode().IsRegular() {
		return "Failed to mmap trace file: " + path
	}
	if info.Size() < int64(len(head)) {
		return fmt.Sprintf("File too small: %d bytes (expected at least %d)", info.Size(), len(head))
	}
	if _, readErr := file.ReadAt(head, 0); readErr != nil {
		return f.Msg
	}
	return refusalOfHeader(head, info.Size(), f.Msg)
}

func refusalOfHeader(head []byte, size int64, otherwise string) string {
	const magic, compressed = 0x50524c5800000000, 2
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	if got := binary.LittleEndian.Uint64(head); got != magic {
		return fmt.Sprintf("Invalid magic number: %s (expected %s)", hex16(got), hex16(magic))
	}
	if version := u32(8); version != 1 {
		return fmt.Sprintf("Unsupported version: %d (expected 1)", version)
	}
	if u32(12)&compressed != 0 {
		return "Failed to decompress zstd-compressed trace"
	}
	if need := 160 + uint64(u32(116))*(16+16*uint64(u32(120))); uint64(size) < need {
		return fmt.Sprintf("Data too small: %d bytes (expected %d bytes for %d warps)", size, need, u32(116))
	}
	return otherwise
}

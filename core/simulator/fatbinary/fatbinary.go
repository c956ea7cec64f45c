// Package fatbinary reads the containers in which compilers of CUDA embed device code: several texts of PTX and pieces of machine code, one for each
// architecture that the program was compiled for. It takes the PTX out; machine code is counted and named, never read.
//
// NVIDIA documents no layout. What is read here was seen in what nvcc 13.5 and clang 19 and 22 write: docs/formats/fatbinary.md.
package fatbinary

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/lazyregexp"
)

const (
	magic      = 0xBA55ED50
	headBytes  = 16
	entryBytes = 64
	mostText   = 1 << 28 // bytes of a text that was compressed
)

// Kinds of entries, and how they are compressed.
const (
	kindPTX, kindELF      = 1, 2
	flagLZ4, flagZstd     = 0x2000, 0x8000
	compressedAt, flagsAt = 16, 40
	archAt, plainAt       = 28, 56
)

// isFatBinary says whether bytes begin a container.
func isFatBinary(b []byte) bool { return len(b) >= headBytes && binary.LittleEndian.Uint32(b) == magic }

// entry is one text or piece of machine code.
type entry struct {
	at         int64
	kind       uint16
	arch       uint32 // 80
	flags      uint64
	compressed uint32 // bytes of the payload that are one frame; 0: it is plain
	plain      uint64 // bytes of what it holds
	payload    []byte
}

// PTX is the text in a container that a device of an architecture (80) takes: the newest one that is not newer than the device, else the oldest.
func PTX(name string, b []byte, device uint32) (string, error) {
	entries, err := read(name, b)
	if err != nil {
		return "", err
	}
	var best *entry
	var machine []string
	for i := range entries {
		switch e := &entries[i]; {
		case e.kind == kindELF:
			machine = append(machine, fmt.Sprintf("sm_%d", e.arch))
		case e.kind == kindPTX && better(e, best, device):
			best = e
		}
	}
	if best == nil {
		holds := "nothing"
		if len(machine) > 0 {
			holds = "only machine code for " + strings.Join(machine, ", ")
		}
		return "", &fault.Error{
			Kind: fault.Incompatible, Path: name, Offset: -1, Msg: "the program embeds " + holds + ", and the simulator runs PTX",
			Hint: fmt.Sprintf("compile with nvcc -gencode arch=compute_%d,code=compute_%d, without -rdc=true and -dlto; with clang --cuda-include-ptx=all", device, device),
		}
	}
	text, err := best.text(name)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\x00"), nil
}

// better says whether a device takes an entry rather than the best one so far.
func better(e, best *entry, device uint32) bool {
	switch {
	case best == nil:
		return true
	case (e.arch <= device) != (best.arch <= device):
		return e.arch <= device
	case e.arch <= device:
		return e.arch > best.arch
	}
	return e.arch < best.arch
}

// read finds the entries of the containers that follow each other; compilers may begin with an empty one.
func read(name string, b []byte) ([]entry, error) {
	var entries []entry
	at := 0
	for at < len(b) {
		if !isFatBinary(b[at:]) {
			return nil, fault.Formatf(name, int64(at), "no container of device code begins here")
		}
		head := uint64(binary.LittleEndian.Uint16(b[at+6:]))
		size := binary.LittleEndian.Uint64(b[at+8:])
		left := uint64(len(b) - at)
		if head < headBytes || head > left || size > left-head {
			return nil, fault.Formatf(name, int64(at), "a container of %d and %d bytes, %d are there", head, size, left)
		}
		from := at + int(head)
		at = from + int(size)
		more, err := readEntries(name, b[:at], from)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	}
	return entries, nil
}

func readEntries(name string, b []byte, at int) (entries []entry, err error) {
	for at < len(b) {
		left := uint64(len(b) - at)
		if left < entryBytes {
			return nil, fault.Formatf(name, int64(at), "an entry of %d bytes, its head has %d", left, entryBytes)
		}
		e := b[at:]
		head, size := uint64(binary.LittleEndian.Uint32(e[4:])), binary.LittleEndian.Uint64(e[8:])
		if head < entryBytes || head > left || size > left-head {
			return nil, fault.Formatf(name, int64(at), "an entry of %d and %d bytes, %d are there", head, size, left)
		}
		entries = append(entries, entry{
			at: int64(at), kind: binary.LittleEndian.Uint16(e), arch: binary.LittleEndian.Uint32(e[archAt:]), flags: binary.LittleEndian.Uint64(e[flagsAt:]),
			compressed: binary.LittleEndian.Uint32(e[compressedAt:]), plain: binary.LittleEndian.Uint64(e[plainAt:]), payload: e[head : head+size],
		})
		at += int(head + size)
	}
	return entries, nil
}

// text is what an entry holds, inflated.
func (e *entry) text(name string) ([]byte, error) {
	if e.flags&(flagLZ4|flagZstd) == 0 {
		return e.payload, nil
	}
	if uint64(e.compressed) > uint64(len(e.payload)) || e.plain > mostText {
		return nil, fault.Formatf(name, e.at, "%d bytes, %d of them compressed from %d, are no text", len(e.payload), e.compressed, e.plain)
	}
	frame := e.payload[:e.compressed]
	if e.flags&flagLZ4 != 0 {
		text, err := inflateLZ4(frame, int(e.plain))
		if err != nil {
			return nil, fault.Formatf(name, e.at, "%v", err)
		}
		return text, nil
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostText))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	text, err := reader.DecodeAll(frame, nil)
	if err != nil {
		return nil, fault.Formatf(name, e.at, "%v", err)
	}
	return text, nil
}

var (
	fileLine = lazyregexp.New(`(?m)^(\s*\.file\s+\d+\s).*?([^"/]+)"(?:,.*)?$`)
	debugged = lazyregexp.New(`(?s)\n\s*\.section\s+\.debug.*`)
)

// Anywhere is a text without what only says where its sources were when it was compiled: two of them are equal where they are the same code.
func Anywhere(text string) string {
	return fileLine.ReplaceAllString(debugged.ReplaceAllString(text, "\n"), `$1"$2"`)
}

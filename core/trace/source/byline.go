package source

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/file"
)

// ByLine is a trace whose events lie line by line: it can be read so, by several goroutines, and becomes Chrome JSON event by event.
type ByLine interface {
	Trace
	// Open prepares a process of Layout, of the trace or of a view of it: it loads what its events point to.
	Open(ctx context.Context, src *file.Source, p *Process, lost *Lost) (Lines, error)
}

// Lines reads the lines of one process. Several lines may be read at the same time.
type Lines interface {
	// Line visits the events of one line in stored order, with their Args.
	Line(ctx context.Context, l *Line, visit func(e *Event) error) error
	// Bytes is how much of the file a line takes, for progress.
	Bytes(l *Line) int64
}

// ArgsWriter writes the arguments of an event.
type ArgsWriter interface {
	// AppendArgs appends them as members of a JSON object, which opened at dst[open:], and counts in lost what has no place there.
	AppendArgs(dst []byte, open int, lost *Lost) []byte
}

// Lost counts what has no place in a Chrome JSON.
type Lost struct {
	Bytes     atomic.Int64 // values that hold bytes
	Oversized atomic.Int64 // values longer than MaxArgBytes
	Unread    atomic.Int64 // events whose arguments were not read
	Metadata  atomic.Int64 // values that belong to a name and not to an event
}

// Limits of what becomes an arg.
const (
	MaxArgBytes = 4 << 10 // longer values are left out
	MaxExactInt = 1 << 53 // larger integers become strings: viewers read numbers as float64
)

// OpenArg appends what stands before the value of an arg, in an object whose members began at dst[open:].
func OpenArg(dst []byte, open int, name string) []byte {
	if len(dst) > open {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}

// Device splits the name of a plane, "/device:GPU:3", into "GPU" and 3.
func Device(name string) (kind string, local int64, ok bool) {
	rest, ok := strings.CutPrefix(name, "/device:")
	if !ok {
		return "", 0, false
	}
	kind, num, ok := strings.Cut(rest, ":")
	if !ok {
		return "", 0, false
	}
	if i := strings.IndexFunc(num, func(r rune) bool { return r < '0' || r > '9' }); i > 0 {
		num = num[:i] // "/device:TPU:0 SparseCore 1"
	}
	local, err := strconv.ParseInt(num, 10, 32)
	if err != nil {
		return kind, 0, kind == "CUSTOM" || kind == "GPU" || kind == "TPU"
	}
	return kind, local, true
}

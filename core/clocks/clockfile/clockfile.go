// Package clockfile reads the files that say how clocks relate: snapshot pairs of the tracer's and the host's clock, probe
// windows of one node, solved round offsets, declared offsets and raw probe stamps.
//
// It recognises a file by its content, reports what it found in integers of nanoseconds, and counts what it had to skip. It
// solves nothing: package offsets does. The layouts are those of ROCm/xla's distributed profiler and GraphCalc, plus our own
// declared offsets and raw stamps; each has a page in docs/formats.
package clockfile

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
)

// Limits for hostile input. A file beyond one of them is refused with a Limit error.
const (
	maxLine     = 1 << 20 // bytes of one line of a line-oriented file
	MaxRows     = 4 << 20 // records of one file
	maxDocument = 8 << 20 // bytes of a file that is read as one document: declared offsets, a JSON array
	maxProto    = 64 << 20
	MaxNode     = 1<<20 - 1 // largest node id
	maxEdges    = 1 << 16   // edges of one probe window
)

// Kind is what a clock file holds.
type Kind string

// The kinds of clock files.
const (
	KindSnapshots Kind = "snapshots" // pairs of the host's and the tracer's clock
	KindWindows   Kind = "windows"   // probe windows of one node
	KindRounds    Kind = "rounds"    // offsets of all nodes, solved per round
	KindDeclared  Kind = "declared"  // offsets that somebody states
	KindStamps    Kind = "stamps"    // raw probe stamps t1..t4
)

// File is the content of one clock file. The field that belongs to Kind is set, the others are empty.
type File struct {
	Path      string
	Kind      Kind
	Snapshots *Snapshots
	Windows   *Windows
	Rounds    *Rounds
	Declared  *Declared
	Stamps    []Stamp
	Starts    []NodeMeta // beside Stamps: what meta lines say about the starts of recordings, in file order
	Probers   []Prober   // what meta lines say about who probed, in file order

	Lines        int      // lines or array elements that were read, blank ones not counted
	Skipped      int      // lines that are not records: not JSON, or a field missing or out of range
	SkippedLines []int    // the first of them, 1-based, at most 16
	CutLastLine  bool     // the last line has no end and is not whole: the writer was still writing, or died
	Warnings     []string // what a reader should know, in a fixed order

	edges int        // of all windows: they count as records
	metas []NodeMeta // meta lines of single nodes, until the kind of the file is known
}

// NodeMeta is what a file says about the start of one node's recording.
type NodeMeta struct {
	Node            int
	StartWalltimeNS int64 // the host's wall clock at the start, 0 when not known
	StartTracerNS   int64 // the tracer's clock at the start (start_gpu_ns), 0 when not known
}

// Prober is what the header of a file of stamps says about who probed.
type Prober struct {
	Node     int     // its number
	Hostname string  // of its host, "" when not stated
	Ranks    [][]int // by number of prober: the ranks whose processes are on its host; nil when not stated
}

// Expected is the hint of errors about files that are of no kind of clock file.
const Expected = "expected clock readings: raw probe stamps (JSON lines with src, dst, t1..t4), probe windows (JSON lines with edges), round offsets " +
	"(JSON lines with offset_ns), declared offsets (TOML or JSON with a table of nodes) or snapshot pairs (JSON lines with sys_clock_ns and tracer_clock_ns, or protobuf)"

// Read recognises a clock file by its content and reads it. Errors are *fault.Error: Format when the content is none of the
// known kinds, mixes two of them or is mostly garbage, Limit when it exceeds a limit.
func Read(ctx context.Context, src *file.Source) (*File, error) {
	head := make([]byte, min(src.Size(), format.HeadBytes))
	if len(head) > 0 {
		if _, err := src.ReadAt(head, 0); err != nil && !isEOF(err) {
			return nil, fault.FromIO(src.Path(), err)
		}
	}
	if k := format.Of(head); k.Known() && k != format.Empty && k != format.PairsMessage && k != format.ClockText {
		return nil, k.Refuse(src.Path(), "a file of clock readings")
	}
	f := &File{Path: src.Path()}
	var err error
	switch {
	case len(head) == 0:
		return nil, fault.Formatf(src.Path(), 0, "is empty").WithHint(Expected)
	case !format.LooksLikeText(head):
		err = f.readProto(ctx, src)
	default:
		switch c := firstByte(head); {
		case c == 0:
			return nil, fault.Formatf(src.Path(), 0, "the file holds only white space").WithHint(Expected)
		case c == '{', c == '[' && !format.TableHeader(head):
			err = f.readJSON(ctx, src, c == '[')
		default:
			err = f.readTOML(ctx, src)
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func firstByte(head []byte) byte {
	b := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (f *File) warnf(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// setKind fixes what the file holds at its first record; a record of another kind is an error.
func (f *File) setKind(k Kind, line int) error {
	if f.Kind == "" {
		f.Kind = k
		switch k {
		case KindSnapshots:
			f.Snapshots = &Snapshots{}
		case KindWindows:
			f.Windows = &Windows{Node: -1}
		case KindRounds:
			f.Rounds = &Rounds{Reference: -1}
		case KindDeclared:
			f.Declared = &Declared{}
		}
		return nil
	}
	if f.Kind != k {
		return fault.Linef(f.Path, line, "holds %s, but this line is one of %s", f.Kind, k).WithHint("split the file: one kind of record a file")
	}
	return nil
}

func (f *File) skip(line int) {
	f.Skipped++
	if len(f.SkippedLines) < 16 {
		f.SkippedLines = append(f.SkippedLines, line)
	}
}

// finish judges what was skipped and completes the kind's own bookkeeping.
func (f *File) finish(firstBad error) error {
	if f.Kind == "" && len(f.metas) > 0 { // a node whose prober started and saw nothing
		f.Kind, f.Windows = KindWindows, &Windows{Node: -1}
	}
	if f.Kind == "" {
		if firstBad != nil {
			return firstBad
		}
		return fault.Formatf(f.Path, fault.Unknown, "no record of a known kind").WithHint(Expected)
	}
	if f.Skipped*2 > f.Lines && firstBad != nil {
		e := fault.Of(firstBad)
		return fault.Linef(f.Path, e.Line, "%d of %d lines are not records of %s; the first: %s", f.Skipped, f.Lines, f.Kind, e.Msg).WithHint("the file is damaged: write it again")
	}
	if f.Skipped > 0 {
		what := fmt.Sprintf("%d of %d lines skipped (line %s)", f.Skipped, f.Lines, joinInts(f.SkippedLines, f.Skipped))
		if firstBad != nil {
			what += ": " + fault.Of(firstBad).Msg
		}
		f.warnf("%s", what)
	}
	if f.CutLastLine {
		f.warnf("the last line is cut: the writer had not finished")
	}
	switch f.Kind {
	case KindStamps:
		for _, m := range f.metas { // a prober of ours says whose file it is, and nothing of traces
			if m.StartWalltimeNS != 0 || m.StartTracerNS != 0 {
				f.Starts = append(f.Starts, m)
			}
		}
	case KindSnapshots:
		f.Snapshots.finish(f)
	case KindWindows:
		return f.Windows.finish(f)
	case KindRounds:
		f.Rounds.finish(f)
	}
	return nil
}

func joinInts(v []int, total int) string {
	var b strings.Builder
	for i, n := range v {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", n)
	}
	if total > len(v) {
		fmt.Fprintf(&b, " and %d more", total-len(v))
	}
	return b.String()
}

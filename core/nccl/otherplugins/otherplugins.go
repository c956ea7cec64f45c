// Package otherplugins reads what other profiler plug-ins of NCCL write, as far as it goes: the JSON lines of NVIDIA's Inspector, and the events of
// NVIDIA's example plug-in, whose list has a comma too many and may not end.
//
// It makes recordings of the same model as `reading` does, and says of each what its plug-in does not write down. Both write operations that
// have ended: of one that does not come to an end there is nothing in their files. docs/formats/nccl-other-plugins.md has the formats.
package otherplugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/nccl/operation"
)

// kind is which plug-in wrote a file.
type kind int

// The kinds of files.
const (
	None kind = iota
	Inspector
	Example
)

// headBytes is how much of a file tells its kind.
const headBytes = 512

// of tells by its first bytes which plug-in wrote a file.
func of(head []byte) kind {
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case inspectorLineBegins(head):
		return Inspector
	case len(head) > 1 && head[0] == '[':
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		if bytes.HasPrefix(rest, []byte(`{"name": "`)) && bytes.Contains(rest, []byte(`"cat": "`)) {
			return Example
		}
	}
	return None
}

// inspectorKeys are the keys of a line of Inspector's, in whatever order and with whatever white space a writer of JSON puts them.
var inspectorKeys = []string{"header", "metadata", "coll_perf", "p2p_perf"}

// inspectorLineBegins reports whether a line of Inspector's begins here: an object whose first key is one of Inspector's and holds an object that
// begins with a key of its own, for other programs write a "header" or "metadata", too.
func inspectorLineBegins(head []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(head))
	delim := func() bool {
		t, err := dec.Token()
		return err == nil && t == json.Delim('{')
	}
	key := func() string {
		t, err := dec.Token()
		s, ok := t.(string)
		if err != nil || !ok {
			return ""
		}
		return s
	}
	if !delim() {
		return false
	}
	first := key()
	if !slices.Contains(inspectorKeys, first) || !delim() {
		return false
	}
	return slices.Contains(map[string][]string{
		"header":    {"id", "comm_name", "rank", "n_ranks", "nnodes"},
		"metadata":  {"inspector_output_format_version", "git_rev", "rec_mechanism", "dump_timestamp_us", "hostname", "pid"},
		"coll_perf": {"coll", "coll_sn", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source", "coll_algobw_gbs", "coll_busbw_gbs", "event_trace_sn", "event_trace_ts"},
		"p2p_perf":  {"p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source", "p2p_algobw_gbs", "p2p_busbw_gbs", "event_trace_sn", "event_trace_ts"},
	}[first], key())
}

// Sniff is Of of a source.
func Sniff(src *file.Source) (kind, error) {
	head, err := src.Head(headBytes)
	if err != nil {
		return None, err
	}
	return of(head), nil
}

const (
	mostLine    = 1 << 20 // bytes: Inspector writes 200 to 10,000 an operation, with 64 channels
	mostRecords = 1 << 26
	mostComms   = 1 << 16
)

// Read reads a file of a kind that Of told.
func Read(ctx context.Context, src *file.Source, kind kind) (*operation.Recording, error) {
	var take func(line []byte) bool
	var done func() *operation.Recording
	switch kind {
	case Inspector:
		r := newInspector(src.Path())
		take, done = r.line, r.done
	case Example:
		r := newExample(src.Path())
		take, done = r.line, r.done
	default:
		return nil, fault.Formatf(src.Path(), 0, "no plug-in that is known wrote this")
	}
	damaged, records, err := lines(ctx, src, take)
	if err != nil {
		return nil, err
	}
	out := done()
	if records == 0 {
		return nil, fault.Formatf(src.Path(), 0, "no line of %d is an event", damaged)
	}
	out.Loss.Records, out.Loss.Unreadable = records, damaged
	return out, nil
}

// lines shows the lines of a file. One that is too long, or that take refuses, counts as damaged.
func lines(ctx context.Context, src *file.Source, take func(line []byte) bool) (damaged, records int, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(src, 0, src.Size()), 1<<16)
	var long []byte
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return damaged, records, ctx.Err()
		}
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > mostLine {
				return damaged, records, fault.New(fault.Limit, "a line of more than %d bytes", mostLine).WithPath(src.Path())
			}
			continue
		}
		if len(long) > 0 {
			line, long = append(long, line...), long[:0]
		}
		switch line = trimmed(line); {
		case len(line) == 0:
		case records >= mostRecords:
			return damaged, records, fault.New(fault.Limit, "more than %d events", mostRecords).WithPath(src.Path())
		case take(line):
			records++
		default:
			damaged++
		}
		if errors.Is(err, io.EOF) {
			return damaged, records, nil
		}
		if err != nil {
			return damaged, records, err
		}
	}
}

// trimmed is a line without white space, and without what makes it an entry of a list that may lack its end.
func trimmed(line []byte) []byte {
	line = bytes.TrimSpace(line)
	switch string(line) {
	case "[", "]", "{}]", "{}":
		return nil
	}
	return bytes.TrimSpace(bytes.TrimSuffix(line, []byte(",")))
}

// texts numbers the names of a recording.
type texts map[string]int32

func (t texts) of(r *operation.Recording, s string) int32 {
	if s == "" {
		return operation.None
	}
	n, ok := t[s]
	if !ok {
		n = int32(len(r.Names))
		t[s], r.Names = n, append(r.Names, s)
	}
	return n
}

// span widens the time that a recording covers.
func span(r *operation.Recording, all ...int64) {
	for _, ns := range all {
		if ns <= 0 {
			continue
		}
		if r.FirstNS == 0 || ns < r.FirstNS {
			r.FirstNS = ns
		}
		r.LastNS = max(r.LastNS, ns)
	}
}

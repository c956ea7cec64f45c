package clockfile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// readJSON reads JSON lines, a JSON array of records, or one JSON document.
func (f *File) readJSON(ctx context.Context, src *file.Source, isArray bool) error {
	if isArray {
		return f.readArray(src)
	}
	r := newLineReader(ctx, src)
	var firstBad error
	for {
		line, ended, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		if f.Lines == 0 && object(line, func(_, _ []byte) error { return nil }) != nil && src.Size() <= maxDocument {
			if ok, err := f.readDocument(src); ok {
				return err
			}
		}
		f.Lines++
		if err := f.record(line, r.n); err != nil {
			if stop := f.bad(err, r.n, ended, &firstBad); stop != nil {
				return stop
			}
		}
	}
	return f.finish(firstBad)
}

// bad books a line that is not a record. Errors that end the reading come back.
func (f *File) bad(err error, line int, ended bool, firstBad *error) error {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe
	}
	if !ended {
		f.CutLastLine = true
		f.Lines--
		if *firstBad == nil && f.Kind == "" {
			*firstBad = fault.Linef(f.Path, line, "%v", err).WithHint(Expected)
		}
		return nil
	}
	f.skip(line)
	if *firstBad == nil {
		*firstBad = fault.Linef(f.Path, line, "%v", err).WithHint(Expected)
	}
	return nil
}

// readArray reads [record, record, ...].
func (f *File) readArray(src *file.Source) error {
	b, err := readAll(src, maxDocument)
	if err != nil {
		return err
	}
	var firstBad error
	err = array(trimBOM(b), func(v []byte) error {
		f.Lines++
		if err := f.record(v, f.Lines); err != nil {
			return f.bad(err, f.Lines, true, &firstBad)
		}
		return nil
	})
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe
	}
	if err != nil {
		return fault.Formatf(f.Path, fault.Unknown, "%v", err).WithHint(Expected)
	}
	return f.finish(firstBad)
}

// readDocument reads a file that is one JSON object over several lines: declared offsets, SnapshotPairs in protobuf's JSON form.
// ok is false when it is neither a JSON object nor one of these.
func (f *File) readDocument(src *file.Source) (ok bool, err error) {
	b, err := readAll(src, maxDocument)
	if err != nil {
		return true, err
	}
	b = trimBOM(b)
	if object(b, func(_, _ []byte) error { return nil }) != nil {
		return false, nil
	}
	f.Lines = 1
	if err := f.record(b, 1); err != nil {
		var fe *fault.Error
		if errors.As(err, &fe) {
			return true, fe
		}
		return true, fault.Formatf(f.Path, fault.Unknown, "%v", err).WithHint(Expected)
	}
	return true, f.finish(nil)
}

func trimBOM(b []byte) []byte {
	if len(b) >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf {
		return b[3:]
	}
	return b
}

// members are the keys that tell the kinds of records apart.
type members struct {
	meta, nodesArray, nodesObject, nodeID, edges, offset, pairs bool
	t1, t4, sys, tracer, start                                  bool
	clockName, systemClock, counters                            bool
}

// record classifies one JSON object and reads it. An error that is not a *fault.Error means: no record, skip it.
func (f *File) record(b []byte, line int) error {
	var m members
	err := object(b, func(key, value []byte) error {
		switch string(key) {
		case "meta":
			m.meta = string(value) == "true"
		case "nodes":
			m.nodesArray = value[0] == '['
			m.nodesObject = value[0] == '{'
		case "node_id":
			m.nodeID = true
		case "edges":
			m.edges = true
		case "offset_ns":
			m.offset = true
		case "pairs":
			m.pairs = value[0] == '['
		case "t1":
			m.t1 = true
		case "t4":
			m.t4 = true
		case "tracer_clock_name":
			m.clockName = true
		case "system_clock":
			m.systemClock = value[0] == '{'
		case "counters":
			m.counters = value[0] == '{'
		case "start_walltime_ns", "start_gpu_ns":
			m.start = true
		default:
			m.sys = m.sys || isSysKey(string(key))
			m.tracer = m.tracer || isTracerKey(string(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if f.rows() >= MaxRows {
		return &fault.Error{Kind: fault.Limit, Path: f.Path, Line: line, Offset: fault.Unknown, Msg: fmt.Sprintf("has more than %d records", MaxRows)}
	}
	switch {
	case m.t1 && m.t4:
		return f.as(KindStamps, line, func() error { return f.stamp(b) })
	case m.edges:
		return f.as(KindWindows, line, func() error { return f.window(b, line) })
	case m.nodesArray && (m.meta || !m.offset):
		return f.as(KindRounds, line, func() error { return f.roundsHeader(b) })
	case m.nodesObject:
		return f.as(KindDeclared, line, func() error { return f.declaredJSON(b) })
	case m.meta && m.clockName:
		return f.as(KindSnapshots, line, func() error { return f.snapshotHeader(b) })
	case m.meta:
		return f.nodeMeta(b)
	case m.offset:
		return f.as(KindRounds, line, func() error { return f.round(b, line) })
	case m.pairs:
		return f.as(KindSnapshots, line, func() error { return f.snapshotDocument(b) })
	case m.sys && m.tracer:
		return f.as(KindSnapshots, line, func() error { return f.snapshot(b) })
	case m.systemClock:
		return f.as(KindSnapshots, line, func() error { return f.systemClock(b) })
	case m.counters && f.Kind == KindSnapshots:
		return f.counters(b)
	case m.nodeID && m.start:
		return f.nodeMeta(b)
	}
	return errors.New("not a record of clock readings")
}

// as reads a record of a kind. The kind of the file is fixed by the first record that can be read.
func (f *File) as(k Kind, line int, read func() error) error {
	first := f.Kind == ""
	if err := f.setKind(k, line); err != nil {
		return err
	}
	err := read()
	if err != nil && first {
		f.Kind, f.Snapshots, f.Windows, f.Rounds, f.Declared = "", nil, nil, nil, nil
	}
	return err
}

func (f *File) rows() int {
	n := len(f.Stamps) + len(f.metas) + f.edges
	if f.Snapshots != nil {
		n += len(f.Snapshots.Pairs) + len(f.Snapshots.System)
	}
	if f.Windows != nil {
		n += len(f.Windows.Rows)
	}
	if f.Rounds != nil {
		n += len(f.Rounds.Rows)
	}
	return n
}

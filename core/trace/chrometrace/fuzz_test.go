package chrometrace

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

var seeds = []string{
	`{"traceEvents":[]}`,
	`[]`,
	`[{"ph":"X","ts":1.5,"dur":2,"pid":1,"tid":"a","name":"n"},{}]`,
	`[{"ph":"B","ts":"123.4","pid":"x"},`,
	`{"traceEvents":[{"ph":"X","ts":-1e3,"dur":0.0000004,"args":{"a":[{},[],{"b":null}]}}],"baseTimeNanoseconds":"17","displayTimeUnit":"ns"}`,
	`{"baseTimeNanoseconds":1759300074000000000,"traceEvents":[{"ph":"s","id":"0x7f","ts":1},{"ph":"f","bp":"e","id":7,"id2":{"local":"a"},"bind_id":9,"ts":2}] , "x":[[]]}`,
	"\xef\xbb\xbf[null,{\"n\\u0061me\":\"process_name\",\"ph\":\"\\u004d\",\"pid\":1,\"args\":{\"name\":\"a\\\"\\ud83d\\ude00\"}}]",
	`[{"ph":"C","ts":1,"args":{"x":NaN,"y":-Infinity}}]`,
	`{"traceEvents":[{"ph":"M","name":"process_sort_index","pid":3,"args":{"sort_index":5}},{"ts":1.0000005,"dur":1.0000005}],"distributedInfo":{"rank":3,"world_size":8,"pg_config":[{"pg_name":"0","ranks":[0,1]}]}}`,
	`[{"name":"a` + "\n" + `b\x"}]`,
	`[[[[`, `{"a":[[[`, `[1]`, `{`, `"`, `{"traceEvents":null}`,
}

// document is what encoding/json makes of a trace: the slow twin of Scan.
type twin struct {
	events []map[string]json.RawMessage // without the empty ones
	empty  int64
}

// readTwin reads a trace with encoding/json. ok is false where the text is no trace in its eyes.
func readTwin(data []byte) (tw twin, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || list == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		var top map[string]json.RawMessage
		if d.Decode(&top) != nil || json.Unmarshal(top["traceEvents"], &list) != nil || list == nil {
			return tw, false
		}
	}
	for _, raw := range list {
		var e map[string]json.RawMessage
		if json.Unmarshal(raw, &e) != nil {
			return tw, false
		}
		if len(e) == 0 {
			tw.empty++
		} else {
			tw.events = append(tw.events, e)
		}
	}
	return tw, json.Valid(data)
}

// text decodes a value as encoding/json does.
func (tw twin) text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func lenient(l leniency) bool { return l != leniency{EmptyEvents: l.EmptyEvents} }

// agree checks one input against the twin and returns the scan, nil where it was refused.
func agree(t *testing.T, data []byte) (*file.Source, *trace) {
	src, err := file.FromBytes("fuzz.json", data)
	if err != nil {
		return nil, nil
	}
	data = allOf(t, src)
	tr, err := Scan(context.Background(), src, ScanOptions{ChunkBytes: 64})
	tw, strict := readTwin(data)
	if err != nil {
		f := fault.Of(err)
		if f.Kind != fault.Format && f.Kind != fault.Limit {
			t.Fatalf("error of kind %s: %v", f.Kind, err)
		}
		if f.Offset > int64(len(data)) {
			t.Fatalf("offset %d lies outside the %d bytes", f.Offset, len(data))
		}
		if strict && !refusable(data) {
			t.Fatalf("encoding/json reads it, Scan says: %v", err)
		}
		return nil, nil
	}
	if !json.Valid(data) && !lenient(tr.Lenient) && !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		t.Fatalf("accepted without a note what encoding/json refuses")
	}
	if !strict {
		return src, tr
	}
	if tr.Events != int64(len(tw.events)) || tr.Lenient.EmptyEvents != tw.empty {
		t.Fatalf("%d events and %d empty ones, encoding/json finds %d and %d", tr.Events, tr.Lenient.EmptyEvents, len(tw.events), tw.empty)
	}
	var phases [256]int64
	for _, e := range tw.events {
		ph := tw.text(e["ph"])
		if len(ph) != 1 || len(e["ph"]) < 3 || e["ph"][0] != '"' {
			ph = "\x00"
		}
		phases[ph[0]]++
	}
	if tr.Phases != phases {
		t.Fatalf("events by ph differ from those of encoding/json")
	}
	return src, tr
}

// refusable reports whether a valid document may be refused all the same.
func refusable(data []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(data, &top) != nil {
		return false
	}
	_, hasBase := top["baseTimeNanoseconds"]
	// a base that is not an integer, or moves events out of int64; and the list twice, of which Scan will not pick one
	return hasBase || bytes.Count(data, []byte("vents")) > 1 || bytes.Contains(data, []byte(`\u`))
}

func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 3000})
	f.Add(doc)
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

func FuzzRewrite(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), int64(1_500_250), int64(20_000), int64(0))
	}
	doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 3000})
	f.Add(doc, int64(-37_000_000_001), int64(-100_000), chrometracetest.Base)
	f.Fuzz(func(t *testing.T, data []byte, shift, driftPPB, base int64) {
		src, tr := agree(t, data)
		if tr == nil {
			return
		}
		data = allOf(t, src)
		if out, _ := mustRewrite(t, src, tr, edit{}); !bytes.Equal(out, data) {
			t.Fatalf("without edits: got %q, want the input %q", out, data)
		}
		m, err := clock.New([]clock.Knot{{X: tr.Min.NS, Y: tr.Min.NS + shift%1e15}}, clock.WithTails(clock.Drift(driftPPB%1e5*1e3), clock.Drift(driftPPB%1e5*1e3), 100))
		if err != nil {
			return
		}
		e := edit{Clock: m, CorrectionArg: correctionArg, IDs: idEdit{Offset: 1000, HexOffset: 1 << 48, Prefix: "n1:"}, Sample: true}
		if !tr.Array {
			e.OutputBaseNS = &base
		}
		for range tr.Processes {
			e.Processes = append(e.Processes, processEdit{PID: `"é"`})
		}
		out, counts := mustRewrite(t, src, tr, e)
		if counts.Events != tr.Events || counts.Dropped != 0 {
			t.Fatalf("%d events written and %d dropped of %d", counts.Events, counts.Dropped, tr.Events)
		}
		if json.Valid(data) && !json.Valid(out) {
			t.Fatalf("wrong JSON from right JSON: %q -> %q", data, out)
		}
		again, err := file.FromBytes("out.json", out)
		if err != nil {
			t.Skip()
		}
		back, err := Scan(context.Background(), again, ScanOptions{})
		if err != nil {
			if fault.Of(err).Kind == fault.Format && counts.Unusable > 0 {
				return // times that could not be moved may not fit the new base
			}
			t.Fatalf("the output cannot be read: %v\n%q", err, out)
		}
		if back.Events != tr.Events || back.Lenient.EmptyEvents != tr.Lenient.EmptyEvents || back.Lenient.Unclosed != tr.Lenient.Unclosed {
			t.Fatalf("%d events, lenient %+v in the output; want %d, %+v", back.Events, back.Lenient, tr.Events, tr.Lenient)
		}
		half := tr.Min.NS/2 + tr.Max.NS/2
		kept, counts := mustRewrite(t, src, tr, edit{KeepFromNS: &half, DropEmpty: true})
		if counts.Kept+counts.Dropped != counts.Events {
			t.Fatalf("kept %d and dropped %d of %d", counts.Kept, counts.Dropped, counts.Events)
		}
		if json.Valid(data) && !json.Valid(kept) {
			t.Fatalf("wrong JSON after dropping events: %q -> %q", data, kept)
		}
	})
}

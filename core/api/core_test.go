package api_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/api"
)

// newCore returns a core that answers the operations named debug.*.
func newCore(t *testing.T) *api.Core {
	t.Helper()
	c := api.New()
	ask(t, c, "configure", `{"debug_ops": true}`)
	return c
}

// ask calls an operation that must succeed and decodes its document.
func ask(t *testing.T, c *api.Core, op, request string) map[string]any {
	t.Helper()
	return document(t, c.Call(op, []byte(request)))
}

func document(t *testing.T, reply []byte) map[string]any {
	t.Helper()
	if reply[0] != 0 {
		t.Fatalf("the reply is an error: %s", reply[1:])
	}
	var doc map[string]any
	if err := json.Unmarshal(reply[1:], &doc); err != nil {
		t.Fatalf("the document is not JSON: %v: %s", err, reply[1:])
	}
	return doc
}

func failure(t *testing.T, reply []byte) api.Envelope {
	t.Helper()
	if reply[0] != 1 {
		t.Fatalf("the reply is no error: %s", reply[1:])
	}
	var e api.Envelope
	if err := json.Unmarshal(reply[1:], &e); err != nil {
		t.Fatalf("the envelope is not JSON: %v: %s", err, reply[1:])
	}
	return e
}

func TestVersionNamesTheCoreAndTheToolchain(t *testing.T) {
	doc := ask(t, api.New(), "version", "")
	if doc["schema"] != "prlx.version/1" || !strings.HasPrefix(doc["go"].(string), "go1.") || doc["core"] == "" {
		t.Errorf("version answers %v", doc)
	}
}

func TestRequestsThatDoNotFitAreUsageErrors(t *testing.T) {
	c := newCore(t)
	tests := []struct{ name, op, request, want string }{
		{"unknown operation", "no.such", "{}", `no operation "no.such"`},
		{"no JSON", "version", "{", "does not fit"},
		{"not an object", "version", "[1]", "does not fit"},
		{"two values", "version", "{} {}", "does not fit"},
		{"unknown field", "version", `{"colour": 1}`, `unknown field "colour"`},
		{"wrong type", "debug.sleep", `{"ms": "long"}`, "ms is a string, expected a whole number"},
		{"no workers", "debug.limits", `{"workers": 0}`, "0 workers are asked for, expected 1 to 1024"},
		{"too many workers", "debug.limits", `{"workers": 99999999}`, "99999999 workers are asked for, expected 1 to 1024"},
		{"tiny memory", "debug.limits", `{"memory_limit": "1k"}`, "1024 bytes, expected at least"},
		{"no size", "debug.limits", `{"memory_limit": "lots"}`, `"lots" is not a size`},
		{"negative size", "debug.limits", `{"memory_limit": -5}`, `"-5" is not a size`},
		{"unknown limit", "configure", `{"speed": 1}`, `unknown field "speed"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := failure(t, c.Call(test.op, []byte(test.request)))
			if e.Kind != "usage" || !strings.Contains(e.Message, test.want) {
				t.Errorf("got %q %q, want usage and %q", e.Kind, e.Message, test.want)
			}
		})
	}
}

func TestDebugOperationsAnswerOnlyWhenOpened(t *testing.T) {
	c := api.New()
	if e := failure(t, c.Call("debug.panic", nil)); e.Kind != "usage" {
		t.Errorf("a closed debug operation answers %+v", e)
	}
	ask(t, c, "configure", `{"debug_ops": true}`)
	if e := failure(t, c.Call("debug.panic", nil)); e.Kind != "internal" {
		t.Errorf("an open debug operation answers %+v", e)
	}
	ask(t, c, "configure", `{}`)
	if e := failure(t, c.Call("debug.panic", nil)); e.Kind != "usage" {
		t.Errorf("a closed debug operation answers %+v", e)
	}
}

func TestPanicsAreInternalErrorsWithTheirStack(t *testing.T) {
	c := newCore(t)
	for op, want := range map[string]string{"debug.panic": "debug.panic was asked to", "debug.goroutine_panic": "nil map"} {
		for name, reply := range map[string][]byte{
			"called":  c.Call(op, nil),
			"started": c.Result(c.Start(op, nil)),
		} {
			e := failure(t, reply)
			if e.Kind != "internal" || !strings.Contains(e.Message, want) {
				t.Errorf("%s, %s: got %q %q, want internal and %q", op, name, e.Kind, e.Message, want)
			}
			if !strings.Contains(e.Stack, "core/api/debug.go") || !strings.Contains(e.Hint, "bug of prlx") {
				t.Errorf("%s, %s: stack or hint is missing: %+v", op, name, e)
			}
		}
	}
}

func TestEnvelopeKeepsThePlaceOfAnError(t *testing.T) {
	c := newCore(t)
	tests := []struct{ request, want string }{
		{
			`{"kind": "format", "message": "bad", "path": "/a", "offset": 0, "hint": "cut it"}`,
			`{"kind":"format","message":"debug: bad","hint":"cut it","path":"/a","offset":0}`,
		},
		{`{"kind": "alignment", "message": "no clock"}`, `{"kind":"alignment","message":"debug: no clock"}`},
		{
			`{"kind": "format", "message": "bad", "path": "/a", "line": 7}`,
			`{"kind":"format","message":"debug: bad","path":"/a","line":7}`,
		},
	}
	for _, test := range tests {
		if got := c.Call("debug.error", []byte(test.request)); string(got[1:]) != test.want {
			t.Errorf("envelope is\n%s, want\n%s", got[1:], test.want)
		}
	}
}

func TestCancelledJobSaysSo(t *testing.T) {
	c := newCore(t)
	id := c.Start("debug.sleep", []byte(`{"ms": 3600000}`))
	for c.Progress(id)[0] == 0 && !strings.Contains(string(c.Progress(id)), `"stage":"sleep"`) {
		time.Sleep(time.Millisecond)
	}
	if !c.Cancel(id, false) {
		t.Fatal("Cancel does not know the job")
	}
	if e := failure(t, c.Result(id)); e.Kind != "cancelled" {
		t.Errorf("got %+v, want cancelled", e)
	}
	if e := failure(t, c.Progress(id)); e.Kind != "internal" {
		t.Errorf("progress of a collected job: got %+v, want internal", e)
	}
}

func TestLimitsOfARequestHoldForItsJobOnly(t *testing.T) {
	c := newCore(t)
	before := ask(t, c, "configure", `{"debug_ops": true, "memory_limit": "1GiB"}`)
	if before["memory_limit"] != float64(1<<30) || before["memory_source"] != "given" {
		t.Errorf("configure answers %v", before)
	}
	own := ask(t, c, "debug.limits", `{"workers": 3, "memory_limit": "256MiB"}`)
	if own["workers"] != 3.0 || own["budget"] != float64(192<<20) || own["collector_limit"] != float64(256<<20) {
		t.Errorf("under its own limits a job sees %v", own)
	}
	after := ask(t, c, "debug.limits", `{}`)
	if after["budget"] != float64(768<<20) || after["collector_limit"] != float64(1<<30) {
		t.Errorf("after it, a job sees %v", after)
	}
	ask(t, c, "configure", `{}`)
}

func TestDefaultMemoryLimitIsHalfOfTheMachine(t *testing.T) {
	doc := ask(t, api.New(), "configure", `{}`)
	if limit := doc["memory_limit"].(float64); limit < 64<<20 || limit > 1<<46 {
		t.Errorf("the default memory limit is %v bytes", limit)
	}
	if doc["workers"].(float64) < 1 {
		t.Errorf("the default is %v workers", doc["workers"])
	}
}

func TestAllocationBeyondTheBudgetIsALimitError(t *testing.T) {
	c := newCore(t)
	ask(t, c, "configure", `{"debug_ops": true, "memory_limit": "64MiB"}`)
	defer ask(t, c, "configure", `{}`)
	if e := failure(t, c.Call("debug.allocate", []byte(`{"bytes": 100000000}`))); e.Kind != "limit" || e.Hint == "" {
		t.Errorf("got %+v, want limit with a hint", e)
	}
	ask(t, c, "debug.allocate", `{"bytes": 10000000}`)
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]api.Size{
		"0": 0, "1073741824": 1 << 30, "512MB": 512e6, "1.5GiB": 3 << 29, "2g": 2 << 30, " 7 kib ": 7 << 10, "1TB": 1e12, "9B": 9,
	} {
		if got, err := api.ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "1e30", "NaN", "Inf", "12 parsecs", "0x10g"} {
		if got, err := api.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

// reference is the part of a document that names its one table.
func reference(t *testing.T, c *api.Core, request string) api.TableReference {
	t.Helper()
	reply := c.Result(c.Start("debug.table", []byte(request)))
	document(t, reply)
	var doc struct {
		Tables map[string]api.TableReference `json:"tables"`
	}
	if err := json.Unmarshal(reply[1:], &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Tables["events"]
}

func TestTableIsFilledPartByPart(t *testing.T) {
	c := newCore(t)
	r := reference(t, c, `{"rows": 7}`)
	if r.Rows != 7 || len(r.Columns) != 8 || r.Columns[0].Name != "start" || r.Columns[0].Unit != "ns" {
		t.Fatalf("the reference is %+v", r)
	}
	p := make([]byte, 7*8)
	if n := c.Fill(r.ID, 0, 0, p); n != 56 {
		t.Fatalf("Fill = %d, want 56", n)
	}
	if got := binary.LittleEndian.Uint64(p[48:]); got != 1_760_000_000_000_000_006 {
		t.Errorf("the last start is %d", got)
	}
	name := r.Columns[6]
	offsets, text := make([]byte, 8*(name.Values+1)), make([]byte, name.TextBytes)
	if c.Fill(r.ID, 6, 2, offsets) < 0 || c.Fill(r.ID, 6, 3, text) < 0 {
		t.Fatal("the dictionary cannot be read")
	}
	if end := binary.LittleEndian.Uint64(offsets[8:]); string(text[:end]) != "kernel 0" {
		t.Errorf("the first name is %q", text[:end])
	}
	valid := make([]byte, 7)
	if c.Fill(r.ID, 7, 1, valid) != 7 || !bytes.Equal(valid, []byte{0, 1, 1, 0, 1, 1, 0}) {
		t.Errorf("valid is %v", valid)
	}
}

func TestFillRefusesWhatDoesNotFit(t *testing.T) {
	c := newCore(t)
	r := reference(t, c, `{"rows": 7}`)
	for _, test := range []struct {
		name         string
		column, part int
		size         int
		want         int64
	}{
		{"too small", 0, 0, 55, -3},
		{"too large", 0, 0, 57, -3},
		{"no such column", 8, 0, 56, -2},
		{"negative column", -1, 0, 56, -2},
		{"no such part", 0, 4, 56, -2},
		{"every value is there", 0, 1, 7, -2},
		{"no dictionary", 0, 2, 8, -2},
	} {
		if got := c.Fill(r.ID, test.column, test.part, make([]byte, test.size)); got != test.want {
			t.Errorf("%s: Fill = %d, want %d", test.name, got, test.want)
		}
	}
	if !c.Release(r.ID) || c.Release(r.ID) {
		t.Error("a table can be released exactly once")
	}
	if got := c.Fill(r.ID, 0, 0, make([]byte, 56)); got != -1 {
		t.Errorf("Fill of a released table = %d, want -1", got)
	}
	if next := reference(t, c, `{"rows": 1}`); next.ID == r.ID {
		t.Error("the id of a released table was given out again")
	}
}

func TestColumnsMustHaveTheTablesRows(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a column of another length was accepted")
		}
	}()
	api.NewTable(2).Int64("start", "ns", []int64{1}, nil)
}

package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/combine/inspect"
	"github.com/prlx-go/prlx/core/trace/event"
)

func TestStringsKeepEachTextOnce(t *testing.T) {
	var s stringColumn
	for _, text := range []string{"a", "b", "a", "", "b\xff", "b\xfe"} {
		s.append(text)
	}
	s.appendMissing()
	if want := []int32{0, 1, 0, 2, 3, 3, -1}; !slices.Equal(s.codes, want) {
		t.Errorf("codes are %v, want %v", s.codes, want)
	}
	if got, want := string(s.text), "abb\uFFFD"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	if want := []int64{0, 1, 2, 2, 6}; !slices.Equal(s.offsets, want) {
		t.Errorf("offsets are %v, want %v", s.offsets, want)
	}
	if want := []bool{true, true, true, true, true, true, false}; !slices.Equal(s.valid(), want) {
		t.Errorf("valid is %v, want %v", s.valid(), want)
	}
}

func TestCodesOutsideTheirDictionaryAreMissing(t *testing.T) {
	table := newTable(5)
	table.codes("name", []int32{1, -1, 0, 2, 9}, []string{"x", "y", "x"})
	c := table.columns[0]
	if want := []int32{1, -1, 0, 0, -1}; !slices.Equal(c.shorts, want) {
		t.Errorf("codes are %v, want %v", c.shorts, want)
	}
	if want := []bool{true, false, true, true, false}; !slices.Equal(c.valid, want) {
		t.Errorf("valid is %v, want %v", c.valid, want)
	}
	if got := string(c.texts.text); got != "xy" {
		t.Errorf("text is %q, want \"xy\"", got)
	}
}

func TestTablesBecomeTheLastKeyOfTheirDocument(t *testing.T) {
	var store tableStore
	empty := map[string]any{"t": newTable(0)}
	for doc, want := range map[string]string{
		`{}`:        `{"tables":{"t":{"id":`,
		`{"a":"}"}`: `{"a":"}","tables":{"t":{"id":`,
	} {
		got, err := store.publish([]byte(doc), empty)
		if err != nil || !strings.HasPrefix(string(got), want) || !strings.HasSuffix(string(got), `"rows":0,"columns":[]}}}`) {
			t.Errorf("publish(%s) = %s, %v; want %s...", doc, got, err, want)
		}
	}
	if got, err := store.publish([]byte(`[1]`), empty); err == nil {
		t.Errorf("publish of an array = %s, want an error", got)
	}
	if _, err := store.publish([]byte(`{}`), map[string]any{"t": 7}); err == nil {
		t.Error("an attachment that is not a table was published")
	}
}

func TestEmptyStringColumnHasOneOffset(t *testing.T) {
	table := newTable(0)
	table.strings("name", new(stringColumn))
	if got := table.columns[0].size(partOffsets); got != 8 {
		t.Errorf("offsets take %d bytes, want 8", got)
	}
	p := []byte{1, 1, 1, 1, 1, 1, 1, 1}
	if table.columns[0].copyPart(partOffsets, p); slices.Max(p) != 0 {
		t.Errorf("the offset is %v, want 0", p)
	}
}

func TestEventTableHasTheSameColumnsWithAndWithoutRows(t *testing.T) {
	events := &inspect.Events{Table: event.NewTable(0)}
	describe := func() (names []string) {
		for _, c := range eventTable(events).columns {
			names = append(names, strings.TrimSpace(c.name+" "+c.kind+" "+c.unit))
		}
		return names
	}
	empty := describe()
	events.Append(event.Row{Name: "matmul", StartNS: 7, StartPS: 500, DurationPS: 3})
	events.Planes, events.Lines, events.Line = []string{"GPU 0"}, []string{"stream 7"}, []int32{0}
	full := describe()
	if !slices.Equal(empty, full) {
		t.Errorf("an empty table has columns %q, one with rows %q", empty, full)
	}
	for _, want := range []string{"plane string", "line string", "name string", "start_ns int64 ns", "start_ps int32 ps", "duration_ps int64 ps"} {
		if !slices.Contains(full, want) {
			t.Errorf("columns are %q, %q is missing", full, want)
		}
	}
}

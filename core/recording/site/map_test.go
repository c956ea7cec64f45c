package site

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

func readMap(text string) (*Table, []string, error) {
	src, err := file.FromBytes("prlx-sites.json", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	return ReadMap(context.Background(), src)
}

const described = `[
  {"site_id": 305441741, "filename": "a.cu", "function": "_Z1kPf", "line": 12, "column": 7, "event_type": 0, "ordinal": 2},
  {"site_id": 4294967295, "filename": "a.cu", "function": "_Z1kPf", "line": 14, "column": 0, "event_type": 2, "later": {"x": [1]}}
]`

func TestReadsMapsOfOtherTools(t *testing.T) {
	table, warnings, err := readMap(described)
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	i, ok := table.ByID(305441741)
	if !ok {
		t.Fatal("the first site is not found")
	}
	want := Site{ID: 305441741, Kind: Branch, Chain: []Frame{at("_Z1kPf", "a.cu", 12, 7)}, Ordinal: 2, Compare: NoCompare}
	want.Key = KeyOf(&want)
	if got := table.At(i); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", *got, want)
	}
	if i, ok = table.ByID(4294967295); !ok || table.At(i).Ordinal != -1 || table.At(i).Kind != Atomic {
		t.Errorf("the second site: %+v", table.At(i))
	}
	if empty, _, err := readMap(" [ ] "); err != nil || empty.Len() != 0 {
		t.Errorf("an empty map: %v", err)
	}
}

func TestWrittenMapsReadBack(t *testing.T) {
	sites := []Site{
		{ID: 9, Kind: Branch, Chain: []Frame{at("h", "h.cuh", 4, 9), at("k", "k.cu", 30, 3)}, Ordinal: 0, Compare: 40, Text: "icmp slt i32", Shape: 0xfedcba98, Code: 0x89abcdef, Operands: []Operand{
			{Role: "lhs", Type: "i32", Origin: FromCarried, Name: "i", Inputs: []Operand{{Origin: FromConstant, Name: "<0>"}}},
			{Role: "rhs", Type: "i32", Origin: FromLoad, Name: "v", Site: 77, Where: at("h", "h.cuh", 3, 5)},
		}},
		{ID: 9, Kind: Branch, Chain: []Frame{at("h", "h.cuh", 4, 9), at("k", "k.cu", 31, 3)}, Ordinal: 1, Compare: 40}, // inlined again
		{ID: 10, Kind: Kind(200), Chain: []Frame{at("k", "", 0, 0)}, Ordinal: -1, Compare: NoCompare},
		{Kind: Value, Chain: []Frame{at("k", "größe.cu", 8, 1)}, Ordinal: -1, Compare: NoCompare},
		{Kind: Value, Chain: []Frame{at("k", "größe.cu", 8, 1)}, Ordinal: -1, Compare: NoCompare},
	}
	AssignKeys(sites)
	var b bytes.Buffer
	if err := WriteMap(&b, NewTable(sites)); err != nil {
		t.Fatal(err)
	}
	table, warnings, err := readMap(b.String())
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings, b.String())
	}
	for i := range sites {
		if got := *table.At(i); !reflect.DeepEqual(got, sites[i]) {
			t.Errorf("site %d: %+v, want %+v", i, got, sites[i])
		}
	}
}

func TestDamagedMapsAreRefusedWithTheirPlace(t *testing.T) {
	entry := `{"site_id": 1, "filename": "a", "function": "f", "line": 1, "column": 1, "event_type": 0}`
	deep := strings.Repeat(`{"inputs":[`, 20) + strings.Repeat(`]}`, 20)
	for name, c := range map[string]struct {
		text   string
		says   string
		offset int64
	}{
		"empty":          {``, "ends", 0},
		"an object":      {`{"sites": []}`, "expected a list, got an object", 0},
		"a number":       {`7`, "expected a list", 0},
		"null":           {`null`, "expected a list, got null", 0},
		"cut":            {`[` + entry + `,`, "ends", -1},
		"cut inside":     {`[` + entry[:40], "ends", -1},
		"no end":         {`[` + entry, "ends", -1},
		"trailing":       {`[` + entry + `] x`, "", -1},
		"second list":    {`[` + entry + `] []`, "something follows", -1},
		"entry is text":  {`["x"]`, "entry 0 is string, expected an object", 1},
		"id is text":     {`[` + strings.Replace(entry, "1", `"1"`, 1) + `]`, "site_id is string, expected an integer from 0 to 4294967295", -1},
		"id is negative": {`[` + strings.Replace(entry, "1", "-1", 1) + `]`, "site_id is number -1", -1},
		"id is huge":     {`[` + strings.Replace(entry, "1", "4294967296", 1) + `]`, "site_id is number 4294967296", -1},
		"id is broken":   {`[` + strings.Replace(entry, "1", "1.5", 1) + `]`, "site_id is number 1.5", -1},
		"no id":          {`[{"event_type": 0}]`, "entry 0 has no site_id", 1},
		"no kind":        {`[` + entry + `,{"site_id": 2}]`, "entry 1 has no site_id or no event_type", -1},
		"kind is huge":   {`[{"site_id": 2, "event_type": 256}]`, "event_type is number 256, expected an integer from 0 to 255", -1},
		"bad key":        {`[{"site_id": 2, "event_type": 0, "key": "12"}]`, "is not a key", 1},
		"deep operands":  {`[{"site_id": 2, "event_type": 0, "operands": [` + deep + `]}]`, "nested more than 16 deep", 1},
		"long chain":     {`[{"site_id": 2, "event_type": 0, "inlined_at": [{}` + strings.Repeat(",{}", 300) + `]}]`, "301 frames", 1},
		"large entry":    {`[{"site_id": 2, "event_type": 0, "text": "` + strings.Repeat("x", maxEntryBytes) + `"}]`, "at most", 1},
	} {
		_, _, err := readMap(c.text)
		if !fault.Is(err, fault.Format) {
			t.Errorf("%s: %v, want a format error", name, err)
			continue
		}
		f := fault.Of(err)
		if !strings.Contains(f.Msg, c.says) || f.Hint == "" || f.Path == "" || c.offset >= 0 && f.Offset != c.offset || f.Offset > int64(len(c.text)) {
			t.Errorf("%s: %q at %d, want %q at %d", name, f.Msg, f.Offset, c.says, c.offset)
		}
	}
}

func TestMapsThatNeedTooMuchAreRefused(t *testing.T) {
	many := `{"site_id": 2, "event_type": 0, "operands": [{}` + strings.Repeat(",{}", 300_000) + `]}`
	_, _, err := readMap(`[` + strings.Repeat(many+",", 3) + many + `]`)
	if !fault.Is(err, fault.Limit) {
		t.Errorf("more than a million operands: %v, want a limit error", err)
	}
}

func TestStrangeMapsAreReadWithWarnings(t *testing.T) {
	e := func(id, line int, more string) string {
		return fmt.Sprintf(`{"site_id": %d, "filename": "a", "function": "f", "line": %d, "column": 1, "event_type": 0%s}`, id, line, more)
	}
	table, warnings, err := readMap(`[` + strings.Join([]string{e(1, 1, ""), e(1, 1, ""), e(2, 2, ""), e(2, 3, ""), e(3, 4, `, "key": "0x1"`)}, ",") + `]`)
	if err != nil || len(warnings) != 3 || table.Len() != 3 {
		t.Fatalf("%d sites, warnings %q: %v", table.Len(), warnings, err)
	}
	if i, _ := table.ByID(2); table.At(i).Where().Line != 3 {
		t.Errorf("of two places of one id, line %d was kept, want the last", table.At(i).Where().Line)
	}
}

func TestReadMapCanBeCancelled(t *testing.T) {
	src, err := file.FromBytes("m", []byte(described))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := ReadMap(ctx, src); !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v, want cancelled", err)
	}
}

func FuzzReadMap(f *testing.F) {
	f.Add([]byte(described))
	f.Add([]byte(`[{"site_id":1,"event_type":7,"inlined_at":[{"line":3}],"operands":[{"origin":4,"inputs":[{"site":"0x12"}]}],"key":"0x9"}]`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"site_id":1,"event_type":0},{"site_id":1,"event_type":1}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		src, err := file.FromBytes("m", data)
		if err != nil {
			return
		}
		defer src.Close()
		table, _, err := ReadMap(context.Background(), src)
		if err != nil {
			if e := fault.Of(err); e.Kind != fault.Format && e.Kind != fault.Limit {
				t.Fatalf("%v is a %s error", err, e.Kind)
			}
			return
		}
		var b bytes.Buffer
		if err := WriteMap(&b, table); err != nil {
			t.Fatal(err)
		}
		again, _, err := readMap(b.String())
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, b.String())
		}
		if again.Len() != table.Len() {
			t.Fatalf("%d sites, then %d", table.Len(), again.Len())
		}
		for i := range table.Len() {
			if !reflect.DeepEqual(table.At(i), again.At(i)) {
				t.Fatalf("site %d: %+v, then %+v", i, table.At(i), again.At(i))
			}
		}
	})
}

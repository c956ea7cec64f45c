package chrometrace

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/source"
)

// rewrittenWith scans and rewrites a document.
func rewrittenWith(t *testing.T, text string, e edit) string {
	t.Helper()
	src, err := file.FromBytes("doc.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	tr, err := Scan(context.Background(), src, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Rewrite(context.Background(), src, tr, e, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestABareListGetsADocumentWhenItsBaseChanges(t *testing.T) {
	base := int64(1_000_000)
	for in, want := range map[string]string{
		`[{"ph":"i","ts":1500}]`:     `{"baseTimeNanoseconds":1000000,"displayTimeUnit":"ns","traceEvents":[{"ph":"i","ts":500}]}` + "\n",
		` [ {"ph":"i","ts":1500.5},`: `{"baseTimeNanoseconds":1000000,"displayTimeUnit":"ns","traceEvents":[ {"ph":"i","ts":500.5},]}` + "\n",
		`[]`:                         `{"baseTimeNanoseconds":1000000,"displayTimeUnit":"ns","traceEvents":[]}` + "\n",
	} {
		if got := rewrittenWith(t, in, edit{OutputBaseNS: &base}); got != want {
			t.Errorf("%s became\n%s\nwant\n%s", in, got, want)
		}
	}
}

func TestNamesDoNotLandBeforeTheBase(t *testing.T) {
	base := int64(2_000_000)
	in := `{"baseTimeNanoseconds":1000000,"traceEvents":[{"ph":"M","ts":5,"name":"process_name"},{"ph":"M","ts":1005},{"ph":"M","ts":-5},{"ph":"X","ts":5,"dur":1}]}`
	want := `{"baseTimeNanoseconds":2000000,"traceEvents":[{"ph":"M","ts":0,"name":"process_name"},{"ph":"M","ts":5},{"ph":"M","ts":-1005},{"ph":"X","ts":-995,"dur":1}]}`
	if got := rewrittenWith(t, in, edit{OutputBaseNS: &base}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMuchWhiteSpaceIsCopiedInPieces(t *testing.T) {
	gap := strings.Repeat(" ", 3*maxGap+17)
	in := `{"traceEvents":[` + gap + `{"ph":"X","pid":1,"ts":1,"dur":1}` + gap + `,` + gap + `{"ph":"X","pid":2,"ts":1,"dur":1}` + gap + `]}`
	if got := rewrittenWith(t, in, edit{}); got != in {
		t.Errorf("%d bytes became %d", len(in), len(got))
	}
	from := int64(0)
	got := rewrittenWith(t, in, edit{Processes: []processEdit{{Drop: true}}, KeepFromNS: &from})
	if want := `{"traceEvents":[` + gap + gap + `{"ph":"X","pid":2,"ts":1,"dur":1}` + gap + `]}`; len(got) > len(in) || strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("without the first event: %q", strings.ReplaceAll(got, " ", ""))
	}
	src, err := file.FromBytes("doc.json", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	tr, err := Scan(context.Background(), src, ScanOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", ",", ""} {
		if got, err := tr.readGap(src, i); err != nil || string(got) != want {
			t.Errorf("gap %d: %d bytes, want %q; %v", i, len(got), want, err)
		}
	}
}

func TestCollectiveKernelsAreThoseThatEventsFinds(t *testing.T) {
	ctx := context.Background()
	for _, path := range filetest.Glob(t, "kineto/*.json*") {
		src, err := file.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Scan(ctx, src, ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		line := func(e *Event) string {
			stream, _ := e.Arg("stream")
			return string(e.Name) + "|" + string(e.TID) + "|" + string(stream) + "|" + e.Process.PID
		}
		var want, got []string
		wanted := func(_ byte, cat, name []byte) bool { return deviceCategory(string(cat)) && isCollectiveKernel(name) }
		if err := Events(ctx, src, tr, wanted, func(e *Event) error { want = append(want, line(e)); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := collectiveKernels(ctx, src, tr, func(e *Event) error { got = append(got, line(e)); return nil }); err != nil {
			t.Fatal(err)
		}
		src.Close()
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d kernels, want %d", path, len(got), len(want))
		}
	}
}

func TestTimesOfOthersArePrintedExactly(t *testing.T) {
	for _, c := range []struct {
		at   Instant
		base int64
		want string
	}{
		{Instant{NS: 1_700_000_000_000_000_001, PS: 0}, 1_700_000_000_000_000_000, "0.001"},
		{Instant{NS: -1, PS: 999}, 0, "-0.000001"},
		{Instant{NS: 1_700_000_000_000_000_000, PS: 500}, 0, "1700000000000000.0005"},
		{Instant{NS: 5_000, PS: 0}, 0, "5"},
	} {
		if got, ok := source.AppendMicros(nil, c.at, c.base); !ok || string(got) != c.want {
			t.Errorf("%+v after %d: got %s, want %s", c.at, c.base, got, c.want)
		}
	}
	if got, ok := source.AppendMicros([]byte("x"), Instant{NS: 1 << 62, PS: 0}, -1<<62); ok || string(got) != "x" {
		t.Errorf("584 years are printed as %s", got)
	}
}

func TestTextThatIsAThreadBecomesANumber(t *testing.T) {
	in := `{"traceEvents":[{"ph":"X","pid":1,"tid":"stream 7","ts":1},{"ph":"X","pid":2,"tid":"stream 7","ts":1},{"ph":"M","name":"thread_name","pid":1,"tid":"b","args":{"name":"B"}}]}`
	want := `{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1},{"ph":"X","pid":2,"tid":"stream 7","ts":1},{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"B"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"stream 7"}}]}`
	if got := rewrittenWith(t, in, edit{Processes: []processEdit{{TIDs: map[string]string{`"stream 7"`: "1", `"b"`: "2"}}}}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

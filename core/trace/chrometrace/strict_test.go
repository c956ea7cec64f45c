package chrometrace

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// writeStrictly writes a trace as combine does: head, pieces, tail.
func writeStrictly(t *testing.T, text string, e edit) (string, counts, []string) {
	t.Helper()
	src := bytesSource(t, []byte(text))
	tr := mustScan(t, src, ScanOptions{ChunkBytes: 100})
	r, err := source.Text(tr).Rewriter(e)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var counts counts
	var scratch []byte
	if err := r.Head(t.Context(), src, &out); err != nil {
		t.Fatal(err)
	}
	w, wrote := r.Worker(), false
	for i := range r.Pieces() {
		piece, err := w.Piece(src, i, nil, &scratch, &counts)
		if err != nil {
			t.Fatal(err)
		}
		if len(piece) > 0 && wrote {
			out.WriteByte(',')
		}
		wrote = wrote || len(piece) > 0
		out.Write(piece)
	}
	gap, err := r.Gap(src, r.Pieces())
	if err != nil {
		t.Fatal(err)
	}
	out.Write(gap)
	if err := r.Tail(t.Context(), src, &out); err != nil {
		t.Fatal(err)
	}
	return out.String(), counts, r.Remarks(&counts)
}

func TestWhatIsWrittenIsStrictJSON(t *testing.T) {
	for _, c := range []struct{ what, in, out, remark string }{
		{"a NaN duration", `{"traceEvents":[{"ph":"X","ts":1,"dur":NaN},{"ph":"X","ts":2,"dur":1}]}`, `{"traceEvents":[{"ph":"X","ts":2,"dur":1}]}`, "left out: events whose ts or dur is NaN or an infinity: 1"},
		{"an infinite start", `{"traceEvents":[{"ph":"X","ts":-Infinity,"dur":1},{"ph":"i","ts":2}]}`, `{"traceEvents":[{"ph":"i","ts":2}]}`, "left out: events"},
		{"literals in args", `{"traceEvents":[{"ph":"X","ts":1,"dur":1,"args":{"a":NaN,"b":[-inf,1e5,-2.5E-3],"NaN":"NaN"}}]}`, `{"traceEvents":[{"ph":"X","ts":1,"dur":1,"args":{"a":null,"b":[null,1e5,-2.5E-3],"NaN":"NaN"}}]}`, "NaN and infinities: 2"},
		{"literals around the events", `{"a":{"x":Infinity},"traceEvents":[{"ph":"i","ts":2}],"z":nan}`, `{"a":{"x":null},"traceEvents":[{"ph":"i","ts":2}],"z":null}`, "NaN and infinities: 2"},
		{"a NUL in a name", "{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1,\"name\":\"a\x00b\tc\"}]}", `{"traceEvents":[{"ph":"i","ts":1,"name":"a\u0000b\u0009c"}]}`, "control characters and invalid escapes in texts: 2"},
		{"an invalid escape", `{"traceEvents":[{"ph":"i","ts":1,"name":"C:\dir\u12"}],"k":"\q"}`, `{"traceEvents":[{"ph":"i","ts":1,"name":"C:\\dir\\u12"}],"k":"\\q"}`, "invalid escapes in texts: 3"},
		{"invalid UTF-8", "{\"k\":\"\xff\",\"traceEvents\":[{\"ph\":\"i\",\"ts\":1,\"name\":\"\xc3\xa4\xc3\"}]}", "{\"k\":\"\ufffd\",\"traceEvents\":[{\"ph\":\"i\",\"ts\":1,\"name\":\"ä\ufffd\"}]}", "not UTF-8: 2"},
		{"a byte order mark", "\xef\xbb\xbf{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}]}", `{"traceEvents":[{"ph":"i","ts":1}]}`, ""},
		{"a comma at the end", `{"traceEvents":[{"ph":"i","ts":1},]}`, `{"traceEvents":[{"ph":"i","ts":1}]}`, ""},
		{"a list that is not closed", `[{"ph":"i","ts":1},`, "[{\"ph\":\"i\",\"ts\":1}]\n", "is not closed"},
		{"a negative duration", `{"traceEvents":[{"ph":"X","ts":5,"dur":-1}]}`, `{"traceEvents":[{"ph":"X","ts":5,"dur":-1}]}`, "end before they begin: 1"},
	} {
		out, _, remarks := writeStrictly(t, c.in, edit{})
		if out != c.out {
			t.Errorf("%s:\ngot  %q\nwant %q", c.what, out, c.out)
		}
		if said := strings.Join(remarks, "\n"); !strings.Contains(said, c.remark) || c.remark == "" && said != "" {
			t.Errorf("%s: the remarks are %q, want %q", c.what, said, c.remark)
		}
		moved, counts, _ := writeStrictly(t, c.in, edit{Clock: clock.Shift(1000, 0), BoundArg: "bound", Sample: true})
		if !json.Valid([]byte(moved)) || !utf8.ValidString(moved) {
			t.Errorf("%s, moved: %q", c.what, moved)
		}
		if strings.HasPrefix(c.remark, "left out") && counts.Placeless != 1 {
			t.Errorf("%s: %d events are counted as left out", c.what, counts.Placeless)
		}
	}
}

// TestStrictTextDoesNotDependOnPieces: text that is cut anywhere comes out the same, and text that is strict does not change.
func TestStrictTextDoesNotDependOnPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	words := []string{`{"a":`, "-Infinity", "NaN,", "nan", "true", "null", "-1.5e-7", "1e5", `"`, "\\", "\\u00e4", "\\u0", "ä", "\xff", "\xe2\x82", "€", "\x00", ", ", "[", "]}", "inf", "-"}
	for range 2000 {
		var text []byte
		for range 1 + r.IntN(12) {
			text = append(text, words[r.IntN(len(words))]...)
		}
		var whole strict
		want := whole.flush(whole.text(nil, text))
		var pieces strict
		var got []byte
		for rest := text; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			got = pieces.text(got, rest[:n])
			rest = rest[n:]
		}
		if got = pieces.flush(got); !bytes.Equal(got, want) || pieces.notUTF8 != whole.notUTF8 {
			t.Fatalf("%q: got %q in pieces, %q at once", text, got, want)
		}
		var again strict
		if utf8.Valid(want) && !bytes.Equal(again.flush(again.text(nil, want)), want) {
			t.Fatalf("%q changes again", want)
		}
	}
}

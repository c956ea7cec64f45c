package chrometrace

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// slowSkip is what skipper does, one byte at a time.
func slowSkip(b []byte, open, shut byte) int {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == open:
			depth++
		case c == shut:
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return incomplete
}

func TestSkippingEightBytesAtATimeIsSkippingOne(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const alphabet = `{}[]"\aaaaaaaaaaaaaaaaaaaaaaaaaaa` + "\x00\x01\x22\xa2\xff\x80\x5d\xfb"
	for range 20_000 {
		text := make([]byte, 1+random.IntN(80))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		open := byte('{')
		if random.IntN(2) == 0 {
			open = '['
		}
		text[0] = open
		k := skipFrom(open)
		want := slowSkip(text, k.open, k.close)
		if got := k.run(text, 0); got != want {
			t.Fatalf("%q ends at %d, want %d", text, got, want)
		}
		k = skipFrom(open) // in two pieces
		cut := random.IntN(len(text) + 1)
		got := k.run(text[:cut], 0)
		if got < 0 {
			if got = k.run(text[cut:], 0); got >= 0 {
				got += cut
			}
		}
		if got != want {
			t.Fatalf("%q, cut at %d, ends at %d, want %d", text, cut, got, want)
		}
	}
}

// collect walks a text and says what was visited.
func collect(t testing.TB, text []byte, pieces bool) ([]string, *walkResult) {
	t.Helper()
	var seen []string
	var r interface{ Read([]byte) (int, error) } = bytes.NewReader(text)
	if pieces {
		r = iotest.HalfReader(iotest.DataErrReader(r))
	}
	res, err := walk(context.Background(), r, walkOptions{
		Path: "t.json",
		Want: func(phase byte, cat []byte) interest {
			switch {
			case phase == 'X' && string(cat) == "kernel":
				return take
			case phase == 'X' && string(cat) == "cuda_runtime":
				return byName
			}
			return pass
		},
		Name: func(_ byte, _, name []byte) bool { return bytes.Contains(name, []byte("Launch")) },
		Visit: func(e *walked) error {
			c, _ := e.arg("correlation")
			seen = append(seen, fmt.Sprintf("%s %s %s %s %v %v %s", e.Cat, e.Name(), e.PID, e.TID, e.TS, e.Dur, c))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen, res
}

// byEvents is the same from the strict reader.
func byEvents(t testing.TB, text []byte) []string {
	t.Helper()
	src, err := file.FromBytes("t.json", text)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Scan(context.Background(), src, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = Events(context.Background(), src, tr, func(phase byte, cat, name []byte) bool {
		return phase == 'X' && (string(cat) == "kernel" || string(cat) == "cuda_runtime" && bytes.Contains(name, []byte("Launch")))
	}, func(e *Event) error {
		c, _ := e.Arg("correlation")
		us := func(i Instant, base int64) micros {
			return micros{(i.NS - base) / 1000, int32((i.NS-base)%1000)*1000 + i.PS}
		}
		seen = append(seen, fmt.Sprintf("%s %s %s %s %v %v %s", e.Cat, e.Name, e.Process.PID, e.TID, us(e.Start, tr.BaseNS), micros{e.DurationPS / 1e6, int32(e.DurationPS % 1e6)}, c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestWalkVisitsWhatTheStrictReaderVisits(t *testing.T) {
	texts := map[string][]byte{"made": []byte(`{"a": [1, {"b": "]}"}], "traceEvents": [
		{"ph": "X", "cat": "kernel", "name": "k \"{\" \u00e9", "pid": 1, "tid": "stream 7", "ts": 1.0005, "dur": 2.25, "args": {"External correlation": 4, "correlation": 17}},
		{"args": {"correlation": "18"}, "name": "late", "dur": 1, "ts": 3, "tid": 7, "pid": 1, "cat": "kernel", "ph": "X"},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 2, "tid": 3, "ts": 4, "dur": 1, "args": {"x": {"y": "}"}, "correlation": 17}},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaFree", "pid": 2, "tid": 3, "ts": 4, "dur": 1}, {}, null,
		{"ph": "X", "cat": "cpu_op", "name": "x\\", "pid": 2, "tid": 3, "ts": 4, "dur": 1, "args": {"s": "\\\"}"}}
	], "baseTimeNanoseconds": 1000000000}`)}
	if dir := os.Getenv("PRLX_TEST_DATA"); dir != "" {
		paths, _ := filepath.Glob(filepath.Join(dir, "kineto", "*.json.gz"))
		for _, p := range paths {
			disk, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			src, err := file.FromBytes(p, disk)
			if err != nil {
				t.Fatal(err)
			}
			raw := make([]byte, src.Size())
			if _, err := src.ReadAt(raw, 0); err != nil && len(raw) == 0 {
				t.Fatal(err)
			}
			texts[filepath.Base(p)] = raw
		}
	}
	for name, text := range texts {
		want := byEvents(t, text)
		for _, pieces := range []bool{false, true} {
			got, res := collect(t, text, pieces)
			if strings.Join(got, "\n") != strings.Join(want, "\n") || name == "made" && len(want) != 3 {
				t.Errorf("%s: walked %d events, want %d", name, len(got), len(want))
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("event %d is %s, want %s", i, got[i], want[i])
						break
					}
				}
			}
			if res.Skipped != 0 || res.Truncated || len(res.Documents) != 1 || res.Bytes != int64(len(text)) {
				t.Errorf("%s: %+v", name, res)
			}
		}
	}
}

func TestWalkGoesOnAfterDamage(t *testing.T) {
	event := func(n int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k%d","pid":1,"tid":7,"ts":%d,"dur":1,"args":{"correlation":%d}}`, n, n, n)
	}
	for damage, want := range map[string]struct{ skipped, events int }{
		`{"ph":"X" "cat":"kernel"}`: {1, 2},
		`{"ph":,}`:                  {1, 2},
		`17`:                        {1, 2},
		`"text"`:                    {1, 2},
		`{"ph":"X","args":{"a":ncclFloat32, 0x1}}`: {0, 2},
		`{"ph":"X","ts":NaN}`:                      {0, 2},
		`{},null,{}`:                               {0, 2},
		"{\"ph\":\"\x00\n\"}":                      {0, 2},
	} {
		text := "[" + event(1) + "," + damage + ",\n" + event(2) + "]"
		seen, res := collect(t, []byte(text), true)
		if len(seen) != want.events || res.Skipped != int64(want.skipped) {
			t.Errorf("%s: %d events, %d skipped, want %v", damage, len(seen), res.Skipped, want)
		}
	}
}

// TestWantIsAskedOnceAnEvent uses events that the window cuts: one that is read again is not asked about again, because those who are asked
// count.
func TestWantIsAskedOnceAnEvent(t *testing.T) {
	const events = 60
	var text bytes.Buffer
	text.WriteString("[")
	for n := range events {
		fmt.Fprintf(&text, `{"ph":"X","cat":"gpu_memcpy","name":"copy","ts":%d,"args":{"a":"%s"}},`, n, strings.Repeat("x", 100_000))
	}
	text.WriteString("{}]")
	for _, wanted := range []interest{pass, byName, take} {
		asked := 0
		_, err := walk(context.Background(), bytes.NewReader(text.Bytes()), walkOptions{
			Path: "t.json", Want: func(byte, []byte) interest { asked++; return wanted }, Name: func(byte, []byte, []byte) bool { return false },
			Visit: func(*walked) error { return nil },
		})
		if err != nil || asked != events {
			t.Errorf("wanted %d: asked %d times about %d events, %v", wanted, asked, events, err)
		}
	}
}

func TestWalkRefusesLongEvents(t *testing.T) {
	text := `[{"ph":"X","name":"` + strings.Repeat("x", 5<<20) + `"}]`
	_, err := walk(context.Background(), strings.NewReader(text), walkOptions{MaxEvent: 2 << 20, Want: func(byte, []byte) interest { return pass }})
	if !fault.Is(err, fault.Limit) {
		t.Errorf("got %v", err)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":2,"args":{"correlation":3}},{"ph" 1}]}[{}]`))
	f.Add([]byte(`[{"traceEvents":[{"ph":"X"`))
	f.Add([]byte(`{"distributedInfo":{"rank":1},"host_name":"h\"","traceEvents":[]} x`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		walk := func(pieces bool) (int, *walkResult, error) {
			n := 0
			var r interface{ Read([]byte) (int, error) } = bytes.NewReader(text)
			if pieces {
				r = iotest.OneByteReader(r)
			}
			res, err := walk(context.Background(), r, walkOptions{
				Path: "t", Want: func(byte, []byte) interest { return take },
				Visit: func(e *walked) error { n++; _, _ = e.argUint("correlation"); return nil },
			})
			return n, res, err
		}
		n, res, err := walk(false)
		if err != nil && fault.Of(err).Kind == fault.Internal {
			t.Fatal(err)
		}
		if m, again, err2 := walk(true); n != m || res.Events != again.Events || (err == nil) != (err2 == nil) {
			t.Fatalf("%d events, in pieces %d; %v, %v", n, m, err, err2)
		}
		if err == nil && res.Bytes != int64(len(text)) {
			t.Fatalf("%d of %d bytes", res.Bytes, len(text))
		}
	})
}

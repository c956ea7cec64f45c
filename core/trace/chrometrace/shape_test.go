package chrometrace

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
)

// sameEvent reads the event at i with shapes and token by token, and fails where the two differ. It returns the index behind the event.
func sameEvent(t *testing.T, l *lexer, i int) int {
	t.Helper()
	var slow, fast fields
	before := leniency{ControlChars: 3, Literals: 1}
	twin := &lexer{b: l.b, lenient: before}
	l.lenient = before
	want, got := twin.tokens(i, &slow), l.event(i, &fast)
	if got != want || l.lenient != twin.lenient || l.tooDeep != twin.tooDeep {
		t.Fatalf("%q ends at %d with %+v, token by token at %d with %+v", l.b[i:], got, l.lenient, want, twin.lenient)
	}
	if want >= 0 && fast != slow {
		t.Fatalf("%q: fields are %+v, token by token %+v", l.b[i:want], fast, slow)
	}
	return want
}

// sameArgs checks that the args of an event of a known shape are those that are found by looking for them.
func sameArgs(t *testing.T, l *lexer, i int) {
	t.Helper()
	known, end := l.shapes.find(l, i)
	if known == nil {
		return
	}
	var f fields
	l.shapes.fill(known, &f, i, end)
	e := walked{known: known, argsText: f.at[fieldArgs].of(l.b), w: &walker{lex: *l}}
	if l.shapes.objects {
		return
	}
	for _, key := range []string{"correlation", "grid", "a", "External id", "stream"} {
		got, want := e.rawArg(key), findArg(&lexer{}, e.argsText, key)
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("arg %s of %q is %q, want %q", key, l.b[i:end], got, want)
		}
	}
}

// mutate changes, removes or repeats a few bytes.
func mutate(r *rand.Rand, event []byte) []byte {
	out := bytes.Clone(event)
	const alphabet = `{}[]",:\ 017.eE-+ntfNI` + "\n\x01a"
	for range r.IntN(4) {
		at := r.IntN(len(out))
		switch r.IntN(3) {
		case 0:
			out[at] = alphabet[r.IntN(len(alphabet))]
		case 1:
			out = append(out[:at], out[at+1:]...)
		default:
			out = append(out[:at], append([]byte{alphabet[r.IntN(len(alphabet))]}, out[at:]...)...)
		}
		if len(out) == 0 {
			return []byte("{")
		}
	}
	return out
}

var shapedEvents = []string{
	`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":12.5,"dur":3,"args":{"correlation":3,"grid":[1,2,3],"a":"x"}}`,
	`{"ph": "X", "cat": "kernel", "name": "k\u003c\"", "pid": 0, "tid": 7, "ts": 12.5, "dur": 3, "args": {"grid": [10, 0, 3], "stream": 7, "correlation": "12"}}`,
	"{\n  \"ph\": \"i\", \"args\": {}, \"name\": \"\", \"ts\": 0,\n \"args2\": {\"a\": {\"correlation\": 1}} }",
	`{"name":"n","args":5,"id":{"local":"x"},"id2":{"local":[1]},"sf":-1e5}`,
	`{"ph":"M","cat":"","pid":"p","args":{"a":[[1],{"a":1}],"b":null,"c":true,"grid":[01],"d":NaN,"e":[1,-2],"f":[ 1],"g":[]}}`,
	`{"ts":-0.5e+7,"ts2":0.1,"k":"\\","bind_id":"a` + "\x02" + `"}`,
	"{\"ph\":\"X\",\"k\x02\":1}", `{"ph":"X","name":"a","name":"b","n\u0061me":"c"}`,
}

func TestShapesReadAsTokensDo(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	l := &lexer{shapes: newShapes()}
	shaped := 0
	for range 60_000 {
		text := []byte(shapedEvents[r.IntN(len(shapedEvents))])
		if r.IntN(3) > 0 {
			text = mutate(r, text)
		}
		if text[0] != '{' {
			continue
		}
		l.b = append(text, ",{ "[:r.IntN(3)]...)
		l.shapes.resting = 0
		if sameEvent(t, l, 0) >= 0 {
			sameArgs(t, l, 0)
			shaped++
		}
	}
	if shaped < 20_000 || len(l.shapes.known) < maxShapes {
		t.Errorf("%d events are right, %d shapes are known", shaped, len(l.shapes.known))
	}
}

func TestShapesRefuseWhatIsNestedTooDeep(t *testing.T) {
	for _, layout := range []string{`{"args":{"a":%s}}`, `{"args":%s}`, `{"x":%s}`, `{"ts":1,"args":{"b":1,"c":2,"d":3,"a":%s}}`} {
		l := &lexer{shapes: newShapes()}
		for k := range lookedAt + 3 { // so that a variant is made where it gains something
			l.b = fmt.Appendf(nil, layout, []string{"[[]]", "[[1]]"}[k%2])
			sameEvent(t, l, 0)
		}
		for depth := maxDepth - 6; depth < maxDepth+2; depth++ {
			l.b = fmt.Appendf(nil, layout, strings.Repeat("[", depth)+strings.Repeat("]", depth))
			l.tooDeep = false
			sameEvent(t, l, 0)
		}
	}
}

func TestListsOfNumbersEndWhereTheWalkEndsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	lists := 0
	for range 50_000 {
		text := []byte("[")
		for range r.IntN(8) {
			text = append(text, []string{"0", "1", "17", ",", ", ", " ", "]", "-", "."}[r.IntN(9)]...)
		}
		text = append(text, "]]"[:r.IntN(3)]...)
		l := &lexer{b: text}
		end := l.numbers(0)
		if end < 0 {
			continue
		}
		lists++
		l.begin(0)
		if want := l.walk(0, 0); end != want {
			t.Fatalf("%q ends at %d, want %d", text, end, want)
		}
	}
	if lists < 1000 {
		t.Errorf("%d lists of numbers", lists)
	}
}

func TestEventsOfOneShapeAreReadByIt(t *testing.T) {
	l := &lexer{shapes: newShapes()}
	for k := range 10 {
		for _, layout := range []string{
			`{"ph":"X","cat":"kernel","name":"k%d","ts":%d.5,"args":{"correlation":%d}}`, `{"ph":"X","cat":"cpu_op","name":"k%d","ts":%d,"args":{"x":[%d,"a"]}}`,
			"{ \"name\": \"%d\", \"ph\": \"X\", \"pid\": -%d.25e3, \"args\": {\n \"b\": {\"y\": %d} } }",
		} {
			l.b = fmt.Appendf(nil, layout, k, 7*k, 100*k)
			known, end := l.shapes.find(l, 0)
			if (known != nil) != (k > 0) || k > 0 && end != len(l.b) {
				t.Fatalf("%s: shape %v, end %d", l.b, known, end)
			}
			sameEvent(t, l, 0)
		}
	}
	if len(l.shapes.known) != 3 {
		t.Errorf("%d shapes, want 3", len(l.shapes.known))
	}
}

// TestValuesThatStayBecomePartOfTheText reads events of which some values stay for a while, then change, then stay again.
func TestValuesThatStayBecomePartOfTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	l := &lexer{shapes: newShapes()}
	fitted, variants := 0, 0
	stay := [6]string{}
	for range 40 {
		for k := range stay { // a new process, a new device
			stay[k] = []string{"1", "17", `"a"`, `"a\u003c"`, "\"\x01\"", "NaN", "[1,2]", "[]", `{"correlation":5}`, "0"}[r.IntN(10)]
		}
		for range 4 * lookedAt {
			l.b = fmt.Appendf(nil, `{"ph":"X","pid":%s,"tid":%s,"name":"n%d","args":{"stream":%s,"a":%s,"correlation":%d,"x":%s},"ts":%s}`,
				stay[0], stay[1], r.IntN(50), stay[2], stay[3], r.IntN(1000), stay[4], stay[5])
			if r.IntN(100) == 0 {
				l.b = mutate(r, l.b)
			}
			if l.b[0] != '{' {
				continue
			}
			sameEvent(t, l, 0)
			sameArgs(t, l, 0)
			for _, known := range l.shapes.known {
				if known.usual == nil {
					continue
				}
				variants++
				if l.shapes.fit(l, known.usual, 0) >= 0 {
					fitted++
				}
			}
		}
	}
	if variants == 0 || fitted < 1000 {
		t.Errorf("%d events fitted a variant; there were %d", fitted, variants)
	}
}

func TestShapesRestWhereEveryEventHasItsOwn(t *testing.T) {
	l := &lexer{shapes: newShapes()}
	rested := 0
	for k := range 10 * restFor {
		if l.shapes.resting > 0 {
			rested++
		}
		l.b = fmt.Appendf(nil, `{"ph":"X","key%d":1}`, k)
		sameEvent(t, l, 0)
	}
	if rested < 9*restFor {
		t.Errorf("shapes rested for %d of %d events", rested, 10*restFor)
	}
	for range restFor {
		l.b = []byte(`{"ph":"X","key":1}`)
		sameEvent(t, l, 0)
	}
	if known, _ := l.shapes.find(l, 0); known == nil {
		t.Errorf("no shape is known after %d events alike", restFor)
	}
}

// TestScanIsTheSameWithoutShapes scans generated and real traces both ways.
func TestScanIsTheSameWithoutShapes(t *testing.T) {
	var sources []*file.Source
	for _, indent := range []bool{false, true} {
		doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 3 << 20, Indent: indent, World: 2})
		sources = append(sources, bytesSource(t, doc))
	}
	if dir := os.Getenv("PRLX_TEST_DATA"); dir != "" {
		paths, _ := filepath.Glob(filepath.Join(dir, "kineto", "*.json.gz"))
		for _, p := range paths {
			src, err := file.Open(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			sources = append(sources, src)
		}
	}
	for _, src := range sources {
		fast, err := Scan(context.Background(), src, ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		slow, err := newScanner(context.Background(), src, ScanOptions{}).scan()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Errorf("%s: the scan differs from that token by token", src.Path())
		}
	}
}

func FuzzShapes(f *testing.F) {
	for _, a := range shapedEvents {
		for _, b := range shapedEvents {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		l := &lexer{shapes: newShapes()}
		for _, b := range [][]byte{first, second, first, first} {
			if len(b) == 0 || b[0] != '{' || len(b) > 1<<12 {
				return
			}
			l.b = b
			if sameEvent(t, l, 0) >= 0 {
				sameArgs(t, l, 0)
			}
			for range lookedAt + 1 { // until values are part of the text
				l.shapes.find(l, 0)
			}
		}
	})
}

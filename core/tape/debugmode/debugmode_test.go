package debugmode

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/verdict"
)

// read reads a log from text.
func read(t testing.TB, text string) (*Log, error) {
	t.Helper()
	src, err := file.FromBytes("log", []byte(text))
	if err != nil { // compressed, and damaged
		return nil, err
	}
	return readLog(context.Background(), src)
}

// real is what torch 2.15.0 wrote of a linear module, a dropout and its backward pass.
func real(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/torch-2.15.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compare compares two logs.
func compare(t *testing.T, a, b string) *comparing.Document {
	t.Helper()
	x, err := read(t, a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := read(t, b)
	if err != nil {
		t.Fatal(err)
	}
	r := &comparing.Result{}
	if err := r.Pair(context.Background(), x, y); err != nil {
		t.Fatal(err)
	}
	return r.Document()
}

func TestLogOfTorchIsRead(t *testing.T) {
	l, err := read(t, real(t))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := l.Next(context.Background())
	if again, _ := l.Next(context.Background()); again != nil || len(s.Operators) != 18 {
		t.Fatalf("%d operators, and %v after them", len(s.Operators), again)
	}
	o := s.Operators[1]
	if o.Place.Module != "Sequential.0" || o.Place.Operator != "aten.addmm" || len(o.Values) != 4 || o.Scalars != "t, t, t" {
		t.Errorf("got %+v with %d values and %q", o.Place, len(o.Values), o.Scalars)
	}
	if slot := o.Place.Slots[3]; slot.Role != tape.Output || slot.Type != "f32" || len(slot.Shape) != 2 || o.Values[3].State != tape.Taken {
		t.Errorf("got %+v", slot)
	}
	for _, o := range s.Operators {
		if o.Place.Operator == "aten.bernoulli_.float" && o.Values[0].State != tape.Uninitialized {
			t.Error("what is in memory that nobody had written counts as an input")
		}
		if o.Place.Operator == "aten.sum" && o.Place.Module != "" {
			t.Errorf("the loss is computed in no module, got %q", o.Place.Module)
		}
	}
}

// TestLogsAreNeverTheSame: their hashes do not see where an element stands.
func TestLogsAreNeverTheSame(t *testing.T) {
	d := compare(t, real(t), real(t))
	if d.Conclusion.Outcome != verdict.Inconclusive || d.First != nil || !strings.Contains(d.Verdict, "places of elements") {
		t.Errorf("got %+v", d.Conclusion)
	}
}

func TestFirstDifferenceOfLogsIsNamed(t *testing.T) {
	changed := strings.Replace(real(t), "5.319918274879456", "5.4", 1)
	d := compare(t, real(t), changed)
	if d.First == nil || d.First.Kind != "output" || d.First.A.Operator != "aten.addmm" || d.First.Known || d.Conclusion.Outcome != verdict.Differs {
		t.Errorf("got %+v", d.First)
	}
	if d = compare(t, real(t), strings.Replace(real(t), "aten::sum", "aten::mean", 1)); d.First == nil || d.First.Kind != "missing" || d.Total != 2 {
		t.Errorf("got %+v, %d in all", d.First, d.Total)
	}
}

func TestOtherVersionsAndFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"format": "` + logFormat + `", "version": 2, "logs": []}`: "version 2, expected 1",
		`{"format": "` + logFormat + `", "logs": []}`:               "version",
		`{"logs": [], "format": "` + logFormat + `", "version": 1}`: "not a log",
		`{"format": "` + logFormat + `", "version": 1}`:             "not a log",
		`[]`: "not a log",
		`{"format": "` + logFormat + `", "version": 1, "logs": [{"type": "op", "log":`: "damaged",
	} {
		if _, err := read(t, text); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// FuzzRead: no bytes make the reader panic, and what it reads can be compared.
func FuzzRead(f *testing.F) {
	f.Add(real(f))
	f.Add(`{"format": "` + logFormat + `", "version": 1, "logs": [{"type": "op", "op_name": "a::b", "args_str": "t: f32[3]", "log": {"type": "dict", "items": [["hash", {"type": "nonfinite_float", "value": "nan"}]]}}]}`)
	f.Add("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xaa\x56\xca\x4f\xca\x52\xb2\x52\x50\x50\x50") // gzip, cut short
	f.Fuzz(func(t *testing.T, text string) {
		x, err := read(t, text)
		if err != nil {
			return
		}
		y, err := read(t, text)
		if err != nil {
			t.Fatal(err)
		}
		r := &comparing.Result{}
		if err := r.Pair(context.Background(), x, y); err != nil {
			t.Fatal(err)
		}
		if d := r.Document(); d.First != nil || d.Conclusion.Outcome != verdict.Inconclusive {
			t.Errorf("a log compared with itself: %+v", d.Conclusion)
		}
	})
}

package tape

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// linear is a place with one input, one output and one mutated argument.
var linear = &Place{
	Module: "layers.0", Class: "Linear", Operator: "aten.addmm.default", Phase: backward,
	Slots: []Slot{
		{Role: Input, Name: "mat1", Type: "float32", Shape: []int64{2, 3}, Stride: []int64{3, 1}},
		{Role: Output, Name: "0", Type: "bfloat16", Shape: []int64{}, Stride: []int64{}},
		{Role: Mutated, Name: "out", Type: "int64", Shape: []int64{7}, Stride: []int64{-1}},
	},
}

// operator is the i-th record that tests write.
func operator(i int) *Operator {
	return &Operator{
		Scalars: "alpha=1e-07", Generator: &Generator{Seed: 7, Before: uint64(i), After: uint64(i) + 1},
		Values: []Value{
			{Digest: uint64(i) << 40, NaN: 1, Inf: 2, Max: 3.5},
			{State: Uninitialized},
			{Digest: 9, Max: math.Inf(1), Sum: -1, Sample: []byte{1, 2, 3}},
		},
	}
}

// write makes a tape with so many steps of so many operators.
func write(t testing.TB, run *Run, opt Options, steps, operators int) (path string, end End) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.tape")
	w, err := Create(path, run, opt)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Define(linear)
	if err != nil {
		t.Fatal(err)
	}
	for s := range steps {
		if err := w.Step(int64(s)); err != nil {
			t.Fatal(err)
		}
		for i := range operators {
			if err := w.Add(id, operator(s*operators+i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	end, err = w.Close(map[string]int64{"views": 4}, "")
	if err != nil {
		t.Fatal(err)
	}
	return path, end
}

// read reads a tape to its end.
func read(t testing.TB, path string) (*Reader, []*Step) {
	t.Helper()
	r, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r, all(t, r)
}

func all(t testing.TB, r *Reader) (steps []*Step) {
	t.Helper()
	for {
		s, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			return steps
		}
		steps = append(steps, s)
	}
}

func TestTapeIsReadAsItWasWritten(t *testing.T) {
	run := &Run{Producer: "test", Level: "operators", Every: 1, Rank: 1, Ranks: 2, Facts: []Fact{{"torch", "2.15.0"}}}
	path, end := write(t, run, Options{}, 3, 5)
	r, steps := read(t, path)
	if !reflect.DeepEqual(&r.Run, run) || r.Broken != "" || !reflect.DeepEqual(r.End, &end) || end.Operators != 15 || end.Skipped["views"] != 4 {
		t.Fatalf("got %+v, end %+v, %q; want %+v, end %+v", r.Run, r.End, r.Broken, run, end)
	}
	for s, step := range steps {
		if step.Number != int64(s) || len(step.Operators) != 5 {
			t.Fatalf("step %d is %d with %d operators", s, step.Number, len(step.Operators))
		}
		for i, got := range step.Operators {
			want := operator(s*5 + i)
			want.Place = linear
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("step %d, operator %d:\n got %+v\nwant %+v", s, i, got, want)
			}
		}
	}
}

// TestTapeThatIsCutAnywhereIsReadToThere: whatever a killed run left is read, and no cut looks like a whole tape.
func TestTapeThatIsCutAnywhereIsReadToThere(t *testing.T) {
	path, _ := write(t, &Run{Facts: []Fact{}}, Options{}, 2, 2)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for n := len(whole) - 1; n >= 0; n-- {
		src, err := file.FromBytes("cut", whole[:n])
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(src)
		if err != nil {
			if !fault.Is(err, fault.Format) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		operators := 0
		for _, s := range all(t, r) {
			operators += len(s.Operators)
		}
		if r.Broken == "" || r.End != nil {
			t.Errorf("cut at %d of %d bytes: broken %q, end %v", n, len(whole), r.Broken, r.End)
		}
		if before = max(before, operators); operators > 4 {
			t.Errorf("cut at %d: %d operators", n, operators)
		}
	}
	if before != 4 {
		t.Errorf("a tape without its last frame gave %d operators, want 4", before)
	}
}

func TestDamageIsNoticedAndWhatCameBeforeStays(t *testing.T) {
	path, _ := write(t, &Run{Facts: []Fact{}}, Options{}, 2, 2)
	whole, _ := os.ReadFile(path)
	for at := headBytes; at < len(whole); at++ {
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 0x10
		src, err := file.FromBytes("damaged", damaged)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(src)
		if err != nil {
			continue
		}
		if all(t, r); r.Broken == "" {
			t.Errorf("a wrong bit in byte %d of %d was not noticed", at, len(whole))
		}
	}
}

func TestRingKeepsTheLastSteps(t *testing.T) {
	for _, steps := range []int{2, 3, 6, 7, 20} {
		path, end := write(t, &Run{Ring: 3, Facts: []Fact{}}, Options{}, steps, 4)
		r, got := read(t, path)
		if want := min(steps, 3); len(got) != want || got[len(got)-1].Number != int64(steps-1) || r.Broken != "" || len(got[0].Operators) != 4 {
			t.Errorf("%d steps in a ring of 3: %d steps, %q", steps, len(got), r.Broken)
		}
		if end.Steps != int64(steps) {
			t.Errorf("%d steps were taken, the end says %d", steps, end.Steps)
		}
	}
}

// TestRingIsSmallWhileItTurns: the file never has more than twice the steps that are kept, and can be read at any time.
func TestRingIsSmallWhileItTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	w, err := Create(path, &Run{Ring: 2, Facts: []Fact{}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := w.Define(linear)
	for s := range 50 {
		if err := w.Step(int64(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(id, operator(s)); err != nil {
			t.Fatal(err)
		}
		if _, steps := read(t, path); len(steps) > 5 || steps[len(steps)-1].Number != int64(s) {
			t.Fatalf("after step %d the file has %d steps", s, len(steps))
		}
	}
	if _, err := w.Close(nil, ""); err != nil {
		t.Fatal(err)
	}
}

// TestSavedStepsAreATapeOfTheirOwn: the last step is in it as far as it has come, and the tape goes on.
func TestSavedStepsAreATapeOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "a.tape"), &Run{Ring: 2, Facts: []Fact{}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := w.Define(linear)
	for s := range 4 {
		if err := w.Step(int64(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(id, operator(s)); err != nil {
			t.Fatal(err)
		}
		saved := filepath.Join(dir, "saved.tape")
		if err := w.Save(saved, true); err != nil {
			t.Fatal(err)
		}
		r, steps := read(t, saved)
		if last := steps[len(steps)-1]; len(steps) != min(s+1, 2) || last.Number != int64(s) || len(last.Operators) != 1 || r.Broken != "" {
			t.Errorf("after step %d: %d steps, %q", s, len(steps), r.Broken)
		}
	}
	if _, err := w.Close(nil, ""); err != nil {
		t.Fatal(err)
	}
}

func TestLimitDropsAndCounts(t *testing.T) {
	path, end := write(t, &Run{Facts: []Fact{}}, Options{Limit: 2000}, 1, 100)
	info, err := os.Stat(path)
	if err != nil || info.Size() > 2500 {
		t.Fatalf("a limit of 2000 bytes: %v, %d bytes", err, info.Size())
	}
	_, steps := read(t, path)
	if kept := int64(len(steps[0].Operators)); end.Dropped == 0 || kept+end.Dropped != 100 {
		t.Errorf("%d records kept and %d dropped of 100", kept, end.Dropped)
	}
}

func TestExistingFileIsNotReplacedUnasked(t *testing.T) {
	path, _ := write(t, &Run{Facts: []Fact{}}, Options{}, 1, 1)
	if _, err := Create(path, &Run{}, Options{}); !fault.Is(err, fault.IO) {
		t.Errorf("got %v, want a refusal", err)
	}
	w, err := Create(path, &Run{}, Options{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Close(nil, "")
}

func TestOtherVersionsAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{magic + "\x02\x00\x00\x00", "version 2"}, {"\x89PRLX2\n\x1a\x01\x00\x00\x00", "not a tape"}, {magic + "\x01\x00\x00\x00", "cut or damaged"},
	} {
		src, err := file.FromBytes("x", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(src); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want a refusal that says %q", c.text, err, c.want)
		}
	}
}

// TestDigestIsAsSpecified computes the digest as docs/formats/tape.md says it, the slow way.
func TestDigestIsAsSpecified(t *testing.T) {
	slow := func(b []byte) (d uint64) {
		for i := 0; i*8 < len(b); i++ {
			var word [8]byte
			copy(word[:], b[i*8:])
			d += mix(binary.LittleEndian.Uint64(word[:]) + uint64(i+1)*digestStep)
		}
		return d ^ mix(uint64(len(b))*digestStep)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 4, 7, 8, 9, 63, 64, 4096, chunk - 4, chunk, chunk + 4, 5*chunk + 12, 9 * chunk} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		for _, kind := range []string{"float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"} {
			if got, want := Of(kind, b, false).Digest, slow(b); got != want {
				t.Errorf("%d bytes of %s: digest %#x, want %#x", n, kind, got, want)
			}
		}
	}
	if got := Of("int64", []byte{1, 0, 0, 0, 0, 0, 0, 0}, false).Digest; got != 0x3799d34785664a95 {
		t.Errorf("the digest of the integer 1 changed: %#x", got)
	}
}

func TestNumbersOfFloats(t *testing.T) {
	words := func(list ...uint32) (b []byte) {
		for _, x := range list {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		return b
	}
	halves := func(list ...uint16) (b []byte) {
		for _, x := range list {
			b = binary.LittleEndian.AppendUint16(b, x)
		}
		return b
	}
	f := math.Float32bits
	for name, c := range map[string]struct {
		kind     string
		bytes    []byte
		nan, inf int64
		most     float64
		sum      float64
	}{
		"float32":     {"float32", words(f(1), f(-3), 0x7F800000, 0xFF800000, 0x7FC00000), 1, 2, 3, -2},
		"odd":         {"float32", words(f(1), f(2), f(-4)), 0, 0, 4, -1},
		"only NaN":    {"float32", words(0x7FC00000, 0xFFC00001), 2, 0, math.NaN(), 0},
		"zeros":       {"float32", words(0, 0), 0, 0, 0, 0},
		"empty":       {"float32", nil, 0, 0, math.NaN(), 0},
		"integers":    {"int32", words(0x7FC00000), 0, 0, math.NaN(), 0},
		"float16":     {"float16", halves(0x3C00, 0xC000, 0x7C00, 0x7E00, 0x0001), 1, 1, 2, 1 - 2 + 0x1p-24},
		"bfloat16":    {"bfloat16", halves(0x3F80, 0xC040, 0xFF80, 0x7FC0), 1, 1, 3, -2},
		"float64":     {"float64", binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.5)), math.Float64bits(math.NaN())), 1, 0, 0.5, -0.5},
		"complex64":   {"complex64", words(f(3), 0x7FC00000), 1, 0, 3, 3},
		"float8 none": {"float8_e4m3fn", []byte{0x7F}, 0, 0, math.NaN(), 0},
	} {
		v := Of(c.kind, c.bytes, true)
		if v.NaN != c.nan || v.Inf != c.inf || v.Sum != c.sum || !(v.Max == c.most || math.IsNaN(v.Max) && math.IsNaN(c.most)) {
			t.Errorf("%s: got %d NaN, %d Inf, max %v, sum %v; want %d, %d, %v, %v", name, v.NaN, v.Inf, v.Max, v.Sum, c.nan, c.inf, c.most, c.sum)
		}
	}
}

func TestSampleIsAllOfSmallTensorsAndSpreadOverLargeOnes(t *testing.T) {
	b := make([]byte, 4*1000)
	for i := range 1000 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(i))
	}
	if got := Of("float32", b[:sampleBytes], true).Sample; string(got) != string(b[:sampleBytes]) {
		t.Errorf("a small tensor is kept as %v", got)
	}
	got := Of("float32", b, true).Sample
	first, last := binary.LittleEndian.Uint32(got), binary.LittleEndian.Uint32(got[len(got)-4:])
	if len(got) != sampleBytes || first != 0 || last != 999 || binary.LittleEndian.Uint32(got[4:]) != uint32(sampleAt(1, 16, 1000)) {
		t.Errorf("of 1000 elements are kept %v", got)
	}
}

// FuzzRead: no bytes make the reader panic, hang or take memory for what is not there.
func FuzzRead(f *testing.F) {
	path, _ := write(f, &Run{Producer: "seed", Facts: []Fact{{"torch", "2"}}}, Options{}, 2, 2)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(magic + "\x01\x00\x00\x00"))
	for kind := byte(1); kind <= frameEnd+1; kind++ {
		f.Add(frame(frame([]byte(magic+"\x01\x00\x00\x00"), frameRun, []byte("{}")), kind, []byte("{}\x01\x02")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := file.FromBytes("fuzz", b)
		if err != nil {
			return
		}
		r, err := Read(src)
		if err != nil {
			return
		}
		defer r.Close()
		for n := 0; ; n++ {
			s, err := r.Next(context.Background())
			if err != nil || s == nil {
				if err == nil && (r.Broken == "") == (r.End == nil) {
					t.Errorf("the tape ended with broken %q and end %v", r.Broken, r.End)
				}
				return
			}
			for _, o := range s.Operators {
				if len(o.Values) != len(o.Place.Slots) {
					t.Fatalf("%d values of %d tensors", len(o.Values), len(o.Place.Slots))
				}
			}
			if n > len(b) {
				t.Fatal("more steps than bytes")
			}
		}
	})
}

// FuzzOperator: what a parser takes from a payload is written as the same bytes again, as far as numbers are written in their shortest form.
func FuzzOperator(f *testing.F) {
	o := operator(3)
	o.Place = linear
	f.Add(appendOperator(nil, 0, o))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := parser{rest: b}
		got := p.operator(map[uint64]*Place{0: linear})
		if p.wrong != "" {
			return
		}
		again := parser{rest: appendOperator(nil, 0, got)}
		if second := again.operator(map[uint64]*Place{0: linear}); again.wrong != "" || !same(got, second) {
			t.Fatalf("%+v was written and read as %+v (%s)", got, second, again.wrong)
		}
	})
}

// same compares operators by their bytes: a NaN equals itself.
func same(a, b *Operator) bool {
	return string(appendOperator(nil, 0, a)) == string(appendOperator(nil, 0, b))
}

func BenchmarkOf(b *testing.B) {
	memory := make([]byte, 1<<20)
	for i := range len(memory) / 8 { // finite as elements of every type
		binary.LittleEndian.PutUint64(memory[8*i:], 0x3F803E813F023D03+uint64(i%97)<<32)
	}
	for _, kind := range []string{"float32", "bfloat16", "float64", "int64"} {
		for name, written := range map[string]bool{"read": false, "written": true} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(memory)))
				for b.Loop() {
					Of(kind, memory, written)
				}
			})
		}
	}
}

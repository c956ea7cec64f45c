package tape

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// TestVectorsAndGoLookAlike compares the loops in assembly with those in Go, bit for bit, at every length around a block and for elements of all
// kinds: NaN, infinite, subnormal, both zeros.
func TestVectorsAndGoLookAlike(t *testing.T) {
	if !wide {
		t.Skip("this processor has no vectors of 256 bits")
	}
	defer func() { wide = true }()
	random := rand.New(rand.NewPCG(1, 2))
	for name := range kinds {
		for n := range 200 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(random.Uint32())
				if n%3 == 0 { // mostly finite, many zeros
					b[i] &= 0xA1
				}
			}
			wide = true
			with := Of(name, b, true)
			wide = false
			if without := Of(name, b, true); !equalValues(&with, &without) {
				t.Fatalf("%s, %d bytes %x: %+v with vectors, %+v without", name, n, b, with, without)
			}
		}
	}
}

// TestElementsHaveTheSumAndTheLargestOfTheirNumbers checks sums against exact ones, and that one element that is not finite is counted wherever it
// stands.
func TestElementsHaveTheSumAndTheLargestOfTheirNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, of := range map[string]kind{"float16": ofHalf, "bfloat16": ofBrain, "float32": ofSingle, "float64": ofDouble} {
		size := of.bits / 8
		for _, n := range []int{1, 3, 15, 16, 17, 33, 70000} {
			b := make([]byte, n*size)
			exact, largest := new(big.Float).SetPrec(2000), 0.0
			put := func(i int, bits uint64) {
				var word [8]byte
				binary.LittleEndian.PutUint64(word[:], bits)
				copy(b[i*size:], word[:size])
			}
			for i := range n {
				bits := random.Uint64N(of.infinity - of.infinity/16) // sums are far from what a float64 holds
				x := of.value(bits)
				largest = max(largest, x)
				if i%2 == 1 {
					bits |= 1 << (of.bits - 1)
					x = -x
				}
				put(i, bits)
				exact.Add(exact, big.NewFloat(x))
			}
			v := Of(name, b, true)
			want, _ := exact.Float64()
			if math.Abs(v.Sum-want) > 1e-12*float64(n)*largest || v.Max != largest || v.NaN+v.Inf != 0 {
				t.Errorf("%s, %d elements: %+v, want sum %g and largest %g", name, n, v, want, largest)
			}
			at := n / 2
			put(at, of.infinity)
			if v := Of(name, b, true); v.Inf != 1 || v.NaN != 0 || math.IsInf(v.Max, 0) || math.IsNaN(v.Sum) || math.IsInf(v.Sum, 0) {
				t.Errorf("%s, %d elements, one infinite: %+v", name, n, v)
			}
			put(at, of.infinity+1)
			if v := Of(name, b, true); v.NaN != 1 || v.Inf != 0 || math.IsNaN(v.Sum) {
				t.Errorf("%s, %d elements, one NaN: %+v", name, n, v)
			}
			if v := Of(name, b, false); v.NaN != 1 || v.Sum != 0 || v.Sample != nil {
				t.Errorf("%s, %d elements that nobody wrote: %+v", name, n, v)
			}
		}
	}
}

func equalValues(a, b *Value) bool {
	return string(appendValue(nil, a, Output)) == string(appendValue(nil, b, Output))
}

// TestWhatATensorHeldIsKeptForOneStep asks for what was looked at, as it was and as it was not.
func TestWhatATensorHeldIsKeptForOneStep(t *testing.T) {
	for _, level := range []string{LevelModules, "operators"} {
		w, err := Create(filepath.Join(t.TempDir(), "a.tape"), &Run{Level: level}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close(nil, "")
		if err := w.Step(0); err != nil {
			t.Fatal(err)
		}
		value := Value{Digest: 7, Sum: 2, Sample: []byte{1}}
		w.See(4096, "float32", 1<<20, true, &value)
		w.See(8192, "float32", 1<<20, false, &Value{Digest: 8})
		w.See(64, "float32", 64, true, &value)
		ask := func(address uint64, elementType string, bytes uint64, written bool) (uint64, bool) {
			v, ok := w.Seen(address, elementType, bytes, written)
			if ok && !written && (v.Sum != 0 || v.Sample != nil) {
				t.Errorf("an input has a sum or elements: %+v", v)
			}
			return v.Digest, ok
		}
		for _, c := range []struct {
			address     uint64
			elementType string
			bytes       uint64
			written, ok bool
		}{
			{4096, "float32", 1 << 20, true, true},
			{4096, "float32", 1 << 20, false, true},
			{8192, "float32", 1 << 20, false, true},
			{8192, "float32", 1 << 20, true, false},
			{4096, "int32", 1 << 20, false, false},
			{4096, "float32", 1 << 19, false, false},
			{4097, "float32", 1 << 20, false, false},
			{64, "float32", 64, true, false},
		} {
			if _, ok := ask(c.address, c.elementType, c.bytes, c.written); ok != (c.ok && level == LevelModules) {
				t.Errorf("%s: %+v was kept: %v", level, c, ok)
			}
		}
		if err := w.Step(1); err != nil {
			t.Fatal(err)
		}
		if _, ok := ask(4096, "float32", 1<<20, true); ok {
			t.Errorf("%s: the next step knows what was looked at in the last one", level)
		}
	}
}

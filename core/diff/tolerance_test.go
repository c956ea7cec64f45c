package diff

import (
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func TestTolerances(t *testing.T) {
	f32 := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	f64 := math.Float64bits
	next := func(f float32, n int) uint64 { return uint64(math.Float32bits(f) + uint32(n)) }
	nan, otherNaN := uint64(0x7fc00000), uint64(0x7fc00001)
	for _, c := range []struct {
		tolerance string
		kind      warptrace.ValueType
		a, b      uint64
		nan       naNPolicy
		same      bool
	}{
		{"", warptrace.TypeF32, f32(1), f32(1), naNEqual, true},
		{"", warptrace.TypeF32, f32(1), next(1, 1), naNEqual, false},
		{"", warptrace.TypeF32, f32(0), f32(float32(math.Copysign(0, -1))), naNEqual, false},
		{"ulp=2", warptrace.TypeF32, f32(1), next(1, 2), naNEqual, true},
		{"ulp=2", warptrace.TypeF32, f32(1), next(1, 3), naNEqual, false},
		{"ulp=1", warptrace.TypeF32, 1, 1 << 31, naNEqual, true},
		{"ulp=1", warptrace.TypeF32, 1, 1<<31 | 1, naNEqual, false},
		{"f16:ulp=1", warptrace.TypeF16, 0x3c00, 0x3c01, naNEqual, true},
		{"f16:ulp=1", warptrace.TypeBF16, 0x3c00, 0x3c01, naNEqual, false},
		{"f16:ulp=1,bf16:ulp=1", warptrace.TypeBF16, 0x3c00, 0x3c01, naNEqual, true},
		{"rel=1e-5", warptrace.TypeF64, f64(1000), f64(1000.009), naNEqual, true},
		{"rel=1e-5", warptrace.TypeF64, f64(1000), f64(1000.011), naNEqual, false},
		{"f32:rel=1e-5+abs=1e-3", warptrace.TypeF32, f32(1e-4), f32(5e-4), naNEqual, true},
		{"rel=1,f32:exact", warptrace.TypeF32, f32(1), f32(2), naNEqual, false},
		{"rel=1e30", warptrace.TypeF32, f32(math.MaxFloat32), 0x7f800000, naNEqual, false},
		{"rel=1", warptrace.TypeI32, 5, 6, naNEqual, false},
		{"i32:abs=2", warptrace.TypeI32, 1, 0xffffffff, naNEqual, true},
		{"i32:abs=1", warptrace.TypeI32, 1, 0xffffffff, naNEqual, false},
		{"u32:abs=2", warptrace.TypeU32, 1, 0xffffffff, naNEqual, false},
		{"i64:abs=1e18", warptrace.TypeI64, 1 << 63, 1<<63 - 1, naNEqual, false},
		{"ulp=100", warptrace.TypeHash, 1, 2, naNEqual, false},
		{"ulp=100", warptrace.TypeBits, f32(1), next(1, 1), naNEqual, false},
		{"bits:ulp=1", warptrace.TypeBits, f32(1), next(1, 1), naNEqual, true},
		{"", warptrace.TypeF32, nan, otherNaN, naNEqual, true},
		{"", warptrace.TypeF32, nan, otherNaN, naNBits, false},
		{"ulp=9", warptrace.TypeF32, nan, nan, naNNever, false},
		{"ulp=9", warptrace.TypeF32, nan, f32(1), naNEqual, false},
		{"ulp=1", warptrace.TypeF8E4, 0x38, 0x39, naNEqual, true},
		{"", warptrace.TypeI8, 0x1ff, 0xff, naNEqual, true},
	} {
		tol, err := ParseTolerance(c.tolerance)
		if err != nil {
			t.Fatalf("%q: %v", c.tolerance, err)
		}
		if got := tol.same(c.kind, c.a, c.b, c.nan); got != c.same {
			t.Errorf("%q: %s %#x and %#x: same %v, want %v", c.tolerance, c.kind, c.a, c.b, got, c.same)
		}
		if tol.same(c.kind, c.a, c.b, c.nan) != tol.same(c.kind, c.b, c.a, c.nan) {
			t.Errorf("%q: %s %#x and %#x: it matters which comes first", c.tolerance, c.kind, c.a, c.b)
		}
	}
}

func TestMisspeltTolerancesAreRefused(t *testing.T) {
	for _, text := range []string{
		"f33:ulp=1", "ulp", "ulp=-1", "ulp=1.5", "rel=x", "rel=-1", "rel=NaN", "abs=inf", "i32:ulp=1", "hash:abs=1", "none:abs=1", "f32:", "f32:near=1", ",", "f32:ulp=1,",
	} {
		_, err := ParseTolerance(text)
		if !fault.Is(err, fault.Usage) || fault.Of(err).Hint == "" {
			t.Errorf("%q: got %v, want an error of usage with a hint", text, err)
		}
	}
}

func TestPoliciesOfNaNAreReadByName(t *testing.T) {
	for text, want := range map[string]naNPolicy{"": naNEqual, "equal": naNEqual, "bits": naNBits, "never": naNNever} {
		if got, err := ParseNaN(text); err != nil || got != want {
			t.Errorf("%q: got %d and %v, want %d", text, got, err, want)
		}
	}
	if _, err := ParseNaN("Equal"); err == nil {
		t.Error("another spelling was taken")
	}
}

func FuzzParseTolerance(f *testing.F) {
	for _, s := range []string{"", "exact", "f16:ulp=2,f32:rel=1e-5", "rel=1e-5+abs=3,i32:abs=1", "f32:exact", "bits:ulp=1", "x:y=z,"} {
		f.Add(s, uint64(0x3f800000), uint64(0x7fc00000))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint64) {
		tol, err := ParseTolerance(text)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("%q: %v is not an error of usage", text, err)
			}
			return
		}
		for _, name := range warptrace.ValueTypeNames() {
			kind, _ := warptrace.ParseValueType(name)
			if tol.same(kind, a, b, naNEqual) != tol.same(kind, b, a, naNEqual) || !tol.same(kind, a, a, naNEqual) {
				t.Fatalf("%q: %s %#x and %#x", text, name, a, b)
			}
		}
	})
}

func TestSetsOfWarpsAndKinds(t *testing.T) {
	s, err := ParseWarps(" 15,0-10, 3-4,20-18446744073709551615")
	if err != nil {
		t.Fatal(err)
	}
	for warp, want := range map[uint64]bool{0: true, 10: true, 11: false, 15: true, 16: false, 19: false, 20: true, math.MaxUint64: true} {
		if s.Has(warp) != want {
			t.Errorf("warp %d: %v, want %v", warp, s.Has(warp), want)
		}
	}
	for _, text := range []string{"x", "5-3", "1,,2", "-1", "1-", "18446744073709551616"} {
		if _, err := ParseWarps(text); !fault.Is(err, fault.Usage) {
			t.Errorf("warps %q: got %v, want an error of usage", text, err)
		}
	}
	kinds, err := ParseKinds([]string{"branch", "active-mask", "Extra"})
	if err != nil || !kinds.has(RowBranch) || !kinds.has(RowActiveMask) || kinds.has(RowValue) || kinds.has(RowPath) || !kinds.has(RowExtraEvents) {
		t.Errorf("kinds %v, %v", kinds.names(), err)
	}
	if _, err := ParseKinds([]string{"Brunch"}); !fault.Is(err, fault.Usage) {
		t.Errorf("got %v, want an error of usage", err)
	}
}

// names lists the kinds that were asked for, none when every kind is in the set.
func (s kindSet) names() []string {
	var names []string
	for k, name := range kindNames {
		if s>>k&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

package diff

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func floats32(values ...float32) (bits []uint64) {
	for _, v := range values {
		bits = append(bits, uint64(math.Float32bits(v)))
	}
	return bits
}

// many is n elements of one value.
func many(n int, bits uint64) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = bits
	}
	return out
}

// distanceIn is the distance of the one array that differs.
func distanceIn(t testing.TB, a, b leftArray, opt Options) (*ArrayDiff, *Document) {
	t.Helper()
	d := leftApart(t, []leftArray{a}, []leftArray{b}, opt)
	if d.Outputs == nil || len(d.Outputs.Arrays) != 1 {
		t.Fatalf("%s: outputs %+v", d.Verdict, d.Outputs)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Fatalf("the document cannot be written: %v", err)
	}
	return &d.Outputs.Arrays[0], d
}

func TestDistancesStandBesideDigestsThatDiffer(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	minusZero := float32(math.Copysign(0, -1))
	a := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(1, 2, 3, 4, nan, 6, inf, 8, inf, 0, nan, 7)}
	b := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(1, math.Nextafter32(2, 3), 3, 5, 5, nan, 7, inf, -inf, minusZero, nan, 7)}
	b.values[10]++
	x, _ := distanceIn(t, a, b, Options{})
	got := *x.Distance
	want := Distance{Elements: 12, Compared: 12, Mismatched: 9, Share: 0.75, SameValue: 2, NaNA: 1, NaNB: 1, InfiniteA: 1, InfiniteB: 1, Infinities: 1, ULPType: "f32"}
	absolute, relative, ulps := got.Absolute, got.Relative, got.ULPs
	got.Absolute, got.Relative, got.ULPs = nil, nil, nil
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if *absolute != (Farthest{1, 3, "4", "5"}) || *relative != (Farthest{0.2, 3, "4", "5"}) || *ulps != (Farthest{1 << 21, 3, "4", "5"}) {
		t.Errorf("absolute %+v, relative %+v, ulps %+v", absolute, relative, ulps)
	}
	for _, text := range []string{
		"9 of 12 elements differ (75 %)", "largest absolute error 1 (element 3: 4 in A, 5 in B)", "relative 0.2 (element 3)", "2097152 ulp of f32 (element 3)",
		"1 of them NaN in A alone", "1 of them NaN in B alone", "1 of them infinite in A alone", "1 of them infinite in B alone", "1 of them infinite with another sign",
		"2 of them the same but for the sign of zero or the bits of NaN",
	} {
		if !strings.Contains(x.DistanceText, text) {
			t.Errorf("%q lacks %q", x.DistanceText, text)
		}
	}
}

func TestWithoutContentsDistancesAreNotKnown(t *testing.T) {
	kept := leftArray{name: "out", typ: "*fp32", size: 4, values: many(600, 1)}
	other := kept
	other.values = many(600, 2)
	without := func(l leftArray) leftArray { l.lost = 3; return l }
	for _, c := range []struct {
		name string
		a, b leftArray
		want string
	}{
		{"neither", without(kept), without(other), "how far apart is not known: contents were not recorded"},
		{"A without", without(kept), other, "how far apart is not known: contents were not recorded in A"},
		{"B without", kept, without(other), "how far apart is not known: contents were not recorded in B"},
	} {
		if x, _ := distanceIn(t, c.a, c.b, Options{}); x.Distance != nil || x.DistanceText != c.want {
			t.Errorf("%s: %+v, %q", c.name, x.Distance, x.DistanceText)
		}
	}
	second := leftArray{name: "more", typ: "*fp32", size: 4, id: 1, values: many(9, 1), lost: 1}
	changed := second
	changed.values = many(9, 7)
	d := leftApart(t, []leftArray{kept, second}, []leftArray{other, changed}, Options{})
	if x := d.Outputs.Arrays[1]; x.Distance != nil || x.DistanceText != "how far apart is not known: no contents of it are in both recordings" {
		t.Errorf("the room was full: %+v, %q", x.Distance, x.DistanceText)
	}
	if x := leftApart(t, []leftArray{kept, second}, []leftArray{kept}, Options{}).Outputs.Arrays[0]; x.Distance != nil || x.DistanceText != "how far apart is not known: B did not write it" {
		t.Errorf("only A wrote it: %+v, %q", x.Distance, x.DistanceText)
	}
}

func TestOfContentsInPartItIsSaidOfHowManyElements(t *testing.T) {
	a := leftArray{name: "out", typ: "*fp32", size: 4, values: many(1000, 5)}
	b := leftArray{name: "out", typ: "*fp32", size: 4, values: many(1000, 5), lost: 2}
	b.values[3], b.values[300], b.values[999] = 6, 9, 1<<20
	x, _ := distanceIn(t, a, b, Options{})
	if d := x.Distance; d.Elements != 1000 || d.Compared != 512 || d.Mismatched != 2 || d.Share != 2./512 || d.ULPs.Is != 4 || d.ULPs.Element != 300 {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(x.DistanceText, "2 of 512 elements differ (0.391 %), contents were kept of no more than these of 1000") {
		t.Errorf("%q", x.DistanceText)
	}
}

func TestWhatOneLaunchAloneWroteIsCounted(t *testing.T) {
	a := leftArray{name: "out", typ: "*fp32", size: 4, values: many(256, 5)}
	b := leftArray{name: "out", typ: "*fp32", size: 4, values: many(300, 5), unwritten: func(at int) bool { return at/4 == 7 || at == 9*4+1 }}
	x, _ := distanceIn(t, a, b, Options{})
	if d := x.Distance; d.Elements != 300 || d.Compared != 300 || d.OneSided != 45 || d.NoNumber != 1 || d.Mismatched != 46 || d.Absolute != nil {
		t.Errorf("%+v", d)
	}
	a.unwritten = b.unwritten
	b.values = many(256, 5)
	b.values[0] = 6
	if x, _ := distanceIn(t, a, b, Options{}); x.Distance.Mismatched != 1 || x.Distance.Elements != 255 || x.Distance.Compared != 255 {
		t.Errorf("the same in part: %+v", x.Distance)
	}
}

func TestIntegersAreApartExactly(t *testing.T) {
	for _, c := range []struct {
		a, b     leftArray
		absolute float64
		ulps     bool
	}{
		{leftArray{typ: "*i32", size: 4, values: []uint64{0xffffffff}}, leftArray{typ: "*i32", size: 4, values: []uint64{1}}, 2, false},
		{leftArray{typ: "*u32", size: 4, values: []uint64{0xffffffff}}, leftArray{typ: "*u32", size: 4, values: []uint64{1}}, 1<<32 - 2, false},
		{leftArray{typ: "*i64", size: 8, values: []uint64{1 << 63}}, leftArray{typ: "*i64", size: 8, values: []uint64{1<<63 - 1}}, 1 << 64, false},
		{leftArray{typ: "*i64", size: 8, values: []uint64{1<<62 + 1}}, leftArray{typ: "*i64", size: 8, values: []uint64{1 << 62}}, 1, false},
		{leftArray{typ: "*i32", size: 4, values: []uint64{0xffffffff}}, leftArray{typ: "*i64", size: 8, values: []uint64{5}}, 6, false},
		{leftArray{typ: "*i64", size: 8, values: []uint64{1<<53 + 1}}, leftArray{typ: "*fp64", size: 8, values: []uint64{math.Float64bits(1 << 53)}}, 1, false},
		{leftArray{typ: "*i1", size: 1, values: []uint64{1}}, leftArray{typ: "*i1", size: 1, values: []uint64{0}}, 0, false},
	} {
		x, _ := distanceIn(t, c.a, c.b, Options{})
		d := x.Distance
		if d.Mismatched != 1 || d.ULPs != nil || (c.absolute == 0) != (d.Absolute == nil) || d.Absolute != nil && d.Absolute.Is != c.absolute {
			t.Errorf("%s and %s: %+v, absolute %+v, want %g", c.a.typ, c.b.typ, d, d.Absolute, c.absolute)
		}
	}
}

func TestOutputsOfAnotherTypeAreComparedByValue(t *testing.T) {
	single := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(1, 2, 0.1, 1e6)}
	half := leftArray{name: "out", typ: "*fp16", size: 2, values: []uint64{0x3c00, 0x4000, 0x2e66, 0x7c00}}
	x, d := distanceIn(t, single, half, Options{})
	if got := x.Distance; got.Mismatched != 2 || got.Rounded != 2 || got.InfiniteB != 1 || got.Compared != 4 || x.TypeB != "*fp16" || d.Status != StatusDiverged || got.ULPType != "f16" {
		t.Errorf("%s: %+v", d.Status, got)
	}
	if !strings.Contains(d.Verdict, "output out is fp32 in A and fp16 in B, of values that are equal once rounded to f16, and differs at element 2: 0.1 in A, 0.09997") {
		t.Errorf("verdict %q", d.Verdict)
	}
	if !strings.Contains(x.DistanceText, "fp32 in A, fp16 in B, compared by value; 2 of 4 elements differ (50 %); all of them equal once rounded to f16; largest absolute error 2.44e-05 (element 2:") {
		t.Errorf("%q", x.DistanceText)
	}
	half.values, single.values = half.values[:2], single.values[:2]
	x, d = distanceIn(t, single, half, Options{})
	if x.Distance.Mismatched != 0 || x.Distance.Absolute != nil || d.Status != StatusDiverged || !strings.Contains(d.Verdict, "output out is fp32 in A and fp16 in B, of the same values") || d.Outputs.More != "" {
		t.Errorf("of the same values: %+v, %s", x.Distance, d.Verdict)
	}
	without := half
	without.lost = 1
	x, d = distanceIn(t, single, without, Options{})
	if x.Distance != nil || d.Status != StatusDiverged || !strings.Contains(x.DistanceText, "fp32 in A, fp16 in B; whether the values differ is not known: contents were not recorded in B") {
		t.Errorf("without contents: %s, %q", d.Status, x.DistanceText)
	}
	if d.Outputs.More == "" {
		t.Error("nothing says how to record contents")
	}
}

func TestAToleranceHoldsForValuesOfAnotherType(t *testing.T) {
	near := func(text string) Options {
		tolerance, err := ParseTolerance(text)
		must(t, err)
		return Options{Values: true, Tolerance: tolerance}
	}
	single := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(1, 2, 0.1)}
	half := leftArray{name: "out", typ: "*fp16", size: 2, values: []uint64{0x3c00, 0x4000, 0x2e66}}
	far := half
	far.values = []uint64{0x3c00, 0x4000, 0x2e68}
	without := half
	without.lost = 1
	ints, wide := leftArray{name: "out", typ: "*i32", size: 4, values: []uint64{7, 0xffffffff}}, leftArray{name: "out", typ: "*i64", size: 8, values: []uint64{8, 1<<64 - 1}}
	for _, c := range []struct {
		name string
		a, b leftArray
		opt  Options
		want string
	}{
		{"relative", single, half, near("rel=1e-3"), StatusIdentical},
		{"too little", single, half, near("rel=1e-5"), StatusDiverged},
		{"steps of the coarser type", single, half, near("f16:ulp=1"), StatusIdentical},
		{"one step too few", single, far, near("f16:ulp=1"), StatusDiverged},
		{"as many steps", single, far, near("f16:ulp=2"), StatusIdentical},
		{"of the finer type alone", single, half, near("f32:rel=1"), StatusDiverged},
		{"values asked for, without a tolerance", leftArray{typ: "*fp32", size: 4, values: floats32(1)}, leftArray{typ: "*fp16", size: 2, values: []uint64{0x3c00}}, Options{Values: true}, StatusDiverged},
		{"without contents", single, without, near("rel=1e-3"), StatusInconclusive},
		{"without contents and without a tolerance", single, without, Options{Values: true}, StatusDiverged},
		{"integers", ints, wide, near("i32:abs=1"), StatusIdentical},
		{"integers, too little", ints, wide, near("i32:abs=0.5"), StatusDiverged},
	} {
		d := leftApart(t, []leftArray{c.a}, []leftArray{c.b}, c.opt)
		if d.Status != c.want {
			t.Errorf("%s: %s: %s", c.name, d.Status, d.Verdict)
		}
		if e := d.Coverage.Outputs.LargestError; (c.want == StatusIdentical) != (e != nil) {
			t.Errorf("%s: largest error %+v", c.name, e)
		}
	}
	if x, _ := distanceIn(t, single, far, near("f16:ulp=1")); *x.Distance.Beyond != 1 || x.Distance.Mismatched != 1 || !strings.Contains(x.DistanceText, "all of them beyond the tolerance") {
		t.Errorf("%+v", x.Distance)
	}
}

// TestEqualBytesOfAnotherTypeAreNotTheSame: the bits of 1 as fp16 are those of 0.0078125 as bf16.
func TestEqualBytesOfAnotherTypeAreNotTheSame(t *testing.T) {
	a := leftArray{name: "out", typ: "*fp16", size: 2, values: many(3, 0x3c00)}
	b := a
	b.typ = "*bf16"
	x, d := distanceIn(t, a, b, Options{})
	if d.Status != StatusDiverged || x.Distance.Mismatched != 3 || x.Distance.Absolute.Is != 1-1./128 || x.Distance.ULPType != "bf16" || x.Distance.ULPs.Is != 896 {
		t.Errorf("%s: %+v", d.Status, x.Distance)
	}
	a.typ, b.typ = "*i16", "*u16"
	if d := leftApart(t, []leftArray{a}, []leftArray{b}, Options{}); d.Status != StatusIdentical {
		t.Errorf("integers of the same bytes: %s", d.Verdict)
	}
}

func TestStoredAddressesAreNoNumbers(t *testing.T) {
	tolerance, err := ParseTolerance("i64:abs=1e30")
	must(t, err)
	a := leftArray{name: "out", typ: "*i64", size: 8, values: []uint64{7, 8, 9, 10}, addresses: []uint32{0, 1}}
	b := leftArray{name: "out", typ: "*i64", size: 8, values: []uint64{7, 9, 9, 13}, addresses: []uint32{0, 1}}
	x, d := distanceIn(t, a, b, Options{Values: true, Tolerance: tolerance})
	if got := x.Distance; d.Status != StatusDiverged || got.Mismatched != 2 || got.NoNumber != 1 || *got.Beyond != 1 || got.Absolute.Is != 3 {
		t.Errorf("another address: %s: %+v", d.Verdict, x.Distance)
	}
	b.values[1], b.addresses = 8, []uint32{0}
	if x, d = distanceIn(t, a, b, Options{Values: true, Tolerance: tolerance}); d.Status != StatusDiverged || x.Distance.NoNumber != 1 {
		t.Errorf("an address beside the number of the same bits: %s: %+v", d.Verdict, x.Distance)
	}
	b.addresses = a.addresses
	if d := leftApart(t, []leftArray{a}, []leftArray{b}, Options{Values: true, Tolerance: tolerance}); d.Status != StatusIdentical {
		t.Errorf("the same addresses, and a number within the tolerance: %s", d.Verdict)
	}
}

func TestATypeWithoutInfinitiesEndsAtItsLargestNumber(t *testing.T) {
	single := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(1000, -1000, 448, 1000)}
	small := leftArray{name: "out", typ: "*fp8e4nv", size: 1, values: []uint64{0x7e, 0xfe, 0x7e, 0xfe}}
	for _, pair := range [][2]leftArray{{single, small}, {small, single}} {
		x, _ := distanceIn(t, pair[0], pair[1], Options{})
		if d := x.Distance; d.Mismatched != 3 || d.Rounded != 2 || d.ULPType != "f8e4m3" || d.Absolute.Is != 1448 || d.ULPs != nil {
			t.Errorf("%s and %s: %+v", pair[0].typ, pair[1].typ, d)
		}
	}
}

func TestNaNsOfTwoTypesAreEqualUnlessNoneMayBe(t *testing.T) {
	tolerance, err := ParseTolerance("rel=1e-3")
	must(t, err)
	single := leftArray{name: "out", typ: "*fp32", size: 4, values: floats32(float32(math.NaN()), 1)}
	half := leftArray{name: "out", typ: "*fp16", size: 2, values: []uint64{0x7e00, 0x3c00}}
	for nan, want := range map[naNPolicy]string{naNEqual: StatusIdentical, naNNever: StatusDiverged} {
		d := leftApart(t, []leftArray{single}, []leftArray{half}, Options{Values: true, Tolerance: tolerance, NaN: nan})
		if d.Status != want {
			t.Errorf("policy %d: %s", nan, d.Verdict)
		}
	}
}

func TestDistancesOfHostileContents(t *testing.T) {
	a := leftArray{name: "out", typ: "*fp32", size: 4, values: many(300, 5)}
	b := leftArray{name: "out", typ: "*fp32", size: 4, values: many(300, 6)}
	for _, lie := range []uint8{1, 2, 8} {
		liar := b
		liar.lie = lie
		if x, _ := distanceIn(t, a, liar, Options{}); x.Distance != nil {
			t.Errorf("elements of %d bytes in an array of 4: %+v", lie, x.Distance)
		}
	}
	b.size, b.values = 2, many(300, 6)
	if x, _ := distanceIn(t, a, b, Options{}); x.Distance == nil || x.Distance.NoNumber != 300 || x.Distance.Absolute != nil {
		t.Errorf("a type that its size contradicts: %+v", x.Distance)
	}
	for _, size := range []int{1, 3, 5, 6, 7} {
		a := leftArray{name: "out", typ: "*odd", size: size, values: many(512, 5)}
		b := a
		b.values = many(512, 5)
		b.values[300] = 6
		x, _ := distanceIn(t, a, b, Options{})
		if d := x.Distance; d.Compared != 512 || d.Mismatched != 1 || d.NoNumber != 1 || d.Absolute != nil {
			t.Errorf("elements of %d bytes: %+v", size, d)
		}
	}
	huge := leftArray{name: "out", typ: "*fp64", size: 8, values: []uint64{math.Float64bits(math.MaxFloat64)}}
	low := leftArray{name: "out", typ: "*fp64", size: 8, values: []uint64{math.Float64bits(-math.MaxFloat64)}}
	if x, _ := distanceIn(t, huge, low, Options{}); x.Distance.Absolute.Is != math.MaxFloat64 || x.Distance.Relative.Is != 2 {
		t.Errorf("a gap that no float64 holds: %+v, %+v", x.Distance.Absolute, x.Distance.Relative)
	}
	swapped := []leftArray{{name: "y", typ: "*fp32", size: 4, id: 0, values: many(300, 6)}, {name: "x", typ: "*fp32", size: 4, id: 1, values: many(300, 9)}}
	d := leftApart(t, []leftArray{{name: "x", typ: "*fp32", size: 4, id: 0, values: many(300, 5)}, {name: "y", typ: "*fp32", size: 4, id: 1, values: many(300, 5)}}, swapped, Options{})
	for i, want := range []float64{4, 1} {
		if x := d.Outputs.Arrays[i].Distance; x == nil || x.ULPs.Is != want || x.Compared != 300 {
			t.Errorf("arrays in another order: %s: %+v", d.Outputs.Arrays[i].Name, x)
		}
	}
}

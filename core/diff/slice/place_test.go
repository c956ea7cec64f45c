package slice

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// compared is two builds of kernelOf by their sixth lines, and what leads to what they store.
func compared(t *testing.T, a, b string) (*Comparison, [2]*Code) {
	t.Helper()
	codes := [2]*Code{kernelOf(t, a), kernelOf(t, b)}
	return Compare(codes[0], codes[1], codes[0].Writers(-1), codes[1].Writers(-1)), codes
}

// TestAChangedLineFeedsWhatDiffers: its own code is the same in both builds, and what is computed differently depends on it: by its operands, through what several
// instructions use, or because a branch of it decides whether that runs.
func TestAChangedLineFeedsWhatDiffers(t *testing.T) {
	const branch = "setp.lt.u32 %p1, %r1, 4;\n@%p1 bra OVER;\n.loc 1 7 1\nmov.f32 %f3, 0fX;\nOVER:\n"
	for name, c := range map[string]struct {
		a, b    string
		changed uint32
		found   bool
	}{
		"operands":           {"mul.f32 %f3, %f1, %f1;", "add.f32 %f3, %f1, %f1;", 5, true},
		"several ways":       {"abs.f32 %f2, %f1;\n.loc 1 7 1\nmul.f32 %f3, %f2, %f2;", "abs.f32 %f2, %f1;\n.loc 1 7 1\nadd.f32 %f3, %f2, %f2;", 5, true},
		"a branch":           {strings.Replace(branch, "0fX", "0f40000000", 1), strings.Replace(branch, "0fX", "0f40400000", 1), 6, true},
		"nothing of it":      {"mul.f32 %f3, %f1, %f1;\n.loc 1 7 1\nadd.f32 %f5, %f1, %f1;", "add.f32 %f3, %f1, %f1;\n.loc 1 7 1\nadd.f32 %f5, %f1, %f1;", 7, false},
		"the same, all over": {"mul.f32 %f3, %f1, %f1;", "mul.f32 %f3, %f1, %f1;", 5, false},
	} {
		both, _ := compared(t, c.a, c.b)
		got, ok := both.Place([2][]Line{lines(c.changed), lines(c.changed)}, true)
		if feeds := ok && got.Why == ChangedFeeds; feeds != c.found || feeds && got != (Place{1, lines(c.changed)[0], ChangedFeeds}) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
		if got, ok := both.Place([2][]Line{lines(c.changed), lines(c.changed)}, false); ok && got.Why == ChangedFeeds {
			t.Errorf("%s, with other constants, which may be why: %+v", name, got)
		}
	}
}

// TestWhereAParameterIsUsed: an array where it is loaded or updated, a number where something is computed of it, on the way to what differs.
func TestWhereAParameterIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		p    int
		line uint32 // 0: nowhere
		op   string
	}{
		"a load":                  {"ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f1, %f2;", 1, 6, "ld"},
		"a load of the first":     {"ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f1, %f2;", 0, 5, "ld"},
		"an update":               {"atom.global.add.f32 %f3, [%rd2], %f1;", 1, 6, "atom"},
		"a store alone":           {"st.global.f32 [%rd2], %f1;", 1, 0, ""},
		"a number":                {"add.u32 %r3, %r1, 7;", 2, 6, "add"},
		"a number that is copied": {"mov.b32 %r2, %r1;\n.loc 1 7 1\nadd.u32 %r3, %r2, 7;", 2, 0, ""}, // as far as registers tell, no more
		"a number of nothing":     {"add.u32 %r5, %r1, 7;", 2, 0, ""},
		"before the first":        {"", -1, 0, ""},
		"behind the last":         {"", 3, 0, ""},
	} {
		both, codes := compared(t, c.text, c.text)
		l, at, ok := both.Uses(1, c.p)
		switch {
		case ok != (c.line > 0):
			t.Errorf("%s: %+v, %d, %v", name, l, at, ok)
		case !ok && at != 0:
			t.Errorf("%s: nowhere, at %d", name, at)
		case ok && (l != lines(c.line)[0] || codes[1].insts[at].in.Op.Name != c.op):
			t.Errorf("%s: %+v, %s", name, l, codes[1].insts[at].in.Op.Full)
		}
	}
}

// TestTheWayLeavesOutWhatHasNoPartInIt: instructions that lead nowhere, and those without a line.
func TestTheWayLeavesOutWhatHasNoPartInIt(t *testing.T) {
	const text = "add.f32 %f5, %f1, %f1;\nOP.f32 %f2, %f1, %f1;\n.loc 1 0 0\nabs.f32 %f4, %f2;\n.loc 1 7 1\nadd.f32 %f6, %f5, %f5;\n.loc 1 8 1\nneg.f32 %f3, %f4;"
	both, _ := compared(t, strings.Replace(text, "OP", "mul", 1), strings.Replace(text, "OP", "sub", 1))
	if way := both.Sides[0].Way(lines(6)[0]); !slices.Equal(way, lines(8, 9)) {
		t.Errorf("%v", way)
	}
	if every := both.Sides[0].Every(); !slices.Equal(every, lines(5, 6, 7, 8, 9)) {
		t.Errorf("%v", every)
	}
}

// TestLinesThatBeginComeFirst: whoever looks at the first of them should see a cause, not what follows from one.
func TestLinesThatBeginComeFirst(t *testing.T) {
	both, _ := compared(t,
		"mul.f32 %f2, %f1, %f1;\n.loc 1 7 1\nadd.f32 %f4, %f2, %f1;\n.loc 1 8 1\nsub.f32 %f5, %f1, 0f40000000;\nadd.f32 %f3, %f4, %f5;",
		"add.f32 %f2, %f1, %f1;\n.loc 1 7 1\nadd.f32 %f4, %f2, %f1;\n.loc 1 8 1\nsub.f32 %f5, %f1, 0f40400000;\nadd.f32 %f3, %f4, %f5;")
	if got := both.Sides[0].Lines(); !slices.Equal(got, lines(6, 8, 7, 9)) {
		t.Errorf("%v", got)
	}
}

// TestWhatBothReadIsNoDifference: one build reads one element more of an array that the other reads at the same line.
func TestWhatBothReadIsNoDifference(t *testing.T) {
	both, _ := compared(t, "ld.global.f32 %f2, [%rd2];\nld.global.f32 %f4, [%rd2+4];\nadd.f32 %f3, %f2, %f4;", "ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f2, %f2;")
	if got := both.At(lines(6), lines(6)); strings.Contains(strings.Join(got.Texts, " "), "reads") {
		t.Errorf("%q %q", got.Kind, got.Texts)
	}
}

// registers is a kernel without marks of pointers whose first predicate and first address are the first registers of their kind.
func registers(t *testing.T, first, test, array string) *Code {
	t.Helper()
	declared := map[string]string{"rd": ".reg .b64 %rd<3>;", "p": ".reg .pred %p<2>;", "r": ".reg .b32 %r<4>;"}
	order := declared[first]
	for _, name := range []string{"rd", "p", "r"} {
		if name != first {
			order += "\n" + declared[name]
		}
	}
	return readSmall(t, `.version 8.7
.target sm_80
.address_size 64
.visible .entry k(
.param .u64 k_param_0,
.param .u64 k_param_1,
.param .u32 k_param_2
)
{
`+order+`
.loc 1 5 1
ld.param.b64 %rd0, [`+array+`];
ld.param.b64 %rd1, [k_param_0];
ld.param.b32 %r1, [k_param_2];
ld.global.b32 %r2, [%rd0];
setp.`+test+`.u32 %p0, %r1, 4;
.loc 1 6 1
@%p0 mov.b32 %r2, 9;
.loc 1 7 1
st.global.b32 [%rd1], %r2;
ret;
}
.file 1 "/k/kernel.py"
`)
}

// TestTheFirstRegisterIsOne: of addresses, of predicates; and in code that does not say what is a pointer every number of 64 bits may be one.
func TestTheFirstRegisterIsOne(t *testing.T) {
	for _, first := range []string{"rd", "p", "r"} {
		plain := registers(t, first, "lt", "k_param_1")
		for name, other := range map[string]*Code{"another test": registers(t, first, "gt", "k_param_1"), "another array": registers(t, first, "lt", "k_param_0")} {
			if Compare(plain, other, plain.Writers(-1), other.Writers(-1)).same() {
				t.Errorf("%s first, %s: the same", first, name)
			}
		}
		for p, want := range []int{1, 0, 0} {
			if got := len(plain.Writers(p)); got != want {
				t.Errorf("%s first: %d stores to parameter %d, want %d", first, got, p, want)
			}
		}
		both := Compare(plain, plain, plain.Writers(-1), plain.Writers(-1))
		if _, _, ok := both.Uses(0, 2); !ok {
			t.Errorf("%s first: the number is not used", first)
		}
	}
}

// TestHashesHoldEveryBit of what they are made of, or builds that differ would pass for the same.
func TestHashesHoldEveryBit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		h, v := random.Uint64(), random.Uint64()
		seen := map[uint64]bool{joined(h, v): true}
		for bit := range 64 {
			seen[joined(h, v^1<<bit)], seen[joined(h^1<<bit, v^1<<((bit+1)%64))] = true, true
		}
		if len(seen) != 129 {
			t.Fatalf("%d hashes of 129", len(seen))
		}
	}
}

// TestPackLeavesNoRoom: sections go with what is in them, and comments but those that Read needs.
func TestPackLeavesNoRoom(t *testing.T) {
	const text = "\t.loc 1 5 1 // a.py:5:1 @[ b.py:9:2 ]\n\n  mov.b32 %r1, 0; // plain\n\t// begin inline asm\n\tadd.u32 %r1, %r1, 1;\n// end inline asm\n.file 1 \"a//b.py\" // kept\n" +
		"\t.section\t.debug_info\n\t{\n.b8 1 // in it\n\t}\n  ret;\n"
	want := []string{".loc 1 5 1 // a.py:5:1 @[ b.py:9:2 ]", "mov.b32 %r1, 0;", "// begin inline asm", "add.u32 %r1, %r1, 1;", "// end inline asm", ".file 1 \"a//b.py\" // kept", "ret;", ""}
	if got := strings.Split(ptx.Pack(text), "\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

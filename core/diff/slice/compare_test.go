package slice

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// builds reads two builds of one kernel, and follows what they store to global memory back.
func builds(t *testing.T, kernel string) (*Comparison, [2]*Code) {
	t.Helper()
	var codes [2]*Code
	for k, side := range []string{"a", "b"} {
		path := "testdata/" + kernel + "." + side + ".ptx"
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if codes[k], err = Read(context.Background(), path, raw, kernel); err != nil {
			t.Fatal(err)
		}
	}
	return Compare(codes[0], codes[1], codes[0].Writers(-1), codes[1].Writers(-1)), codes
}

func lines(numbers ...uint32) (out []Line) {
	for _, n := range numbers {
		out = append(out, Line{"/k/kernel.py", n})
	}
	return out
}

func TestChangedLinesThatLeadToWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		changed [2][]Line
		want    Place
		kind    Kind
	}{
		{"row_variance", [2][]Line{lines(12), lines(12)}, Place{0, lines(12)[0], ChangedBegins}, Choice}, // a select by the mask is gone
		{"softened_step", [2][]Line{lines(11), lines(11)}, Place{1, lines(11)[0], ChangedBegins}, Formula},
		{"scattered_sums", [2][]Line{lines(10), lines(10, 11)}, Place{1, lines(10)[0], ChangedBegins}, LostAtomic},
		{"own_epsilon", [2][]Line{lines(11), lines(11)}, Place{1, lines(11)[0], ChangedBegins}, Formula},
		{"pooled_pairs", [2][]Line{lines(15), lines(15)}, Place{1, lines(15)[0], ChangedBegins}, Rounding},
		{"windowed_values", [2][]Line{lines(14), lines(14)}, Place{1, lines(14)[0], ChangedBegins}, Choice},
		{"own_store_mask", [2][]Line{lines(9), lines(9)}, Place{1, lines(9)[0], ChangedBegins}, Choice},
		{"masked_squares", [2][]Line{lines(5), lines(5)}, Place{1, lines(5)[0], ChangedBegins}, Choice}, // through shared memory to an atomic on the second argument
		// Nobody knows what was changed: what begins to differ is behind it.
		{"row_variance", [2][]Line{}, Place{1, lines(13)[0], CodeBegins}, Formula},
		// A line that was changed and has nothing to do with it does not count.
		{"softened_step", [2][]Line{lines(7), lines(7, 11)}, Place{1, lines(11)[0], ChangedBegins}, Formula},
	} {
		compared, _ := builds(t, c.kernel)
		got, ok := compared.Place(c.changed, true)
		if !ok || got != c.want {
			t.Errorf("%s, changed %v: got %+v, want %+v", c.kernel, c.changed, got, c.want)
		}
		if change := compared.At(c.changed[0], c.changed[1]); change.Kind != c.kind {
			t.Errorf("%s, changed %v: kind %q (%v), want %q", c.kernel, c.changed, change.Kind, change.Texts, c.kind)
		}
	}
}

func TestBuildsThatComputeTheSameHaveNoPlace(t *testing.T) {
	compared, codes := builds(t, "renamed_variables")
	if place, ok := compared.Place([2][]Line{lines(7, 8, 9), lines(7, 8, 9)}, true); ok || !compared.same() {
		t.Errorf("other names of variables: %+v", place)
	}
	if l, _, ok := compared.Uses(0, 0); !ok || l.Number == 0 {
		t.Errorf("the first argument is used at %+v", l)
	}
	if _, _, ok := compared.Uses(0, len(codes[0].f.Params)); ok {
		t.Error("an argument that is not there is used")
	}
}

// TestSidesAreInterchangeable: what is found of A and B is found of B and A, the other way round.
func TestSidesAreInterchangeable(t *testing.T) {
	for _, kernel := range []string{"row_variance", "softened_step", "cached_keys", "pooled_pairs", "scattered_sums"} {
		compared, codes := builds(t, kernel)
		turned := Compare(codes[1], codes[0], codes[1].Writers(-1), codes[0].Writers(-1))
		for k := range 2 {
			x, y := compared.Sides[k].Lines(), turned.Sides[1-k].Lines()
			if len(x) != len(y) {
				t.Errorf("%s: lines %v, turned %v", kernel, x, y)
			}
		}
		if a, b := compared.At(nil, nil).Kind, turned.At(nil, nil).Kind; a != b {
			t.Errorf("%s: kind %q, turned %q", kernel, a, b)
		}
	}
}

func TestTheWayLeadsToTheStore(t *testing.T) {
	compared, _ := builds(t, "softened_step")
	way := compared.Sides[1].Way(lines(11)[0])
	if len(way) == 0 || way[len(way)-1] != lines(13)[0] {
		t.Errorf("from line 11 to what is stored: %v", way)
	}
	for _, l := range way {
		if l.Number < 11 {
			t.Errorf("line %d does not depend on line 11", l.Number)
		}
	}
}

const small = `.version 8.7
.target sm_80
.address_size 64
.visible .entry k(
.param .u64 .ptr .global .align 1 k_param_0,
.param .u32 k_param_1
)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<3>;
.loc 1 5 1
ld.param.b64 %rd1, [k_param_0];
ld.param.b32 %r1, [k_param_1];
mov.b32 %r2, 0;
mov.b32 %r3, 7;
LOOP:
.loc 1 6 1
add.s32 %r3, %r3, STEP;
.loc 1 7 1
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra LOOP;
.loc 1 8 1
@%p1 mov.b32 %r3, 1;
.loc 1 9 1
st.global.b32 [%rd1], %r3;
ret;
}
.file 1 "/k/kernel.py"
`

func readSmall(t *testing.T, text string) *Code {
	t.Helper()
	c, err := Read(context.Background(), "small", []byte(text), "k")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatALoopCarriesIsFollowed(t *testing.T) {
	a, b := readSmall(t, strings.ReplaceAll(small, "STEP", "1")), readSmall(t, strings.ReplaceAll(small, "STEP", "2"))
	compared := Compare(a, b, a.Writers(0), b.Writers(0))
	place, ok := compared.Place([2][]Line{}, false)
	if want := (Place{1, lines(6)[0], CodeBegins}); !ok || place != want {
		t.Errorf("another step of what a loop carries: %+v, want %+v", place, want)
	}
	if way := compared.Sides[0].Way(lines(6)[0]); len(way) != 2 || way[0].Number != 8 || way[1].Number != 9 {
		t.Errorf("what a guard leaves as it was leads on: %v", way)
	}
	if in := a.slice(a.Writers(0)); !in[5] || !in[7] {
		t.Error("the test of the loop decides how often it runs")
	}
}

func TestALoopThatRunsMoreOftenIsALoop(t *testing.T) {
	text := strings.ReplaceAll(small, "STEP", "1")
	a, b := readSmall(t, text), readSmall(t, strings.Replace(text, "setp.lt.s32", "setp.le.s32", 1))
	compared := Compare(a, b, a.Writers(0), b.Writers(0))
	if got := compared.At(lines(7), lines(7)); got.Kind != Loop {
		t.Errorf("another test of a loop: %q %v", got.Kind, got.Texts)
	}
}

func TestDamagedCodeIsAnError(t *testing.T) {
	for _, text := range []string{"", "garbage", ".version 8.7\n.target sm_80\n.visible .entry other() { ret; }"} {
		if _, err := Read(context.Background(), "x", []byte(text), "k"); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzRead: whatever PTX a recording holds, following it ends, and every instruction leads to instructions.
func FuzzRead(f *testing.F) {
	f.Add(strings.ReplaceAll(small, "STEP", "1"), small)
	raw, err := os.ReadFile("testdata/own_epsilon.a.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw), ptx.Pack(string(raw)))
	f.Fuzz(func(t *testing.T, x, y string) {
		var codes [2]*Code
		for k, text := range []string{x, y} {
			c, err := Read(context.Background(), "fuzz", []byte(text), "k")
			if err != nil {
				return
			}
			codes[k] = c
		}
		compared := Compare(codes[0], codes[1], codes[0].Writers(-1), codes[1].Writers(-1))
		compared.At(nil, nil)
		if p, ok := compared.Place([2][]Line{}, true); ok {
			compared.Sides[p.Side].Way(p.Line)
		}
		if same := Compare(codes[0], codes[0], codes[0].Writers(-1), codes[0].Writers(-1)); !same.same() {
			t.Error("a build differs from itself")
		}
	})
}

package sites

import (
	"strings"
	"testing"
)

const shapedBody = `
	.loc 1 10 3
	ld.param.b64 %rd1, [k_0];
	ld.param.b32 %r1, [k_2];
	mov.u32 %r2, %tid.x;
	add.s32 %r3, %r2, %r1;
	setp.lt.s32 %p1, %r3, 100;
	.loc 1 12 3
	@%p1 ld.global.b32 %r4, [%rd1+4];
	mul.lo.s32 %r5, %r4, 3;
	sub.s32 %r6, %r5, %r2;
	st.global.b32 [%rd1], %r6;
	ret;`

const shapedFile = "\n.file 1 \"a.py\"\n"

func shapesOf(t *testing.T, text string) (shapes []uint32) {
	t.Helper()
	for i, s := range sitesOf(t, text).Sites {
		if s.Shape == 0 {
			t.Fatalf("site %d has no shape", i)
		}
		shapes = append(shapes, s.Shape)
	}
	return shapes
}

// A predicate, a load and a store: which of their shapes a change of the code changes.
func TestShapesSayWhatIsComputed(t *testing.T) {
	whole := threeParams + registers + shapedBody + "\n}\n" + shapedFile
	want := shapesOf(t, whole)
	if len(want) != 3 || want[0] == want[1] || want[1] == want[2] {
		t.Fatalf("shapes %x", want)
	}
	const predicate, load, store = 1, 2, 4
	for name, c := range map[string]struct {
		old, new string
		changes  int
	}{
		"other registers":                 {"%r4", "%r40", 0},
		"another name of a register file": {"%r6", "%r60", 0},
		"another line":                    {".loc 1 12 3", ".loc 1 77 9", 0},
		"another file":                    {`"a.py"`, `"b.py"`, 0},
		"operands that change places":     {"add.s32 %r3, %r2, %r1", "add.s32 %r3, %r1, %r2", 0},
		"operands that may not":           {"sub.s32 %r6, %r5, %r2", "sub.s32 %r6, %r2, %r5", store},
		"another constant":                {"%r3, 100", "%r3, 101", predicate},
		"another compare":                 {"setp.lt", "setp.le", predicate},
		"another mask":                    {"@%p1 ld", "@!%p1 ld", predicate},
		"another address":                 {"[%rd1+4]", "[%rd1+8]", load | store},
		"another array":                   {"%rd1, [k_0]", "%rd1, [k_1]", load | store},
		"another argument":                {"%r1, [k_2]", "%r1, [k_1]", predicate},
		"another special register":        {"%tid.x", "%ctaid.x", predicate | store},
		"another factor":                  {"%r4, 3", "%r4, 5", store},
		"another function":                {"k_", "j_", 0},
	} {
		text := strings.ReplaceAll(whole, c.old, c.new)
		if text == whole {
			t.Fatalf("%s: nothing changed", name)
		}
		got := shapesOf(t, text)
		changed := 0
		for i := range want {
			if got[i] != want[i] {
				changed |= 1 << i
			}
		}
		if changed != c.changes {
			t.Errorf("%s changes shapes %03b, want %03b", name, changed, c.changes)
		}
	}
}

// Around a loop a shape is what writes the register, so that it has an end.
func TestShapesOfLoopsHaveAnEnd(t *testing.T) {
	loop := func(step string) string {
		return threeParams + registers + `
	mov.b32 %r1, 0;
TOP:
	add.s32 %r2, %r1, ` + step + `;
	mov.b32 %r1, %r2;
	setp.lt.s32 %p1, %r1, 9;
	@%p1 bra TOP;
	ret;
}
`
	}
	if a, b := shapesOf(t, loop("1")), shapesOf(t, loop("2")); len(a) != 1 || a[0] == b[0] {
		t.Errorf("shapes %x and %x", a, b)
	}
}

package edits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// kernel is the text of one function of kernel.py that begins at a line.
func kernel(first int, lines ...string) *warptrace.Texts {
	return &warptrace.Texts{Functions: []warptrace.Text{
		{File: "kernel.py", Function: "k", FirstLine: uint32(first), Text: strings.Join(lines, "\n") + "\n"},
	}}
}

func at(side Side, line int) Line { return Line{side, "kernel.py", line} }

var before = []string{
	"@triton.jit",
	"def k(x, out, n, B: tl.constexpr):",
	"    i = tl.arange(0, B)",
	"    v = tl.load(x + i, mask=i < n, other=0.0)",
	"    s = tl.sum(v, 0)  # all of it",
	"    tl.store(out, s)",
}

func edited(edit func(lines []string) []string) []string { return edit(slices.Clone(before)) }

func TestAnInsertedLineMovesTheOthers(t *testing.T) {
	b := edited(func(l []string) []string { return slices.Insert(l, 4, "    v = v * 2") })
	c := Between(kernel(10, before...), kernel(10, b...))
	if len(c.Functions) != 1 || len(c.Functions[0].Hunks) != 1 {
		t.Fatalf("changes: %+v", c.Functions)
	}
	if h := c.Functions[0].Hunks[0]; h.FirstA != 14 || h.FirstB != 14 || len(h.A) != 0 || len(h.B) != 1 {
		t.Errorf("hunk: %+v", h)
	}
	if other, ok := c.Other(at(SideA, 15)); !ok || other.Line != 16 {
		t.Errorf("the line of the store: %+v %v", other, ok)
	}
	if _, ok := c.Other(at(SideB, 14)); ok {
		t.Error("a new line stands for one of A")
	}
	if got := c.ChangedLines(SideB); !slices.Equal(got, []Line{at(SideB, 14)}) {
		t.Errorf("changed in B: %v", got)
	}
	if got := c.ChangedLines(SideA); len(got) != 0 {
		t.Errorf("changed in A: %v", got)
	}
}

func TestAnEditedLineIsKnownInItsNewForm(t *testing.T) {
	b := edited(func(l []string) []string {
		l[3] = "    v = tl.load(x + i, mask=i <= n, other=0.0)"
		return slices.Insert(l, 3, "    # a comment is no code")
	})
	c := Between(kernel(1, before...), kernel(5, b...))
	if other, ok := c.Other(at(SideA, 4)); !ok || other.Line != 9 {
		t.Errorf("the edited line: %+v %v", other, ok)
	}
	for side, line := range map[Side]int{SideA: 4, SideB: 9} {
		if changed, known := c.Changed(at(side, line)); !changed || !known {
			t.Errorf("side %d: the edited line is not told as changed", side)
		}
		if got := c.ChangedLines(side); !slices.Equal(got, []Line{at(side, line)}) {
			t.Errorf("side %d: changed lines %v", side, got)
		}
	}
	if changed, known := c.Changed(at(SideA, 5)); changed || !known {
		t.Error("a line that is the same is told as changed")
	}
	if changed, known := c.Changed(Line{SideA, "/before/kernel.py", 4}); !changed || !known {
		t.Error("a line of a file that stood elsewhere is not known")
	}
	if _, known := c.Changed(Line{SideA, "other.py", 4}); known {
		t.Error("a line of a file without text is known")
	}
}

func TestCommentsAndBlankLinesAreNoChange(t *testing.T) {
	b := edited(func(l []string) []string {
		l[4] = "    s = tl.sum(v, 0)"
		l[2] += "  # lanes, with a \" in it"
		return slices.Insert(l, 2, `    """What it does.`, "", `    Nothing."""`, "")
	})
	c := Between(kernel(1, before...), kernel(1, b...))
	if !c.same() {
		t.Errorf("changes: %+v", c.Functions)
	}
	if other, ok := c.Other(at(SideA, 5)); !ok || other.Line != 9 {
		t.Errorf("the sum: %+v %v", other, ok)
	}
	strict := edited(func(l []string) []string { l[4] = `    s = tl.sum(v, "#")`; return l })
	if Between(kernel(1, before...), kernel(1, strict...)).same() {
		t.Error("what stands in a string is taken for a comment")
	}
}

func TestAStatementOfSeveralLinesChangesAsAWhole(t *testing.T) {
	a := append(slices.Clone(before[:5]), "    tl.store(", "        out,", "        s,", "    )")
	b := slices.Clone(a)
	b[7] = "        s * 2,"
	c := Between(kernel(1, a...), kernel(1, b...))
	for _, line := range []int{6, 7, 8, 9} {
		if changed, _ := c.Changed(at(SideA, line)); !changed {
			t.Errorf("line %d of the statement is not told as changed", line)
		}
	}
	if changed, _ := c.Changed(at(SideA, 5)); changed {
		t.Error("the statement in front is told as changed")
	}
	if got := c.Statement(at(SideB, 8)); len(got) != 4 || got[2] != b[7] {
		t.Errorf("statement: %q", got)
	}
	gone := slices.Delete(slices.Clone(a), 7, 8) // a line of the statement that B lacks changes it in B, too
	c = Between(kernel(1, a...), kernel(1, gone...))
	if got := c.ChangedLines(SideB); !slices.Equal(got, []Line{at(SideB, 6)}) {
		t.Errorf("changed in B: %v", got)
	}
}

func TestHelpersArePairedByName(t *testing.T) {
	a, b := kernel(1, before...), kernel(1, before...)
	helper := func(name, body string) warptrace.Text {
		return warptrace.Text{File: "help.py", Function: name, FirstLine: 20, Text: "@triton.jit\ndef " + name + "(x):\n    " + body + "\n"}
	}
	b.Functions[0].Function, b.Functions[0].File = "k2", "k2.py" // the kernel, renamed
	a.Functions = append(a.Functions, helper("one", "return x"), helper("two", "return 2 * x"))
	b.Functions = append(b.Functions, helper("two", "return 3 * x"), helper("three", "return x"))
	c := Between(a, b)
	var got []string
	for _, f := range c.Functions {
		got = append(got, fmt.Sprintf("%s %q %q", f.Name, f.FileA, f.FileB))
	}
	want := []string{`one "help.py" ""`, `two "help.py" "help.py"`, `three "" "help.py"`}
	if !slices.Equal(got, want) {
		t.Errorf("functions that differ: %q, want %q", got, want)
	}
	if other, ok := c.Other(at(SideA, 4)); !ok || other != (Line{SideB, "k2.py", 4}) {
		t.Errorf("the kernel under another name: %+v %v", other, ok)
	}
	if changed, known := c.Changed(Line{SideB, "help.py", 22}); !changed || !known {
		t.Error("a line of a changed helper is not told as changed")
	}
}

func TestWhatIsNotKnownIsNoChange(t *testing.T) {
	a := kernel(1, before...)
	b := kernel(1, before...)
	b.Functions[0].Text = ""
	for _, c := range []*Changes{Between(nil, a), Between(a, nil), Between(a, b), Between(a, &warptrace.Texts{})} {
		if c != nil {
			t.Fatalf("changes of what is not known: %+v", c)
		}
		if _, ok := c.Other(at(SideA, 1)); ok || c.same() || c.ChangedLines(SideA) != nil || c.Statement(at(SideA, 1)) != nil {
			t.Error("nothing is known, and something is said")
		}
		if _, known := c.Changed(at(SideA, 1)); known {
			t.Error("nothing is known, and a line is")
		}
	}
}

func TestConstantsAreCompared(t *testing.T) {
	a, b := kernel(1, before...), kernel(1, before...)
	a.Constants = []warptrace.Constant{{Name: "B", Value: "64"}, {Name: "OLD", Value: "1"}, {Name: "num_warps", Value: "4"}}
	b.Constants = []warptrace.Constant{{Name: "B", Value: "128"}, {Name: "num_warps", Value: "4"}, {Name: "NEW", Value: "2"}}
	want := []Constant{{"B", "64", "128"}, {"OLD", "1", ""}, {"NEW", "", "2"}}
	if got := Between(a, b).Constants; !slices.Equal(got, want) {
		t.Errorf("constants: %+v", got)
	}
}

// Applied to A the hunks give B, whatever was edited; every line that stands for one of the other side is answered in both directions.
func TestHunksTurnAIntoB(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	words := strings.Fields("a = b + c * tl.load(x) mask other 1 2 3 0.5 tl.sum(v) # note")
	line := func() string {
		n := 1 + r.IntN(6)
		parts := make([]string, n)
		for i := range parts {
			parts[i] = words[r.IntN(len(words))]
		}
		return "    " + strings.Join(parts, " ")
	}
	for range 400 {
		a := make([]string, 1+r.IntN(30))
		for i := range a {
			a[i] = line()
		}
		b := slices.Clone(a)
		for range r.IntN(6) {
			switch i := r.IntN(len(b) + 1); {
			case r.IntN(3) == 0 || i == len(b):
				b = slices.Insert(b, i, line())
			case r.IntN(2) == 0 && len(b) > 1:
				b = slices.Delete(b, i, i+1)
			default:
				b[i] += " + 1"
			}
		}
		c := Between(kernel(3, a...), kernel(5, b...))
		var made []string
		x := 0
		for _, f := range c.Functions {
			for _, h := range f.Hunks {
				made = append(made, a[x:h.FirstA-3]...)
				x = h.FirstA - 3 + len(h.A)
				made = append(made, h.B...)
			}
		}
		made = append(made, a[x:]...)
		if codeOf(made) != codeOf(b) {
			t.Fatalf("hunks %+v\ngive\n%s\nnot\n%s", c.Functions, codeOf(made), codeOf(b))
		}
		for i := range a {
			if other, ok := c.Other(at(SideA, 3+i)); ok {
				if back, ok := c.Other(other); !ok || back.Line != 3+i {
					t.Fatalf("line %d of A stands for %d of B, and that for %d", 3+i, other.Line, back.Line)
				}
			}
		}
	}
}

// codeOf is the code of a text.
func codeOf(lines []string) string {
	code, _ := statements(lines)
	return strings.Join(slices.DeleteFunc(code, func(s string) bool { return s == "" }), "\n")
}

func FuzzBetween(f *testing.F) {
	f.Add(strings.Join(before, "\n"), strings.Join(before[1:], "\n"))
	f.Add("a = '''\n# no comment\n'''\n", "a = (\n1\\\n)\n")
	f.Add("", "\"")
	f.Add("A", "\x00")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 1<<14 {
			return
		}
		c := Between(kernel(1, a), kernel(1, b))
		for _, side := range []Side{SideA, SideB} {
			for _, l := range c.ChangedLines(side) {
				if changed, known := c.Changed(l); !changed || !known || len(c.Statement(l)) == 0 {
					t.Fatalf("line %+v is listed as changed, and is not", l)
				}
			}
		}
	})
}

// same reports whether the code of both sides is the same, and what it was compiled for.
func (c *Changes) same() bool { return c != nil && len(c.Functions) == 0 && len(c.Constants) == 0 }

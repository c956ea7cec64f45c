package edits

import (
	"slices"
	"testing"
)

func TestNamesOfStatements(t *testing.T) {
	for _, c := range []struct {
		code           string
		assigned, read []string
	}{
		{"x = a + b.c", []string{"x"}, []string{"a", "b"}},
		{"x += tl.load(p, mask=m, other=0.0)", []string{"x"}, []string{"tl", "p", "m", "x"}},
		{"x, y = f(a == b)", []string{"x", "y"}, []string{"f", "a", "b"}},
		{"for i in range(0, n, B):", []string{"i"}, []string{"range", "n", "B"}},
		{"if a <= b:", nil, []string{"if", "a", "b"}},
		{`tl.store(p, "x = 1")`, nil, []string{"tl", "p", "x"}},
		{"x >>= 2", []string{"x"}, []string{"x"}},
	} {
		assigned, read := namesOf(c.code)
		if !slices.Equal(assigned, c.assigned) || !slices.Equal(read, c.read) {
			t.Errorf("%s: assigns %v, reads %v; want %v, %v", c.code, assigned, read, c.assigned, c.read)
		}
	}
}

func TestNamesLeadFromAChangedStatement(t *testing.T) {
	a := []string{
		"def k(x, out, n, B: tl.constexpr):",
		"    first = 0",
		"    spare = 1",
		"    for i in range(first, n):",
		"        v = tl.load(x + i)",
		"        if v > 0:",
		"            w = 1",
		"    tl.store(out, w)",
		"    tl.store(out + 1, spare)",
	}
	b := slices.Clone(a)
	b[1], b[2] = "    first = 3", "    spare = 2"
	c := Between(kernel(10, a...), kernel(10, b...))
	for target, want := range map[int]int{13: 11, 17: 11, 18: 12} {
		got, ok := c.NamedBefore(SideB, []Line{at(SideB, target)})
		if !ok || got != at(SideB, want) {
			t.Errorf("to line %d leads %+v, %v; want line %d", target, got, ok, want)
		}
	}
	if got, ok := c.NamedBefore(SideB, []Line{at(SideB, 10)}); ok {
		t.Errorf("to the first line leads %+v", got)
	}
}

func TestRenamedVariablesAreNoOtherCode(t *testing.T) {
	b := []string{
		"@triton.jit",
		"def k(x, out, n, B: tl.constexpr):",
		"    lane = tl.arange(0, B)",
		"    value = tl.load(x + lane, mask=lane < n, other=0.0)",
		"    s = tl.sum(value * value, 0)",
		"    tl.store(out, s)",
	}
	c := Between(kernel(10, before...), kernel(20, b...))
	for line, want := range map[int]bool{22: true, 23: true, 24: false, 25: false} {
		if got := c.Renamed(at(SideB, line)); got != want {
			t.Errorf("line %d of B only renamed: got %v, want %v", line, got, want)
		}
	}
	if !c.Renamed(at(SideA, 12)) || c.Renamed(at(SideA, 14)) {
		t.Error("of A: the first name is another one, the sum is other code")
	}
	// Another variable in one place is other code, however alike the lines are.
	swapped := edited(func(l []string) []string {
		l[3] = "    v = tl.load(x + i, mask=i < B, other=0.0)"
		return l
	})
	if Between(kernel(1, before...), kernel(1, swapped...)).Renamed(at(SideB, 4)) {
		t.Error("a bound that is another variable is told as renamed")
	}
}

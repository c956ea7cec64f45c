package event

import (
	"slices"
	"testing"
)

func TestKindsHaveExactlyOneRule(t *testing.T) {
	for k := AllReduce; k <= SendRecv; k++ {
		rules := 0
		for _, has := range []bool{k.Symmetric(), k.RootGives(), k.RootTakes(), k.Paired()} {
			if has {
				rules++
			}
		}
		if rules != 1 {
			t.Errorf("%v: got %d rules, want 1", k, rules)
		}
		if k.String() == "unknown" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if Unknown.Symmetric() || Unknown.RootGives() || Unknown.RootTakes() || Unknown.Paired() {
		t.Error("an unknown collective must have no rule")
	}
	if got := Kind(200).String(); got != "unknown" {
		t.Errorf("out of range: got %q", got)
	}
}

func TestNamesKeepTheirNumbersAndCopyTheirStrings(t *testing.T) {
	var n names
	buf := []byte("alpha")
	a := n.id(string(buf))
	b := n.id("beta")
	if a == b || n.id("alpha") != a || n.All()[b] != "beta" || len(n.All()) != 2 {
		t.Errorf("names: %v", n.All())
	}
}

func TestTableCountsWhatItDoesNotKeepAndSortsParentsFirst(t *testing.T) {
	tab := NewTable(3)
	for i, r := range []Row{
		{Name: "child", StartNS: 10, DurationPS: 5, Count: 1},
		{Name: "parent", StartNS: 10, DurationPS: 50, Count: 1, Line: 1},
		{Name: "first", StartNS: 9, StartPS: 999, Count: 1},
		{Name: "lost", StartNS: 1},
	} {
		if got, want := tab.Append(r), i < 3; got != want {
			t.Errorf("row %d: kept %v, want %v", i, got, want)
		}
	}
	tab.SortByStart()
	cols := map[string]Column{}
	for _, c := range tab.columns() {
		cols[c.Name] = c
		if len(c.I32)+len(c.I64) != 3 {
			t.Errorf("column %s has %d values", c.Name, len(c.I32)+len(c.I64))
		}
	}
	var names []string
	for _, id := range cols["name"].I32 {
		names = append(names, cols["name"].Dictionary[id])
	}
	if want := []string{"first", "parent", "child"}; !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
	if want := []int32{0, 1, 0}; !slices.Equal(cols["line"].I32, want) {
		t.Errorf("lines %v, want %v", cols["line"].I32, want)
	}
	if tab.Dropped != 1 {
		t.Errorf("dropped %d, want 1", tab.Dropped)
	}
}

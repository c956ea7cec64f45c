package observe

import (
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// code is values by name.
type code map[string]Source[string]

func (c code) Source(v string) Source[string] { return c[v] }

func same(of string) Source[string] { return Source[string]{Same: &of} }

func TestProvenanceGoesThroughConversions(t *testing.T) {
	c := code{
		"wide": same("narrow"), "narrow": same("sum"),
		"sum": {Origin: site.FromArith, Name: "add", Inputs: []string{"n", "loaded"}}, "n": {Origin: site.FromArgument, Name: "n"},
		"loaded": {Origin: site.FromLoad, Name: "load", Memory: 8, Inputs: []string{"n"}},
	}
	o := Provenance[string](c, "wide", "lhs", "i64")
	if o.Role != "lhs" || o.Type != "i64" || o.Origin != site.FromArith || len(o.Inputs) != 2 || o.Inputs[1].Site != 8 || o.Inputs[1].Inputs != nil {
		t.Fatalf("%+v", o)
	}
	operands := []site.Operand{o}
	Resolve(operands, func(access int) site.Key { return site.Key(100 + access) })
	if operands[0].Inputs[1].Site != 107 {
		t.Errorf("the load is %v", operands[0].Inputs[1].Site)
	}
}

func TestProvenanceEnds(t *testing.T) {
	c := code{"circle": same("circle"), "self": {Origin: site.FromArith, Inputs: []string{"self", "self", "self", "self", "self"}}}
	Provenance[string](c, "circle", "lhs", "")
	count := 0
	var walk func(o *site.Operand, depth int)
	walk = func(o *site.Operand, depth int) {
		if count++; depth > provenanceDepth || len(o.Inputs) > maxInputs {
			t.Fatalf("depth %d, %d inputs", depth, len(o.Inputs))
		}
		for i := range o.Inputs {
			walk(&o.Inputs[i], depth+1)
		}
	}
	o := Provenance[string](c, "self", "lhs", "")
	if walk(&o, 0); count > provenanceNodes+maxInputs {
		t.Errorf("%d operands", count)
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		patterns string
		name     string
		want     bool
	}{
		{"", "any", true},
		{"add", "add", true},
		{"add", "masked_add_kernel", true},
		{"*add", "add_one", false},
		{"a?d*", "add_one", true},
		{"x,*_one", "add_one", true},
		{"?", "ab", false},
		{"*a*b*", "xxaxxbxx", true},
		{"**", "", true},
		{"a*", "", false},
	} {
		f := Filter{}
		if c.patterns != "" {
			f.Kernels = strings.Split(c.patterns, ",")
		}
		if f.Kernel(c.name) != c.want {
			t.Errorf("%q of %q: %v", c.name, c.patterns, !c.want)
		}
	}
	s := &site.Site{Chain: []site.Frame{{Function: "reduce", File: "/lib/standard.py", Line: 9}, {Function: "softmax", File: "/src/k.py", Line: 20}}}
	for _, c := range []struct {
		place Place
		want  bool
	}{
		{Place{File: "k.py", First: 20, Last: 20}, true},
		{Place{File: "k.py", First: 19, Last: 19}, false},
		{Place{File: "y", First: 20, Last: 20}, false},
		{Place{First: 9, Last: 12}, true},
		{Place{File: "src/k.py", First: 1, Last: 99}, true},
		{Place{File: "k.py", Function: "softmax"}, true},
		{Place{File: "k.py", Function: "soft"}, true},
		{Place{File: "k.py", Function: "soft?"}, false},
		{Place{File: "k.py", Function: "max"}, true},
		{Place{File: "k.py", Function: "reduce"}, false},
		{Place{Function: "red*"}, true},
	} {
		if f := (Filter{Places: []Place{c.place}}); f.Site(s) != c.want {
			t.Errorf("%v: %v", c.place, !c.want)
		}
	}
	if f := (Filter{}); !f.Site(s) {
		t.Error("a filter that asks for nothing leaves something out")
	}
	if branches := (Filter{Kinds: []site.Kind{site.Branch}}); !branches.Site(s) || branches.Site(&site.Site{Kind: site.Predicate}) {
		t.Error("kinds do not count")
	}
}

func TestWarpsAreRanges(t *testing.T) {
	w := Warps{{2, 4}, {9, 9}}
	var has []uint64
	for n := range uint64(12) {
		if w.Has(n) {
			has = append(has, n)
		}
	}
	if !reflect.DeepEqual(has, []uint64{2, 3, 4, 9}) || w.String() != "2-4,9" || w.Check() != nil || !(Warps{}).Has(7) {
		t.Errorf("%v of %s", has, w)
	}
	for _, bad := range []Warps{{{4, 2}}, {{1, 3}, {3, 5}}, {{5, 6}, {1, 2}}} {
		if bad.Check() == nil {
			t.Errorf("%s is right", bad)
		}
	}
}

func TestTablesTravelAsText(t *testing.T) {
	table := &Table{
		Sites: []site.Site{{Key: 7, Kind: site.Branch, Chain: []site.Frame{{Function: "f", File: "a.py", Line: 3}}, Compare: 40, Operands: []site.Operand{
			{Role: "lhs", Origin: site.FromArgument, Name: "%2", Inputs: []site.Operand{{Origin: site.FromArgument, Name: "%9"}}},
		}}},
		Types: []warptrace.ValueType{warptrace.TypeI32}, Warning: "none",
	}
	text, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeTable(text)
	if err != nil || !reflect.DeepEqual(table, back) {
		t.Fatalf("%v\n%+v\n%+v", err, table, back)
	}
	back.NameArguments([]string{"a", "b", "c"})
	if o := back.Sites[0].Operands[0]; o.Name != "c" || o.Inputs[0].Name != "%9" {
		t.Errorf("%+v", o)
	}
	for _, broken := range []string{"", "!", "AAAA", text[:len(text)/2], text[4:]} {
		if _, err := DecodeTable(broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func FuzzDecodeTable(f *testing.F) {
	text, err := (&Table{Sites: []site.Site{{}}, Types: []warptrace.ValueType{1}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text string) {
		if table, err := DecodeTable(text); err == nil && len(table.Types) != len(table.Sites) {
			t.Error("sites without types")
		}
	})
}

package observe

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
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

// What is observed of PTX and of LLVM IR has the same limits, or their hashes and tables would differ.
func TestProvenanceGoesSoFarAndNoFurther(t *testing.T) {
	c := code{
		"wide": {Origin: site.FromArith, Inputs: []string{"a", "b", "c", "d", "e"}},
		"0":    {Origin: site.FromArith, Inputs: []string{"1"}},
	}
	for n := range 8 {
		c[string(rune('1'+n))] = Source[string]{Origin: site.FromArith, Inputs: []string{string(rune('2' + n))}}
	}
	if o := Provenance[string](c, "wide", "lhs", ""); len(o.Inputs) != 4 {
		t.Errorf("%d of 5 inputs", len(o.Inputs))
	}
	deep := 0
	for o := Provenance[string](c, "0", "lhs", ""); len(o.Inputs) > 0; o = o.Inputs[0] {
		deep++
	}
	if deep != 5 {
		t.Errorf("%d steps back, want 5", deep)
	}
	star := code{"from": {Origin: site.FromArith, Inputs: []string{"x", "x", "x"}}, "x": {Origin: site.FromArith, Inputs: []string{"y", "y", "y"}}, "y": {Origin: site.FromArgument}}
	o, nodes := Provenance[string](star, "from", "lhs", ""), 0
	for i := range o.Inputs {
		nodes += 1 + len(o.Inputs[i].Inputs)
	}
	if nodes != 11 {
		t.Errorf("%d values behind the first, want 11", nodes)
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
	others := *back
	if others.Version = tableVersion - 1; sealed(t, &others) != "another version made it" {
		t.Error("a table of another version was read")
	}
	if others.Version, others.Types = tableVersion, append(others.Types, 0); sealed(t, &others) != "another version made it" {
		t.Error("a table with more types than sites was read")
	}
	if others.Types, others.Sums = others.Types[:1], []Sum{{Site: 1}}; sealed(t, &others) != "a sum of no site" {
		t.Error("a table with a sum of a site that is not there was read")
	}
	for _, broken := range []string{"", "!", "AAAA", text[:len(text)/2], text[4:]} {
		if _, err := DecodeTable(broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

// sealed packs a table as it is, reads it, and says why that was refused.
func sealed(t *testing.T, table *Table) string {
	t.Helper()
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	_, err = DecodeTable(base64.StdEncoding.EncodeToString(b.Bytes()))
	if err == nil {
		return ""
	}
	_, why, _ := strings.Cut(fault.Of(err).Msg, "broken: ")
	return why
}

// Only arguments are called by their position, and those behind them, too.
func TestOnlyArgumentsGetTheirNames(t *testing.T) {
	named := func(origin site.Origin, name string) string {
		inner := site.Operand{Origin: origin, Name: name}
		table := &Table{Sites: []site.Site{{Operands: []site.Operand{{Origin: site.FromArith, Name: "add", Inputs: []site.Operand{inner}}}}}}
		table.NameArguments([]string{"x", "", "n"})
		return table.Sites[0].Operands[0].Inputs[0].Name
	}
	for _, c := range []struct {
		origin     site.Origin
		name, want string
	}{
		{site.FromArgument, "%2", "n"},
		{site.FromArgument, "%0", "x"},
		{site.FromArgument, "%1", "%1"},
		{site.FromArgument, "%3", "%3"},
		{site.FromArgument, "%-1", "%-1"},
		{site.FromArgument, "2", "2"},
		{site.FromProgramID, "%2", "%2"},
		{site.FromArith, "2", "2"},
	} {
		if got := named(c.origin, c.name); got != c.want {
			t.Errorf("%v %s is called %q, want %q", c.origin, c.name, got, c.want)
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

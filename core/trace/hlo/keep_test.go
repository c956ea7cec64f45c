package hlo

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestListsReadBackAsWritten: ranges where ids are at equal distances, single ids elsewhere, empty lists kept.
func TestListsReadBackAsWritten(t *testing.T) {
	for want, lists := range map[string][][]int64{
		"":                       nil,
		"{}":                     {{}},
		"{},{}":                  {{}, {}},
		"{0,1},{2,3}":            {{0, 1}, {2, 3}},
		"{0..7}":                 {{0, 1, 2, 3, 4, 5, 6, 7}},
		"{0..16/8,1,3..5,-1,-2}": {{0, 8, 16, 1, 3, 4, 5, -1, -2}},
		"{5,3,1}":                {{5, 3, 1}},
		"{1,1,1}":                {{1, 1, 1}},
		"{0,9223372036854775807,-9223372036854775808}": {{0, math.MaxInt64, math.MinInt64}},
		"{-1,0..2}": {{-1, 0, 1, 2}},
	} {
		if got := string(AppendLists(nil, lists)); got != want {
			t.Errorf("%v is written %s, want %s", lists, got, want)
		}
		if got, err := ParseLists(want, NewBudget()); err != nil || !reflect.DeepEqual(got, lists) {
			t.Errorf("%s reads as %v (%v), want %v", want, got, err, lists)
		}
	}
}

// TestListsThatAreDamagedOrTooLongAreErrors: and none takes memory before it is refused.
func TestListsThatAreDamagedOrTooLongAreErrors(t *testing.T) {
	for _, text := range []string{
		"{", "}", "0", "{0", "{0},", "{0}{1}", ",{0}", "{,}", "{a}", "{0..}", "{3..3}", "{3..1}", "{0..9/0}", "{0..9/-1}", "{0..9/4}", "{-3..-1}", "{0..1..2}",
		"{0..9223372036854775807}", "{0..9223372036854775807/1}", "{0..4194304}", strings.Repeat("{0..4194303},", 8) + "{1}", "{99999999999999999999}",
	} {
		if lists, err := ParseLists(text, NewBudget()); err == nil {
			t.Errorf("%s reads as %d lists", text, len(lists))
		}
	}
}

// TestWhatModulesSpreadToIsBounded: a short list of groups may stand for many ids.
func TestWhatModulesSpreadToIsBounded(t *testing.T) {
	budget := NewBudget()
	failed, ids := 0, make([]int64, 1<<10)
	for i := range ids {
		ids[i] = int64(i)
	}
	for i := range 36 {
		m, err := NewModule(Module{Replicas: 1 << 10, Partitions: 1 << 10, Ops: []Op{{Name: "a", Groups: NewGroups([][]int64{ids}, nil)}}}, budget)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := m.Members(m.Op("a"))
		if err != nil {
			failed++
		} else if len(groups) != 1<<10 || failed > 0 {
			t.Errorf("module %d: %d groups after %d failures", i, len(groups), failed)
		}
	}
	if failed != 4 {
		t.Errorf("%d of 36 modules of 2^20 ids are refused, want 4", failed)
	}
	for _, m := range []Module{{Replicas: -1}, {Replicas: 4}, {Partitions: 4}, {Replicas: 1 << 11, Partitions: 1 << 11}, {Replicas: 2, Partitions: 1, Devices: []int64{0}}} {
		if _, err := NewModule(m, nil); err == nil {
			t.Errorf("%d x %d with %d devices is a module", m.Replicas, m.Partitions, len(m.Devices))
		}
	}
}

func FuzzParseLists(f *testing.F) {
	for _, seed := range []string{"{0,1},{2,3}", "{0..56/8},{}", "{-1}", "{0..9223372036854775807}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lists, err := ParseLists(text, NewBudget())
		if err != nil {
			return
		}
		again, err := ParseLists(string(AppendLists(nil, lists)), NewBudget())
		if err != nil || !reflect.DeepEqual(again, lists) {
			t.Fatalf("%s: %v, again %v (%v)", text, lists, again, err)
		}
	})
}

package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// step is one event of a build: what is computed there, of which kind, and which lanes took it.
type step struct {
	shape uint32
	kind  site.Kind
	taken uint64
}

// built makes the recording of a build whose code has one site for each letter, on a line of its own from first on, and of one warp
// that passed events.
func built(t *testing.T, name, code string, first uint32, kinds map[rune]site.Kind, events []step) *warptrace.Trace {
	t.Helper()
	sites := make([]site.Site, 0, len(code))
	at := map[uint32]uint32{}
	for n, c := range code {
		at[uint32(c)] = uint32(n)
		sites = append(sites, site.Site{
			Kind: kinds[c], Ordinal: -1, Compare: site.NoCompare, Text: "same", Shape: uint32(c),
			Chain: []site.Frame{{Function: "k", File: "k.py", Line: first + uint32(n), Column: 1}},
		})
	}
	site.AssignKeys(sites)
	h := *byHand(t, 32, 0, []passed{{0, all, 0}}).Header()
	w := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Events: uint32(len(events)), Total: uint64(len(events))}}
	for _, e := range events {
		w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, at[e.shape]), append(w.Kind, e.kind), append(w.Dir, uint8(e.taken&1)), append(w.Aux, 0)
		w.Active, w.Taken, w.Value, w.Type = append(w.Active, all), append(w.Taken, e.taken), append(w.Value, 0), append(w.Type, warptrace.TypeNone)
	}
	r := &warptracetest.Recording{Header: h, Sites: site.NewTable(sites), Warps: []warptrace.Warp{w}}
	return r.OpenV2(t, name)
}

// passing is the events of a warp that passes sites once each, in an order, and takes none but those in taken.
func passing(order string, kinds map[rune]site.Kind, taken string) (events []step) {
	for _, c := range order {
		e := step{shape: uint32(c), kind: kinds[c]}
		if strings.ContainsRune(taken, c) {
			e.taken = all
		}
		events = append(events, e)
	}
	return events
}

// A build one line lower gives each site the key of its neighbour: warps whose keys are the same did not do the same.
func TestKeysOfNeighboursProveNothing(t *testing.T) {
	a := built(t, "a.prlx", "abcdef", 10, nil, passing("bcd", nil, ""))
	b := built(t, "b.prlx", "abcdef", 11, nil, passing("abc", nil, ""))
	r := compared(t, a, b, Options{}, 1)
	if r.Stats.WarpsDiverged != 1 {
		t.Errorf("%d warps differ, %+v", r.Stats.WarpsDiverged, r.Rows)
	}
	b = built(t, "b.prlx", "abcdef", 11, nil, passing("bcd", nil, ""))
	r = compared(t, a, b, Options{}, 1)
	if len(r.Rows) != 0 || r.Builds == nil || r.Builds.Matched != 6 || r.Builds.Relocated != 6 || len(r.Builds.Moved) != 0 {
		t.Errorf("the same one line lower: %+v, %+v", r.Rows, r.Builds)
	}
}

func TestCodeThatMovedDoesNotCount(t *testing.T) {
	kinds := map[rune]site.Kind{'s': site.SharedStore, '|': site.Barrier}
	for _, c := range []struct {
		name, codeA, codeB, takenB string
		counts, moves              bool
	}{
		{"moved", "abcdefg", "adefbcg", "", false, true},
		{"moved, with another decision where it stands now", "abcdefg", "adefbcg", "c", true, true},
		{"moved, with another decision elsewhere", "abcdefg", "adefbcg", "e", true, true},
		{"in its place", "abcdefg", "abcdefg", "", false, false},
		{"a shared store in front of other code", "asbcd|e", "abcsd|e", "", false, true},
		{"a shared store beyond a barrier", "asbcd|e", "abcd|se", "", true, true},
		{"a barrier beyond other code", "a|bcde", "abc|de", "", false, true},
		{"a barrier in front of a shared store", "asbcd|e", "a|sbcde", "", true, true},
	} {
		a := built(t, "a.prlx", c.codeA, 10, kinds, passing(c.codeA, kinds, ""))
		b := built(t, "b.prlx", c.codeB, 30, kinds, passing(c.codeB, kinds, c.takenB))
		r := compared(t, a, b, Options{}, 1)
		d := documentOf(t, r)
		if (d.CountedDivergences > 0) != c.counts || (len(d.Builds.Moved) > 0) != c.moves {
			t.Errorf("%s: %d count, builds %+v: %s", c.name, d.CountedDivergences, d.Builds, d.Verdict)
		}
		if said := strings.Contains(d.Verdict, "1 warp executed code that moved between the builds"); said != (c.moves && !c.counts) {
			t.Errorf("%s: %s", c.name, d.Verdict)
		}
	}
}

func TestNumbersOfNeighboursProveNothingInV1(t *testing.T) {
	table := func(first uint32) *site.Table {
		sites := make([]site.Site, 4)
		for i := range sites {
			at := site.Frame{Function: "k", File: "k.cu", Line: first + uint32(i), Column: 5}
			sites[i] = site.Site{
				ID: at.Line * 16777619, Ordinal: int32(i), Compare: site.NoCompare, Chain: []site.Frame{at},
			}
		}
		site.AssignKeys(sites)
		return site.NewTable(sites)
	}
	open := func(name string, sites *site.Table, order ...int) *warptrace.Trace {
		h := *byHand(t, 32, 0, []passed{{0, all, 0}}).Header()
		w := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Events: uint32(len(order)), Total: uint64(len(order))}}
		for _, i := range order {
			w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, uint32(i)), append(w.Kind, site.Branch), append(w.Dir, 0), append(w.Aux, 0)
			w.Active, w.Taken, w.Value, w.Type = append(w.Active, all), append(w.Taken, 0), append(w.Value, 0), append(w.Type, warptrace.TypeNone)
		}
		trace := (&warptracetest.Recording{Header: h, Sites: sites, Warps: []warptrace.Warp{w}}).OpenV1(t, name, warptracetest.V1File{})
		trace.SetSites(sites)
		return trace
	}
	a := open("a.prlx", table(10), 1, 2)
	if r := compared(t, a, open("b.prlx", table(11), 0, 1), Options{}, 1); len(r.Rows) == 0 {
		t.Error("other sites with the same numbers are taken for the same")
	}
	if r := compared(t, a, open("c.prlx", table(11), 1, 2), Options{}, 1); len(r.Rows) != 0 || r.Builds.Relocated != 4 {
		t.Errorf("the same one line lower: %+v, %+v", r.Rows, r.Builds)
	}
}

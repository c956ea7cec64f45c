package compat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// stream makes a warp of one event a word: a site, "+" for a branch taken, ":n" for a value, "/m" for a mask.
func stream(t testing.TB, text string) *warptrace.Warp {
	t.Helper()
	w := &warptrace.Warp{}
	for _, word := range strings.Fields(text) {
		word, mask, hasMask := strings.Cut(word, "/")
		word, value, _ := strings.Cut(word, ":")
		id, taken := strings.CutSuffix(word, "+")
		number := func(s string) uint64 {
			if s == "" {
				return 0
			}
			n, err := strconv.ParseUint(s, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		active := uint64(0xffffffff)
		if hasMask {
			active = number(mask)
		}
		add(w, uint32(number(id)), site.Branch, map[bool]uint8{true: 1}[taken], active, number(value))
	}
	return w
}

func add(w *warptrace.Warp, id uint32, kind site.Kind, dir uint8, active, value uint64) {
	w.Site = append(w.Site, id)
	w.Kind = append(w.Kind, kind)
	w.Dir = append(w.Dir, dir)
	w.Active = append(w.Active, active)
	w.Value = append(w.Value, value)
}

func newAligner(opt Options) *aligner {
	return &aligner{ctx: context.Background(), opt: &opt, popcount: opt.CrossGPU, capacity: math.MaxInt64}
}

func (d divergence) String() string {
	return fmt.Sprintf("%d@%d %s %d %s", d.Warp, d.Event, d.Kind, d.Site, d.details())
}

func TestAlignsAsTheDescribedDifferDoes(t *testing.T) {
	window := Options{Lookahead: DefaultLookahead}
	for name, c := range map[string]struct {
		a, b string
		opt  Options
		want []string
	}{
		"equal streams":                {"1 2+ 3", "1 2+ 3", window, nil},
		"both are empty":               {"", "", window, nil},
		"another decision":             {"1+ 2", "1 2", window, []string{"0@0 Branch 1 dir_a=1 dir_b=0"}},
		"other lanes":                  {"1/3", "1/5", window, []string{"0@0 ActiveMask 1 mask_a=0x00000003 mask_b=0x00000005"}},
		"as many lanes, across GPUs":   {"1/3", "1/5", Options{CrossGPU: true}, nil},
		"fewer lanes, across GPUs":     {"1/3", "1/4", Options{CrossGPU: true}, []string{"0@0 ActiveMask 1 mask_a=0x00000003 mask_b=0x00000004"}},
		"values are not looked at":     {"1:7", "1:8", window, nil},
		"values are, when asked":       {"1:7", "1:8", Options{Values: true}, []string{"0@0 Value 1 val_a=7 val_b=8"}},
		"one event, three differences": {"1+:7/1", "1:8/2", Options{Values: true}, []string{"0@0 Branch 1 dir_a=1 dir_b=0", "0@0 ActiveMask 1 mask_a=0x00000001 mask_b=0x00000002", "0@0 Value 1 val_a=7 val_b=8"}},
		"A has more":                   {"1 5 6 2", "1 2", window, []string{"0@1 ExtraEvents 5 count=2 in_trace=A"}},
		"B has more, counted in A":     {"1 2", "1 5 6 2", window, []string{"0@1 ExtraEvents 5 count=2 in_trace=B"}},
		"A goes on":                    {"1 2 3", "1", window, []string{"0@1 ExtraEvents 2 count=2 in_trace=A"}},
		"B goes on":                    {"1", "1 2 3", window, []string{"0@1 ExtraEvents 2 count=2 in_trace=B"}},
		"equally near ways back take A": {"1 2 3", "2 1 3", window, []string{
			"0@0 ExtraEvents 1 count=1 in_trace=A", "0@2 ExtraEvents 1 count=1 in_trace=B",
		}},
		"the nearer way back":           {"1 8 9 2", "2 1 8 9 2", window, []string{"0@0 ExtraEvents 2 count=1 in_trace=B"}},
		"a Path and then all of A":      {"1 2 3 4", "1 5 6", window, []string{"0@1 Path 2 site_a=0x00000002 site_b=0x00000005", "0@1 ExtraEvents 2 count=3 in_trace=A"}},
		"going on after a Path":         {"1 2 3 4", "1 5 3 4", Options{Lookahead: 32, ContinueAfterPath: true}, []string{"0@1 Path 2 site_a=0x00000002 site_b=0x00000005"}},
		"the window ends at its width":  {"1 2 3", "3", Options{Lookahead: 2}, []string{"0@0 ExtraEvents 1 count=2 in_trace=A"}},
		"and not behind it":             {"1 2 3", "3", Options{Lookahead: 1}, []string{"0@0 Path 1 site_a=0x00000001 site_b=0x00000003", "0@0 ExtraEvents 1 count=3 in_trace=A"}},
		"a window of nothing":           {"1 2", "2", Options{}, []string{"0@0 Path 1 site_a=0x00000001 site_b=0x00000002", "0@0 ExtraEvents 1 count=2 in_trace=A"}},
		"the last one differs, no rest": {"1", "2", window, []string{"0@0 Path 1 site_a=0x00000001 site_b=0x00000002", "0@0 ExtraEvents 1 count=1 in_trace=A"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newAligner(c.opt)
			if err := l.warp(0, stream(t, c.a), stream(t, c.b)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range l.found {
				got = append(got, d.String())
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s against %s:\ngot  %q\nwant %q", c.a, c.b, got, c.want)
			}
			if want := map[bool]int64{true: 1}[len(c.want) > 0]; l.diverged != want {
				t.Errorf("%d warps diverged, want %d", l.diverged, want)
			}
		})
	}
}

func TestOnlyTheKindInADecidesWhatIsABranch(t *testing.T) {
	store, branch := &warptrace.Warp{}, &warptrace.Warp{}
	add(store, 1, site.SharedStore, 0, 1, 0)
	add(branch, 1, site.Branch, 1, 1, 0)
	l := newAligner(Options{})
	if err := errors.Join(l.warp(0, store, branch), l.warp(1, branch, store)); err != nil {
		t.Fatal(err)
	}
	if len(l.found) != 1 || l.found[0].Warp != 1 {
		t.Errorf("got %v, want a Branch in warp 1 only", l.found)
	}
}

// naive is the description, word for word and slowly.
func naive(number uint64, a, b *warptrace.Warp, opt Options) []divergence {
	var out []divergence
	ia, ib := 0, 0
	report := func(kind kind, id, x, y uint32) {
		out = append(out, divergence{Warp: number, Event: uint32(ia), Site: id, Kind: kind, A: x, B: y})
	}
	for ia < len(a.Site) && ib < len(b.Site) {
		siteA, siteB := a.Site[ia], b.Site[ib]
		if siteA == siteB {
			if a.Kind[ia] == 0 && a.Dir[ia] != b.Dir[ib] {
				report(branch, siteA, uint32(a.Dir[ia]), uint32(b.Dir[ib]))
			}
			if a.Active[ia] != b.Active[ib] {
				report(activeMask, siteA, uint32(a.Active[ia]), uint32(b.Active[ib]))
			}
			if opt.Values && a.Value[ia] != b.Value[ib] {
				report(value, siteA, uint32(a.Value[ia]), uint32(b.Value[ib]))
			}
			ia, ib = ia+1, ib+1
			continue
		}
		kA, kB := 0, 0
		for k := opt.Lookahead; k >= 1; k-- {
			if ia+k < len(a.Site) && a.Site[ia+k] == siteB {
				kA = k
			}
			if ib+k < len(b.Site) && b.Site[ib+k] == siteA {
				kB = k
			}
		}
		if kA > 0 && kB > 0 {
			if kA <= kB {
				kB = 0
			} else {
				kA = 0
			}
		}
		if kA > 0 {
			report(extraEvents, siteA, uint32(kA), 0)
			ia += kA
		} else if kB > 0 {
			report(extraEvents, siteB, 0, uint32(kB))
			ib += kB
		} else {
			report(path, siteA, siteA, siteB)
			if !opt.ContinueAfterPath {
				break
			}
			ia, ib = ia+1, ib+1
		}
	}
	if ia < len(a.Site) {
		report(extraEvents, a.Site[ia], uint32(len(a.Site)-ia), 0)
	} else if ib < len(b.Site) {
		report(extraEvents, b.Site[ib], 0, uint32(len(b.Site)-ib))
	}
	return out
}

func randomWarp(r *rand.Rand, sites uint32) *warptrace.Warp {
	w := &warptrace.Warp{}
	for range r.IntN(60) {
		add(w, r.Uint32N(sites), site.Kind(r.IntN(3)), uint8(r.IntN(2)), uint64(r.IntN(2)), uint64(r.IntN(2)))
	}
	return w
}

func TestAlignerAgreesWithTheDescriptionTakenLiterally(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 4000 {
		opt := Options{Values: r.IntN(2) == 0, Lookahead: r.IntN(12), ContinueAfterPath: r.IntN(2) == 0}
		sites := 2 + r.Uint32N(40)
		l := newAligner(opt)
		var want []divergence
		for warp := range uint64(3) {
			a, b := randomWarp(r, sites), randomWarp(r, sites)
			if err := l.warp(warp, a, b); err != nil {
				t.Fatal(err)
			}
			want = append(want, naive(warp, a, b, opt)...)
		}
		if !reflect.DeepEqual(l.found, want) {
			t.Fatalf("%+v: got %v, want %v", opt, l.found, want)
		}
	}
}

func TestLimitKeepsTheFirstAndCountsAllWarps(t *testing.T) {
	l := newAligner(Options{Limit: 3})
	for warp := range uint64(5) {
		if err := l.warp(warp, stream(t, "1+ 2+"), stream(t, "1 2")); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.found) != 3 || l.found[2].Warp != 1 || l.diverged != 5 {
		t.Errorf("got %v and %d diverged warps, want the first 3 and 5", l.found, l.diverged)
	}
}

func TestMoreThanFitsIsALimitError(t *testing.T) {
	l := newAligner(Options{})
	l.capacity = 1
	err := l.warp(0, stream(t, "1+ 2+"), stream(t, "1 2"))
	if !fault.Is(err, fault.Limit) || !strings.Contains(fault.Of(err).Hint, "--limit") {
		t.Errorf("got %v, want a limit error that names --limit", err)
	}
}

func TestWalkingEndsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := newAligner(Options{Lookahead: checkEvery, ContinueAfterPath: true})
	l.ctx = ctx
	a, b := &warptrace.Warp{}, &warptrace.Warp{}
	for i := range uint32(4096) {
		add(a, 2*i, 0, 0, 0, 0)
		add(b, 2*i+1, 0, 0, 0, 0)
	}
	if err := l.warp(0, a, b); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestRemappingRenamesSitesOfB(t *testing.T) {
	entry := func(id uint32, ordinal uint32) *mapEntry {
		name, zero, kind := "f", uint32(0), uint8(0)
		return &mapEntry{SiteID: &id, Filename: &name, Function: &name, Line: &zero, Column: &zero, EventType: &kind, Ordinal: &ordinal}
	}
	a, b := &SiteMap{sites: map[uint32]mapped{}}, &SiteMap{sites: map[uint32]mapped{}}
	for ordinal := range uint32(2) {
		a.add(entry(1+ordinal, ordinal))
		b.add(entry(2-ordinal, ordinal)) // the ids of A, swapped
	}
	without := entry(9, 0)
	without.Ordinal = nil
	b.add(without)
	l := newAligner(Options{})
	l.remap = remapping(a, b)
	if want := (map[uint32]uint32{2: 1, 1: 2}); !reflect.DeepEqual(l.remap, want) {
		t.Fatalf("got %v, want %v", l.remap, want)
	}
	other := stream(t, "2 1 9")
	if err := l.warp(0, stream(t, "1 2 9"), other); err != nil || len(l.found) > 0 {
		t.Errorf("got %v (%v), want nothing", l.found, err)
	}
	if !reflect.DeepEqual(other.Site, []uint32{2, 1, 9}) {
		t.Errorf("the recording was changed: %v", other.Site)
	}
	if remapping(a, nil) != nil || remapping(nil, b) != nil {
		t.Error("one map alone remaps")
	}
}

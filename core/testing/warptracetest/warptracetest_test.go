package warptracetest

import (
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// programs visits recordings of many programs.
func programs(t *testing.T, n int, visit func(t *testing.T, p *Program, l Launch, r *Recording)) {
	t.Helper()
	for seed := range uint64(n) {
		c := Config{Seed: seed, Structured: seed%3 == 1, Endless: seed%4 == 3}
		if !c.Endless {
			c.Noise = int(seed % 3)
		}
		p := NewProgram(c)
		l := Launch{Warps: 10, Wave: 32 << (seed & 1), Loads: seed%5 == 2, Barriers: seed%5 == 3, Snapshots: int(seed%4) - 1, History: int(seed%3) * 8}
		if c.Endless {
			l.Events = 1000
		}
		t.Run("seed"+strconv.FormatUint(seed, 10), func(t *testing.T) { visit(t, p, l, p.Run(l)) })
	}
}

func TestMasksAreThoseOfDivergentExecution(t *testing.T) {
	programs(t, 24, func(t *testing.T, p *Program, l Launch, r *Recording) {
		full := ^uint64(0) >> (64 - r.Header.WaveSize)
		for i := range r.Warps {
			w := &r.Warps[i]
			last := make([]int, p.Sites().Len()) // newest event of each site, plus 1
			for e := range w.Len() {
				s := int(w.Site[e])
				if w.Active[e] == 0 || w.Active[e]&^full != 0 {
					t.Fatalf("warp %d event %d: active lanes %#x of %#x", w.Warp, e, w.Active[e], full)
				}
				if w.Taken[e]&^w.Active[e] != 0 {
					t.Fatalf("warp %d event %d: taken %#x outside active %#x", w.Warp, e, w.Taken[e], w.Active[e])
				}
				if k := w.Kind[e]; k == site.Branch || k == site.Predicate {
					if leader := bits.TrailingZeros64(w.Active[e]); uint64(w.Dir[e]) != w.Taken[e]>>leader&1 {
						t.Fatalf("warp %d event %d: direction %d, the leader is lane %d of taken %#x", w.Warp, e, w.Dir[e], leader, w.Taken[e])
					}
				}
				if in := p.arms[s]; in.site >= 0 {
					outer := last[in.site] - 1
					if outer < 0 {
						t.Fatalf("warp %d event %d: its branch never happened", w.Warp, e)
					}
					allowed := w.Active[outer]
					switch in.kind {
					case armTaken:
						allowed = w.Taken[outer]
					case armNotTaken:
						allowed &^= w.Taken[outer]
					}
					if w.Active[e]&^allowed != 0 {
						t.Fatalf("warp %d event %d: active %#x outside %#x of the branch at event %d", w.Warp, e, w.Active[e], allowed, outer)
					}
				}
				last[s] = e + 1
			}
		}
	})
}

func TestOperandsOfLanesDecideTheirBranches(t *testing.T) {
	checked := 0
	programs(t, 16, func(t *testing.T, p *Program, l Launch, r *Recording) {
		for i := range r.Warps {
			w := &r.Warps[i]
			for _, s := range w.Snapshots {
				e := int(s.Event)
				if w.Site[e] != s.Site || w.Active[e] != s.Active {
					t.Fatalf("warp %d: snapshot of event %d is of another event", w.Warp, e)
				}
				if s.Role != warptrace.RoleCompare {
					continue
				}
				checked++
				for rest := s.Active; rest != 0; rest &= rest - 1 {
					lane := bits.TrailingZeros64(rest)
					if got, want := w.Taken[e]>>lane&1 == 1, holds(s.Compare, s.Type, s.Lhs[lane], s.Rhs[lane]); got != want {
						t.Fatalf("warp %d event %d lane %d: taken %v, but %#x %d %#x", w.Warp, e, lane, got, s.Lhs[lane], s.Compare, s.Rhs[lane])
					}
				}
			}
		}
	})
	if checked == 0 {
		t.Fatal("no snapshot was checked")
	}
}

// holds evaluates a compare from what a recording keeps of it.
func holds(c site.Compare, typ warptrace.ValueType, x, y uint64) bool {
	var a, b float64
	if typ == warptrace.TypeF32 {
		a, b, _ = warptrace.Floats(x, y, typ)
	} else {
		a, b = float64(int32(x)), float64(int32(y))
	}
	switch c {
	case cmpEQ:
		return a == b
	case cmpNE:
		return a != b
	case cmpSGT, cmpOGT:
		return a > b
	case cmpSGE:
		return a >= b
	case cmpSLE:
		return a <= b
	}
	return a < b
}

func TestEqualSeedsGiveEqualRecordings(t *testing.T) {
	programs(t, 12, func(t *testing.T, p *Program, l Launch, r *Recording) {
		l.Workers = 1
		again := NewProgram(p.Config).Run(l)
		if !reflect.DeepEqual(r.Warps, again.Warps) || !reflect.DeepEqual(r.Header, again.Header) || !reflect.DeepEqual(p.sites, again.Program.sites) {
			t.Error("another run of the same seeds differs")
		}
		l.Data = 77
		if reflect.DeepEqual(r.Warps, p.Run(l).Warps) && !p.Config.Structured {
			t.Error("other data gives the same events")
		}
	})
}

func TestEachGivesWhatRunGives(t *testing.T) {
	p := NewProgram(Config{Seed: 5})
	l := Launch{Warps: 30, Share: 0.5, Snapshots: 4, History: 4}
	want, n := p.Run(l), 0
	if len(want.Warps) < 5 || len(want.Warps) > 25 {
		t.Fatalf("%d of 30 warps record, asked for half", len(want.Warps))
	}
	err := p.Each(l, func(w *warptrace.Warp) error {
		if !reflect.DeepEqual(*w, want.Warps[n]) {
			t.Errorf("warp %d differs", w.Warp)
		}
		n++
		return nil
	})
	if err != nil || n != len(want.Warps) {
		t.Errorf("%d warps, want %d: %v", n, len(want.Warps), err)
	}
}

func TestSourceAgreesWithSites(t *testing.T) {
	programs(t, 12, func(t *testing.T, p *Program, l Launch, r *Recording) {
		lines := map[string][]string{}
		for _, f := range p.Files() {
			lines[f.Name] = strings.Split(f.Text, "\n")
		}
		inlined := false
		for i := range p.Sites().Len() {
			s := p.Sites().At(i)
			inlined = inlined || len(s.Chain) > 1
			for depth, f := range s.Chain {
				if int(f.Line) > len(lines[f.File]) {
					t.Fatalf("site %d: no line %d in %s", i, f.Line, f.File)
				}
				text := lines[f.File][f.Line-1][f.Column-1:]
				want := map[site.Kind]string{
					site.Branch: compares[s.Compare].text, site.Predicate: "?", site.Atomic: "atomicAdd(", site.Switch: "& 3", site.Load: "[",
					site.GlobalStore: "] =", site.SharedStore: "tile[", site.Barrier: "__syncthreads",
				}[s.Kind]
				if depth > 0 {
					want = "("
				}
				if !strings.Contains(text, want) {
					t.Errorf("site %d, a %s: %s:%d reads %q", i, s.Kind, f.File, f.Line, text)
				}
			}
			if j, ok := p.Sites().ByKey(s.Key); !ok || j != i {
				t.Errorf("site %d shares its key with site %d", i, j)
			}
		}
		if !inlined {
			t.Error("nothing is inlined")
		}
	})
}

func TestOnlyNoiseDependsOnTheRun(t *testing.T) {
	p := NewProgram(Config{Seed: 3, Noise: 3})
	a := p.Run(Launch{Warps: 40, Run: 1})
	varied := 0
	for run := uint64(2); run < 6; run++ {
		b := p.Run(Launch{Warps: 40, Run: run})
		for i := range a.Warps {
			x, y := withoutSites(&a.Warps[i], a.Noise), withoutSites(&b.Warps[i], b.Noise)
			if _, differ := compareWarp(x, y, WithValues); differ {
				t.Fatalf("run %d, warp %d: something besides the noise differs", run, i)
			}
		}
		varied += len(Compare(a, b, WithValues))
	}
	if varied == 0 {
		t.Error("the noise is the same in all runs")
	}
}

func withoutSites(w *warptrace.Warp, sites []int) *warptrace.Warp {
	out := &warptrace.Warp{WarpInfo: w.WarpInfo}
	for e := range w.Len() {
		if !slices.Contains(sites, int(w.Site[e])) {
			appendRun(out, w, e, e+1)
		}
	}
	return out
}

func TestBugsShowAtTheirLine(t *testing.T) {
	for _, name := range BugNames() {
		for seed := range uint64(6) {
			p := NewProgram(Config{Seed: seed, Race: name == "race"})
			buggy, err := p.WithBug(name)
			if err != nil {
				t.Fatal(err)
			}
			l := Launch{Warps: 16, Data: 9, Run: 1}
			a := p.Run(l)
			l.Run = 2
			b := buggy.Run(l)
			truth := &Truth{}
			truth.Judge(a, b)
			if truth.First == nil {
				t.Errorf("bug %s, seed %d does not show", name, seed)
				continue
			}
			for i := range p.sites {
				if p.sites[i].Key != buggy.sites[i].Key {
					t.Fatalf("bug %s, seed %d: site %d has another key", name, seed, i)
				}
			}
			for _, d := range truth.Warps {
				if !slices.Contains(buggy.Bug.Sites, max(d.Site, d.SiteB)) {
					t.Errorf("bug %s, seed %d: warp %d differs first at site %d (%s), the bug is at %s and shows at %v", name, seed, d.Warp, d.Site,
						site.FormatLocation(p.Sites().At(max(0, d.Site))), buggy.Bug.Location, buggy.Bug.Sites)
				}
			}
		}
	}
	if _, err := NewProgram(Config{}).WithBug("no such"); err == nil {
		t.Error("an unknown bug is accepted")
	}
}

func TestEditsAreWhatTheirTruthSays(t *testing.T) {
	for seed := range uint64(40) {
		p := NewProgram(Config{Seed: seed, Endless: true})
		a := p.Run(Launch{Warps: 4, Events: 400, Snapshots: int(seed%2) * 8, History: 4, Wave: 32 << (seed & 1)})
		e := Edits{Seed: seed, Count: 1 + int(seed), MinRun: 1, MaxRun: 1 + int(seed*7%60)}
		if seed%3 == 0 {
			e = Edits{Seed: seed, Rate: 0.05}
		}
		b, truth := Edit(a, e)
		checkScript(t, a, b, truth)
		streamed := &Truth{}
		for i := range a.Warps {
			ed, w := e.Editor(a.Warps[i].Warp, a.Sites, a.Header.WaveSize), warptrace.Warp{}
			ed.Edit(&a.Warps[i], &w)
			streamed.Add(&a.Warps[i], &w, a.Sites, ed)
		}
		if streamed.Done(); !reflect.DeepEqual(streamed, truth) {
			t.Errorf("seed %d: warp by warp the truth is another", seed)
		}
		first := map[uint64]Difference{}
		for _, d := range truth.Warps {
			first[d.Warp] = d
		}
		for i := range a.Warps {
			x, y := &a.Warps[i], &b.Warps[i]
			n := 0
			for n < min(x.Len(), y.Len()) && event(x, n) == event(y, n) {
				n++
			}
			if d, ok := first[x.Warp]; ok != (n < x.Len() || n < y.Len()) || ok && d.Event != n {
				t.Errorf("seed %d warp %d: %d equal events, truth %+v", seed, x.Warp, n, d)
			}
			for _, s := range y.Snapshots {
				if s.Event >= 0 && y.Site[s.Event] != s.Site {
					t.Errorf("seed %d warp %d: a snapshot moved to an event of another site", seed, x.Warp)
				}
			}
		}
	}
}

type oneEvent struct {
	site          uint32
	dir           uint8
	active, taken uint64
	value         uint64
}

func event(w *warptrace.Warp, i int) oneEvent {
	return oneEvent{w.Site[i], w.Dir[i], w.Active[i], w.Taken[i], w.Value[i]}
}

// checkScript applies the script to A: what is kept must be equal, and what is left is B.
func checkScript(t *testing.T, a, b *Recording, truth *Truth) {
	t.Helper()
	cost, k := int64(0), 0
	for i := range a.Warps {
		x, y := &a.Warps[i], &b.Warps[i]
		at, atB := 0, 0
		kept := func(to, toB int) {
			if to-at != toB-atB {
				t.Fatalf("warp %d: %d events of A are kept as %d of B", x.Warp, to-at, toB-atB)
			}
			for ; at < to; at, atB = at+1, atB+1 {
				if event(x, at) != event(y, atB) {
					t.Fatalf("warp %d: event %d of A is not event %d of B", x.Warp, at, atB)
				}
			}
		}
		for ; k < len(truth.Edits) && truth.Edits[k].Warp == x.Warp; k++ {
			e := truth.Edits[k]
			kept(e.At, e.AtB)
			switch e.Kind {
			case FlipBranch, ChangeMask, ChangeBits:
				if x.Site[at] != y.Site[atB] || event(x, at) == event(y, atB) {
					t.Fatalf("warp %d: edit %+v changes nothing, or the site", x.Warp, e)
				}
				if y.Taken[atB]&^y.Active[atB] != 0 || y.Active[atB] == 0 {
					t.Fatalf("warp %d: edit %+v leaves masks %#x of %#x", x.Warp, e, y.Taken[atB], y.Active[atB])
				}
			default:
				cost += int64(e.Count + e.CountB)
			}
			at, atB = at+e.Count, atB+e.CountB
		}
		kept(x.Len(), y.Len())
	}
	if cost != truth.Cost || k != len(truth.Edits) {
		t.Errorf("cost %d, truth says %d; %d of %d edits are of recorded warps", cost, truth.Cost, k, len(truth.Edits))
	}
}

func TestPortableProgramsDoTheSameAtEveryWidth(t *testing.T) {
	type step struct {
		site  uint32
		taken bool
	}
	threads := func(r *Recording) [][]step {
		out := make([][]step, int(r.Header.WarpSlots)*r.Header.WaveSize)
		for i := range r.Warps {
			w := &r.Warps[i]
			for e := range w.Len() {
				for rest := w.Active[e]; rest != 0; rest &= rest - 1 {
					lane := bits.TrailingZeros64(rest)
					n := int(w.Warp)*r.Header.WaveSize + lane
					out[n] = append(out[n], step{w.Site[e], w.Taken[e]>>lane&1 == 1 || w.Kind[e] == site.Switch})
				}
			}
		}
		return out
	}
	for seed := range uint64(8) {
		p := NewProgram(Config{Seed: seed, Portable: true})
		narrow := threads(p.Run(Launch{Warps: 16, WarpsPerBlock: 4, Wave: 32}))
		wide := threads(p.Run(Launch{Warps: 8, WarpsPerBlock: 2, Wave: 64}))
		for i := range narrow {
			if !slices.Equal(narrow[i], wide[i]) {
				t.Fatalf("seed %d: thread %d takes another way in warps of 64", seed, i)
			}
		}
	}
}

func TestCapacityDropsAndCounts(t *testing.T) {
	p := NewProgram(Config{Seed: 1})
	whole, cut := p.Run(Launch{Warps: 4}), p.Run(Launch{Warps: 4, Events: 20})
	for i := range cut.Warps {
		w, all := &cut.Warps[i], &whole.Warps[i]
		if w.Len() != 20 || w.Total != uint64(all.Len()) || w.Dropped != uint64(all.Len()-20) || !slices.Equal(w.Site, all.Site[:20]) {
			t.Errorf("warp %d: %d kept of %d, %d dropped; it has %d", w.Warp, w.Len(), w.Total, w.Dropped, all.Len())
		}
	}
}

func TestStructuredAndEndlessShapesAreFull(t *testing.T) {
	r := NewProgram(Config{Seed: 2, Endless: true, Structured: true}).Run(Launch{Warps: 8, Events: 4096})
	for i := range r.Warps {
		if w := &r.Warps[i]; w.Len() != 4096 || w.Dropped != 0 {
			t.Errorf("warp %d has %d events, %d dropped", w.Warp, w.Len(), w.Dropped)
		}
	}
}

func BenchmarkEndless(b *testing.B) {
	p := NewProgram(Config{Seed: 1, Endless: true})
	for b.Loop() {
		p.Run(Launch{Warps: 64, Events: 4096, Workers: 1})
	}
	b.ReportMetric(float64(b.N)*64*4096/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkEdit(b *testing.B) {
	a := NewProgram(Config{Seed: 1, Endless: true}).Run(Launch{Warps: 64, Events: 4096, Workers: 1})
	for b.Loop() {
		Edit(a, Edits{Seed: 1, Rate: 0.05})
	}
	b.ReportMetric(float64(b.N)*64*4096/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

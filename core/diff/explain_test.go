package diff

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// One warp of 32 lanes, told event by event.
type (
	told struct {
		site     int
		taken    uint64
		role     warptrace.SnapshotRole
		typ      warptrace.ValueType
		lhs, rhs []uint64 // nil: no snapshot
	}
	story struct {
		a, b     []told
		row      Row
		class    string
		least    string // confidence
		says     string // in the sentences for the class
		module   [2]string
		extra    []Row // more warps
		digest   uint64
		baseline *Baseline
	}
)

const all32 = 1<<32 - 1

func each(f func(lane int) uint64) []uint64 {
	v := make([]uint64, 32)
	for k := range v {
		v[k] = f(k)
	}
	return v
}

func same(v uint64) []uint64 { return each(func(int) uint64 { return v }) }

func floats(f func(lane int) float32) []uint64 {
	return each(func(k int) uint64 { return uint64(math.Float32bits(f(k))) })
}

// The sites that all stories share.
const (
	sLoop = iota
	sMask
	sData
	sLoad
	sAtomic
	sSum
	sSumTest
	sBest
	sTicket
)

func explainSites() []site.Site {
	at := func(kind site.Kind, line uint32, text string, operands ...site.Operand) site.Site {
		return site.Site{
			Kind: kind, Text: text, Operands: operands, Ordinal: -1, Compare: site.NoCompare,
			Chain: []site.Frame{{Function: "k", File: "k.cu", Line: line, Column: 3}},
		}
	}
	from := func(role string, o site.Origin, name string) site.Operand {
		return site.Operand{Role: role, Type: "i32", Origin: o, Name: name}
	}
	return []site.Site{
		sLoop:    at(site.Branch, 10, "icmp slt i32", from("lhs", site.FromCarried, "i"), from("rhs", site.FromConstant, "5")),
		sMask:    at(site.Predicate, 11, "icmp slt i32", from("lhs", site.FromProgramID, "threadIdx.x"), from("rhs", site.FromArgument, "n")),
		sData:    at(site.Branch, 12, "icmp slt i32", from("lhs", site.FromLoad, "v"), from("rhs", site.FromConstant, "100")),
		sLoad:    at(site.Load, 13, "load i32", from("address", site.FromArith, "x + i")),
		sAtomic:  at(site.Atomic, 14, "atomicrmw add", from("address", site.FromArgument, "counter")),
		sSum:     at(site.Value, 15, "", from("value", site.FromShuffle, "sum")),
		sSumTest: at(site.Branch, 16, "fcmp ogt float", from("lhs", site.FromShuffle, "sum"), from("rhs", site.FromConstant, "27.25")),
		sBest:    at(site.Branch, 17, "icmp sgt i32", from("lhs", site.FromLoad, "cand"), from("rhs", site.FromCarried, "best")),
		sTicket:  at(site.Branch, 18, "icmp eq i32", from("lhs", site.FromAtomic, "ticket"), from("rhs", site.FromConstant, "0")),
	}
}

func recordStory(t *testing.T, name string, events []told, module string, digest uint64) *warptrace.Trace {
	t.Helper()
	sites := explainSites()
	w := warptrace.Warp{}
	for i, e := range events {
		w.Site = append(w.Site, uint32(e.site))
		w.Kind = append(w.Kind, sites[e.site].Kind)
		w.Dir = append(w.Dir, uint8(e.taken&1))
		w.Aux = append(w.Aux, 0)
		w.Active = append(w.Active, all32)
		w.Taken = append(w.Taken, e.taken)
		w.Value = append(w.Value, 0)
		w.Type = append(w.Type, warptrace.TypeNone)
		if e.lhs != nil {
			w.Snapshots = append(w.Snapshots, warptrace.Snapshot{
				Site: uint32(e.site), Event: int32(i), Seq: uint32(len(w.Snapshots)), Active: all32, Compare: site.NoCompare,
				Role: e.role, Type: e.typ, Lhs: e.lhs, Rhs: e.rhs,
			})
		}
	}
	var out bytes.Buffer
	h := warptrace.Header{
		Kernel: "k", WaveSize: 32, Grid: [3]uint32{8, 1, 1}, Block: [3]uint32{32, 1, 1}, WarpSlots: 8, WarpsPerBlock: 1,
		SampleRate: 1, Taken: true, ModuleHash: module, ArgumentDigest: digest, Mode: warptrace.ModeValues,
	}
	writer, err := warptrace.CreateV2(&out, h, site.NewTable(sites), warptrace.V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Append(&w); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := file.FromBytes(name, out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close(); src.Close() })
	return trace
}

func (s *story) explain(t *testing.T) *Explanation {
	t.Helper()
	a := recordStory(t, "a.prlx", s.a, s.module[0], s.digest)
	b := recordStory(t, "b.prlx", s.b, s.module[1], s.digest)
	r := &Result{A: a.Header(), B: b.Header(), First: 0, Rows: append([]Row{s.row}, s.extra...), Baseline: s.baseline}
	r.Rows[0].Cluster = -1
	for i := range a.Sites().Len() {
		known := a.Sites().At(i)
		r.Sites = append(r.Sites, SiteRef{ID: uint64(known.Key), Wide: true, Kind: known.Kind, Site: known, LocalA: int64(i), LocalB: int64(i)})
	}
	why, err := Explain(nil, r, a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Why != why {
		t.Error("the result does not keep its explanation")
	}
	return why
}

func compareI32(at int, taken uint64, lhs, rhs []uint64) told {
	return told{site: at, taken: taken, typ: warptrace.TypeI32, lhs: lhs, rhs: rhs}
}

func branchRow(at int, event int32) Row {
	return Row{Kind: RowBranch, SiteA: int32(at), SiteB: int32(at), EventA: event, EventB: event, Count: 1, CountB: 1, ActiveA: all32, ActiveB: all32}
}

// loop is a loop that runs n times, i below the bound.
func loop(n int, bound uint64) []told {
	var events []told
	for i := range n {
		events = append(events, compareI32(sLoop, all32, same(uint64(i)), same(bound)))
	}
	return append(events, compareI32(sLoop, 0, same(uint64(n)), same(bound)))
}

func stories() map[string]*story {
	lane := func(k int) uint64 { return uint64(k * 7 % 31) }
	load := func(address, value []uint64) told {
		return told{site: sLoad, role: warptrace.RoleLoad, typ: warptrace.TypeI32, lhs: address, rhs: value}
	}
	atomic := func(operand, old []uint64) told {
		return told{site: sAtomic, role: warptrace.RoleAtomic, typ: warptrace.TypeI32, lhs: operand, rhs: old}
	}
	sum := func(v []uint64) told {
		return told{site: sSum, role: warptrace.RoleValue, typ: warptrace.TypeF32, lhs: v}
	}
	third := floats(func(k int) float32 { return float32(k+1) / 3 })
	halves := floats(func(k int) float32 { // a third in ten digits
		return math.Float32frombits((math.Float32bits(float32(k+1)/3) + 1<<12) &^ (1<<13 - 1))
	})
	address := each(func(k int) uint64 { return 0x1000 + 4*uint64(k) })
	var staleA, staleB []told
	values := func(pass int) []uint64 { return each(func(k int) uint64 { return uint64(pass*100 + k) }) }
	for pass := range 6 {
		staleA = append(staleA, load(same(uint64(0x100+pass%2*64)), values(pass+1)))
		staleB = append(staleB, load(same(uint64(0x100+(pass+1)%2*64)), values(pass)))
	}
	return map[string]*story{
		"the bound of a loop": {
			a: loop(5, 5), b: loop(4, 4), row: branchRow(sLoop, 0), class: classLoop, least: confidenceStrong, says: "the bound differs",
		},
		"a loop that compares differently": {
			a: loop(5, 5), b: append(loop(5, 5)[:5], compareI32(sLoop, all32, same(5), same(5)), compareI32(sLoop, 0, same(6), same(5))),
			row: branchRow(sLoop, 5), class: classLoop, least: confidenceStrong, says: "compares differently",
		},
		"a mask that compares differently": {
			a:   []told{compareI32(sMask, 1<<16-1, each(func(k int) uint64 { return uint64(k) }), same(16))},
			b:   []told{compareI32(sMask, 1<<17-1, each(func(k int) uint64 { return uint64(k) }), same(16))},
			row: branchRow(sMask, 0), class: classIndex, least: confidenceStrong, says: "compares differently",
		},
		"a mask with another bound": {
			a:   []told{compareI32(sMask, 1<<16-1, each(func(k int) uint64 { return uint64(k) }), same(16))},
			b:   []told{compareI32(sMask, 1<<20-1, each(func(k int) uint64 { return uint64(k) }), same(20))},
			row: branchRow(sMask, 0), class: classIndex, least: confidenceStrong, says: "indices and arguments alone",
		},
		"another address": {
			a:   []told{load(address, each(lane)), compareI32(sData, 3, each(lane), same(100))},
			b:   []told{load(each(func(k int) uint64 { return 0x1040 + 4*uint64(k) }), same(9)), compareI32(sData, 1, same(9), same(100))},
			row: branchRow(sData, 1), class: classIndex, least: confidenceStrong, says: "other addresses are accessed at k.cu:13",
		},
		"the order of atomics": {
			a: []told{atomic(same(1), each(lane)), compareI32(sTicket, 3, each(lane), same(0))},
			b: []told{
				atomic(same(1), each(func(k int) uint64 { return lane(31 - k) })),
				compareI32(sTicket, 1, each(func(k int) uint64 { return lane(31 - k) }), same(0)),
			},
			row: branchRow(sTicket, 1), class: classRace, least: confidenceStrong, says: "did the same and found another value",
		},
		"half precision": {
			a:   []told{sum(third), {site: sSumTest, taken: 1, typ: warptrace.TypeF32, lhs: third, rhs: same(0)}},
			b:   []told{sum(halves), {site: sSumTest, taken: 3, typ: warptrace.TypeF32, lhs: halves, rhs: same(0)}},
			row: branchRow(sSumTest, 1), class: classPrecision, least: confidenceLikely, says: "at most 10 digits",
		},
		"the order of a sum": {
			a:      []told{{site: sSumTest, taken: 1, typ: warptrace.TypeF32, lhs: third, rhs: same(0)}},
			b:      []told{{site: sSumTest, taken: 3, typ: warptrace.TypeF32, lhs: each(func(k int) uint64 { return third[k] + 1 }), rhs: same(0)}},
			row:    branchRow(sSumTest, 0),
			module: [2]string{"aa", "aa"}, digest: 7, class: classRace, least: confidenceLikely, says: "comes out of a reduction",
		},
		"the round before": {
			a: append(staleA, compareI32(sData, 1, values(6), same(100))), b: append(staleB, compareI32(sData, 3, values(5), same(100))),
			row: branchRow(sData, 6), class: classStale, least: confidenceLikely, says: "had read one pass before",
		},
		"what a register held": {
			a:   []told{compareI32(sBest, all32, each(lane), same(0))},
			b:   []told{compareI32(sBest, 0, each(lane), each(func(k int) uint64 { return scramble(uint64(k)) & (1<<31 - 1) }))},
			row: branchRow(sBest, 0), class: classStale, least: confidenceStrong, says: "is one constant on one side",
		},
		"memory that nobody wrote": {
			a:   []told{load(address, each(lane)), compareI32(sData, 3, each(lane), same(100))},
			b:   []told{load(address, same(0xcdcdcdcd)), compareI32(sData, 1, same(0xcdcdcdcd), same(100))},
			row: branchRow(sData, 1), class: classStale, least: confidenceLikely, says: "as memory that nobody wrote does",
		},
		"decisions alone": {
			a: []told{{site: sData, taken: 1}}, b: []told{{site: sData, taken: 3}},
			row: branchRow(sData, 0), class: classUnknown, least: confidenceWeak,
		},
		"data alone": {
			a:   []told{load(address, each(lane)), compareI32(sData, 3, each(lane), same(100))},
			b:   []told{load(address, each(func(k int) uint64 { return lane(k) * 77 })), compareI32(sData, 1, each(func(k int) uint64 { return lane(k) * 77 }), same(100))},
			row: branchRow(sData, 1), class: classUnknown, least: confidenceWeak,
		},
	}
}

var sure = []string{confidenceWeak, confidenceLikely, confidenceStrong}

func TestEachCauseIsRecognisedByItsTraces(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			why := s.explain(t)
			if why.Class != s.class || slices.Index(sure, why.Confidence) < slices.Index(sure, s.least) {
				t.Errorf("%s (%s), want %s (%s)\n%s\n%+v", why.Class, why.Confidence, s.class, s.least, why.Summary, why.Considered)
			}
			if len(why.Considered) != classes {
				t.Errorf("%d classes were considered, want every one of %d", len(why.Considered), classes)
			}
			if s.says != "" && !strings.Contains(strings.Join(why.Considered[0].For, "\n"), s.says) {
				t.Errorf("%q does not say %q", why.Considered[0].For, s.says)
			}
			if len(why.Chain) == 0 || !why.Chain[0].Recorded || why.Chain[0].SourceLocation == "" {
				t.Errorf("the chain does not begin with the divergence: %+v", why.Chain)
			}
		})
	}
}

// Which recording is called A must not matter to the class.
func TestTheClassIsTheSameTheOtherWayRound(t *testing.T) {
	for name, s := range stories() {
		s.a, s.b = s.b, s.a
		s.module[0], s.module[1] = s.module[1], s.module[0]
		s.row.EventA, s.row.EventB = s.row.EventB, s.row.EventA
		if why := s.explain(t); why.Class != s.class {
			t.Errorf("%s: %s the other way round, want %s: %+v", name, why.Class, s.class, why.Considered)
		}
	}
}

func TestTheOrderOfTheRulesMeansNothing(t *testing.T) {
	before := explainRules
	defer func() { explainRules = before }()
	for name, s := range stories() {
		explainRules = before
		want := s.explain(t)
		explainRules = slices.Clone(before)
		slices.Reverse(explainRules)
		if got := s.explain(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with the rules in reverse\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

func TestTheSameBuildOnTheSameArgumentsCannotChoose(t *testing.T) {
	s := stories()["the bound of a loop"]
	s.module, s.digest = [2]string{"aa", "aa"}, 7
	if why := s.explain(t); why.Class != classUnknown {
		t.Errorf("%s, although nothing in the program or its arguments can have changed the bound: %+v", why.Class, why.Considered)
	}
}

func TestWhatWasNotRecordedIsSaid(t *testing.T) {
	why := stories()["decisions alone"].explain(t)
	text := strings.Join(why.Missing, "\n")
	for _, want := range []string{"the operands of every lane at k.cu:12", "what was loaded on the way", "--baseline", "the same build"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q does not name %q", why.Missing, want)
		}
	}
	why = stories()["another address"].explain(t)
	if text := strings.Join(why.Missing, "\n"); strings.Contains(text, "operands of every lane") || strings.Contains(text, "loaded on the way") {
		t.Errorf("what was recorded is called missing: %q", why.Missing)
	}
}

func TestTheChainGoesBackToTheFirstDataThatDiffers(t *testing.T) {
	why := stories()["another address"].explain(t)
	var steps []string
	for _, l := range why.Chain {
		steps = append(steps, l.What)
	}
	if !slices.Contains(steps, "compare") || !slices.Contains(steps, "operand") || !slices.Contains(steps, "load") {
		t.Errorf("steps %v, want the compare, its operand, and the load", steps)
	}
	if last := why.Chain[len(why.Chain)-1]; !strings.HasSuffix(last.SourceLocation, ":13:3") || !last.Recorded {
		t.Errorf("the chain ends at %+v, want the load in line 13", last)
	}
}

func TestNothingIsExplainedWhereNothingDiffers(t *testing.T) {
	if why, err := Explain(nil, &Result{First: -1}, nil, nil, Options{}); why != nil || err != nil {
		t.Errorf("got %+v, %v", why, err)
	}
}

func TestWarpsOfTwoWidthsAreNotExplained(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 3})
	q, err := p.WithBug("bound")
	if err != nil {
		t.Fatal(err)
	}
	a := p.Run(warptracetest.Launch{Warps: 8, WarpsPerBlock: 4, Wave: 32}).OpenV2(t, "a.prlx")
	b := q.Run(warptracetest.Launch{Warps: 4, WarpsPerBlock: 2, Wave: 64}).OpenV2(t, "b.prlx")
	opt := Options{CrossGPU: true}
	r, err := Compare(nil, a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	why, err := Explain(nil, r, a, b, opt)
	if err != nil || why == nil || why.Class != classUnknown || len(why.Missing) != 1 || !strings.Contains(why.Summary, "32 and 64 lanes") {
		t.Errorf("got %+v, %v", why, err)
	}
}

func TestEveryClusterCanBeExplained(t *testing.T) {
	a, b, bug := seededBug(t, 4, "mask", warptracetest.Launch{Snapshots: -1, Loads: true})
	x, y := a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx")
	r, err := Compare(nil, x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Clusters {
		why, err := explainRow(nil, r, x, y, &r.Clusters[i].First, Options{})
		if err != nil || why.Class != bug.Class && why.Class != classUnknown {
			t.Errorf("cluster %d: %+v, %v", i, why, err)
		}
	}
	if r.Why != nil {
		t.Error("the explanation of a cluster was kept as that of the first divergence")
	}
}

// Memory that held something else before is no order: what an atomic found does not make a race strong by itself.
func TestOtherContentsUnderAnAtomicAreNotAStrongRace(t *testing.T) {
	s := stories()["the order of atomics"]
	lane := func(k int) uint64 { return uint64(7 * k) }
	s.b[0].rhs = each(func(k int) uint64 { return lane(k) + 1000 })
	if why := s.explain(t); why.Confidence == confidenceStrong {
		t.Errorf("%s (%s), although no other lane or warp found these values: %+v", why.Class, why.Confidence, why.Considered)
	}
	s.module, s.digest = [2]string{"aa", "aa"}, 7
	if why := s.explain(t); why.Class != classRace {
		t.Errorf("%s, although the same build on the same arguments can differ in order alone: %+v", why.Class, why.Considered)
	}
}

func TestNoClassIsStrongWithoutATest(t *testing.T) {
	many := []finding{{race, 20, "much evidence"}}
	if why := conclude(many, [classes]bool{}); why.Confidence != confidenceLikely {
		t.Errorf("got %s, want likely", why.Confidence)
	}
	if why := conclude(many, [classes]bool{precision: true}); why.Confidence != confidenceLikely {
		t.Errorf("with the test of another class: got %s, want likely", why.Confidence)
	}
	if why := conclude(many, [classes]bool{race: true}); why.Confidence != confidenceStrong {
		t.Errorf("with its own test: got %s, want strong", why.Confidence)
	}
}

package combine

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// The five values of a run, each made of values that were written down here, without a file.

// textNode is a dated Chrome trace that lasts from one instant to another.
func textNode(id string, number int, from, to int64) *Node {
	return &Node{
		identity: identity{ID: id, Number: number}, Path: id + ".json", text: textual{}, absolute: true, start: from,
		facts: &source.Facts{First: source.Instant{NS: from}, Last: source.Instant{NS: to}, Timed: 10},
	}
}

// inputsOf are inputs of some nodes, the first the reference.
func inputsOf(req Request, nodes ...*Node) *inputs {
	if err := req.normalize(); err != nil {
		panic(err)
	}
	return &inputs{req: &req, nodes: nodes, doubted: make([]bool, len(nodes)), parties: partiesOf(nodes), found: make(findings, len(nodes))}
}

// evidenceOfNothing is what is known where no clock file was given.
func evidenceOfNothing(in *inputs) *evidence {
	ev := untold(in)
	for _, n := range in.nodes {
		ev.files.numbers = append(ev.files.numbers, n.Number)
	}
	ev.relation.numbers = ev.files.numbers
	return ev
}

func TestPartiesAreNamedApart(t *testing.T) {
	merged := func(id string, members ...string) *Node {
		n := &Node{identity: identity{ID: id}, marking: marking{mark: &aligned.Mark{}}}
		for _, m := range members {
			n.mark.Nodes = append(n.mark.Nodes, aligned.Node{ID: m})
		}
		return n
	}
	got := partiesOf([]*Node{{identity: identity{ID: "a"}}, merged("b+c", "b", "c"), merged("a+b", "a", "b")})
	want := []party{{0, 0, "a"}, {1, 0, "b"}, {1, 1, "c"}, {2, 0, "a+b/a"}, {2, 1, "a+b/b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestADestinationIsNamedByWhatWasDone(t *testing.T) {
	dir := t.TempDir()
	nodes := []*Node{textNode("a", 0, 0, 1), textNode("b", 1, 0, 1)}
	for _, n := range nodes {
		n.Path = filepath.Join(dir, "run", n.Path)
	}
	no := false
	for _, c := range []struct {
		req       Request
		corrected bool
		want      string
	}{
		{Request{}, true, "run_aligned.json.gz"},
		{Request{}, false, "run_unaligned.json.gz"},
		{Request{ApplyAlignment: &no}, false, "run_merged.json.gz"},
		{Request{Output: "mine.json"}, false, "mine.json"},
	} {
		to := destination{format: FormatChrome, output: c.req.Output}
		got, notes, err := to.named(&c.req, nodes, c.corrected)
		if err != nil || filepath.Base(got.output) != c.want || len(notes) > 0 {
			t.Errorf("%+v, corrected %v: %q, %v, %v; want %s", c.req, c.corrected, got.output, notes, err, c.want)
		}
		if to.output != c.req.Output {
			t.Errorf("naming changed the destination that was given: %q", to.output)
		}
	}
}

func TestSnapshotsBelongToTheNodeThatIsNamed(t *testing.T) {
	rank, host := 1, "h"
	a, b := textNode("a", 0, 0, 1), textNode("b", 1, 0, 1)
	one := int64(1)
	a.Path, b.Path, b.Rank, b.Host = "/d/a.xplane.pb", "/d/b.xplane.pb", &one, host
	for name, c := range map[string]struct {
		in   Input
		says clockfile.Snapshots
		want []int
	}{
		"as given":           {Input{ID: "b", Path: "x.pb"}, clockfile.Snapshots{}, []int{1}},
		"by its path":        {Input{Path: "node1.pb"}, clockfile.Snapshots{}, []int{1}},
		"beside its trace":   {Input{Path: "/d/a.snapshot_pairs.pb"}, clockfile.Snapshots{}, []int{0}},
		"by its rank":        {Input{Path: "x.pb"}, clockfile.Snapshots{Rank: &rank}, []int{1}},
		"by its host":        {Input{Path: "x.pb"}, clockfile.Snapshots{Host: host}, []int{1}},
		"given to nobody":    {Input{ID: "z", Path: "x.pb"}, clockfile.Snapshots{Host: host}, nil},
		"by nothing at hand": {Input{Path: "x.pb"}, clockfile.Snapshots{}, nil},
	} {
		if got := ownersOf([]*Node{a, b}, c.in, &c.says); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestProbersOfHostsGetTheNumbersOfTraces(t *testing.T) {
	in := inputsOf(Request{}, textNode("a", 0, 0, 1), textNode("b", 1, 0, 1), textNode("c", 2, 0, 1))
	p := &probes{
		stamps:  []clockfile.Stamp{{Src: 0, Dst: 1}, {Src: 1, Dst: 2}},
		probers: []clockfile.Prober{{Node: 0, Ranks: [][]int{{0, 1}, {2}}}},
	}
	found, numbers, said := placeProbers(in, p)
	if !slices.Equal(found.of, []int{0, 0, 2}) || !slices.Equal(numbers, []int{0, 1, 2}) {
		t.Errorf("nodes are measured as %v, numbered %v", found.of, numbers)
	}
	// the second host is that of trace 2; a third prober, of which there is no trace, must not be taken for it
	if s := p.stamps; s[0].Dst != 2 || s[1].Src != 2 || s[1].Dst == 2 {
		t.Errorf("stamps are of %v", s)
	}
	if len(said.notes) != 1 || !strings.Contains(said.notes[0], "3 traces are those that 2 nodes") {
		t.Errorf("said %q", said.notes)
	}
	p.probers = append(p.probers, clockfile.Prober{Node: 1, Ranks: [][]int{{1}, {0}}})
	if found, _, said = placeProbers(in, p); found.of != nil || len(said.warnings) != 1 {
		t.Errorf("probes of two jobs: %v, %q", found.of, said.warnings)
	}
}

func TestATracerClockComesOfItsReadings(t *testing.T) {
	pairs := []clock.Pair{{X: 100, Y: 1_000_000_000_000_000_100}, {X: 1_000_000_100, Y: 1_000_000_001_000_000_100}, {X: 2_000_000_100, Y: 1_000_000_002_000_000_100}, {X: 5_000_000_100, Y: 1_000_000_005_000_000_100}}
	n := &Node{identity: identity{ID: "a"}, absolute: true, start: pairs[0].Y, facts: &source.Facts{Snapshots: pairs, SnapshotsClock: source.AnyTracer}}
	c, err := tracerOf(n, nil, clockfile.NodeMeta{})
	if err != nil {
		t.Fatal(err)
	}
	if y, _, _ := c.clock.At(1_000_000_100); y != pairs[1].Y {
		t.Errorf("the reading maps to %d, want %d", y, pairs[1].Y)
	}
	if c.snapshots != 4 || c.missed != 2 || c.startNS != 100 || len(c.warnings) != 2 {
		t.Errorf("%+v", c)
	}
	if c, err = tracerOf(n, nil, clockfile.NodeMeta{StartTracerNS: 7}); err != nil || c.startNS != 7 {
		t.Errorf("a stated start: %d, %v", c.startNS, err)
	}
	n.onHost = true
	if c, err = tracerOf(n, nil, clockfile.NodeMeta{}); err != nil || c.clock != nil {
		t.Errorf("lines that are on the host's clock: %+v, %v", c, err)
	}
}

func TestClocksKeptNearOneReferenceAreNearEachOther(t *testing.T) {
	in := inputsOf(Request{}, textNode("a", 0, 1e18, 1e18+1e9), textNode("b", 1, 1e18, 1e18+1e9), textNode("c", 2, 1e18, 1e18+1e9))
	states := func(errorNS int64) (out []clockfile.SystemClock) {
		for i := range int64(3) {
			out = append(out, clockfile.SystemClock{SysNS: 1e18 + i*5e8, Synchronized: true, MaxErrorNS: errorNS, Source: "chrony"})
		}
		return out
	}
	s, said, err := learnKept(in, [][]clockfile.SystemClock{states(20_000), states(30_000), nil})
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	if _, ok := s.Node(2); ok {
		t.Error("of the third nothing is known")
	}
	o, ok := s.Node(1)
	if !ok {
		t.Fatal("of the second nothing is said")
	}
	if _, bound, _ := o.Map.At(1e18); bound < 50_000 {
		t.Errorf("the bound is %d ns, want that of both: 50000 at least", bound)
	}
	if len(said.notes) != 1 {
		t.Errorf("said %q", said.notes)
	}
	in.req.Method = MethodWall
	if s, _, err := learnKept(in, make([][]clockfile.SystemClock, 3)); s != nil || err != nil {
		t.Errorf("the method wall asks nobody: %v, %v", s, err)
	}
}

func TestANodeWithoutClockDataSaysSo(t *testing.T) {
	marked := textNode("m", 1, 1e18, 2e18)
	marked.aligned, marked.marking = true, marking{mark: &aligned.Mark{Aligned: true, Reference: "x", Nodes: []aligned.Node{{ID: "m", Method: MethodProbes, OffsetNS: 5}}}}
	undated := textNode("u", 1, 0, 5)
	undated.absolute = false
	for name, c := range map[string]struct {
		node     *Node
		policy   policy
		solved   bool
		method   string
		degraded bool
		refused  bool
	}{
		"nothing is known":         {node: textNode("b", 1, 1e18, 2e18), method: MethodWall, degraded: true},
		"others are solved":        {node: textNode("b", 1, 1e18, 2e18), solved: true, method: MethodWall, degraded: true},
		"undated":                  {node: undated, method: MethodNone, degraded: true},
		"aligned before, no bound": {node: marked, method: MethodProbes, degraded: true},
		"refused":                  {node: textNode("b", 1, 1e18, 2e18), policy: refuse, refused: true},
	} {
		in := inputsOf(Request{Policy: c.policy}, textNode("a", 0, 1e18, 2e18), c.node)
		ev := evidenceOfNothing(in)
		if c.solved {
			ev.files.solution = &offsets.Solution{}
		}
		got, err := withoutOffsets(in, ev, 1)
		if fault.Is(err, fault.Alignment) != c.refused || err == nil && (got.method != c.method || got.degraded != c.degraded || len(got.said) != 1) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if first, err := withoutOffsets(in, ev, 0); !c.refused && (err != nil || first.degraded != c.solved) {
			t.Errorf("%s: the reference: %+v, %v", name, first, err)
		}
	}
}

func TestTracesOnDifferentClocksAreToldApart(t *testing.T) {
	on := func(reference string) *Node {
		n := textNode("n", 0, 1e18, 2e18)
		n.aligned, n.marking = true, marking{mark: &aligned.Mark{Aligned: true, Reference: reference, Nodes: []aligned.Node{{ID: "n"}}}}
		return n
	}
	for name, c := range map[string]struct {
		nodes     []*Node
		asked     string
		reference string
		apart     bool
		refused   bool
	}{
		"as recorded":        {nodes: []*Node{textNode("a", 0, 1, 2), textNode("b", 1, 1, 2)}},
		"on one clock":       {nodes: []*Node{on("x"), on("x")}, reference: "x"},
		"on two":             {nodes: []*Node{on("x"), on("y")}, apart: true},
		"one as recorded":    {nodes: []*Node{textNode("a", 0, 1, 2), on("x")}, apart: true},
		"the reference's":    {nodes: []*Node{textNode("x", 0, 1, 2), on("x")}},
		"another is wanted":  {nodes: []*Node{on("x"), on("x")}, asked: "z", refused: true},
		"the same is wanted": {nodes: []*Node{on("x"), on("x")}, asked: "x", reference: "x"},
	} {
		got, err := agreeOnReference(inputsOf(Request{Reference: c.asked}, c.nodes...))
		if fault.Is(err, fault.Incompatible) != c.refused || got.reference != c.reference || got.apart != c.apart || got.apart != (len(got.said.warnings) > 0) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// placedAt places nodes whose clocks are ahead by so much.
func placedAt(t *testing.T, in *inputs, ahead ...int64) (*related, *placed) {
	t.Helper()
	walls := make([]wallClock, len(in.nodes))
	for k := range walls {
		walls[k] = wallClock{method: MethodProbes, wall: clock.Shift(-ahead[k], 100), offsetNS: ahead[k]}
	}
	walls[in.ref].wall = nil
	ev := untold(in)
	r := &related{nodes: nodeClocks(in, ev, walls, false)}
	p, err := placeNodes(in, r, ev.devices)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

func TestTimesCountFromTheEarliestEvent(t *testing.T) {
	undated := textNode("u", 2, 7, 9)
	undated.absolute = false
	in := inputsOf(Request{TimeRange: []*int64{new(int64), nil}}, textNode("a", 0, 1e18, 2e18), textNode("b", 1, 1e18, 2e18), undated)
	_, p := placedAt(t, in, 0, 5_000, 0)
	if p.zeroNS != 1e18-5_000 || p.firstNS != p.zeroNS {
		t.Errorf("times count from %d, a range from %d", p.zeroNS, p.firstNS)
	}
	if p.keep == nil || p.keep.FromNS != p.zeroNS || p.keep.ToNS != math.MaxInt64 {
		t.Errorf("the range is %+v", p.keep)
	}
	if y, _, _ := p.nodes[2].maps.Wall.At(7); y != p.zeroNS+7 {
		t.Errorf("the undated one begins at %d", y-p.zeroNS)
	}
	if first, last := p.span(in.nodes); first != p.zeroNS || last != 2e18 {
		t.Errorf("the output spans %d to %d", first-p.zeroNS, last)
	}
	far := inputsOf(Request{}, textNode("a", 0, 1e18, 1e18+1), textNode("b", 1, 1e18+2*farApartNS, 1e18+2*farApartNS+1))
	if _, p := placedAt(t, far, 0, 0); len(p.said.warnings) != 1 {
		t.Errorf("two days apart: %q", p.said.warnings)
	}
}

func TestMovedClocksLeaveThoseTheyWere(t *testing.T) {
	in := inputsOf(Request{}, textNode("a", 0, 1e18, 2e18), textNode("b", 1, 1e18, 2e18))
	before, _ := placedAt(t, in, 0, 5_000)
	after := before.moved([]int64{0, 60})
	for name, c := range map[string]struct {
		r                *related
		at, bound, ahead int64
	}{"before": {before, 1e18 - 5_000, 100, 5_000}, "after": {after, 1e18 - 4_940, 160, 4_940}} {
		n := &c.r.nodes[1]
		if y, bound, _ := n.maps.Wall.At(1e18); y != c.at || bound != c.bound || n.offsetNS != c.ahead {
			t.Errorf("%s: at %d, bound %d, ahead by %d", name, y-1e18, bound, n.offsetNS)
		}
	}
}

func TestOrdersAreSettledWithinWhatClocksMay(t *testing.T) {
	for name, c := range map[string]struct {
		orders      []inversion
		may, moved  []int64
		left, moves int64
	}{
		"half each":       {[]inversion{{giver: 0, receiver: 1, by: 10}}, []int64{50, 50}, nil, 0, 10},
		"one alone may":   {[]inversion{{giver: 0, receiver: 1, by: 10}}, []int64{0, 50}, nil, 0, 10},
		"more than both":  {[]inversion{{giver: 0, receiver: 1, by: 100}}, []int64{30, 30}, nil, 40, 60},
		"nothing to mend": {[]inversion{{giver: 0, receiver: 1, by: -5}}, []int64{30, 30}, nil, -5, 0},
	} {
		moved := make([]int64, 2)
		settleOrders(c.orders, c.may, moved)
		if left := c.orders[0].by + moved[0] - moved[1]; left != c.left || moved[1]-moved[0] != c.moves || -moved[0] > c.may[0] || moved[1] > c.may[1] {
			t.Errorf("%s: moved by %v, %d left", name, moved, left)
		}
	}
}

func TestCollectivesThatWereFoundOnTheWayAreTaken(t *testing.T) {
	old, seen := []*collective.Part{{}}, []*collective.Part{{}}
	w := &written{nodes: []writtenNode{{found: finding{parts: seen}}, {}, {}}}
	got := w.findings(findings{{parts: old}, {parts: old}, {}})
	if got[0].parts[0] != seen[0] || got[1].parts[0] != old[0] || got[2].parts != nil {
		t.Errorf("%v", got)
	}
}

func TestADocumentIsConcludedFromWhatWasWritten(t *testing.T) {
	row := func(id, method string, events int64) NodeResult {
		return NodeResult{ID: id, Method: method, Events: events, Coverage: 1, Warnings: []string{}, BoundNS: Bounds{P50: 10, P99: 10, Max: 10}}
	}
	two := func(change func(*ending)) []ending {
		out := []ending{{row: row("a", MethodWall, 10), kept: 10}, {row: row("b", MethodProbes, 10), kept: 10, lengthNS: 1000}}
		change(&out[1])
		return out
	}
	for name, c := range map[string]struct {
		nodes   []ending
		aligned bool
		verdict *Verdicts
		status  string
		said    string
	}{
		"all is known":       {nodes: two(func(*ending) {}), aligned: true, status: StatusAligned},
		"nothing corrected":  {nodes: two(func(*ending) {}), status: StatusUnaligned},
		"a clock is missing": {nodes: two(func(e *ending) { e.degraded = true }), aligned: true, status: StatusDegraded},
		"events in a step":   {nodes: two(func(e *ending) { e.row.Coverage, e.row.EventsInStep = 0.9, 1 }), aligned: true, status: StatusDegraded},
		"most lies outside":  {nodes: two(func(e *ending) { e.row.OffsetExtrapolations = 6 }), aligned: true, status: StatusDegraded, said: "60.0 % of its events lie outside"},
		"few lie outside":    {nodes: two(func(e *ending) { e.row.OffsetExtrapolations = 1 }), aligned: true, status: StatusAligned},
		"no event":           {nodes: two(func(e *ending) { e.row.Events, e.kept = 0, 0 }), aligned: true, status: StatusAligned, said: "holds no event"},
		"impossible order":   {nodes: two(func(*ending) {}), aligned: true, verdict: &Verdicts{Violated: 1}, status: StatusDegraded, said: "impossible order"},
		"too coarse":         {nodes: two(func(e *ending) { e.row.BoundNS.P50 = 501 }), aligned: true, status: StatusAligned, said: "known too coarsely"},
		"claimed":            {nodes: two(func(e *ending) { e.row.Method = methodSystem }), aligned: true, status: StatusAligned, said: "nothing here has measured"},
	} {
		d := &Document{Reference: "a", Files: &Ledger{}, Ranks: &Ranks{}, Warnings: []string{}}
		if c.verdict != nil {
			d.Collectives = &Collectives{After: *c.verdict}
		}
		if err := d.conclude(c.nodes, closing{aligned: c.aligned, policy: degrade, nothing: func(int64) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(append(slices.Clone(d.Warnings), d.Nodes[1].Warnings...), "\n")
		if d.Status != c.status || !strings.Contains(said, c.said) || c.said == "" && said != "" {
			t.Errorf("%s: %s, %q", name, d.Status, said)
		}
	}
	gone := errors.New("nothing is left")
	for _, keep := range []*align.Range{nil, {FromNS: 5, ToNS: 6}} {
		d := &Document{Files: &Ledger{}, Ranks: &Ranks{}}
		err := d.conclude([]ending{{row: row("a", MethodWall, 10)}}, closing{nothing: func(events int64) error { return fmt.Errorf("%w of %d", gone, events) }})
		if !errors.Is(err, gone) || !strings.Contains(err.Error(), "of 10") {
			t.Errorf("%v: %v", keep, err)
		}
		said := nothingLeft("a.json", keep, 10, 0, func() (int64, int64) { return 1, 2 })
		if kind := map[bool]fault.Kind{true: fault.Format, false: fault.Usage}[keep == nil]; !fault.Is(said, kind) {
			t.Errorf("%v: %v", keep, said)
		}
	}
}

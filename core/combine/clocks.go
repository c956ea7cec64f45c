package combine

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

const (
	// holdNS is how far outside the clock data a trace may reach before the result is called degraded: 30 s, after which the
	// drift of a free-running oscillator (100 ppm) has used up 3 ms.
	holdNS = int64(30_000_000_000)
	// heldGrowthPPB is how fast the bound of a held offset grows: 100 ppm.
	heldGrowthPPB = int64(100_000)
)

// known is what clock files say.
type known struct {
	solution *offsets.Solution
	method   string
	// collectives is what the traces say of each other, relative to the reference of the run.
	collectives *offsets.Solution
	declared    *offsets.Solution          // what is declared beside a solution that was measured, relative to its reference
	metas       map[int]clockfile.NodeMeta // by node number
	snapshots   map[*Node]*clockfile.Snapshots
	system      map[*Node][]clockfile.SystemClock // what the systems say of their own clocks
	kept        *offsets.Solution                 // offsets that follow from that, by place of the node
	idle        map[string][]string               // nodes with readings of clocks that stamped no line, by the clock
}

// learnClocks reads the clock files and gives every node its clocks.
func (t *task) learnClocks() error {
	if t.req.applies() {
		if err := t.tieRecordings(); err != nil {
			return err
		}
	}
	if err := t.writeAsXSpaces(); err != nil {
		return err
	}
	if !t.req.applies() {
		for _, n := range t.nodes {
			if n.Result.Method = MethodNone; n.stays() {
				n.leave()
			}
		}
		if err := t.deviceClocks(); err != nil {
			return err
		}
		return t.agreeOnReference()
	}
	k := known{metas: map[int]clockfile.NodeMeta{}, snapshots: map[*Node]*clockfile.Snapshots{}, system: map[*Node][]clockfile.SystemClock{}, idle: map[string][]string{}}
	t.job.Progress().SetStage("clocks")
	t.job.Progress().SetTotal(OnDisk(t.req.clockFiles()))
	if err := t.readSnapshots(&k); err != nil {
		return err
	}
	if err := t.readOffsets(&k); err != nil {
		return err
	}
	for _, n := range t.nodes {
		if err := t.tracerClock(n, &k); err != nil {
			return err
		}
	}
	t.noteIdle(k.idle)
	if err := t.deviceClocks(); err != nil {
		return err
	}
	if err := t.learnKept(&k); err != nil {
		return err
	}
	if err := t.solveCollectives(&k); err != nil {
		return err
	}
	if err := t.wallClocks(&k); err != nil {
		return err
	}
	t.sayDeclaredBeside(&k)
	return nil
}

// readClockFile opens and reads one clock file.
func (t *task) readClockFile(path string) (*clockfile.File, error) {
	src, err := file.Open(t.job.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f, err := clockfile.Read(t.job.Context(), src)
	if err != nil {
		return nil, withPath(err, path)
	}
	t.job.Progress().Add(src.DiskSize())
	t.noteFile(f)
	return f, nil
}

// noteFile puts what the reader of a clock file noticed into the document.
func (t *task) noteFile(f *clockfile.File) {
	name := filepath.Base(f.Path)
	for _, w := range f.Warnings {
		t.warn("%s: %s", name, w)
	}
	if f.Skipped > 0 {
		t.warn("%s: %d of %d lines are not records and were skipped (first: %v)", name, f.Skipped, f.Lines, f.SkippedLines)
	}
	if f.CutLastLine {
		t.warn("%s: the last line is cut short and was skipped", name)
		t.cut = append(t.cut, name)
	}
}

func identities(nodes []*Node) []identity {
	ids := make([]identity, len(nodes))
	for k, n := range nodes {
		ids[k] = n.identity
	}
	return ids
}

// readOffsets reads what relates the nodes' wall clocks: the best of what was given and the method allows.
func (t *task) readOffsets(k *known) error {
	wantProbes := t.req.Method == "auto" || t.req.Method == MethodProbes
	wantDeclared := t.req.Method == "auto" || t.req.Method == MethodDeclared
	if t.req.Method == MethodProbes && t.req.Offsets == "" && len(t.req.Probes) == 0 {
		return fault.Usagef("method probes needs round offsets or probes").WithHint("pass --offsets or --probes")
	}
	if t.req.Method == MethodDeclared && t.req.Declared == "" {
		return fault.Usagef("method declared needs a file of declared offsets").WithHint("pass --declared")
	}
	switch {
	case wantProbes && t.req.Offsets != "":
		f, err := t.readClockFile(t.req.Offsets)
		if err != nil {
			return err
		}
		if err := t.useFile(k, f); err != nil {
			return err
		}
		if len(t.req.Probes) > 0 {
			t.note("round offsets and probes are given: the clocks are those of %s, and the probes are not used", filepath.Base(t.req.Offsets))
		}
	case wantProbes && len(t.req.Probes) > 0:
		if err := t.solveProbes(k); err != nil {
			return err
		}
	case wantDeclared && t.req.Declared != "":
		f, err := t.readClockFile(t.req.Declared)
		if err != nil {
			return err
		}
		return t.useFile(k, f)
	}
	if k.solution == nil || t.req.Declared == "" {
		return nil
	}
	return t.declareBeside(k)
}

// useFile makes the solution of a file that states offsets, solved or declared.
func (t *task) useFile(k *known, f *clockfile.File) (err error) {
	switch f.Kind {
	case clockfile.KindRounds:
		k.method = MethodProbes
		for _, m := range f.Rounds.Meta {
			k.metas[m.Node] = m
		}
		k.solution, err = offsets.FromRounds(f.Rounds, t.options())
	case clockfile.KindDeclared:
		k.method = MethodDeclared
		t.noteStrangers(f)
		opt := t.options()
		if t.alone() && t.req.Reference == f.Declared.ReferenceName {
			opt = offsets.Options{}
		}
		k.solution, err = offsets.FromDeclared(f.Declared, t.numberOf, opt)
	default:
		return wrongKind(f, "round offsets or declared offsets").WithPath(f.Path)
	}
	return withPath(err, f.Path)
}

// noteStrangers says which declared nodes have no trace: a misspelt one is among them.
func (t *task) noteStrangers(f *clockfile.File) {
	var names []string
	for _, d := range f.Declared.Nodes {
		known := slices.ContainsFunc(t.nodes, func(n *Node) bool { return n.Number == d.Node })
		if d.Node >= 0 && !known && d.OffsetNS != 0 && !t.alone() {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - 4; n > 0 {
		names, more = names[:4], fmt.Sprintf(" and %d more", n)
	}
	t.doc.Notes = append(t.doc.Notes, fmt.Sprintf("%s speaks of %s%s, and no trace is of that node", filepath.Base(f.Path), strings.Join(names, ", "), more))
}

// numberOf finds the number of a node that a declaration names by id or host.
func (t *task) numberOf(name string) (int, bool) {
	for _, n := range t.nodes {
		if name == n.ID || n.Host != "" && name == n.Host {
			return n.Number, true
		}
	}
	return 0, false
}

// alone reports whether the run is about one trace: then the reference is a node of the clock files, not of the inputs.
func (t *task) alone() bool { return len(t.nodes) == 1 }

// adoptReference makes the solution's reference that of the run, and the start of its recording the output's zero, so that nodes
// aligned one by one share both.
func (t *task) adoptReference(k *known) {
	ref := k.solution.Reference
	name := "node" + strconv.Itoa(ref)
	if k.solution.ReferenceName != "" {
		name = k.solution.ReferenceName
	}
	if want := t.options(); t.req.Reference != "" && t.req.Reference != name && !(want.ReferenceSet && want.Reference == ref) {
		t.warn("the clock data knows no node %q: times are on the clock of %s", t.req.Reference, name)
	}
	if ref == t.nodes[0].Number {
		return
	}
	t.doc.Reference = name
	t.external = true
	t.zeroHintNS = k.metas[ref].StartWalltimeNS
	if t.zeroHintNS == 0 && t.nodes[0].text == nil {
		t.doc.Notes = append(t.doc.Notes, fmt.Sprintf("no clock file says when the session of %s began: times count from this trace's own start; combine traces that are opened together", t.doc.Reference))
	}
}

// options are the solver's options: the reference of this run, and what the user knows of bounds.
func (t *task) options() offsets.Options {
	opt := t.reference()
	if given := t.req.RoundBoundNS; given != nil {
		opt.RoundBoundNS = *given
	}
	return opt
}

func (t *task) reference() offsets.Options {
	if t.alone() {
		if n, err := strconv.Atoi(strings.TrimLeft(t.req.Reference, "abcdefghijklmnopqrstuvwxyz-_")); err == nil {
			return offsets.Options{Reference: t.probers.ofRank(n), ReferenceSet: true}
		}
		return offsets.Options{}
	}
	return offsets.Options{Reference: t.nodes[t.ref].Number, ReferenceSet: t.nodes[t.ref].Number >= 0}
}

// solveProbes reads probe windows or raw stamps and solves them.
func (t *task) solveProbes(k *known) (err error) {
	p, err := readProbes(t.req.Probes, t.readClockFile)
	if err != nil {
		return err
	}
	for _, m := range p.metas {
		k.metas[m.Node] = m
	}
	if len(p.stamps) == 0 && len(p.windows) == 0 && t.req.Method == "auto" { // probers ran, and a firewall was between them
		t.warn("no peer has answered a probe: %d files hold no stamps", len(t.req.Probes))
		return nil
	}
	k.method = MethodProbes
	t.placeProbers(p)
	k.solution, err = p.solve(t.job.Context(), t.options())
	return err
}

// tracerClock gives a node its map R -> S, from its snapshots plane or a snapshot file.
func (t *task) tracerClock(n *Node, k *known) error {
	if n.text != nil || n.onHost {
		if given := k.snapshots[n]; given != nil && source.IsTracer(given.TracerClock) {
			n.warn("its snapshots are not used: %s", n.withoutTracer())
		}
		return nil
	}
	meta := k.metas[n.Number]
	pairs, fromStart, name := n.facts.Snapshots, false, n.facts.SnapshotsClock
	given := k.snapshots[n]
	if given != nil {
		name = given.TracerClock
	}
	if n.strange(name) && (given != nil || len(pairs) > 0) {
		if source.IsTracer(name) {
			n.warn("its clock snapshots are of %s, which stamped none of its lines: they move nothing", name)
		} else {
			k.idle[name] = append(k.idle[name], n.ID)
		}
		return nil
	}
	if given != nil {
		start, from := n.startOf(meta)
		abs, wall, tracer, err := given.Resolve(start)
		if err != nil {
			return withPath(err, n.Path)
		}
		n.warn("the snapshot file's wall clock is read as %s, its tracer clock as %s", wall, tracer)
		if wall == clockfile.Relative && from != "" {
			n.warn("start_walltime_ns is in no clock file: the recording began at %d ns, as %s of the trace says", start.StartWalltimeNS, from)
		}
		pairs, fromStart = abs, tracer == clockfile.Relative && start.StartTracerNS <= 0
	}
	n.Result.Snapshots = len(pairs)
	if len(pairs) == 0 {
		return nil
	}
	m, report, err := offsets.FromSnapshots(pairs, offsets.Options{})
	if err != nil {
		return err
	}
	n.Result.Warnings = append(n.Result.Warnings, report.Warnings...)
	n.Result.MissingSnapshots = missing(pairs)
	for _, s := range report.Steps {
		n.Result.Steps = append(n.Result.Steps, Step{FromNS: s.FromNS, ToNS: s.ToNS, SizeNS: s.JumpNS})
	}
	n.Clocks.Tracer, n.Clocks.TracerName = m, name
	if fromStart { // so do the offsets of events
		n.warn("start_gpu_ns is in no clock file: the tracer's clock counts from the collector's start, as the snapshots do")
		return nil
	}
	n.Clocks.StartTracerNS = t.tracerStart(n, meta)
	return nil
}

// withoutTracer says why no line of a trace is on its tracer's clock.
func (n *Node) withoutTracer() string {
	if n.onHost {
		return "prlx has put its device lines on the host's clock before"
	}
	return "the times of a Chrome trace are on the host's clock, where its profiler has put them"
}

// startOf completes what clock files say about the start of a node's recording by what its trace says, and names where that stands;
// "" when nothing was missing, or the trace does not say it either.
func (n *Node) startOf(meta clockfile.NodeMeta) (start clockfile.NodeMeta, from string) {
	if meta.StartWalltimeNS > 0 || !n.absolute {
		return meta, ""
	}
	from = "the base of the device lines"
	base, ok := n.collectorStart()
	if !ok {
		base, from = n.start, "profile_start_time"
	}
	meta.StartWalltimeNS = base
	return meta, from
}

// missing counts the readings that the snapshots' own cadence promises and that are not there: gaps beyond 1.5 times the median
// spacing, in spacings.
func missing(pairs []clock.Pair) int {
	if len(pairs) < 3 {
		return 0
	}
	at := make([]int64, len(pairs))
	for i, p := range pairs {
		at[i] = p.X
	}
	slices.Sort(at)
	gaps := make([]int64, 0, len(at)-1)
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	median := sorted[len(sorted)/2]
	n := int64(0)
	for _, g := range gaps {
		if median > 0 && g > median+median/2 {
			n += (g+median/2)/median - 1
		}
	}
	return int(min(n, math.MaxInt32))
}

// tracerStart finds R at the start of the collector, from which offsets on R count: as the clock files' meta says, else R at the
// wall-clock instant that the exporter gave the device lines.
func (t *task) tracerStart(n *Node, meta clockfile.NodeMeta) int64 {
	if meta.StartTracerNS > 0 {
		return meta.StartTracerNS
	}
	base, ok := n.collectorStart()
	if !ok {
		base = n.start
	}
	r, _, _ := n.Clocks.Tracer.Inverse().At(base)
	n.warn("start_gpu_ns is in no clock file: the tracer's clock at the collector's start is taken from the snapshots (%d ns)", r)
	return r
}

// collectorStart finds the instant of the wall clock at which the collector started: the exporter gives it, as their base, to the
// snapshots and to the lines that the tracer stamped. The session began earlier.
func (n *Node) collectorStart() (ns int64, ok bool) {
	if n.facts.HasSnapshots {
		ns, ok = n.facts.SnapshotsBaseNS, true
	}
	for _, p := range n.layout {
		if !ok && len(p.Lines) > 0 && p.Name != "" && isDeviceName(p.Name) {
			ns, ok = p.Lines[0].TimestampNS, true
		}
	}
	if ns < source.AbsoluteNS {
		ns += n.start
	}
	return ns, ok
}

func isDeviceName(name string) bool {
	_, _, ok := source.Device(name)
	return ok
}

// wallClocks gives every node its map S -> S of the reference, and decides what to do about nodes without one.
func (t *task) wallClocks(k *known) error {
	if err := t.agreeOnReference(); err != nil {
		return err
	}
	var toRef *clock.Map // S of the solution's reference -> S of ours
	if k.solution != nil {
		if err := t.refuseTwice(); err != nil {
			return err
		}
		t.doc.Warnings = append(t.doc.Warnings, k.solution.Warnings...)
	}
	if k.solution != nil && t.alone() {
		t.adoptReference(k)
	} else if k.solution != nil {
		ref, ok := k.solution.Node(t.probedBy(t.nodes[t.ref]).Number)
		if !ok {
			return fault.New(fault.Alignment, "the clock data says nothing about the reference %s (node %d); it is about nodes %v", t.nodes[t.ref].ID, t.nodes[t.ref].Number, solved(k.solution)).
				WithHint("pick a reference among them, or name the traces: prlx combine %d=%s ...", k.solution.Reference, t.nodes[t.ref].Path)
		}
		toRef = ref.Map.Inverse()
	}
	var ladders []*ladder
	of := map[*Node]*ladder{}
	for _, n := range t.nodes {
		if list := t.rungs(n, k, toRef); n.absolute && len(list) > 0 {
			of[n] = &ladder{t: t, n: n, rungs: list, collectives: k.collectives}
			ladders = append(ladders, of[n])
		}
	}
	doubted, err := t.doubt(ladders)
	if err != nil {
		return err
	}
	for i, n := range t.nodes {
		if l := of[n]; l != nil {
			if err := t.climb(l, doubted); err != nil {
				return err
			}
			continue
		}
		if t.shared(n) {
			continue
		}
		if err := t.withoutOffsets(n, i, k); err != nil {
			return err
		}
	}
	return nil
}

func solved(s *offsets.Solution) []int {
	var ids []int
	for _, n := range s.Nodes {
		ids = append(ids, n.Node)
	}
	sort.Ints(ids)
	return ids
}

// applyOffsets gives a node its solved clock.
func (t *task) applyOffsets(n *Node, o *offsets.NodeOffsets, toRef *clock.Map, method string) {
	r := &n.Result
	r.Method, r.OffsetWindows = method, o.Windows
	r.OffsetNS, r.DriftPPM = o.OffsetNS, o.DriftPPM
	r.Warnings = append(r.Warnings, o.Warnings...)
	m := o.Map
	if t.req.Policy == hold {
		m = m.HoldTails(heldGrowthPPB)
	}
	n.Clocks.Wall = m
	if !toRef.IsIdentity() {
		n.Clocks.Wall = clock.Compose(m, toRef)
		if mid, _, ok := m.Span(); ok {
			at, _, _ := n.Clocks.Wall.At(mid)
			r.OffsetNS = mid - at
		}
	}
	if n == t.nodes[t.ref] && !t.external {
		n.Clocks.Wall, r.OffsetNS, r.DriftPPM = nil, 0, 0
	}
	for _, s := range o.Steps {
		r.Steps = append(r.Steps, Step{FromNS: s.FromNS, ToNS: s.ToNS, SizeNS: s.JumpNS})
		n.warn("the clock stepped by %+.3f ms between %d and %d ns (its own clock); events in between are flagged and carry a bound that includes the step", float64(s.JumpNS)/1e6, s.FromNS, s.ToNS)
	}
}

// checkReach looks whether the trace reaches far outside the clock data.
func (t *task) checkReach(n *Node) error {
	before, after := t.outside(n)
	if before <= holdNS && after <= holdNS {
		return nil
	}
	n.degraded = true
	msg := fmt.Sprintf("%.1f s of the trace lie outside the clock data, more than %d s: bounds there are wide", float64(max(before, after))/1e9, holdNS/1e9)
	if t.req.Policy == refuse {
		return fault.New(fault.Alignment, "node %s: %s", n.ID, msg).WithPath(n.Path).WithHint("give clock data that covers the trace, or use --policy degrade")
	}
	n.warn("%s", msg)
	return nil
}

// outside returns how far, in ns, the node's events reach before and after the knots of its wall map. Covered tails do not count.
func (t *task) outside(n *Node) (before, after int64) {
	from, to, ok := n.Clocks.Wall.Span()
	if !ok {
		return 0, 0
	}
	first, last, ok := n.spanNS()
	if !ok {
		return 0, 0
	}
	if _, _, c := n.Clocks.Wall.At(first); c&clock.Extrapolated != 0 {
		before = from - first
	}
	if _, _, c := n.Clocks.Wall.At(last); c&clock.Extrapolated != 0 {
		after = last - to
	}
	return before, after
}

// spanNS returns the node's first and last instant on its own wall clock, as the file shows them.
func (n *Node) spanNS() (first, last int64, ok bool) {
	if n.text != nil {
		return n.facts.First.NS, n.facts.Last.NS, n.facts.Timed > 0
	}
	plan := align.PlanLines(n.layout, n.start, align.Clocks{}, align.HostTime)
	first, ok = plan.EarliestNS()
	if last, _ = plan.LatestNS(); last < first {
		last = first
	}
	return first, last, ok
}

// withoutOffsets decides about a node whose clock nothing is known of.
func (t *task) withoutOffsets(n *Node, k int, kn *known) error {
	alone := len(t.nodes) == 1
	if t.req.Policy == refuse && !alone {
		return fault.New(fault.Alignment, "no usable clock data for node %s", n.ID).WithPath(n.Path).WithHint("give probes or offsets for it, or use --policy degrade")
	}
	if n.stays() && n.aligned {
		n.leave()
		n.warn("prlx has aligned this trace before: its times are left as they are, and the bounds stated then still hold")
		return nil
	}
	if n.absolute && (k == t.ref && kn.solution == nil && !alone || alone && kn.solution == nil && n.Clocks.Tracer != nil) {
		n.Result.Method = MethodWall
		return nil
	}
	if !n.absolute {
		n.Result.Method, n.degraded = MethodNone, true
		n.warn("the trace does not say when it was recorded (no profile_start_time, no baseTimeNanoseconds): its times are left as they are, from the output's zero on")
		return nil
	}
	n.Result.Method = MethodWall
	if n.aligned {
		n.warn("prlx has aligned this trace before: its times are left as they are; the document beside it says what is known of their error")
		return nil
	}
	if kn.solution != nil || t.req.Method != MethodWall && !alone {
		n.degraded = true
		n.warn("no clock data for this node: its wall clock is taken to agree with that of %s", t.nodes[t.ref].ID)
	}
	return nil
}

// farOutside reports whether what is not covered is more than the tails that every recording has.
func (t *task) farOutside(n *Node) bool { return n.Result.EventsInStep > 0 || n.degraded }

// RoughTracer is a tracer clock good enough to tell which lines are on it: the snapshots' first reading, no drift.
func RoughTracer(f *source.Facts) align.Clocks {
	p := f.Snapshots[0]
	return align.Clocks{Tracer: clock.Shift(p.Y-p.X, 0), TracerName: f.SnapshotsClock, StartTracerNS: p.X}
}

package offsets

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// assumedRoundBoundNS is the bound of offsets that come without one and are too few to scatter: what the documents of
// GraphCalc promise without probe data (50 us).
const assumedRoundBoundNS = 50_000

// FromRounds makes maps of round offsets that somebody solved. Our own files give back the solver's maps exactly. In others,
// rows that are unreachable or not converged are never used; a row's instant is its midpoint, else the middle of the
// reference's window of the same round, else the middle of its own; outliers are dropped against their neighbours, steps are
// marked, and the bound is what the rounds scatter.
func FromRounds(r *clockfile.Rounds, options Options) (*Solution, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	ref := r.Reference
	if ref < 0 {
		ref = guessReference(r, opt)
	}
	s := &Solution{Reference: ref, Method: "rounds", Starts: r.Meta}
	if r.Schema == clockfile.RoundsSchema {
		err = s.exactRounds(r)
	} else {
		s, err = foreignRounds(r, ref, opt)
	}
	if err != nil {
		return nil, err
	}
	if opt.ReferenceSet && opt.Reference != ref {
		return s.Rebase(opt.Reference)
	}
	return s, nil
}

// guessReference: GraphCalc writes offset 0 for its reference, which is node 0 unless told otherwise.
func guessReference(r *clockfile.Rounds, opt *Options) int {
	zero := map[int]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Usable() {
			continue
		}
		z, seen := zero[row.Node]
		zero[row.Node] = row.OffsetNS == 0 && (z || !seen)
	}
	if opt.ReferenceSet && zero[opt.Reference] {
		return opt.Reference
	}
	best := -1
	for n, z := range zero {
		if z && (best < 0 || n < best) {
			best = n
		}
	}
	return max(best, 0)
}

// rowsByNode groups the rows and names every node that the file mentions.
func rowsByNode(r *clockfile.Rounds) (nodes []int, rows map[int][]*clockfile.Round) {
	rows = map[int][]*clockfile.Round{}
	for i := range r.Rows {
		n := r.Rows[i].Node
		rows[n] = append(rows[n], &r.Rows[i])
	}
	for _, m := range r.Meta {
		if _, ok := rows[m.Node]; !ok {
			rows[m.Node] = nil
		}
	}
	for n := range rows {
		nodes = append(nodes, n)
	}
	sort.Ints(nodes)
	return nodes, rows
}

// exactRounds rebuilds the maps of a file that prlx wrote.
func (s *Solution) exactRounds(r *clockfile.Rounds) error {
	nodes, rows := rowsByNode(r)
	tails := map[int]clockfile.Tail{}
	for _, t := range r.Tails {
		tails[t.Node] = t
	}
	for _, id := range nodes {
		if id == s.Reference {
			s.Nodes = append(s.Nodes, identity(id))
			continue
		}
		n := NodeOffsets{Node: id}
		knots, steps, err := knotsOf(rows[id], &n)
		if err != nil {
			return err
		}
		if len(knots) == 0 {
			s.missing(id, n.Missed)
			continue
		}
		t := tails[id]
		if !drifts(t.BeforePPT) || !drifts(t.AfterPPT) {
			return fault.New(fault.Format, "round offsets: node %d has tail drifts of %d and %d ppt", id, t.BeforePPT, t.AfterPPT)
		}
		tl := tail{before: clock.Drift(t.BeforePPT), after: clock.Drift(t.AfterPPT), growth: t.GrowthPPB, wanderPPB: t.WanderPPB, covered: t.Covered}
		n.DriftPPM = overallDrift(knots, steps, rows[id])
		if err := n.build(knots, steps, tl); err != nil {
			return fault.New(fault.Format, "round offsets: %v", err).Wrap(err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	return nil
}

func drifts(ppt int64) bool { return ppt > -400_000_000_000 && ppt < 400_000_000_000 }

// knotsOf makes knots of our own rows, ascending by the node's clock.
func knotsOf(rows []*clockfile.Round, n *NodeOffsets) (knots []clock.Knot, steps []int, err error) {
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].MidpointNS+rows[i].OffsetNS < rows[j].MidpointNS+rows[j].OffsetNS })
	for _, row := range rows {
		if !row.Usable() || !believable(row.MidpointNS, row.OffsetNS) {
			n.Missed++
			continue
		}
		k := clock.Knot{X: row.MidpointNS + row.OffsetNS, Y: row.MidpointNS, BoundNS: max(0, row.BoundNS)}
		if len(knots) > 0 && k.X == knots[len(knots)-1].X {
			n.Missed++
			continue
		}
		if row.Step && len(knots) > 0 {
			steps = append(steps, len(knots)-1)
		}
		knots = append(knots, k)
		n.Windows++
	}
	return knots, steps, nil
}

// believable keeps sums of instants and offsets inside 63 bits.
func believable(at, offset int64) bool {
	return at > 0 && at < maxInstant && offset <= maxOffset && offset >= -maxOffset
}

// overallDrift is the gain of the offset over everything but the steps; a single row states it.
func overallDrift(knots []clock.Knot, steps []int, rows []*clockfile.Round) float64 {
	var gain, length float64
	next := 0
	for i := 1; i < len(knots); i++ {
		if next < len(steps) && steps[next] == i-1 {
			next++
			continue
		}
		gain += float64((knots[i].X - knots[i].Y) - (knots[i-1].X - knots[i-1].Y))
		length += float64(knots[i].Y - knots[i-1].Y)
	}
	if length > 0 {
		return gain / length * 1e6
	}
	if len(rows) > 0 {
		return rows[0].DriftPPM
	}
	return 0
}

func (s *Solution) missing(id, unused int) {
	s.Missing = append(s.Missing, id)
	s.warnf("node %d has no usable round offset (%d rows are unreachable, not converged or without an instant)", id, unused)
}

// foreignRounds makes maps of GraphCalc's rows.
func foreignRounds(r *clockfile.Rounds, ref int, opt *Options) (*Solution, error) {
	g := NewGraph()
	g.AddRounds(r, ref)
	s, err := g.solve(context.Background(), Clock{Node: ref}, opt)
	if err != nil {
		return nil, err
	}
	s.Method, s.Starts = Rounds.String(), r.Meta
	own := 0
	for i := range r.Rows {
		if r.Rows[i].Node == ref {
			own++
		}
	}
	named := own > 0 || slices.ContainsFunc(r.Meta, func(m clockfile.NodeMeta) bool { return m.Node == ref })
	if n, ok := s.Node(ref); ok {
		n.Windows = own
	}
	if !named { // nobody says that the reference is a node of the job
		s.Nodes = slices.DeleteFunc(s.Nodes, func(n NodeOffsets) bool { return n.Node == ref })
	}
	return s, nil
}

// AddRounds adds round offsets that somebody else solved against a reference.
func (g *Graph) AddRounds(r *clockfile.Rounds, reference int) {
	ref := Clock{Node: reference}
	g.Mention(ref)
	nodes, rows := rowsByNode(r)
	inst := newInstants(rows[reference], r)
	if inst.note != "" {
		g.warnf("%s", inst.note)
	}
	unbounded := false
	for _, id := range nodes {
		c := Clock{Node: id}
		if c == ref {
			continue
		}
		n := NodeOffsets{Node: id}
		samples := n.samplesOf(rows[id], inst)
		if len(samples) == 0 {
			g.lacks(c, "node %d has no usable round offset (%d rows are unreachable, not converged or without an instant)", id, n.Missed)
			continue
		}
		e := g.Between(ref, c, Rounds)
		e.on = ref
		e.read(samples)
		e.missed += n.Missed
		e.notes = append(e.notes, n.Warnings...)
		unbounded = unbounded || slices.ContainsFunc(samples, func(s sample) bool { return s.bound < 0 })
	}
	g.unbounded = g.unbounded || unbounded
}

// sayBounds says what the bounds of round offsets that state none are.
func (g *Graph) sayBounds(opt *Options) {
	unbounded := g.unbounded
	g.unbounded = false // once
	switch {
	case !unbounded:
	case opt.RoundBoundNS > 0:
		g.warnf("the round offsets state no bounds: ours are the scatter of the rounds (%d ns, as given, where there are fewer than %d); an asymmetric path does not show in them", opt.RoundBoundNS, minScatter)
	default:
		g.warnf("the round offsets state no bounds: ours are the scatter of the rounds (%d us where there are fewer than %d, unless bound_ns in the header of the file or --round-bound-ns says better); an asymmetric path does not show in them", assumedRoundBoundNS/1000, minScatter)
	}
}

// instants finds the instant, on the reference's clock, of a round.
type instants struct {
	mid  map[int64]int64 // round -> middle of the reference's window, 0 when the round id is used for several
	own  bool            // windows are each node's own, as GraphCalc writes them
	note string
}

func newInstants(ref []*clockfile.Round, r *clockfile.Rounds) instants {
	in := instants{mid: map[int64]int64{}, own: true}
	for _, row := range ref {
		m := row.MidpointNS
		if m == 0 {
			m = middle(row)
		}
		if old, seen := in.mid[row.RoundID]; seen && old != m {
			m = 0
		}
		in.mid[row.RoundID] = m
	}
	var same, differ, legacy int
	for i := range r.Rows {
		row := &r.Rows[i]
		m := in.mid[row.RoundID]
		switch {
		case row.MidpointNS != 0:
			legacy++
		case m == 0 || !row.Usable() || row.OffsetNS == 0:
		case middle(row) == m:
			same++
		default:
			differ++
		}
	}
	switch {
	case differ > same:
		in.note = fmt.Sprintf("the windows are each node's own, not the reference's (%d of %d rows): instants are taken from the reference's rows of the same round", differ, differ+same)
	case same > 0:
		in.own = false
	case legacy == 0 && len(ref) == 0:
		in.note = "the reference has no rows: each window is taken as the node's own"
	}
	return in
}

func middle(row *clockfile.Round) int64 { return row.FromNS + (row.ToNS-row.FromNS)/2 }

// of returns the reference instant of a row and how far off it can be.
func (in *instants) of(row *clockfile.Round) (y int64, uncertain int64) {
	if row.MidpointNS != 0 {
		return row.MidpointNS, 0
	}
	m := middle(row)
	if ref := in.mid[row.RoundID]; ref != 0 {
		if !in.own || m == ref {
			return ref, 0
		}
		return ref, absInt(m - row.OffsetNS - ref) // how far the windows of the round lie apart
	}
	if in.own {
		return m - row.OffsetNS, absInt(row.OffsetNS)
	}
	return m, 0
}

// samplesOf turns the usable rows into samples of the offset over the reference's time, ascending, without duplicates.
func (n *NodeOffsets) samplesOf(rows []*clockfile.Round, in instants) []sample {
	samples := make([]sample, 0, len(rows))
	for _, row := range rows {
		if !row.Usable() {
			n.Missed++
			continue
		}
		y, uncertain := in.of(row)
		if !believable(y, row.OffsetNS) {
			n.Missed++
			continue
		}
		q := row.QuantumNS + math.Abs(row.DriftPPM)*1e-6*float64(uncertain)
		samples = append(samples, sample{at: y, offset: row.OffsetNS, slack: q, drift: row.DriftPPM, bound: row.BoundNS})
	}
	sort.SliceStable(samples, func(i, j int) bool { return samples[i].at < samples[j].at })
	out := samples[:0]
	conflicts := 0
	for _, x := range samples {
		if len(out) > 0 && out[len(out)-1].at == x.at {
			n.Missed++
			if out[len(out)-1].offset != x.offset {
				conflicts++
			}
			continue
		}
		out = append(out, x)
	}
	if conflicts > 0 {
		n.warnf("%d instants have several rows with different offsets: the first of each counts", conflicts)
	}
	if n.Missed > 0 {
		n.warnf("%d of %d rows are not used: unreachable, not converged or repeated", n.Missed, len(rows))
	}
	return out
}

// Rebase returns the solution with another node as the reference.
func (s *Solution) Rebase(ref int) (*Solution, error) {
	if ref == s.Reference {
		return s, nil
	}
	base, ok := s.Node(ref)
	if !ok {
		return nil, fault.New(fault.Alignment, "node %d cannot be the reference: it has no offset", ref)
	}
	back := base.inverted()
	out := &Solution{Reference: ref, Method: s.Method, Links: s.Links, Missing: s.Missing, Starts: s.Starts, Warnings: s.Warnings}
	for i := range s.Nodes {
		n, err := s.Nodes[i], error(nil)
		switch n.Node {
		case ref:
			out.Nodes = append(out.Nodes, identity(ref))
			continue
		case s.Reference:
			n = NodeOffsets{Node: n.Node, Windows: base.Windows, Missed: base.Missed}
			err = n.take(back)
		default:
			err = n.through(back)
		}
		if err != nil {
			return nil, fault.New(fault.Internal, "%v", err).Wrap(err)
		}
		out.Nodes = append(out.Nodes, n)
	}
	for _, c := range s.Others {
		if err := c.through(back); err != nil {
			return nil, fault.New(fault.Internal, "%v", err).Wrap(err)
		}
		out.Others = append(out.Others, c)
	}
	return out, nil
}

// inverted returns the map from the reference's clock to this one.
func (n *NodeOffsets) inverted() *NodeOffsets {
	t := n.tail
	t.before, t.after = inverseDrift(t.before), inverseDrift(t.after)
	return &NodeOffsets{Map: n.Map.Inverse(), DriftPPM: -n.DriftPPM, tail: t}
}

// take gives the node the map of another.
func (n *NodeOffsets) take(o *NodeOffsets) error {
	n.DriftPPM = o.DriftPPM
	return n.build(o.Map.Knots(), o.Map.Steps(), o.tail)
}

// through appends a map to the node's: from the clock that the node's map leads to on to another.
func (n *NodeOffsets) through(next *NodeOffsets) error {
	m, t := clock.Compose(n.Map, next.Map), next.tail
	n.DriftPPM += next.DriftPPM
	return n.build(m.Knots(), m.Steps(), tail{
		before: chain(n.tail.before, t.before), after: chain(n.tail.after, t.after), growth: n.tail.growth + t.growth,
		wanderPPB: n.tail.wanderPPB + t.wanderPPB, covered: n.tail.covered && t.covered,
	})
}

// start is what the sources say of one node; what several say of it completes each other, the last one first.
func (s *Solution) start(node int) clockfile.NodeMeta {
	start := clockfile.NodeMeta{Node: node}
	for _, m := range s.Starts {
		if m.Node != node {
			continue
		}
		if m.StartWalltimeNS > 0 {
			start.StartWalltimeNS = m.StartWalltimeNS
		}
		if m.StartTracerNS > 0 {
			start.StartTracerNS = m.StartTracerNS
		}
	}
	return start
}

// inverseDrift solves (1+d)(1+e) = 1 for e; chain is (1+a)(1+b) - 1.
func inverseDrift(d clock.Drift) clock.Drift {
	x := float64(d) / 1e12
	return clock.Drift(math.Round(-x / (1 + x) * 1e12))
}

func chain(a, b clock.Drift) clock.Drift {
	return a + b + clock.Drift(math.Round(float64(a)*float64(b)/1e12))
}

// Rounds writes the solution as round offsets: JSON lines with GraphCalc's fields, which other readers understand, plus exact
// integers, bounds and steps, from which FromRounds rebuilds the same maps.
func (s *Solution) Rounds() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"meta":true,"schema":%q,"reference":%d,"nodes":[`, clockfile.RoundsSchema, s.Reference)
	type row struct {
		node int
		k    clock.Knot
		step bool
	}
	var rows []row
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"node_id":%d`, n.Node)
		start := s.start(n.Node)
		if start.StartWalltimeNS > 0 {
			fmt.Fprintf(&b, `,"start_walltime_ns":%d`, start.StartWalltimeNS)
		}
		if start.StartTracerNS > 0 {
			fmt.Fprintf(&b, `,"start_gpu_ns":%d`, start.StartTracerNS)
		}
		if n.Node != s.Reference {
			fmt.Fprintf(&b, `,"drift_before_ppt":%d,"drift_after_ppt":%d,"bound_growth_ppb":%d,"bound_wander_ppb":%d`, n.tail.before, n.tail.after, n.tail.growth, n.tail.wanderPPB)
			if n.tail.covered {
				b.WriteString(`,"bound_covers_tails":true`)
			}
		}
		b.WriteByte('}')
		steps := n.Map.Steps()
		for j, k := range n.Map.Knots() {
			isStep := len(steps) > 0 && j > 0 && steps[0] == j-1
			if isStep {
				steps = steps[1:]
			}
			rows = append(rows, row{n.Node, k, isStep})
		}
	}
	b.WriteString("]}\n")
	sort.SliceStable(rows, func(i, j int) bool {
		return rows[i].k.Y < rows[j].k.Y || rows[i].k.Y == rows[j].k.Y && rows[i].node < rows[j].node
	})
	round := -1
	for i, r := range rows {
		if i == 0 || r.k.Y != rows[i-1].k.Y {
			round++
		}
		n, _ := s.Node(r.node)
		fmt.Fprintf(&b, `{"round_id":%d,"window_id":%d,"window_start_ns":%d,"window_end_ns":%d,"midpoint_sys_ns":%d,"node_id":%d,"offset_ns":%d,"drift_ppm":%s,"residual":0,"reachable":true,"converged":true,"bound_ns":%d`,
			round, round, r.k.Y, r.k.Y, r.k.Y, r.node, r.k.X-r.k.Y, strconv.FormatFloat(n.DriftPPM, 'f', 6, 64), r.k.BoundNS)
		if r.step {
			b.WriteString(`,"step":true`)
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

package clockfile

import (
	"fmt"
	"math"
	"sort"

	"github.com/prlx-go/prlx/core/fault"
)

// Rounds is a file of round offsets: per round and node, how far the node's clock is ahead of the reference's.
type Rounds struct {
	Schema    string     // "prlx.rounds/1" for ours, "" for GraphCalc's
	Reference int        // -1 when the file does not say
	Meta      []NodeMeta // ascending by node
	Tails     []Tail     // ascending by node; ours only
	Rows      []Round    // in file order
	Alpha     alphaForm  // how rates were written, when they were written as alpha
	BoundNS   int64      // of rows that state none, as the header states it; 0 when it does not
}

// Tail is what one of our own files adds per node, so that reading it back gives the solver's map exactly.
type Tail struct {
	Node      int
	BeforePPT int64 // drift of the map before its first knot, parts per 10^12
	AfterPPT  int64 // and after its last
	GrowthPPB int64 // growth of the bound outside the knots, ns per second
	WanderPPB int64 // growth of the bound between knots
	Covered   bool  // the tails are as good as the knots: a declared offset
}

// Round is one row: in the round, node Node's clock was OffsetNS ahead of the reference's.
type Round struct {
	Line       int
	RoundID    int64
	WindowID   int64
	Node       int
	MidpointNS int64 // the instant on the reference's clock (midpoint_sys_ns), 0 when the row has only a window
	FromNS     int64 // the window, on the clock of the reference or, as GraphCalc writes it, of the node; 0 when absent
	ToNS       int64
	OffsetNS   int64
	QuantumNS  float64 // half a unit of the last digit that OffsetNS was printed with; 0 when printed as an integer
	DriftPPM   float64
	ResidualNS float64
	BoundNS    int64 // -1 when not stated
	Reachable  bool  // true when not stated
	Converged  bool  // true when not stated
	Step       bool  // ours: a clock stepped between the node's previous row and this one
}

// Usable reports whether the solver stands behind the row.
func (r *Round) Usable() bool { return r.Reachable && r.Converged }

func (f *File) roundsHeader(b []byte) error {
	r := Rounds{Reference: -1}
	err := object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "schema":
			r.Schema = string(unquote(value))
		case "reference":
			r.Reference, err = nodeID(value)
		case "bound_ns":
			if r.BoundNS, _, err = integer(value); err == nil && r.BoundNS <= 0 {
				err = fmt.Errorf("bound_ns %d is not a bound", r.BoundNS)
			}
		case "nodes":
			err = array(value, func(v []byte) error {
				if len(r.Meta) >= MaxNode {
					return fmt.Errorf("more than %d nodes", MaxNode)
				}
				m, err := parseNodeMeta(v)
				if err != nil {
					return err
				}
				r.Meta = append(r.Meta, m)
				t, ok, err := parseTail(v, m.Node)
				if ok {
					r.Tails = append(r.Tails, t)
				}
				return err
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.Schema != "" && r.Schema != RoundsSchema {
		return fault.Linef(f.Path, 0, "schema %q is not known; expected %q", clip(r.Schema), RoundsSchema).WithHint("a newer prlx wrote it: upgrade")
	}
	if r.Schema != "" {
		f.Rounds.Schema = r.Schema
	}
	if r.Reference >= 0 {
		f.Rounds.Reference = r.Reference
	}
	if r.BoundNS > 0 {
		f.Rounds.BoundNS = r.BoundNS
	}
	for _, m := range r.Meta {
		f.Rounds.addMeta(m)
	}
	f.Rounds.Tails = append(f.Rounds.Tails, r.Tails...)
	return nil
}

// RoundsSchema names the form of round offsets that prlx writes: GraphCalc's fields plus exact integers, bounds and steps.
const RoundsSchema = "prlx.rounds/1"

func parseTail(b []byte, node int) (t Tail, ok bool, err error) {
	t.Node = node
	err = object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "drift_before_ppt":
			t.BeforePPT, _, err = integer(value)
			ok = true
		case "drift_after_ppt":
			t.AfterPPT, _, err = integer(value)
		case "bound_growth_ppb":
			t.GrowthPPB, _, err = integer(value)
		case "bound_wander_ppb":
			t.WanderPPB, _, err = integer(value)
		case "bound_covers_tails":
			t.Covered, err = boolean(value)
		}
		return err
	})
	if err == nil && (t.GrowthPPB < 0 || t.WanderPPB < 0) {
		err = fmt.Errorf("node %d: the bound shrinks", node)
	}
	return t, ok, err
}

func (r *Rounds) addMeta(m NodeMeta) {
	for i := range r.Meta {
		if r.Meta[i].Node == m.Node {
			r.Meta[i] = m
			return
		}
	}
	r.Meta = append(r.Meta, m)
}

func (f *File) round(b []byte, line int) error {
	r := Round{Line: line, Node: -1, BoundNS: -1, Reachable: true, Converged: true}
	alpha := f.Rounds.Alpha
	var haveOffset, haveFrom, haveTo bool
	err := object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "round_id":
			r.RoundID, _, err = integer(value)
		case "window_id":
			r.WindowID, _, err = integer(value)
		case "node_id":
			r.Node, err = nodeID(value)
		case "midpoint_sys_ns":
			r.MidpointNS, err = instant(value)
		case "window_start_ns":
			r.FromNS, err = instantOrZero(value)
			haveFrom = true
		case "window_end_ns":
			r.ToNS, err = instantOrZero(value)
			haveTo = true
		case "offset_ns":
			r.OffsetNS, r.QuantumNS, err = integer(value)
			haveOffset = true
		case "drift_ppm", "slope_ppm":
			r.DriftPPM, err = float(value)
		case "alpha":
			if r.DriftPPM, err = float(value); err == nil {
				r.DriftPPM, err = alpha.alphaDrift(r.DriftPPM)
				r.DriftPPM *= 1e6
			}
		case "residual", "residual_ns":
			r.ResidualNS, err = float(value)
		case "bound_ns":
			r.BoundNS, _, err = integer(value)
		case "reachable":
			r.Reachable, err = boolean(value)
		case "converged":
			r.Converged, err = boolean(value)
		case "step":
			r.Step, err = boolean(value)
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case r.Node < 0:
		return fmt.Errorf("a round offset needs node_id")
	case !haveOffset:
		return fmt.Errorf("a round offset needs offset_ns")
	case r.MidpointNS == 0 && (!haveFrom || !haveTo):
		return fmt.Errorf("a round offset needs midpoint_sys_ns, or window_start_ns and window_end_ns")
	case r.Usable() && r.MidpointNS == 0 && (r.FromNS == 0 || r.ToNS < r.FromNS):
		return fmt.Errorf("the window from %d to %d ns is none", r.FromNS, r.ToNS)
	case r.OffsetNS == math.MinInt64 || r.Usable() && (r.OffsetNS > maxOffsetNS || r.OffsetNS < -maxOffsetNS):
		return fmt.Errorf("offset %d ns exceeds 10 years", r.OffsetNS)
	case math.Abs(r.DriftPPM) > 1e5:
		return fmt.Errorf("drift %g ppm exceeds 10 %%", r.DriftPPM)
	}
	f.Rounds.Alpha = alpha
	f.Rounds.Rows = append(f.Rounds.Rows, r)
	return nil
}

// maxOffsetNS is the largest offset between two wall clocks that is believed: 10 years.
const maxOffsetNS = int64(10*366*86400) * 1e9

func instantOrZero(v []byte) (int64, error) {
	if string(v) == "0" || string(v) == "null" {
		return 0, nil
	}
	return instant(v)
}

func (r *Rounds) finish(f *File) {
	for i := range r.Rows {
		if r.BoundNS > 0 && r.Rows[i].BoundNS < 0 {
			r.Rows[i].BoundNS = r.BoundNS
		}
	}
	for _, m := range f.metas {
		r.addMeta(m)
	}
	sort.SliceStable(r.Meta, func(i, j int) bool { return r.Meta[i].Node < r.Meta[j].Node })
	sort.SliceStable(r.Tails, func(i, j int) bool { return r.Tails[i].Node < r.Tails[j].Node })
	if r.Alpha != alphaNone {
		f.warnf("rates are written as alpha: %s", describeAlpha(r.Alpha))
	}
}

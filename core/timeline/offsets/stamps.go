package offsets

import (
	"context"
	"math"
	"sort"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
)

// Options tune the solvers. The zero value of a field means its default.
type Options struct {
	// Reference is the node whose clock is the target; without ReferenceSet it is the source's own, else the smallest id.
	Reference    int
	ReferenceSet bool
	// WindowNS is the length of the windows in which clocks are taken as straight lines. Default 10 s; 0.1 s to 1 h.
	WindowNS int64
	// GapNS is how long a pair of nodes may be without probes before the stretch is treated as a gap. Default 5 s.
	GapNS int64
	// MaxDriftPPM is how much the rates of two nodes may differ. Default 1000; up to 100_000.
	MaxDriftPPM float64
	// WanderPPB is how much a rate may change unseen within a window; it widens every bound by WanderPPB*WindowNS/4.
	// Default 100 (0.1 ppm).
	WanderPPB int64
}

func (o Options) withDefaults() (*Options, error) {
	if o.WindowNS == 0 {
		o.WindowNS = 10e9
	}
	if o.GapNS == 0 {
		o.GapNS = 5e9
	}
	if o.MaxDriftPPM == 0 {
		o.MaxDriftPPM = 1000
	}
	if o.WanderPPB == 0 {
		o.WanderPPB = 100
	}
	switch {
	case o.WindowNS < 1e8 || o.WindowNS > 3600e9:
		return nil, fault.Usagef("a solver window of %d ns is not within 0.1 s and 1 h", o.WindowNS)
	case o.GapNS < 1e6:
		return nil, fault.Usagef("a gap of %d ns is shorter than 1 ms", o.GapNS)
	case !(o.MaxDriftPPM > 0 && o.MaxDriftPPM <= 1e5):
		return nil, fault.Usagef("a largest drift of %g ppm is not within 0 and 100000", o.MaxDriftPPM)
	case o.WanderPPB < 0 || o.WanderPPB > 1e6:
		return nil, fault.Usagef("a wander of %d ppb is not within 0 and 1000000", o.WanderPPB)
	}
	return &o, nil
}

// reference picks the reference among the measured nodes.
func (o *Options) reference(nodes []int) (int, error) {
	if !o.ReferenceSet {
		return nodes[0], nil
	}
	if i := sort.SearchInts(nodes, o.Reference); i == len(nodes) || nodes[i] != o.Reference {
		return 0, fault.New(fault.Alignment, "the reference node %d is in no probe", o.Reference).WithHint("the probes know nodes %v", nodes)
	}
	return o.Reference, nil
}

// maxSlope is the largest slope of theta, ns per s.
func (o *Options) maxSlope() float64 { return o.MaxDriftPPM * 1e3 }

// tolerance is how far a clock may leave its straight line over a stretch of the given length, ns: the wander, and 2 ns for
// the rounding of stamps.
func (o *Options) tolerance(lengthNS float64) float64 {
	return 2 + float64(o.WanderPPB)*lengthNS/4e9
}

// SolveStamps finds the clocks of all nodes from raw probe stamps alone.
//
// Per pair of nodes it finds all straight lines that no packet contradicts, window by window, which gives a bound that needs
// no assumption about the path; the estimate inside it takes the fastest packets of both directions as equally fast. Steps and
// changes of rate show as windows that no line explains. Then the pairs are solved together.
func SolveStamps(ctx context.Context, stamps []clockfile.Stamp, options Options) (*Solution, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	links := gatherLinks(stamps)
	if len(links) == 0 {
		return nil, fault.New(fault.Alignment, "no usable probe stamps: %d given, none with an answer after its probe and a round trip that is not negative", len(stamps)).
			WithHint("t1 and t4 must be the prober's clock, t2 and t3 the responder's, all ns")
	}
	for _, l := range links {
		if err := ctx.Err(); err != nil {
			return nil, fault.FromIO("", err)
		}
		l.split(opt)
		l.fitParts(opt)
		l.judgeBreaks(opt)
	}
	usable := links[:0:0]
	for _, l := range links {
		if len(l.parts) > 0 {
			usable = append(usable, l)
		}
	}
	nodes := nodesOf(stamps)
	ref, err := opt.reference(nodes)
	if err != nil {
		return nil, err
	}
	s := &Solution{Reference: ref, Method: "stamps"}
	net := newNetwork(ref, nodes, usable, opt.WindowNS/8, opt)
	if err := net.solve(ctx, s); err != nil {
		return nil, err
	}
	s.describeLinks(links)
	return s, nil
}

func nodesOf(stamps []clockfile.Stamp) []int {
	seen := map[int32]bool{}
	var nodes []int
	for _, s := range stamps {
		for _, n := range [2]int32{s.Src, s.Dst} {
			if !seen[n] {
				seen[n] = true
				nodes = append(nodes, int(n))
			}
		}
	}
	sort.Ints(nodes)
	return nodes
}

func (s *Solution) describeLinks(links []*link) {
	for _, l := range links {
		d := Link{A: l.a, B: l.b, Stamps: l.stamps, Dropped: l.dropped + (l.outliers+1)/2, MinRTTNS: l.minRTT, ResidualNS: l.residual, MisfitNS: ceilNS(l.misfit)}
		for _, b := range l.breaks {
			switch b.kind {
			case breakStep:
				d.Steps++
			case breakKink:
				d.RateChanges++
			}
		}
		s.Links = append(s.Links, d)
	}
}

// driftOf turns a slope of theta over the reference's time (ns per s) into the drift of the map node -> reference.
func driftOf(slopePPB float64) clock.Drift {
	r := slopePPB / 1e9
	return clock.Drift(math.Round(-r / (1 + r) * 1e12))
}

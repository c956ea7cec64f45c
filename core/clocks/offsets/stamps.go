package offsets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
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
	// RoundBoundNS is the bound of round offsets that come without one and are too few to scatter. 0: a constant, with a warning.
	RoundBoundNS int64
}

// roundBound is the bound of round offsets that come without one and are too few to scatter.
func (o *Options) roundBound() int64 {
	if o.RoundBoundNS > 0 {
		return o.RoundBoundNS
	}
	return assumedRoundBoundNS
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
	case o.RoundBoundNS < 0 || o.RoundBoundNS > maxOffset:
		return nil, fault.Usagef("a bound of %d ns is not within 1 ns and a year", o.RoundBoundNS).WithHint("say how far off a round offset can be: --round-bound-ns 2000")
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
		return 0, fault.New(fault.Alignment, "the reference node %d is in none of the probes", o.Reference).WithHint("the probes are of nodes %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(nodes), " ", ", "), "[]"))
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
	g := NewGraph()
	g.AddStamps(stamps)
	if len(g.edges) == 0 {
		return nil, fault.New(fault.Alignment, "no usable probe stamps: %d given, none with an answer after its probe and a round trip that is not negative", len(stamps)).
			WithHint("t1 and t4 must be the prober's clock, t2 and t3 the responder's, all ns")
	}
	ref, err := opt.reference(g.hosts())
	if err != nil {
		return nil, err
	}
	return g.solve(ctx, Clock{Node: ref}, opt)
}

type pairKey struct{ a, b int32 }

// AddStamps adds raw probe stamps: a packet from A to B cannot arrive before it was sent, which bounds theta from above, one from B to A
// from below. No symmetry of the path is assumed here. Stamps that contradict themselves (an answer before its probe, a negative round
// trip) are dropped and counted.
func (g *Graph) AddStamps(stamps []clockfile.Stamp) {
	count := map[pairKey]int{}
	best := map[pairKey]clockfile.Stamp{}
	dropped := map[pairKey]int{}
	for _, s := range stamps {
		k := keyOf(s)
		if !plausible(s) {
			dropped[k]++
			continue
		}
		if count[k]++; count[k] == 1 || s.LongestTrip() < best[k].LongestTrip() {
			best[k] = s
		}
	}
	edges := make(map[pairKey]*Edge, len(count))
	for k, n := range count {
		e := g.Between(Clock{Node: int(k.a)}, Clock{Node: int(k.b)}, Stamps)
		s := best[k]
		theta, x := (s.T2-s.T1)/2+(s.T3-s.T4)/2, s.T1
		if s.Src != k.a {
			theta, x = -theta, s.T2
		}
		e.around(x, theta)
		if e.probes == 0 || s.LongestTrip() < e.trip.surely {
			e.trip = trip{rtt: rtt(s), held: s.T3 - s.T2, surely: s.LongestTrip()}
			if s.Src != k.a {
				e.trip.held = -e.trip.held
			}
		}
		e.dropped += dropped[k]
		e.probes += n
		e.bounds = slices.Grow(e.bounds, 2*n)
		edges[k] = e
	}
	seen := map[int32]bool{}
	for _, s := range stamps {
		for _, n := range [2]int32{s.Src, s.Dst} {
			if !seen[n] {
				seen[n] = true
				g.Mention(Clock{Node: int(n)})
			}
		}
		if plausible(s) {
			e := edges[keyOf(s)]
			e.Before(Clock{Node: int(s.Src)}, s.T1, s.T2)
			e.Before(Clock{Node: int(s.Dst)}, s.T3, s.T4)
		}
	}
}

func keyOf(s clockfile.Stamp) pairKey {
	if s.Src < s.Dst {
		return pairKey{s.Src, s.Dst}
	}
	return pairKey{s.Dst, s.Src}
}

// maxInstant (the year 2116) leaves room for sums, maxOffset (10 years) is the largest offset believed.
const (
	maxInstant = int64(1) << 62
	maxOffset  = int64(10*366*86400) * 1e9
)

// plausible: both clocks ran forward and the packets did not travel back in time, as far as clocks of different rates tell.
func plausible(s clockfile.Stamp) bool {
	return s.Src != s.Dst && s.T1 > 0 && s.T2 > 0 && s.T3 < maxInstant && s.T4 < maxInstant && s.T3 >= s.T2 && s.T4 >= s.T1 && s.LongestTrip() >= 0 &&
		s.T2-s.T1 < maxOffset && s.T2-s.T1 > -maxOffset && s.T3-s.T4 < maxOffset && s.T3-s.T4 > -maxOffset
}

// rtt is the round trip if both clocks run equally fast.
func rtt(s clockfile.Stamp) int64 { return (s.T4 - s.T1) - (s.T3 - s.T2) }

// trip is the fastest round trip of an edge.
type trip struct {
	rtt    int64 // if both clocks ran equally fast
	held   int64 // between arrival and answer; negative where A answered
	surely int64 // the longest that it can have taken
}

// minRTT is the smallest round trip of the link by the clocks' rates, ns; 0 where nothing is known.
func (l *link) minRTT() int64 {
	v := float64(l.trip.rtt)
	if len(l.parts) > 0 && len(l.parts[0].windows) > 0 {
		v += l.parts[0].windows[0].fit.s * float64(l.trip.held) / 1e9
	}
	return max(0, int64(math.Round(v)))
}

func (s *Solution) describeLinks(links []*link) {
	for _, l := range links {
		if l.A.Kind != Host || l.B.Kind != Host {
			continue
		}
		d := Link{A: l.A.Node, B: l.B.Node, Stamps: l.probes, Dropped: l.dropped + (l.outliers+1)/2, MinRTTNS: l.minRTT(), ResidualNS: l.residual, MisfitNS: ceilNS(l.misfit)}
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

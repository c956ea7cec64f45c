// Package clocks finds what the clock of a GPU shows of its host's, from what NCCL's callbacks bracket, and which of its stamps cannot be.
//
// The start and the stop of an operation's kernel on a channel are stamped by the GPU. The stamp of the start was made after the launch had
// been called, and each stamp before the callback that told it: so the difference of the clocks of GPU and host lies in an interval at each
// of these instants, and package offsets intersects the intervals over a sliding window, as it does for any two clocks. Whatever NCCL's
// ring of stamps got wrong is set aside before, and told for each kernel. docs/concepts/nccl-clocks.md explains what follows for the bounds.
package clocks

import (
	"context"
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// GPU is the clock of one GPU of a process against the clock of its host.
type GPU struct {
	Seat     int32
	Kernels  int // that have a stamp
	Launches int // facts: a stamp of a start, and the launch before it; of a stop, and what the host handed to the kernel before it
	Seen     int // facts: a stamp, and the callback after it

	GrainNS  int64      // the clock shows multiples of this, as far as is known
	Map      *clock.Map // GPU -> host; nil where nothing bounds the clock from both sides, or nothing fits
	OffsetNS int64      // how far the clock is ahead of the host's, in the middle of what was recorded
	DriftPPM float64    // how much faster it runs
	Bound    offsets.Bounds
	Flaws    flaws
	Trusted  bool   // at most one kernel in a hundred has a flaw that its stamps betray
	Said     string // one sentence
}

// Flaw is what the stamps of a kernel cannot be, as a set of flags.
type Flaw uint8

// The flaws.
const (
	repeated        Flaw = 1 << iota // another operation of the channel has the same stamp: the ring was lapped
	stopBeforeStart                  // the kernel stopped before it started
	beforeLaunch                     // it started before its launch was called
	afterCallback                    // it was stamped after the host was told of it
	zero                             // it stopped, and has no stamp where others have one
)

// flaws counts kernels by flaw. A kernel may have several.
type flaws struct{ Repeated, StopBeforeStart, BeforeLaunch, AfterCallback, Zero int }

func (f *flaws) add(flaw Flaw) {
	for _, c := range []struct {
		of Flaw
		n  *int
	}{{repeated, &f.Repeated}, {stopBeforeStart, &f.StopBeforeStart}, {beforeLaunch, &f.BeforeLaunch}, {afterCallback, &f.AfterCallback}, {zero, &f.Zero}} {
		if flaw&c.of != 0 {
			*c.n++
		}
	}
}

// Fitted is what was found of the GPUs of one process.
type Fitted struct {
	GPUs  []GPU  // by seat
	Flaws []Flaw // by kernel of the recording

	mapped []instants // by kernel, where the clock of its GPU is known
}

// instants are the stamps of a kernel on the host's clock, and how far off they can be.
type instants struct{ start, startBound, stop, stopBound int64 }

// Fit finds the clocks of the GPUs of a process and the flaws of its kernels' stamps. It does not change the recording; Apply does.
func Fit(ctx context.Context, r *operation.Recording) (*Fitted, error) {
	f := &Fitted{Flaws: make([]Flaw, len(r.Kernels))}
	facts := f.facts(r)
	for seat := range f.GPUs {
		if err := f.GPUs[seat].solve(ctx, facts[seat]); err != nil {
			return nil, err
		}
	}
	f.check(r)
	for seat := range f.GPUs {
		f.GPUs[seat].judge()
	}
	return f, nil
}

var (
	hostClock = offsets.Clock{}
	gpuClock  = offsets.Clock{Kind: offsets.Timer}
)

// solve finds the map of a GPU's clock.
func (g *GPU) solve(ctx context.Context, f *facts) error {
	g.GrainNS = f.grain.step()
	g.Launches, g.Seen = f.launches.count, f.seen.count
	if g.Launches == 0 || g.Seen == 0 {
		return nil
	}
	graph := offsets.NewGraph()
	f.bind(graph, hostClock, gpuClock, g.GrainNS)
	s, err := graph.Solve(ctx, hostClock, offsets.Options{})
	if err != nil {
		return err
	}
	for i := range s.Others {
		if o := &s.Others[i]; o.Clock == gpuClock {
			g.Map, g.DriftPPM, g.Bound = o.Map, o.DriftPPM, o.Bound
			mid := f.from + (f.to-f.from)/2
			host, _, _ := g.Map.At(mid)
			g.OffsetNS = mid - host
		}
	}
	return nil
}

// check finds the flaws that only the fitted clock shows.
func (f *Fitted) check(r *operation.Recording) {
	f.mapped = make([]instants, len(r.Kernels))
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if seat := seatOf(r, k); seat >= 0 && int(seat) < len(f.GPUs) {
			g := &f.GPUs[seat]
			if g.Map != nil {
				f.Flaws[i] |= g.late(r, k, &f.mapped[i])
			}
			g.Flaws.add(f.Flaws[i])
		}
	}
}

// late compares the stamps with what the host saw.
func (g *GPU) late(r *operation.Recording, k *operation.Kernel, to *instants) (flaw Flaw) {
	if k.GPUStartNS > 0 {
		at, bound, _ := g.Map.At(k.GPUStartNS)
		to.start, to.startBound = at, bound
		if launch := launchOf(r, k); launch > 0 && at+bound+g.GrainNS < launch {
			flaw |= beforeLaunch
		}
		if k.CallStartNS > 0 && at-bound > k.CallStartNS {
			flaw |= afterCallback
		}
	}
	if k.GPUStopNS > 0 {
		at, bound, _ := g.Map.At(k.GPUStopNS)
		to.stop, to.stopBound = at, bound
		if k.CallStopNS > 0 && at-bound > k.CallStopNS {
			flaw |= afterCallback
		}
	}
	return flaw
}

// mostFlawed is the share of kernels with flaws up to which the stamps of a GPU are believed.
const mostFlawed = 0.01

func (g *GPU) judge() {
	worst := max(g.Flaws.Repeated, g.Flaws.StopBeforeStart, g.Flaws.BeforeLaunch, g.Flaws.AfterCallback)
	g.Trusted = g.Map != nil && float64(worst) <= mostFlawed*float64(g.Kernels)
	switch {
	case g.Kernels == 0:
		g.Said = "no kernel has a stamp of the GPU"
	case g.Launches == 0:
		g.Said = "no launch before a kernel is recorded: the GPU's clock is not bounded from one side, and kernels stand where the host saw them"
	case g.Map == nil:
		g.Said = "no clock that runs straight explains half of the GPU's stamps: kernels stand where the host saw them"
	case !g.Trusted:
		g.Said = fmt.Sprintf("GPU time is not to be trusted: %d of %d kernels have stamps that cannot be", worst, g.Kernels)
	default:
		g.Said = fmt.Sprintf("the GPU's clock is known to +-%.1f us, and runs %+.3f ppm against the host's", float64(g.Bound.P50)/1e3, g.DriftPPM)
	}
}

// Apply puts the kernels of the recording on the clock of its host: by the GPU's stamps where these can be, else where the host saw them, with
// a negative bound.
func (f *Fitted) Apply(r *operation.Recording) {
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.StartNS, k.StopNS, k.BoundNS = k.CallStartNS, k.CallStopNS, -1
		seat := seatOf(r, k)
		if seat < 0 || int(seat) >= len(f.GPUs) || !f.GPUs[seat].Trusted || f.Flaws[i] != 0 || k.GPUStartNS == 0 {
			continue
		}
		g := &f.GPUs[seat]
		k.StartNS, k.BoundNS = g.middle(f.mapped[i].start, f.mapped[i].startBound)
		if k.GPUStopNS > 0 {
			stop, bound := g.middle(f.mapped[i].stop, f.mapped[i].stopBound)
			k.StopNS, k.BoundNS = max(stop, k.StartNS), max(bound, k.BoundNS)
		}
	}
}

// middle is where a stamp stands, which may be by its grain earlier than what it stamps.
func (g *GPU) middle(hostNS, boundNS int64) (ns, bound int64) {
	half := max(g.GrainNS-1, 0) / 2
	return hostNS + half, boundNS + half + 1
}

// seatOf is which GPU of the process a kernel ran on.
func seatOf(r *operation.Recording, k *operation.Kernel) int32 {
	if m := memberOf(r, k); m >= 0 {
		return r.Members[m].Seat
	}
	return operation.None
}

func memberOf(r *operation.Recording, k *operation.Kernel) int32 {
	if k.Op < 0 || int(k.Op) >= len(r.Ops) {
		return operation.None
	}
	if m := r.Ops[k.Op].Member; m >= 0 && int(m) < len(r.Members) {
		return m
	}
	return operation.None
}

// launchOf is the latest instant before which a kernel cannot have started: when its launch was called; of a replay, of which no launch is
// told, when the host scheduled it.
func launchOf(r *operation.Recording, k *operation.Kernel) int64 {
	if k.Op < 0 || int(k.Op) >= len(r.Ops) {
		return 0
	}
	op := &r.Ops[k.Op]
	if op.Captured && op.Occurrence > 0 {
		return op.StartNS
	}
	if op.Launch < 0 || int(op.Launch) >= len(r.Launch) {
		return 0
	}
	return r.Launch[op.Launch].StartNS
}

// latest is beyond every instant that is compared: the year 2116.
const latest = int64(1) << 62

func usable(ns int64) bool { return ns > 0 && ns < latest }

// grain finds out which multiples a clock shows.
type grain struct {
	common int64
	seen   int
}

func (g *grain) add(ns int64) {
	g.seen++
	for a, b := g.common, ns; ; {
		if b == 0 {
			g.common = a
			return
		}
		a, b = b, a%b
	}
}

// fewStamps is how many stamps may have a factor by chance.
const fewStamps = 16

func (g *grain) step() int64 {
	if g.seen < fewStamps || g.common <= 0 {
		return 1
	}
	return min(g.common, math.MaxInt32)
}

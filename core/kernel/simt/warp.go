package simt

import "github.com/prlx-go/prlx/core/kernel/simt/lane"

// warpState says whether a warp can run.
type warpState uint8

const (
	warpReady warpState = iota
	warpWaits           // at a barrier
	warpDone
)

// warp is one warp of a block that runs.
type warp struct {
	regs    lane.Regs
	stack   []path
	live    uint32 // lanes that have not ended
	born    uint32 // lanes that the warp began with
	index   int    // in the block
	state   warpState
	steps   uint64 // instructions so far: its clock
	waits   int32  // number of the barrier at which it waits
	at      int32  // that barrier's instruction
	arrived uint32 // lanes with which it came
	keep32  [maxOutputs][lane.Lanes]uint32
	keep64  [maxOutputs][lane.Lanes]uint64
	keepP   [maxOutputs]uint32
}

// masked executes a lanewise instruction for some lanes: the others keep what they have.
func (w *warp) masked(in *inst, lanes uint32) {
	r := &w.regs
	for i, o := range in.outs {
		switch o.bank {
		case lane.R32:
			w.keep32[i] = r.R32[o.index]
		case lane.R64:
			w.keep64[i] = r.R64[o.index]
		case lane.P:
			w.keepP[i] = r.P[o.index]
		}
	}
	in.lane(r, &in.ops)
	for i, o := range in.outs {
		switch o.bank {
		case lane.R32:
			blend32(&r.R32[o.index], &w.keep32[i], lanes)
		case lane.R64:
			blend64(&r.R64[o.index], &w.keep64[i], lanes)
		case lane.P:
			r.P[o.index] = r.P[o.index]&lanes | w.keepP[i]&^lanes
		}
	}
}

// blend32 puts old into the lanes of d that are not in lanes.
func blend32(d, old *[lane.Lanes]uint32, lanes uint32) {
	for l := range d {
		m := -(lanes >> l & 1)
		d[l] = d[l]&m | old[l]&^m
	}
}

// blend64 is blend32 of 64 bits.
func blend64(d, old *[lane.Lanes]uint64, lanes uint32) {
	for l := range d {
		m := -uint64(lanes >> l & 1)
		d[l] = d[l]&m | old[l]&^m
	}
}

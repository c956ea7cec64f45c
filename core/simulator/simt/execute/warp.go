package execute

import (
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// warpState says whether a warp can run.
type warpState uint8

const (
	warpReady warpState = iota
	warpWaits           // at a barrier
	warpRests           // it goes round a loop in which nothing changes; it runs again in its next turn
	warpDone
)

// Warp is one warp of a block that runs.
type Warp struct {
	Regs  lane.Regs
	Index int // in the block

	paths      []path
	splits     []split // room for some, of which splitsUsed are taken
	splitsUsed int
	frames     []*frame // room of calls that are over
	run        int      // the path that runs
	slow       bool     // lanes wait for lanes of the warp: paths take their turns by choose, an instruction each
	since      uint64   // its clock when lanes last parted or had a turn
	woke       bool     // those that gave way have another turn, because lanes came to the end of a branch
	stood      uint64   // how the warp stood when those that gave way had their last turn
	live       uint32   // lanes that have not ended
	born       uint32   // lanes that the warp began with
	partial    bool     // some lanes are at a barrier to which others have not come
	state      warpState
	doubts     int32  // heads of other loops at which it is looked at as at those of loops that poll
	steps      uint64 // instructions so far: its clock
	keep32     [code.MaxOutputs][lane.Lanes]uint32
	keep64     [code.MaxOutputs][lane.Lanes]uint64
	keepP      [code.MaxOutputs]uint32

	looked ring   // how it stood when it came to the heads of loops that poll
	passes int    // through such loops in this turn
	writes uint64 // that may have changed memory
	poll   poll   // the last time that it looked at what others may change
}

// masked executes a lanewise instruction for some lanes: the others keep what they have.
func (w *Warp) masked(in *code.Inst, lanes uint32) {
	r := &w.Regs
	for i, o := range in.Outs {
		switch o.Bank {
		case lane.R32:
			w.keep32[i] = r.R32[o.Index]
		case lane.R64:
			w.keep64[i] = r.R64[o.Index]
		case lane.P:
			w.keepP[i] = r.P[o.Index]
		}
	}
	in.Lane(r, &in.Ops)
	for i, o := range in.Outs {
		switch o.Bank {
		case lane.R32:
			blend32(&r.R32[o.Index], &w.keep32[i], lanes)
		case lane.R64:
			blend64(&r.R64[o.Index], &w.keep64[i], lanes)
		case lane.P:
			r.P[o.Index] = r.P[o.Index]&lanes | w.keepP[i]&^lanes
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

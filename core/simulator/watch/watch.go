// Package watch observes launches for people: touch.go, which blocks touched which elements of which array, stop.go with value.go, what lanes
// hold at a line of the source. It changes nothing of a launch; what recordings hold is package record's.
package watch

import (
	"context"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// All joins observers: each sees what it wants, in this order. Those that are nil are left out; of none the result is nil.
func All(observers ...execute.Observer) execute.Observer {
	var list several
	for _, o := range observers {
		if o != nil {
			list = append(list, o)
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &joined{observers: list}
}

type several []execute.Observer

// joined is several observers of one launch.
type joined struct {
	observers several
	wanted    []uint8 // by instruction: which observers want it
}

// maxJoined is how many observers fit a mask of wishes.
const maxJoined = 8

// Wants asks everybody; each is told only of what it wants itself.
func (j *joined) Wants(at int32) bool {
	for int(at) >= len(j.wanted) {
		j.wanted = append(j.wanted, 0)
	}
	j.wanted[at] = 0
	for i, o := range j.observers[:min(len(j.observers), maxJoined)] {
		if o.Wants(at) {
			j.wanted[at] |= 1 << i
		}
	}
	return j.wanted[at] != 0
}

// Open opens a block for everybody.
func (j *joined) Open(b *execute.Block) execute.BlockObserver {
	seen := &joinedBlock{of: j, blocks: make([]execute.BlockObserver, len(j.observers))}
	for i, o := range j.observers {
		seen.blocks[i] = o.Open(b)
	}
	return seen
}

// Close closes it for everybody; the first error stays.
func (j *joined) Close(ctx context.Context, b *execute.Block, seen execute.BlockObserver) (err error) {
	blocks := seen.(*joinedBlock).blocks
	for i, o := range j.observers {
		if e := o.Close(ctx, b, blocks[i]); err == nil {
			err = e
		}
	}
	return err
}

// Finish ends the launch for everybody; the first error stays.
func (j *joined) Finish(r *execute.Running, result *execute.Result) (err error) {
	for _, o := range j.observers {
		if e := o.Finish(r, result); err == nil {
			err = e
		}
	}
	return err
}

type joinedBlock struct {
	of     *joined
	blocks []execute.BlockObserver
}

// Before tells those who want the instruction.
func (s *joinedBlock) Before(b *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	for set := s.of.wanted[at]; set != 0; set &= set - 1 {
		s.blocks[bits.TrailingZeros8(set)].Before(b, w, at, active, taken)
	}
}

// After tells those who want the instruction.
func (s *joinedBlock) After(b *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	for set := s.of.wanted[at]; set != 0; set &= set - 1 {
		s.blocks[bits.TrailingZeros8(set)].After(b, w, at, active, taken)
	}
}

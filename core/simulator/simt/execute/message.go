package execute

import (
	"fmt"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// checkOf is the name of a check of memory.
func checkOf(c memory.Check) Check {
	switch c {
	case memory.OutOfBounds:
		return checkOutOfBounds
	case memory.Misaligned:
		return checkMisaligned
	case memory.UninitialisedShared:
		return checkUninitialised
	case memory.UninitialisedLocal:
		return checkUninitialLocal
	case memory.SharedRace:
		return checkRace
	case memory.GlobalRace:
		return checkGlobalRace
	case memory.StaleAsyncCopy:
		return checkStaleCopy
	case memory.ReadOnlyWrite:
		return checkReadOnly
	case memory.MbarrierMisuse:
		return checkMbarrier
	case memory.UninitialisedGlobal:
		return checkUninitialGlobal
	case memory.WarpRace:
		return checkWarpRace
	case memory.OutsideView:
		return checkView
	case memory.UseAfterFree:
		return checkFreed
	}
	return checkNull
}

// fault reports what memory found in one access.
func (b *Block) fault(w *Warp, at int32, f *memory.Fault) {
	for ; f != nil; f = f.Next {
		if f.Allocated && b.Running.options.NoRaces {
			continue
		}
		b.Running.sayFreed(f)
		b.note(checkOf(f.Check), w, at, f.Lanes, f, func() string { return b.faultMessage(f) })
	}
}

// faultMessage says in one sentence what an access did wrong.
func (b *Block) faultMessage(f *memory.Fault) string {
	what := "a load"
	switch {
	case f.Atomic:
		what = "an atomic"
	case f.Store:
		what = "a store"
	}
	access := fmt.Sprintf("%s of %s at 0x%x", what, bytesText(uint64(f.Bytes)), f.Address)
	where := nearest(f)
	switch f.Check {
	case memory.OutOfBounds:
		if f.Inside != "" {
			return fmt.Sprintf("%s falls into %s, but its pointer comes from %s", access, f.Inside, orNone(f.Nearest))
		}
		return access + " is out of bounds: " + where + loadedHint(f)
	case memory.Misaligned:
		return fmt.Sprintf("%s is not aligned to %s: %s", access, bytesText(uint64(f.Bytes)), where)
	case memory.UninitialisedShared:
		return access + " reads shared memory that nobody has written: " + where
	case memory.UninitialisedGlobal:
		if f.Allocated {
			return fmt.Sprintf("%s reads what nobody has written of %s", access, f.Nearest)
		}
		return fmt.Sprintf("%s reads what nobody has written of %s, which is said to be empty when the launch begins", access, orNone(f.Nearest))
	case memory.UninitialisedLocal:
		return access + " reads local memory that the thread has not written: " + where
	case memory.SharedRace:
		return fmt.Sprintf("%s and %s to the same bytes of shared memory, with no barrier between them", access, b.party(f.Other))
	case memory.UseAfterFree:
		return fmt.Sprintf("%s uses memory that was freed: it belonged to %s", access, f.Says)
	case memory.WarpRace:
		return fmt.Sprintf("%s and %s to the same bytes of shared memory, with no bar.warp.sync between them", access, b.laneParty(f.Other))
	case memory.OutsideView:
		return fmt.Sprintf("%s is in the storage of %s, but outside of the view that was passed: it %s", access, f.Nearest, f.Says)
	case memory.GlobalRace:
		return fmt.Sprintf("%s and %s to the same bytes of %s, with nothing that orders them", access, b.party(f.Other), orNone(f.Nearest))
	case memory.StaleAsyncCopy:
		return fmt.Sprintf("%s reaches bytes that cp.async is still writing: %s has not been waited for", access, b.party(f.Other))
	case memory.MbarrierMisuse:
		return fmt.Sprintf("at 0x%x of shared memory: %s", f.Address, f.Says)
	case memory.ReadOnlyWrite:
		return fmt.Sprintf("%s writes %s, which is read-only", access, orNone(f.Nearest))
	}
	return access + " goes through a null pointer"
}

// laneParty names the other side of a race within a warp.
func (b *Block) laneParty(p memory.Party) string {
	what := fmt.Sprintf("a load of lane %d", p.Lane)
	if p.Store {
		what = fmt.Sprintf("a store of lane %d", p.Lane)
	}
	p.Warp = -1
	return b.partyOf(what, p)
}

// party names the other side of a race.
func (b *Block) party(p memory.Party) string {
	if p.Store {
		return b.partyOf("a store", p)
	}
	return b.partyOf("a load", p)
}

func (b *Block) partyOf(what string, p memory.Party) string {
	switch {
	case p.OtherBlock && p.Block >= 0:
		what += fmt.Sprintf(" of block %v", b.Running.blockIndex(uint64(p.Block)))
	case p.OtherBlock:
		what += " of another block"
	}
	if p.Warp >= 0 {
		what += fmt.Sprintf(" of warp %d", p.Warp)
	}
	if p.Inst < 0 || int(p.Inst) >= len(b.kernel.Origins) {
		return what
	}
	o := b.kernel.Origins[p.Inst]
	if in := o.PTX(); in != nil {
		what += " (" + code.Text(o.Function, in)
		if at := code.SourceOf(b.kernel.Module, in.Location); len(at) > 0 && at[len(at)-1].Line > 0 {
			what += fmt.Sprintf(", line %d", at[len(at)-1].Line)
		}
		what += ")"
	}
	return what
}

// nearest says where an address is, seen from the allocation next to it.
func nearest(f *memory.Fault) string {
	if f.Nearest == "" {
		return "nothing that was passed or registered is near"
	}
	name := fmt.Sprintf("%s (%s)", f.Nearest, bytesText(f.Size))
	switch {
	case f.Distance > 0:
		return fmt.Sprintf("it reaches %s beyond the end of %s", bytesText(uint64(f.Distance)), name)
	case f.Distance < 0:
		return fmt.Sprintf("it begins %s before the start of %s", bytesText(uint64(-f.Distance)), name)
	}
	return "in " + name
}

// loadedHint says what an address of the process can be that lies in no array: the kernel loaded it, or made it of a number.
func loadedHint(f *memory.Fault) string {
	switch {
	case f.Address >= memory.SharedWindow, f.Nearest == "shared memory", f.Nearest == "local memory":
		return ""
	case f.Nearest == "":
		return " (the memory behind a loaded pointer was freed, or has to be named with memory= or register)"
	}
	return " (an index ran over, or the memory behind a loaded pointer was freed or has to be named with memory= or register)"
}

func orNone(name string) string {
	if name == "" {
		return "no allocation"
	}
	return name
}

func bytesText(n uint64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

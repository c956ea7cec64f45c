package simulation

import (
	"fmt"

	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// maxSnapshots is what a recording holds of one warp.
const maxSnapshots = 1 << 16

// roles say what the operands at sites of a kind are.
var roles = map[site.Kind]warptrace.SnapshotRole{
	site.Switch: warptrace.RoleValue, site.GlobalStore: warptrace.RoleStore, site.SharedStore: warptrace.RoleStore,
	site.Atomic: warptrace.RoleAtomic, site.Load: warptrace.RoleLoad,
}

// snapshots makes those of a recording of the operands that a warp left.
func (s *stored) snapshots(out *warptrace.Warp, w *arena.Warp) {
	for i := range w.Operands {
		if len(out.Snapshots) == maxSnapshots {
			s.crowded += uint64(len(w.Operands) - i)
			return
		}
		o := &w.Operands[i]
		at := &s.table.Sites[o.Site]
		shot := warptrace.Snapshot{
			Site: o.Site, Event: int32(o.Event), Seq: uint32(i), Active: o.Active, Compare: at.Compare, Role: roles[at.Kind],
			Type: s.table.Types[o.Site], Lhs: o.Lhs, Rhs: o.Rhs,
		}
		switch shot.Role {
		case warptrace.RoleValue, warptrace.RoleAtomic:
			shot.Rhs = nil
		case warptrace.RoleStore, warptrace.RoleLoad:
			for lane := range shot.Lhs {
				if o.Active>>lane&1 != 0 {
					shot.Lhs[lane] = s.addressName(shot.Lhs[lane])
				}
			}
		}
		out.Snapshots = append(out.Snapshots, shot)
	}
}

// addressName is what recordings call an address: the number of the array, from 1, above how far it is from what offsets in it count from.
// Where arrays lie in the process says nothing about the kernel.
func (s *stored) addressName(address uint64) uint64 {
	for k := len(s.plan.Arrays) - 1; k >= 0; k-- {
		a := &s.plan.Arrays[k]
		for _, piece := range a.Pieces {
			if address-piece.From < piece.Bytes {
				return uint64(a.ID+1)<<warptrace.PointerOffsetBits + address - piece.From + a.Pieces[0].From - a.Base
			}
		}
	}
	return address
}

// lostOperands says which operands a recording does not have.
func (s *stored) lostOperands(a *arena.Arena) {
	if n := s.plan.Depth; n > 0 && s.plan.Operands {
		s.recorder.writer.Note(fmt.Sprintf("operands of every lane at the first %d visits of each site by each warp alone: %d more events have none", n, a.Deep))
	}
	if a.NoRoom > 0 {
		s.recorder.writer.Note(fmt.Sprintf("the operands of %d elements of events were lost because the arena of %d bytes was full", a.NoRoom, len(s.memory)))
	}
	if a.Orphans+s.crowded > 0 {
		s.recorder.writer.Note(fmt.Sprintf("the operands of %d elements of events are not kept: their events are not, or their warp has more than %d", a.Orphans+s.crowded, maxSnapshots))
	}
}

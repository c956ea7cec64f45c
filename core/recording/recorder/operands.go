package recorder

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
func (a *Arena) snapshots(out *warptrace.Warp, w *arena.Warp) {
	for i := range w.Operands {
		if len(out.Snapshots) == maxSnapshots {
			a.crowded += uint64(len(w.Operands) - i)
			return
		}
		o := &w.Operands[i]
		at := &a.Table.Sites[o.Site]
		shot := warptrace.Snapshot{
			Site: o.Site, Event: int32(o.Event), Seq: uint32(i), Active: o.Active, Compare: at.Compare, Role: roles[at.Kind],
			Type: a.Table.Types[o.Site], Lhs: o.Lhs, Rhs: o.Rhs,
		}
		switch shot.Role {
		case warptrace.RoleValue, warptrace.RoleAtomic:
			shot.Rhs = nil
		case warptrace.RoleStore, warptrace.RoleLoad:
			for lane := range shot.Lhs {
				if o.Active>>lane&1 != 0 {
					shot.Lhs[lane] = a.addressName(shot.Lhs[lane])
				}
			}
		}
		out.Snapshots = append(out.Snapshots, shot)
	}
}

// addressName is what recordings call an address: the number of the array, from 1, above how far it is from what offsets in it count from.
// Where arrays lie in the process says nothing about the kernel.
func (a *Arena) addressName(address uint64) uint64 {
	for k := len(a.Plan.Arrays) - 1; k >= 0; k-- {
		at := &a.Plan.Arrays[k]
		for _, piece := range at.Pieces {
			if address-piece.From < piece.Bytes {
				return uint64(at.ID+1)<<warptrace.PointerOffsetBits + address - piece.From + at.Pieces[0].From - at.Base
			}
		}
	}
	return address
}

// lostOperands says which operands a recording does not have.
func (a *Arena) lostOperands(note func(string), left *arena.Arena) {
	if n := a.Plan.Depth; n > 0 && a.Plan.Operands {
		note(fmt.Sprintf("operands of every lane at the first %d visits of each site by each warp alone: %d more events have none", n, left.Deep))
	}
	if left.NoRoom > 0 {
		note(fmt.Sprintf("the operands of %d elements of events were lost because the arena of %d bytes was full", left.NoRoom, len(a.Memory)))
	}
	if left.Orphans+a.crowded > 0 {
		note(fmt.Sprintf("the operands of %d elements of events are not kept: their events are not, or their warp has more than %d", left.Orphans+a.crowded, maxSnapshots))
	}
}

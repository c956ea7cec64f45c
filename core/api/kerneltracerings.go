package api

import (
	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// historyRows are the columns of the table of values that flowed towards compares.
type historyRows struct {
	warp, value []int64
	event, seq  []int32
	known       []bool
	site        stringColumn
}

func (h *historyRows) add(t *warptrace.Trace, w *warptrace.Warp) {
	for i := range w.History {
		e := &w.History[i]
		h.warp = append(h.warp, int64(w.Warp))
		h.value = append(h.value, int64(e.Value))
		h.event = append(h.event, e.Event)
		h.known = append(h.known, e.Event >= 0)
		h.seq = append(h.seq, int32(e.Seq))
		h.site.append(recording.SiteText(t, e.Site))
	}
}

func (h *historyRows) table() *table {
	out := newTable(len(h.warp))
	out.Int64("warp", "", h.warp, nil)
	out.int32("event", "", h.event, h.known)
	out.int32("seq", "", h.seq, nil)
	out.strings("site", &h.site)
	out.Int64("value", "", h.value, nil)
	return out
}

// snapshotRows are the columns of the table of operands, one row a lane.
type snapshotRows struct {
	warp, lhs, rhs             []int64
	event, seq, lane           []int32
	known, active, second      []bool
	site, compare, role, types stringColumn
}

func (s *snapshotRows) add(t *warptrace.Trace, w *warptrace.Warp) {
	for i := range w.Snapshots {
		shot := &w.Snapshots[i]
		id, role := recording.SiteText(t, shot.Site), describe.RoleName(shot.Role)
		for lane := range shot.Lhs {
			s.warp = append(s.warp, int64(w.Warp))
			s.event = append(s.event, shot.Event)
			s.known = append(s.known, shot.Event >= 0)
			s.seq = append(s.seq, int32(shot.Seq))
			s.lane = append(s.lane, int32(lane))
			s.active = append(s.active, shot.Active>>lane&1 != 0)
			s.lhs = append(s.lhs, int64(shot.Lhs[lane]))
			var rhs uint64
			if lane < len(shot.Rhs) {
				rhs = shot.Rhs[lane]
			}
			s.rhs = append(s.rhs, int64(rhs))
			s.second = append(s.second, lane < len(shot.Rhs))
			s.site.append(id)
			appendOrMissing(&s.compare, shot.Compare.Name())
			s.role.append(role)
			s.types.append(shot.Type.String())
		}
	}
}

func (s *snapshotRows) table() *table {
	out := newTable(len(s.warp))
	out.Int64("warp", "", s.warp, nil)
	out.int32("event", "", s.event, s.known)
	out.int32("seq", "", s.seq, nil)
	out.strings("site", &s.site)
	out.strings("role", &s.role)
	out.strings("compare", &s.compare)
	out.strings("type", &s.types)
	out.int32("lane", "", s.lane, nil)
	out.bool("in_active_lanes", s.active, nil)
	out.Int64("lhs", "", s.lhs, nil)
	out.Int64("rhs", "", s.rhs, s.second)
	return out
}

package warptracetest

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// compared records an event of a compare: the value is the leader's left operand.
func (m *machine) compared(s *stmt, active, taken uint64, lhs, rhs *vec) {
	dir := uint8(taken >> bits.TrailingZeros64(active) & 1)
	m.event(s, active, taken, dir, lhs, s.cond.lhs.typ)
	m.snapshot(s, active, warptrace.RoleCompare, s.cond.lhs.typ, lhs, rhs)
}

// event records one event, or counts it as dropped. value may be nil.
func (m *machine) event(s *stmt, active, taken uint64, dir uint8, value *vec, typ warptrace.ValueType) {
	w := m.out
	w.Total++
	if len(w.Site) >= m.limit {
		m.done = m.p.Config.Endless || w.Total >= maxEvents
		if m.p.Config.Endless {
			w.Total--
		}
		return
	}
	v := uint64(0)
	if value != nil {
		v = stored(value[bits.TrailingZeros64(active)], typ)
	}
	aux := uint16(0)
	if s.kind == stAtomic {
		aux = uint16(v)
	}
	w.Site = append(w.Site, uint32(s.site))
	w.Kind = append(w.Kind, m.p.sites[s.site].Kind)
	w.Dir = append(w.Dir, dir)
	w.Aux = append(w.Aux, aux)
	w.Active = append(w.Active, active)
	w.Taken = append(w.Taken, taken)
	w.Value = append(w.Value, v)
	w.Type = append(w.Type, typ)
	if m.p.Config.Endless && len(w.Site) == m.limit {
		m.done = true
	}
}

// stored is a register's value as a recording has it: in the low bits of its type.
func stored(v uint64, t warptrace.ValueType) uint64 {
	if n := t.Bits(); n < 64 {
		return v & (1<<n - 1)
	}
	return v
}

// snapshot keeps what every lane held at the event that was recorded last.
func (m *machine) snapshot(s *stmt, active uint64, role warptrace.SnapshotRole, typ warptrace.ValueType, lhs, rhs *vec) {
	w := m.out
	if m.snaps == 0 || w.Total > uint64(len(w.Site)) { // the event was dropped
		return
	}
	snap := warptrace.Snapshot{
		Site: uint32(s.site), Event: int32(len(w.Site) - 1), Seq: m.seq, Active: active, Compare: site.NoCompare, Role: role, Type: typ,
	}
	if s.cond != nil {
		snap.Compare = s.cond.pred
	}
	m.seq++
	var at *warptrace.Snapshot
	if m.snaps > 0 && len(w.Snapshots) == m.snaps {
		at = &w.Snapshots[int(snap.Seq)%m.snaps]
		snap.Lhs, snap.Rhs = at.Lhs, at.Rhs
		*at = snap
	} else {
		w.Snapshots = append(w.Snapshots, snap)
		at = &w.Snapshots[len(w.Snapshots)-1]
	}
	at.Lhs = m.operand(at.Lhs, active, lhs, typ)
	at.Rhs = m.operand(at.Rhs, active, rhs, typ)
}

// operand copies the values of the active lanes; the others are 0.
func (m *machine) operand(into []uint64, active uint64, v *vec, typ warptrace.ValueType) []uint64 {
	if v == nil {
		return nil
	}
	if cap(into) < m.width {
		into = make([]uint64, m.width)
	}
	into = into[:m.width]
	for i := range into {
		into[i] = stored(v[i], typ) & -(active >> i & 1)
	}
	return into
}

// flow keeps a value that flows towards a compare.
func (m *machine) flow(s *stmt, v uint64) {
	w := m.out
	if m.history == 0 || w.Total > uint64(len(w.Site)) {
		return
	}
	h := warptrace.HistoryEntry{Site: uint32(s.site), Value: stored(v, s.array.typ), Seq: m.histSeq, Event: int32(len(w.Site))}
	m.histSeq++
	if m.history > 0 && len(w.History) == m.history {
		w.History[int(h.Seq)%m.history] = h
		return
	}
	w.History = append(w.History, h)
}

// tidyRings puts the rings in order and forgets events that do not exist: what flowed after the last one precedes none.
func (m *machine) tidyRings(w *warptrace.Warp) {
	slices.SortFunc(w.Snapshots, func(a, b warptrace.Snapshot) int { return int(a.Seq) - int(b.Seq) })
	slices.SortFunc(w.History, func(a, b warptrace.HistoryEntry) int { return int(a.Seq) - int(b.Seq) })
	for i := range w.History {
		if int(w.History[i].Event) >= w.Len() {
			w.History[i].Event = -1
		}
	}
}

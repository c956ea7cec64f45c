package api

import (
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/recording"
	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// historyRows are the columns of the table of values that flowed towards compares.
type historyRows struct {
	warp, value []int64
	event, seq  []int32
	known       []bool
	site        Strings
}

func (h *historyRows) add(t *warptrace.Trace, w *warptrace.Warp) {
	for i := range w.History {
		e := &w.History[i]
		h.warp = append(h.warp, int64(w.Warp))
		h.value = append(h.value, int64(e.Value))
		h.event = append(h.event, e.Event)
		h.known = append(h.known, e.Event >= 0)
		h.seq = append(h.seq, int32(e.Seq))
		h.site.Append(recording.SiteText(t, e.Site))
	}
}

func (h *historyRows) table() *Table {
	out := NewTable(len(h.warp))
	out.Int64("warp", "", h.warp, nil)
	out.Int32("event", "", h.event, h.known)
	out.Int32("seq", "", h.seq, nil)
	out.Strings("site", &h.site)
	out.Int64("value", "", h.value, nil)
	return out
}

// snapshotRows are the columns of the table of operands, one row a lane.
type snapshotRows struct {
	warp, lhs, rhs             []int64
	event, seq, lane           []int32
	known, active, second      []bool
	site, compare, role, types Strings
}

// The spellings in documents of what headers and snapshots say by number.
var (
	modeNames = [...]string{
		warptrace.ModeUnknown: "unknown", warptrace.ModeDigest: "digest", warptrace.ModeControlFlow: "control-flow", warptrace.ModeValues: "values",
	}
	meansNames = [...]string{
		warptrace.MeansUnknown: "unknown", warptrace.MeansInstrumented: "instrumented", warptrace.MeansObserved: "observed",
		warptrace.MeansConverted: "converted", warptrace.MeansGenerated: "generated",
	}
	keepNames = [...]string{warptrace.KeepFirst: "first", warptrace.KeepLast: "last", warptrace.KeepWindow: "window"}
)

// nameOf is a name of a table, its number where this version does not know it.
func nameOf(names []string, n int) string {
	if n < len(names) {
		return names[n]
	}
	return "unknown-" + strconv.Itoa(n)
}

// compareNames are LLVM's spellings of its predicates: of floats from 0 on, of integers from 32 on.
var (
	floatCompares   = strings.Fields("false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true")
	integerCompares = strings.Fields("eq ne ugt uge ult ule sgt sge slt sle")
)

const firstIntegerCompare = 32

// compareName is the spelling of a predicate, "" for one that compares nothing.
func compareName(c site.Compare) string {
	switch n := int(c); {
	case n < len(floatCompares):
		return floatCompares[n]
	case n >= firstIntegerCompare && n-firstIntegerCompare < len(integerCompares):
		return integerCompares[n-firstIntegerCompare]
	}
	return ""
}

var roleNames = [...]string{
	warptrace.RoleCompare: "compare", warptrace.RoleAtomic: "atomic", warptrace.RoleStore: "store",
	warptrace.RoleLoad: "load", warptrace.RoleValue: "value",
}

func (s *snapshotRows) add(t *warptrace.Trace, w *warptrace.Warp) {
	for i := range w.Snapshots {
		shot := &w.Snapshots[i]
		id, role := recording.SiteText(t, shot.Site), nameOf(roleNames[:], int(shot.Role))
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
			s.site.Append(id)
			appendOrMissing(&s.compare, compareName(shot.Compare))
			s.role.Append(role)
			s.types.Append(shot.Type.String())
		}
	}
}

func (s *snapshotRows) table() *Table {
	out := NewTable(len(s.warp))
	out.Int64("warp", "", s.warp, nil)
	out.Int32("event", "", s.event, s.known)
	out.Int32("seq", "", s.seq, nil)
	out.Strings("site", &s.site)
	out.Strings("role", &s.role)
	out.Strings("compare", &s.compare)
	out.Strings("type", &s.types)
	out.Int32("lane", "", s.lane, nil)
	out.Bool("in_active_lanes", s.active, nil)
	out.Int64("lhs", "", s.lhs, nil)
	out.Int64("rhs", "", s.rhs, s.second)
	return out
}

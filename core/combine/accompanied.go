package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/trace/source"
)

// A library may have recorded in the same process that a profiler traced: NCCL's plug-in beside PyTorch's profiler. Such a recording is of the rank of that
// trace, and on the clock of its host.

// TakeBeside takes recordings that lie beside traces as inputs too.
func (f *Found) TakeBeside() {
	f.Traces, f.Beside = append(f.Traces, f.Beside...), nil
}

// LeaveBeside says that recordings that lie beside traces are not used.
func (f *Found) LeaveBeside() {
	if n := len(f.Beside); n > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d recordings of NCCL beside the traces, %s the first of them, are not used; name them to use them", n, filepath.Base(f.Beside[0].Path)))
		f.Beside = nil
	}
}

// findAccompanied gives recordings of libraries the trace of the same process, where there is exactly one.
func findAccompanied(nodes []*Node) {
	for _, n := range nodes {
		own, ok := n.Trace.(source.Accompanying)
		if !ok {
			continue
		}
		best, how := (*Node)(nil), 0
		for _, of := range nodes {
			score := sameProcess(own.Process(), of)
			switch {
			case score == 0 || score < how:
			case score == how:
				best = nil // two could be it
			default:
				best, how = of, score
			}
		}
		if best == nil {
			continue
		}
		n.beside, n.byProcess = best, how > likely
		if best.Host == "" { // the trace does not name its host, and what was recorded in its process does
			best.Host = n.Host
		}
		if best.Rank == nil {
			best.Rank = n.Rank
		}
	}
}

// How well the process of a recording and that of a trace agree.
const (
	likely  = iota + 1 // rank or host, and the trace names no process
	byPID              // the number of the process
	certain            // and the rank
)

// sameProcess says how well the process of a recording and that of a trace agree; 0: they do not.
func sameProcess(p source.ProcessID, of *Node) int {
	if _, ok := of.Trace.(source.Accompanying); ok || of.parts() > 1 || of.Host != "" && p.Host != "" && hostname(of.Host) != hostname(p.Host) {
		return 0
	}
	rank := of.Rank
	if id, ok := rankFromPath(of.Path); ok && rank == nil {
		n := int64(id.Number)
		rank = &n
	}
	sameRank := p.Rank != nil && rank != nil && *p.Rank == *rank
	if p.Rank != nil && rank != nil && !sameRank {
		return 0
	}
	pid := slices.ContainsFunc(of.layout, func(x *source.Process) bool { return x.ID == p.PID || x.TextID == strconv.FormatInt(p.PID, 10) })
	switch {
	case pid && sameRank:
		return certain
	case pid:
		return byPID
	case of.text != nil: // its processes have their numbers, and this is none of them
		return 0
	case sameRank:
		return likely
	}
	return 0
}

// namedByProcess reports whether a node is a recording among traces of profilers, whose names are the job's: it is named after its process then.
func (n *Node) namedByProcess(nodes []*Node) bool {
	if _, ok := n.Trace.(source.Accompanying); !ok {
		return false
	}
	return slices.ContainsFunc(nodes, func(of *Node) bool {
		_, ok := of.Trace.(source.Accompanying)
		return !ok
	})
}

// processName is after what a recording is named: the trace of its process, else its rank, else its host and the number of the process.
func (n *Node) processName(nodes []*Node, ids []identity) string {
	if n.beside != nil {
		return ids[slices.Index(nodes, n.beside)].ID
	}
	p := n.Trace.(source.Accompanying).Process()
	if p.Rank != nil {
		return "rank" + strconv.FormatInt(*p.Rank, 10)
	}
	return fmt.Sprintf("%s-%d", p.Host, p.PID)
}

// besideName is what a recording is called.
func besideName(of string, taken map[string]bool) identity {
	id := identity{ID: of + "-nccl", Number: -1, Source: "process"}
	for k := 2; taken[id.ID]; k++ {
		id.ID = fmt.Sprintf("%s-nccl%d", of, k)
	}
	return id
}

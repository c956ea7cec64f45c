package compat

import (
	"context"
	"math/bits"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// kind is a kind of divergence.
type kind uint8

// The kinds.
const (
	branch kind = iota
	activeMask
	value
	path
	extraEvents
)

var kindNames = [...]string{branch: "Branch", activeMask: "ActiveMask", value: "Value", path: "Path", extraEvents: "ExtraEvents"}

// String returns the spelling in documents.
func (k kind) String() string { return kindNames[k] }

// divergence is one difference. What A and B hold depends on the kind: directions, masks, values, or sites; of extraEvents A or B
// is how many events that side has alone, and the other is 0.
type divergence struct {
	Warp  uint64
	Event uint32 // in A, also for events that only B has
	Site  uint32
	Kind  kind
	A, B  uint32
}

// divergenceBytes is what one Divergence takes in memory together with its text in the document, for the budget.
const divergenceBytes = 192

// checkEvery is how many events are looked at between two looks at the context.
const checkEvery = 1 << 20

// aligner walks pairs of streams and keeps what differs.
type aligner struct {
	ctx      context.Context
	opt      *Options
	popcount bool              // compare masks by the number of lanes
	remap    map[uint32]uint32 // sites of B in terms of A
	capacity int64             // divergences that may be kept in memory

	found    []divergence
	diverged int64 // warps
	past     int64 // divergences beyond the limit
	looked   int
	sites    []uint32 // scratch: B's sites after remapping
}

// warp compares the streams of one warp.
func (l *aligner) warp(number uint64, a, b *warptrace.Warp) error {
	s := streams{number: number, a: a, b: b, sitesA: a.Site, sitesB: b.Site}
	if l.remap != nil {
		s.sitesB = l.remapped(b.Site)
	}
	before := int64(len(l.found)) + l.past
	if err := l.walk(&s); err != nil {
		return err
	}
	if int64(len(l.found))+l.past > before {
		l.diverged++
	}
	return nil
}

func (l *aligner) remapped(from []uint32) []uint32 {
	l.sites = append(l.sites[:0], from...)
	for i, id := range l.sites {
		if to, ok := l.remap[id]; ok {
			l.sites[i] = to
		}
	}
	return l.sites
}

// streams are the two sides of one warp and how far each has been walked.
type streams struct {
	number         uint64
	a, b           *warptrace.Warp
	sitesA, sitesB []uint32
	ia, ib         int
}

// walk is original prlx 0.5: in step while the sites agree, else the nearest way back within the window, else a Path.
func (l *aligner) walk(s *streams) error {
	for s.ia < len(s.sitesA) && s.ib < len(s.sitesB) {
		if err := l.look(1); err != nil {
			return err
		}
		if s.sitesA[s.ia] == s.sitesB[s.ib] {
			if err := l.inStep(s); err != nil {
				return err
			}
			s.ia++
			s.ib++
			continue
		}
		again, err := l.apart(s)
		if err != nil {
			return err
		}
		if !again {
			break
		}
	}
	return l.rest(s)
}

// inStep compares two events of one site.
func (l *aligner) inStep(s *streams) error {
	a, b, ia, ib := s.a, s.b, s.ia, s.ib
	id := s.sitesA[ia]
	if a.Kind[ia] == site.Branch && a.Dir[ia] != b.Dir[ib] {
		if err := l.add(s, id, branch, uint32(a.Dir[ia]), uint32(b.Dir[ib])); err != nil {
			return err
		}
	}
	if l.masksDiffer(a.Active[ia], b.Active[ib]) {
		if err := l.add(s, id, activeMask, uint32(a.Active[ia]), uint32(b.Active[ib])); err != nil {
			return err
		}
	}
	if l.opt.Values && a.Value[ia] != b.Value[ib] {
		return l.add(s, id, value, uint32(a.Value[ia]), uint32(b.Value[ib]))
	}
	return nil
}

func (l *aligner) masksDiffer(a, b uint64) bool {
	if l.popcount {
		return bits.OnesCount64(a) != bits.OnesCount64(b)
	}
	return a != b
}

// apart finds the way back after the sites differ; it reports whether to go on.
func (l *aligner) apart(s *streams) (again bool, err error) {
	inA := ahead(s.sitesA[s.ia+1:], s.sitesB[s.ib], l.opt.Lookahead)
	inB := ahead(s.sitesB[s.ib+1:], s.sitesA[s.ia], l.opt.Lookahead)
	if err := l.look(min(l.opt.Lookahead, len(s.sitesA)-s.ia) + min(l.opt.Lookahead, len(s.sitesB)-s.ib)); err != nil {
		return false, err
	}
	switch {
	case inA > 0 && (inB == 0 || inA <= inB):
		err = l.add(s, s.sitesA[s.ia], extraEvents, uint32(inA), 0)
		s.ia += inA
	case inB > 0:
		err = l.add(s, s.sitesB[s.ib], extraEvents, 0, uint32(inB))
		s.ib += inB
	default:
		err = l.add(s, s.sitesA[s.ia], path, s.sitesA[s.ia], s.sitesB[s.ib])
		if !l.opt.ContinueAfterPath {
			return false, err
		}
		s.ia++
		s.ib++
	}
	return true, err
}

// ahead returns how many events on, counted from 1, a site comes next, 0 when it does not within the window.
func ahead(next []uint32, id uint32, window int) int {
	if window < len(next) {
		next = next[:window]
	}
	for i, at := range next {
		if at == id {
			return i + 1
		}
	}
	return 0
}

// rest reports what is left of one stream. Original prlx 0.5 does so after a Path as well, so that every Path at which it gives
// up is followed by the whole rest of A; where A has nothing left, by the rest of B.
func (l *aligner) rest(s *streams) error {
	if s.ia < len(s.sitesA) {
		return l.add(s, s.sitesA[s.ia], extraEvents, uint32(len(s.sitesA)-s.ia), 0)
	}
	if s.ib < len(s.sitesB) {
		return l.add(s, s.sitesB[s.ib], extraEvents, 0, uint32(len(s.sitesB)-s.ib))
	}
	return nil
}

func (l *aligner) add(s *streams, id uint32, kind kind, a, b uint32) error {
	if l.opt.Limit > 0 && int64(len(l.found)) >= l.opt.Limit {
		l.past++
		return nil
	}
	if int64(len(l.found)) >= l.capacity {
		return fault.New(fault.Limit, "more than %d divergences do not fit into the memory limit", l.capacity).
			WithHint("give --limit, or more memory with --memory-limit")
	}
	l.found = append(l.found, divergence{Warp: s.number, Event: uint32(s.ia), Site: id, Kind: kind, A: a, B: b})
	return nil
}

// look counts work and now and then asks whether it is still wanted.
func (l *aligner) look(events int) error {
	if l.looked += events; l.looked >= checkEvery {
		l.looked = 0
		return l.ctx.Err()
	}
	return nil
}

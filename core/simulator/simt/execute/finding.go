package execute

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// findings are what the checks found, once for each instruction and check. Each worker has its own; merge joins them, so that
// the first of all is kept whatever the order in which blocks ran.
type findings struct {
	byPlace map[spot]*sighting
	total   int64
}

// spot is an instruction and a check. Instructions are those of the text, of which one can be several of the code.
type spot struct {
	origin int32
	check  Check
}

// sighting is one finding: how often, and what it was the first time in the order of blocks and warps.
type sighting struct {
	count int64
	block uint64
	warp  int
	Finding
}

func newFindings() *findings { return &findings{byPlace: map[spot]*sighting{}} }

// add counts a finding. describe is called when it is the first one of its place.
func (f *findings) add(at spot, block uint64, warp int, describe func() Finding) {
	f.total++
	s := f.byPlace[at]
	switch {
	case s == nil:
		s = &sighting{block: block, warp: warp, Finding: describe()}
		f.byPlace[at] = s
	case block < s.block || block == s.block && warp < s.warp:
		s.block, s.warp, s.Finding = block, warp, describe()
	}
	s.count++
}

// merge adds another worker's findings.
func (f *findings) merge(other *findings) {
	for at, s := range other.byPlace {
		mine := f.byPlace[at]
		if mine == nil {
			f.byPlace[at] = s
			continue
		}
		count := mine.count + s.count
		if s.block < mine.block || s.block == mine.block && s.warp < mine.warp {
			*mine = *s
		}
		mine.count = count
	}
	f.total += other.total
}

// rank puts what the program itself says is wrong before what follows from it.
func rank(c Check) int {
	if c == checkAssert {
		return 0
	}
	return 1
}

// list returns at most limit findings, failed assertions first and then by order of instruction, and how often those beyond were found.
func (f *findings) list(limit int) (list []Finding, more int64) {
	places := make([]spot, 0, len(f.byPlace))
	for at := range f.byPlace {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b spot) int {
		return cmp.Or(cmp.Compare(rank(a.check), rank(b.check)), cmp.Compare(a.origin, b.origin), strings.Compare(string(a.check), string(b.check)))
	})
	for i, at := range places {
		s := f.byPlace[at]
		if i >= limit {
			more += s.count
			continue
		}
		s.Finding.Count = s.count
		list = append(list, s.Finding)
	}
	return list, more
}

// report notes what a check found at an instruction.
func (b *Block) report(check Check, w *Warp, at int32, lanes uint32, message string) {
	b.note(check, w, at, lanes, nil, func() string { return message })
}

// note is report with a message that is made when it is needed.
func (b *Block) note(check Check, w *Warp, at int32, lanes uint32, fault *memory.Fault, message func() string) {
	k := b.kernel
	b.found.add(spot{k.Code[at].Origin, check}, b.Linear, w.Index, func() Finding {
		f := Finding{
			Check: check, Kernel: k.Name, Where: k.Where(at), Text: k.Text(at),
			Block: b.index, Warp: w.Index, Lanes: lanes, Message: message(),
		}
		o := k.Origin(at)
		f.Inst, f.Function = o.Inst, o.Function.Name
		if lanes != 0 {
			f.Lane = first(lanes)
		}
		if fault != nil {
			copied := *fault
			f.Fault, f.Lane = &copied, fault.Lane
		}
		return f
	})
	if b.Running.options.StopAtFirst {
		b.ended = true
	}
}

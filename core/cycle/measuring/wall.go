package measuring

import (
	"sort"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// Wall is the time from border to border, where another repetition of the level follows at once; else to the last end.
func Wall(r *structure.Run, p *structure.Part, k int, starts []int32) int64 {
	t := r.Tracks[p.Track]
	s := r.Seq(t)
	rep := p.Reps[k]
	begin := s.StartNS[t.At(int(rep.Start))]
	if Follows(p, k, starts) {
		return s.StartNS[t.At(int(rep.End))] - begin
	}
	return LastEnd(r, t, rep) - begin
}

// Follows reports whether another repetition of the level follows at once.
func Follows(p *structure.Part, k int, starts []int32) bool {
	end := p.Reps[k].End
	if k+1 < len(p.Reps) && p.Reps[k+1].Start == end {
		return true
	}
	i := sort.Search(len(starts), func(i int) bool { return starts[i] >= end })
	return i < len(starts) && starts[i] == end
}

// LastEnd is when the last kernel of a repetition ends.
func LastEnd(r *structure.Run, t *structure.Track, rep repeat.Span) int64 {
	s := r.Seq(t)
	end := s.EndNS(t.At(int(rep.Start)))
	for i := int(rep.Start) + 1; i < int(rep.End); i++ {
		end = max(end, s.EndNS(t.At(i)))
	}
	return end
}

// Busy is the union of the intervals of the kernels of a repetition, up to the border behind it: a kernel may run on beside those of the next.
func Busy(r *structure.Run, t *structure.Track, rep repeat.Span, wall int64) int64 {
	s := r.Seq(t)
	sum, reach := int64(0), s.StartNS[t.At(int(rep.Start))]
	border := reach + wall
	for i := int(rep.Start); i < int(rep.End); i++ {
		k := t.At(i)
		if end := min(s.EndNS(k), border); end > reach {
			sum += end - max(reach, s.StartNS[k])
			reach = end
		}
	}
	return sum
}

func kernelTime(r *structure.Run, t *structure.Track, rep repeat.Span) int64 {
	s := r.Seq(t)
	sum := int64(0)
	for i := int(rep.Start); i < int(rep.End); i++ {
		sum += s.DurNS(t.At(i))
	}
	return sum
}

// own is the union of the intervals of the kernels that do not wait for other ranks.
func own(r *structure.Run, t *structure.Track, rep repeat.Span) int64 {
	s := r.Seq(t)
	sum, reach := int64(0), s.StartNS[t.At(int(rep.Start))]
	for i := int(rep.Start); i < int(rep.End); i++ {
		k := t.At(i)
		if end := s.EndNS(k); end > reach && !r.Words.Collective[s.Name[k]] {
			sum += end - max(reach, s.StartNS[k])
			reach = end
		}
	}
	return sum
}

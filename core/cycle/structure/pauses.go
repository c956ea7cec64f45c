package structure

import (
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/sample"
)

// IdleBefore is the time between kernel i and the one before it.
func (r *Run) IdleBefore(t *Track, i int) int64 {
	if i == 0 {
		return 0
	}
	s := r.Seq(t)
	return max(0, s.StartNS[t.At(i)]-s.EndNS(t.At(i-1)))
}

// sampledSpans is how many repetitions of a class are looked at.
const sampledSpans = 256

// pauseFactor is how much longer the pause of a step is than the next longest one.
const pauseFactor = 3

// EachOf calls visit for repetitions spread over a class.
func EachOf(reps []repeat.Span, visit func(repeat.Span)) {
	every := max(1, len(reps)/sampledSpans)
	for i := 0; i < len(reps); i += every {
		visit(reps[i])
	}
}

// Pauses reports whether each repetition has one place with clearly more idle time in front of it than any other: that in front of a
// step, wherever its border was put.
func (r *Run) Pauses(t *Track, reps []repeat.Span) bool {
	var longest, next []int64
	EachOf(reps, func(s repeat.Span) {
		first, second := int64(0), int64(0)
		for i := int(s.Start); i < int(s.End); i++ {
			switch idle := r.IdleBefore(t, i); {
			case idle > first:
				first, second = idle, first
			case idle > second:
				second = idle
			}
		}
		if s.Start > 0 { // nobody knows what is in front of the first kernel
			longest, next = append(longest, first), append(next, second)
		}
	})
	if len(longest) < 2 {
		return false
	}
	return sample.Median(longest) >= pauseFactor*max(1, sample.Median(next))
}

// PauseBefore is the median idle time in front of the repetitions of a level.
func (r *Run) PauseBefore(t *Track, l *repeat.Level) float64 {
	var before []int64
	for k := range l.Classes {
		EachOf(l.Classes[k].Repetitions, func(s repeat.Span) {
			if s.Start > 0 {
				before = append(before, r.IdleBefore(t, int(s.Start)))
			}
		})
	}
	if len(before) == 0 {
		return 0
	}
	return float64(sample.Median(before))
}

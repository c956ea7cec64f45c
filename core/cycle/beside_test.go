package cycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
)

// besideKernels is how many kernels the second stream of twoStreamRun has in a step.
const besideKernels = 8

// twoStreamRun is steps of 100 kernels on a stream. Beside those of the middle a second stream runs some of its own, too few of all kernels to be
// searched for what repeats.
func twoStreamRun(steps int, beside func(k int) string) *kernels.Trace {
	type kernel struct {
		name   string
		at     int64
		stream uint16
	}
	var all []kernel
	for step := range steps {
		at := int64(step) * 1_000_000
		for k := range 100 {
			all = append(all, kernel{fmt.Sprintf("void ns::main_%d_%c<float>", k%10, 'a'+k/10), at + int64(k)*8_000, 0})
			if k < besideKernels && step >= 4 && step < 9 {
				all = append(all, kernel{beside(k), at + int64(k)*8_000 + 100, 1})
			}
		}
	}
	tr := &kernels.Trace{Path: "two streams", Format: "chrome"}
	s := kernels.Sequence{Device: "GPU 0", Streams: []kernels.Stream{{Name: "7"}, {Name: "27"}}}
	var dur []int64
	for _, k := range all {
		name := slices.Index(tr.Names, k.name)
		if name < 0 {
			name = len(tr.Names)
			tr.Names = append(tr.Names, k.name)
		}
		s.Name, s.StartNS, s.Stream = append(s.Name, uint32(name)), append(s.StartNS, k.at), append(s.Stream, k.stream)
		s.Streams[k.stream].Kernels++
		dur = append(dur, 5_000)
	}
	s.SetDurations(dur)
	tr.Sequences = []kernels.Sequence{s}
	return tr
}

func besideName(k int) string { return fmt.Sprintf("void ns::beside_%c<float>", 'a'+k) }

// searched reports whether a run was searched on its second stream.
func searched(r *Result) bool {
	for _, t := range r.run.Tracks {
		if t.Has(1) {
			return true
		}
	}
	return false
}

// TestAStreamThatOnlyTheCutIsSearchedOnIsNotADifference: a stream with few of all kernels has a greater share of those of a cut. What repeats there
// stands in the whole recording, too.
func TestAStreamThatOnlyTheCutIsSearchedOnIsNotADifference(t *testing.T) {
	whole := twoStreamRun(12, besideName)
	a := mustFind(t, whole, Options{})
	b := mustFind(t, cutTrace(whole, 4_000_000, 9_000_000), Options{})
	if searched(a) || !searched(b) {
		t.Fatalf("the second stream is searched: %v in the whole, %v in the cut", searched(a), searched(b))
	}
	for _, side := range [][2]*Result{{a, b}, {b, a}} {
		tracks := len(side[0].run.Tracks)
		d := mustCompare(t, side[0], side[1])
		if d.Conclusion.Bad() || len(d.OnlyA)+len(d.OnlyB) > 0 {
			t.Errorf("%s: only in A %v, only in B %v: %s", d.Status, d.OnlyA, d.OnlyB, d.Verdict)
		}
		if wrong := unbalanced(d); len(wrong) > 0 {
			t.Error(strings.Join(wrong, "\n"))
		}
		for _, p := range d.Account.Parts {
			if p.Part == cycledoc.PartMix && p.DeltaNS != 0 {
				t.Errorf("%d ns of a step are said to be of other kinds of steps: %+v", p.DeltaNS, d.Account)
			}
		}
		if len(side[0].run.Tracks) != tracks {
			t.Error("the comparison changed the run that it was given")
		}
	}
}

// TestAStreamOfOneRunOnlyIsADifference: what repeats beside the steps of one run, and stands nowhere in the other, stays a difference.
func TestAStreamOfOneRunOnlyIsADifference(t *testing.T) {
	cut := cutTrace(twoStreamRun(12, besideName), 4_000_000, 9_000_000)
	b := mustFind(t, cut, Options{})
	for what, other := range map[string]*kernels.Trace{
		"other kernels":  twoStreamRun(12, func(k int) string { return fmt.Sprintf("void ns::other_%c<float>", 'a'+k) }),
		"another order":  twoStreamRun(12, func(k int) string { return besideName([]int{1, 0, 3, 2, 7, 5, 6, 4}[k]) }),
		"without stream": twoStreamRun(4, besideName),
	} {
		a := mustFind(t, other, Options{})
		for i, d := range []*cycledoc.CompareDocument{mustCompare(t, a, b), mustCompare(t, b, a)} {
			only := d.OnlyB
			if i == 1 {
				only = d.OnlyA
			}
			if d.Status != cycledoc.CompareChanged || len(only) != 1 || only[0].Period != besideKernels {
				t.Errorf("%s, way %d: %s, only %v: %s", what, i, d.Status, only, d.Verdict)
			}
			if wrong := unbalanced(d); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		}
	}
}

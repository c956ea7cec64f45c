package session

import (
	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// further is where the launches of A and B are in further runs that should be equal to them. What differs among those is noise; how
// that is decided is package diff's.
type further struct {
	a, b    []*Session
	inA     [][]int // by further run of A: the position there of each launch of A, -1 none
	inB     [][]int
	covered [3]int64 // launches that all, some, none of the further runs have
}

func matchFurther(a, b *Session, moreA, moreB []*Session) further {
	f := further{a: moreA, b: moreB}
	for _, s := range moreA {
		f.inA = append(f.inA, positions(a, s))
	}
	for _, s := range moreB {
		f.inB = append(f.inB, positions(b, s))
	}
	return f
}

func positions(of, in *Session) []int {
	out := make([]int, len(of.Launches))
	for i := range out {
		out[i] = -1
	}
	for _, p := range match(of, in).Pairs {
		if p.By != ByKernel { // another launch of the kernel says nothing about this one
			out[p.A] = p.B
		}
	}
	return out
}

// count notes how many of the further runs know a pair of launches.
func (f *further) count(p matched) {
	known, all := 0, len(f.a)+len(f.b)
	for _, in := range f.inA {
		if in[p.A] >= 0 {
			known++
		}
	}
	for _, in := range f.inB {
		if in[p.B] >= 0 {
			known++
		}
	}
	switch known {
	case all:
		f.covered[0]++
	case 0:
		f.covered[2]++
	default:
		f.covered[1]++
	}
}

// apply holds a comparison against the further runs of its launch.
func (f *further) apply(j *job.Job, r *diff.Result, a, b *warptrace.Trace, p matched, opt diff.Options) error {
	if len(f.a)+len(f.b) == 0 {
		return nil
	}
	var runs [2][]*warptrace.Trace
	defer func() {
		for _, side := range runs {
			for _, t := range side {
				t.Close()
			}
		}
	}()
	for side, from := range []struct {
		sessions []*Session
		in       [][]int
		launch   int
	}{{f.a, f.inA, p.A}, {f.b, f.inB, p.B}} {
		for k, s := range from.sessions {
			at := from.in[k][from.launch]
			if at < 0 {
				continue
			}
			t, err := s.openTrace(j.Context(), at)
			if err != nil {
				if !isAbout(j, err) {
					return err
				}
				r.Warnings = append(r.Warnings, "a further run cannot be read and says nothing about noise: "+fault.Of(err).Error())
				continue
			}
			runs[side] = append(runs[side], t)
		}
	}
	if len(runs[0])+len(runs[1]) == 0 {
		return nil
	}
	_, err := diff.ApplyBaseline(j, r, a, b, runs[0], runs[1], opt)
	return err
}

// document says what the further runs contributed, nil when there are none.
func (f *further) document(d *Document) *Baseline {
	if len(f.a)+len(f.b) == 0 {
		return nil
	}
	out := &Baseline{
		SessionsA: paths(f.a), SessionsB: paths(f.b), Covered: f.covered[0], Partly: f.covered[1], Without: f.covered[2],
	}
	for i := range d.KernelResults {
		if l := &d.KernelResults[i]; l.Baseline != nil {
			out.Noise += l.Baseline.Suppressed
		}
	}
	return out
}

func paths(sessions []*Session) []string {
	out := []string{}
	for _, s := range sessions {
		out = append(out, s.Dir)
	}
	return out
}

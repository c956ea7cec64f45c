package measuring

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/structure"
)

// gatherSteps lists the steps of all devices in order of device and time.
func (f *measurer) gatherSteps() {
	r := f.r
	count := len(r.Steps)
	for _, c := range r.Classes {
		if c.Depth == structure.DepthStep && !c.Uplifter {
			count += int(c.Count)
		}
	}
	r.Steps = slices.Grow(r.Steps, count-len(r.Steps))
	for i, c := range r.Classes {
		if c.Depth != structure.DepthStep || c.Uplifter { // patterns of uplifter may overlap
			continue
		}
		for pi := range c.Parts {
			p := &c.Parts[pi]
			if !r.Tracks[p.Track].Main {
				continue
			}
			for k, rep := range p.Reps {
				st := structure.Step{Track: int32(p.Track), Class: int32(i), Span: rep, Mark: -1}
				if p.Marks != nil {
					st.Mark = p.Marks[k]
				}
				r.Steps = append(r.Steps, st)
			}
		}
	}
	slices.SortFunc(r.Steps, func(a, b structure.Step) int {
		return cmp.Or(cmp.Compare(r.Tracks[a.Track].Seq, r.Tracks[b.Track].Seq), cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Class, b.Class))
	})
	for i := range r.Steps {
		st := &r.Steps[i]
		t := r.Tracks[st.Track]
		s := r.Seq(t)
		st.StartNS = s.StartNS[t.At(int(st.Span.Start))]
		if i+1 < len(r.Steps) && r.Steps[i+1].Track == st.Track && r.Steps[i+1].Span.Start == st.Span.End {
			st.WallNS = s.StartNS[t.At(int(st.Span.End))] - st.StartNS
		} else {
			st.WallNS = LastEnd(r, t, st.Span) - st.StartNS
		}
		st.BusyNS = Busy(r, t, st.Span, st.WallNS)
		st.OwnNS = own(r, t, st.Span)
	}
}

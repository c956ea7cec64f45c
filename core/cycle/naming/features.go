package naming

import (
	"cmp"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/sample"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// annotations are the texts of the marks around repetitions of each class, most frequent first.
func (f *namer) annotations() [][]string {
	r := f.r
	out := make([][]string, len(r.Classes))
	if r.Opt.IgnoreAnnotations || r.Opt.Compat != nil {
		return out
	}
	bySeq := make([][]int32, len(r.Trace.Sequences))
	for i := range r.Trace.Marks {
		if m := &r.Trace.Marks[i]; m.Sequence >= 0 && m.Place != kernels.OnHost && m.Kernels > 0 && (m.Phase != "" || m.Kind != kernels.NVTX && m.Kind != kernels.GraphLaunch) { // ranges of the user are many, and most say nothing
			bySeq[m.Sequence] = append(bySeq[m.Sequence], int32(i))
		}
	}
	for i, c := range r.Classes {
		count := map[string]int{}
		var texts []string
		see := func(text string) {
			out[i] = append(out[i], text)
			if count[text]++; count[text] == 1 {
				texts = append(texts, text)
			}
		}
		for pi := range c.Parts {
			p := &c.Parts[pi]
			t := r.Tracks[p.Track]
			s := r.Seq(t)
			every := max(1, len(p.Reps)*len(c.Parts)/maxAnnotations)
			for k := 0; k < len(p.Reps); k += every {
				if p.Marks != nil {
					see(r.Trace.Marks[p.Marks[k]].Text)
				}
				middle := s.StartNS[t.At(int(p.Reps[k].Start+p.Reps[k].End)/2)]
				for _, m := range f.around(bySeq[t.Seq], middle) {
					if p.Marks == nil || p.Marks[k] != m {
						see(r.Trace.Marks[m].Text)
					}
				}
			}
		}
		slices.SortStableFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
		c.Marks = texts[:min(len(texts), maxMarkTexts)]
	}
	return out
}

// around are the marks that hold an instant, of the last few that start before it.
func (f *namer) around(marks []int32, at int64) []int32 {
	r := f.r
	n := sort.Search(len(marks), func(i int) bool { return r.Trace.Marks[marks[i]].StartNS > at })
	var out []int32
	for i := n - 1; i >= max(0, n-lookBack); i-- {
		if r.Trace.Marks[marks[i]].EndNS >= at {
			out = append(out, marks[i])
		}
	}
	return out
}

// features gathers what is known of a class.
func (f *namer) features(c *structure.Class, annotations []string) phase.Features {
	r := f.r
	out := phase.Features{
		Annotations: annotations, Training: r.Training, Serving: r.Serving, Level: int(c.Depth), Whole: f.whole(c), Layers: layers(c), BusyNS: c.Busy.Mean,
		Repetitions: int(c.Count), Names: make([]string, 0, len(c.Slots)), NS: make([]float64, 0, len(c.Slots)), Blocks: make([]float64, 0, len(c.Slots)),
		Graph: make([]bool, 0, len(c.Slots)),
	}
	var rows []int64
	for i := range c.Slots {
		s := &c.Slots[i]
		if s.Name == "" {
			continue
		}
		out.Names, out.NS, out.Blocks = append(out.Names, s.Name), append(out.NS, s.MeanNS), append(out.Blocks, c.Blocks[i])
		out.Graph = append(out.Graph, 100*s.GraphRuns > graphPercent*s.Count)
		m, seen := f.tiles[s.Name]
		if !seen {
			m = phase.TileRows(s.Name)
			f.tiles[s.Name] = m
		}
		if m > 0 {
			rows = append(rows, m)
		}
	}
	out.TileRows = int(sample.Median(rows))
	if !r.Opt.IgnoreAnnotations {
		out.Tokens = f.tokens(c)
	}
	return out
}

// whole reports whether a class is steps of the profiler, or steps that hold most of the kernels of the devices that run them: no other kind of step
// has the rest of what a run of training does.
func (f *namer) whole(c *structure.Class) bool {
	all := 0
	for i := range c.Parts {
		all += f.r.Tracks[c.Parts[i].Track].N
	}
	return c.Depth == structure.DepthStep && (c.Source == string(kernels.ProfilerStep) || 100*c.Covered >= trainingPercent*int64(all))
}

// tokens is how many tokens a step of the class has for each request, as its marks say; 0 unknown.
func (f *namer) tokens(c *structure.Class) float64 {
	r := f.r
	tokens, batch := 0, 0
	for _, p := range c.Parts {
		for _, m := range p.Marks {
			if mark := &r.Trace.Marks[m]; mark.Tokens > 0 && mark.Batch > 0 {
				tokens += mark.Tokens
				batch += mark.Batch
			}
		}
	}
	if batch == 0 {
		return 0
	}
	return float64(tokens) / float64(batch)
}

// order fills the features that say in which order the classes of a level come, on the first track that has them.
func (f *namer) order(features []phase.Features) {
	r := f.r
	type one struct {
		class int
		start int32
	}
	for _, l := range r.Levels {
		tracks := map[int][]one{}
		for _, i := range l.Classes {
			p := &r.Classes[i].Parts[0]
			for _, s := range p.Reps {
				tracks[p.Track] = append(tracks[p.Track], one{i, s.Start})
			}
		}
		for track, list := range tracks {
			slices.SortFunc(list, func(a, b one) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.class, b.class)) })
			for n, x := range list {
				fe := &features[x.class]
				if n > 0 && list[n-1].class == x.class {
					continue
				}
				if fe.Runs++; fe.Runs == 1 {
					fe.Start, fe.After = float64(x.start)/float64(max(1, r.Tracks[track].N)), n > 0
				}
			}
		}
	}
	for i, c := range r.Classes { // of one track, as the runs are
		features[i].Repetitions = len(c.Parts[0].Reps)
	}
}

// layers is how many repetitions of the level below a repetition has.
func layers(c *structure.Class) int {
	n := 0
	for _, ch := range c.Children {
		n += ch.Count
	}
	return n
}

// Package naming says what classes are called: it gathers what is known of each for package phase, passes phases on between levels, and
// gives names and confidence. All that tells one phase from another stands here and in the rooms below this folder.
package naming

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/timeline/cycle/kernels"
	"github.com/prlx-go/prlx/core/timeline/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/timeline/cycle/sample"
	"github.com/prlx-go/prlx/core/timeline/cycle/structure"
)

// namer gives classes what people call them.
type namer struct {
	r     *structure.Run
	tiles map[string]int64 // rows of the tile by name of kernel
}

// Label gives phases, names and confidence to all classes, and selects one.
func Label(r *structure.Run) {
	f := &namer{r: r, tiles: map[string]int64{}}
	annotations := f.annotations()
	features := make([]phase.Features, len(r.Classes))
	for i, c := range r.Classes {
		features[i] = f.features(c, annotations[i])
	}
	f.order(features)
	results := phase.Name(features)
	for i := len(r.Classes) - 1; i >= 0; i-- { // outer levels first: inner ones may inherit
		c := r.Classes[i]
		c.Phase = results[i]
		f.inherit(c)
		sure(c, r)
	}
	for _, c := range r.Classes {
		if c.Depth >= structure.DepthLoop {
			loopPhase(c)
		}
	}
	f.nameAll()
	var patterns []phase.Pattern
	var of []int
	for i, c := range r.Classes {
		if len(r.Levels) > 0 && c.Depth == f.selectable() && (!r.Aside(c) || len(patterns) == 0) {
			p := c.Parts[0]
			patterns = append(patterns, phase.Pattern{Repetitions: int(c.Count), Start: int(p.Reps[0].Start), End: int(p.Reps[len(p.Reps)-1].End)})
			of = append(of, i)
		}
	}
	if k := phase.Pick(r.Opt.PhaseMode, patterns); k >= 0 {
		r.Selected = of[k]
	}
}

// selectable is the level that a pattern is picked from: steps, else the outermost.
func (f *namer) selectable() structure.Depth {
	for _, l := range f.r.Levels {
		if l.Depth == structure.DepthStep {
			return structure.DepthStep
		}
	}
	return f.r.Levels[len(f.r.Levels)-1].Depth
}

// inherit takes the phase of the classes that this one is a part of, where they agree and its own kernels tell nothing, or nothing but
// how they attend: whether a step verifies drafts or mixes requests is seen in the step alone. What runs several times before drafts are
// verified, behind a pause each time or with tokens sampled at its end, drafts.
func (f *namer) inherit(c *structure.Class) {
	r := f.r
	if len(c.Parents) == 0 {
		return
	}
	first := r.Classes[c.Parents[0]].Phase
	for _, p := range c.Parents {
		o := r.Classes[p]
		// A whole training step is named after its greater part: what it consists of may be any.
		whole := o.Depth == structure.DepthStep && (o.Phase.Phase == phase.Backward || o.Phase.Phase == phase.Optimizer)
		if o.Phase.Phase != first.Phase || o.Depth >= structure.DepthLoop || whole {
			return
		}
	}
	if first.Phase == phase.Unknown || first.Position {
		return
	}
	told := c.Phase.Phase != phase.Unknown && !c.Phase.Position
	if two := tokens(first.Phase) && tokens(c.Phase.Phase); two && first.Score > c.Phase.Score {
		told = false // the step has the same evidence, and more
	}
	switch {
	case first.Phase == phase.Verify && (samples(c) || r.Pauses(r.Tracks[c.Parts[0].Track], c.Parts[0].Reps)):
		c.Phase = phase.Result{Phase: phase.Draft, Score: 0.75, Reason: "runs several times in front of each verification, as a pass of its own", Readings: []phase.Reading{{Phase: phase.Draft, Score: 0.75}}}
	case !told, (first.Phase == phase.Verify || first.Phase == phase.Mixed) && (c.Phase.Phase == phase.Decode || c.Phase.Phase == phase.Prefill):
		first.Reason = "part of a " + string(first.Phase) + " step: " + first.Reason
		c.Phase = first
	}
}

// tokens reports whether a phase is one of those that all evidence together tells apart.
func tokens(p phase.Phase) bool { return p == phase.Prefill || p == phase.Decode || p == phase.Mixed }

// samples reports whether a class has kernels that choose tokens.
func samples(c *structure.Class) bool {
	return slices.ContainsFunc(c.Slots, func(s cycledoc.Slot) bool { return phase.ChoosesTokens(s.Name) })
}

// optimizes reports whether a class has kernels of an optimizer.
func optimizes(c *structure.Class) bool {
	return slices.ContainsFunc(c.Slots, func(s cycledoc.Slot) bool { return phase.OfOptimizer(s.Name) })
}

// loopPhase is that of the steps of a loop, where they agree.
func loopPhase(c *structure.Class) {
	var seen []string
	for _, ch := range c.Children {
		if p := string(ch.Class.Phase.Phase); !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	switch len(seen) {
	case 0:
	case 1:
		c.Phase = c.Children[0].Class.Phase
		if c.Phase.Phase == phase.Unknown {
			c.Phase.Reason = "its steps tell no phase"
			return
		}
		c.Phase.Reason = "all of its steps: " + c.Phase.Reason
	default:
		c.Phase = phase.Result{Phase: phase.Unknown, Reason: "its steps are of several phases: " + strings.Join(seen, ", ")}
	}
}

const (
	maxAnnotations = 1000 // repetitions of a class whose marks are asked
	maxMarkTexts   = 8
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
	const few = 16
	n := sort.Search(len(marks), func(i int) bool { return r.Trace.Marks[marks[i]].StartNS > at })
	var out []int32
	for i := n - 1; i >= max(0, n-few); i-- {
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
		Annotations: annotations, Training: r.Training, Serving: r.Serving, Level: int(c.Depth), Layers: layers(c), BusyNS: c.Busy.Mean,
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
		out.Graph = append(out.Graph, 2*s.GraphRuns > s.Count)
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

// sure says how certain it is that the class repeats and has these borders: by the share of repetitions without edits, and by how
// many there are, each of which halves what is left of doubt. Marks settle the borders.
func sure(c *structure.Class, r *structure.Run) {
	exact := 1 - float64(c.Edited)/(2*float64(c.Count))
	if c.Source != structure.SourceInferred {
		c.Confidence = 0.99 * exact
		c.Because = fmt.Sprintf("%s marks define it; %d of %d repetitions have the same kernels", c.Source, c.Count-c.Edited, c.Count)
		if c.Count == 1 {
			c.Because = fmt.Sprintf("%s marks define it; there is one of it", c.Source)
		}
		return
	}
	enough := 1 - math.Pow(2, -float64(min(c.Count, 60)-1))
	c.Confidence = exact * enough
	c.Because = fmt.Sprintf("%d repetitions, %d of them without edits", c.Count, c.Count-c.Edited)
	if len(r.Trace.Sequences) > 1 && len(c.Parts) > 1 {
		c.Because += fmt.Sprintf(", on %d devices", len(c.Parts))
	}
}

// nameAll gives classes names that are unique in the document.
func (f *namer) nameAll() {
	r := f.r
	seen := map[string]int{}
	for li := len(r.Levels) - 1; li >= 0; li-- {
		for _, i := range r.Levels[li].Classes {
			c := r.Classes[i]
			base := r.Levels[li].Depth.Name()
			if c.Described {
				base = cycledoc.LevelCycle
			}
			switch {
			case c.Depth == structure.DepthStep && (c.Phase.Phase == phase.Backward || c.Phase.Phase == phase.Optimizer) && (2*c.Covered >= r.Compute || optimizes(c)):
				base = "training " + base // forward, backward and optimizer in one
			case c.Phase.Phase != phase.Unknown:
				base = string(c.Phase.Phase) + " " + base
			}
			if r.Aside(c) {
				t := r.Tracks[c.Parts[0].Track]
				base += ", stream " + r.Seq(t).Streams[t.Streams[0]].Name
			}
			seen[base]++
			c.Name = base
			if n := seen[base]; n > 1 {
				c.Name = fmt.Sprintf("%s %d", base, n)
			}
		}
	}
}

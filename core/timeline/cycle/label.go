package cycle

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/kernels"
	"github.com/prlx-go/prlx/core/timeline/cycle/phase"
)

// labelled is what a class is called and how sure that is.
type labelled struct {
	phase      phase.Result
	marks      []string
	confidence float64
	because    string
}

// label gives phases, names and confidence to all classes, and selects one.
func (f *finder) label() error {
	r := f.r
	f.training()
	f.tiles = map[string]int64{}
	annotations := f.annotations()
	features := make([]phase.Features, len(r.classes))
	for i, c := range r.classes {
		features[i] = f.features(c, annotations[i])
	}
	f.order(features)
	results := phase.Name(features)
	for i := len(r.classes) - 1; i >= 0; i-- { // outer levels first: inner ones may inherit
		c := r.classes[i]
		c.phase = results[i]
		f.inherit(c)
		c.sure(f.r)
	}
	for _, c := range r.classes {
		if c.depth >= depthLoop {
			c.loopPhase()
		}
	}
	r.nameAll()
	var patterns []phase.Pattern
	var of []int
	for i, c := range r.classes {
		if len(r.levels) > 0 && c.depth == r.selectable() && (!r.aside(c) || len(patterns) == 0) {
			p := c.parts[0]
			patterns = append(patterns, phase.Pattern{Repetitions: int(c.count), Start: int(p.reps[0].Start), End: int(p.reps[len(p.reps)-1].End)})
			of = append(of, i)
		}
	}
	if k := phase.Pick(r.opt.PhaseMode, patterns); k >= 0 {
		r.selected = of[k]
	}
	return nil
}

// selectable is the level that a pattern is picked from: steps, else the outermost.
func (r *Result) selectable() depth {
	for _, l := range r.levels {
		if l.depth == depthStep {
			return depthStep
		}
	}
	return r.levels[len(r.levels)-1].depth
}

// inherit takes the phase of the classes that this one is a part of, where they agree and its own kernels tell nothing, or nothing but
// how they attend: whether a step verifies drafts or mixes requests is seen in the step alone. What runs several times before drafts are
// verified, behind a pause each time or with tokens sampled at its end, drafts.
func (f *finder) inherit(c *class) {
	r := f.r
	if len(c.parents) == 0 {
		return
	}
	first := r.classes[c.parents[0]].phase
	for _, p := range c.parents {
		o := r.classes[p]
		// A whole training step is named after its greater part: what it consists of may be any.
		whole := o.depth == depthStep && (o.phase.Phase == phase.Backward || o.phase.Phase == phase.Optimizer)
		if o.phase.Phase != first.Phase || o.depth >= depthLoop || whole {
			return
		}
	}
	if first.Phase == phase.Unknown || first.Position {
		return
	}
	told := c.phase.Phase != phase.Unknown && !c.phase.Position
	if two := tokens(first.Phase) && tokens(c.phase.Phase); two && first.Score > c.phase.Score {
		told = false // the step has the same evidence, and more
	}
	switch {
	case first.Phase == phase.Verify && (c.samples() || f.pauses(r.tracks[c.parts[0].track], c.parts[0].reps)):
		c.phase = phase.Result{Phase: phase.Draft, Score: 0.75, Reason: "runs several times in front of each verification, as a pass of its own", Readings: []phase.Reading{{Phase: phase.Draft, Score: 0.75}}}
	case !told, (first.Phase == phase.Verify || first.Phase == phase.Mixed) && (c.phase.Phase == phase.Decode || c.phase.Phase == phase.Prefill):
		first.Reason = "part of a " + string(first.Phase) + " step: " + first.Reason
		c.phase = first
	}
}

// tokens reports whether a phase is one of those that all evidence together tells apart.
func tokens(p phase.Phase) bool { return p == phase.Prefill || p == phase.Decode || p == phase.Mixed }

var samplingName = regexp.MustCompile(`(?i)argmax|top_?k|sampl|multinomial`)

// samples reports whether a class has kernels that choose tokens.
func (c *class) samples() bool {
	return slices.ContainsFunc(c.slots, func(s Slot) bool { return samplingName.MatchString(s.Name) })
}

// optimizes reports whether a class has kernels of an optimizer.
func (c *class) optimizes() bool {
	return slices.ContainsFunc(c.slots, func(s Slot) bool { return optimizerName.MatchString(s.Name) })
}

// loopPhase is that of the steps of a loop, where they agree.
func (c *class) loopPhase() {
	var seen []string
	for _, ch := range c.children {
		if p := string(ch.class.phase.Phase); !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	switch len(seen) {
	case 0:
	case 1:
		c.phase = c.children[0].class.phase
		if c.phase.Phase == phase.Unknown {
			c.phase.Reason = "its steps tell no phase"
			return
		}
		c.phase.Reason = "all of its steps: " + c.phase.Reason
	default:
		c.phase = phase.Result{Phase: phase.Unknown, Reason: "its steps are of several phases: " + strings.Join(seen, ", ")}
	}
}

const (
	maxAnnotations = 1000 // repetitions of a class whose marks are asked
	maxMarkTexts   = 8
)

// annotations are the texts of the marks around repetitions of each class, most frequent first.
func (f *finder) annotations() [][]string {
	r := f.r
	out := make([][]string, len(r.classes))
	if r.opt.IgnoreAnnotations || r.opt.Compat != nil {
		return out
	}
	bySeq := make([][]int32, len(r.trace.Sequences))
	for i := range r.trace.Marks {
		if m := &r.trace.Marks[i]; m.Sequence >= 0 && m.Place != kernels.OnHost && m.Kernels > 0 && (m.Phase != "" || m.Kind != kernels.NVTX && m.Kind != kernels.GraphLaunch) { // ranges of the user are many, and most say nothing
			bySeq[m.Sequence] = append(bySeq[m.Sequence], int32(i))
		}
	}
	for i, c := range r.classes {
		count := map[string]int{}
		var texts []string
		see := func(text string) {
			out[i] = append(out[i], text)
			if count[text]++; count[text] == 1 {
				texts = append(texts, text)
			}
		}
		for pi := range c.parts {
			p := &c.parts[pi]
			t := r.tracks[p.track]
			s := r.seq(t)
			every := max(1, len(p.reps)*len(c.parts)/maxAnnotations)
			for k := 0; k < len(p.reps); k += every {
				if p.marks != nil {
					see(r.trace.Marks[p.marks[k]].Text)
				}
				middle := s.StartNS[t.at(int(p.reps[k].Start+p.reps[k].End)/2)]
				for _, m := range r.around(bySeq[t.seq], middle) {
					if p.marks == nil || p.marks[k] != m {
						see(r.trace.Marks[m].Text)
					}
				}
			}
		}
		slices.SortStableFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
		c.marks = texts[:min(len(texts), maxMarkTexts)]
	}
	return out
}

// around are the marks that hold an instant, of the last few that start before it.
func (r *Result) around(marks []int32, at int64) []int32 {
	const few = 16
	n := sort.Search(len(marks), func(i int) bool { return r.trace.Marks[marks[i]].StartNS > at })
	var out []int32
	for i := n - 1; i >= max(0, n-few); i-- {
		if r.trace.Marks[marks[i]].EndNS >= at {
			out = append(out, marks[i])
		}
	}
	return out
}

// features gathers what is known of a class.
func (f *finder) features(c *class, annotations []string) phase.Features {
	r := f.r
	out := phase.Features{
		Annotations: annotations, Training: f.kinds.training, Serving: f.kinds.serving, Level: int(c.depth), Layers: c.layers(), BusyNS: c.busy.Mean,
		Repetitions: int(c.count), Names: make([]string, 0, len(c.slots)), NS: make([]float64, 0, len(c.slots)), Blocks: make([]float64, 0, len(c.slots)),
		Graph: make([]bool, 0, len(c.slots)),
	}
	var rows []int64
	for i := range c.slots {
		s := &c.slots[i]
		if s.Name == "" {
			continue
		}
		out.Names, out.NS, out.Blocks = append(out.Names, s.Name), append(out.NS, s.MeanNS), append(out.Blocks, c.blocks[i])
		out.Graph = append(out.Graph, 2*s.GraphRuns > s.Count)
		m, seen := f.tiles[s.Name]
		if !seen {
			m = tileRows(s.Name)
			f.tiles[s.Name] = m
		}
		if m > 0 {
			rows = append(rows, m)
		}
	}
	out.TileRows = int(median(rows))
	if !r.opt.IgnoreAnnotations {
		out.Tokens = r.tokens(c)
	}
	return out
}

// tokens is how many tokens a step of the class has for each request, as its marks say; 0 unknown.
func (r *Result) tokens(c *class) float64 {
	tokens, batch := 0, 0
	for _, p := range c.parts {
		for _, m := range p.marks {
			if mark := &r.trace.Marks[m]; mark.Tokens > 0 && mark.Batch > 0 {
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

// tile finds the rows of the tile of a matrix product in the name of its kernel, as generators write it.
var tile = regexp.MustCompile(`(?i)(?:MT|tilesize|tile|nvjet_[a-z]+_|gemm_[a-z0-9_]*?)([0-9]{1,4})x([0-9]{1,4})(?:x[0-9]{1,4})?`)

// tileRows is the shorter side of a tile: libraries swap both where there are few rows.
func tileRows(name string) int64 {
	m := tile.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	a, err1 := strconv.ParseInt(m[1], 10, 32)
	b, err2 := strconv.ParseInt(m[2], 10, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return min(a, b)
}

// order fills the features that say in which order the classes of a level come, on the first track that has them.
func (f *finder) order(features []phase.Features) {
	r := f.r
	type one struct {
		class int
		start int32
	}
	for _, l := range r.levels {
		tracks := map[int][]one{}
		for _, i := range l.classes {
			p := &r.classes[i].parts[0]
			for _, s := range p.reps {
				tracks[p.track] = append(tracks[p.track], one{i, s.Start})
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
					fe.Start, fe.After = float64(x.start)/float64(max(1, r.tracks[track].n)), n > 0
				}
			}
		}
	}
	for i, c := range r.classes { // of one track, as the runs are
		features[i].Repetitions = len(c.parts[0].reps)
	}
}

// layers is how many repetitions of the level below a repetition has.
func (c *class) layers() int {
	n := 0
	for _, ch := range c.children {
		n += ch.count
	}
	return n
}

// sure says how certain it is that the class repeats and has these borders: by the share of repetitions without edits, and by how
// many there are, each of which halves what is left of doubt. Marks settle the borders.
func (c *class) sure(r *Result) {
	exact := 1 - float64(c.edited)/(2*float64(c.count))
	if c.source != sourceInferred {
		c.confidence = 0.99 * exact
		c.because = fmt.Sprintf("%s marks define it; %d of %d repetitions have the same kernels", c.source, c.count-c.edited, c.count)
		if c.count == 1 {
			c.because = fmt.Sprintf("%s marks define it; there is one of it", c.source)
		}
		return
	}
	enough := 1 - math.Pow(2, -float64(min(c.count, 60)-1))
	c.confidence = exact * enough
	c.because = fmt.Sprintf("%d repetitions, %d of them without edits", c.count, c.count-c.edited)
	if len(r.trace.Sequences) > 1 && len(c.parts) > 1 {
		c.because += fmt.Sprintf(", on %d devices", len(c.parts))
	}
}

// nameAll gives classes names that are unique in the document.
func (r *Result) nameAll() {
	seen := map[string]int{}
	for li := len(r.levels) - 1; li >= 0; li-- {
		for _, i := range r.levels[li].classes {
			c := r.classes[i]
			base := r.levels[li].depth.name()
			if c.described {
				base = LevelCycle
			}
			switch {
			case c.depth == depthStep && (c.phase.Phase == phase.Backward || c.phase.Phase == phase.Optimizer) && (2*c.covered >= r.compute || c.optimizes()):
				base = "training " + base // forward, backward and optimizer in one
			case c.phase.Phase != phase.Unknown:
				base = string(c.phase.Phase) + " " + base
			}
			if r.aside(c) {
				t := r.tracks[c.parts[0].track]
				base += ", stream " + r.seq(t).Streams[t.streams[0]].Name
			}
			seen[base]++
			c.name = base
			if n := seen[base]; n > 1 {
				c.name = fmt.Sprintf("%s %d", base, n)
			}
		}
	}
}

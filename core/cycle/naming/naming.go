// Package naming says what classes are called: it gathers what is known of each for package phase, passes phases on between levels, and
// gives names and confidence. All that tells one phase from another stands here and in the rooms below this folder.
package naming

import (
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// namer gives classes what people call them.
type namer struct {
	r      *structure.Run
	phases map[*structure.Class]*phase.Result
	tiles  map[string]int64 // rows of the tile by name of kernel
}

// Label gives phases, names and confidence to all classes, and selects one.
func Label(r *structure.Run) {
	f := &namer{r: r, phases: map[*structure.Class]*phase.Result{}, tiles: map[string]int64{}}
	annotations := f.annotations()
	features := make([]phase.Features, len(r.Classes))
	for i, c := range r.Classes {
		features[i] = f.features(c, annotations[i])
	}
	f.order(features)
	results := phase.Name(features)
	for i := len(r.Classes) - 1; i >= 0; i-- { // outer levels first: inner ones may inherit
		c := r.Classes[i]
		f.phases[c] = &results[i]
		f.inherit(c)
		sure(c, r)
	}
	for _, c := range r.Classes {
		if c.Depth >= structure.DepthLoop {
			f.loopPhase(c)
		}
	}
	for _, c := range r.Classes {
		c.Phase = said(f.phases[c])
	}
	f.nameAll()
	f.pick()
}

// said is a phase as the run keeps it.
func said(p *phase.Result) structure.Phase {
	out := structure.Phase{Name: string(p.Phase), Score: p.Score, Reason: p.Reason, ByPosition: p.Position}
	for _, x := range p.Readings {
		out.Readings = append(out.Readings, cycledoc.Reading{Phase: string(x.Phase), Score: x.Score})
	}
	return out
}

// pick selects the class that the mode asks for.
func (f *namer) pick() {
	r := f.r
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

// sure says how certain it is that the class repeats and has these borders: by the share of repetitions without edits, and by how
// many there are, each of which halves what is left of doubt. Marks settle the borders.
func sure(c *structure.Class, r *structure.Run) {
	exact := 1 - editedDoubt*float64(c.Edited)/float64(c.Count)
	if c.Source != structure.SourceInferred {
		c.Confidence = markedConfidence * exact
		c.Because = fmt.Sprintf("%s marks define it; %d of %d repetitions have the same kernels", c.Source, c.Count-c.Edited, c.Count)
		if c.Count == 1 {
			c.Because = fmt.Sprintf("%s marks define it; there is one of it", c.Source)
		}
		return
	}
	enough := 1 - math.Pow(doubtLeft, float64(min(c.Count, enoughCounted)-1))
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
			if c.Uplifter {
				base = cycledoc.LevelCycle
			}
			if p := f.phases[c].Phase; p != phase.Unknown {
				base = string(p) + " " + base
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

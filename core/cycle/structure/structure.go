// Package structure is what is known of a run while its cycles are found, measured and named: tracks of kernels and their symbols, classes
// with their repetitions, levels, steps. Each of those rooms fills its part of a Run; nothing here decides what repeats or what it is called.
package structure

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/repeat"
)

// Run is what is known of the kernels of a trace. Documents, tables and comparisons are made of it.
type Run struct {
	Trace    *kernels.Trace
	Opt      Options
	Words    *Words
	Zero     int64 // start of the first kernel
	Compute  int64 // kernels of streams that compute
	Training bool  // what the names of the kernels say the trace does
	Serving  bool

	// Room finding fills these.
	Tracks   []*Track
	Classes  []*Class // in order of level, then most kernels first
	Levels   []Level  // innermost first
	Evidence []cycledoc.Evidence
	Warnings []string // of the trace and of all rooms
	Limited  bool     // a search gave up on a part
	Cut      int64    // kernels beyond the longest sequence that is searched
	Keys     string   // by which kernels count as equal
	Merged   bool     // streams are searched as one sequence

	// Room measuring fills these; finding begins the steps with those that are like no other.
	Steps []Step
	Ranks []cycledoc.RankStep

	// Room naming fills this.
	Selected int // place in Classes, -1 none
}

// Depth says how deep a class nests.
type Depth int

// The depths, from the inside out.
const (
	DepthBlock Depth = iota // repeats inside a layer
	DepthLayer
	DepthMicrobatch
	DepthStep
	DepthLoop
	DepthLoops // loops of loops
)

// Name is what the document calls a level of that depth.
func (d Depth) Name() string {
	switch d {
	case DepthBlock:
		return cycledoc.LevelBlock
	case DepthLayer:
		return cycledoc.LevelLayer
	case DepthMicrobatch:
		return cycledoc.LevelMicrobatch
	case DepthStep:
		return cycledoc.LevelStep
	}
	return cycledoc.LevelLoop
}

// Level is one depth of nesting that has classes.
type Level struct {
	Depth   Depth
	Reason  string
	Classes []int
	Covered int64
	Starts  map[int][]int32 // borders by track, where several classes have some in it
}

// Class is a Class while it is being put together.
type Class struct {
	ID       uint64
	Depth    Depth
	Source   string
	Word     []uint32 // symbols of one repetition, from its border
	Rotation int      // of word[0] in the canonical rotation
	Parts    []Part
	Children []Child
	Parents  []int
	Name     string
	Uplifter bool // of uplifter, which has no levels

	Count, Edited, Edits, Covered int64
	measured
	Labelled
}

// measured is what the times of its repetitions say of a class.
type measured struct {
	StartNS, EndNS          int64 // absolute
	FirstIndex              int64
	Wall, Busy, Gap, Kernel cycledoc.Times
	Slots                   []cycledoc.Slot
	Also                    [][]string // by slot: strict keys beside that of its name, where kernels count as equal by loose ones
	Blocks                  []float64  // by slot: mean thread blocks, 0 unknown
	Beside                  []cycledoc.BesideSlot
	Outliers                []cycledoc.Outlier
	OutliersTotal           int64
	Drift                   *cycledoc.Drift
	Ranks                   []cycledoc.RankTimes
}

// Labelled is what a class is called and how sure that is.
type Labelled struct {
	Phase      Phase
	Marks      []string
	Confidence float64
	Because    string
}

// Phase is the part of a workload that a class is, as the document says it. Room naming knows which there are.
type Phase struct {
	Name       string
	Score      float64
	Reason     string
	ByPosition bool // nothing but the order of the classes decided
	Readings   []cycledoc.Reading
}

// Part is the repetitions of a class in one track, disjoint and in order.
type Part struct {
	Track int
	Shift int // the border of this track stands at this place of word
	Reps  []repeat.Span
	Marks []int32             // the mark that defines each; nil for what was inferred
	Loose map[int32][]Segment // of edited repetitions, by place in reps: what stands where

	Anchor, Signature string // what uplifter calls so; "" where it was not asked
}

// Child is a class inside another one.
type Child struct {
	Class *Class
	Count int
}

// Step is one repetition of the step level, or a step that a mark defines and that is like no other.
type Step struct {
	Track   int32
	Class   int32 // place in Result.classes, -1 none
	Span    repeat.Span
	Mark    int32 // place in Trace.Marks, -1 none
	Partial bool
	WallNS  int64
	BusyNS  int64
	OwnNS   int64 // busy without collectives
	StartNS int64 // absolute
}

// Period is how many kernels a repetition without edits has.
func (c *Class) Period() int { return len(c.Word) }

// LevelName is what the document calls the level of a class.
func (c *Class) LevelName() string {
	if c.Uplifter {
		return cycledoc.LevelCycle
	}
	return c.Depth.Name()
}

// Tally counts the repetitions of a class.
func (c *Class) Tally() {
	slices.SortStableFunc(c.Parts, func(a, b Part) int { return cmp.Compare(a.Track, b.Track) })
	for _, p := range c.Parts {
		for _, s := range p.Reps {
			c.Count++
			c.Covered += int64(s.End - s.Start)
			c.Edits += int64(s.Edits)
			if s.Edits > 0 {
				c.Edited++
			}
		}
	}
}

// Aside reports whether a class stands in streams beside the main one only.
func (r *Run) Aside(c *Class) bool {
	for i := range c.Parts {
		if r.Tracks[c.Parts[i].Track].Main {
			return false
		}
	}
	return true
}

// StepsByDevice are the places of the steps of each device that has some.
func (r *Run) StepsByDevice() [][]int {
	var out [][]int
	for i := range r.Steps {
		if i == 0 || r.Steps[i].Track != r.Steps[i-1].Track {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
}

// SourceInferred is Class.Source where no marks define the class.
const SourceInferred = "inferred"

// New begins a run: it numbers the signatures, and finds the zero of all times and what kind of work the names of the kernels tell.
func New(t *kernels.Trace, opt Options) *Run {
	r := &Run{Trace: t, Opt: opt, Selected: -1, Keys: KeysStrict, Words: newWords(t.Names, opt.Rules)}
	r.Training, r.Serving = phase.Kinds(t.Names)
	if opt.Keys == KeysLoose {
		r.Keys = KeysLoose
	}
	first := true
	for i := range t.Sequences {
		s := &t.Sequences[i]
		if s.Len() > 0 && (first || s.StartNS[0] < r.Zero) {
			r.Zero, first = s.StartNS[0], false
		}
		for _, st := range s.Streams {
			if !st.Communication {
				r.Compute += int64(st.Kernels)
			}
		}
	}
	if r.Compute == 0 { // nothing but collectives: those are searched then
		r.Compute = int64(t.Kernels())
	}
	return r
}

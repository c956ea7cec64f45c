package naming

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// inherit takes the phase of the classes that this one is a part of, where they agree and its own kernels tell nothing, or nothing but
// how they attend: whether a step verifies drafts or mixes requests is seen in the step alone. What runs several times before drafts are
// verified, behind a pause each time or with tokens sampled at its end, drafts.
func (f *namer) inherit(c *structure.Class) {
	r := f.r
	if len(c.Parents) == 0 {
		return
	}
	first, mine := *f.phases[r.Classes[c.Parents[0]]], f.phases[c]
	for _, p := range c.Parents {
		o := r.Classes[p]
		of := f.phases[o].Phase
		if of != first.Phase || o.Depth >= structure.DepthLoop || of == phase.Training { // a part of a training step may be any
			return
		}
	}
	if first.Phase == phase.Unknown || first.Position {
		return
	}
	told := mine.Phase != phase.Unknown && !mine.Position
	if two := tokens(first.Phase) && tokens(mine.Phase); two && first.Score > mine.Score {
		told = false // the step has the same evidence, and more
	}
	switch {
	case first.Phase == phase.Verify && (samples(c) || r.Pauses(r.Tracks[c.Parts[0].Track], c.Parts[0].Reps)):
		*mine = phase.Result{Phase: phase.Draft, Score: draftScore, Reason: "runs several times in front of each verification, as a pass of its own", Readings: []phase.Reading{{Phase: phase.Draft, Score: draftScore}}}
	case !told, (first.Phase == phase.Verify || first.Phase == phase.Mixed) && (mine.Phase == phase.Decode || mine.Phase == phase.Prefill):
		first.Reason = "part of a " + string(first.Phase) + " step: " + first.Reason
		*mine = first
	}
}

// tokens reports whether a phase is one of those that all evidence together tells apart.
func tokens(p phase.Phase) bool { return p == phase.Prefill || p == phase.Decode || p == phase.Mixed }

// samples reports whether a class has kernels that choose tokens.
func samples(c *structure.Class) bool {
	return slices.ContainsFunc(c.Slots, func(s cycledoc.Slot) bool { return phase.ChoosesTokens(s.Name) })
}

// loopPhase is that of the steps of a loop, where they agree.
func (f *namer) loopPhase(c *structure.Class) {
	var seen []string
	for _, ch := range c.Children {
		if p := string(f.phases[ch.Class].Phase); !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	mine := f.phases[c]
	switch len(seen) {
	case 0:
	case 1:
		*mine = *f.phases[c.Children[0].Class]
		if mine.Phase == phase.Unknown {
			mine.Reason = "its steps tell no phase"
			return
		}
		mine.Reason = "all of its steps: " + mine.Reason
	default:
		*mine = phase.Result{Phase: phase.Unknown, Reason: "its steps are of several phases: " + strings.Join(seen, ", ")}
	}
}

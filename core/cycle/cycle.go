// Package cycle finds the repeating structure of the kernels of a trace (layers, steps, loops of steps), measures it, names its phases and
// compares two runs. It puts the rooms below it together, one after the other: kernels reads, finding finds, measuring takes times, naming
// gives phases and names, comparing puts two runs side by side, rendering writes the documents of cycledoc. What they hand on is structure.Run.
//
// Evidence comes first: marks of the profiler, of a server or of the compiler define steps and label them. Where there are none, or where they
// are to be ignored, structure is inferred from the order of kernels alone. Every class says which of the two it stands on.
package cycle

import (
	"context"

	"github.com/prlx-go/prlx/core/cycle/comparing"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/finding"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/measuring"
	"github.com/prlx-go/prlx/core/cycle/naming"
	"github.com/prlx-go/prlx/core/cycle/rendering"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// Options tune Find. The zero value is the default of everything.
type Options = structure.Options

// NoEdits is the EditPercent under which all repetitions of a class are equal.
const NoEdits = structure.NoEdits

// CompareOptions tune Compare. The zero value is the default of everything.
type CompareOptions = comparing.Options

// Result is what Find found, with the trace beside it: documents, tables and comparisons are made of both.
type Result struct{ run *structure.Run }

// Find looks for what repeats in the kernels of a trace, measures it and labels it. The trace is kept and not changed.
func Find(j *job.Job, t *kernels.Trace, opt Options) (*Result, error) {
	run, err := findRun(j, t, opt)
	if err != nil {
		return nil, err
	}
	return &Result{run}, nil
}

func findRun(j *job.Job, t *kernels.Trace, opt Options) (*structure.Run, error) {
	opt, err := opt.Filled()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if j != nil {
		ctx = j.Context()
	}
	var run *structure.Run
	for _, stage := range []struct {
		name string
		run  func() error
	}{
		{"naming kernels", func() error { run = structure.New(t, opt); return nil }},
		{"searching", func() error { finding.Search(ctx, j, run); return nil }},
		{"measuring", func() error { return measuring.Measure(ctx, j, run) }},
		{"labelling", func() error { naming.Label(run); return nil }},
	} {
		j.Progress().SetStage(stage.name)
		if err := stage.run(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, fault.New(fault.Cancelled, "the search for cycles was cancelled").Wrap(err)
		}
	}
	return run, nil
}

// Document makes prlx.cycles/1 of a result.
func (f *Result) Document() *cycledoc.Document { return rendering.Document(f.run) }

// EachRepetition calls visit for all repetitions: in order of level, class, rank, device, time.
func (f *Result) EachRepetition(visit func(rendering.RepetitionRow)) {
	rendering.EachRepetition(f.run, visit)
}

// EachStep calls visit for all steps, however many the document lists, in the order of Document.Steps.
func (f *Result) EachStep(visit func(cycledoc.Step)) { rendering.EachStep(f.run, visit) }

// Compare says what changed from the cycles of a to those of b. Baselines are runs that should be equal to a.
func Compare(j *job.Job, a, b *Result, opt CompareOptions, baselines ...*Result) (*cycledoc.CompareDocument, error) {
	var runs []*structure.Run
	for _, r := range baselines {
		runs = append(runs, r.run)
	}
	c, err := comparing.Runs(j, a.run, b.run, runs, opt, func(t *kernels.Trace, opt Options) (*structure.Run, error) { return findRun(j, t, opt) })
	if err != nil {
		return nil, err
	}
	return rendering.Comparison(c), nil
}

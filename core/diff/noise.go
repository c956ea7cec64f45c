package diff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// ApplyBaseline compares runs that should be equal with a or b, and marks the divergences of a and b that are no more than such runs
// show: they are noise. What they can neither explain nor rule out is marked as undecided. runsA are further runs of a, runsB of b;
// either may be empty. docs/concepts/noise.md has the rule.
func ApplyBaseline(j *job.Job, r *Result, a, b *warptrace.Trace, runsA, runsB []*warptrace.Trace, opt Options) (*Baseline, error) {
	opt.Limit, opt.Context, opt.MaxDivergences = 0, -1, Allowed{}
	base := &Baseline{RunsA: len(runsA), RunsB: len(runsB), Undecided: []Undecided{}, Paths: []string{}}
	for _, runs := range [][]*warptrace.Trace{runsA, runsB} {
		if len(runs) >= maxNoiseRuns {
			return nil, fault.New(fault.Limit, "%d baselines of one side were given; %d are allowed", len(runs), maxNoiseRuns-1).
				WithHint("more than ten add little: leave some out")
		}
		for _, run := range runs {
			base.Paths = append(base.Paths, run.Path())
		}
	}
	r.Baseline = base
	base.Pairs = len(runsA) + len(runsB)
	var side *noiseSide
	first, equal, others := a, runsA, runsB
	switch {
	case len(runsA) > 0:
		side = newNoiseSide(len(runsA), len(runsB), noiseNames(r, a, func(s *SiteRef) int64 { return s.LocalA }), false)
	case len(runsB) > 0:
		first, equal, others = b, runsB, nil
		side = newNoiseSide(len(runsB), 0, noiseNames(r, b, func(s *SiteRef) int64 { return s.LocalB }), true)
	default:
		return base, nil
	}
	outputs := []*outputNoise{newOutputNoise(side.ofB)}
	if err := side.observe(j, r, first, equal, others, opt, outputs[0]); err != nil {
		return nil, err
	}
	if len(others) > 0 {
		outputs = append(outputs, newOutputNoise(true))
		if err := observeOutputs(j, r, b, others, opt, outputs[1]); err != nil {
			return nil, err
		}
	}
	markNoise(r, side)
	if err := r.markOutputs(j.Context(), a, b, outputs); err != nil {
		return nil, err
	}
	r.regroup()
	r.Settle()
	full := r.Options.withDefaults()
	if err := r.readOperands(j, a, b, &full); err != nil {
		return nil, err
	}
	return base, nil
}

// observe compares the first run of the side with each of those that should be equal to it, and with those that should be equal to the
// other side. outputs takes what the former wrote.
func (s *noiseSide) observe(j *job.Job, r *Result, first *warptrace.Trace, equal, others []*warptrace.Trace, opt Options, outputs *outputNoise) error {
	opt.MaxRows = min(opt.withDefaults().MaxRows, maxSightings/int64(len(equal)+len(others)))
	for i, run := range slices.Concat(equal, others) {
		if err := j.Context().Err(); err != nil {
			return fault.Of(err)
		}
		found, err := Compare(j, first, run, opt)
		if err == nil {
			err = found.damage.refusal() // what equal runs show is known of whole ones alone
		}
		if err != nil {
			return aboutBaseline(err, run.Path())
		}
		if found.Stats.RowsOmitted > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the baselines %s and %s differ in more than can be kept: %d divergences were left out",
				first.Path(), run.Path(), found.Stats.RowsOmitted))
		}
		names := noiseNames(found, first, func(s *SiteRef) int64 { return s.LocalA })
		for k := range names { // what only the other run passed has its name there
			if found.Sites[k].LocalA < 0 && found.Sites[k].LocalB >= 0 {
				names[k] = run.SiteID(uint32(found.Sites[k].LocalB))
			}
		}
		if i < len(equal) {
			if err := outputs.observe(j.Context(), found, first, run); err != nil {
				return err
			}
		} else { // the number between is that of the comparison that is judged
			i++
		}
		s.add(found, names, i)
	}
	return nil
}

// observeOutputs compares what the runs wrote that should be equal to B, where anything was recorded of that.
func observeOutputs(j *job.Job, r *Result, b *warptrace.Trace, runs []*warptrace.Trace, opt Options, outputs *outputNoise) error {
	if r.outputs == nil && len(r.findings.order) == 0 {
		return nil
	}
	for _, run := range runs {
		found, err := Compare(j, b, run, opt)
		if err == nil {
			err = found.damage.refusal() // what equal runs show is known of whole ones alone
		}
		if err != nil {
			return aboutBaseline(err, run.Path())
		}
		if err := outputs.observe(j.Context(), found, b, run); err != nil {
			return err
		}
	}
	return nil
}

// aboutBaseline says which baseline an error of comparing is about.
func aboutBaseline(err error, path string) error {
	var known *fault.Error
	if errors.As(err, &known) && known.Kind == fault.Incompatible {
		told := *known
		told.Msg = "this baseline is of something else: " + known.Msg
		if told.Path == "" {
			told.Path = path
		}
		return &told
	}
	return err
}

// noiseNames is what a recording calls the sites of a result: names that hold for every run of the same build.
func noiseNames(r *Result, t *warptrace.Trace, local func(*SiteRef) int64) []uint64 {
	names := make([]uint64, len(r.Sites))
	for i := range r.Sites {
		names[i] = r.Sites[i].ID
		if l := local(&r.Sites[i]); l >= 0 && l <= math.MaxUint32 {
			names[i] = t.SiteID(uint32(l))
		}
	}
	return names
}

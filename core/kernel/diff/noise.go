package diff

import (
	"errors"
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// ApplyBaseline compares runs that should be equal with each other and marks the divergences of a and b that are no more than
// such runs show: they are noise. runsA are further runs of a, runsB of b; either may be empty. docs/concepts/noise.md has the
// rules.
func ApplyBaseline(j *job.Job, r *Result, a, b *warptrace.Trace, runsA, runsB []*warptrace.Trace, opt Options) (*Baseline, error) {
	opt.Limit, opt.Context, opt.Threshold = 0, -1, 0
	base := &Baseline{RunsA: len(runsA), RunsB: len(runsB), Paths: []string{}}
	var tables []*noiseTable
	for _, side := range []struct {
		first *warptrace.Trace
		runs  []*warptrace.Trace
		local func(*SiteRef) int64
	}{
		{a, runsA, func(s *SiteRef) int64 { return s.LocalA }},
		{b, runsB, func(s *SiteRef) int64 { return s.LocalB }},
	} {
		if len(side.runs) == 0 {
			continue
		}
		if len(side.runs) >= maxNoiseRuns {
			return nil, fault.New(fault.Limit, "%d baselines of one side were given; %d are allowed", len(side.runs), maxNoiseRuns-1).
				WithHint("more than ten add little: leave some out")
		}
		table, err := observeRuns(j, r, side.first, side.runs, opt)
		if err != nil {
			return nil, err
		}
		table.names = noiseNames(r, side.first, side.local)
		tables = append(tables, table)
		base.Pairs += table.pairs
		for _, run := range side.runs {
			base.Paths = append(base.Paths, run.Path())
		}
	}
	r.Baseline = base
	if len(tables) > 0 {
		markNoise(r, tables)
		r.regroup()
		r.Settle()
		full := r.Options.withDefaults()
		if err := r.readOperands(j, a, b, &full); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// observeRuns compares the equal runs of one side, pair by pair.
func observeRuns(j *job.Job, r *Result, first *warptrace.Trace, more []*warptrace.Trace, opt Options) (*noiseTable, error) {
	runs := append([]*warptrace.Trace{first}, more...)
	table := newNoiseTable(len(runs))
	for _, p := range noisePairs(len(runs)) {
		if err := j.Context().Err(); err != nil {
			return nil, fault.Of(err)
		}
		x, y := runs[p[0]], runs[p[1]]
		found, err := Compare(j, x, y, opt)
		if err != nil {
			return nil, aboutBaseline(err, y.Path())
		}
		if found.Stats.RowsOmitted > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the baselines %s and %s differ in more than can be kept: %d divergences were left out",
				x.Path(), y.Path(), found.Stats.RowsOmitted))
		}
		local := func(s *SiteRef) int64 { return s.LocalA }
		names := noiseNames(found, x, local)
		for i := range names { // what only the other run passed has its name there
			if found.Sites[i].LocalA < 0 && found.Sites[i].LocalB >= 0 {
				names[i] = y.SiteID(uint32(found.Sites[i].LocalB))
			}
		}
		table.observe(found, names, p[0]%2 == 0 && p[1] == p[0]+1)
	}
	return table, nil
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

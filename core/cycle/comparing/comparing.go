// Package comparing puts two runs side by side: each class is looked for in both from one origin, and package pairs says which of one run
// is which of the other. The account says where the time went.
package comparing

import (
	"context"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// again finds the cycles of a run anew, where the run that it is compared with was searched in a different way.
type again func(*kernels.Trace, structure.Options) (*structure.Run, error)

// Runs pairs the classes of two runs. Baselines are runs that should be equal to a: a change counts where it is more than what they differ by.
func Runs(j *job.Job, a, b *structure.Run, baselines []*structure.Run, opt Options, find again) (*Comparison, error) {
	opt, err := opt.filled()
	if err != nil {
		return nil, err
	}
	c, err := gathered(j, a, b, opt, find)
	if err != nil {
		return nil, err
	}
	c.Baselines = len(baselines)
	for _, base := range baselines {
		o, err := gathered(j, a, base, opt, find)
		if err != nil {
			return nil, err
		}
		o.run(opt.Similarity)
		if c.noise == nil {
			c.noise = pairs.NewBaselines(opt.Alpha)
		}
		c.noise.Add(o.Result, o.ViewsA)
	}
	c.run(opt.Similarity)
	if len(c.Result.Pairs) == 0 && opt.Similarity > leastSimilarity {
		c.run(leastSimilarity)
	}
	return c, nil
}

// gathered are two runs side by side, before their classes are paired.
func gathered(j *job.Job, a, b *structure.Run, opt Options, find again) (*Comparison, error) {
	ctx := context.Background()
	if j != nil {
		ctx = j.Context()
	}
	j.Progress().SetStage("comparing")
	c := &Comparison{Opt: opt, A: a, B: b, again: find}
	if err := c.gather(ctx, j); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.Cancelled, "the comparison of cycles was cancelled").Wrap(err)
	}
	return c, nil
}

// gather makes the views of all classes of both runs.
func (c *Comparison) gather(ctx context.Context, j *job.Job) error {
	if err := c.sameKeys(); err != nil {
		return err
	}
	c.FoundA, c.FoundB = c.A, c.B
	for _, r := range []**structure.Run{&c.A, &c.B} { // tracks are added to copies
		own := **r
		*r = &own
	}
	o := &origin{ctx: ctx, job: j, left: maxOriginWork, symbols: map[*structure.Track][]uint32{}, unsearched: map[*structure.Run][]*structure.Track{}}
	var err error
	if c.ListA, c.ListB, err = o.pair(c.A, c.B); err != nil {
		return err
	}
	for _, side := range []struct {
		r     *structure.Run
		list  []Compared
		views *[]pairs.ClassView
	}{{c.A, c.ListA, &c.ViewsA}, {c.B, c.ListB, &c.ViewsB}} {
		starts := startsOf(side.list)
		for i := range side.list {
			if err := ctx.Err(); err != nil {
				return fault.New(fault.Cancelled, "the comparison of cycles was cancelled").Wrap(err)
			}
			v := viewOf(side.r, &side.list[i], c.Opt.Repetitions, starts[side.list[i].Depth])
			if len(c.A.Levels) == len(c.B.Levels) { // a level may be called a layer in one run and a step in the other
				v.Level = levelPlace(side.r, side.list[i].Class)
			}
			*side.views = append(*side.views, v)
		}
	}
	return nil
}

// sameKeys searches a run again where the other one was searched by loose keys, or with its streams merged, and neither was asked for: what a
// recording holds of a run decides which of the two explains more of it.
func (c *Comparison) sameKeys() error {
	for _, side := range []struct{ r, other **structure.Run }{{&c.A, &c.B}, {&c.B, &c.A}} {
		r, other := *side.r, *side.other
		opt, again := r.Opt, false
		if r.Keys != other.Keys && r.Opt.Keys == structure.KeysAuto && other.Keys == structure.KeysLoose {
			opt.Keys, again = structure.KeysLoose, true
		}
		if r.Merged != other.Merged && r.Opt.Streams == structure.StreamsAuto && other.Merged {
			opt.Streams, again = structure.StreamsMerged, true
		}
		if !again || r.Opt.Compat != nil || len(r.Classes) == 0 || len(other.Classes) == 0 {
			continue
		}
		found, err := c.again(r.Trace, opt)
		if err != nil {
			return err
		}
		*side.r = found
	}
	return nil
}

func (c *Comparison) run(similarity float64) {
	c.Similarity = similarity
	c.Result = pairs.Classes(c.ViewsA, c.ViewsB, pairs.Options{Alpha: c.Opt.Alpha, MinChange: c.Opt.MinChange, Similarity: similarity, Baselines: c.noise})
}

// Limit is the smallest change of a row of a pair that most runs like these would have told from chance, as a share; -1: none.
func (c *Comparison) Limit(pair, row int) float64 {
	return c.Result.Limit(c.ViewsA, c.ViewsB, pair, row)
}

// BaselinesWith is how many baselines have the class of a pair.
func (c *Comparison) BaselinesWith(pair int) int {
	if c.noise == nil {
		return 0
	}
	return c.noise.Has(c.ViewsA[c.Result.Pairs[pair].A].ID)
}

// Comparison is two runs side by side.
type Comparison struct {
	Similarity     float64 // the least that was asked of pairs
	Opt            Options
	FoundA, FoundB *structure.Run // as their search left them
	A, B           *structure.Run // the same, with the tracks of streams that only the comparison looked at
	ListA, ListB   []Compared
	ViewsA, ViewsB []pairs.ClassView
	Result         *pairs.Comparison
	Baselines      int              // runs that should be equal to a
	noise          *pairs.Baselines // nil where there are none
	again          again
}

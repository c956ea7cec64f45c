package combine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Traces whose processes are data parallel ranks and whose lines are what their pipeline stages did: "DP rank [3]" with "PP rank 1, TP rank 0,
// compute". Their parts are named after what they do; the k-th send of a stage belongs to the k-th receive of the next.

var (
	scheduleProcess = lazyregexp.New(`^DP rank \[?(\d+)\]?$`)
	scheduleLine    = lazyregexp.New(`^PP rank (\d+), TP rank (\d+), ([a-z-]+)$`)
)

// parallelRank is a rank of a parallel job.
type parallelRank struct{ data, pipeline, tensor int }

// scheduled is a part with its rank and how many of its name the rank had executed before.
type scheduled struct {
	rank  int32
	nth   int
	name  string
	step  int64
	place parallelRank
	from  int64
	to    int64
}

// readSchedule reads a trace of this kind; nil: it is none.
func readSchedule(ctx context.Context, n *Node) (*straggler.Job, string, error) {
	trace, ok := n.Trace.(source.Scheduled)
	if !ok || n.Src == nil {
		return nil, "", nil
	}
	at := map[[2]int32]parallelRank{}
	for _, p := range n.layout {
		data := scheduleProcess.FindStringSubmatch(p.Name)
		if data == nil {
			continue
		}
		for _, l := range p.Lines {
			if m := scheduleLine.FindStringSubmatch(l.Name); m != nil {
				at[[2]int32{int32(p.Index), int32(l.Index)}] = parallelRank{number(data[1]), number(m[1]), number(m[2])}
			}
		}
	}
	if len(at) < 2 {
		return nil, "", nil
	}
	s := &scheduleReader{job: &straggler.Job{}, ranks: map[parallelRank]int32{}}
	if err := trace.Schedule(ctx, n.Src, func(p *source.SchedulePart) {
		if place, ok := at[[2]int32{p.Process, p.Line}]; ok {
			s.parts = append(s.parts, scheduled{name: p.Name, step: p.Step, place: place, from: p.Start.NS, to: max(p.EndNS, p.Start.NS)})
		}
	}); err != nil {
		return nil, "", withPath(err, n.Path)
	}
	s.build()
	return s.job, "one clock, as recorded", nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

type scheduleReader struct {
	job   *straggler.Job
	ranks map[parallelRank]int32
	parts []scheduled
}

// exchange says which parts make one operation: those of one key.
type exchange struct {
	key, class, group string
	nth               int
}

func (s *scheduleReader) build() {
	slices.SortStableFunc(s.parts, func(a, b scheduled) int {
		return cmp.Or(cmp.Compare(a.place.data, b.place.data), cmp.Compare(a.place.pipeline, b.place.pipeline), cmp.Compare(a.place.tensor, b.place.tensor), cmp.Compare(a.from, b.from))
	})
	last := 0
	for i := range s.parts {
		p := &s.parts[i]
		last = max(last, p.place.pipeline)
		p.rank = s.rank(p)
	}
	type counted struct {
		rank int32
		name string
	}
	counts := map[counted]int{}
	ops, steps, names := map[exchange]int32{}, map[int64]int32{}, map[string]int32{}
	j := s.job
	var stepOf []int64
	for i := range s.parts {
		p := &s.parts[i]
		c := counted{p.rank, p.name}
		p.nth = counts[c]
		counts[c]++
		x, ok := exchangeOf(p, last)
		if !ok {
			name, seen := names[p.name]
			if !seen {
				name = int32(len(j.Names))
				names[p.name], j.Names = name, append(j.Names, straggler.Did{Name: p.name, Kind: straggler.DidPart})
			}
			j.Work[p.rank] = append(j.Work[p.rank], straggler.Work{Name: name, FromNS: p.from, ToNS: p.to})
			continue
		}
		op, seen := ops[x]
		if !seen {
			op = int32(len(j.Ops))
			ops[x] = op
			j.Ops, stepOf = append(j.Ops, straggler.Op{Key: x.key, Class: x.class, Group: x.group, Step: -1, Occurrence: x.nth}), append(stepOf, p.step)
		}
		j.Events = append(j.Events, straggler.Event{Rank: p.rank, Op: op, EnterNS: p.from, LeaveNS: p.to})
	}
	s.wait()
	members := make([][]int32, len(j.Ops))
	for e := range j.Events {
		members[j.Events[e].Op] = append(members[j.Events[e].Op], int32(e))
	}
	for k := range j.Ops {
		if len(members[k]) > 1 {
			j.Ops[k].Gates = []straggler.Gate{{Givers: members[k], Receivers: members[k]}}
		}
	}
	all := slices.Compact(slices.Sorted(slices.Values(stepOf)))
	for _, step := range all {
		if step >= 0 {
			steps[step] = int32(len(j.Steps))
			j.Steps = append(j.Steps, strconv.FormatInt(step, 10))
		}
	}
	for k, step := range stepOf {
		if n, ok := steps[step]; ok {
			j.Ops[k].Step = n
		}
	}
	if j.StepsBy = straggler.StepsByTrace; len(j.Steps) == 0 {
		j.FindSteps()
	}
}

// wait lets ranks enter operations when they had nothing else to do. Such traces show what was exchanged without the waiting before it: the parts of
// both sides begin together. Who was at work when that began had not waited; the others had since their last part ended.
func (s *scheduleReader) wait() {
	j := s.job
	ends := make([][]int64, len(j.Ranks))
	for i := range s.parts {
		p := &s.parts[i]
		ends[p.rank] = append(ends[p.rank], p.to)
	}
	for _, list := range ends {
		slices.Sort(list)
	}
	for e := range j.Events {
		x := &j.Events[e]
		work := j.Work[x.Rank]
		at, _ := slices.BinarySearchFunc(work, x.EnterNS, func(w straggler.Work, t int64) int { return cmp.Compare(w.FromNS, t) })
		if at > 0 && work[at-1].ToNS > x.EnterNS {
			continue
		}
		list := ends[x.Rank]
		if n, _ := slices.BinarySearch(list, x.EnterNS+1); n > 0 {
			x.EnterNS = list[n-1]
		}
	}
}

func (s *scheduleReader) rank(p *scheduled) int32 {
	r, ok := s.ranks[p.place]
	if !ok {
		r = int32(len(s.job.Ranks))
		s.ranks[p.place] = r
		id := fmt.Sprintf("dp%d pp%d", p.place.data, p.place.pipeline)
		if p.place.tensor > 0 {
			id += fmt.Sprintf(" tp%d", p.place.tensor)
		}
		s.job.Ranks = append(s.job.Ranks, straggler.Rank{ID: id, FirstNS: p.from})
		s.job.Work = append(s.job.Work, nil)
	}
	return r
}

// exchangeOf says with whom a part is an operation; ok is false for what a rank does by itself. last is the last stage.
func exchangeOf(p *scheduled, last int) (x exchange, ok bool) {
	at := p.place
	pair := func(class string, from, to int) (exchange, bool) {
		group := fmt.Sprintf("pipeline dp%d tp%d", at.data, at.tensor)
		return exchange{fmt.Sprintf("%s %d->%d of dp%d", class, from, to, at.data), class, group, p.nth}, true
	}
	switch p.name {
	case "forward-send":
		return pair("forward", at.pipeline, at.pipeline+1)
	case "forward-recv":
		return pair("forward", at.pipeline-1, at.pipeline)
	case "backward-send":
		return pair("backward", at.pipeline, at.pipeline-1)
	case "backward-recv":
		return pair("backward", at.pipeline+1, at.pipeline)
	case "embedding-grads-all-reduce": // of the first stage and the last
		if at.pipeline == 0 || at.pipeline == last {
			return exchange{fmt.Sprintf("%s of dp%d", p.name, at.data), p.name, fmt.Sprintf("embedding dp%d tp%d", at.data, at.tensor), p.nth}, true
		}
	case "params-all-gather", "grads-reduce-scatter": // of one stage
		return exchange{fmt.Sprintf("%s of pp%d", p.name, at.pipeline), p.name, fmt.Sprintf("data parallel pp%d tp%d", at.pipeline, at.tensor), p.nth}, true
	case "optimizer-clip-main-grad": // of all
		return exchange{p.name, p.name, "all ranks", p.nth}, true
	}
	return x, false
}

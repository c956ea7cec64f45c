package collective

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/event"
)

// restAtOnce is how many executions of the rest are judged at a time.
const restAtOnce = MaxSpans / 4

// Judged is what can be said of all executions, those of the rest too.
type Judged struct {
	Verdicts    []*Verdict // one for each clock
	Groups      int
	Unmatched   []Unmatched
	Assumptions []string
	Rest        int64 // executions that were judged from the file
}

// UnmatchedCount returns how many executions are unmatched.
func (j *Judged) UnmatchedCount() (n int) {
	for _, u := range j.Unmatched {
		n += u.Count
	}
	return n
}

// CheckOptions are how all executions are judged.
type CheckOptions struct {
	Within  func(*Matched) *Matched // what is left of matches that count; nil: all
	Worst   int                     // groups that are listed at most
	Workers int                     // clocks that are judged at a time; 0: all
}

// CheckAll judges every group on each of the clocks: those of m and, where more executions were found than memory has room for, those that
// belong together among the others. m must be as Match made it.
func CheckAll(ctx context.Context, m *Matched, clocks []Clock, opt CheckOptions) (*Judged, error) {
	doubts := m.doubts.clone()
	for {
		known := doubts.size()
		j := &Judged{}
		for range clocks {
			j.Verdicts = append(j.Verdicts, newVerdict())
		}
		kept := m
		if known > m.doubts.size() { // the rest showed that what was matched by order, or number, does not belong together
			var err error
			if kept, err = match(ctx, m.Part, doubts); err != nil {
				return nil, err
			}
		}
		if err := j.add(ctx, kept, clocks, opt); err != nil {
			return nil, err
		}
		err := m.Part.eachRest(restAtOnce, func(rest *Part) error {
			some, err := match(ctx, rest, doubts)
			if err != nil {
				return err
			}
			j.Rest += int64(len(rest.Spans))
			return j.add(ctx, some, clocks, opt)
		})
		if err != nil {
			return nil, err
		}
		if doubts.size() > known {
			continue
		}
		if j.Rest > 0 {
			err = j.count(m.Part)
		}
		slices.Sort(j.Assumptions)
		j.Assumptions = slices.Compact(j.Assumptions)
		return j, err
	}
}

// add judges some of the groups.
func (j *Judged) add(ctx context.Context, m *Matched, clocks []Clock, opt CheckOptions) error {
	if opt.Within != nil {
		m = opt.Within(m)
	}
	v := make([]*Verdict, len(clocks))
	group, ctx := safe.NewGroup(ctx)
	if opt.Workers > 0 {
		group.SetLimit(opt.Workers)
	}
	for k, clock := range clocks {
		group.Go(func() (err error) {
			v[k], err = Check(ctx, m, clock, opt.Worst)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for k := range clocks {
		j.Verdicts[k].merge(v[k], opt.Worst)
	}
	j.Groups += len(m.Groups)
	j.Assumptions = append(j.Assumptions, m.Assumptions...)
	j.Unmatched = addUnmatched(j.Unmatched, m.Unmatched)
	return nil
}

// addUnmatched adds up counts, ascending by key and reason.
func addUnmatched(a, b []Unmatched) []Unmatched {
	out := slices.Concat(a, b)
	slices.SortStableFunc(out, func(a, b Unmatched) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Reason, b.Reason))
	})
	n := 0
	for _, u := range out {
		if n > 0 && out[n-1].Key == u.Key && out[n-1].Reason == u.Reason {
			out[n-1].Count += u.Count
			continue
		}
		out[n] = u
		n++
	}
	return out[:n]
}

// merge adds what was found among other groups.
func (v *Verdict) merge(o *Verdict, worst int) {
	v.Groups, v.Violated, v.Consistent, v.Undecidable = v.Groups+o.Groups, v.Violated+o.Violated, v.Consistent+o.Consistent, v.Undecidable+o.Undecidable
	for kind, c := range o.ByKind {
		sum := v.ByKind[kind]
		sum.Groups, sum.Violated, sum.Consistent, sum.Undecidable = sum.Groups+c.Groups, sum.Violated+c.Violated, sum.Consistent+c.Consistent, sum.Undecidable+c.Undecidable
		v.ByKind[kind] = sum
	}
	for how, n := range o.ByHow {
		v.ByHow[how] += n
	}
	v.Incomplete, v.Guessed, v.Proven, v.Overlong = v.Incomplete+o.Incomplete, v.Guessed+o.Guessed, v.Proven+o.Proven, v.Overlong+o.Overlong
	if o.Gaps > 0 {
		if v.Gaps == 0 || o.MinGapNS < v.MinGapNS {
			v.MinGapNS = o.MinGapNS
		}
		if v.Gaps == 0 { // of the executions that are kept, where there are more
			v.MedianNS = o.MedianNS
		}
	}
	v.Gaps += o.Gaps
	v.Worst = append(v.Worst, o.Worst...)
	v.keepWorst(worst)
}

// count says of the worst groups how often their first member had executed the operation before, in all of the trace.
func (j *Judged) count(p *Part) error {
	places := map[Seat][]*Worst{}
	for _, v := range j.Verdicts {
		for i := range v.Worst {
			w := &v.Worst[i]
			at := Seat{w.first.Op, Slot{w.first.Node, w.first.Device}}
			places[at], w.Occurrence = append(places[at], w), 0
		}
	}
	if len(places) == 0 {
		return nil
	}
	see := func(s *event.Span) {
		for _, w := range places[Seat{s.Op, Slot{s.Node, s.Device}}] {
			if s.StartNS < w.first.StartNS {
				w.Occurrence++
			}
		}
	}
	for i := range p.Spans {
		see(&p.Spans[i])
	}
	for i := range p.rest.piles {
		err := p.rest.each(&p.rest.piles[i], func(id uint32, s *event.Span) {
			if p.left(id, s) {
				see(s)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// doubts are what is known not to be what it says: found in some executions, they hold for all.
type doubts struct {
	lost       map[string]bool   // communicators whose order is lost
	distrusted map[string]string // communicators whose numbers name nothing, with the reason
}

func newDoubts() *doubts { return &doubts{map[string]bool{}, map[string]string{}} }

func (d *doubts) size() int { return len(d.lost) + len(d.distrusted) }

func (d *doubts) clone() *doubts { return &doubts{maps.Clone(d.lost), maps.Clone(d.distrusted)} }

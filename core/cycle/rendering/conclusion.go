package rendering

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/comparing"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/measuring"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/verdict"
)

// enoughExplained is the share of the time that repetitions must take: where they take less, the run is about something else.
const enoughExplained = 0.5

// timeCoverage is the share of the time of the devices, from the first kernel to the end of the last, that the repetitions of a level take.
func (r renderer) timeCoverage(depth structure.Depth) float64 {
	in, all := int64(0), int64(0)
	for _, t := range r.Tracks {
		if !t.Main || t.N == 0 {
			continue
		}
		s := r.Seq(t)
		first, last := s.StartNS[t.At(0)], s.EndNS(t.At(0))
		for i := range t.N {
			last = max(last, s.EndNS(t.At(i)))
		}
		all += last - first
		reach := first
		for _, x := range r.intervals(t, depth) {
			if end := min(x.end, last); end > reach {
				in += end - max(reach, x.start)
				reach = end
			}
		}
	}
	return share(in, all)
}

type interval struct{ start, end int64 }

// intervals are the wall times of the repetitions of a level on a track, in order of start; of steps also those that are like no other.
func (r renderer) intervals(t *structure.Track, depth structure.Depth) []interval {
	s := r.Seq(t)
	var out []interval
	if depth == structure.DepthStep && len(r.Steps) > 0 {
		for i := range r.Steps {
			if st := &r.Steps[i]; int(st.Track) == t.Number {
				out = append(out, interval{st.StartNS, st.StartNS + st.WallNS})
			}
		}
		return out
	}
	for li := range r.Levels {
		if r.Levels[li].Depth != depth {
			continue
		}
		for _, k := range r.Levels[li].Classes {
			for pi := range r.Classes[k].Parts {
				p := &r.Classes[k].Parts[pi]
				if p.Track != t.Number {
					continue
				}
				for n, rep := range p.Reps {
					begin := s.StartNS[t.At(int(rep.Start))]
					out = append(out, interval{begin, begin + measuring.Wall(r.Run, p, n, r.Levels[li].Starts[p.Track])})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b interval) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	return out
}

// conclude says whether the run is explained: what repeats was found, takes most of the time, and nothing was lost that could have changed that.
func (r renderer) conclude(d *cycledoc.Document) verdict.Verdict {
	var e verdict.Evidence
	e.Looked("kernels", d.Input.Kernels)
	r.lost(&e, "")
	switch {
	case d.Input.Kernels == 0:
		e.Lacks("kernels", "the trace holds none of a GPU or TPU")
	case d.Status == cycledoc.StatusNone:
		e.Lacks("cycles", "nothing repeats often enough to be more than chance")
	case d.TimeCoverage < enoughExplained:
		e.Lacks("steps", fmt.Sprintf("what repeats takes %s of the time", percentText(d.TimeCoverage)))
	}
	return e.Check(false, strings.TrimSuffix(d.Verdict, "."))
}

// lost adds what was not read, or not searched, of a run. Of is the name of a side.
func (r renderer) lost(e *verdict.Evidence, of string) {
	l := &r.Trace.Losses
	if l.Truncated {
		e.Lacks("the rest of the trace"+of, fmt.Sprintf("the file is cut at byte %d", l.TruncatedAt))
	}
	for _, x := range []struct {
		what string
		n    int64
		why  string
	}{
		{"kernels", l.Unusable, "without a usable time"},
		{"kernels", l.Unpaired, "with a begin or an end only"},
		{"pieces of text", l.Skipped, "not readable as events"},
		{"kernels", r.Cut, "beyond the longest sequence that is searched"},
		{"traces", int64(r.Trace.Left), "cannot be read and were left out"},
	} {
		if x.n > 0 {
			e.Missed(x.what+of, x.n, x.why)
		}
	}
	if r.Trace.Kernels() > 0 && r.untimed() {
		e.Lacks("times of kernels"+of, "all are zero")
	}
	if n := r.ranks(); n > 1 && r.Trace.World > n { // a trace of one rank is judged by itself
		e.LookedOf("ranks"+of, int64(n), int64(r.Trace.World))
	}
	if r.Limited {
		e.Lacks("a part of the kernels"+of, "the search gave up on it: it is almost periodic")
	}
}

// untimed reports whether no kernel takes any time: the recorder did not measure them.
func (r renderer) untimed() bool {
	for i := range r.Trace.Sequences {
		s := &r.Trace.Sequences[i]
		for k := range s.Len() {
			if s.DurNS(k) > 0 {
				return false
			}
		}
	}
	return true
}

// ranks is how many ranks have kernels.
func (r renderer) ranks() int {
	seen := map[int]bool{}
	for i := range r.Trace.Sequences {
		if s := &r.Trace.Sequences[i]; s.Len() > 0 {
			seen[s.Rank] = true
		}
	}
	return len(seen)
}

// conclude says whether the runs are the same: that no test finds a change says so only where the repetitions are enough for a test, where the means
// agree as well, and where what was compared takes the time of both runs.
func (c changes) conclude(d *cycledoc.CompareDocument, accounts *comparing.Accounts) verdict.Verdict {
	e := c.looked(d)
	for n, k := range accounts.Order {
		if !accounts.Inside[k] {
			c.doubt(&e, d, &d.Pairs[n], k)
		}
	}
	c.outside(&e, d)
	// Where one side has nothing to compare, that the other one has something is no difference between their steps.
	if len(c.FoundA.Classes) == 0 || len(c.FoundB.Classes) == 0 {
		return e.Compare(false, "")
	}
	why := "no cycle of one run is like one of the other"
	if len(d.Pairs) > 0 {
		why = headlineText(&d.Pairs[headline(d.Pairs)])
	}
	pair, alone := differs(d)
	if a, b := c.FoundA.Trace, c.FoundB.Trace; alone && !pair && (a.Losses.Truncated || b.Losses.Truncated || c.FoundA.Limited || c.FoundB.Limited) {
		return e.Open("one run has cycles that were not found in the other, of which a part is missing") // which may hold them
	}
	return e.Compare(pair || alone, why)
}

// looked is what is compared, and what the runs lack whatever is asked of them.
func (c changes) looked(d *cycledoc.CompareDocument) verdict.Evidence {
	var e verdict.Evidence
	repetitionsA, repetitionsB := int64(0), int64(0)
	for i := range d.Pairs {
		repetitionsA, repetitionsB = repetitionsA+d.Pairs[i].A.Count, repetitionsB+d.Pairs[i].B.Count
	}
	e.Looked("repetitions of A", repetitionsA)
	e.Looked("repetitions of B", repetitionsB)
	for _, s := range []struct {
		name string
		side *cycledoc.Side
		r    *structure.Run
	}{{"A", &d.A, c.FoundA}, {"B", &d.B, c.FoundB}} {
		renderer{s.r}.lost(&e, " of "+s.name)
		switch {
		case s.side.Input.Kernels == 0:
			e.Lacks("kernels of "+s.name, "it holds none of a GPU or TPU")
		case len(s.r.Classes) == 0:
			e.Lacks("cycles of "+s.name, "nothing in it repeats")
		}
	}
	if c.Baselines > 0 {
		e.Looked("baselines", int64(c.Baselines))
	}
	return e
}

// outside adds that the runs differ in how much of their time does not repeat.
func (c changes) outside(e *verdict.Evidence, d *cycledoc.CompareDocument) {
	if a, b := d.A.TimeCoverage, d.B.TimeCoverage; len(d.Pairs) > 0 && math.Abs(a-b) >= c.Opt.MinChange && !(onlyEnds(c.FoundA) && onlyEnds(c.FoundB)) {
		e.Lacks("what does not repeat", fmt.Sprintf("it takes %s of the time of A and %s of that of B, and is not compared", percentText(1-a), percentText(1-b)))
	}
}

// onlyEnds reports whether all kernels outside of repetitions stand in front of the first step or behind the last: steps that the recording cut.
func onlyEnds(r *structure.Run) bool {
	for _, t := range r.Tracks {
		if !t.Main {
			continue
		}
		var steps []structure.Step
		for _, st := range r.Steps {
			if int(st.Track) == t.Number {
				steps = append(steps, st)
			}
		}
		if len(steps) == 0 {
			return false
		}
		longest := int32(0)
		for i, st := range steps {
			longest = max(longest, st.Span.End-st.Span.Start)
			if i > 0 && st.Span.Start > steps[i-1].Span.End {
				return false
			}
		}
		if steps[0].Span.Start >= longest || int32(t.N)-steps[len(steps)-1].Span.End >= longest {
			return false
		}
	}
	return true
}

// doubt adds what keeps a pair that stands in no other one from being called the same.
func (c changes) doubt(e *verdict.Evidence, d *cycledoc.CompareDocument, p *cycledoc.ClassPair, k int) {
	of := &c.Result.Pairs[k]
	least := c.Opt.MinChange
	if p.Level == cycledoc.LevelLoop || max(timeShare(&p.A, &d.A), timeShare(&p.B, &d.B)) < least {
		return
	}
	name := quoted(p)
	few := fmt.Sprintf("of %d repetitions %d can be compared, of %d in B %d, and a test needs %d on each side", p.A.Count, of.Wall.CountA, p.B.Count, of.Wall.CountB, pairs.MinRepetitions)
	switch {
	case p.Wall.Verdict == string(pairs.TooFew):
		e.Lacks(name, few)
		return
	case changed(p.Wall.Verdict):
		return
	case c.Baselines > c.BaselinesWith(k):
		e.Lacks(name, fmt.Sprintf("%d of %d baselines have it", c.BaselinesWith(k), c.Baselines))
	case math.Abs(p.Wall.Relative) >= least:
		e.Lacks("the change of "+name, fmt.Sprintf("%+.1f %% in the mean is not told from chance", 100*p.Wall.Relative))
		return
	}
	matters := func(x *cycledoc.Delta) bool {
		return !changed(x.Verdict) && math.Abs(x.DeltaNS) >= least*p.Wall.ANS
	}
	if matters(&p.Gap) {
		e.Lacks("the idle time of "+name, fmt.Sprintf("%s in the mean is not told from chance", signedText(p.Gap.DeltaNS)))
	}
	for i := range p.Rows {
		if row := &p.Rows[i]; len(row.A) > 0 && len(row.B) > 0 && matters(&row.Change) {
			e.Lacks(fmt.Sprintf("the change of kernel %d of %s", row.A[0].Slot, name), fmt.Sprintf("%s in the mean is not told from chance", signedText(row.Change.DeltaNS)))
			return
		}
	}
}

// timeShare is about how much of the time of a run the repetitions of a class take.
func timeShare(c *cycledoc.ClassBrief, side *cycledoc.Side) float64 {
	return c.WallNS * float64(c.Count) / (float64(max(1, side.Input.SpanNS)) * float64(max(1, side.Input.Devices)))
}

// quoted is what a pair is called.
func quoted(p *cycledoc.ClassPair) string {
	if p.A.Name == p.B.Name {
		return p.A.Name
	}
	return p.A.Name + ", now " + p.B.Name
}

func signedText(ns float64) string {
	if ns < 0 {
		return "-" + durationText(-ns)
	}
	return "+" + durationText(ns)
}

// missingText lists what is missing from a verdict.
func missingText(v *verdict.Verdict) string {
	var list []string
	for _, m := range v.Missing {
		list = append(list, m.String())
	}
	if len(list) == 0 {
		return "nothing was compared"
	}
	return strings.Join(list, "; ")
}

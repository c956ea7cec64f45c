package straggler

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/verdict"
)

// Options are what is asked for.
type Options struct {
	Worst   int      // latenesses that are listed
	SinceNS int64    // from the first operation: what was left by all before does not count
	Steps   []string // names of those that count; empty: all
	Group   string   // part of the name of a communicator that counts; "": all
	Tracks  *Tracks  // filled where it is not nil

	Evidence verdict.Evidence // what whoever made the job has missed
}

// finder gathers a document.
type finder struct {
	job    *Job
	doc    *Document
	gate   []passage
	before []int32
	ranks  []RankCost
	causes []map[int32]int64
	steps  []StepCost
	told   []bool // by operation
	judged []judged
	lateBy []int64 // by event: by how much it was late for certain
	counts []bool  // likewise: it is one of those that were asked for
	order  []int32 // ranks, as the document lists them
	length int64   // of what was asked for, ns

	spans     [][2]int64    // by operation: from when the first member entered to when the last one left
	slow      map[link]bool // links that are blamed
	linkOrder []link        // as the document lists them
}

// Find divides the time of a job's operations and says who was late. The document has no Clocks, Notes and Warnings.
func Find(job *Job, opt Options) (*Document, error) {
	f := &finder{job: job, doc: &Document{Schema: Schema, Worst: []Late{}, Links: []LinkCost{}, Steps: []StepCost{}, StepsBy: job.StepsBy, Groups: []GroupCost{}, Bandwidths: []Bandwidth{}, Ranks: []RankCost{}, Notes: []string{}, Warnings: []string{}}}
	f.gate = job.gates()
	_, f.before = job.sequence()
	f.judged, f.lateBy = job.judge(f.before)
	if err := f.choose(&opt); err != nil {
		return nil, err
	}
	f.span()
	f.divide()
	f.length = f.doc.ToNS - f.doc.FromNS
	if len(opt.Steps) > 0 { // they may lie far apart
		f.length = 0
		for _, s := range f.steps {
			f.length += max(s.ToNS-s.FromNS, 0)
		}
	}
	m := job.measure(f.before)
	late, chain := job.walk(f.gate, f.before, m, job.usualTransfers(f.gate))
	lost := m.losses(f.gate)
	late = slices.DeleteFunc(late, func(l lateness) bool { return !f.counts[l.op] || lost.ops[l.op].beginning })
	m.explain(late)
	surely, slower := m.slower()
	f.charge(late, surely, slower, lost)
	f.owns(lost)
	f.links(late, lost)
	f.windows(late)
	f.unblamed(lost, late, chain)
	if job.byEnds {
		if r := f.unsure(surely); r >= 0 {
			f.doc.Unsure = job.Ranks[r].ID
		}
	}
	f.bandwidths()
	f.worst(late, opt.Worst)
	f.finish()
	f.replays(m)
	f.chart(late, chain)
	f.doc.Status, f.doc.Verdict = f.doc.judge(job.byEnds)
	f.rests(opt.Evidence)
	f.tracks(late, opt.Tracks)
	return f.doc, nil
}

// choose finds out which operations count. What the others do to those is seen all the same.
func (f *finder) choose(opt *Options) error {
	j := f.job
	f.counts = make([]bool, len(j.Ops))
	for _, name := range opt.Steps {
		if !slices.Contains(j.Steps, name) {
			e := fault.Usagef("there is no step %q", name)
			if n := len(j.Steps); n > 0 {
				e = e.WithHint("the steps are %s to %s", j.Steps[0], j.Steps[n-1])
			}
			return e
		}
	}
	left, first := make([]int64, len(j.Ops)), int64(math.MaxInt64)
	for i := range j.Events {
		x := &j.Events[i]
		left[x.Op], first = max(left[x.Op], x.LeaveNS), min(first, x.EnterNS)
	}
	groups, ended, remain := false, int64(0), false
	for k := range j.Ops {
		o := &j.Ops[k]
		in := strings.Contains(o.Group, opt.Group)
		groups, ended = groups || in, max(ended, left[k]-first)
		f.counts[k] = in && left[k]-first >= opt.SinceNS && (len(opt.Steps) == 0 || o.Step >= 0 && slices.Contains(opt.Steps, j.Steps[o.Step]))
		remain = remain || f.counts[k]
	}
	switch {
	case remain || len(j.Ops) == 0 || opt.SinceNS == 0 && opt.Group == "" && len(opt.Steps) == 0:
		return nil
	case !groups:
		return fault.Usagef("no communicator has %q in its name", opt.Group).WithHint("the communicators are %s", j.communicators())
	case ended < opt.SinceNS:
		return fault.Usagef("all operations had ended %s after the first one began", Duration(ended)).WithHint("let an earlier time be the first that counts")
	}
	return fault.Usagef("no operation is all that was asked for: of the steps, of the communicators, and not ended before").WithHint("ask for less at once")
}

// communicators lists the communicators of a job, or the first of them.
func (j *Job) communicators() string {
	const most = 8
	var names []string
	for k := range j.Ops {
		if !slices.Contains(names, j.Ops[k].Group) {
			if len(names) == most {
				return strings.Join(names, ", ") + " and others"
			}
			names = append(names, j.Ops[k].Group)
		}
	}
	return strings.Join(names, ", ")
}

func (f *finder) span() {
	f.doc.FromNS, f.doc.ToNS = math.MaxInt64, math.MinInt64
	f.spans = make([][2]int64, len(f.job.Ops))
	for k := range f.spans {
		f.spans[k] = [2]int64{math.MaxInt64, math.MinInt64}
	}
	for i := range f.job.Events {
		x := &f.job.Events[i]
		s := &f.spans[x.Op]
		s[0], s[1] = min(s[0], x.EnterNS), max(s[1], x.LeaveNS)
		if !f.counts[x.Op] {
			continue
		}
		f.doc.FromNS, f.doc.ToNS = min(f.doc.FromNS, f.job.Events[i].EnterNS), max(f.doc.ToNS, f.job.Events[i].LeaveNS)
	}
	if f.doc.FromNS > f.doc.ToNS {
		f.doc.FromNS, f.doc.ToNS = 0, 0
	}
}

// partsOf divides the time of one event.
func (f *finder) partsOf(e int32) Parts {
	p := &f.gate[e]
	return f.job.divide(e, p, p.last >= 0 && f.before[max(p.last, 0)] < 0)
}

// share is the part of the job that some ns are.
func (f *finder) share(ns int64) float64 {
	if f.length <= 0 {
		return 0
	}
	return rounded(float64(ns) / float64(f.length))
}

// rounded is a share with six digits.
func rounded(share float64) float64 { return math.Round(1e6*share) / 1e6 }

// divide divides the time of all operations, by rank, step and communicator.
func (f *finder) divide() {
	j := f.job
	f.ranks, f.causes, f.steps, f.told = make([]RankCost, len(j.Ranks)), make([]map[int32]int64, len(j.Ranks)), make([]StepCost, len(j.Steps)), make([]bool, len(j.Ops))
	for r := range j.Ranks {
		f.ranks[r], f.causes[r] = RankCost{ID: j.Ranks[r].ID, Host: j.Ranks[r].Host, Device: j.Ranks[r].Device, Causes: []Cause{}}, map[int32]int64{}
	}
	for s := range j.Steps {
		f.steps[s] = StepCost{Name: j.Steps[s], FromNS: math.MaxInt64}
	}
	groups := map[string]*GroupCost{}
	for e := range j.Events {
		x, p := &j.Events[e], &f.gate[e]
		if !f.counts[x.Op] {
			continue
		}
		parts := f.partsOf(int32(e))
		r := &f.ranks[x.Rank]
		r.Operations++
		r.Time.add(parts)
		f.doc.Time.add(parts)
		if p.last >= 0 && p.told(j.Events[p.last].EnterNS) {
			if !f.told[x.Op] {
				f.ranks[j.Events[p.last].Rank].Last++
			}
			f.told[x.Op] = true
		}
		o := &j.Ops[x.Op]
		g := groups[o.Group]
		if g == nil {
			g = &GroupCost{Group: o.Group}
			groups[o.Group] = g
		}
		g.Time.add(parts)
		if o.Step >= 0 {
			s := &f.steps[o.Step]
			s.FromNS, s.ToNS = min(s.FromNS, x.EnterNS), max(s.ToNS, x.LeaveNS)
			s.Time.add(parts)
		}
	}
	for k := range j.Ops {
		if !f.counts[k] {
			continue
		}
		if g := groups[j.Ops[k].Group]; g != nil {
			g.Operations++
			if f.told[k] {
				g.Told++
			}
		}
		f.count(&f.judged[k])
		if f.told[k] {
			f.doc.Operations.Told++
		}
	}
	f.doc.Operations.TogetherShare = togetherShare
	for _, g := range groups {
		f.doc.Groups = append(f.doc.Groups, *g)
	}
	slices.SortFunc(f.doc.Groups, func(a, b GroupCost) int {
		return cmp.Or(cmp.Compare(b.Time.Total(), a.Time.Total()), strings.Compare(a.Group, b.Group))
	})
}

// count counts an operation by what is known of it.
func (f *finder) count(o *judged) {
	n := &f.doc.Operations
	n.Count++
	switch o.state {
	case behind:
		n.Late++
		f.ranks[f.job.Events[o.event].Rank].Late++
	case together:
		n.Together++
		n.TogetherNS = max(n.TogetherNS, o.atMost)
	case notBegun:
		n.ProfilerStart++
	default:
		n.Undecided++
	}
}

// charge gives latenesses to their ranks and steps.
func (f *finder) charge(late []lateness, surely, slower []bool, lost *losses) {
	j := f.job
	type in struct{ step, rank int32 }
	sums, why := map[in]int64{}, map[in]map[int32]int64{}
	for _, l := range late {
		if l.transfer {
			continue
		}
		at := in{j.Ops[l.op].Step, j.Events[l.event].Rank}
		r := &f.ranks[at.rank]
		r.CostNS, r.GainNS = r.CostNS+l.costNS, r.GainNS+l.gainNS
		f.causes[at.rank][l.work] += l.costNS
		if sums[at] += l.costNS; why[at] == nil {
			why[at] = map[int32]int64{}
		}
		why[at][l.work] += l.costNS
	}
	most := map[int32]in{}
	for at, ns := range sums {
		if had, ok := most[at.step]; ns > 0 && (!ok || ns > sums[had] || ns == sums[had] && at.rank < had.rank) {
			most[at.step] = at
		}
	}
	for step, at := range most {
		f.ranks[at.rank].Steps++
		if step >= 0 {
			s := &f.steps[step]
			s.Critical, s.CostNS = j.Ranks[at.rank].ID, sums[at]
			if causes := f.causesOf(why[at]); len(causes) > 0 {
				s.Cause, s.Kind = causes[0].Name, causes[0].Kind
			}
		}
	}
	rare := f.costly(late, lost, len(f.ranks), func(l *lateness) int {
		if l.transfer {
			return -1
		}
		return int(j.Events[l.event].Rank)
	})
	beyond, least := j.beyondChance(late), int64(leastShare*float64(f.length))
	for r := range f.ranks {
		c := &f.ranks[r]
		c.Share, c.Blamed = f.share(c.CostNS), c.CostNS > least && (surely[r] || slower[r] && beyond[r]) || rare[r]
		c.Causes = f.causesOf(f.causes[r])
	}
}

func (f *finder) causesOf(sums map[int32]int64) []Cause {
	out := []Cause{}
	for work, ns := range sums {
		if ns <= 0 {
			continue
		}
		c := Cause{CostNS: ns}
		if work >= 0 {
			c.Name, c.Kind = f.job.Names[work].Name, f.job.Names[work].Kind
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.CostNS, a.CostNS), strings.Compare(a.Name, b.Name)) })
	return out
}

// links gives transfers that took longer than usual to their links.
func (f *finder) links(late []lateness, lost *losses) {
	place := map[link]int32{}
	for _, s := range f.job.Links {
		place[link{a: s.From, b: s.To, directed: true}] = 0
	}
	for k := range f.job.Ops {
		place[f.job.linkOf(int32(k))] = 0
	}
	links := make([]link, 0, len(place))
	for l := range place {
		links = append(links, l)
	}
	slices.SortFunc(links, link.compare)
	for i, l := range links {
		place[l] = int32(i)
	}
	sums, times := make([]int64, len(links)), make([]int, len(links))
	for _, l := range late {
		if l.transfer {
			i := place[f.job.linkFor(l.op, l.costNS)]
			sums[i], times[i] = sums[i]+l.costNS, times[i]+1
		}
	}
	f.slow = map[link]bool{}
	rare := f.costly(late, lost, len(links), func(l *lateness) int {
		if !l.transfer {
			return -1
		}
		return int(place[f.job.linkFor(l.op, l.costNS)])
	})
	least := max(int64(aboveChance*float64(f.job.linkChance(late, links, place))), int64(leastShare*float64(f.length)))
	for i, l := range links {
		if sums[i] == 0 {
			continue
		}
		c := LinkCost{Ranks: []string{}, Group: l.group, Directed: l.directed, CostNS: sums[i], Share: f.share(sums[i]), Times: times[i], Blamed: sums[i] > least || l.b >= 0 && rare[i]}
		f.slow[l] = c.Blamed
		if l.a >= 0 {
			c.Ranks = append(c.Ranks, f.job.Ranks[l.a].ID)
		}
		if l.b >= 0 {
			c.Ranks = append(c.Ranks, f.job.Ranks[l.b].ID)
		}
		f.doc.Links, f.linkOrder = append(f.doc.Links, c), append(f.linkOrder, l)
	}
	f.sortLinks()
}

// sortLinks puts those that cost most first.
func (f *finder) sortLinks() {
	at := make([]int, len(f.doc.Links))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(f.doc.Links[b].CostNS, f.doc.Links[a].CostNS) })
	rows, order := make([]LinkCost, len(at)), make([]link, len(at))
	for i, k := range at {
		rows[i], order[i] = f.doc.Links[k], f.linkOrder[k]
	}
	f.doc.Links, f.linkOrder = rows, order
}

// worst lists the most expensive latenesses.
func (f *finder) worst(late []lateness, most int) {
	late = slices.Clone(late)
	slices.SortStableFunc(late, func(a, b lateness) int { return cmp.Compare(b.costNS, a.costNS) })
	for _, l := range late[:min(len(late), max(most, 0))] {
		if l.costNS == 0 {
			break
		}
		x, o := &f.job.Events[l.event], &f.job.Ops[l.op]
		one := Late{Operation: o.Key, Occurrence: o.Occurrence, AtNS: x.EnterNS, CostNS: l.costNS, BoundNS: f.gate[l.event].boundNS}
		if !l.transfer {
			one.Rank = f.job.Ranks[x.Rank].ID
		}
		if o.Step >= 0 {
			one.Step = f.job.Steps[o.Step]
		}
		if launch := x.LaunchNS; launch != 0 && !l.transfer {
			ns := x.EnterNS - launch
			one.LaunchNS = &ns
		}
		if l.work >= 0 {
			one.Cause, one.Kind = f.job.Names[l.work].Name, f.job.Names[l.work].Kind
		}
		f.doc.Worst = append(f.doc.Worst, one)
	}
}

func (f *finder) finish() {
	d := f.doc
	for _, s := range f.steps {
		if s.FromNS <= s.ToNS {
			d.Steps = append(d.Steps, s)
		}
	}
	f.order = make([]int32, len(f.ranks))
	for r := range f.order {
		f.order[r] = int32(r)
	}
	slices.SortStableFunc(f.order, func(a, b int32) int {
		x, y := &f.ranks[a], &f.ranks[b]
		if x.Blamed != y.Blamed {
			if x.Blamed {
				return -1
			}
			return 1
		}
		return cmp.Compare(y.CostNS, x.CostNS)
	})
	d.Ranks = make([]RankCost, len(f.order))
	for i, r := range f.order {
		d.Ranks[i] = f.ranks[r]
	}
	d.LengthNS = f.length
}

package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Options are what a comparison of sessions is asked for.
type Options struct {
	Diff           diff.Options
	Document       diff.DocumentOptions // of the first launch that differs
	BaselineA      []*Session           // further runs that should be equal to A
	BaselineB      []*Session
	Accepted       *diff.Accepted // differences that are known and let pass
	Today          string         // "2026-11-21", for entries of Accepted that expire
	Explain        bool           // say why the first launch that differs does
	SitesA, SitesB *site.Table    // of recordings of format v1, nil none
}

// comparison is the state of one Compare.
type comparison struct {
	j         *job.Job
	a, b      *Session
	opt       *Options
	matching  matching
	further   further
	lost      [][2]warptrace.Losses // by launch
	accepted  []*diff.AcceptedUse   // by launch, nil where nothing differs
	coverage  []*diff.Coverage      // by launch, nil where it could not be compared
	concluded []string              // by launch, why it is not known whether it differs
	problem   error                 // why some launch could not be compared
	failed    sync.Once             // sets problem
	ignoring  sync.Map              // patterns to ignore of which some launch has a site
	doc       *Document
}

// Compare compares two sessions launch by launch. A launch that cannot be compared is reported as such and does not stop the others.
// The document is the same for any number of workers.
func Compare(j *job.Job, a, b *Session, opt Options) (*Document, error) {
	if len(opt.Diff.MaxDivergences.ByKind) > 0 {
		return nil, fault.Usagef("sessions have one threshold, not one per kind").WithHint("allow a number of divergences, or compare launch by launch")
	}
	c := &comparison{j: j, a: a, b: b, opt: &opt}
	j.Progress().SetStage("reading headers")
	var launches int64
	for _, s := range c.sessions() {
		launches += int64(len(s.Launches))
	}
	j.Progress().SetTotal(launches)
	for _, s := range c.sessions() {
		if err := s.Describe(j); err != nil {
			return nil, err
		}
	}
	c.matching = match(a, b)
	c.further = matchFurther(a, b, opt.BaselineA, opt.BaselineB)
	c.begin()
	c.lost = make([][2]warptrace.Losses, len(c.matching.Pairs))
	c.accepted = make([]*diff.AcceptedUse, len(c.matching.Pairs))
	c.coverage = make([]*diff.Coverage, len(c.matching.Pairs))
	c.concluded = make([]string, len(c.matching.Pairs))
	j.Progress().SetStage("comparing launches")
	err := each(j, len(c.matching.Pairs), func(j *job.Job, i int) error { return c.launch(j, i) })
	if err != nil {
		return nil, err
	}
	c.causes()
	if err := c.first(); err != nil {
		return nil, err
	}
	c.sum()
	if err := c.comparable(); err != nil {
		return nil, err
	}
	c.conclude()
	return c.doc, nil
}

func (c *comparison) sessions() []*Session {
	out := append([]*Session{c.a, c.b}, c.opt.BaselineA...)
	return append(out, c.opt.BaselineB...)
}

// begin fills in what the matching alone says.
func (c *comparison) begin() {
	c.doc = &Document{
		Schema: DocumentSchema, Threshold: c.opt.Diff.MaxDivergences.Total, Options: c.opt.Diff.Settings, Require: c.opt.Diff.Required(),
		KernelResults: make([]LaunchResult, len(c.matching.Pairs)), UnmatchedA: []string{}, UnmatchedB: []string{},
		Missing: only(c.a, c.matching.OnlyA), Inserted: only(c.b, c.matching.OnlyB), A: side(c.a), B: side(c.b), Warnings: []string{},
	}
	for _, i := range c.matching.OnlyA {
		c.doc.UnmatchedA = append(c.doc.UnmatchedA, c.a.Launches[i].name())
	}
	for _, i := range c.matching.OnlyB {
		c.doc.UnmatchedB = append(c.doc.UnmatchedB, c.b.Launches[i].name())
	}
	for i, p := range c.matching.Pairs {
		c.further.count(p)
		x, y := &c.a.Launches[p.A], &c.b.Launches[p.B]
		r := &c.doc.KernelResults[i]
		*r = LaunchResult{
			Kernel: x.Kernel, KernelName: diff.Demangled(x.Kernel), Launch: x.Number, LaunchB: y.Number, IndexA: int64(p.A), IndexB: int64(p.B), MatchedBy: p.By,
			FileA: x.File, FileB: y.File, Grid: x.Grid, Block: x.Block, Origin: x.Origin,
		}
		if x.Grid != y.Grid {
			r.GridB = &y.Grid
		}
		if x.Block != y.Block {
			r.BlockB = &y.Block
		}
	}
	c.doc.Sequence = c.sequence()
}

func side(s *Session) Side {
	return Side{Path: s.Dir, Launches: int64(len(s.Launches)), Manifest: s.Manifest, Partial: s.Partial, Producer: s.Producer}
}

func only(s *Session, indexes []int) []LaunchOf {
	out := make([]LaunchOf, len(indexes))
	for k, i := range indexes {
		l := &s.Launches[i]
		out[k] = LaunchOf{
			Index: int64(i), Launch: l.Number, Kernel: l.Kernel, File: l.File, Grid: l.Grid, Block: l.Block,
			ArgumentDigest: digestText(l.ArgumentDigest), Origin: l.Origin,
		}
	}
	return out
}

// sequence says how the order of launches differs.
func (c *comparison) sequence() Sequence {
	s := Sequence{Missing: int64(len(c.matching.OnlyA)), Inserted: int64(len(c.matching.OnlyB)), Approximate: c.matching.Approximate}
	at := func(what string, indexA, indexB int, l *Launch) {
		d := &Departure{What: what, IndexA: int64(indexA), IndexB: int64(indexB), Kernel: l.Kernel, Launch: l.Number}
		if s.First == nil || d.IndexA+d.IndexB < s.First.IndexA+s.First.IndexB {
			s.First = d
		}
	}
	toB, toA := make([]int, len(c.a.Launches)+1), make([]int, len(c.b.Launches)+1) // where the next matched launch of the other side is
	for i := range toB {
		toB[i] = -1
	}
	for i := range toA {
		toA[i] = -1
	}
	for _, p := range c.matching.Pairs {
		switch p.By {
		case ByContent:
			s.Moved++
			at("moved", p.A, p.B, &c.a.Launches[p.A])
			continue
		case ByKernel:
			s.OtherShape++
			at("other-shape", p.A, p.B, &c.a.Launches[p.A])
		}
		toB[p.A], toA[p.B] = p.B, p.A
	}
	before := func(to []int, end int) {
		for i := len(to) - 1; i >= 0; i-- {
			if to[i] < 0 {
				to[i] = end
			}
			end = to[i]
		}
	}
	before(toB, len(c.b.Launches))
	before(toA, len(c.a.Launches))
	for _, i := range c.matching.OnlyA {
		at("missing", i, toB[i], &c.a.Launches[i])
	}
	for _, i := range c.matching.OnlyB {
		at("inserted", toA[i], i, &c.b.Launches[i])
	}
	s.Same = s.First == nil
	return s
}

// openNamed opens a launch's recording and gives one of format v1 its sites.
func openNamed(j *job.Job, s *Session, launch int, sites *site.Table) (*warptrace.Trace, error) {
	t, err := s.openTrace(j.Context(), launch)
	if err != nil {
		return nil, err
	}
	if sites != nil && t.Header().Version == 1 {
		t.SetSites(sites)
	}
	return t, nil
}

// launch compares one launch into the document.
func (c *comparison) launch(j *job.Job, i int) error {
	out := &c.doc.KernelResults[i]
	r, d, err := c.compare(j, i, inList)
	if err == nil {
		c.lost[i] = [2]warptrace.Losses{r.LossesA, r.LossesB}
		c.accepted[i], c.coverage[i] = r.AcceptedUse, d.Coverage
		c.concluded[i] = d.Conclusion.Why
		out.take(r, d)
		return nil
	}
	if !isAbout(j, err) {
		return err
	}
	f := fault.Of(err)
	c.failed.Do(func() { c.problem = err })
	*out = LaunchResult{
		Kernel: out.Kernel, KernelName: out.KernelName, Launch: out.Launch, LaunchB: out.LaunchB, IndexA: out.IndexA, IndexB: out.IndexB, MatchedBy: out.MatchedBy,
		FileA: out.FileA, FileB: out.FileB, Grid: out.Grid, Block: out.Block, GridB: out.GridB, BlockB: out.BlockB, Origin: out.Origin,
		Status: StatusError, Error: told(f), ErrorKind: string(f.Kind),
	}
	return nil
}

// detail is how much of a comparison is wanted.
type detail struct {
	document diff.DocumentOptions
	explain  bool
}

// inList is what the list of launches shows.
var inList = detail{document: diff.DocumentOptions{Rows: &one, Clusters: &one, Sites: &one}}

var one int64 = 1

// compare compares one launch.
func (c *comparison) compare(j *job.Job, i int, want detail) (*diff.Result, *diff.Document, error) {
	p := c.matching.Pairs[i]
	a, err := openNamed(j, c.a, p.A, c.opt.SitesA)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	b, err := openNamed(j, c.b, p.B, c.opt.SitesB)
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	c.noteIgnored(a, b)
	r, err := diff.Compare(j, a, b, c.opt.Diff)
	if err != nil {
		return nil, nil, err
	}
	differs := r.Judge().Total > 0 || len(r.Rows) > 0
	if differs {
		if err := c.further.apply(j, r, a, b, p, c.opt.Diff); err != nil {
			return nil, nil, err
		}
		if err := c.accept(r); err != nil {
			return nil, nil, err
		}
	}
	if differs && want.explain {
		if _, err := diff.Explain(j, r, a, b, c.opt.Diff); err != nil {
			return nil, nil, err
		}
	}
	d, err := r.Document(want.document)
	return r, d, err
}

// noteIgnored notes which patterns name a site of a launch.
func (c *comparison) noteIgnored(a, b *warptrace.Trace) {
	none := diff.Unmatched(a, b, c.opt.Diff.Ignore)
	for _, p := range c.opt.Diff.Ignore {
		if !slices.ContainsFunc(none, func(x site.Pattern) bool { return x.String() == p.String() }) {
			c.ignoring.Store(p.String(), true)
		}
	}
}

// warnOfIgnored says which patterns name no site of any launch.
func (c *comparison) warnOfIgnored() {
	for _, p := range c.opt.Diff.Ignore {
		if _, known := c.ignoring.Load(p.String()); !known {
			c.doc.Warnings = append(c.doc.Warnings, fmt.Sprintf("no site of these sessions is %q: ignoring it changes nothing", p))
		}
	}
}

// maxArrays is how many arrays the list says of each launch.
const maxArrays = 16

// take puts one comparison into the list.
func (l *LaunchResult) take(r *diff.Result, d *diff.Document) {
	l.Status = d.Status
	l.Coverage = d.Coverage.Text
	if d.Status != diff.StatusIdentical {
		l.Verdict = d.Verdict
	}
	l.WarpsCompared, l.WarpsDiverged = r.Stats.WarpsCompared, r.Stats.WarpsDiverged
	l.EventsA, l.EventsB = r.Stats.EventsA, r.Stats.EventsB
	l.Blocks = r.Blocks
	x, y := &r.LossesA, &r.LossesB
	if lost := (LossesOfLaunch{x.Dropped, y.Dropped, x.Truncated, y.Truncated, x.SampleRate > 1, y.SampleRate > 1}); lost != (LossesOfLaunch{}) {
		l.Losses = &lost
	}
	l.Divergences, l.CountedDivergences = d.TotalDivergences, d.CountedDivergences
	l.Breakdown, l.First, l.Warnings, l.Baseline = d.DivergenceBreakdown, d.First, d.Warnings, d.Baseline
	if o := d.Outputs; o != nil {
		shown := min(len(o.Arrays), maxArrays)
		l.Arrays, l.ArraysOmitted = o.Arrays[:shown], o.ArraysOmitted+int64(len(o.Arrays)-shown)
	}
}

// first compares the earliest launch that differs once more, for its whole document. A launch of which everything is accepted comes
// after those of which something counts, and one that wrote the same in a different way after those that did not.
func (c *comparison) first() error {
	at, best := -1, 0
	for i := range c.doc.KernelResults {
		if rank := c.doc.KernelResults[i].weight(); rank > best {
			at, best = i, rank
		}
	}
	if at < 0 {
		return nil
	}
	r, d, err := c.compare(c.j, at, detail{document: c.opt.Document, explain: c.opt.Explain})
	if err != nil {
		return err
	}
	l := &c.doc.KernelResults[at]
	d.A.Origin, d.B.Origin = c.a.Launches[l.IndexA].Origin, c.b.Launches[l.IndexB].Origin
	c.doc.First = &FirstLaunch{Kernel: l.Kernel, Launch: l.Launch, LaunchB: l.LaunchB, IndexA: l.IndexA, IndexB: l.IndexB, Diff: d, Result: r}
	return nil
}

// weight says how much a difference of a launch matters, 0 for none.
func (l *LaunchResult) weight() int {
	weight := map[string]int{StatusSameResults: 1, StatusDiverged: 3}[l.Status]
	if weight > 0 && l.CountedDivergences > 0 {
		weight++
	}
	if weight *= 2; weight > 0 && l.Role != RoleFollows && l.Role != roleUnclear {
		weight++
	}
	return weight
}

// sum adds up the launches.
func (c *comparison) sum() {
	t := &c.doc.Totals
	for i := range c.doc.KernelResults {
		l := &c.doc.KernelResults[i]
		t.Matched++
		switch l.Status {
		case statusIdentical:
			t.Identical++
		case StatusSameResults:
			t.SameResults++
		case StatusInconclusive:
			t.Inconclusive++
		case StatusDiverged:
			t.Diverged++
		default:
			t.Errors++
		}
		t.Warps += l.WarpsCompared
		t.WarpsOut += l.WarpsDiverged
		t.EventsA += l.EventsA
		t.EventsB += l.EventsB
		c.doc.TotalDivergences += l.Divergences
		c.doc.CountedDivergences += l.CountedDivergences
	}
	c.doc.Coverage = coverageOf(c.coverage)
	c.warnOfIgnored()
	c.doc.Blocks = c.doc.blocks()
	c.doc.Losses = diff.LossesOfBoth{A: c.losses(0), B: c.losses(1)}
	c.doc.Baseline = c.further.document(c.doc)
	c.doc.Accepted = c.acceptedUse()
}

// losses adds up what is missing from one side.
func (c *comparison) losses(side int) diff.Losses {
	out := diff.Losses{SampleRate: 1, Notes: []string{}}
	for i := range c.lost {
		l := &c.lost[i][side]
		out.Events += l.Events
		out.Dropped += l.Dropped
		out.WarpsWithDrops += l.WarpsWithDrops
		out.SampleRate = max(out.SampleRate, l.SampleRate)
		out.Truncated = out.Truncated || l.Truncated
	}
	if all := out.Events + out.Dropped; all > 0 {
		out.DroppedShare = float64(out.Dropped) / float64(all)
	}
	return out
}

// conclude judges: as in original prlx 0.5, a launch that has no partner or could not be compared never passes.
func (c *comparison) conclude() {
	d, t, s := c.doc, &c.doc.Totals, &c.doc.Sequence
	whole := t.Errors == 0 && s.Missing == 0 && s.Inserted == 0
	d.Passed = whole && d.CountedDivergences <= d.Threshold && t.Inconclusive == 0 && t.Matched > 0
	switch {
	case t.Diverged > 0 || c.surely(s.Missing, 0) || c.surely(s.Inserted, 1):
		d.Status = StatusDiverged
	case t.Errors > 0 || s.Missing > 0 || s.Inserted > 0:
		d.Status = StatusError // nothing differs as far as could be compared: that is neither a divergence nor agreement
	case t.Inconclusive > 0 || t.Matched == 0:
		d.Status = StatusInconclusive
	case t.SameResults > 0:
		d.Status = StatusSameResults
	default:
		d.Status = statusIdentical
	}
	d.Verdict = c.verdict() + d.unread()
	d.Conclusion = c.conclusion()
	d.Headline = diff.HeadlineOf(d.Status, d.Passed, d.CountedDivergences, c.opt.Diff.MaxDivergences)
	if d.Status == StatusError {
		d.Headline.Word, d.Headline.Tone = "NOT COMPARED", diff.ToneBad
	}
	for _, w := range []struct {
		applies bool
		text    string
	}{
		{d.A.Partial || d.B.Partial, "recording of a session did not come to its end: launches behind that are not compared"},
		{s.Moved > 0, fmt.Sprintf("%s ran in another order and were matched by what they are", plural(s.Moved, "launch"))},
		{s.Approximate, "the sessions are too different for the best alignment of their launches: another one may match more"},
	} {
		if w.applies {
			d.Warnings = append(d.Warnings, w.text)
		}
	}
	d.Warnings = append(append(d.Warnings, c.a.Warnings...), c.b.Warnings...)
}

func (c *comparison) verdict() string {
	d, t, s := c.doc, &c.doc.Totals, &c.doc.Sequence
	var parts []string
	switch {
	case d.First != nil && t.Diverged == 0:
		same := t.SameResults + t.Identical
		parts = append(parts, fmt.Sprintf("%s of both sessions %s the same results; %d took another way, the first is %s (launch %d)",
			plural(same, "launch"), verb(same, "has", "have"), t.SameResults, d.First.Kernel, d.First.Launch))
	case d.First != nil:
		parts = append(parts, fmt.Sprintf("%d of %s %s, the first is %s (launch %d)", t.Diverged, plural(t.Matched, "launch"),
			verb(t.Diverged, "differs", "differ"), d.First.Kernel, d.First.Launch))
	case t.Identical == 0 && t.Inconclusive > 0:
		parts = append(parts, "no launch recorded anything that could be compared")
	case t.Matched > 0 && t.Errors < t.Matched:
		parts = append(parts, fmt.Sprintf("%s of both sessions %s", plural(t.Identical, "launch"), verb(t.Identical, "agrees", "agree")))
	case t.Matched == 0 && s.Missing+s.Inserted == 0:
		parts = append(parts, "neither session holds a launch")
	default:
		parts = append(parts, "no launch could be compared")
	}
	if s.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing from B", s.Missing))
	}
	if s.Inserted > 0 {
		parts = append(parts, fmt.Sprintf("%d only in B", s.Inserted))
	}
	if t.SameResults > 0 && t.Diverged > 0 {
		parts = append(parts, fmt.Sprintf("%d with the same results, computed differently", t.SameResults))
	}
	if t.Inconclusive > 0 {
		parts = append(parts, fmt.Sprintf("%d recorded too little to say", t.Inconclusive))
	}
	if t.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be compared", t.Errors))
	}
	if said := d.blame(); said != "" {
		parts = append(parts, said)
	}
	return strings.Join(parts, "; ") + "; compared: " + d.Coverage.Text
}

// verb is the form of a verb whose subject is n things.
func verb(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func plural(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

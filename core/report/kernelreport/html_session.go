package kernelreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

// What the page of a session holds at most.
const (
	maxLaunches      = 3000
	maxLaunchDetails = 50
	maxStrip         = 3000
)

// sessionPage is what the template shows.
type sessionPage struct {
	webpage.Head
	Heading             string
	Word, Tone, Verdict string
	Conclusion          verdict.Verdict
	Tiles               []webpage.Tile
	Limits              []string
	Strip               []stripCell
	StripNote           string
	Groups              []launchGroup
	LeftOut             string
	Page                *page // of the first launch that differs
	FirstLaunch         string
	Sessions            []comparison
	Settings            []setting
	Baseline            string
}

type stripCell struct{ Class, Anchor, Title string }

type launchGroup struct {
	Title, Hint, Count string
	Open               bool
	Launches           []launchRow
}

type launchRow struct {
	Anchor, Number, Kernel, How, What, Kinds, State, Class, Warps, Files, Shape, Find string
	Notes                                                                             []string
	IsFirst                                                                           bool
	Detail                                                                            *detail
}

func htmlOfRun(w io.Writer, d *session.Document, r *run, _ Options) error {
	p := &sessionPage{
		Heading: figure.Plural(len(r.launches), "launch", "launches"),
		Word:    r.word(), Verdict: clean(r.verdict, maxText), Limits: sessionLimits(d), Sessions: sides(d), Settings: settings(&d.Options),
		Conclusion: foreign.Verdict(d.Conclusion),
		Tone:       tone(&diff.Document{Status: d.Status, Passed: d.Passed, Losses: d.Losses}),
	}
	p.Head = kit.Head(p.Heading+": "+p.Word, sessionScript())
	p.Tiles = sessionTiles(d)
	p.launches(r)
	if f := d.First; f != nil && f.Diff != nil {
		p.Page = newPage(f.Diff)
		p.FirstLaunch = fmt.Sprintf("launch %d, %s", f.Launch, suiteName(f.Kernel))
	}
	if b := d.Baseline; b != nil {
		p.Baseline = fmt.Sprintf("%s of A and %s of B say what is noise: for %s all of them, for %s some, for %s none.",
			figure.Plural(len(b.SessionsA), "further session", "further sessions"), figure.Plural(len(b.SessionsB), "further session", "further sessions"),
			figure.Plural(b.Covered, "launch", "launches"), figure.Plural(b.Partly, "launch", "launches"), figure.Plural(b.Without, "launch", "launches"))
	}
	return sessionTemplate().Execute(w, p)
}

func sessionTiles(d *session.Document) []webpage.Tile {
	var out []webpage.Tile
	if f := d.First; f != nil {
		out = append(out, webpage.Tile{Label: "first launch that differs", Value: fmt.Sprint(f.Launch), Detail: suiteName(f.Kernel), Class: "hot", Link: fmt.Sprintf("#launch-%d", f.Launch)})
	}
	t, s := &d.Totals, &d.Sequence
	out = append(out,
		webpage.Tile{Label: "launches that differ", Value: figure.Count(t.Diverged), Detail: fmt.Sprintf("of %s matched", figure.Count(t.Matched)), Class: hot(t.Diverged > 0), Link: "#launches"},
		webpage.Tile{Label: "missing from B, only in B", Value: figure.Count(s.Missing) + ", " + figure.Count(s.Inserted), Detail: fmt.Sprintf("%s of A, %s of B", figure.Plural(d.A.Launches, "launch", "launches"), figure.Count(d.B.Launches)), Class: hot(s.Missing+s.Inserted > 0)},
		webpage.Tile{Label: "not compared", Value: figure.Count(t.Errors), Detail: "unreadable, or not of one kind", Class: tired(t.Errors > 0)})
	one := webpage.Tile{Label: "divergences", Value: figure.Count(d.TotalDivergences)}
	if d.CountedDivergences != d.TotalDivergences || d.Threshold > 0 {
		one.Detail = fmt.Sprintf("%s count; %s allowed", figure.Count(d.CountedDivergences), figure.Count(d.Threshold))
	}
	return append(out, one)
}

// sessionLimits is what makes the verdict weaker than it sounds.
func sessionLimits(d *session.Document) []string {
	return limits(&diff.Document{Losses: d.Losses, Warnings: d.Warnings})
}

func sides(d *session.Document) []comparison {
	a, b := &d.A, &d.B
	yes := map[bool]string{true: "yes", false: "no"}
	out := []comparison{
		{"directory", clean(a.Path, maxName), clean(b.Path, maxName), false},
		{"launches", figure.Count(a.Launches), figure.Count(b.Launches), a.Launches != b.Launches},
		{"manifest", yes[a.Manifest], yes[b.Manifest], a.Manifest != b.Manifest},
		{"came to its end", yes[!a.Partial], yes[!b.Partial], a.Partial != b.Partial},
		{"events lost", figure.Count(d.Losses.A.Dropped), figure.Count(d.Losses.B.Dropped), d.Losses.A.Dropped != d.Losses.B.Dropped},
	}
	if a.Producer != "" || b.Producer != "" {
		out = append(out, comparison{"recorded by", clean(a.Producer, 80), clean(b.Producer, 80), a.Producer != b.Producer})
	}
	return out
}

// launches fills in the squares and the list: what differs first, what does not folded.
func (p *sessionPage) launches(r *run) {
	groups := [2]launchGroup{{Title: "Differ", Open: true}, {Title: "Identical"}}
	var counts [2]int
	seen := map[string]bool{}
	for i := range r.launches {
		l := &r.launches[i]
		k := 1
		if l.bad() || l.differ {
			k = 0
		}
		counts[k]++
		row := newLaunchRow(l)
		if seen[row.Anchor] { // a number that is there twice leads to the first
			row.Anchor = ""
		}
		seen[row.Anchor] = true
		if len(p.Strip) < maxStrip && row.Anchor != "" {
			p.Strip = append(p.Strip, stripCell{row.Class, row.Anchor, row.Number + " " + row.Kernel + ": " + row.State})
		}
		if len(groups[k].Launches) >= maxLaunches {
			continue
		}
		if !row.IsFirst && l.first != nil && len(groups[k].Launches) < maxLaunchDetails {
			row.Detail = newDetail(l.first, l.document(r.passed))
		}
		groups[k].Launches = append(groups[k].Launches, row)
	}
	left := 0
	for k := range groups {
		groups[k].Count = figure.Count(counts[k])
		left += counts[k] - len(groups[k].Launches)
		if counts[k] > 0 {
			p.Groups = append(p.Groups, groups[k])
		}
	}
	if left > 0 {
		p.LeftOut = figure.Plural(left, "more launch is", "more launches are") + " in the JSON document."
	}
	if n := len(r.launches) - len(p.Strip); n > 0 {
		p.StripNote = figure.Plural(n, "launch has", "launches have") + " none."
	}
}

func newLaunchRow(l *launch) launchRow {
	row := launchRow{
		Anchor: l.anchor(), Number: l.name(), Kernel: suiteName(l.kernel), How: l.matchText(), What: l.sentence(), Kinds: breakdown(l.breakdown), State: l.state(), Class: l.class(),
		Notes: cleanAll(l.notes, 20, 600), IsFirst: l.doc != nil, Files: clean(strings.Trim(l.fileA+" · "+l.fileB, " ·"), 2*maxName), Shape: l.shapeA,
	}
	if l.shapeB != "" {
		row.Shape = strings.TrimPrefix(l.shapeA+" in A, "+l.shapeB+" in B", " in A, ")
	}
	if l.warps > 0 {
		row.Warps = figure.Count(l.warpsDiffer) + " of " + figure.Plural(l.warps, "warp", "warps")
	}
	if l.b != nil && l.a != nil && *l.a != *l.b {
		row.How = strings.TrimPrefix(row.How+fmt.Sprintf("; launch %d of B", *l.b), "; ")
	}
	row.Find = strings.ToLower(strings.Join([]string{row.Number, row.Kernel, row.State, row.What, row.Kinds, row.How}, " "))
	return row
}

// class is the colour of the state.
func (l *launch) class() string {
	switch {
	case l.a == nil || l.b == nil:
		return "lone"
	case l.problem != "":
		return "problem"
	case l.failed:
		return "diverged"
	case l.differ:
		return "passed"
	}
	return "identical"
}

package kernelreport

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/annotation"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/formats"
	"github.com/prlx-go/prlx/core/report/junit"
)

// run is a comparison of two sessions as reports see it.
type run struct {
	status, verdict string
	passed          bool
	a, b            string // where the sessions are
	launches        []launch
	warnings        []string
}

// launch is one row of it: a launch of A, of B, or the same of both.
type launch struct {
	kernel         string
	a, b           *uint64 // its number in each session; nil: not there
	indexB         int64   // place in B
	fileA, fileB   string
	shapeA, shapeB string // grid and block; that of B only where it is another one
	by             string // how the two were recognised as the same
	problem        string // why it could not be compared
	divergences    int64
	counted        int64
	warps          int64 // compared
	warpsDiffer    int64
	breakdown      map[string]int64
	first          *diff.Divergence
	verdict        string         // of its comparison
	doc            *diff.Document // of the first launch that differs, nil of others
	differ, failed bool
	follows        bool // it differs only by what an earlier launch made
	same           bool // the results are the same, the way is not
	undecided      bool // too little was recorded
	notes          []string
	apart          []string // how far apart its arrays are
}

// name is the number in A, or in B where A does not have the launch: "launch 7", "launch 8 of B".
func (l *launch) name() string {
	switch {
	case l.a != nil:
		return fmt.Sprintf("launch %d", *l.a)
	case l.b != nil:
		return fmt.Sprintf("launch %d of B", *l.b)
	}
	return "launch"
}

// anchor is the fragment of links to it.
func (l *launch) anchor() string {
	switch {
	case l.a != nil:
		return fmt.Sprintf("launch-%d", *l.a)
	case l.b != nil:
		return fmt.Sprintf("launch-b-%d", *l.b)
	}
	return ""
}

// state is what became of it, in words.
func (l *launch) state() string {
	switch {
	case l.a == nil:
		return "only in B"
	case l.b == nil:
		return "only in A"
	case l.undecided:
		return statusInconclusive
	case l.problem != "":
		return "not compared"
	case l.same:
		return "same results"
	case l.failed:
		return statusDiverged
	case l.follows:
		return "follows"
	case l.differ:
		return "diverged, passed"
	}
	return statusIdentical
}

// sentence says in one line what became of it.
func (l *launch) sentence() string {
	switch l.state() {
	case "only in B":
		return "B has a launch that A does not have"
	case "only in A":
		return "A has a launch that B does not have"
	case "not compared", statusInconclusive:
		return clean(l.problem, maxText)
	case statusIdentical:
		return "nothing differs"
	}
	s := fmt.Sprintf("%s in %s of %s", figure.Plural(l.divergences, "divergence", "divergences"), figure.Count(l.warpsDiffer), figure.Plural(l.warps, "warp", "warps"))
	if l.follows {
		s = "it was given what an earlier cause made: " + s
	}
	if l.same {
		s = "same results, computed differently: " + s
	}
	if f := l.first; f != nil {
		s += fmt.Sprintf("; first %s at %s: %s", clean(f.Kind, 40), clean(siteName(f.SiteID, f.SourceLocation), maxName), what(f))
	} else if said, _, _ := strings.Cut(l.verdict, "; compared:"); said != "" {
		s += "; " + clean(said, maxText)
	}
	return s
}

// matchText says how a launch was recognised, where that was not a matter of course.
func (l *launch) matchText() string {
	switch l.by {
	case "", "arguments":
		return ""
	case "shape":
		return "by kernel, grid and block"
	case "place":
		return "by its place: the arguments differ"
	case "kernel":
		return "by kernel and place: grid or block differ"
	case "content":
		return "out of order"
	}
	return clean(l.by, 40)
}

// bad reports whether the launch makes the comparison fail.
func (l *launch) bad() bool { return l.failed || l.problem != "" || l.a == nil || l.b == nil }

func (r *run) word() string {
	return verdictWord(&diff.Document{Status: r.status, Passed: r.passed})
}

// junitOfRun is one suite, one case per launch. Cases are named by kernel and launch, so their history goes on from run to run.
func junitOfRun(w io.Writer, r *run, _ Options) error {
	suite := junit.Suite{Name: "session", Properties: &junit.Properties{List: []junit.Property{
		{Name: "a", Value: clean(r.a, maxText)}, {Name: "b", Value: clean(r.b, maxText)}, {Name: "status", Value: clean(r.status, 40)}, {Name: "verdict", Value: clean(r.verdict, maxText)},
	}}}
	for i := range r.launches {
		suite.Cases = append(suite.Cases, launchCase(&r.launches[i], r.passed))
	}
	return junit.Write(w, "prlx session diff", []junit.Suite{suite})
}

func launchCase(l *launch, passed bool) junit.Case {
	c := junit.Case{Name: l.name(), Class: suiteName(l.kernel)}
	text := l.sentence() + "\n"
	switch {
	case l.doc != nil:
		text = plainVerdict(l.doc)
	case l.first != nil:
		text += "\n" + plainDivergence(l.first, l.document(passed))
	}
	for _, note := range cleanAll(l.notes, 20, 600) {
		text += note + "\n"
	}
	if how := l.matchText(); how != "" {
		text = "recognised " + how + "\n" + text
	}
	switch {
	case l.problem != "":
		c.Error = &junit.Failure{Message: l.sentence(), Type: l.state(), Text: text}
	case l.bad() && !passed:
		c.Failure = &junit.Failure{Message: l.sentence(), Type: l.state(), Text: text}
	case l.follows:
		c.Skipped, c.SystemOut = &junit.Skipped{Message: "no cause: " + l.sentence()}, &junit.Text{Text: text}
	case l.differ || l.bad():
		c.Skipped, c.SystemOut = &junit.Skipped{Message: "within what is accepted: " + l.sentence()}, &junit.Text{Text: text}
	default:
		c.SystemOut = &junit.Text{Text: text}
	}
	return c
}

// Rules about launches, beside those about divergences.
const (
	launchRule  = "PRLX0006"
	problemRule = "PRLX0007"
)

// sarifOfRun is one run with the results of every launch. A finding that several launches share is one result, with their number.
func sarifOfRun(w io.Writer, r *run, opt Options) error {
	out := sarifRunOf(&diff.Document{}, opt)
	out.AutomationDetails = &sarifID{"prlx/session/"}
	out.Properties = map[string]any{"a": clean(r.a, maxText), "b": clean(r.b, maxText), "passed": r.passed, "status": clean(r.status, 40), "verdict": clean(r.verdict, maxText)}
	out.Tool.Driver.Rules = append(sarifRules(),
		sarifRule{launchRule, "launch-unmatched", sarifMessage{"a launch without a partner"}, sarifMessage{"One session has a launch that the other does not have."}, sarifLevel{"error"}, sarifTags{[]string{"gpu", "divergence"}}},
		sarifRule{problemRule, "launch-not-compared", sarifMessage{"a launch that could not be compared"}, sarifMessage{"A recording of the launch could not be read, or the two do not belong together."}, sarifLevel{"error"}, sarifTags{[]string{"gpu"}}})
	known := map[string]int{} // by the fingerprint of the location, which is the same in every launch
	seen := map[string]int{}
	left := 0
	for i := range r.launches {
		l := &r.launches[i]
		for _, result := range sarifOfLaunch(l, r, opt, seen) {
			key := result.RuleID + result.Fingerprints["prlxLocation/v1"]
			if at, ok := known[key]; ok {
				p := out.Results[at].Properties
				p["launches"] = p["launches"].(int) + 1
				continue
			}
			if len(out.Results) == maxResults {
				left++
				continue
			}
			known[key] = len(out.Results)
			result.Properties["launches"] = 1
			out.Results = append(out.Results, result)
		}
	}
	notes := cleanAll(r.warnings, 100, 600)
	if left > 0 {
		notes = append(notes, figure.Plural(left, "more result is", "more results are")+" left out.")
	}
	for _, text := range notes {
		out.Invocations[0].Notifications = append(out.Invocations[0].Notifications, sarifNotification{"warning", sarifMessage{text}})
	}
	return formats.JSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{out}})
}

func sarifOfLaunch(l *launch, r *run, opt Options, seen map[string]int) []sarifResult {
	var out []sarifResult
	if l.differ {
		doc := *l.document(r.passed)
		doc.Passed = r.passed
		for _, f := range l.findings() {
			one := sarifResultOf(&f, &doc, opt, map[string]int{})
			one.Message.Text = l.name() + ": " + one.Message.Text
			if l.doc == nil {
				one.Message.Text = l.name() + ": " + l.sentence()
			}
			renumber(&one, seen)
			out = append(out, one)
		}
		return out
	}
	if !l.bad() {
		return nil
	}
	rule, at := launchRule, len(rules)
	if l.problem != "" {
		rule, at = problemRule, len(rules)+1
	}
	level := "error"
	if r.passed {
		level = "warning"
	}
	return []sarifResult{{
		RuleID: rule, RuleIndex: at, Level: level, Message: sarifMessage{l.name() + " of " + suiteName(l.kernel) + ": " + l.sentence()},
		Locations:    []sarifLocation{{Logical: []sarifLogical{{Name: suiteName(l.kernel), Full: suiteName(l.kernel) + "/" + l.name(), Kind: "function"}}}},
		Fingerprints: map[string]string{"prlxLocation/v1": digest(rule, l.kernel, l.name())}, Properties: map[string]any{},
	}}
}

// findings are those of the launch: all where its document is known, else the one that its first divergence stands for.
func (l *launch) findings() []siteFinding {
	switch {
	case l.doc != nil:
		all := findings(l.doc)
		return all[:min(len(all), maxResults)]
	case l.first == nil:
		return nil
	}
	s := &diff.SiteSummary{
		SiteID: l.first.SiteID, SourceLocation: l.first.SourceLocation, SiteKind: l.first.SiteKind, Divergences: l.divergences, Warps: l.warpsDiffer,
	}
	return []siteFinding{{site: s, kind: l.first.Kind, count: l.divergences, example: l.first, loudest: roleOf(l.first)}}
}

// renumber makes fingerprints by text differ where locations do.
func renumber(r *sarifResult, seen map[string]int) {
	text, _, _ := strings.Cut(r.Fingerprints["primaryLocationLineHash"], ":")
	key := text + r.Fingerprints["prlxLocation/v1"]
	if seen[key] == 0 {
		seen[text]++
		seen[key] = seen[text]
	}
	r.Fingerprints["primaryLocationLineHash"] = fmt.Sprintf("%s:%d", text, seen[key])
}

// githubOfRun is one annotation for the verdict and one per launch that differs, at its first divergence.
func githubOfRun(w io.Writer, r *run, opt Options) error {
	out := bufio.NewWriter(w)
	level := map[bool]string{true: "warning", false: "error"}[r.passed]
	if r.status == statusIdentical || r.status == statusSameResults && r.passed {
		level = "notice"
	}
	writeAnnotation(out, level, place{}, "prlx: session", clean(r.verdict, maxText), opt)
	shown, left := 1, 0
	for i := range r.launches {
		l := &r.launches[i]
		if !l.bad() && !l.differ {
			continue
		}
		if shown == annotation.Most {
			left++
			continue
		}
		shown++
		var p place
		if l.first != nil {
			p = placeOf(l.first.SourceLocation)
		}
		one := level
		if !l.bad() {
			one = "warning"
		}
		writeAnnotation(out, one, p, "prlx: "+suiteName(l.kernel), l.name()+": "+l.sentence(), opt)
	}
	if left > 0 {
		writeAnnotation(out, "notice", place{}, "prlx", fmt.Sprintf("%d more launches differ", left), opt)
	}
	return out.Flush()
}

// markdownOfRun is the verdict and the launches that differ.
func markdownOfRun(w io.Writer, r *run, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### session: %s\n\n%s\n", inline(r.word()), inline(clean(r.verdict, maxText)))
	shown, left := 0, 0
	for i := range r.launches {
		l := &r.launches[i]
		switch {
		case !l.bad() && !l.differ:
		case shown == maxMarkdownSites:
			left++
		default:
			if shown == 0 {
				out.WriteString("\n| launch | kernel | state | what |\n|---|---|---|---|\n")
			}
			shown++
			what := strings.Join(append([]string{l.sentence()}, l.apart...), "; ")
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", l.name(), inline(suiteName(l.kernel)), l.state(), inline(what))
		}
	}
	if left > 0 {
		fmt.Fprintf(out, "\n%s more differ.\n", figure.Plural(left, "launch", "launches"))
	}
	if list := cleanAll(r.warnings, 20, 600); len(list) > 0 {
		out.WriteString("\n**What limits this:**\n\n")
		for _, s := range list {
			out.WriteString("- " + inline(s) + "\n")
		}
	}
	return out.Flush()
}

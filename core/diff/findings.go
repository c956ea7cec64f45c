package diff

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// FindingDiff is something that a check of the simulator found: in one run, more often in one than in the other, or in both.
type FindingDiff struct {
	Check          string `json:"check"` // "out-of-bounds", "shared-race", ...
	SourceLocation string `json:"source_location,omitempty"`
	CountA         int64  `json:"count_a"` // times that it was found
	CountB         int64  `json:"count_b"`
	Message        string `json:"message"`        // of the first time
	Noise          bool   `json:"noise"`          // equal runs differ in it, too
	Both           bool   `json:"both,omitempty"` // both runs have it: no difference, and nothing that passes

	differs bool
}

// inTrace is the side that alone has the finding, "" when both have it.
func (f *FindingDiff) inTrace() string {
	switch {
	case f.CountB == 0:
		return "A"
	case f.CountA == 0:
		return "B"
	}
	return ""
}

// findingKey is what makes two findings the same: the check, and where in the source.
type findingKey struct {
	check    string
	site     uint32 // A's number, NoSite: the place tells
	file     string
	function string
	line     uint32
}

// foundCount is one finding of either side.
type foundCount struct {
	counts [2]uint64
	first  *warptrace.Finding
	locals [2]int64   // its site, by side as the side that has it numbers them; -1 not known
	at     *site.Site // nil: not a site
	noise  bool
}

// findings is how what the checks found compares.
type findings struct {
	order []findingKey // that differ
	both  []findingKey // that do not: both runs have them, or nobody looked for them in the other
	of    map[findingKey]*foundCount
}

// compareFindings compares what the checks of the simulator found: a run that read out of bounds is not the same as one that did not.
func (g *gathering) compareFindings(a, b *warptrace.Outputs) {
	f := &g.r.findings
	both := [2]*warptrace.Outputs{a, b}
	for side, o := range both {
		if o == nil {
			both[side] = &warptrace.Outputs{} // nobody looked
		}
	}
	f.of = make(map[findingKey]*foundCount)
	var order []findingKey
	for side, o := range both {
		for i := range o.Findings {
			x := &o.Findings[i]
			key := g.findingKey(side, x)
			c := f.of[key]
			if c == nil {
				c = &foundCount{first: x, at: g.siteOfFinding(side, x), locals: g.localsOf(side, x)}
				f.of[key] = c
				order = append(order, key)
			}
			c.counts[side] += max(x.Count, 1)
		}
	}
	for _, key := range order {
		c := f.of[key]
		asked := looked(&both[0].Coverage, c.first.Check) && looked(&both[1].Coverage, c.first.Check)
		switch inBoth := c.counts[0] > 0 && c.counts[1] > 0; {
		case inBoth && (c.counts[0] == c.counts[1] || g.r.OtherShape != "" || !asked): // how often depends on the shape
			f.both = append(f.both, key)
		case asked && c.counts[0] != c.counts[1]:
			f.order = append(f.order, key)
		case !asked:
			f.both = append(f.both, key) // of one side; the other did not look, or does not say
		}
	}
}

// looked reports whether a recorder looked for what a check finds.
func looked(c *warptrace.Coverage, check string) bool {
	if !c.Checks {
		return false
	}
	switch check {
	case "nan":
		return c.NaN
	case "shared-race", "uninitialised-shared":
		return c.Races
	case "global-race":
		return c.GlobalRaces
	case "warp-race", "outside-view", "uninitialised-global": // recordings do not say whether these were asked for
		return false
	}
	return c.Checks
}

func (g *gathering) siteOfFinding(side int, x *warptrace.Finding) *site.Site {
	if x.Site == warptrace.NoSite {
		return nil
	}
	t := g.sites.a
	if side == 1 {
		t = g.sites.b
	}
	s, ok := t.SiteOf(x.Site)
	if !ok || s.Where().Line != x.Line { // a mask stands where it is made, what was found where it guards
		return nil
	}
	return s
}

// localsOf are the numbers that both sides give the site of a finding: that which has it, and A where it is B's.
func (g *gathering) localsOf(side int, x *warptrace.Finding) [2]int64 {
	locals := [2]int64{-1, -1}
	if x.Site == warptrace.NoSite {
		return locals
	}
	locals[side] = int64(x.Site)
	if side == 1 {
		if a, ok := g.sites.ofB(x.Site); ok {
			locals[0] = int64(a)
		}
	}
	return locals
}

func (g *gathering) findingKey(side int, x *warptrace.Finding) findingKey {
	key := findingKey{check: x.Check, site: warptrace.NoSite, function: x.Function, file: path.Base(x.File), line: x.Line}
	if x.Site == warptrace.NoSite {
		return key
	}
	local := uint32(0)
	if side == 0 {
		local = g.sites.keyA(x.Site)
	} else {
		local = g.sites.key(x.Site)
	}
	return findingKey{check: x.Check, site: local}
}

// differ says whether the checks found something else.
func (f *findings) differ() bool { return f.genuine() > 0 }

// genuine counts the findings that differ and are no noise.
func (f *findings) genuine() (n int64) {
	for _, key := range f.order {
		if !f.of[key].noise {
			n++
		}
	}
	return n
}

// document lists the findings that differ, those of one side only first, then those that do not.
func (f *findings) document() []FindingDiff {
	out := make([]FindingDiff, 0, len(f.order)+len(f.both))
	for i, key := range slices.Concat(f.order, f.both) {
		c := f.of[key]
		out = append(out, FindingDiff{
			Check: clippedWord(c.first.Check), SourceLocation: c.place(), CountA: int64(min(c.counts[0], 1<<62)), CountB: int64(min(c.counts[1], 1<<62)),
			Message: c.first.Message, Noise: c.noise, differs: i < len(f.order), Both: i >= len(f.order) && c.counts[0] > 0 && c.counts[1] > 0,
		})
	}
	slices.SortStableFunc(out, func(x, y FindingDiff) int {
		return cmp.Or(cmp.Compare(truth(!x.differs), truth(!y.differs)), cmp.Compare(truth(x.Noise), truth(y.Noise)), cmp.Compare(truth(x.inTrace() == ""), truth(y.inTrace() == "")))
	})
	return out
}

// place is where something was found: the user's line of the site, else what the finding itself says.
func (c *foundCount) place() string {
	if at := site.FormatLocation(c.at); at != "" {
		return at
	}
	x := c.first
	if x.Line == 0 {
		return ""
	}
	return site.FormatFrame(site.Frame{Function: x.Function, File: x.File, Line: x.Line, Column: x.Column})
}

// sentence says in a few words what was found where.
func (f *FindingDiff) sentence() string {
	text := clippedWord(f.Check)
	if at := shortPlace(f.SourceLocation); at != "" {
		text += " at " + at
	}
	switch side := f.inTrace(); side {
	case "":
		return fmt.Sprintf("%s %d times in A, %d times in B", text, f.CountA, f.CountB)
	default:
		return text + " only in " + side
	}
}

package diff

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

const maxLinks = 24 // of a chain

// chain is the evidence from the divergence back to where it can come from.
func (c *clues) chain() []Link {
	if c.row == nil {
		return append(c.givenLinks(), c.codeLinks()...)
	}
	links := append(append(c.givenLinks(), c.codeLinks()...), c.decision())
	for i := range c.at.sides {
		if s := &c.at.sides[i]; s.differ != 0 {
			links = append(links, operandLink(&c.at, s))
		}
	}
	for _, role := range []string{"lhs", "rhs", "address", "value"} {
		if op := c.at.operand(role); op != nil && c.matters(role) {
			links = append(links, provenanceLinks(role, op)...)
		}
	}
	if c.carry != nil {
		links = append(links, Link{
			What: "load", SiteID: c.carry.name, SourceLocation: site.FormatLocation(c.carry.site), Recorded: true,
			Text: fmt.Sprintf("a value on its way to a compare: 0x%x in A, 0x%x in B", c.carry.a, c.carry.b),
		})
	}
	if c.from.ok && !c.isRoot() {
		links = append(links, c.origin()...)
	}
	return links[:min(len(links), maxLinks)]
}

// matters reports whether the provenance of an operand is of interest: it differs, or nothing about it was recorded.
func (c *warpClues) matters(role string) bool {
	s := c.at.side(role)
	return s == nil || s.differ != 0
}

// decision is the divergence itself.
func (c *warpClues) decision() Link {
	l := Link{What: "control", SiteID: c.at.name, SourceLocation: locationOf(c.at.site()), Lanes: lanesOf(c.row.Lanes), Recorded: true}
	switch c.row.Kind {
	case RowBranch:
		l.What = "compare"
		l.Text = fmt.Sprintf("goes way %d in A and %d in B", c.row.DirA, c.row.DirB)
		if c.row.TakenA != c.row.TakenB {
			l.Text = fmt.Sprintf("holds for lanes 0x%x in A and 0x%x in B", c.row.TakenA, c.row.TakenB)
		}
		if s := c.at.site(); s != nil && s.Text != "" {
			l.Text = s.Text + " " + l.Text
		}
	case RowActiveMask:
		l.Text = fmt.Sprintf("lanes 0x%x are active in A, 0x%x in B", c.row.ActiveA, c.row.ActiveB)
	case RowValue:
		l.What = "value"
		l.Text = fmt.Sprintf("is %s in A and %s in B", warptrace.FormatValue(c.row.ValueA, c.row.Type), warptrace.FormatValue(c.row.ValueB, c.row.Type))
	case RowPath:
		l.Text = "the warp goes on at another site in B"
	case RowExtraEvents:
		side := "B"
		if c.row.inA() {
			side = "A"
		}
		l.Text = fmt.Sprintf("%s only in %s", counted(int64(max(c.row.Count, c.row.CountB)), "event"), side)
	}
	return l
}

func operandLink(at *spot, s *sides) Link {
	return Link{
		What: "operand", SiteID: at.name, SourceLocation: locationOf(at.site()), Recorded: true, Lanes: lanesOf(laneMask(s)),
		Text: s.what + " differs: " + s.text(),
	}
}

func laneMask(s *sides) uint64 {
	if !s.whole {
		return 0
	}
	return s.differ
}

// provenanceLinks says where an operand comes from, as far as the site table tells.
func provenanceLinks(role string, op *site.Operand) []Link {
	var links []Link
	left := 8
	var visit func(op *site.Operand, of string)
	visit = func(op *site.Operand, of string) {
		if left--; left < 0 {
			return
		}
		what, text := describeOrigin(op)
		if text != "" {
			l := Link{What: what, Text: of + " " + text}
			if op.Site != 0 {
				l.SiteID = fmt.Sprintf("0x%016x", uint64(op.Site))
			}
			if op.Where.Line > 0 {
				l.SourceLocation = site.FormatLocation(&site.Site{Chain: []site.Frame{op.Where}})
			}
			links = append(links, l)
		}
		for i := range op.Inputs {
			name := op.Name
			if name == "" {
				name = of
			}
			visit(&op.Inputs[i], "for "+clippedWord(strings.TrimPrefix(name, "for "))+":")
		}
	}
	visit(op, role)
	return links
}

func describeOrigin(op *site.Operand) (what, text string) {
	name := clippedWord(op.Name)
	switch op.Origin {
	case site.FromConstant:
		return "operand", "is the constant " + name
	case site.FromArgument:
		return "argument", "is the argument " + name
	case site.FromProgramID:
		return "operand", "is an index of the thread or block: " + name
	case site.FromLoad:
		return "load", strings.TrimSpace("was loaded: " + name)
	case site.FromAtomic:
		return "atomic", strings.TrimSpace("was returned by an atomic: " + name)
	case site.FromCarried:
		return "operand", strings.TrimSpace("is carried around a loop: " + name)
	case site.FromShuffle:
		return "operand", strings.TrimSpace("comes from other lanes: " + name)
	case site.FromCall:
		return "operand", strings.TrimSpace("was returned by a call: " + name)
	case site.FromArith:
		return "operand", strings.TrimSpace("is computed: " + name)
	}
	return "", ""
}

// origin is the earliest place of the warp where data differs.
func (c *warpClues) origin() []Link {
	what := map[site.Kind]string{site.Load: "load", site.Atomic: "atomic"}[c.from.kind]
	if what == "" {
		what = "operand"
	}
	var links []Link
	for i := range c.from.sides {
		s := &c.from.sides[i]
		if s.differ == 0 {
			continue
		}
		l := operandLink(&c.from, s)
		l.What = what
		l.Text = fmt.Sprintf("%s earlier in the warp, the first data that differs: %s", counted(int64(c.at.ia-c.from.ia), "event"), l.Text)
		links = append(links, l)
	}
	return links
}

func locationOf(s *site.Site) string {
	if s == nil {
		return ""
	}
	return site.FormatLocation(s)
}

// lanesOf lists the lanes of a mask; nil for none.
func lanesOf(mask uint64) []int {
	var lanes []int
	for ; mask != 0; mask &= mask - 1 {
		lanes = append(lanes, bits.TrailingZeros64(mask))
	}
	return lanes
}

// missing is what was not recorded and would tell more, with what records it.
func (c *clues) missing() []string {
	if c.row == nil {
		return c.missingCode()
	}
	missing := c.missingCode()
	add := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	if c.at.site() == nil {
		add("what the site is: name its site map with --map")
	} else if isCompare(c.at.kind) && len(c.at.site().Operands) == 0 {
		add("where the operands at %s come from: recordings of format v2 have it", c.at.place())
	}
	whole := c.whole
	for i := range c.at.sides {
		whole = whole || c.at.sides[i].whole
	}
	if isCompare(c.at.kind) && !whole {
		add("the operands of every lane at %s: record with the mode values, or with PRLX_SNAPSHOT_DEPTH for format v1", c.at.place())
	}
	if !c.anyLoads() {
		add("what was loaded on the way: record loads too, or with PRLX_HISTORY_DEPTH for format v1")
	}
	if !c.a.Header().Taken || !c.b.Header().Taken {
		add("which lanes took the branch: recordings of format v2 have it")
	}
	if x, y := c.a.Header(), c.b.Header(); x.ModuleHash == "" || y.ModuleHash == "" || x.ArgumentDigest == 0 || y.ArgumentDigest == 0 {
		add("whether the same build ran on the same arguments: recordings of format v2 can have both")
	}
	if c.r.Baseline == nil {
		add("whether equal runs differ here too: give them with --baseline")
	}
	if n := c.wa.Dropped + c.wb.Dropped; n > 0 {
		add("%s of this warp, dropped because a buffer was full: record fewer warps or sites, or with a larger arena", counted(int64(min(n, 1<<62)), "event"))
	}
	return missing
}

// anyLoads reports whether the warp recorded anything that flowed towards the divergence.
func (c *warpClues) anyLoads() bool {
	if len(c.wa.History) > 0 && len(c.wb.History) > 0 {
		return true
	}
	for _, k := range c.wa.Kind {
		if k == site.Load || k == site.Value {
			return true
		}
	}
	return false
}

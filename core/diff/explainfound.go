package diff

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/diff/slice"
)

// checkClasses are the classes that a check of the simulator makes probable where it finds something on one side alone. What else is
// found, such as an assertion that fails, is evidence for a statement, and for no class.
var checkClasses = map[string]class{
	"out-of-bounds": indexOrMask, "misaligned": indexOrMask, "null-pointer": indexOrMask, "outside-view": indexOrMask,
	"shared-race": race, "global-race": race, "warp-race": race, "stale-async-copy": race,
	"uninitialised-shared": staleData, "uninitialised-local": staleData, "uninitialised-global": staleData, "use-after-free": staleData,
}

// found is something that a check found on one side alone.
type found struct {
	*foundCount
	side int
}

// alone are the findings of one side alone, noise left out; both sides looked for them.
func (f *findings) alone() []found {
	var out []found
	for _, key := range f.order {
		one := f.of[key]
		if one.noise || one.counts[0] > 0 && one.counts[1] > 0 || one.first.Check == "nan" {
			continue
		}
		side := 0
		if one.counts[1] > 0 {
			side = 1
		}
		out = append(out, found{one, side})
	}
	return out
}

// rootsFound are the instructions whose address or mask a check found to be wrong on one side alone. What they depend on is less than what
// was stored in the end does.
func (s *suspects) rootsFound(codes [2]*slice.Code) (roots [2][]int32) {
	for _, one := range s.findings.alone() {
		if to, is := checkClasses[one.first.Check]; !is || to != indexOrMask {
			continue
		}
		for side, local := range one.locals {
			if local < 0 {
				continue
			}
			if at, ok := s.traces[side].SiteOf(uint32(local)); ok {
				roots[side] = append(roots[side], codes[side].Places(at)...)
			}
		}
	}
	return roots
}

// downstream are the findings of one side alone at the statement to look at, or at lines that depend on it.
func (k *codeClues) downstream(alone []found) []found {
	if !k.ok || k.compared == nil {
		return nil
	}
	lines := append(k.compared.Sides[k.place.Side].Way(k.place.Line), k.place.Line)
	return slices.DeleteFunc(alone, func(one found) bool {
		return one.side != k.place.Side || !slices.ContainsFunc(lines, func(l slice.Line) bool { return l.Number == one.first.Line })
	})
}

// ruleFound: a check found something on one side alone, at the statement to look at or at what depends on it.
func ruleFound(c *clues) []finding {
	var out []finding
	for _, one := range c.code.downstream(c.r.findings.alone()) {
		to, is := checkClasses[one.first.Check]
		if !is || slices.ContainsFunc(out, func(f finding) bool { return f.class == to }) {
			continue
		}
		out = append(out, finding{to, earnedPoints, one.text()})
	}
	return out
}

// text says what was found and where.
func (f *found) text() string {
	text := fmt.Sprintf("a check found %s in %s alone", clippedWord(f.first.Check), sideNames[f.side])
	if at := shortPlace(f.place()); at != "" {
		text += " at " + at
	}
	return text
}

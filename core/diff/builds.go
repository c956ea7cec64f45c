package diff

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Builds says how the sites of two builds of a kernel were matched. A recording of the same build has none.
type Builds struct {
	Matched      int64       `json:"matched"`       // sites
	Relocated    int64       `json:"relocated"`     // of those, how many have another line, file or function
	Moved        []MovedSite `json:"moved"`         // of those, the ones that stand in another order; the first of them
	MovedOmitted int64       `json:"moved_omitted"` // beyond those
	OnlyA        int64       `json:"only_a"`        // without a partner
	OnlyB        int64       `json:"only_b"`
	Ambiguous    int64       `json:"ambiguous"` // matched, and another site would have suited as well
}

// MovedSite is a site that stands in another order among the others of its kernel than in the other build.
type MovedSite struct {
	SiteA     string `json:"site_a"`
	SiteB     string `json:"site_b"`
	LocationA string `json:"source_location_a,omitempty"`
	LocationB string `json:"source_location_b,omitempty"`
}

// maxMovedShown is how many moved sites a document lists.
const maxMovedShown = 100

// summary says of a mapping what documents have. name spells a site as documents do.
func summary(a, b *site.Table, how *site.Mapping, name func(*site.Site) string) *Builds {
	s := &Builds{
		Moved: []MovedSite{}, OnlyA: int64(len(how.UnmatchedA())), OnlyB: int64(len(how.UnmatchedB())), Ambiguous: int64(len(how.Ambiguous())),
	}
	for i := range a.Len() {
		j, ok := how.AtoB(i)
		if !ok {
			continue
		}
		s.Matched++
		x, y := a.At(i), b.At(j)
		if site.FormatLocation(x) != site.FormatLocation(y) || x.Key != y.Key {
			s.Relocated++
		}
		switch {
		case !how.Moved(i):
		case len(s.Moved) == maxMovedShown:
			s.MovedOmitted++
		default:
			s.Moved = append(s.Moved, MovedSite{name(x), name(y), site.FormatLocation(x), site.FormatLocation(y)})
		}
	}
	return s
}

// notes are what a user is told of two builds.
func (s *Builds) notes() []string {
	text := fmt.Sprintf("the recordings are of two builds: %s", counted(s.Matched, "site"))
	parts := []string{"matched by the code and its order"}
	for _, x := range []struct {
		n    int64
		what string
	}{
		{s.Relocated, "on other lines"}, {int64(len(s.Moved)) + s.MovedOmitted, "moved"}, {s.OnlyA, "only in A"}, {s.OnlyB, "only in B"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	notes := []string{text + " " + strings.Join(parts, ", ")}
	if s.Ambiguous > 0 {
		notes = append(notes, fmt.Sprintf("%s a match that another site would have suited as well", plural(s.Ambiguous, "site has", "sites have")))
	}
	return notes
}

// otherOrder says of the warps whose lanes did the same in another order why that is so.
func (s *Stats) otherOrder() string {
	var parts []string
	if n := s.Reordered - s.MovedWarps; n > 0 {
		parts = append(parts, counted(n, "warp")+" executed divergent paths in another order")
	}
	if s.MovedWarps > 0 {
		parts = append(parts, counted(s.MovedWarps, "warp")+" executed code that moved between the builds")
	}
	return strings.Join(parts, ", ")
}

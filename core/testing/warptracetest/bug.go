package warptracetest

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Bug is what is wrong with a program: the truth that an explanation is held against.
type Bug struct {
	Name     string     `json:"name"`
	Class    string     `json:"class"` // as diff.Explanation.Class
	What     string     `json:"what"`
	Line     site.Frame `json:"-"`        // where it is
	Location string     `json:"location"` // the same as documents print it
	// Sites are where it shows first, positions in the table: those of its line, or of the first line that records where its own
	// records nothing. Every warp that differs differs there first, values included.
	Sites   []int    `json:"sites"`
	SiteIDs []string `json:"site_ids"` // their keys, as documents print them
	Shown   string   `json:"shown"`    // their location
}

// Place is a site as documents name it.
type Place struct {
	Site     int    `json:"site"` // position in the table
	SiteID   string `json:"site_id"`
	Location string `json:"location"`
	Kind     string `json:"kind"`
}

// Place names a site of the program.
func (p *Program) Place(i int) Place {
	s := &p.sites[i]
	return Place{Site: i, SiteID: "0x" + hex16(uint64(s.Key)), Location: site.FormatLocation(s), Kind: s.Kind.String()}
}

// Noise lists the sites whose outcome depends on Launch.Run, ascending.
func (p *Program) Noise() []int { return p.noise }

// bugClasses names the bugs in the order of documentation.
var bugClasses = []struct{ name, class, what string }{
	{"bound", "loop-bound", "a loop runs once too often"},
	{"compare", "index-or-mask", "a comparison is turned round"},
	{"mask", "index-or-mask", "a mask lets one column too many through"},
	{"swap", "index-or-mask", "the operands of an index computation are swapped"},
	{"stale", "stale-data", "the other half of a double buffer is read"},
	{"uninit", "stale-data", "a variable starts with what its register held"},
	{"order", "race", "a reduction adds in another order"},
	{"precision", "precision", "a factor is rounded to half precision"},
	{"race", "race", "warps race for a ticket"},
}

// BugNames lists the bugs that WithBug knows.
func BugNames() []string {
	var names []string
	for _, b := range bugClasses {
		names = append(names, b.name)
	}
	return names
}

// WithBug returns the same program with a bug. Lines and sites stay where they are. The bug "race" changes nothing: the program needs
// Config.Race, and two launches with different Run seeds show it.
func (p *Program) WithBug(name string) (*Program, error) {
	i := slices.IndexFunc(bugClasses, func(b struct{ name, class, what string }) bool { return b.name == name })
	if i < 0 {
		return nil, fmt.Errorf("warptracetest: no bug %q; there are %v", name, BugNames())
	}
	q := write(p.Config)
	place, ok := q.bugs[name]
	if !ok {
		return nil, fmt.Errorf("warptracetest: the program has no place for bug %q", name)
	}
	place.apply()
	q.layout()
	bug := &Bug{Name: name, Class: bugClasses[i].class, What: bugClasses[i].what, Line: place.at.frame()}
	bug.Location = site.FormatLocation(&site.Site{Chain: []site.Frame{bug.Line}})
	bug.Sites = q.SiteAt(place.shows.function.file, uint32(place.shows.line))
	for _, k := range bug.Sites {
		bug.SiteIDs = append(bug.SiteIDs, "0x"+hex16(uint64(q.sites[k].Key)))
		bug.Shown = site.FormatLocation(&q.sites[k])
	}
	q.Bug = bug
	return q, nil
}

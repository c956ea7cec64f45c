package diff

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

// AcceptedUse is what a file of accepted differences did to a comparison.
type AcceptedUse struct {
	Path        string        `json:"path"`
	Divergences int64         `json:"divergences"` // accepted: they do not count
	Entries     []AcceptedRow `json:"entries"`
}

// AcceptedRow is what became of one entry.
type AcceptedRow struct {
	Line    int    `json:"line,omitempty"`
	Site    string `json:"site"`
	Reason  string `json:"reason"`
	Until   string `json:"until,omitempty"`
	Status  string `json:"status"`  // "used" | "unused" | "expired" | "exceeded" | "other-kernel"
	Matched int64  `json:"matched"` // divergences that it is about
	Max     *int64 `json:"max,omitempty"`
}

// What became of an entry.
const (
	acceptUsed     = "used"
	acceptUnused   = "unused"       // nothing matches: it can go
	acceptExpired  = "expired"      // its last day is over, so it accepts nothing
	acceptExceeded = "exceeded"     // more than it accepts matches, so it accepts nothing
	acceptOther    = "other-kernel" // it is about other kernels
)

// Apply marks the divergences that the file accepts on the day today ("2027-01-31"), and says what became of each entry. What does
// not count anyway, such as noise, is left alone. Each divergence is taken by the first entry that accepts it.
func (a *Accepted) Apply(r *Result, today string) (*AcceptedUse, error) {
	if _, err := time.Parse(time.DateOnly, today); err != nil {
		return nil, fault.Usagef("today is %q, expected a date such as 2027-01-31", today)
	}
	use := &AcceptedUse{Path: a.Path, Entries: make([]AcceptedRow, 0, len(a.Entries))}
	for i := range a.Entries {
		e := &a.Entries[i]
		row := AcceptedRow{Line: e.Line, Site: e.Site, Reason: e.Reason, Until: e.Until, Status: acceptOther}
		if e.Max >= 0 {
			row.Max = &e.Max
		}
		if e.about(r) {
			matched := e.matches(r)
			row.Matched = int64(len(matched))
			row.Status = e.status(row.Matched, today)
			if row.Status == acceptUsed {
				use.Divergences += row.Matched
				for _, k := range matched {
					r.Rows[k].Accepted = true
				}
			}
			r.Warnings = append(r.Warnings, e.warnings(a.Path, row)...)
		}
		use.Entries = append(use.Entries, row)
	}
	r.AcceptedUse = use
	r.Settle()
	return use, nil
}

// about reports whether an entry is about this kernel.
func (e *AcceptedEntry) about(r *Result) bool {
	if e.Kernel == "" {
		return true
	}
	for _, kernel := range []string{r.A.Kernel, r.B.Kernel} {
		if ok, _ := path.Match(e.Kernel, kernel); ok {
			return true
		}
	}
	return false
}

// matches lists the divergences that an entry is about, and that count so far.
func (e *AcceptedEntry) matches(r *Result) []int {
	sites := make([]bool, len(r.Sites))
	for i := range r.Sites {
		sites[i] = e.Site == anySite || e.sites.Match(r.Sites[i].Site, r.Sites[i].ID)
	}
	var matched []int
	for k := range r.Rows {
		row := &r.Rows[k]
		if !r.Options.counts(row) || len(e.Kinds) > 0 && !slices.Contains(e.Kinds, row.Kind.String()) {
			continue
		}
		if row.SiteA != None && sites[row.SiteA] || row.SiteB != None && sites[row.SiteB] {
			matched = append(matched, k)
		}
	}
	return matched
}

func (e *AcceptedEntry) status(matched int64, today string) string {
	switch {
	case e.Until != "" && today > e.Until: // dates of this form sort as text
		return acceptExpired
	case matched == 0:
		return acceptUnused
	case e.Max >= 0 && matched > e.Max:
		return acceptExceeded
	}
	return acceptUsed
}

// warnings says what somebody should do about an entry.
func (e *AcceptedEntry) warnings(file string, row AcceptedRow) []string {
	place := file
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", file, e.Line)
	}
	switch row.Status {
	case acceptExpired:
		return []string{fmt.Sprintf("%s: expired on %s: %s at %s count again (%s)",
			place, e.Until, counted(row.Matched, "divergence"), e.Site, clippedWord(e.Reason))}
	case acceptExceeded:
		return []string{fmt.Sprintf("%s: accepts %d at %s, and there are %d: all of them count (%s)",
			place, e.Max, e.Site, row.Matched, clippedWord(e.Reason))}
	case acceptUnused:
		return []string{fmt.Sprintf("%s: nothing differs at %s any more: the entry can go", place, e.Site)}
	}
	return nil
}

// counted is "1 divergence", "3 divergences".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

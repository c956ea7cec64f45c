package kernelreport

import (
	"fmt"
	"strconv"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
)

// maxAccepted is how many entries of a file of accepted differences a page shows.
const maxAccepted = 200

// acceptedRow is one entry of that file on the page.
type acceptedRow struct {
	Site, Reason, Until, Matched, Max, Status, Line string
	Alarm                                           bool
}

func acceptedRows(use *diff.AcceptedUse) (rows []acceptedRow, note string) {
	if use == nil || len(use.Entries) == 0 {
		return nil, ""
	}
	for i := range use.Entries[:min(len(use.Entries), maxAccepted)] {
		e := &use.Entries[i]
		r := acceptedRow{
			Site: clean(e.Site, maxName), Reason: clean(e.Reason, 400), Until: clean(e.Until, 20), Matched: figure.Count(e.Matched), Status: clean(e.Status, 40), Alarm: lapsed(e),
		}
		if e.Max != nil {
			r.Max = figure.Count(*e.Max)
		}
		if e.Line > 0 {
			r.Line = strconv.Itoa(e.Line)
		}
		rows = append(rows, r)
	}
	note = fmt.Sprintf("%s of %s and do not count.", figure.Plural(use.Divergences, "divergence is among", "divergences are among"), clean(use.Path, maxName))
	if n := len(use.Entries) - maxAccepted; n > 0 {
		note += " " + figure.Plural(n, "more entry is", "more entries are") + " in the JSON document."
	}
	return rows, note
}

// lapsed reports whether an entry is about divergences of this comparison and accepts none of them.
func lapsed(e *diff.AcceptedRow) bool { return e.Status == "expired" || e.Status == "exceeded" }

// staleEntries says which entries no longer accept what they are about.
func staleEntries(use *diff.AcceptedUse) []string {
	if use == nil {
		return nil
	}
	var out []string
	for i := range use.Entries[:min(len(use.Entries), maxAccepted)] {
		e := &use.Entries[i]
		switch {
		case e.Status == "expired" && e.Until != "":
			out = append(out, fmt.Sprintf("The accepted difference %s was accepted until %s only.", clean(e.Site, maxName), clean(e.Until, 20)))
		case e.Status == "exceeded" && e.Max != nil:
			out = append(out, fmt.Sprintf("The accepted difference %s allows %s and there are %s.", clean(e.Site, maxName), figure.Count(*e.Max), figure.Count(e.Matched)))
		case lapsed(e):
			out = append(out, fmt.Sprintf("The accepted difference %s is %s.", clean(e.Site, maxName), clean(e.Status, 40)))
		}
	}
	return out
}

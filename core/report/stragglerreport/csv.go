package stragglerreport

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/straggler"
)

// columns of the writeCSV. Later versions may append some; none will move.
var columns = []string{"rank", "host", "cost_ns", "share", "gain_ns", "last", "operations", "steps", "waited_ns", "cause", "blamed"}

// writeCSV writes a row a rank, those that are blamed first, then by cost. Times are nanoseconds, share is a part of 1. Text that a spreadsheet would
// take for a formula gets an apostrophe in front.
func writeCSV(w io.Writer, d *straggler.Document, _ Options) error {
	out := csv.NewWriter(w)
	rows := [][]string{columns}
	for i := range d.Ranks {
		r := &d.Ranks[i]
		rows = append(rows, []string{
			harmless(r.ID), harmless(r.Host), strconv.FormatInt(r.CostNS, 10), strconv.FormatFloat(r.Share, 'g', -1, 64), strconv.FormatInt(r.GainNS, 10),
			strconv.Itoa(r.Last), strconv.Itoa(r.Operations), strconv.Itoa(r.Steps), strconv.FormatInt(r.Time.WaitingNS, 10), harmless(causeOf(r)), strconv.FormatBool(r.Blamed),
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

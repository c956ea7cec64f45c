package report

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// maxLate is how many ranks the section lists.
const maxLate = 5

// lateSection is who was late at the collectives, in short: prlx stragglers says more.
type lateSection struct {
	Verdict, Time, More, Command string
	Rows                         []lateRow
}

type lateRow struct {
	ID, Host, Cost, Share, Gain, Last, Waited string
	Blamed                                    bool
}

// newLate is nil where nothing could be judged.
func newLate(in *CombineReport) *lateSection {
	d := in.Late
	if d == nil || d.Operations.Count == 0 {
		return nil
	}
	s := &lateSection{Verdict: foreign.Clean(d.Verdict, 600) + "."}
	if whole := d.Time.Total(); whole > 0 {
		t := &d.Time
		part := func(ns int64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*float64(ns)/float64(whole)) }
		s.Time = fmt.Sprintf("Of the time that all ranks spent in collectives, %s was transfer, %s waiting for somebody who was late, %s waiting for a recording that had not begun; %s is undecided.",
			part(t.TransferNS), part(t.WaitingNS+t.LaunchNS), part(t.ProfilerNS), part(t.UntoldNS))
	}
	for i := range d.Ranks[:min(len(d.Ranks), maxLate)] {
		r := &d.Ranks[i]
		row := lateRow{
			ID: foreign.Clean(r.ID, 60), Host: foreign.Clean(r.Host, 60), Cost: duration(r.CostNS), Share: fmt.Sprintf("%.2f\u00a0%%", 100*r.Share), Gain: duration(r.GainNS),
			Last: fmt.Sprintf("%s of %s", figure.Count(r.Last), figure.Count(r.Operations)), Waited: duration(r.Time.WaitingNS), Blamed: r.Blamed,
		}
		if r.Host == r.ID {
			row.Host = ""
		}
		s.Rows = append(s.Rows, row)
	}
	if n := len(d.Ranks) - maxLate; n > 0 {
		s.More = figure.Plural(n, "rank that cost less is", "ranks that cost less are") + " not listed."
	}
	target := in.Output
	if target == "" && len(in.Doc.Outputs) == 1 {
		target = in.Doc.Outputs[0].Path
	}
	if target = strings.TrimSuffix(foreign.Clean(target, 400), "/"); target != "" {
		s.Command = "prlx stragglers " + shellQuote(target) + " --html late.html"
	}
	return s
}

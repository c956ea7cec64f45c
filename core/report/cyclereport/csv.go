package cyclereport

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/figure"
)

// writeCSV writes one class in uplifter's layout: rows of comments, an empty row, a header, a row a kernel. "Cycle time" is the sum of
// kernel times, as there. Text that a spreadsheet would take for a formula gets an apostrophe in front.
func writeCSV(w io.Writer, d *cycledoc.Document, opt Options) error {
	id := opt.Class
	if id == "" {
		id = d.Selected
	}
	for i := range d.Levels {
		for k := range d.Levels[i].Classes {
			if c := &d.Levels[i].Classes[k]; c.ID == id {
				return classCSV(w, c)
			}
		}
	}
	if opt.Class != "" {
		return fault.Usagef("no class has the id %q", clean(opt.Class, 40)).WithHint("ids are 16 hexadecimal digits; the JSON document lists them")
	}
	return classCSV(w, &cycledoc.Class{}) // no cycle: the header alone
}

func classCSV(w io.Writer, c *cycledoc.Class) error {
	out := csv.NewWriter(w)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	rows := [][]string{
		{"# Iterations", number(c.Count)},
		{"# Kernels per cycle", number(int64(c.Period))},
		{"# Avg cycle time (us)", micro(c.KernelNS.Mean)},
		{"# Total time (us)", micro(c.KernelNS.Mean * float64(c.KernelNS.Count))},
		{},
		{"index", "kernel_name", "avg_duration_us", "min_duration_us", "max_duration_us", "stddev_us", "count", "pct_of_cycle"},
	}
	for i := range c.Kernels {
		s := &c.Kernels[i]
		rows = append(rows, []string{
			number(int64(s.Slot)), harmless(s.Name), micro(s.MeanNS), micro(float64(s.MinNS)), micro(float64(s.MaxNS)), micro(s.StdDevNS),
			number(s.Count), strconv.FormatFloat(100*s.Share, 'f', 4, 64),
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

// compareCSV writes one pair of a comparison in uplifter's layout: a row a kernel of either run, and a row of the total; rows of comments
// behind them say where the difference of the wall times went, in parts that add up. That tool knows no fusions: what was fused, split or replaced stands as removed and new. A removed kernel has no time in the new run.
func compareCSV(w io.Writer, d *cycledoc.CompareDocument, opt Options) error {
	var rows []cycledoc.PairRow
	switch {
	case opt.Pair >= 0 && opt.Pair < len(d.Pairs):
		rows = d.Pairs[opt.Pair].Rows
	case opt.Pair != 0:
		return fault.Usagef("there is no pair %d", opt.Pair).WithHint("the comparison has %s, counted from 0", figure.Plural(len(d.Pairs), "pair", "pairs"))
	}
	out := csv.NewWriter(w)
	lines := [][]string{{"eager_kernel", "compiled_kernel", "duration_us", "match_type"}}
	total := 0.0
	for i := range rows {
		row := &rows[i]
		if (row.Kind == "exact" || row.Kind == "similar") && len(row.A) == 1 && len(row.B) == 1 {
			match := row.Kind
			if match == "exact" && row.A[0].Name != row.B[0].Name {
				match = "similar" // exact is of names there
			}
			total += row.B[0].MeanNS
			lines = append(lines, []string{harmless(row.A[0].Name), harmless(row.B[0].Name), micro(row.B[0].MeanNS), match})
			continue
		}
		for k := range row.A {
			lines = append(lines, []string{harmless(row.A[k].Name), "", micro(0), "removed"})
		}
		for k := range row.B {
			total += row.B[k].MeanNS
			lines = append(lines, []string{"", harmless(row.B[k].Name), micro(row.B[k].MeanNS), "new_only"})
		}
	}
	lines = append(lines, []string{"TOTAL", "", micro(total), ""})
	if len(d.Pairs) > 0 {
		a := &d.Pairs[opt.Pair].Account
		comment := func(what string, ns int64) { lines = append(lines, []string{"# " + what, "", micro(float64(ns)), ""}) }
		comment("wall time of a, one "+a.Of, a.ANS)
		comment("wall time of b, one "+a.Of, a.BNS)
		comment("difference", a.DeltaNS)
		for _, p := range a.Parts {
			comment("of it: "+p.Text, p.DeltaNS)
		}
	}
	if d.Conclusion.Outcome != "" {
		lines = append(lines, []string{"# conclusion: " + harmless(string(d.Conclusion.Outcome)), "", "", ""})
	}
	if err := out.WriteAll(lines); err != nil {
		return err
	}
	return out.Error()
}

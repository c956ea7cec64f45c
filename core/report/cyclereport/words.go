package cyclereport

import (
	"fmt"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// What one piece of foreign text may take, in characters.
const (
	maxName = 160  // names of kernels
	maxText = 2000 // sentences, paths
)

// clean makes foreign text fit for people, of at most limit characters.
func clean(s string, limit int) string { return foreign.Clean(s, limit) }

// percent writes a share; it says 100 only when that is exact.
func percent(share float64) string {
	switch {
	case math.IsNaN(share), math.IsInf(share, 0):
		return "–"
	case share >= 1:
		return "100\u00a0%"
	case share < 0.0005 && share > 0:
		return "<\u00a00.1\u00a0%"
	}
	return strconv.FormatFloat(math.Floor(share*1000)/10, 'f', 1, 64) + "\u00a0%"
}

// change writes a relative change with its sign.
func change(relative float64) string {
	if math.IsNaN(relative) || math.IsInf(relative, 0) {
		return "–"
	}
	sign := "+"
	if math.Abs(relative) < 0.0005 {
		sign = ""
	} else if relative < 0 {
		sign = "\u2212"
	}
	return sign + strconv.FormatFloat(100*math.Abs(relative), 'f', 1, 64) + "\u00a0%"
}

// signed writes a difference of times.
func signed(ns float64) string {
	if ns > 0 {
		return "+" + figure.Duration(ns)
	}
	return figure.Duration(ns)
}

// micro writes ns as µs with three decimals, as uplifter does.
func micro(ns float64) string { return strconv.FormatFloat(ns/1000, 'f', 3, 64) }

// harmless keeps a spreadsheet from evaluating a text, and readers of lines from seeing control characters.
func harmless(s string) string {
	return foreign.Cell(foreign.Fit(s))
}

// limits says what limits the answer: warnings, and what was lost or left out.
func limits(d *cycledoc.Document) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, clean(fmt.Sprintf(format, args...), maxText)) }
	if d.Losses.Note != "" {
		add("Missing: %s.", d.Losses.Note)
	}
	if d.StepsOmitted > 0 {
		add("%s are not listed.", figure.Plural(d.StepsOmitted, "step", "steps"))
	}
	for _, w := range d.Warnings {
		add("%s", figure.Sentence(w))
	}
	return out
}

// where names a device as short as the document allows.
func where(d *cycledoc.Document, rank int, device string) string {
	switch {
	case len(d.Input.Ranks) > 1 && d.Input.Devices > len(d.Input.Ranks):
		return fmt.Sprintf("rank %d, %s", rank, clean(device, 40))
	case len(d.Input.Ranks) > 1:
		return fmt.Sprintf("rank %d", rank)
	}
	return clean(device, 40)
}

// classes are all classes of the document, steps first, then outer levels before inner ones.
func classes(d *cycledoc.Document) []*cycledoc.Class {
	var out []*cycledoc.Class
	add := func(want bool) {
		for i := len(d.Levels) - 1; i >= 0; i-- {
			if (d.Levels[i].Name == cycledoc.LevelStep) == want {
				for k := range d.Levels[i].Classes {
					out = append(out, &d.Levels[i].Classes[k])
				}
			}
		}
	}
	add(true)
	add(false)
	return out
}

func levelName(d *cycledoc.Document, c *cycledoc.Class) string {
	if c.Level >= 1 && c.Level <= len(d.Levels) {
		return d.Levels[c.Level-1].Name
	}
	return ""
}

// exact writes a time in microseconds with every nanosecond, so that a column of them adds up.
func exact(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "\u2212", -ns
	}
	return fmt.Sprintf("%s%s.%03d\u00a0µs", sign, figure.Count(ns/1000), ns%1000)
}

// exactSigned is exact with a sign also above zero.
func exactSigned(ns int64) string {
	if ns > 0 {
		return "+" + exact(ns)
	}
	return exact(ns)
}

// accountRow is a line of an account.
type accountRow struct{ What, Time, Rows string }

// accountRows are both times, the parts of the difference and the difference, which is their sum; none where nothing was compared.
func accountRows(a *cycledoc.Account) []accountRow {
	if a.Of == "" {
		return nil
	}
	out := []accountRow{{What: "A, one " + a.Of, Time: exact(a.ANS)}}
	for _, p := range a.Parts {
		row := accountRow{What: p.Text, Time: exactSigned(p.DeltaNS)}
		if p.Rows > 0 {
			row.Rows = figure.Plural(p.Rows, "kernel", "kernels")
		}
		out = append(out, row)
	}
	return append(out, accountRow{What: "B, one " + a.Of, Time: exact(a.BNS)}, accountRow{What: "difference", Time: exactSigned(a.DeltaNS)})
}

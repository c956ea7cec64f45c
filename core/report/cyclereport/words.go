package cyclereport

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/timeline/cycle/cycledoc"
)

// What one piece of foreign text may take, in characters.
const (
	maxName = 160  // names of kernels
	maxText = 2000 // sentences, paths
)

// clean makes foreign text fit for people, of at most limit characters.
func clean(s string, limit int) string { return foreign.Clean(s, limit) }

// count writes an integer with thin spaces between groups of three digits.
func count[T int | int64](v T) string {
	text := strconv.FormatInt(int64(v), 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "\u2212", text[1:]
	}
	var b strings.Builder
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// plural writes a number with its noun.
func plural[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

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

// duration writes a time with three digits and its unit.
func duration[T int64 | float64](ns T) string {
	v := float64(ns)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	sign := ""
	if v < 0 {
		sign, v = "\u2212", -v
	}
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v >= u.ns {
			digits := 2
			if v >= 100*u.ns {
				digits = 0
			} else if v >= 10*u.ns {
				digits = 1
			}
			return sign + strconv.FormatFloat(v/u.ns, 'f', digits, 64) + "\u00a0" + u.unit
		}
	}
	return sign + strconv.FormatFloat(v, 'f', 0, 64) + "\u00a0ns"
}

// signed writes a difference of times.
func signed(ns float64) string {
	if ns > 0 {
		return "+" + duration(ns)
	}
	return duration(ns)
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
		add("%s are not listed.", plural(d.StepsOmitted, "step", "steps"))
	}
	for _, w := range d.Warnings {
		add("%s", sentence(w))
	}
	return out
}

// sentence ends a text with a full stop and begins it with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
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
	return fmt.Sprintf("%s%s.%03d\u00a0µs", sign, count(ns/1000), ns%1000)
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
			row.Rows = plural(p.Rows, "kernel", "kernels")
		}
		out = append(out, row)
	}
	return append(out, accountRow{What: "B, one " + a.Of, Time: exact(a.BNS)}, accountRow{What: "difference", Time: exactSigned(a.DeltaNS)})
}

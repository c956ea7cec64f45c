package stragglerreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// What one piece of foreign text may take, in characters.
const (
	maxName = 160  // names of ranks, hosts, communicators, steps, what a rank did
	maxText = 2000 // sentences
)

// clean makes foreign text fit for people, of at most limit characters.
func clean(s string, limit int) string { return foreign.Clean(s, limit) }

// harmless keeps a spreadsheet from evaluating a text, and readers of lines from seeing control characters.
func harmless(s string) string {
	return foreign.Cell(clean(s, maxText))
}

// duration writes a time with three digits and its unit.
func duration(ns int64) string {
	v, sign := float64(ns), ""
	if v < 0 {
		sign, v = "\u2212", -v
	}
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v < u.ns {
			continue
		}
		digits := 2
		if v >= 100*u.ns {
			digits = 0
		} else if v >= 10*u.ns {
			digits = 1
		}
		return sign + strconv.FormatFloat(v/u.ns, 'f', digits, 64) + "\u00a0" + u.unit
	}
	return sign + strconv.FormatFloat(v, 'f', 0, 64) + "\u00a0ns"
}

// percent writes a share with two decimals.
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "–"
	}
	return strconv.FormatFloat(100*share, 'f', 2, 64) + "\u00a0%"
}

// plural writes a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
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

// causeOf is what took a rank longer than usual, most of all; "" where that is not known.
func causeOf(r *straggler.RankCost) string {
	if len(r.Causes) == 0 {
		return ""
	}
	return r.Causes[0].Name
}

// hostOf is the host of a rank where it is more than the rank's name.
func hostOf(r *straggler.RankCost) string {
	if r.Host == r.ID {
		return ""
	}
	return r.Host
}

// linkName is a pair of ranks, or a communicator.
func linkName(l *straggler.LinkCost) string {
	if len(l.Ranks) == 0 {
		return clean(l.Group, maxName)
	}
	names := make([]string, len(l.Ranks))
	for i, id := range l.Ranks {
		names[i] = clean(id, maxName)
	}
	return strings.Join(names, " and ")
}

// part is a part of the time of operations.
type part struct {
	name    string
	ns      int64
	meaning string
}

// parts are the parts of the time in a fixed order; they add up.
func parts(p straggler.Parts) []part {
	return []part{
		{"transfer", p.TransferNS, "all whom it needed were there"},
		{"waiting", p.WaitingNS, "somebody was late"},
		{"profiler start", p.ProfilerNS, "somebody was not being recorded yet"},
		{"undecided", p.UntoldNS, "the clocks are not known well enough to tell transfer from waiting"},
	}
}

// plainRank is what a rank cost, as a line of text.
func plainRank(r *straggler.RankCost) string {
	text := fmt.Sprintf("cost %s, %s of the time; entered last in %d of %s; waited %s itself", duration(r.CostNS), percent(r.Share), r.Last,
		plural(r.Operations, "operation", "operations"), duration(r.Time.WaitingNS))
	if cause := causeOf(r); cause != "" {
		text += "; what took longer: " + clean(cause, maxName)
	}
	return text
}

// lateSteps are the steps in which somebody was late, most expensive first.
func lateSteps(steps []straggler.StepCost) []*straggler.StepCost {
	var late []*straggler.StepCost
	for i := range steps {
		if steps[i].Critical != "" {
			late = append(late, &steps[i])
		}
	}
	slices.SortStableFunc(late, func(a, b *straggler.StepCost) int { return cmp.Compare(b.CostNS, a.CostNS) })
	return late
}

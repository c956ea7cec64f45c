package stragglerreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/straggler"
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

// percent writes a share with two decimals.
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "–"
	}
	return strconv.FormatFloat(100*share, 'f', 2, 64) + "\u00a0%"
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
	if l.Directed {
		return strings.Join(names, " to ")
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
		{"late launch", p.LaunchNS, "somebody was late whose host had not launched the operation yet"},
		{"profiler start", p.ProfilerNS, "somebody was not being recorded yet"},
		{"undecided", p.UntoldNS, "the clocks are not known well enough to tell transfer from waiting"},
	}
}

// plainRank is what a rank cost, as a line of text.
func plainRank(r *straggler.RankCost) string {
	text := fmt.Sprintf("cost %s, %s of the time; entered last in %d of %s; waited %s itself", figure.Duration(r.CostNS), percent(r.Share), r.Last,
		figure.Plural(r.Operations, "operation", "operations"), figure.Duration(r.Time.WaitingNS))
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

// size writes a number of bytes, in powers of 1,000 as bandwidths have them.
func size(bytes int64) string {
	v := float64(bytes)
	for _, u := range []struct {
		bytes float64
		unit  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.bytes {
			return strconv.FormatFloat(v/u.bytes, 'g', 3, 64) + "\u00a0" + u.unit
		}
	}
	return strconv.FormatInt(bytes, 10) + "\u00a0B"
}

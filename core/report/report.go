// Package report turns a result into something a person opens: so far the HTML summary of a combined trace, and its picture.
//
// A report is one file that needs nothing else: no network, no library, no script from anywhere. Whatever a trace may contain
// reaches it escaped, its size is bounded (what is left out is said on the page), and the same result gives the same bytes. The
// page reads without scripts; the script in it only moves through the picture.
package report

import (
	"io"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// CombineReport is what the report of a combined trace shows.
type CombineReport struct {
	Doc *combine.Document
	// Output is how the written trace (file or run directory) is reached from the report's own directory; the commands on the
	// page use it. "" makes them use the names in Doc.
	Output string
	Curves []curve      // by node, in any order; nodes without one get no chart
	Groups []groupSpans // in time order, as Groups makes them
	// GroupsTotal is how many matched collectives there are when Groups is a choice among them; 0 means len(Groups).
	GroupsTotal int
	Late        *straggler.Document // who was late; nil: the page does not say
}

// curve is the correction of one node over time.
type curve struct {
	Node   string // id, as in Doc.Nodes
	Points []point
}

// point is one instant of a curve.
type point struct {
	AtNS         int64 // node's own wall clock, ns since Doc.ZeroNS
	CorrectionNS int64 // aligned instant minus recorded instant
	BoundNS      int64 // largest error of the aligned instant
	Flags        clock.Coverage
}

// groupSpans is one matched collective: the executions that belong together.
type groupSpans struct {
	Key           string
	Kind          string
	Occurrence    int
	Before, After collective.Judgement
	Stretch       int // groups of one stretch follow each other without omission
	Spans         []groupSpan
}

// groupSpan is the execution of a collective on one node. All times are ns since Doc.ZeroNS.
type groupSpan struct {
	Node                       int // index into Doc.Nodes
	BeforeStartNS, BeforeEndNS int64
	AfterStartNS, AfterEndNS   int64
}

// Combine writes the report of a combined trace as one HTML file.
func Combine(w io.Writer, in CombineReport) error {
	return pageTemplate().Execute(w, newPage(&in))
}

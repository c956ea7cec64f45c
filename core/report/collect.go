package report

import (
	"context"

	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/combine"
)

// NodeClock is what is known about the wall clock of one node over its trace.
type NodeClock struct {
	Node            string     // id, as in Doc.Nodes
	Wall            *clock.Map // the node's wall clock onto the reference's; nil is the identity
	FirstNS, LastNS int64      // first and last instant of its trace on its own wall clock, ns since 1970
}

// Collect makes the report of a combined trace of what combining knew: the document, the clocks of its nodes, and the matched
// collectives (nil for none) with the clock that puts them on the reference. output is CombineReport.Output.
func Collect(ctx context.Context, doc *combine.Document, clocks []NodeClock, m *collective.Matched, after collective.Clock, output string) (CombineReport, error) {
	in := CombineReport{Doc: doc, Output: output}
	for _, c := range clocks {
		in.Curves = append(in.Curves, CurveOf(c.Node, c.Wall, c.FirstNS, c.LastNS, doc.ZeroNS))
	}
	if m == nil {
		return in, nil
	}
	var err error
	in.Groups, in.GroupsTotal, err = Groups(ctx, m, nil, after, doc.ZeroNS)
	return in, err
}

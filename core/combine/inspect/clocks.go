package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// clockKinds are the names of clock files in documents.
var clockKinds = map[clockfile.Kind]string{
	clockfile.KindSnapshots: "snapshot-pairs", clockfile.KindWindows: "probe-windows", clockfile.KindRounds: "round-offsets",
	clockfile.KindDeclared: "declared-offsets", clockfile.KindStamps: "probe-stamps",
}

// readings sums up what a clock file holds.
type readings struct {
	Clock
	nodes    map[int]bool
	unusable int64
}

func (r *readings) at(ns int64) { reach(&r.FirstNS, &r.LastNS, ns) }

// clocks says what is in a file of clock readings.
func (f *File) clocks(ctx context.Context, src *file.Source) error {
	c, err := clockfile.Read(ctx, src)
	var unknown *fault.Error
	if errors.As(err, &unknown) && unknown.Hint == clockfile.Expected { // of whoever inspects nobody knows that clocks are meant
		unknown.Hint = "expected a trace (XSpace, Chrome / Kineto JSON, Nsight Systems SQLite, rocprofv3, Perfetto), a recording of a kernel (.prlx) or clock readings (probes, offsets, snapshots)"
	}
	if err != nil {
		return err
	}
	f.Format = clockKinds[c.Kind]
	f.Warnings = append(f.Warnings, c.Warnings...)
	if c.Skipped > 0 {
		f.Losses = append(f.Losses, plural(int64(c.Skipped), "line")+" are not records")
	}
	r := readings{Clock: Clock{Name: f.Format}, nodes: map[int]bool{}}
	r.take(c)
	if r.unusable > 0 {
		f.Losses = append(f.Losses, plural(r.unusable, "row")+" are unreachable or did not converge: never used")
	}
	if len(r.nodes) > 0 {
		f.Nodes = slices.Sorted(maps.Keys(r.nodes))
	}
	f.Clocks = []Clock{r.Clock}
	return nil
}

func (r *readings) take(c *clockfile.File) {
	switch c.Kind {
	case clockfile.KindSnapshots:
		r.Readings = int64(len(c.Snapshots.Pairs))
		for _, p := range c.Snapshots.Pairs {
			r.at(p.SysNS)
		}
	case clockfile.KindWindows:
		r.Readings = int64(len(c.Windows.Rows))
		r.nodes[c.Windows.Node] = true
		for i := range c.Windows.Rows {
			r.at(c.Windows.Rows[i].FromNS)
			r.at(c.Windows.Rows[i].ToNS)
		}
	case clockfile.KindRounds:
		r.rounds(c.Rounds.Rows)
	case clockfile.KindDeclared:
		r.Readings = int64(len(c.Declared.Nodes))
		for _, n := range c.Declared.Nodes {
			r.nodes[n.Node] = true
		}
	case clockfile.KindStamps:
		r.Readings = int64(len(c.Stamps))
		for i := range c.Stamps {
			r.nodes[int(c.Stamps[i].Src)], r.nodes[int(c.Stamps[i].Dst)] = true, true
			r.at(c.Stamps[i].T1)
		}
	}
}

func (r *readings) rounds(rows []clockfile.Round) {
	r.Readings = int64(len(rows))
	for i := range rows {
		row := &rows[i]
		r.nodes[row.Node] = true
		if !row.Usable() {
			r.unusable++
		}
		for _, ns := range []int64{row.MidpointNS, row.FromNS, row.ToNS} {
			if ns != 0 {
				r.at(ns)
			}
		}
	}
}

// plural writes a count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

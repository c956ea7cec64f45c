package kernelreport

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/formats"
)

func sessionHTML(w io.Writer, d *session.Document, opt Options) error {
	return htmlOfRun(w, d, runOf(d), opt)
}

func sessionJUnit(w io.Writer, d *session.Document, opt Options) error {
	return junitOfRun(w, runOf(d), opt)
}

func sessionSARIF(w io.Writer, d *session.Document, opt Options) error {
	return sarifOfRun(w, runOf(d), opt)
}

func sessionGitHub(w io.Writer, d *session.Document, opt Options) error {
	return githubOfRun(w, runOf(d), opt)
}

func sessionMarkdown(w io.Writer, d *session.Document, opt Options) error {
	return markdownOfRun(w, runOf(d), opt)
}

func sessionJSON(w io.Writer, d *session.Document, _ Options) error { return formats.JSON(w, d) }

// sessionCSV is one row per launch.
func sessionCSV(w io.Writer, d *session.Document, _ Options) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{
		"kernel", "launch", "launch_b", "status", "divergences", "counted_divergences", "warps_compared", "warps_diverged", "matched_by",
		"first_kind", "first_site_id", "first_source_location", "first_warp", "first_event", "file_a", "file_b", "error",
	}); err != nil {
		return err
	}
	r := runOf(d)
	for i := range r.launches {
		l := &r.launches[i]
		row := []string{
			harmless(l.kernel), numberOr(l.a), numberOr(l.b), l.state(), number(l.divergences), number(l.counted), number(l.warps), number(l.warpsDiffer), l.by, "", "", "", "", "",
			harmless(l.fileA), harmless(l.fileB), harmless(l.problem),
		}
		if f := l.first; f != nil {
			row[9], row[10], row[11], row[12], row[13] = harmless(f.Kind), harmless(f.SiteID), harmless(f.SourceLocation), number(f.WarpIdx), number(f.EventIdx)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func numberOr(n *uint64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(*n, 10)
}

// runOf puts the launches of a document into one list, in the order of A; what only B has stands where it ran.
func runOf(d *session.Document) *run {
	r := &run{status: d.Status, verdict: d.Verdict, passed: d.Passed, a: d.A.Path, b: d.B.Path, warnings: d.Warnings}
	type placed struct {
		launch
		at int64 // in A
	}
	var list []placed
	for i := range d.KernelResults {
		list = append(list, placed{launchOf(&d.KernelResults[i], d), d.KernelResults[i].IndexA})
	}
	for i := range d.Missing {
		l := &d.Missing[i]
		list = append(list, placed{launch{kernel: l.Kernel, a: &l.Launch, fileA: l.File, shapeA: shapeText(l.Grid, l.Block), notes: computed(l.Origin)}, l.Index})
	}
	slices.SortStableFunc(list, func(x, y placed) int { return int(max(min(x.at-y.at, 1), -1)) })
	next := 0
	inserted := func(upTo int64) {
		for ; next < len(d.Inserted) && d.Inserted[next].Index < upTo; next++ {
			l := &d.Inserted[next]
			r.launches = append(r.launches, launch{kernel: l.Kernel, b: &l.Launch, fileB: l.File, shapeB: shapeText(l.Grid, l.Block), notes: computed(l.Origin)})
		}
	}
	for i := range list {
		if l := &list[i].launch; l.b != nil && l.by != session.ByContent {
			inserted(l.indexB)
		}
		r.launches = append(r.launches, list[i].launch)
	}
	inserted(1<<63 - 1)
	return r
}

func launchOf(l *session.LaunchResult, d *session.Document) launch {
	out := launch{
		kernel: l.Kernel, a: &l.Launch, b: &l.LaunchB, indexB: l.IndexB, fileA: l.FileA, fileB: l.FileB, by: l.MatchedBy, divergences: l.Divergences, counted: l.CountedDivergences,
		warps: l.WarpsCompared, warpsDiffer: l.WarpsDiverged, breakdown: l.Breakdown, first: l.First, verdict: l.Verdict, differ: l.Status == session.StatusDiverged || l.Status == session.StatusSameResults, notes: append(computed(l.Origin), l.Warnings...),
		shapeA: shapeText(l.Grid, l.Block),
	}
	if l.GridB != nil || l.BlockB != nil {
		grid, block := l.Grid, l.Block
		if l.GridB != nil {
			grid = *l.GridB
		}
		if l.BlockB != nil {
			block = *l.BlockB
		}
		out.shapeB = shapeText(grid, block)
	}
	out.same, out.undecided = l.Status == session.StatusSameResults, l.Status == session.StatusInconclusive
	if out.undecided {
		out.problem = "too little was recorded to say that nothing differs: " + l.Coverage
	}
	if l.Status == session.StatusError {
		out.problem = "not compared"
		if l.Error != "" {
			out.problem = l.Error
		}
	}
	out.follows = l.Role == session.RoleFollows
	out.failed = out.differ && out.counted > 0 && !d.Passed && !out.follows
	if f := d.First; f != nil && f.IndexA == l.IndexA && f.IndexB == l.IndexB && f.Diff != nil {
		out.doc = f.Diff
	}
	out.apart = distances(l)
	out.notes = append(out.notes[:len(out.notes):len(out.notes)], out.apart...)
	if x := l.Losses; x != nil {
		for _, side := range []struct {
			name             string
			dropped          int64
			partial, sampled bool
		}{{"A", x.DroppedA, x.PartialA, x.SampledA}, {"B", x.DroppedB, x.PartialB, x.SampledB}} {
			if side.dropped > 0 {
				out.notes = append(out.notes[:len(out.notes):len(out.notes)], fmt.Sprintf("%s lost %s.", side.name, figure.Plural(side.dropped, "event", "events")))
			}
			if side.partial {
				out.notes = append(out.notes[:len(out.notes):len(out.notes)], side.name+" ends before its end.")
			}
			if side.sampled {
				out.notes = append(out.notes[:len(out.notes):len(out.notes)], side.name+" kept only some of its events.")
			}
		}
	}
	return out
}

// distances are notes that say how far apart the arrays of a launch are.
func distances(l *session.LaunchResult) (notes []string) {
	for i := range l.Arrays[:min(len(l.Arrays), maxDistances)] {
		notes = append(notes, distanceText(&l.Arrays[i]))
	}
	if n := l.ArraysOmitted + int64(len(l.Arrays)-len(notes)); n > 0 {
		notes = append(notes, figure.Plural(n, "more array differs.", "more arrays differ."))
	}
	return notes
}

// maxDistances is of how many arrays of a launch a page says how far apart they are.
const maxDistances = 4

// computed is a note that says what a kernel computes, where a compiler of graphs made it.
func computed(o *origin.Origin) []string {
	if o == nil || o.Text == "" {
		return nil
	}
	return []string{"It computes " + o.Text + "."}
}

func shapeText(grid, block [3]uint32) string {
	if grid == ([3]uint32{}) && block == ([3]uint32{}) {
		return ""
	}
	return "grid " + extents(grid) + ", block " + extents(block)
}

// document is what reports of one recording need to know of a launch of which only the first divergence is known.
func (l *launch) document(passed bool) *diff.Document {
	if l.doc != nil {
		return l.doc
	}
	return &diff.Document{Status: statusDiverged, Passed: passed, A: diff.Recording{Kernel: l.kernel}, First: l.first}
}

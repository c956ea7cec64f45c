package kernelreport

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/chromejson"
)

// chromeStep is how long a divergence lasts in the picture, and how far events stand apart, in microseconds.
const chromeStep = 10

// chrome writes the layout of original prlx 0.5 (viewers print the number of a process behind its name): a process per block, a thread per warp, a slice of 10 us a divergence, and counters. Its time
// axis is the order of events in A, so slices of different warps that stand above each other stand at the same event.
func chrome(w io.Writer, doc *diff.Document, _ Options) error {
	out := chromejson.Begin(w, 0, map[string]any{
		"a": clean(doc.A.Path, maxText), "b": clean(doc.B.Path, maxText), "kernel": clean(doc.A.Kernel, maxText), "verdict": clean(doc.Verdict, maxText),
		"omitted": doc.DivergencesOmitted,
	})
	out.Event(chromejson.Event{Name: "process_name", Ph: "M", TS: "0", Args: map[string]any{"name": "prlx divergences: " + suiteName(doc.A.Kernel)}})
	slots := inOrder(doc)
	named := map[int64]bool{0: true}
	warps := map[int64]bool{}
	for i := range slots {
		s := &slots[i]
		pid, tid := blockOf(s.d.WarpIdx, doc)
		if !named[pid] {
			named[pid] = true
			out.Event(chromejson.Event{Name: "process_name", Ph: "M", TS: "0", PID: pid, Args: map[string]any{"name": "block"}})
		}
		if !warps[s.d.WarpIdx] {
			warps[s.d.WarpIdx] = true
			out.Event(chromejson.Event{Name: "thread_name", Ph: "M", TS: "0", PID: pid, TID: tid, Args: map[string]any{"name": "warp " + number(tid)}})
		}
		out.Event(chromejson.Event{
			Name: clean(s.d.Kind, 40) + " " + clean(siteName(s.d.SiteID, s.d.SourceLocation), maxName), Cat: clean(s.d.Kind, 40), Ph: "X",
			TS: whole(s.at*chromeStep + s.sub), Dur: whole(max(chromeStep-2*s.sub, 1)), PID: pid, TID: tid, Args: chromeArgs(s.d),
		})
	}
	for _, c := range countsOver(slots) {
		out.Event(chromejson.Event{Name: "divergence_count", Ph: "C", TS: whole(c.at * chromeStep), Args: c.byKind})
	}
	return out.End()
}

// whole writes microseconds.
func whole(us int64) json.Number { return json.Number(strconv.FormatInt(us, 10)) }

// blockOf is the process and the thread of a warp: its block, and its place in it.
func blockOf(warp int64, doc *diff.Document) (block, place int64) {
	perBlock := int64(doc.A.WarpsPerBlock)
	if perBlock == 0 {
		return 0, warp
	}
	return warp / perBlock, warp % perBlock
}

func chromeArgs(d *diff.Divergence) map[string]any {
	args := map[string]any{
		"site_id": clean(d.SiteID, 40), "kind": clean(d.Kind, 40), "event_idx": d.EventIdx, "event_idx_b": d.EventIdxB, "warp_idx": d.WarpIdx,
		"cluster": d.Cluster, "role": roleOf(d).String(), "what": what(d),
	}
	if d.SourceLocation != "" {
		args["source_location"] = clean(d.SourceLocation, maxText)
	}
	if len(d.Lanes) > 0 {
		args["lanes"] = ranges(d.Lanes[:min(len(d.Lanes), maxLanes)])
	}
	return args
}

package kernelreport

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/prlx-go/prlx/core/kernel/diff"
)

// chromeEvent is one event of the trace format that chrome://tracing and Perfetto read; ts and dur are in microseconds.
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	TS   int64          `json:"ts"`
	Dur  int64          `json:"dur,omitempty"`
	PID  int64          `json:"pid"`
	TID  int64          `json:"tid"`
	Args map[string]any `json:"args,omitempty"`
}

// chromeStep is how long a divergence lasts in the picture, and how far events stand apart, in microseconds.
const chromeStep = 10

// Chrome writes the layout of original prlx 0.5 (viewers print the number of a process behind its name): a process per block, a thread per warp, a slice of 10 us a divergence, and counters. Its time
// axis is the order of events in A, so slices of different warps that stand above each other stand at the same event.
func Chrome(w io.Writer, doc *diff.Document, _ Options) error {
	out := &chromeWriter{w: bufio.NewWriter(w)}
	out.raw(`{"displayTimeUnit":"ns","otherData":`)
	out.json(map[string]any{
		"a": clean(doc.A.Path, maxText), "b": clean(doc.B.Path, maxText), "kernel": clean(doc.A.Kernel, maxText), "verdict": clean(doc.Verdict, maxText),
		"omitted": doc.DivergencesOmitted,
	})
	out.raw(`,"traceEvents":[`)
	out.event(chromeEvent{Name: "process_name", Ph: "M", Args: map[string]any{"name": "prlx divergences: " + suiteName(doc.A.Kernel)}})
	slots := inOrder(doc)
	named := map[int64]bool{0: true}
	warps := map[int64]bool{}
	for i := range slots {
		s := &slots[i]
		pid, tid := blockOf(s.d.WarpIdx, doc)
		if !named[pid] {
			named[pid] = true
			out.event(chromeEvent{Name: "process_name", Ph: "M", PID: pid, Args: map[string]any{"name": "block"}})
		}
		if !warps[s.d.WarpIdx] {
			warps[s.d.WarpIdx] = true
			out.event(chromeEvent{Name: "thread_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": "warp " + number(tid)}})
		}
		out.event(chromeEvent{
			Name: clean(s.d.Kind, 40) + " " + clean(siteName(s.d.SiteID, s.d.SourceLocation), maxName), Cat: clean(s.d.Kind, 40), Ph: "X",
			TS: s.at*chromeStep + s.sub, Dur: max(chromeStep-2*s.sub, 1), PID: pid, TID: tid, Args: chromeArgs(s.d),
		})
	}
	for _, c := range countsOver(slots) {
		out.event(chromeEvent{Name: "divergence_count", Ph: "C", TS: c.at * chromeStep, Args: c.byKind})
	}
	out.raw("]}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

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

// chromeWriter writes JSON piece by piece and keeps the first error.
type chromeWriter struct {
	w     *bufio.Writer
	comma bool
	err   error
}

func (c *chromeWriter) raw(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

func (c *chromeWriter) json(v any) {
	b, err := json.Marshal(v)
	if c.err == nil {
		c.err = err
	}
	c.raw(string(b))
}

func (c *chromeWriter) event(e chromeEvent) {
	if c.comma {
		c.raw(",")
	}
	c.comma = true
	c.raw("\n")
	c.json(e)
}

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// Record says what of a launch is recorded, and where.
type Record struct {
	Path          string `json:"path"`
	Overwrite     bool   `json:"overwrite"`
	Mode          string `json:"mode"` // "digest", "control-flow" or "values"
	Predicates    bool   `json:"predicates"`
	Stores        bool   `json:"stores"`
	Atomics       bool   `json:"atomics"`
	Loads         bool   `json:"loads"`
	Barriers      bool   `json:"barriers"`
	EventsPerWarp uint32 `json:"events_per_warp"`
	Outputs       uint64 `json:"outputs"`    // bytes of contents of written arrays that are kept
	NoWritten     bool   `json:"no_written"` // leave out what the launch wrote; only measurements ask for that

	Places []observe.Place `json:"places"` // where there are events; none: everywhere
	Warps  observe.Warps   `json:"warps"`  // that have events, ranges that ascend; none: all

	Texts       *Texts `json:"texts"`        // of the kernel; nil: not known, or not wanted
	TextsBeside bool   `json:"texts_beside"` // hold texts in a folder that all recordings of the session share

	Instrumented *Instrumented `json:"instrumented"` // the kernel records by itself; nil: it is observed
}

// About is what a recording says of its launch that the launch itself does not know.
type About struct {
	Number     uint64         // of the launch in the session
	ModuleHash string         // of the PTX
	Producer   string         // who records
	Code       func() string  // the PTX as recordings hold it; nil: they hold none
	Origin     *origin.Origin // what the kernel computes; nil: no compiler of graphs made it
}

// code is what a recording holds of what was compiled.
func (a *About) code(kernel string) warptrace.Text {
	if a.Code == nil {
		return warptrace.Text{}
	}
	return warptrace.Text{Function: kernel, Text: strings.ToValidUTF8(a.Code(), "\uFFFD")}
}

// Run runs a launch and says what it did. It is recorded as r says, not at all where r is nil, and observed as w says, likewise. Memory that
// the process cannot access is an error that names the array.
func Run(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *Record, w *Watch) (doc *Document, err error) {
	if err := about.Origin.Check(); err != nil {
		return nil, err
	}
	err = safe.Call(func() (err error) {
		doc, err = run(j, p, l, about, r, w)
		return err
	})
	if err != nil {
		return nil, lostMemory(err, l)
	}
	doc.of(about.Origin)
	return doc, nil
}

func run(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *Record, w *Watch) (*Document, error) {
	seen, err := w.watched(l)
	if err != nil {
		return nil, err
	}
	if r == nil {
		result, err := p.Observe(j, l, nil, seen.with)
		if err != nil {
			return nil, err
		}
		return seen.describe(Describe(l, about.Number, result)), nil
	}
	if r.Instrumented != nil {
		return runInstrumented(j, p, l, about, r)
	}
	rec, err := newRecorder(p, l, about, r, nil)
	if err != nil {
		return nil, err
	}
	defer rec.out.Abort()
	var result *simt.Result
	err = rec.checkpointed(j.Context(), func() (err error) {
		result, err = p.Observe(j, l, rec.recording(), seen.with)
		return err
	})
	if err != nil {
		return nil, err
	}
	doc := seen.describe(Describe(l, about.Number, result))
	doc.Recording, err = rec.commit()
	return doc, err
}

var modes = map[string]warptrace.Mode{
	"digest": warptrace.ModeDigest, "": warptrace.ModeControlFlow, "control-flow": warptrace.ModeControlFlow, "values": warptrace.ModeValues,
}

// recorder writes the recording of one launch as its warps arrive.
type recorder struct {
	request *Record
	mode    warptrace.Mode
	out     *file.Output
	mu      sync.Mutex // of the writer, which checkpoints and warps share
	writer  *warptrace.V2Writer
	done    Recorded
	left    uint64 // rows of stores that had no room
}

// checkpointEvery is how much of a recording a killed process loses, beside the blocks of the kernel that have not ended.
const checkpointEvery = time.Second

// checkpoints writes what the writer holds at every tick, until ctx ends.
func (r *recorder) checkpoints(ctx context.Context, ticks <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
		r.mu.Lock()
		err := r.writer.Checkpoint(r.out)
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// checkpointed runs f while checkpoints are written.
func (r *recorder) checkpointed(ctx context.Context, f func() error) error {
	ticker := time.NewTicker(checkpointEvery)
	defer ticker.Stop()
	ctx, end := context.WithCancel(ctx)
	group, ctx := safe.NewGroup(ctx)
	group.Go(func() error { return r.checkpoints(ctx, ticker.C) })
	err := safe.Call(f)
	end()
	return cmp.Or(err, group.Wait())
}

// newRecorder begins the recording of a launch: of a kernel that is observed, or of one with a table, which records by itself.
func newRecorder(p *simt.Program, l *simt.Launch, about About, r *Record, table *observe.Table) (*recorder, error) {
	mode, ok := modes[r.Mode]
	if !ok {
		return nil, fault.Usagef("there is no mode %q", r.Mode).WithHint("digest, control-flow or values")
	}
	if err := r.Warps.Check(); err != nil {
		return nil, fault.Usagef("%v", err)
	}
	sites, means, err := sitesOf(p, l, table)
	if err != nil {
		return nil, err
	}
	arguments := recordedArguments(l)
	digest := argumentDigest(arguments)
	header := warptrace.Header{
		Version: 2, Kernel: l.Kernel, KernelHash: warptrace.Hash64(l.Kernel), ModuleHash: about.ModuleHash, Grid: l.Grid, Cluster: l.Cluster,
		Block: l.Block, WaveSize: 32, WarpsPerBlock: warpsOf(l.Block), WarpSlots: slots(l), EventsPerWarp: r.EventsPerWarp,
		Arch: target.SM80.Name, ArchNumber: target.SM80.Number, Launch: about.Number, ArgumentDigest: digest, Arguments: arguments, Mode: mode,
		Means: means, Keep: r.Instrumented.keep(), SampleRate: r.Instrumented.rate(), Taken: true, Producer: about.Producer,
		Origin: about.Origin,
	}
	rec := &recorder{request: r, mode: mode, done: Recorded{
		File: r.Path, Sites: sites.Len(), ArgumentDigest: hex(digest), ModuleHash: about.ModuleHash,
	}}
	if rec.out, err = file.Create(r.Path, r.Overwrite); err != nil {
		return nil, err
	}
	if rec.writer, err = warptrace.CreateV2(rec.out, header, sites, warptrace.V2Options{}); err != nil {
		rec.out.Abort()
		return nil, err
	}
	if err := r.Texts.write(rec.writer, r.Path, r.TextsBeside, about.code(l.Kernel)); err != nil {
		rec.out.Abort()
		return nil, err
	}
	rec.notes(slots(l))
	return rec, nil
}

// notes says what was asked to be left out.
func (r *recorder) notes(warps uint64) {
	if len(r.request.Warps) > 0 {
		r.writer.Note(fmt.Sprintf("events of warps %s alone, of %d", r.request.Warps, warps))
	}
	if n := len(r.request.Places); n > 0 {
		r.writer.Note(fmt.Sprintf("events of the lines and functions alone that a filter names (%d)", n))
	}
}

// sitesOf are the sites of a kernel, and how what happens at them is learnt.
func sitesOf(p *simt.Program, l *simt.Launch, table *observe.Table) (*site.Table, warptrace.Means, error) {
	if table != nil {
		return site.NewTable(table.Sites), warptrace.MeansInstrumented, nil
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	sites, err := p.SitesNamed(l.Kernel, names)
	return sites, warptrace.MeansObserved, err
}

func (r *recorder) recording() *simt.Recording {
	return &simt.Recording{
		Mode: r.mode, Predicates: r.request.Predicates, Stores: r.request.Stores, Atomics: r.request.Atomics, Loads: r.request.Loads,
		Barriers: r.request.Barriers, EventsPerWarp: r.request.EventsPerWarp, Filter: observe.Filter{Places: r.request.Places}, Warps: r.request.Warps,
		Warp: func(w *warptrace.Warp) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.done.Warps++
			r.done.Events += int64(w.Len())
			r.left += uint64(max(len(w.Stores)-r.writer.StoreRoom(), 0))
			return r.writer.Append(w)
		},
		Written: !r.request.NoWritten, Keep: r.request.Outputs, Outputs: r.outputs,
		Contents: func(c *warptrace.Contents) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.writer.AddContents(c)
		},
	}
}

// outputs writes what the launch wrote, and notes what did not fit.
func (r *recorder) outputs(o *warptrace.Outputs) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &o.Coverage
	c.RowsDropped += r.left
	w := &Written{Stores: len(o.Stores), Arrays: len(o.Arrays), KeptBytes: c.ContentBytes}
	for i := range o.Arrays {
		w.Bytes += o.Arrays[i].Written
	}
	r.done.Written = w
	if c.ContentBudget > 0 && w.KeptBytes < w.Bytes {
		r.writer.Note(fmt.Sprintf("the contents of %d of %d written bytes were kept", w.KeptBytes, w.Bytes))
	}
	if c.RowsDropped > 0 {
		r.writer.Note(fmt.Sprintf("what warps stored was left out %d times and is in the totals of its statement only", c.RowsDropped))
	}
	if c.ChunksDropped > 0 {
		r.writer.Note(fmt.Sprintf("the digests of %d chunks were left out and are in the digest of their array only", c.ChunksDropped))
	}
	return r.writer.SetOutputs(o)
}

func (r *recorder) commit() (*Recorded, error) {
	if err := r.writer.Close(); err != nil {
		return nil, err
	}
	if err := r.out.Truncate(r.writer.Size()); err != nil { // a checkpoint may have been longer
		return nil, err
	}
	r.done.Bytes = r.out.Appended()
	return &r.done, r.out.Commit()
}

func warpsOf(block [3]uint32) uint32 { return (block[0]*block[1]*block[2] + 31) / 32 }

func slots(l *simt.Launch) uint64 {
	return uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2]) * uint64(warpsOf(l.Block))
}

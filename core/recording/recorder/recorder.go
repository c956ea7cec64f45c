// Package recorder writes the recording of one launch, whoever ran it: a simulator that watches a kernel hands over warps as they end, and of a
// kernel that records by itself, wherever it ran, it makes a recording of what is left in its arena.
package recorder

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
)

// Record says what of a launch is recorded, and where.
type Record struct {
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
	// What a recording holds. With `control-flow` an event for each branch and each predicate of a memory access, with active and
	// taken lanes; with `values` also operands of every lane; with `digest` hashes alone.
	Mode       string `json:"mode" takes:"text" choices:"digest control-flow values" default:"control-flow" group:"record"`
	Predicates bool   `json:"predicates"`
	// Record stores, too.
	Stores bool `json:"stores" takes:"switch" group:"record"`
	// Record atomics, too.
	Atomics bool `json:"atomics" takes:"switch" rare:"yes" group:"record"`
	// Record loads, too.
	Loads bool `json:"loads" takes:"switch" rare:"yes" group:"record"`
	// Record barriers, too.
	Barriers bool `json:"barriers" takes:"switch" rare:"yes" group:"record"`
	// Keep at most so many events of a warp, the first ones.
	EventsPerWarp uint32 `json:"events_per_warp" takes:"whole" unset:"all" rare:"yes" group:"record"`
	// Keep contents of what each launch wrote, up to SIZE. They come with the thread that wrote each element last; of arrays that do
	// not fit the front is kept. Otherwise there are digests alone.
	Outputs   uint64 `json:"outputs" takes:"size" group:"record"`
	NoWritten bool   `json:"no_written"` // leave out what the launch wrote; only measurements ask for that

	Places []observe.Place `json:"places"` // where there are events; none: everywhere
	Warps  observe.Warps   `json:"warps"`  // that have events, ranges that ascend; none: all

	Texts       *Texts `json:"texts"`        // of the kernel; nil: not known, or not wanted
	TextsBeside bool   `json:"texts_beside"` // hold texts in a folder that all recordings of the session share

	Instrumented *Instrumented `json:"instrumented"` // the kernel records by itself; nil: it is observed
}

// modes are those of recordings by the names that requests have for them.
var modes = map[string]warptrace.Mode{
	"digest": warptrace.ModeDigest, "": warptrace.ModeControlFlow, "control-flow": warptrace.ModeControlFlow, "values": warptrace.ModeValues,
}

// Check refuses what cannot be recorded, and says in which mode the rest is.
func (r *Record) Check() (warptrace.Mode, error) {
	mode, ok := modes[r.Mode]
	if !ok {
		return 0, fault.Usagef("there is no mode %q", r.Mode).WithHint("digest, control-flow or values")
	}
	if err := r.Warps.Check(); err != nil {
		return 0, fault.Usagef("%v", err)
	}
	return mode, nil
}

// Launch is what a recording says of the launch that it is of.
type Launch struct {
	Kernel               string
	Entry                string // the kernel as its code calls it; "": likewise
	Grid, Block, Cluster [3]uint32
	Lanes                uint32 // of a warp; 0: 32
	Arch                 string // "sm_80"
	ArchNumber           uint32

	Number     uint64               // of the launch in the session
	ModuleHash string               // of what was compiled
	Producer   string               // who records
	Code       func() string        // what was compiled, as recordings hold it; nil: they hold none
	Arguments  []warptrace.Argument // before the launch, without what the compiler added
	Origin     *origin.Origin       // what the kernel computes; nil: no compiler of graphs made it
}

// lanes are those of a warp.
func (l *Launch) lanes() uint32 { return cmp.Or(l.Lanes, 32) }

// warpsPerBlock are those that a block begins.
func (l *Launch) warpsPerBlock() uint32 {
	return (l.Block[0]*l.Block[1]*l.Block[2] + l.lanes() - 1) / l.lanes()
}

// warps are those of the whole launch.
func (l *Launch) warps() uint64 {
	return uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2]) * uint64(l.warpsPerBlock())
}

// code is what a recording holds of what was compiled.
func (l *Launch) code() warptrace.Text {
	if l.Code == nil {
		return warptrace.Text{}
	}
	return warptrace.Text{Function: cmp.Or(l.Entry, l.Kernel), Text: strings.ToValidUTF8(l.Code(), "\uFFFD")}
}

// Recorder writes the recording of one launch as its warps arrive.
type Recorder struct {
	request *Record
	mode    warptrace.Mode
	out     *file.Output
	mu      sync.Mutex // of the writer, which checkpoints and warps share
	writer  *warptrace.V2Writer
	done    Recorded
	left    uint64 // rows of stores that had no room
}

// Recorded says what recording a launch left.
type Recorded struct {
	File           string `json:"file"`
	Bytes          int64  `json:"bytes"`
	Warps          int64  `json:"warps"`
	Events         int64  `json:"events"`
	Sites          int    `json:"sites"`
	ArgumentDigest string `json:"argument_digest"`
	ModuleHash     string `json:"module_hash"`

	Written *Written `json:"written"` // to global memory; null: not recorded
}

// Written says what of the launch's stores is in a recording.
type Written struct {
	Stores    int    `json:"stores"`     // sums: pairs of a statement and an array
	Arrays    int    `json:"arrays"`     // with digests
	Bytes     uint64 `json:"bytes"`      // that the launch wrote
	KeptBytes uint64 `json:"kept_bytes"` // whose contents are in the recording
}

// New begins the recording of a launch. How what happens at the sites is learnt says means.
func New(l *Launch, r *Record, sites *site.Table, means warptrace.Means) (*Recorder, error) {
	mode, err := r.Check()
	if err != nil {
		return nil, err
	}
	digest := ArgumentDigest(l.Arguments)
	header := warptrace.Header{
		Version: 2, Kernel: l.Kernel, KernelHash: warptrace.Hash64(l.Kernel), ModuleHash: l.ModuleHash, Grid: l.Grid, Cluster: l.Cluster,
		Block: l.Block, WaveSize: int(l.lanes()), WarpsPerBlock: l.warpsPerBlock(), WarpSlots: l.warps(), EventsPerWarp: r.EventsPerWarp,
		Arch: l.Arch, ArchNumber: l.ArchNumber, Launch: l.Number, ArgumentDigest: digest, Arguments: l.Arguments, Mode: mode,
		Means: means, Keep: r.Instrumented.keep(), SampleRate: r.Instrumented.rate(), Taken: true, Producer: l.Producer,
		Origin: l.Origin,
	}
	rec := &Recorder{request: r, mode: mode, done: Recorded{
		File: r.Path, Sites: sites.Len(), ArgumentDigest: hex(digest), ModuleHash: l.ModuleHash,
	}}
	if rec.out, err = file.Create(r.Path, r.Overwrite); err != nil {
		return nil, err
	}
	if rec.writer, err = warptrace.CreateV2(rec.out, header, sites, warptrace.V2Options{}); err != nil {
		rec.out.Abort()
		return nil, err
	}
	if err := r.Texts.write(rec.writer, r.Path, r.TextsBeside, l.code()); err != nil {
		rec.out.Abort()
		return nil, err
	}
	rec.notes(l.warps())
	return rec, nil
}

// notes says what was asked to be left out.
func (r *Recorder) notes(warps uint64) {
	if len(r.request.Warps) > 0 {
		r.writer.Note(fmt.Sprintf("events of warps %s alone, of %d", r.request.Warps, warps))
	}
	if n := len(r.request.Places); n > 0 {
		r.writer.Note(fmt.Sprintf("events of the lines and functions alone that a filter names (%d)", n))
	}
}

// Note says something of the recording; "" says nothing.
func (r *Recorder) Note(text string) {
	if text != "" {
		r.writer.Note(text)
	}
}

// Mode is what the recording keeps.
func (r *Recorder) Mode() warptrace.Mode { return r.mode }

// Abort leaves nothing behind, unless Commit was there before.
func (r *Recorder) Abort() { r.out.Abort() }

// Warp takes a warp that ended. Several goroutines may call it.
func (r *Recorder) Warp(w *warptrace.Warp) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done.Warps++
	r.done.Events += int64(w.Len())
	r.left += uint64(max(len(w.Stores)-r.writer.StoreRoom(), 0))
	return r.writer.Append(w)
}

// Contents takes what was written to one array.
func (r *Recorder) Contents(c *warptrace.Contents) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writer.AddContents(c)
}

// Outputs takes what the launch wrote, and notes what did not fit.
func (r *Recorder) Outputs(o *warptrace.Outputs) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &o.Coverage
	c.RowsDropped += r.left
	w := &Written{Stores: len(o.Stores), KeptBytes: c.ContentBytes}
	if c.Arrays {
		w.Arrays = len(o.Arrays)
	}
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

// Commit ends the recording, which appears under its name.
func (r *Recorder) Commit() (*Recorded, error) {
	if err := r.writer.Close(); err != nil {
		return nil, err
	}
	if err := r.out.Truncate(r.writer.Size()); err != nil { // a checkpoint may have been longer
		return nil, err
	}
	r.done.Bytes = r.out.Appended()
	return &r.done, r.out.Commit()
}

// checkpointEvery is how much of a recording a killed process loses, beside the blocks of the kernel that have not ended.
const checkpointEvery = time.Second

// checkpoints writes what the writer holds at every tick, until ctx ends.
func (r *Recorder) checkpoints(ctx context.Context, ticks <-chan time.Time) error {
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

// Checkpointed runs f while checkpoints are written.
func (r *Recorder) Checkpointed(ctx context.Context, f func() error) error {
	ticker := time.NewTicker(checkpointEvery)
	defer ticker.Stop()
	ctx, end := context.WithCancel(ctx)
	group, ctx := safe.NewGroup(ctx)
	group.Go(func() error { return r.checkpoints(ctx, ticker.C) })
	err := safe.Call(f)
	end()
	return cmp.Or(err, group.Wait())
}

func hex(n uint64) string { return fmt.Sprintf("0x%016x", n) }

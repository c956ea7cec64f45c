package warptrace

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// recording is what a format has to offer. Trace adds what both formats share.
type recording interface {
	// index lists the warps that recorded something, ascending. It may read the file the first time.
	index(ctx context.Context) ([]WarpInfo, error)
	// readWarp fills into with a warp of the index, by its position there, rings included.
	readWarp(ctx context.Context, at int, into *Warp) error
	// losses says what is missing from the whole file.
	losses(ctx context.Context) (Losses, error)
	close() error
}

// Losses is what is missing from a recording.
type Losses struct {
	Events         int64 // in the file
	Dropped        int64 // lost because a buffer was full
	WarpsWithDrops int64
	SampleRate     uint32 // one in so many events was kept; 1: every one
	Truncated      bool   // the file ends before its end
	Notes          []string
}

// Trace is an open recording. Its methods may be called by several goroutines.
type Trace struct {
	src    *file.Source
	owned  bool
	header *Header
	sites  *site.Table
	rec    recording
}

// maxWarps is how many warps a recording of v2 may have.
const maxWarps = 1 << 24

// headBytes is how much of a file tells its format.
const headBytes = 16

// Open opens a recording, of v1 or v2 by content. The Trace does not own src.
func Open(ctx context.Context, src *file.Source) (*Trace, error) {
	head := make([]byte, min(int64(headBytes), src.Size()))
	if _, err := src.ReadAt(head, 0); err != nil && int64(len(head)) < src.Size() {
		return nil, err
	}
	switch {
	case isV1(head):
		return openV1(ctx, src)
	case isV2(head):
		return openV2(ctx, src)
	}
	if len(head) == 0 {
		return nil, fault.Formatf(src.Path(), 0, "the file is empty, expected a recording")
	}
	return nil, fault.Formatf(src.Path(), 0, "is not a recording: it begins with %q", head).
		WithHint("expected a .prlx file; prlx inspect says what a file is")
}

// OpenPath opens the recording in a file. gzip and zstd around it are read through.
func OpenPath(ctx context.Context, path string) (*Trace, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return OpenOwned(ctx, src)
}

// OpenOwned opens a recording and takes over src, which Close closes; it is closed also where the recording cannot be opened.
func OpenOwned(ctx context.Context, src *file.Source) (*Trace, error) {
	t, err := Open(ctx, src)
	if err != nil {
		src.Close()
		return nil, err
	}
	t.owned = true
	return t, nil
}

// IsRecording reports whether a file that begins with head is a recording.
func IsRecording(head []byte) bool { return isV1(head) || isV2(head) }

// Close releases what the Trace holds. It is safe to call twice.
func (t *Trace) Close() error {
	err := t.rec.close()
	if t.owned {
		if closeErr := t.src.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}

// Path returns the name that the recording was opened under.
func (t *Trace) Path() string { return t.src.Path() }

// Header says what was recorded, and how. It must not be changed.
func (t *Trace) Header() *Header { return t.header }

// Sites returns the site table: of v2 the one in the file, of v1 what SetSites set. It may be nil, which is an empty table.
func (t *Trace) Sites() *site.Table { return t.sites }

// SetSites gives a v1 recording the sites of a site map. It must be called before the Trace is shared.
func (t *Trace) SetSites(sites *site.Table) { t.sites = sites }

// Index lists the warps that recorded something, ascending by number. The result must not be changed.
func (t *Trace) Index(ctx context.Context) ([]WarpInfo, error) { return t.rec.index(ctx) }

// Losses says what is missing from the recording.
func (t *Trace) Losses(ctx context.Context) (Losses, error) { return t.rec.losses(ctx) }

// ReadWarp reads one warp, whatever its place in the file. A warp that recorded nothing has no events.
func (t *Trace) ReadWarp(ctx context.Context, warp uint64, into *Warp) error {
	if v, ok := t.rec.(*v1); ok {
		if done, err := v.readSlot(warp, into); done {
			return err
		}
	}
	index, err := t.rec.index(ctx)
	if err != nil {
		return err
	}
	at, ok := find(index, warp)
	if !ok {
		into.reset(WarpInfo{Warp: warp}, 0)
		return nil
	}
	return t.rec.readWarp(ctx, at, into)
}

// ReadCoded reads one warp as its block holds it, for whoever compares many warps and looks at few of their events; ok is false where the
// block holds none, and where snapshots belong to the warp. Its digests are not computed: ReadWarp does that, and Verify for all warps.
func (t *Trace) ReadCoded(ctx context.Context, warp uint64, into *Coded) (ok bool, err error) {
	v, is := t.rec.(*v2)
	if !is {
		return false, nil
	}
	at, found := find(v.warps, warp)
	if !found {
		return false, nil
	}
	return v.readCoded(ctx, at, into)
}

// MayHaveSnapshots reports whether a warp may have snapshots, as far as that shows without reading warps.
func (t *Trace) MayHaveSnapshots() bool {
	if v, ok := t.rec.(*v2); ok {
		return v.mostSnapshots > 0
	}
	return t.header.SnapshotDepth > 0
}

// SiteOf returns the site of a local number.
func (t *Trace) SiteOf(local uint32) (*site.Site, bool) {
	if t.header.Version == 1 {
		i, ok := t.sites.ByID(local)
		if !ok {
			return nil, false
		}
		return t.sites.At(i), true
	}
	if int64(local) >= int64(t.sites.Len()) {
		return nil, false
	}
	return t.sites.At(int(local)), true
}

// SiteID returns what names the site of a local number in this recording: the id in v1, the key in v2.
func (t *Trace) SiteID(local uint32) uint64 {
	if t.header.Version == 1 {
		return uint64(local)
	}
	if s, ok := t.SiteOf(local); ok {
		return uint64(s.Key)
	}
	return 0
}

// find returns the position of a warp in an index.
func find(index []WarpInfo, warp uint64) (int, bool) {
	lo, hi := 0, len(index)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if index[mid].Warp < warp {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(index) && index[lo].Warp == warp
}

// reset makes w an n-event warp whose columns may hold old values.
func (w *Warp) reset(info WarpInfo, n int) {
	w.WarpInfo = info
	w.resize(n)
	w.History, w.Snapshots = w.History[:0], w.Snapshots[:0]
}

// resize gives the columns n elements, which may hold old values.
func (w *Warp) resize(n int) {
	w.Site, w.Kind, w.Dir, w.Aux = resized(w.Site, n), resized(w.Kind, n), resized(w.Dir, n), resized(w.Aux, n)
	w.Active, w.Taken, w.Value, w.Type = resized(w.Active, n), resized(w.Taken, n), resized(w.Value, n), resized(w.Type, n)
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

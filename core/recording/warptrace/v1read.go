package warptrace

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// v1 is an open recording of format v1.
type v1 struct {
	src    *file.Source
	header *Header
	layout *v1Layout
	cut    bool // rings are missing, as far as that was known when the file was opened

	packFree int64 // the limit of that name

	mu      sync.Mutex // guards what follows until indexed is true, when it stops changing
	indexed bool
	slots   []WarpInfo
	lost    Losses
	packed  *v1Packed // the payload of a compressed file, for reading at random; nil when the file is not compressed
}

func openV1(_ context.Context, src *file.Source) (*Trace, error) {
	head := make([]byte, min(v1Header, src.Size()))
	if _, err := src.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h, l, err := parseV1(src.Path(), head)
	if err != nil {
		return nil, err
	}
	v := &v1{src: src, header: h, layout: l, packFree: packFree}
	if l.compressed() {
		err = v.checkFrame()
	} else {
		err = v.checkSize(src.Size()-v1Header, src.Size())
	}
	if err != nil {
		return nil, err
	}
	return &Trace{src: src, header: h, rec: v}, nil
}

// checkSize compares the size of the payload with what the header implies: events must be there, rings may be cut short.
func (v *v1) checkSize(have, offset int64) error {
	l := v.layout
	if have < l.eventBytes() {
		err := fault.Formatf(v.src.Path(), offset, "the events are cut short: %d bytes of %d (%d warps of %d events)", have, l.eventBytes(), l.slots, l.eventsPerWarp)
		return err.WithHint("record again, or copy the file again")
	}
	v.cut = have < l.payload
	if v.cut {
		v.header.Warnings = append(v.header.Warnings, cutNote)
	}
	return nil
}

// cutNote is the warning for a file whose rings are cut short.
const cutNote = "the histories and snapshots are cut short: what is missing counts as empty"

// maxPayload is how much the events of a compressed file may inflate to. 2^24 warps of the usual 4,096 events take as much.
const maxPayload = int64(1) << 40

// checkFrame compares the size that the zstd frame declares with what the header implies, before anything is inflated.
func (v *v1) checkFrame() error {
	if v.layout.payload > maxPayload {
		return fault.New(fault.Limit, "the compressed events would inflate to %d bytes; at most %d are read", v.layout.payload, maxPayload).WithPath(v.src.Path())
	}
	head := make([]byte, min(zstd.HeaderMaxSize, v.src.Size()-v1Header))
	if _, err := v.src.ReadAt(head, v1Header); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var frame zstd.Header
	if err := frame.Decode(head); err != nil {
		return v.corrupt(err)
	}
	switch {
	case !frame.HasFCS:
		return nil
	case frame.FrameContentSize > uint64(v.layout.payload):
		return v.tooLong()
	}
	return v.checkSize(int64(frame.FrameContentSize), v1Header)
}

// maxWindow is the largest zstd window that is read: what level 22 of the reference encoder uses.
const maxWindow = 128 << 20

// inflate opens the payload of a compressed file for one pass. One goroutine inflates where it is read: measured on two cores, this takes
// the least processor time, and a walk has two files to keep both busy with.
func (v *v1) inflate(ctx context.Context) (*zstd.Decoder, error) {
	in := &sectionReader{ctx: ctx, src: v.src, off: v1Header}
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, v.corrupt(err)
	}
	return d, nil
}

// corrupt tells an error of the decoder as one of the file.
func (v *v1) corrupt(err error) error {
	var already *fault.Error
	switch {
	case errors.As(err, &already), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fault.Formatf(v.src.Path(), v1Header, "the compressed events are cut short").Wrap(err).WithHint("record again, or copy the file again")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fault.New(fault.Limit, "the compressed events need a window of more than %d MiB", maxWindow>>20).WithPath(v.src.Path()).Wrap(err)
	}
	return fault.Formatf(v.src.Path(), v1Header, "the compressed events are corrupt: %v", err).Wrap(err).WithHint("record again, or copy the file again")
}

// shorter tells the end of a file where it should go on as an error of the file.
func shorter(path string, offset int64, err error) error {
	if errors.Is(err, io.EOF) {
		return fault.Formatf(path, offset, "the file ends inside the events").Wrap(err)
	}
	return err
}

// sectionReader reads a Source from an offset to its end, until the context is done.
type sectionReader struct {
	ctx context.Context
	src *file.Source
	off int64
}

func (r *sectionReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.off >= r.src.Size() {
		return 0, io.EOF
	}
	n, err := r.src.ReadAt(p[:min(int64(len(p)), r.src.Size()-r.off)], r.off)
	r.off += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// v1Counters are the counters in front of a warp's events.
type v1Counters struct{ overflow, events, total uint32 }

func v1CountersOf(b []byte) v1Counters {
	return v1Counters{binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}
}

// info makes an index entry of a warp's counters.
func (v *v1) info(slot int64, c v1Counters) WarpInfo {
	w := WarpInfo{Warp: uint64(slot), Events: uint32(min(int64(c.events), v.layout.eventsPerWarp)), Dropped: uint64(c.overflow), Stored: c.events}
	w.Total = max(uint64(c.total), uint64(w.Events)+w.Dropped)
	return w
}

// count adds a warp to losses.
func (l *Losses) count(w *WarpInfo) {
	l.Events += int64(w.Events)
	l.Dropped += int64(w.Dropped)
	if w.Dropped > 0 {
		l.WarpsWithDrops++
	}
}

// addNotes ends the losses of one pass. cut says that the pass found rings missing.
func (v *v1) addNotes(l *Losses, cut bool) {
	l.Truncated = v.cut || cut
	l.Notes = append([]string{}, v.header.Warnings...)
	if cut && !v.cut {
		l.Notes = append(l.Notes, cutNote)
	}
}

func (v *v1) index(ctx context.Context) ([]WarpInfo, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.indexed {
		return v.slots, nil
	}
	lost := Losses{SampleRate: v.header.SampleRate}
	var err error
	if v.layout.compressed() {
		err = v.pack(ctx, &lost)
	} else {
		err = v.readCounters(ctx, &lost)
	}
	if err != nil {
		v.slots = nil
		return nil, err
	}
	v.lost, v.indexed = lost, true
	return v.slots, nil
}

// readCounters makes the index of an uncompressed file.
func (v *v1) readCounters(ctx context.Context, lost *Losses) error {
	v.slots = nil
	read := &counterReader{src: v.src, stride: v.layout.warpBytes(), slots: v.layout.slots}
	for slot := range v.layout.slots {
		if slot&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := read.at(slot)
		if err != nil {
			return err
		}
		if err := v.addSlot(slot, c, lost); err != nil {
			return err
		}
	}
	v.addNotes(lost, false)
	return nil
}

// v1MaxWarps is how many warps an index holds at most: as many entries take 400 MB.
const v1MaxWarps = 1 << 22

// addSlot adds a warp to the index, if it recorded something.
func (v *v1) addSlot(slot int64, c v1Counters, lost *Losses) error {
	if c == (v1Counters{}) {
		return nil
	}
	if len(v.slots) >= v1MaxWarps {
		return fault.New(fault.Limit, "more than %d warps recorded something", v1MaxWarps).WithPath(v.src.Path())
	}
	w := v.info(slot, c)
	lost.count(&w)
	v.slots = append(v.slots, w)
	return nil
}

// counterReader reads the counters of slots, several at a time where slots are small.
type counterReader struct {
	src    *file.Source
	stride int64
	slots  int64
	buf    []byte
	first  int64 // slot at the start of buf
	held   int64 // slots in buf
}

func (r *counterReader) at(slot int64) (v1Counters, error) {
	const window = 64 << 10
	off := v1Header + slot*r.stride
	if r.stride > window/8 {
		r.buf = grown(r.buf, v1WarpHead)
		if _, err := r.src.ReadAt(r.buf, off); err != nil {
			return v1Counters{}, shorter(r.src.Path(), off, err)
		}
		return v1CountersOf(r.buf), nil
	}
	if slot < r.first || slot >= r.first+r.held {
		r.buf = grown(r.buf, window/r.stride*r.stride)
		r.first, r.held = slot, min(int64(len(r.buf))/r.stride, r.slots-slot)
		if _, err := r.src.ReadAt(r.buf[:r.held*r.stride], off); err != nil {
			r.held = 0
			return v1Counters{}, shorter(r.src.Path(), off, err)
		}
	}
	return v1CountersOf(r.buf[(slot-r.first)*r.stride:]), nil
}

func (v *v1) losses(ctx context.Context) (Losses, error) {
	_, err := v.index(ctx)
	return v.lost, err
}

func (v *v1) readWarp(_ context.Context, at int, into *Warp) error {
	return v.readPlace(v.place(at, v.slots[at].Warp), v.slots[at], into)
}

// readSlot reads a warp without the index, where the file is not compressed; it returns false where it is.
func (v *v1) readSlot(warp uint64, into *Warp) (bool, error) {
	if v.layout.compressed() {
		return false, nil
	}
	if warp >= uint64(v.layout.slots) {
		into.reset(WarpInfo{Warp: warp}, 0)
		return true, nil
	}
	var head [v1WarpHead]byte
	off := v1Header + int64(warp)*v.layout.warpBytes()
	if _, err := v.src.ReadAt(head[:], off); err != nil {
		return true, shorter(v.src.Path(), off, err)
	}
	c := v1CountersOf(head[:])
	if c == (v1Counters{}) {
		into.reset(WarpInfo{Warp: warp}, 0)
		return true, nil
	}
	return true, v.readPlace(v.place(-1, warp), v.info(int64(warp), c), into)
}

// v1Place is where the parts of one warp can be read; an offset of -1 says that a part is not there.
type v1Place struct {
	src                        *file.Source
	events, history, snapshots int64
}

// place finds the warp at a position of the index. In an uncompressed file its number alone decides.
func (v *v1) place(at int, warp uint64) v1Place {
	if v.packed != nil {
		return v.packed.place(at)
	}
	p := v1Place{src: v.src, events: v1Header + int64(warp)*v.layout.warpBytes() + v1WarpHead}
	p.history, p.snapshots = v.ringAt(v.layout.history, warp), v.ringAt(v.layout.snapshots, warp)
	return p
}

// ringAt is the offset of a warp's ring in an uncompressed file, -1 where it is cut off or there is none.
func (v *v1) ringAt(r ring, warp uint64) int64 {
	off := v1Header + r.offset + int64(warp)*r.stride()
	if r.depth == 0 || off+r.stride() > v.src.Size() {
		return -1
	}
	return off
}

// eventBuffers keeps the buffers of events being decoded.
var eventBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (v *v1) readPlace(p v1Place, info WarpInfo, into *Warp) error {
	into.reset(info, 0)
	buf := eventBuffers.Get().(*[]byte)
	defer eventBuffers.Put(buf)
	n := int64(info.Events) * v1EventBytes
	*buf = grown(*buf, n)
	if n > 0 {
		if _, err := p.src.ReadAt((*buf)[:n], p.events); err != nil {
			return shorter(p.src.Path(), p.events, err)
		}
	}
	events := V1Events((*buf)[:n])
	if err := events.whole(v.src.Path(), info.Warp); err != nil {
		return err
	}
	events.decode(0, int(info.Events), into)
	return v.readRings(p, into)
}

func (v *v1) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.packed == nil {
		return nil
	}
	return v.packed.src.Close()
}

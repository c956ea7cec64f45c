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
	"github.com/prlx-go/prlx/core/kernel/site"
)

// v1 is an open recording of format v1.
type v1 struct {
	src    *file.Source
	header *Header
	layout *v1Layout

	mu      sync.Mutex
	payload *file.Source // the inflated payload, made when something is read at random; nil when the file is not compressed
	slots   []WarpInfo   // the index, once it is known
	lost    Losses
	indexed bool
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
	v := &v1{src: src, header: h, layout: l}
	if !l.compressed() {
		if have := src.Size() - v1Header; have < l.eventBytes() {
			return nil, fault.Formatf(src.Path(), src.Size(), "the events are cut short: %d bytes of %d (%d warps of %d events)", have, l.eventBytes(), l.slots, l.eventsPerWarp).
				WithHint("record again, or copy the file again")
		}
		v.noteCutSections(src.Size() - v1Header)
	} else if err := v.checkFrame(); err != nil {
		return nil, err
	}
	return &Trace{src: src, header: h, rec: v}, nil
}

// noteCutSections says which rings are missing from a payload of so many bytes.
func (v *v1) noteCutSections(have int64) {
	for _, s := range []struct {
		name string
		ring
	}{{"history", v.layout.history}, {"snapshots", v.layout.snapshots}} {
		if s.depth > 0 && have < s.offset+v.layout.slots*s.stride() {
			v.header.Warnings = append(v.header.Warnings, "the section of "+s.name+" is cut short: what is missing counts as empty")
		}
	}
}

// checkFrame compares the size that the zstd frame declares with what the header implies, before anything is inflated.
func (v *v1) checkFrame() error {
	head := make([]byte, min(zstd.HeaderMaxSize, v.src.Size()-v1Header))
	if _, err := v.src.ReadAt(head, v1Header); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var frame zstd.Header
	if err := frame.Decode(head); err != nil {
		return fault.Formatf(v.src.Path(), v1Header, "the compressed events are no zstd frame: %v", err).Wrap(err)
	}
	if frame.HasFCS && frame.FrameContentSize < uint64(v.layout.eventBytes()) {
		return fault.Formatf(v.src.Path(), v1Header, "the events are cut short: the frame holds %d bytes of %d", frame.FrameContentSize, v.layout.eventBytes())
	}
	if frame.HasFCS {
		v.noteCutSections(int64(min(frame.FrameContentSize, 1<<62)))
	}
	return nil
}

// maxWindow is the largest zstd window that is read: level 22 of the reference needs 128 MiB for long-distance matching only.
const maxWindow = 128 << 20

// inflate opens the payload of a compressed file for one pass.
func (v *v1) inflate(ctx context.Context, concurrency int) (*zstd.Decoder, error) {
	in := &sectionReader{ctx: ctx, src: v.src, off: v1Header}
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, v.corrupt(err)
	}
	return d, nil
}

func (v *v1) corrupt(err error) error {
	var already *fault.Error
	if errors.As(err, &already) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.Formatf(v.src.Path(), v1Header, "the compressed events are cut short").Wrap(err).WithHint("record again, or copy the file again")
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return fault.New(fault.Limit, "the compressed events need a window of more than %d MiB", maxWindow>>20).WithPath(v.src.Path()).Wrap(err)
	}
	return fault.Formatf(v.src.Path(), v1Header, "the compressed events are corrupt: %v", err).Wrap(err).WithHint("record again, or copy the file again")
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

// at returns where the payload can be read at any offset, and where in it the payload begins. A compressed payload is inflated
// into a temporary file, as large as the header implies and no larger.
func (v *v1) at(ctx context.Context) (*file.Source, int64, error) {
	if !v.layout.compressed() {
		return v.src, v1Header, nil
	}
	if v.payload != nil {
		return v.payload, 0, nil
	}
	d, err := v.inflate(ctx, 1)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	s, err := file.Spool(ctx, v.src.Path(), d, v.layout.payload)
	if err != nil {
		return nil, 0, v.corrupt(unwrapCorrupt(err))
	}
	if s.Size() < v.layout.eventBytes() {
		s.Close()
		return nil, 0, v.corrupt(io.ErrUnexpectedEOF)
	}
	v.payload = s
	return s, 0, nil
}

// unwrapCorrupt finds the decoder's error in one that file.Spool made of it, so that it is told as ours.
func unwrapCorrupt(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Format && f.Err != nil {
		return f.Err
	}
	return err
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

func (v *v1) index(ctx context.Context) ([]WarpInfo, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.indexed {
		return v.slots, nil
	}
	src, base, err := v.at(ctx)
	if err != nil {
		return nil, err
	}
	lost := v.newLosses()
	var slots []WarpInfo
	read := newCounterReader(src, base, v.layout)
	for slot := range v.layout.slots {
		if slot&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c, err := read.at(slot)
		if err != nil {
			return nil, err
		}
		if c == (v1Counters{}) {
			continue
		}
		if len(slots) >= maxWarps {
			return nil, fault.New(fault.Limit, "more than %d warps recorded something", maxWarps).WithPath(v.src.Path())
		}
		w := v.info(slot, c)
		lost.count(&w)
		slots = append(slots, w)
	}
	v.slots, v.lost, v.indexed = slots, lost, true
	return slots, nil
}

// maxWarps is how many warps an index holds at most: 2^24 entries are 1.5 GB.
const maxWarps = 1 << 24

func (v *v1) newLosses() Losses {
	return Losses{SampleRate: v.header.SampleRate, Notes: append([]string{}, v.header.Warnings...)}
}

// counterReader reads the counters of slots, several at a time where slots are small.
type counterReader struct {
	src    *file.Source
	base   int64
	stride int64
	slots  int64
	buf    []byte
	first  int64 // slot at the start of buf
	held   int64 // slots in buf
}

func newCounterReader(src *file.Source, base int64, l *v1Layout) *counterReader {
	return &counterReader{src: src, base: base, stride: l.warpBytes(), slots: l.slots}
}

func (r *counterReader) at(slot int64) (v1Counters, error) {
	const window = 64 << 10
	if r.stride > window/8 {
		if r.buf == nil {
			r.buf = make([]byte, v1WarpHead)
		}
		if _, err := r.src.ReadAt(r.buf, r.base+slot*r.stride); err != nil {
			return v1Counters{}, err
		}
		return v1CountersOf(r.buf), nil
	}
	if slot < r.first || slot >= r.first+r.held {
		if r.buf == nil {
			r.buf = make([]byte, window/r.stride*r.stride)
		}
		r.first, r.held = slot, min(int64(len(r.buf))/r.stride, r.slots-slot)
		if _, err := r.src.ReadAt(r.buf[:r.held*r.stride], r.base+slot*r.stride); err != nil {
			r.held = 0
			return v1Counters{}, err
		}
	}
	return v1CountersOf(r.buf[(slot-r.first)*r.stride:]), nil
}

func (v *v1) losses(ctx context.Context) (Losses, error) {
	_, err := v.index(ctx)
	return v.lost, err
}

func (v *v1) readWarp(ctx context.Context, at int, into *Warp) error {
	info := v.slots[at]
	v.mu.Lock()
	src, base, err := v.at(ctx)
	v.mu.Unlock()
	if err != nil {
		return err
	}
	b := make([]byte, int64(info.Events)*v1EventBytes)
	if _, err := src.ReadAt(b, base+int64(info.Warp)*v.layout.warpBytes()+v1WarpHead); err != nil && len(b) > 0 {
		return err
	}
	decodeV1(b, info, into)
	return v.rings(src, base, into)
}

// decodeV1 turns the events of one warp into columns.
func decodeV1(events V1Events, info WarpInfo, into *Warp) {
	into.reset(info, 0)
	events.Decode(0, events.Len(), into)
}

// rings reads the history and snapshot rings of a warp. What is cut off counts as empty.
func (v *v1) rings(src *file.Source, base int64, into *Warp) error {
	if r := v.layout.history; r.depth > 0 {
		items, err := readRing(src, base, r, int64(into.Warp))
		if err != nil {
			return err
		}
		for _, b := range items {
			into.History = append(into.History, HistoryEntry{
				Site: binary.LittleEndian.Uint32(b), Value: uint64(binary.LittleEndian.Uint32(b[4:])), Seq: binary.LittleEndian.Uint32(b[8:]), Event: -1,
			})
		}
	}
	if r := v.layout.snapshots; r.depth > 0 {
		items, err := readRing(src, base, r, int64(into.Warp))
		if err != nil {
			return err
		}
		for _, b := range items {
			into.Snapshots = append(into.Snapshots, decodeSnapshot(b))
		}
	}
	sortRings(into)
	v.attach(into)
	return nil
}

// readRing returns the valid entries of one warp's ring, in the order of their slots.
func readRing(src *file.Source, base int64, r ring, warp int64) ([][]byte, error) {
	off := base + r.offset + warp*r.stride()
	if off+v1RingHead > src.Size() {
		return nil, nil
	}
	b := make([]byte, min(r.stride(), src.Size()-off))
	if _, err := src.ReadAt(b, off); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	total := int64(binary.LittleEndian.Uint32(b[8:]))
	var items [][]byte
	for i := range min(total, r.depth) {
		at := v1RingHead + i*r.item
		if at+r.item > int64(len(b)) {
			break
		}
		items = append(items, b[at:at+r.item])
	}
	return items, nil
}

func decodeSnapshot(b []byte) Snapshot {
	s := Snapshot{
		Site: binary.LittleEndian.Uint32(b), Active: uint64(binary.LittleEndian.Uint32(b[4:])), Seq: binary.LittleEndian.Uint32(b[8:]), Event: -1,
		Compare: site.NoCompare, Role: RoleCompare, Type: TypeBits, Lhs: make([]uint64, v1SnapLanes), Rhs: make([]uint64, v1SnapLanes),
	}
	if p := binary.LittleEndian.Uint32(b[12:]); p < uint32(site.NoCompare) {
		s.Compare = site.Compare(p)
	}
	for lane := range v1SnapLanes {
		s.Lhs[lane] = uint64(binary.LittleEndian.Uint32(b[16+4*lane:]))
		s.Rhs[lane] = uint64(binary.LittleEndian.Uint32(b[16+4*v1SnapLanes+4*lane:]))
	}
	return s
}

func (v *v1) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.payload == nil {
		return nil
	}
	return v.payload.Close()
}

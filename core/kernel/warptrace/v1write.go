package warptrace

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/site"
)

// V1Options shape a file of format v1. The zero value writes an uncompressed file.
type V1Options struct {
	Compress bool // events and rings in one zstd frame, as the described runtime writes it
	Level    int  // zstd level, 1 to 19; 0: 3
}

// V1Writer writes a recording of format v1 warp by warp. Events come first in the file, histories and snapshots after all of them, so
// the rings of all warps are held until Close: 16 and 288 bytes an entry.
type V1Writer struct {
	out    io.Writer
	frame  *zstd.Encoder // nil when not compressed
	layout *v1Layout
	next   int64 // the warp whose buffer comes next
	zeros  []byte
	row    []byte
	rings  map[int64]*heldRings
	counts v1WriteCounts
}

// v1WriteCounts are what had no place in v1.
type v1WriteCounts struct {
	events, wideMasks, wideValues, taken, history, snapshots, kinds int64
}

// heldRings are the encoded rings of one warp.
type heldRings struct{ history, snapshots []byte }

// CreateV1 starts a file of format v1. The header's WarpSlots, EventsPerWarp, HistoryDepth and SnapshotDepth decide the layout; every warp
// takes its whole buffer whether it is used or not. Compression needs the whole size to be known, which it is.
func CreateV1(out io.Writer, h Header, opt V1Options) (*V1Writer, error) {
	if h.WarpSlots > math.MaxUint32 {
		return nil, fault.New(fault.Limit, "format v1 holds at most %d warps, not %d", uint32(math.MaxUint32), h.WarpSlots)
	}
	raw := encodeV1Header(&h, opt.Compress)
	_, layout, err := parseV1("", raw)
	if err != nil {
		return nil, err
	}
	w := &V1Writer{out: out, layout: layout, rings: map[int64]*heldRings{}}
	if _, err := out.Write(raw); err != nil {
		return nil, err
	}
	if opt.Compress {
		level := opt.Level
		if level == 0 {
			level = 3
		}
		w.frame, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w.frame.ResetContentSize(out, layout.payload)
		w.out = w.frame
	}
	return w, nil
}

func encodeV1Header(h *Header, compress bool) []byte {
	b := make([]byte, v1Header)
	put := func(off int, v uint32) { binary.LittleEndian.PutUint32(b[off:], v) }
	binary.LittleEndian.PutUint64(b, v1Magic)
	put(8, 1)
	var flags uint32
	if compress {
		flags |= v1FlagCompress
	}
	if h.HistoryDepth > 0 {
		flags |= v1FlagHistory
	}
	if h.SampleRate > 1 {
		flags |= v1FlagSampled
	}
	if h.SnapshotDepth > 0 {
		flags |= v1FlagSnapshot
	}
	put(12, flags)
	hash := h.KernelHash
	if h.Version != 1 || hash == 0 {
		hash = Hash64(h.Kernel)
	}
	binary.LittleEndian.PutUint64(b[16:], hash)
	copy(b[24:24+v1NameBytes-1], h.Kernel)
	for i := range 3 {
		put(88+4*i, h.Grid[i])
		put(100+4*i, h.Block[i])
	}
	put(112, h.WarpsPerBlock)
	put(116, uint32(h.WarpSlots))
	put(120, h.EventsPerWarp)
	binary.LittleEndian.PutUint64(b[128:], uint64(h.TimestampNS/1_000_000_000))
	put(136, h.ArchNumber)
	put(140, h.HistoryDepth)
	put(148, max(1, h.SampleRate))
	put(152, h.SnapshotDepth)
	return b
}

// Append writes the next warp. Warps come in ascending order; those left out have empty buffers. What v1 cannot hold (masks beyond 32
// lanes, values beyond 32 bits, taken masks, events beyond the capacity) is left out and counted.
func (w *V1Writer) Append(warp *Warp) error {
	at := int64(warp.Warp)
	if warp.Warp >= uint64(w.layout.slots) {
		return fault.Usagef("warp %d does not exist: the launch has %d", warp.Warp, w.layout.slots)
	}
	if at < w.next {
		return fault.Usagef("warp %d comes after warp %d: warps are written in ascending order", warp.Warp, w.next-1)
	}
	if err := w.skipTo(at); err != nil {
		return err
	}
	w.next++
	w.encode(warp)
	if err := w.hold(warp); err != nil {
		return err
	}
	_, err := w.out.Write(w.row)
	return err
}

// encode fills row with the buffer of one warp.
func (w *V1Writer) encode(warp *Warp) {
	size := int(w.layout.warpBytes())
	if len(w.row) != size {
		w.row = make([]byte, size)
	}
	n := min(warp.Len(), int(w.layout.eventsPerWarp))
	dropped := warp.Dropped + uint64(warp.Len()-n)
	w.counts.events += int64(warp.Len() - n)
	b := w.row
	stored := uint32(n)
	if warp.Stored > stored && n == int(w.layout.eventsPerWarp) { // as a v1 file had it
		stored = warp.Stored
	}
	binary.LittleEndian.PutUint32(b, uint32(min(uint64(n)+dropped, math.MaxUint32)))
	binary.LittleEndian.PutUint32(b[4:], uint32(min(dropped, math.MaxUint32)))
	binary.LittleEndian.PutUint32(b[8:], stored)
	binary.LittleEndian.PutUint32(b[12:], uint32(min(max(warp.Total, uint64(n)+dropped), math.MaxUint32)))
	for i := range n {
		e := b[v1WarpHead+i*v1EventBytes:][:v1EventBytes]
		kind := warp.Kind[i]
		if kind > site.GlobalStore {
			w.counts.kinds++
		}
		if warp.Active[i] > math.MaxUint32 {
			w.counts.wideMasks++
		}
		if warp.Taken[i] != 0 {
			w.counts.taken++
		}
		if warp.Value[i] > math.MaxUint32 {
			w.counts.wideValues++
		}
		binary.LittleEndian.PutUint64(e, uint64(warp.Site[i])|uint64(kind)<<32|uint64(warp.Dir[i])<<40|uint64(warp.Aux[i])<<48)
		binary.LittleEndian.PutUint32(e[8:], uint32(warp.Active[i]))
		binary.LittleEndian.PutUint32(e[12:], uint32(warp.Value[i]))
	}
	clear(b[v1WarpHead+n*v1EventBytes:])
}

// hold keeps a warp's rings until Close: of more entries than a ring has, the newest.
func (w *V1Writer) hold(warp *Warp) error {
	h, s := w.layout.history, w.layout.snapshots
	if h.depth == 0 {
		w.counts.history += int64(len(warp.History))
	}
	if s.depth == 0 {
		w.counts.snapshots += int64(len(warp.Snapshots))
	}
	held := &heldRings{}
	if h.depth > 0 && len(warp.History) > 0 {
		total := int64(len(warp.History))
		w.counts.history += max(0, total-h.depth)
		held.history = newRing(h, total)
		for i := max(0, total-h.depth); i < total; i++ {
			e, b := &warp.History[i], held.history[v1RingHead+i%h.depth*h.item:]
			binary.LittleEndian.PutUint32(b, e.Site)
			binary.LittleEndian.PutUint32(b[4:], uint32(e.Value))
			binary.LittleEndian.PutUint32(b[8:], e.Seq)
		}
	}
	if s.depth > 0 && len(warp.Snapshots) > 0 {
		total := int64(len(warp.Snapshots))
		w.counts.snapshots += max(0, total-s.depth)
		held.snapshots = newRing(s, total)
		for i := max(0, total-s.depth); i < total; i++ {
			encodeSnapshot(held.snapshots[v1RingHead+i%s.depth*s.item:], &warp.Snapshots[i])
		}
	}
	if held.history != nil || held.snapshots != nil {
		w.rings[int64(warp.Warp)] = held
	}
	return nil
}

// newRing makes a ring with its head.
func newRing(r ring, total int64) []byte {
	b := make([]byte, r.stride())
	binary.LittleEndian.PutUint32(b, uint32(total%r.depth))
	binary.LittleEndian.PutUint32(b[4:], uint32(r.depth))
	binary.LittleEndian.PutUint32(b[8:], uint32(total))
	return b
}

func encodeSnapshot(b []byte, s *Snapshot) {
	binary.LittleEndian.PutUint32(b, s.Site)
	binary.LittleEndian.PutUint32(b[4:], uint32(s.Active))
	binary.LittleEndian.PutUint32(b[8:], s.Seq)
	if s.Compare != site.NoCompare {
		binary.LittleEndian.PutUint32(b[12:], uint32(s.Compare))
	}
	for lane := range v1SnapLanes {
		if lane < len(s.Lhs) {
			binary.LittleEndian.PutUint32(b[16+4*lane:], uint32(s.Lhs[lane]))
		}
		if lane < len(s.Rhs) {
			binary.LittleEndian.PutUint32(b[16+4*v1SnapLanes+4*lane:], uint32(s.Rhs[lane]))
		}
	}
}

// skipTo writes empty buffers up to a warp.
func (w *V1Writer) skipTo(at int64) error {
	return w.writeZeros((at-w.next)*w.layout.warpBytes(), func() { w.next = at })
}

func (w *V1Writer) writeZeros(n int64, done func()) error {
	if w.zeros == nil {
		w.zeros = make([]byte, 64<<10)
	}
	for n > 0 {
		k := min(n, int64(len(w.zeros)))
		if _, err := w.out.Write(w.zeros[:k]); err != nil {
			return err
		}
		n -= k
	}
	done()
	return nil
}

// Close writes the buffers that are left and the rings. It does not close the writer under it.
func (w *V1Writer) Close() error {
	if err := w.skipTo(w.layout.slots); err != nil {
		return err
	}
	for _, section := range []struct {
		ring
		of func(*heldRings) []byte
	}{
		{w.layout.history, func(h *heldRings) []byte { return h.history }},
		{w.layout.snapshots, func(h *heldRings) []byte { return h.snapshots }},
	} {
		if section.depth == 0 {
			continue
		}
		if err := w.section(section.ring, section.of); err != nil {
			return err
		}
	}
	if w.frame != nil {
		return w.frame.Close()
	}
	return nil
}

func (w *V1Writer) section(r ring, of func(*heldRings) []byte) error {
	empty := newRing(r, 0)
	for warp := range w.layout.slots {
		b := empty
		if held := w.rings[warp]; held != nil && of(held) != nil {
			b = of(held)
		}
		if _, err := w.out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

package warptrace

import (
	"encoding/binary"
	"io"
	"math"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
)

// V1Options shape a file of format v1. The zero value writes an uncompressed file.
type V1Options struct {
	Compress bool // events and rings in one zstd frame, as the described runtime writes it
	Level    int  // zstd level, 1 to 19; 0: 3
}

// V1Writer writes a recording of format v1 warp by warp. Events come first in the file, histories and snapshots after all of them, so
// the rings of all warps wait for Close, most of them in a temporary file.
type V1Writer struct {
	out    io.Writer
	frame  *zstd.Encoder // nil when not compressed
	layout *v1Layout
	next   int64 // the warp whose buffer comes next
	zeros  []byte
	row    []byte
	counts v1WriteCounts

	history, snapshots heldRings
}

// v1WriteCounts are what had no place in v1.
type v1WriteCounts struct {
	events, wideMasks, wideValues, taken, history, snapshots, kinds int64
}

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
	w := &V1Writer{out: out, layout: layout}
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
	w.counts.history += max(0, int64(len(warp.History))-h.depth)
	w.counts.snapshots += max(0, int64(len(warp.Snapshots))-s.depth)
	if n := len(warp.History); h.depth > 0 && n > 0 {
		first := overwritten(n, h.depth, func(i int) uint32 { return warp.History[i].Seq })
		err := w.history.put(warp.Warp, h.encode(n, first, func(i int, b []byte) {
			e := &warp.History[i]
			binary.LittleEndian.PutUint32(b, e.Site)
			binary.LittleEndian.PutUint32(b[4:], uint32(e.Value))
			binary.LittleEndian.PutUint32(b[8:], e.Seq)
		}))
		if err != nil {
			return err
		}
	}
	if n := len(warp.Snapshots); s.depth > 0 && n > 0 {
		first := overwritten(n, s.depth, func(i int) uint32 { return warp.Snapshots[i].Seq })
		return w.snapshots.put(warp.Warp, s.encode(n, first, func(i int, b []byte) { encodeSnapshot(b, &warp.Snapshots[i]) }))
	}
	return nil
}

// overwritten says how many entries were written before the n that are left of a ring: as many as the first one's number where the
// numbers are consecutive and the ring is full, so that a ring that wrapped is written as it was.
func overwritten(n int, depth int64, seq func(int) uint32) int64 {
	for i := range n - 1 {
		if seq(i)+1 != seq(i+1) {
			return 0
		}
	}
	if int64(n) < depth {
		return 0
	}
	return int64(seq(0))
}

// encode makes a ring out of n entries, before which there were others: its head and the slots that are in use.
func (r ring) encode(n int, before int64, entry func(i int, b []byte)) []byte {
	total := before + int64(n)
	used := min(total, r.depth)
	b := make([]byte, v1RingHead+used*r.item)
	binary.LittleEndian.PutUint32(b, uint32(total%r.depth))
	binary.LittleEndian.PutUint32(b[4:], uint32(r.depth))
	binary.LittleEndian.PutUint32(b[8:], uint32(min(total, math.MaxUint32)))
	for i := max(0, int64(n)-r.depth); i < int64(n); i++ {
		entry(int(i), b[v1RingHead+(before+i)%r.depth*r.item:])
	}
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
	err := w.writeZeros((at - w.next) * w.layout.warpBytes())
	w.next = at
	return err
}

func (w *V1Writer) writeZeros(n int64) error {
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
	return nil
}

// Close writes the buffers that are left and the rings. It does not close the writer under it.
func (w *V1Writer) Close() error {
	defer w.history.close()
	defer w.snapshots.close()
	if err := w.skipTo(w.layout.slots); err != nil {
		return err
	}
	if err := w.section(w.layout.history, &w.history); err != nil {
		return err
	}
	if err := w.section(w.layout.snapshots, &w.snapshots); err != nil {
		return err
	}
	if w.frame != nil {
		return w.frame.Close()
	}
	return nil
}

// section writes a ring for every slot.
func (w *V1Writer) section(r ring, held *heldRings) error {
	if r.depth == 0 {
		return nil
	}
	empty := r.encode(0, 0, nil)
	for slot := range w.layout.slots {
		b := empty
		if len(held.rings) > 0 && held.rings[0].warp == uint64(slot) {
			var err error
			if b, err = held.take(); err != nil {
				return err
			}
		}
		if _, err := w.out.Write(b); err != nil {
			return err
		}
		if err := w.writeZeros(r.stride() - int64(len(b))); err != nil {
			return err
		}
	}
	return nil
}

// heldRings are encoded rings that wait for the events of all warps to be written: in memory up to heldBytes, then in a temporary file.
type heldRings struct {
	rings []heldRing
	buf   []byte // what is not in the file
	spill *os.File
	at    int64 // size of the file
	read  int64 // offset of the ring that comes next
}

type heldRing struct {
	warp  uint64
	bytes int
}

const heldBytes = 16 << 20

func (h *heldRings) put(warp uint64, ring []byte) error {
	h.rings = append(h.rings, heldRing{warp, len(ring)})
	h.buf = append(h.buf, ring...)
	if len(h.buf) < heldBytes {
		return nil
	}
	if h.spill == nil {
		f, err := os.CreateTemp("", "prlx-rings-*")
		if err != nil {
			return fault.FromIO(os.TempDir(), err)
		}
		os.Remove(f.Name()) // the open descriptor keeps it
		h.spill = f
	}
	n, err := h.spill.WriteAt(h.buf, h.at)
	if err != nil {
		return fault.FromIO(os.TempDir(), err)
	}
	h.at += int64(n)
	h.buf = h.buf[:0]
	return nil
}

// take returns the rings in the order in which they were put.
func (h *heldRings) take() ([]byte, error) {
	n := int64(h.rings[0].bytes)
	h.rings = h.rings[1:]
	off := h.read
	h.read += n
	if off >= h.at { // rings do not lie across the border: it is where one ended
		return h.buf[off-h.at : off-h.at+n], nil
	}
	b := make([]byte, n)
	if _, err := h.spill.ReadAt(b, off); err != nil {
		return nil, fault.FromIO(os.TempDir(), err)
	}
	return b, nil
}

func (h *heldRings) close() {
	if h.spill != nil {
		h.spill.Close()
	}
}

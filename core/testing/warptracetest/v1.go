package warptracetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// V1 is the recording as format v1 can hold it: sites are ids, masks and values have 32 bits, no taken lanes, no types, and predicates
// are branches. Its warps are what a reader of v1 should return, apart from which events the entries of rings belong to.
func (r *Recording) V1() *Recording {
	out := &Recording{Header: r.Header, Sites: r.Sites, Program: r.Program, Warps: make([]warptrace.Warp, len(r.Warps))}
	h := &out.Header
	h.Version, h.Taken, h.ModuleHash, h.ArgumentDigest, h.Arguments, h.Launch, h.Producer = 1, false, "", 0, nil, 0, ""
	h.Means = warptrace.MeansInstrumented
	for i := range r.Warps {
		out.Warps[i] = *narrow(&r.Warps[i], r.Sites)
	}
	for _, k := range r.Noise {
		out.Noise = append(out.Noise, int(r.Sites.At(k).ID))
	}
	return out
}

// narrow is a warp as format v1 holds it.
func narrow(w *warptrace.Warp, sites *site.Table) *warptrace.Warp {
	n := w.Len()
	out := &warptrace.Warp{WarpInfo: w.WarpInfo, Dir: w.Dir, Aux: w.Aux, Taken: make([]uint64, n)}
	out.Site, out.Kind = make([]uint32, n), make([]site.Kind, n)
	out.Active, out.Value, out.Type = make([]uint64, n), make([]uint64, n), make([]warptrace.ValueType, n)
	for e := range n {
		out.Site[e] = sites.At(int(w.Site[e])).ID
		if out.Kind[e] = w.Kind[e]; out.Kind[e] == site.Predicate {
			out.Kind[e] = site.Branch
		}
		out.Active[e], out.Value[e], out.Type[e] = w.Active[e]&math.MaxUint32, w.Value[e]&math.MaxUint32, warptrace.TypeBits
	}
	for _, h := range w.History {
		h.Site, h.Value = sites.At(int(h.Site)).ID, h.Value&math.MaxUint32
		out.History = append(out.History, h)
	}
	for _, s := range w.Snapshots {
		s.Site, s.Active = sites.At(int(s.Site)).ID, s.Active&math.MaxUint32
		s.Lhs, s.Rhs, s.Type, s.Role = low32(s.Lhs), low32(s.Rhs), warptrace.TypeBits, warptrace.RoleCompare
		out.Snapshots = append(out.Snapshots, s)
	}
	return out
}

func low32(v []uint64) []uint64 {
	out := make([]uint64, 32)
	for i := range out {
		if i < len(v) {
			out[i] = v[i] & math.MaxUint32
		}
	}
	return out
}

// V1File writes format v1 by itself, so that it can also write what a writer that is right would not: a second opinion on
// docs/formats/prlx-v1.md. The zero value of a field takes the default.
type V1File struct {
	Compress   bool   // one zstd frame after the header
	Level      int    // of zstd, default 3
	Flags      uint32 // beside those that the contents need
	Capacity   int    // events_per_warp, default: that of the header, or the longest warp
	History    int    // entries of each ring; default: that of the header
	Snapshots  int    // likewise
	SampleRate uint32 // as it stands in the file: 0 in old files
	Timestamp  uint64 // likewise
	Hash32     bool   // the kernel's hash as the NVBit writer stores it
	Unclamped  bool   // num_events counts what was dropped, too
	Explicit   bool   // the sections of rings have explicit offsets
	Magic      uint64 // instead of the right one
	Version    uint32 // instead of 1
}

const (
	v1Header   = 160
	v1WarpHead = 16
	v1Event    = 16
	v1Snapshot = 288
)

// Bytes is Write into memory.
func (f V1File) Bytes(r *Recording) []byte {
	var b bytes.Buffer
	if err := f.Write(&b, r); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Write writes a recording, narrowed or not.
func (f V1File) Write(w io.Writer, r *Recording) error {
	if r.Header.Version != 1 {
		r = r.V1()
	}
	s := f.Stream(w, r.Header, Longest(r))
	for i := range r.Warps {
		s.append(&r.Warps[i])
	}
	return s.Close()
}

// Longest is the length of the longest warp.
func Longest(r *Recording) int {
	n := 0
	for i := range r.Warps {
		n = max(n, r.Warps[i].Len())
	}
	return n
}

// EventsEnd is the offset at which the events of an uncompressed file end and rings begin.
func (f V1File) EventsEnd(r *Recording) int {
	f = f.withDefaults(&r.Header, Longest(r))
	return v1Header + int(r.Header.WarpSlots)*(v1WarpHead+f.Capacity*v1Event)
}

// withDefaults takes from the header what is not set.
func (f V1File) withDefaults(h *warptrace.Header, capacity int) V1File {
	if f.Capacity == 0 {
		f.Capacity = int(h.EventsPerWarp)
	}
	if f.Capacity == 0 {
		f.Capacity = max(1, capacity)
	}
	if f.History == 0 {
		f.History = int(h.HistoryDepth)
	}
	if f.Snapshots == 0 {
		f.Snapshots = int(h.SnapshotDepth)
	}
	return f
}

// V1Stream writes warp by warp.
type V1Stream struct {
	f        V1File
	h        warptrace.Header
	out      *bufio.Writer
	enc      *zstd.Encoder
	buf      []byte
	next     uint64
	rings    []warptrace.Warp // what the sections of rings need
	capacity int
	err      error
}

// Stream starts a file. capacity counts where neither V1File nor the header has one.
func (f V1File) Stream(w io.Writer, h warptrace.Header, capacity int) *V1Stream {
	f = f.withDefaults(&h, capacity)
	s := &V1Stream{f: f, h: h, capacity: f.Capacity, buf: make([]byte, v1WarpHead+f.Capacity*v1Event)}
	if _, s.err = w.Write(f.header(&h)); s.err != nil {
		return s
	}
	if f.Compress {
		level := f.Level
		if level == 0 {
			level = 3
		}
		s.enc, s.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1))
		if s.err != nil {
			return s
		}
		s.enc.ResetContentSize(w, f.payload(&h))
		w = s.enc
	}
	s.out = bufio.NewWriterSize(w, 1<<18)
	return s
}

func (f *V1File) payload(h *warptrace.Header) int64 {
	warp := int64(v1WarpHead + f.Capacity*v1Event)
	if f.History > 0 {
		warp += 16 + int64(f.History)*16
	}
	if f.Snapshots > 0 {
		warp += 16 + int64(f.Snapshots)*v1Snapshot
	}
	return warp * int64(h.WarpSlots)
}

func (f *V1File) header(h *warptrace.Header) []byte {
	b := make([]byte, v1Header)
	put, put64 := binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint64
	put64(b, 0x50524C5800000000)
	if f.Magic != 0 {
		put64(b, f.Magic)
	}
	put(b[8:], max(1, f.Version))
	flags := f.Flags
	if f.Compress {
		flags |= 2
	}
	if f.History > 0 {
		flags |= 4
	}
	if f.SampleRate > 1 {
		flags |= 8
	}
	if f.Snapshots > 0 {
		flags |= 0x10
	}
	put(b[12:], flags)
	put64(b[16:], warptrace.Hash64(h.Kernel))
	if f.Hash32 {
		put64(b[16:], warptrace.Hash32(h.Kernel))
	}
	copy(b[24:24+63], h.Kernel)
	for i := range 3 {
		put(b[88+4*i:], h.Grid[i])
		put(b[100+4*i:], h.Block[i])
	}
	put(b[112:], h.WarpsPerBlock)
	put(b[116:], uint32(h.WarpSlots))
	put(b[120:], uint32(f.Capacity))
	put64(b[128:], f.Timestamp)
	put(b[136:], h.ArchNumber)
	put(b[140:], uint32(f.History))
	put(b[148:], f.SampleRate)
	put(b[152:], uint32(f.Snapshots))
	if f.Explicit {
		end := v1Header + int64(h.WarpSlots)*int64(v1WarpHead+f.Capacity*v1Event)
		put(b[144:], uint32(end))
		if f.History > 0 {
			end += int64(h.WarpSlots) * (16 + int64(f.History)*16)
		}
		put(b[156:], uint32(end))
	}
	return b
}

// Append writes the next warp of a recording that is not narrowed. Those left out between have empty buffers.
func (s *V1Stream) Append(w *warptrace.Warp, sites *site.Table) { s.append(narrow(w, sites)) }

func (s *V1Stream) append(w *warptrace.Warp) {
	s.empty(w.Warp)
	s.next = w.Warp + 1
	n := min(w.Len(), s.capacity)
	total := max(w.Total, uint64(w.Len()))
	b := s.buf
	put := binary.LittleEndian.PutUint32
	stored := uint32(n)
	if s.f.Unclamped {
		stored = uint32(total)
	}
	put(b, uint32(total))
	put(b[4:], uint32(total-uint64(n)))
	put(b[8:], stored)
	put(b[12:], uint32(total))
	for i := range n {
		e := b[v1WarpHead+i*v1Event:][:v1Event]
		binary.LittleEndian.PutUint64(e, uint64(w.Site[i])|uint64(w.Kind[i])<<32|uint64(w.Dir[i])<<40|uint64(w.Aux[i])<<48)
		binary.LittleEndian.PutUint64(e[8:], w.Active[i]|w.Value[i]<<32)
	}
	clear(b[v1WarpHead+n*v1Event:])
	s.write(b)
	if s.f.History > 0 || s.f.Snapshots > 0 {
		s.rings = append(s.rings, warptrace.Warp{WarpInfo: w.WarpInfo, History: w.History, Snapshots: w.Snapshots})
	}
}

func (s *V1Stream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.out.Write(b)
	}
}

// empty writes the buffers of warps that recorded nothing.
func (s *V1Stream) empty(until uint64) {
	if s.next < until {
		clear(s.buf)
	}
	for ; s.next < until; s.next++ {
		s.write(s.buf)
	}
}

// Close writes the rest and the rings. It does not close the writer under it.
func (s *V1Stream) Close() error {
	if s.err != nil {
		return s.err
	}
	s.empty(s.h.WarpSlots)
	s.section(s.f.History, 16, func(w *warptrace.Warp, i int, b []byte) (seq uint32, ok bool) {
		if i >= len(w.History) {
			return 0, false
		}
		e := &w.History[i]
		binary.LittleEndian.PutUint32(b, e.Site)
		binary.LittleEndian.PutUint32(b[4:], uint32(e.Value))
		binary.LittleEndian.PutUint32(b[8:], e.Seq)
		return e.Seq, true
	})
	s.section(s.f.Snapshots, v1Snapshot, func(w *warptrace.Warp, i int, b []byte) (seq uint32, ok bool) {
		if i >= len(w.Snapshots) {
			return 0, false
		}
		putSnapshot(b, &w.Snapshots[i])
		return w.Snapshots[i].Seq, true
	})
	if s.err == nil {
		s.err = s.out.Flush()
	}
	if s.enc != nil {
		if err := s.enc.Close(); s.err == nil {
			s.err = err
		}
	}
	return s.err
}

func putSnapshot(b []byte, e *warptrace.Snapshot) {
	put := binary.LittleEndian.PutUint32
	put(b, e.Site)
	put(b[4:], uint32(e.Active))
	put(b[8:], e.Seq)
	if e.Compare != site.NoCompare {
		put(b[12:], uint32(e.Compare))
	}
	for i := range min(32, len(e.Lhs)) {
		put(b[16+4*i:], uint32(e.Lhs[i]))
	}
	for i := range min(32, len(e.Rhs)) {
		put(b[144+4*i:], uint32(e.Rhs[i]))
	}
}

// section writes one ring per warp: entry number seq stands at seq modulo the depth.
func (s *V1Stream) section(depth, size int, item func(w *warptrace.Warp, i int, b []byte) (seq uint32, ok bool)) {
	if depth == 0 {
		return
	}
	ring := make([]byte, 16+depth*size)
	none := &warptrace.Warp{}
	for warp, k := uint64(0), 0; warp < s.h.WarpSlots; warp++ {
		w := none
		if k < len(s.rings) && s.rings[k].Warp == warp {
			w = &s.rings[k]
			k++
		}
		clear(ring)
		entry, total := make([]byte, size), uint32(0)
		for i := 0; ; i++ {
			clear(entry)
			seq, ok := item(w, i, entry)
			if !ok {
				break
			}
			copy(ring[16+int(seq)%depth*size:], entry)
			total = seq + 1
		}
		binary.LittleEndian.PutUint32(ring, total%uint32(depth))
		binary.LittleEndian.PutUint32(ring[4:], uint32(depth))
		binary.LittleEndian.PutUint32(ring[8:], total)
		s.write(ring)
	}
}

package warptrace

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// The layout of format v1 (docs/formats/prlx-v1.md).
const (
	v1Magic       = 0x50524C5800000000
	v1Header      = 160 // bytes
	v1NameBytes   = 64
	v1WarpHead    = 16 // bytes: write_idx, overflow_count, num_events, total_event_count
	v1EventBytes  = 16
	v1RingHead    = 16 // bytes: write_idx, depth, total_writes, reserved
	v1HistoryItem = 16
	v1SnapItem    = 288
	v1SnapLanes   = 32

	v1FlagCompact  = 0x1
	v1FlagCompress = 0x2
	v1FlagHistory  = 0x4
	v1FlagSampled  = 0x8
	v1FlagSnapshot = 0x10
)

// Limits that make one warp of a lying file fit in memory. Files in use have 4,096 events per warp and rings of 64 and 32.
const (
	v1MaxRing   = 1 << 16 // entries
	v1MaxEvents = 1 << 22 // 64 MiB
)

// v1Layout is where things are in the decompressed form of a v1 file. Offsets count from the end of the header.
type v1Layout struct {
	slots         int64
	eventsPerWarp int64
	flags         uint32
	history       ring
	snapshots     ring
	payload       int64 // bytes that follow the header when nothing is cut
}

// ring is a section of one ring buffer a warp.
type ring struct {
	depth  int64
	item   int64 // bytes
	offset int64
}

func (r ring) stride() int64 { return v1RingHead + r.depth*r.item }

func (l *v1Layout) warpBytes() int64  { return v1WarpHead + l.eventsPerWarp*v1EventBytes }
func (l *v1Layout) eventBytes() int64 { return l.slots * l.warpBytes() }
func (l *v1Layout) compressed() bool  { return l.flags&v1FlagCompress != 0 }
func (l *v1Layout) hasRings() bool    { return l.history.depth > 0 || l.snapshots.depth > 0 }

// usedBytes is how many bytes of a warp's buffer hold events. The count in the file may exceed what there is room for.
func (l *v1Layout) usedBytes(c v1Counters) int64 {
	return min(int64(c.events), l.eventsPerWarp) * v1EventBytes
}

func isV1(head []byte) bool {
	return len(head) >= 8 && binary.LittleEndian.Uint64(head) == v1Magic
}

// parseV1 reads the header. What lies is refused here, before anything is allocated.
func parseV1(path string, b []byte) (*Header, *v1Layout, error) {
	if len(b) < v1Header {
		return nil, nil, fault.Formatf(path, int64(len(b)), "the file ends inside the header: %d bytes, expected at least %d", len(b), v1Header)
	}
	u32 := func(off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	if v := u32(8); v != 1 {
		return nil, nil, fault.Formatf(path, 8, "format version is %d, expected 1", v)
	}
	name, _, _ := strings.Cut(string(b[24:24+v1NameBytes]), "\x00")
	h := &Header{
		Version: 1, Kernel: strings.ToValidUTF8(name, "\uFFFD"), KernelHash: u64(16), Grid: [3]uint32{u32(88), u32(92), u32(96)},
		Block: [3]uint32{u32(100), u32(104), u32(108)}, WarpsPerBlock: u32(112), WarpSlots: uint64(u32(116)), EventsPerWarp: u32(120),
		ArchNumber: u32(136), SampleRate: 1, TimestampNS: v1Timestamp(u64(128)), Mode: ModeControlFlow, Means: MeansInstrumented,
	}
	h.Arch, h.WaveSize = v1Arch(h.ArchNumber), v1WaveSize(h.ArchNumber)
	l := &v1Layout{slots: int64(h.WarpSlots), eventsPerWarp: int64(h.EventsPerWarp), flags: u32(12)}
	if l.flags&v1FlagSampled != 0 { // files of the first writers have no rate
		h.SampleRate = max(1, u32(148))
	}
	h.Compressed = l.compressed()
	if l.flags&v1FlagHistory != 0 {
		h.HistoryDepth = u32(140)
	}
	if l.flags&v1FlagSnapshot != 0 {
		h.SnapshotDepth = u32(152)
	}
	if h.SnapshotDepth > 0 {
		h.Mode = ModeValues
	}
	h.Warnings = v1Warnings(h, l.flags)
	if err := l.place(path, int64(h.HistoryDepth), int64(u32(144)), int64(h.SnapshotDepth), int64(u32(156))); err != nil {
		return nil, nil, err
	}
	return h, l, nil
}

// place finds the sections. Explicit offsets count from the start of the file; 0 means after what comes before.
func (l *v1Layout) place(path string, historyDepth, historyAt, snapshotDepth, snapshotAt int64) error {
	if historyDepth > v1MaxRing || snapshotDepth > v1MaxRing {
		return fault.New(fault.Limit, "rings are %d and %d entries deep; at most %d are read", historyDepth, snapshotDepth, v1MaxRing).WithPath(path)
	}
	if l.slots > 0 && l.warpBytes() > math.MaxInt64/4/l.slots {
		return fault.New(fault.Limit, "%d warps of %d events do not fit any file", l.slots, l.eventsPerWarp).WithPath(path)
	}
	if l.eventsPerWarp > v1MaxEvents {
		return fault.New(fault.Limit, "events_per_warp is %d; at most %d are read", l.eventsPerWarp, v1MaxEvents).WithPath(path)
	}
	end := l.eventBytes()
	at := func(explicit int64) int64 {
		if explicit == 0 {
			return end
		}
		return explicit - v1Header
	}
	l.payload = end
	if historyDepth > 0 {
		l.history = ring{depth: historyDepth, item: v1HistoryItem, offset: at(historyAt)}
		end = l.history.offset + l.slots*l.history.stride()
		l.payload = max(l.payload, end)
	}
	if snapshotDepth > 0 {
		l.snapshots = ring{depth: snapshotDepth, item: v1SnapItem, offset: at(snapshotAt)}
		l.payload = max(l.payload, l.snapshots.offset+l.slots*l.snapshots.stride())
	}
	if l.history.offset < 0 || l.snapshots.offset < 0 {
		return fault.Formatf(path, 144, "a section begins inside the header")
	}
	return nil
}

// v1Timestamp reads seconds (compiled runtimes) or microseconds (the NVBit writer) since 1970.
func v1Timestamp(t uint64) int64 {
	switch {
	case t > 1<<55:
		return 0
	case t > 1e12: // as seconds this would be the year 33658
		return int64(t) * 1000
	case t > math.MaxInt64/1_000_000_000:
		return 0
	}
	return int64(t) * 1_000_000_000
}

// v1Warnings lists what a header says that readers should know.
func v1Warnings(h *Header, flags uint32) []string {
	var w []string
	if flags&v1FlagCompact != 0 {
		w = append(w, "the file declares compact events, which no known writer writes: read as full events")
	}
	if unknown := flags &^ 0x1f; unknown != 0 {
		w = append(w, "the file has flags that format v1 does not name (0x"+strconv.FormatUint(uint64(unknown), 16)+"): ignored")
	}
	if strings.HasPrefix(h.Arch, "gfx9") && h.WaveSize == 32 {
		w = append(w, h.Arch+" runs waves of 64 lanes, but its recorder numbers warps of 32 threads and keeps masks of 32 bits: they are read as they stand")
	}
	return w
}

// amdArch is the smallest number of an AMD architecture: compute capabilities are far below, gcnArch begins with 600.
const amdArch = 600

// taggedArch is where original prlx 0.5 takes an architecture to have waves of 64 lanes. gcnArch (906, 1030) stays below it.
const taggedArch = 0x1000

// v1Arch spells the architecture, which is the compute capability times ten on NVIDIA and gcnArch on AMD.
func v1Arch(n uint32) string {
	switch {
	case n == 0:
		return ""
	case n >= taggedArch:
		return "gfx" + strconv.FormatUint(uint64(n), 16)
	case n == 910: // gcnArch is decimal
		return "gfx90a"
	case n >= amdArch:
		return "gfx" + strconv.FormatUint(uint64(n), 10)
	}
	return "sm_" + strconv.FormatUint(uint64(n), 10)
}

// v1WaveSize says how many lanes the warps of an architecture have. The format does not record that.
func v1WaveSize(n uint32) int {
	if n >= taggedArch {
		return 64
	}
	return 32
}

// Hash64 is the hash of a kernel's name that compiled runtimes write.
func Hash64(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Hash32 is the hash that the NVBit writer stores, zero-extended.
func Hash32(name string) uint64 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return uint64(h.Sum32())
}

// SameKernel reports whether two headers name the same kernel. Of v1 recordings the hashes decide, as a name may be cut; a recording
// of the NVBit writer, which hashes with 32 bits, is told apart by the name's own hash.
func SameKernel(a, b *Header) bool {
	if a.Version == 2 && b.Version == 2 {
		return a.Kernel == b.Kernel
	}
	if a.KernelHash == b.KernelHash {
		return true
	}
	hashes := func(h *Header) []uint64 {
		if len(h.Kernel) >= v1NameBytes-1 && h.Version == 1 { // the name may be cut
			return []uint64{h.KernelHash}
		}
		if own := []uint64{Hash64(h.Kernel), Hash32(h.Kernel)}; h.Version == 2 || slices.Contains(own, h.KernelHash) {
			return own
		}
		return []uint64{h.KernelHash}
	}
	theirs := hashes(b)
	return slices.ContainsFunc(hashes(a), func(x uint64) bool { return slices.Contains(theirs, x) })
}

package warptrace

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// readRings reads the history and snapshot rings of a warp. What is cut off counts as empty.
func (v *v1) readRings(p v1Place, into *Warp) error {
	history, _, err := readRing(p.src, p.history, v.layout.history)
	if err != nil {
		return err
	}
	for ; len(history) > 0; history = history[v1HistoryItem:] {
		into.History = append(into.History, HistoryEntry{
			Site: binary.LittleEndian.Uint32(history), Value: uint64(binary.LittleEndian.Uint32(history[4:])),
			Seq: binary.LittleEndian.Uint32(history[8:]), Event: -1,
		})
	}
	snapshots, wrapped, err := readRing(p.src, p.snapshots, v.layout.snapshots)
	if err != nil {
		return err
	}
	for ; len(snapshots) > 0; snapshots = snapshots[v1SnapItem:] {
		into.Snapshots = append(into.Snapshots, decodeSnapshot(snapshots, v.header.WaveSize))
	}
	sortRings(into)
	attachSnapshots(into, v.header.SampleRate > 1, wrapped)
	return nil
}

// readRing returns the valid entries of the ring at an offset, in the order of their slots, and whether older ones were overwritten.
func readRing(src *file.Source, off int64, r ring) (entries []byte, wrapped bool, err error) {
	if off < 0 {
		return nil, false, nil
	}
	var head [v1RingHead]byte
	if _, err := src.ReadAt(head[:], off); err != nil {
		return nil, false, shorter(src.Path(), off, err)
	}
	n, wrapped := r.valid(head[:])
	if n == 0 {
		return nil, false, nil
	}
	entries = make([]byte, n*r.item)
	if got, err := src.ReadAt(entries, off+v1RingHead); got < len(entries) {
		return nil, false, shorter(src.Path(), off, err)
	}
	return entries, wrapped, nil
}

// valid returns how many slots of a ring hold entries, by its head, and whether it wrapped. The head repeats the depth; the smaller counts.
func (r ring) valid(head []byte) (n int64, wrapped bool) {
	depth := min(r.depth, int64(binary.LittleEndian.Uint32(head[4:])))
	total := int64(binary.LittleEndian.Uint32(head[8:]))
	return min(total, depth), total > depth
}

// decodeSnapshot reads a snapshot of 32 lanes; where waves are wider, the upper lanes are not active.
func decodeSnapshot(b []byte, lanes int) Snapshot {
	s := Snapshot{
		Site: binary.LittleEndian.Uint32(b), Active: uint64(binary.LittleEndian.Uint32(b[4:])), Seq: binary.LittleEndian.Uint32(b[8:]), Event: -1,
		Compare: site.NoCompare, Role: RoleCompare, Type: TypeBits, Lhs: make([]uint64, lanes), Rhs: make([]uint64, lanes),
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

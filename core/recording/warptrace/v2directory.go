package warptrace

import (
	"encoding/binary"
	"errors"
)

// v2Entry is what the directory of a block says of one warp, beyond its WarpInfo.
type v2Entry struct{ history, snapshots, section uint32 }

// sectionBound is the largest section that a warp can have.
func sectionBound(events, history, snapshots uint64, wave int) uint64 {
	var n uint64
	if events > 0 {
		n += 8 + 33*events
	}
	if history > 0 {
		n += 4 + 20*history
	}
	if snapshots > 0 {
		n += 10 + (24+16*uint64(wave))*snapshots
	}
	return n
}

// appendDirectory encodes the directory of a block.
func appendDirectory(dst []byte, infos []WarpInfo, entries []v2Entry) []byte {
	at, n := len(dst), len(infos)
	dst = append(dst, make([]byte, v2DirMasks)...)
	numbers := make([]uint64, n)
	put := func(width int, of func(i int) uint64) {
		for i := range numbers {
			numbers[i] = of(i)
		}
		dst = appendPlanes(dst, at, numbers, width)
		at++
	}
	put(8, func(i int) uint64 {
		if i == 0 {
			return infos[0].Warp
		}
		return infos[i].Warp - infos[i-1].Warp - 1
	})
	put(4, func(i int) uint64 { return uint64(infos[i].Events) })
	put(8, func(i int) uint64 { return infos[i].Dropped })
	put(8, func(i int) uint64 { return infos[i].Total - uint64(infos[i].Events) - infos[i].Dropped })
	put(8, func(i int) uint64 { return infos[i].Before })
	put(8, func(i int) uint64 { return infos[i].Rolling })
	put(1, func(i int) uint64 {
		if infos[i].HasRolling {
			return 1
		}
		return 0
	})
	put(4, func(i int) uint64 { return uint64(max(infos[i].Stored, infos[i].Events) - infos[i].Events) })
	put(4, func(i int) uint64 { return uint64(entries[i].history) })
	put(4, func(i int) uint64 { return uint64(entries[i].snapshots) })
	put(4, func(i int) uint64 { return uint64(entries[i].section) })
	for i := range infos {
		dst = binary.LittleEndian.AppendUint64(dst, infos[i].Digest)
	}
	for i := range infos {
		dst = binary.LittleEndian.AppendUint64(dst, infos[i].Control)
	}
	return dst
}

// directoryReader reads directories. Its columns are used again.
type directoryReader struct {
	wave    int
	slots   uint64 // warps of the launch
	numbers []uint64
}

// read appends the warps of a directory to infos and entries, and checks that their sections make up a body of so many bytes.
func (d *directoryReader) read(b []byte, count, body int, infos []WarpInfo, entries []v2Entry) ([]WarpInfo, []v2Entry, error) {
	if len(b) < v2DirMasks+16*count {
		return infos, entries, errors.New("its directory is cut short")
	}
	digests := b[len(b)-16*count:]
	r := planes{body: b[:len(b)-16*count]}
	r.takeMasks(v2DirMasks)
	first, firstEntry := len(infos), len(entries)
	infos, entries = append(infos, make([]WarpInfo, count)...), append(entries, make([]v2Entry, count)...)
	ws, es := infos[first:], entries[firstEntry:]
	d.numbers = resized(d.numbers, count)
	column := func(width int, set func(i int, v uint64)) {
		if readColumn(&r, d.numbers, width) {
			return
		}
		for i, v := range d.numbers {
			set(i, v)
		}
	}
	column(8, func(i int, v uint64) { ws[i].Warp = v })
	column(4, func(i int, v uint64) { ws[i].Events = uint32(v) })
	column(8, func(i int, v uint64) { ws[i].Dropped = v })
	column(8, func(i int, v uint64) { ws[i].Total = v })
	column(8, func(i int, v uint64) { ws[i].Before = v })
	column(8, func(i int, v uint64) { ws[i].Rolling = v })
	column(1, func(i int, v uint64) { ws[i].HasRolling = v&1 != 0 })
	column(4, func(i int, v uint64) { ws[i].Stored = uint32(v) })
	column(4, func(i int, v uint64) { es[i].history = uint32(v) })
	column(4, func(i int, v uint64) { es[i].snapshots = uint32(v) })
	column(4, func(i int, v uint64) { es[i].section = uint32(v) })
	if r.bad || len(r.body) > 0 {
		return infos, entries, errors.New("its directory does not have the length that its planes need")
	}
	return infos, entries, d.finish(ws, es, digests, body)
}

// of reads the directory of a block of either kind; paths is nil for warps blocks.
func (d *directoryReader) of(h v2Head, b []byte, infos []WarpInfo, entries []v2Entry) ([]WarpInfo, []v2Entry, *v2PathDirectory, error) {
	if hasPaths(h.kind) {
		return d.readPaths(b, int(h.count), infos, entries)
	}
	infos, entries, err := d.read(b, int(h.count), int(h.inflated), infos, entries)
	return infos, entries, nil, err
}

// finish undoes the differences, adds the digests and checks what the numbers say.
func (d *directoryReader) finish(ws []WarpInfo, es []v2Entry, digests []byte, body int) error {
	before := ^uint64(0)
	var sum uint64
	for i := range ws {
		w, e := &ws[i], &es[i]
		w.Warp += before + 1
		before = w.Warp
		w.Total += uint64(w.Events) + w.Dropped
		w.Stored += w.Events
		w.Digest = binary.LittleEndian.Uint64(digests[8*i:])
		w.Control = binary.LittleEndian.Uint64(digests[8*(len(ws)+i):])
		w.HasDigest = true
		sum += uint64(e.section)
		switch {
		case w.Warp >= d.slots:
			return errors.New("it holds a warp that the launch does not have")
		case w.Events > v2MaxEvents || e.history > v2MaxHistory || e.snapshots > v2MaxSnapshots:
			return errors.New("a warp has more events, history or snapshots than are read")
		case uint64(e.section) > sectionBound(uint64(w.Events), uint64(e.history), uint64(e.snapshots), d.wave):
			return errors.New("a section is longer than its events can be")
		}
	}
	if sum != uint64(body) {
		return errors.New("its sections do not make up its body")
	}
	return nil
}

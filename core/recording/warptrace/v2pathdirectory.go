package warptrace

import (
	"encoding/binary"
	"errors"
	"io"
)

// v2PathDirectory is the directory of a paths block.
type v2PathDirectory struct {
	lengths []uint64 // by path
	of      []uint32 // path of each warp
	groups  digestGroups
	digests []digests
}

// readPaths appends the warps of a paths block's directory to infos and entries.
func (d *directoryReader) readPaths(b []byte, count int, infos []WarpInfo, entries []v2Entry) ([]WarpInfo, []v2Entry, *v2PathDirectory, error) {
	cut := errors.New("its directory is cut short")
	b, err := inflatedDirectory(b)
	if err != nil || len(b) < pathDirHead {
		return infos, entries, nil, cut
	}
	paths := int(binary.LittleEndian.Uint32(b))
	if paths > count {
		return infos, entries, nil, errPaths
	}
	first, firstEntry := len(infos), len(entries)
	infos, entries = append(infos, make([]WarpInfo, count)...), append(entries, make([]v2Entry, count)...)
	ws, es := infos[first:], entries[firstEntry:]
	p := &v2PathDirectory{of: make([]uint32, count), lengths: make([]uint64, paths)}
	masks, rest := b[4:pathDirHead], b[pathDirHead:]
	bad := false
	column := func(into []uint64, width int, set func(i int, v uint64)) {
		c := v2ValueColumn{stored: masks[0], constant: masks[1]}
		masks = masks[2:]
		n := c.bytes(len(into))
		if bad = bad || c.stored&c.constant != 0 || int(c.stored|c.constant)>>width != 0 || n > len(rest); bad {
			return
		}
		if c.stored|c.constant == 0 {
			clear(into)
			return
		}
		c.read(rest[:n], into)
		rest = rest[n:]
		for i, v := range into {
			set(i, v)
		}
	}
	d.numbers = resized(d.numbers, count)
	warps := d.numbers
	column(warps, 8, func(i int, v uint64) { ws[i].Warp = v })
	column(warps, 4, func(i int, v uint64) { p.of[i] = unzigzag32(uint32(v)) })
	column(warps, 8, func(i int, v uint64) { ws[i].Dropped = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Total = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Before = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Rolling = v })
	column(warps, 1, func(i int, v uint64) { ws[i].HasRolling = v&1 != 0 })
	column(warps, 4, func(i int, v uint64) { ws[i].Stored = uint32(v) })
	column(warps, 4, func(i int, v uint64) { es[i].history = uint32(v) })
	column(warps, 4, func(i int, v uint64) { es[i].snapshots = uint32(v) })
	column(p.lengths, 4, func(int, uint64) {})
	if bad {
		return infos, entries, nil, cut
	}
	return infos, entries, p, d.finishPaths(p, ws, es, rest)
}

// pathDirSizes is how many bytes at the beginning of a directory of a paths block say how long it is inflated.
const pathDirSizes = 4

// inflatedDirectory inflates the directory of a paths block where it is shorter than it says.
func inflatedDirectory(b []byte) ([]byte, error) {
	if len(b) < pathDirSizes {
		return nil, io.ErrUnexpectedEOF
	}
	size, packed := int(binary.LittleEndian.Uint32(b)), b[pathDirSizes:]
	switch {
	case size == len(packed):
		return packed, nil
	case size > v2MaxBlockWarps*96, size < len(packed):
		return nil, io.ErrUnexpectedEOF
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	inflated, err := d.DecodeAll(packed, make([]byte, 0, size))
	if err != nil || len(inflated) != size {
		return nil, io.ErrUnexpectedEOF
	}
	return inflated, nil
}

// finishPaths undoes the differences, adds the digests and checks what the numbers say.
func (d *directoryReader) finishPaths(p *v2PathDirectory, ws []WarpInfo, es []v2Entry, raw []byte) error {
	before := ^uint64(0)
	var path uint32
	var events uint64
	used := make([]bool, len(p.lengths))
	for i := range ws {
		w, e := &ws[i], &es[i]
		w.Warp += before + 1
		before = w.Warp
		path += p.of[i]
		p.of[i] = path
		if int64(path) >= int64(len(p.lengths)) || p.lengths[path] > v2MaxEvents {
			return errPaths
		}
		used[path] = true
		w.Events = uint32(p.lengths[path])
		w.Total += uint64(w.Events) + w.Dropped
		w.Stored += w.Events
		events += uint64(w.Events)
		p.groups.add(int(w.Events))
		switch {
		case w.Warp >= d.slots:
			return errors.New("it holds a warp that the launch does not have")
		case events > v2MaxEvents || e.history > v2MaxHistory || e.snapshots > v2MaxSnapshots:
			return errors.New("a warp has more events, history or snapshots than are read")
		}
	}
	for _, is := range used {
		if !is {
			return errPaths
		}
	}
	if len(raw) != 16*len(p.groups.starts) {
		return errors.New("its directory does not have the length that its planes need")
	}
	for g := range p.groups.starts {
		d := digests{binary.LittleEndian.Uint64(raw[16*g:]), binary.LittleEndian.Uint64(raw[16*g+8:])}
		p.digests = append(p.digests, d)
		first, end := p.groups.members(g)
		for at := first; at < end; at++ {
			own := d.member(at-first, end-first)
			ws[at].Digest, ws[at].Control, ws[at].HasDigest = own.all, own.control, true
		}
	}
	return nil
}

// pathDirHead is where the columns of the directory of a paths block begin.
const pathDirHead = 4 + 2*pathDirColumns

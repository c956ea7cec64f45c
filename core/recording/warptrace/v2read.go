package warptrace

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// v2Input is what a recording is read from: a file.Source, or a file that is being continued.
type v2Input interface {
	io.ReaderAt
	Size() int64
	Path() string
}

// v2Block is a sites or warps block and where it is.
type v2Block struct {
	offset int64
	head   v2Head
}

// v2Where says where a warp of the index is.
type v2Where struct{ block, at uint32 }

// v2 is an open recording of format v2. Everything but the cache stays as it was opened.
type v2 struct {
	in      v2Input
	header  *Header
	sites   []site.Site
	facts   v2SiteFacts
	blocks  []v2Block
	extras  []v2Block  // of stores, outputs, chunks and contents
	textsAt *v2Block   // the text of the kernel; nil: none
	warps   []WarpInfo // ascending
	where   []v2Where  // of each warp
	lost    Losses
	notes   []string      // of the recorder
	totals  v2Totals      // of the end of the file; nothing where it is truncated
	read    []atomic.Bool // by block: it was read whole
	extra   []atomic.Bool // likewise, of extras

	verified atomic.Bool

	mostHistory, mostSnapshots uint32 // of any warp

	codecs sync.Pool
	cache  v2Cache
}

func openV2(ctx context.Context, src *file.Source) (*Trace, error) {
	v, _, err := readV2(ctx, src)
	if err != nil {
		return nil, err
	}
	return &Trace{src: src, header: v.header, sites: site.NewTable(v.sites), rec: v}, nil
}

// readV2 reads everything but the bodies of warps blocks. list is what the blocks were found by.
func readV2(ctx context.Context, in v2Input) (*v2, *v2List, error) {
	v := &v2{in: in}
	if err := v.readHeader(); err != nil {
		return nil, nil, err
	}
	list, err := v.readIndex()
	if err != nil {
		return nil, nil, err
	}
	if list == nil {
		if list, err = v.scan(ctx); err != nil {
			return nil, nil, err
		}
		v.header.Truncated = true
		v.header.Warnings = append(v.header.Warnings, "the recording has no whole end: it was cut short or damaged, and what is whole in front of that was recovered")
	}
	v.blocks, v.extras, v.textsAt, v.notes, v.totals = list.blocks, list.extras, list.texts, list.totals.notes, list.totals
	v.read, v.extra = make([]atomic.Bool, len(v.blocks)), make([]atomic.Bool, len(v.extras))
	if err := v.readSites(); err != nil {
		return nil, nil, err
	}
	if err := v.readDirectories(ctx, list); err != nil {
		return nil, nil, err
	}
	v.countLosses()
	v.codecs.New = func() any { return &v2Codec{facts: &v.facts, wave: v.header.WaveSize, taken: v.header.Taken} }
	return v, list, nil
}

func (v *v2) corrupt(offset int64, what string, args ...any) error {
	return fault.Formatf(v.in.Path(), offset, what, args...).WithHint("record again, or copy the file again")
}

// readAt reads exactly len(b) bytes. The caller has compared them with the size of the file.
func (v *v2) readAt(b []byte, off int64) error {
	if n, err := v.in.ReadAt(b, off); n < len(b) {
		var f *fault.Error
		if errors.As(err, &f) {
			return err
		}
		return v.corrupt(off+int64(n), "the file ends here, inside a block")
	}
	return nil
}

func (v *v2) readHeader() error {
	if v.in.Size() < v2Preamble+v2HeadBytes {
		return v.corrupt(v.in.Size(), "the file ends before its header: %d bytes", v.in.Size())
	}
	b := make([]byte, v2Preamble)
	if err := v.readAt(b, 0); err != nil {
		return err
	}
	if !isV2(b) || binary.LittleEndian.Uint32(b[12:]) != checksum(b[:12]) {
		return v.corrupt(0, "the first %d bytes are corrupt", v2Preamble)
	}
	if major := binary.LittleEndian.Uint16(b[8:]); major < v2Major || major > v2MajorOperands {
		return fault.Formatf(v.in.Path(), 8, "format version is %d, expected %d to %d", major, v2Major, v2MajorOperands).WithHint("a newer prlx reads it")
	}
	head, ok, err := v.headAt(v2Preamble, v.in.Size())
	if err != nil {
		return err
	}
	if !ok || head.kind != v2Header {
		return v.corrupt(v2Preamble, "the header is cut short or corrupt")
	}
	_, body, err := v.payload(v2Block{v2Preamble, head}, &v2Memory{})
	if err != nil {
		return err
	}
	h, err := decodeV2Header(body)
	switch {
	case err != nil:
		return v.corrupt(v2Preamble, "the header is corrupt: %v", err)
	case h.WaveSize != 32 && h.WaveSize != 64:
		return v.corrupt(v2Preamble, "the header says %d lanes per warp, expected 32 or 64", h.WaveSize)
	}
	v.header = h
	return nil
}

// headAt reads the head of the block at an offset; ok is false where no block with lengths that can be true fits before end.
func (v *v2) headAt(off, end int64) (head v2Head, ok bool, err error) {
	if off < v2Preamble || end > v.in.Size() || off > end-v2HeadBytes {
		return head, false, nil
	}
	b := make([]byte, v2HeadBytes)
	if err := v.readAt(b, off); err != nil {
		return head, false, err
	}
	head, ok = parseV2Head(b)
	return head, ok && int64(head.stored) <= end-off-v2HeadBytes, nil
}

// zstdDecoder inflates bodies, into no more than the room it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(v2MaxIndex))
})

// payload reads a block whole, checks it, and inflates its body. Both lie in mem.
func (v *v2) payload(b v2Block, mem *v2Memory) (directory, body []byte, err error) {
	if lie := b.head.lie(); lie != "" {
		return nil, nil, fault.New(fault.Limit, "a block cannot be what it says: %s", lie).WithPath(v.in.Path())
	}
	mem.raw = resized(mem.raw, v2HeadBytes+int(b.head.stored))
	raw := mem.raw
	if err := v.readAt(raw, b.offset); err != nil {
		return nil, nil, err
	}
	if head, ok := parseV2Head(raw); !ok || head != b.head {
		return nil, nil, v.corrupt(b.offset, "the block is not the one that the index lists")
	}
	raw = raw[v2HeadBytes:]
	if checksum(raw) != b.head.payCRC {
		return nil, nil, v.corrupt(b.offset, "the block is corrupt: its checksum does not fit")
	}
	directory, body = raw[:b.head.directory], raw[b.head.directory:]
	if b.head.flags&v2Zstd == 0 {
		return directory, body, nil
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, nil, err
	}
	mem.body = resized(mem.body, int(b.head.inflated))
	inflated, err := d.DecodeAll(body, mem.body[:0:len(mem.body)])
	if err != nil || len(inflated) != int(b.head.inflated) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, fault.Formatf(v.in.Path(), b.offset, "the block does not inflate to the %d bytes that it says: %v", b.head.inflated, err).Wrap(err)
	}
	return directory, inflated, nil
}

// readSites reads the site table.
func (v *v2) readSites() error {
	var count, inflated int64
	for i := range v.blocks {
		if b := &v.blocks[i]; b.head.kind == v2Sites {
			count, inflated = count+int64(b.head.count), inflated+int64(b.head.inflated)
		}
	}
	if count > v2MaxSites || inflated > v2MaxSitesBody {
		return fault.New(fault.Limit, "the recording has %d sites of %d bytes; at most %d of %d are read", count, inflated, v2MaxSites, v2MaxSitesBody).WithPath(v.in.Path())
	}
	d := newSiteDecoder()
	seen := map[site.Key]struct{}{}
	for _, b := range v.blocks {
		if b.head.kind != v2Sites {
			continue
		}
		_, body, err := v.payload(b, &v2Memory{})
		if err != nil {
			return err
		}
		first := len(v.sites)
		if v.sites, err = d.sites(body, v.sites, int(b.head.count)); err != nil {
			return v.corrupt(b.offset, "the sites are corrupt: %v", err)
		}
		for i := first; i < len(v.sites); i++ {
			s := &v.sites[i]
			if _, twice := seen[s.Key]; twice || s.Key == 0 {
				return v.corrupt(b.offset, "site %d has no key of its own: %#x", i, uint64(s.Key))
			}
			seen[s.Key] = struct{}{}
			v.facts.add(s)
		}
	}
	return nil
}

// readDirectories makes the index of warps of the directories of blocks.
func (v *v2) readDirectories(ctx context.Context, list *v2List) error {
	var total int64
	for i := range v.blocks {
		if holdsWarps(v.blocks[i].head.kind) {
			total += int64(v.blocks[i].head.count)
		}
	}
	if total > maxWarps {
		return fault.New(fault.Limit, "the recording has %d warps; at most %d are read", total, maxWarps).WithPath(v.in.Path())
	}
	v.warps, v.where = make([]WarpInfo, 0, total), make([]v2Where, 0, total)
	d := directoryReader{wave: v.header.WaveSize, slots: v.header.WarpSlots}
	var entries []v2Entry
	for i := range v.blocks {
		b := &v.blocks[i]
		if !holdsWarps(b.head.kind) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if v.warps, entries, _, err = d.of(b.head, list.directories[i], v.warps, entries[:0]); err != nil {
			return v.corrupt(b.offset, "the directory of a block is corrupt: %v", err)
		}
		for _, e := range entries {
			v.mostHistory, v.mostSnapshots = max(v.mostHistory, e.history), max(v.mostSnapshots, e.snapshots)
		}
		for at := range b.head.count {
			v.where = append(v.where, v2Where{uint32(i), at})
		}
	}
	return v.sortWarps()
}

// sortWarps puts the index into ascending order. Every warp may be there once.
func (v *v2) sortWarps() error {
	if !slices.IsSortedFunc(v.warps, func(a, b WarpInfo) int { return cmp.Compare(a.Warp, b.Warp) }) {
		order := make([]int, len(v.warps))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v.warps[a].Warp, v.warps[b].Warp) })
		warps, where := make([]WarpInfo, len(order)), make([]v2Where, len(order))
		for to, from := range order {
			warps[to], where[to] = v.warps[from], v.where[from]
		}
		v.warps, v.where = warps, where
	}
	for i := 1; i < len(v.warps); i++ {
		if v.warps[i].Warp == v.warps[i-1].Warp {
			return v.corrupt(v.blocks[v.where[i].block].offset, "warp %d is there twice", v.warps[i].Warp)
		}
	}
	return nil
}

func (v *v2) countLosses() {
	v.lost = Losses{SampleRate: v.header.SampleRate, Truncated: v.header.Truncated, Notes: append([]string{}, v.header.Warnings...)}
	v.lost.Notes = append(v.lost.Notes, v.notes...)
	for i := range v.warps {
		v.lost.count(&v.warps[i])
	}
}

func (v *v2) index(context.Context) ([]WarpInfo, error) { return v.warps, nil }

func (v *v2) losses(context.Context) (Losses, error) { return v.lost, nil }

func (v *v2) close() error { return nil }

// block returns the block of a warp of the index, which the cache may have, and checks that it says of the warp what the index does.
// Whoever asks releases it.
func (v *v2) block(ctx context.Context, at int) (*v2Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	where := v.where[at]
	block := v.blocks[where.block]
	s, err := v.cache.get(where.block, func(mem *v2Memory) (*v2Loaded, error) { return v.load(block, mem) })
	if err != nil {
		return nil, err
	}
	v.read[where.block].Store(true)
	if s.loaded.warps[where.at] != v.warps[at] {
		v.cache.release(s)
		return nil, v.corrupt(block.offset, "the index says of warp %d what its block does not", v.warps[at].Warp)
	}
	return s, nil
}

// readWarp reads one warp out of its block.
func (v *v2) readWarp(ctx context.Context, at int, into *Warp) error {
	s, err := v.block(ctx, at)
	if err != nil {
		return err
	}
	defer v.cache.release(s)
	where, l := v.where[at], s.loaded
	c := v.codecs.Get().(*v2Codec)
	if err := v.decode(c, l, int(where.at), into); err != nil {
		return v.corrupt(v.blocks[where.block].offset, "warp %d is corrupt: %v", v.warps[at].Warp, err)
	}
	v.codecs.Put(c)
	if !v.hasDigests(l, int(where.at), into) {
		return v.corrupt(v.blocks[where.block].offset, "the events of warp %d do not have the digest that they were recorded with", v.warps[at].Warp)
	}
	return nil
}

// decode fills into with the warp at a position in its block.
func (v *v2) decode(c *v2Codec, l *v2Loaded, at int, into *Warp) error {
	info, entry := l.warps[at], l.entries[at]
	into.reset(info, int(info.Events))
	if l.paths == nil {
		start := l.starts[at]
		return c.decode(l.body[start:start+int(entry.section)], into, int(entry.history), int(entry.snapshots))
	}
	if err := l.paths.decode(at, into); err != nil {
		return err
	}
	rings := l.paths.rings[l.paths.starts[at]:l.paths.starts[at+1]]
	if l.paths.snapshots == nil {
		return c.decodeRings(rings, into, int(entry.history), int(entry.snapshots))
	}
	if err := c.decodeRings(rings, into, int(entry.history), 0); err != nil {
		return err
	}
	return l.paths.snapshots.decode(at, into)
}

// hasDigests reports whether the events of a warp have its digests. Those that several warps have in common are computed once, of all.
func (v *v2) hasDigests(l *v2Loaded, at int, w *Warp) bool {
	if l.paths == nil {
		digest, control := digestOf(w, v.facts.keys)
		return digest == l.warps[at].Digest && control == l.warps[at].Control
	}
	p := l.paths
	group := p.groups.of[at]
	first, end := p.groups.members(group)
	if end-first == 1 {
		digest, control := digestOf(w, v.facts.keys)
		return p.digests[group] == digests{digest, control}
	}
	p.mu.Lock()
	checked := p.checked[group]
	p.mu.Unlock()
	if checked {
		return true
	}
	of := make([]digests, end-first)
	var member Warp
	for i := range of {
		member.reset(l.warps[first+i], int(l.warps[first+i].Events))
		if p.decode(first+i, &member) != nil {
			return false
		}
		of[i].all, of[i].control = digestOf(&member, v.facts.keys)
	}
	same := p.digests[group] == groupDigests(l.warps[first:end], of)
	p.mu.Lock()
	p.checked[group] = same
	p.mu.Unlock()
	return same
}

// readCoded reads a warp as its block holds it; ok is false where that is not a paths block, or where more than events belongs to the warp.
func (v *v2) readCoded(ctx context.Context, at int, into *Coded) (ok bool, err error) {
	where := v.where[at]
	if into.held != nil { // in front of the next block, which takes over the memory
		into.cache.release(into.held)
		into.held = nil
	}
	if !hasPaths(v.blocks[where.block].head.kind) {
		return false, nil
	}
	s, err := v.block(ctx, at)
	if err != nil {
		return false, err
	}
	if s.loaded.entries[where.at].snapshots > 0 {
		v.cache.release(s)
		return false, nil
	}
	into.hold(&v.cache, s, where.at)
	return true, nil
}

// load reads a block of events, into memory that nobody else uses.
func (v *v2) load(b v2Block, mem *v2Memory) (*v2Loaded, error) {
	directory, body, err := v.payload(b, mem)
	if err != nil {
		return nil, err
	}
	l := &v2Loaded{body: body, mem: mem}
	d := directoryReader{wave: v.header.WaveSize, slots: v.header.WarpSlots}
	var paths *v2PathDirectory
	if l.warps, l.entries, paths, err = d.of(b.head, directory, nil, nil); err != nil {
		return nil, v.corrupt(b.offset, "the directory of a block is corrupt: %v", err)
	}
	if paths != nil {
		c := v.codecs.Get().(*v2Codec)
		defer v.codecs.Put(c)
		if l.paths, err = newV2Paths(c, paths, body, b.head.kind, l.entries, mem); err != nil {
			return nil, v.corrupt(b.offset, "a block is corrupt: %v", err)
		}
		l.body = nil
		return l, nil
	}
	l.starts = make([]int, len(l.entries))
	at := 0
	for i, e := range l.entries {
		l.starts[i] = at
		at += int(e.section)
	}
	return l, nil
}

// crcOf checks the payload of a block in pieces, so that no more than a piece is in memory.
func (v *v2) crcOf(ctx context.Context, off, n int64) (uint32, error) {
	piece := make([]byte, min(n, 1<<20))
	var sum uint32
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		k := min(n, int64(len(piece)))
		if err := v.readAt(piece[:k], off); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, piece[:k])
		off, n = off+k, n-k
	}
	return sum, nil
}

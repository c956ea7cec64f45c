package warptrace

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/safe"
)

// v1Packed is the payload of a compressed file without what is unused, in a temporary file: a launch of which few warps recorded
// something inflates to gigabytes of zeros. The offsets stand in the order of the index; -1 says that a ring is not there.
type v1Packed struct {
	src       *file.Source
	events    []int64
	history   []int64
	snapshots []int64
}

func (p *v1Packed) place(at int) v1Place {
	place := v1Place{src: p.src, events: p.events[at], history: -1, snapshots: -1}
	if at < len(p.history) {
		place.history = p.history[at]
	}
	if at < len(p.snapshots) {
		place.snapshots = p.snapshots[at]
	}
	return place
}

// Limits that keep a decompression bomb from filling the disk: beyond packFree bytes, what is in use may be at most packRatio times as
// large as the file.
const (
	packFree  = int64(1) << 30
	packRatio = int64(200)
)

// pack makes the index of a compressed file, and the temporary file from which its warps are read at random.
func (v *v1) pack(ctx context.Context, lost *Losses) error {
	if err := v.checkSections(); err != nil {
		return err
	}
	d, err := v.inflate(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	v.slots = nil
	p := &packer{v: v, d: d, lost: lost, packed: &v1Packed{}}
	out, in := io.Pipe()
	group, _ := safe.NewGroup(ctx)
	group.Go(func() (err error) {
		defer func() { in.CloseWithError(err) }()
		return p.write(in)
	})
	src, spoolErr := file.Spool(ctx, v.src.Path(), out, max(v.packFree, v.src.Size()*packRatio))
	out.CloseWithError(errSpoolGone)
	err = group.Wait()
	switch {
	case err != nil && !errors.Is(err, errSpoolGone):
		if spoolErr == nil {
			src.Close()
		}
		return v.corrupt(err)
	case fault.Is(spoolErr, fault.Limit):
		return fault.Of(spoolErr).WithHint("refused as a decompression bomb; if it is what you expect, write the recording without compression")
	case spoolErr != nil:
		return spoolErr
	}
	p.packed.src = src
	v.packed = p.packed
	v.addNotes(lost, p.cut)
	return nil
}

// errSpoolGone stops the packer when the spool has failed.
var errSpoolGone = errors.New("the spool failed")

// checkSections refuses ring sections that cannot be read in one pass.
func (v *v1) checkSections() error {
	at := v.layout.eventBytes()
	for _, s := range v.layout.sections() {
		if s.offset < at {
			return fault.Formatf(v.src.Path(), 144, "a section at byte %d of the inflated file overlaps what comes before, which ends at byte %d", v1Header+s.offset, v1Header+at)
		}
		at = s.offset + v.layout.slots*s.stride()
	}
	return nil
}

// section is a ring section.
type section struct {
	ring
	history bool
}

// sections lists the ring sections in the order in which they lie in the file.
func (l *v1Layout) sections() []section {
	var s []section
	if l.history.depth > 0 {
		s = append(s, section{l.history, true})
	}
	if l.snapshots.depth > 0 {
		s = append(s, section{l.snapshots, false})
	}
	slices.SortStableFunc(s, func(a, b section) int { return cmp.Compare(a.offset, b.offset) })
	return s
}

// packer reads the inflated payload in order, makes the index, and writes what is in use.
type packer struct {
	v       *v1
	d       *zstd.Decoder
	lost    *Losses
	packed  *v1Packed
	cut     bool
	w       *bufio.Writer
	written int64
	ring    []byte
}

func (p *packer) write(to io.Writer) error {
	p.w = bufio.NewWriterSize(to, 1<<18)
	slots := inflatedSlots{v: p.v, d: p.d, buf: make([]byte, v1WarpHead)}
	for slot := range p.v.layout.slots {
		c, events, err := slots.next()
		if err != nil {
			return err
		}
		before := len(p.v.slots)
		if err := p.v.addSlot(slot, c, p.lost); err != nil {
			return err
		}
		if len(p.v.slots) == before {
			continue
		}
		p.packed.events = append(p.packed.events, p.written)
		if err := p.put(events); err != nil {
			return err
		}
	}
	if err := p.sections(); err != nil {
		return err
	}
	return p.w.Flush()
}

func (p *packer) put(b []byte) error {
	p.written += int64(len(b))
	_, err := p.w.Write(b)
	return err
}

// sections reads the rings. A payload that ends inside them lacks the rest of them; one that goes on behind them is refused.
func (p *packer) sections() error {
	at := p.v.layout.eventBytes()
	for _, s := range p.v.layout.sections() {
		offsets := &p.packed.snapshots
		if s.history {
			offsets = &p.packed.history
		}
		err := p.skip(s.offset - at)
		if err == nil {
			err = p.section(s.ring, offsets)
		}
		if errors.Is(err, io.EOF) {
			p.cut = true
			return nil
		}
		if err != nil {
			return err
		}
		at = s.offset + p.v.layout.slots*s.stride()
	}
	var more [1]byte
	switch err := p.fill(more[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return p.v.tooLong()
}

// section reads one ring a slot, and keeps those of the warps in the index.
func (p *packer) section(r ring, offsets *[]int64) error {
	next := 0
	for slot := range p.v.layout.slots {
		if next == len(p.v.slots) || p.v.slots[next].Warp != uint64(slot) {
			if err := p.skip(r.stride()); err != nil {
				return err
			}
			continue
		}
		next++
		p.ring = grown(p.ring, v1RingHead)
		if err := p.fill(p.ring[:v1RingHead]); err != nil {
			return err
		}
		n, _ := r.valid(p.ring)
		used := v1RingHead + n*r.item
		p.ring = grown(p.ring, used)
		if err := p.fill(p.ring[v1RingHead:used]); err != nil {
			return err
		}
		if err := p.skip(r.stride() - used); err != nil {
			return err
		}
		*offsets = append(*offsets, p.written)
		if err := p.put(p.ring[:used]); err != nil {
			return err
		}
	}
	return nil
}

// fill reads all of b. Unlike io.ReadFull it returns io.EOF at the end of the payload, wherever that is, and so tells it from a frame
// that is cut short.
func (p *packer) fill(b []byte) error {
	for len(b) > 0 {
		n, err := p.d.Read(b)
		b = b[n:]
		if err != nil && len(b) > 0 {
			return err
		}
	}
	return nil
}

func (p *packer) skip(n int64) error {
	_, err := io.CopyN(io.Discard, p.d, n)
	return err
}

package combine

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

// A merged JSON is a head, a list of events and a tail. The list is made of pieces: a chunk of a Chrome trace, or a line of an
// XSpace. Any worker makes a piece, block by block; blocks are written in the order of pieces, so the bytes do not depend on the
// number of workers. Where the output is compressed the workers compress too: every block is a run of deflate blocks of its own,
// and all of them are one gzip member.

// blockBytes is the size at which the events of a line are handed on.
const blockBytes = 1 << 20

// block is a run of whole events and what stands before them in the list: white space and a comma.
type block struct {
	gap, text []byte
	packed    []byte // text, compressed
}

// maker makes a piece.
type maker func(w *pieceWorker) error

// piece is one unit of the list.
type piece struct {
	make   maker
	cost   int64
	blocks chan *block
}

// pieceWorker is one goroutine that makes pieces, and what it reuses from piece to piece.
type pieceWorker struct {
	ctx    context.Context
	id     int
	raw    []byte      // for the bytes of a chunk
	blocks chan *block // nil: blocks are written at once
	list   *listWriter
	packer *flate.Writer
	packed sliceWriter
}

// buffer returns an empty buffer for the text of a block.
func (w *pieceWorker) buffer() []byte {
	select {
	case b := <-w.list.free:
		return b[:0]
	default:
		return nil
	}
}

// emit hands a block over to be written; it owns gap and text from then on.
func (w *pieceWorker) emit(gap, text []byte) error {
	if len(text) == 0 {
		w.list.recycle(text)
		return nil
	}
	b := &block{gap: gap, text: text}
	if w.list.gz {
		if err := w.pack(b); err != nil {
			return err
		}
	}
	if w.blocks == nil {
		return w.list.block(b)
	}
	select {
	case w.blocks <- b:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// pack compresses a block so that it can stand behind any other.
func (w *pieceWorker) pack(b *block) error {
	w.packed = w.buffer()
	if w.packer == nil {
		var err error
		if w.packer, err = flate.NewWriter(&w.packed, gzipLevel); err != nil {
			return err
		}
	} else {
		w.packer.Reset(&w.packed)
	}
	if _, err := w.packer.Write(b.text); err != nil {
		return err
	}
	err := w.packer.Flush()
	b.packed, w.packed = w.packed, nil
	return err
}

type sliceWriter []byte

func (s *sliceWriter) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// assemble makes the pieces that produce yields, each with the memory that it takes at once, and writes them to list in order.
func assemble(j *job.Job, list *listWriter, produce func(yield func(cost int64, m maker) error) error) error {
	workers := max(1, j.Workers())
	if workers == 1 {
		return assembleAlone(j, list, produce)
	}
	group, ctx := safe.NewGroup(j.Context())
	todo, queue := make(chan *piece), make(chan *piece, workers)
	group.Go(func() error {
		defer close(queue)
		defer close(todo)
		return produce(func(cost int64, m maker) error {
			p := &piece{make: m, cost: affordable(j, cost), blocks: make(chan *block, 2)}
			if err := j.Budget().Acquire(ctx, p.cost); err != nil { // in the order of pieces, so the first always gets on
				return err
			}
			for _, to := range []chan *piece{queue, todo} {
				select {
				case to <- p:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for id := range workers {
		group.Go(func() error {
			w := &pieceWorker{ctx: ctx, id: id, list: list}
			for p := range todo {
				w.blocks = p.blocks
				if err := p.make(w); err != nil {
					return err
				}
				close(p.blocks)
			}
			return nil
		})
	}
	group.Go(func() error {
		for p := range queue {
			if err := list.piece(ctx, p); err != nil {
				return err
			}
			j.Budget().Release(p.cost)
		}
		return nil
	})
	return group.Wait()
}

// assembleAlone makes and writes piece by piece.
func assembleAlone(j *job.Job, list *listWriter, produce func(yield func(cost int64, m maker) error) error) error {
	w := &pieceWorker{ctx: j.Context(), list: list}
	return produce(func(cost int64, m maker) error {
		cost = affordable(j, cost)
		if err := j.Budget().Acquire(w.ctx, cost); err != nil {
			return err
		}
		defer j.Budget().Release(cost)
		return m(w)
	})
}

// affordable limits what is acquired to the whole budget: a piece larger than that is made when nothing else is held.
func affordable(j *job.Job, cost int64) int64 {
	if limit := j.Budget().Limit(); limit > 0 {
		return min(cost, limit)
	}
	return cost
}

// listWriter writes the document: text as it comes, blocks with their gaps, compressed where asked.
type listWriter struct {
	dst   io.Writer
	free  chan []byte // buffers to be used again
	wrote bool        // an event has been written

	gz     bool
	direct *flate.Writer // for text that is written directly
	open   bool          // direct has something to flush
	crc    uint32
	size   uint32
}

const (
	gzipLevel  = 3         // twice as fast as the default, 10 % larger
	keptBuffer = 4 << 20   // larger buffers are not kept
	maxStored  = 1<<16 - 1 // length of a stored deflate block
)

// newListWriter starts the document.
func newListWriter(dst io.Writer, gz bool, workers int) (*listWriter, error) {
	l := &listWriter{dst: dst, gz: gz, free: make(chan []byte, 4*max(1, workers))}
	if !gz {
		return l, nil
	}
	var err error
	if l.direct, err = flate.NewWriter(dst, gzipLevel); err != nil {
		return nil, err
	}
	_, err = dst.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255})
	return l, err
}

func (l *listWriter) recycle(b []byte) {
	if cap(b) == 0 || cap(b) > keptBuffer {
		return
	}
	select {
	case l.free <- b:
	default:
	}
}

// Write writes text of the document around the list.
func (l *listWriter) Write(p []byte) (int, error) {
	if !l.gz {
		return l.dst.Write(p)
	}
	l.account(p)
	l.open = true
	return l.direct.Write(p)
}

func (l *listWriter) account(p []byte) {
	l.crc = crc32.Update(l.crc, crc32.IEEETable, p)
	l.size += uint32(len(p))
}

// settle ends the direct text, so that blocks can follow.
func (l *listWriter) settle() error {
	if !l.open {
		return nil
	}
	l.open = false
	if err := l.direct.Flush(); err != nil {
		return err
	}
	l.direct.Reset(l.dst) // what follows must not refer back across blocks
	return nil
}

func (l *listWriter) piece(ctx context.Context, p *piece) error {
	for {
		select {
		case b, ok := <-p.blocks:
			if !ok {
				return nil
			}
			if err := l.block(b); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *listWriter) block(b *block) error {
	if err := l.gap(b.gap); err != nil {
		return err
	}
	l.wrote = true
	out := b.text
	if l.gz {
		if err := l.settle(); err != nil {
			return err
		}
		l.account(b.text)
		out = b.packed
	}
	_, err := l.dst.Write(out)
	l.recycle(b.text)
	l.recycle(b.packed)
	return err
}

// gap writes what stands between events: no comma before the first one, one between any two.
func (l *listWriter) gap(g []byte) error {
	commas := 0
	kept := make([]byte, 0, len(g)+1)
	for _, c := range g {
		if c == ',' {
			if commas++; commas > 1 || !l.wrote {
				continue
			}
		}
		kept = append(kept, c)
	}
	if l.wrote && commas == 0 {
		kept = append([]byte{','}, kept...)
	}
	return l.stored(kept)
}

// stored writes text as it is: between packed blocks as stored deflate blocks.
func (l *listWriter) stored(p []byte) error {
	if !l.gz {
		_, err := l.dst.Write(p)
		return err
	}
	if err := l.settle(); err != nil {
		return err
	}
	l.account(p)
	for len(p) > 0 {
		n := min(len(p), maxStored)
		head := [5]byte{}
		binary.LittleEndian.PutUint16(head[1:], uint16(n))
		binary.LittleEndian.PutUint16(head[3:], ^uint16(n))
		if _, err := l.dst.Write(append(head[:], p[:n]...)); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Close ends the document; it does not close what it is written to.
func (l *listWriter) Close() error {
	if !l.gz {
		return nil
	}
	if err := l.settle(); err != nil {
		return err
	}
	end := []byte{1, 0, 0, 0xff, 0xff} // the last deflate block, empty
	end = binary.LittleEndian.AppendUint32(end, l.crc)
	_, err := l.dst.Write(binary.LittleEndian.AppendUint32(end, l.size))
	return err
}

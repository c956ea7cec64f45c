package collective

import (
	"cmp"
	"encoding/binary"
	"os"
	"slices"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// Rest holds, in a temporary file, the executions for which there is no room in memory. They are stored by launch in some piles, so that the
// executions that belong together can be read together. Parts of several goroutines may share one. The zero Rest is empty and has no file.
type Rest struct {
	mu    sync.Mutex // of what follows but the piles
	f     *os.File
	end   int64
	parts uint32
	err   error
	piles [restPiles]pile
}

const (
	// restPiles is into how many piles executions are divided; a pile that is too big is read several times.
	restPiles = 256
	// restBlock is how many executions of a pile are written at a time.
	restBlock = 256
	// restBytes is what an execution takes in the file.
	restBytes = 56
)

type pile struct {
	mu     sync.Mutex
	open   []byte // not written yet
	blocks []int64
	count  int // executions that were written and that were not
}

// part returns a number for a part that will put executions here.
func (r *Rest) part() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts++
	return r.parts
}

// put stores an execution of a part. An error is returned by what reads.
func (r *Rest) put(part uint32, s *event.Span) {
	p := &r.piles[scatter(s.Run)>>56]
	p.mu.Lock()
	defer p.mu.Unlock()
	flags := uint32(s.ElementBytes) << 8
	if s.HasRun {
		flags |= 1
	}
	for _, v := range [6]uint32{part, uint32(s.Op), uint32(s.Device), uint32(s.Plane), uint32(s.Line), flags} {
		p.open = binary.LittleEndian.AppendUint32(p.open, v)
	}
	for _, v := range [4]int64{s.Run, s.StartNS, s.EndNS, s.Size} {
		p.open = binary.LittleEndian.AppendUint64(p.open, uint64(v))
	}
	p.count++
	if len(p.open) == restBlock*restBytes {
		if at, ok := r.write(p.open); ok {
			p.blocks = append(p.blocks, at)
		}
		p.open = p.open[:0]
	}
}

// write appends a block to the file; ok is false after an error.
func (r *Rest) write(b []byte) (at int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && r.f == nil {
		r.f, r.err = file.Unnamed()
	}
	if r.err != nil {
		return 0, false
	}
	at = r.end
	if _, err := r.f.WriteAt(b, at); err != nil {
		r.err = fault.FromIO(os.TempDir(), err).WithHint("set TMPDIR to a disk with more room: executions of collectives that memory has no room for are kept there")
		return 0, false
	}
	r.end += int64(len(b))
	return at, true
}

// each visits what a pile holds.
func (r *Rest) each(p *pile, visit func(part uint32, s *event.Span)) error {
	r.mu.Lock()
	f, err := r.f, r.err
	r.mu.Unlock()
	if err != nil {
		return err
	}
	block := make([]byte, restBlock*restBytes)
	for _, at := range p.blocks {
		if _, err := f.ReadAt(block, at); err != nil {
			return fault.FromIO(os.TempDir(), err)
		}
		eachOf(block, visit)
	}
	eachOf(p.open, visit)
	return nil
}

func eachOf(block []byte, visit func(part uint32, s *event.Span)) {
	for ; len(block) > 0; block = block[restBytes:] {
		word := func(i int) int32 { return int32(binary.LittleEndian.Uint32(block[4*i:])) }
		long := func(i int) int64 { return int64(binary.LittleEndian.Uint64(block[24+8*i:])) }
		visit(uint32(word(0)), &event.Span{
			Op: word(1), Device: word(2), Plane: word(3), Line: word(4), HasRun: word(5)&1 == 1, ElementBytes: uint8(word(5) >> 8), Run: long(0), StartNS: long(1), EndNS: long(2), Size: long(3),
		})
	}
}

// Close removes the file.
func (r *Rest) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// origin is a part that was joined.
type origin struct {
	base int32 // of its operations
	node int32
}

// Recall takes the executions of some launches back from the rest, and leaves out others by lot where there is no room for both.
func Recall(parts []*Part, wanted map[launch]bool) error {
	byID := map[uint32]*Part{}
	rests := map[*Rest]bool{}
	for _, p := range parts {
		here := 0
		for i := range p.Spans {
			if wanted[p.launch(&p.Spans[i])] {
				here++
			}
		}
		p.wanted = wanted
		for p.Halvings > 0 && p.Halvings < mostHalvings && len(p.Spans)-here > max(p.limit-len(wanted)*len(slotsOf(p, nil)), 0) {
			p.thin(p.Halvings + 1)
		}
		if p.rest != nil {
			byID[p.id], rests[p.rest] = p, true
		}
	}
	for r := range rests {
		for i := range r.piles {
			err := r.each(&r.piles[i], func(id uint32, s *event.Span) {
				p := byID[id]
				if p == nil || p.rest != r || drawn(s.Run, p.Halvings) || !wanted[p.launch(s)] {
					return
				}
				s.Node = p.node()
				p.keep(*s)
				p.Thinned--
			})
			if err != nil {
				return err
			}
		}
	}
	for _, p := range parts {
		p.finish()
	}
	return nil
}

// node is that of a part of one node.
func (p *Part) node() int32 {
	if len(p.Spans) > 0 {
		return p.Spans[0].Node
	}
	return p.number
}

// hasRest reports whether executions of a joined part lie in a file.
func (p *Part) hasRest() bool { return p.rest != nil && p.Thinned > 0 }

// eachRest hands what a joined part did not keep to visit, as parts of at most about most executions: launches are whole in each.
func (p *Part) eachRest(most int, visit func(*Part) error) error {
	if !p.hasRest() {
		return nil
	}
	for i := range p.rest.piles {
		pile := &p.rest.piles[i]
		turns := uint64(1)
		for turns < 1<<16 && uint64(pile.count)/turns > uint64(max(most, 1)) {
			turns *= 2
		}
		for turn := range turns {
			if pile.count == 0 {
				continue
			}
			one := p.blank()
			err := p.rest.each(pile, func(id uint32, s *event.Span) {
				if scatter(s.Run)>>40&(turns-1) == turn && p.left(id, s) {
					one.keep(*s)
				}
			})
			if err != nil {
				return err
			}
			one.finish()
			slices.SortFunc(one.Spans, compareSpans) // goroutines stored them in any order
			if len(one.Spans) == 0 {
				continue
			}
			if err := visit(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// blank is a part without executions that knows what a joined part does.
func (p *Part) blank() *Part {
	return &Part{
		Ops: p.Ops, DeviceIDs: p.DeviceIDs, Ranks: p.Ranks, ProcessGroups: p.ProcessGroups, Turns: p.Turns, Halvings: max(p.Halvings, 1),
		everyone: slotsOf(p, nil), origins: p.origins,
	}
}

// left makes an execution of the file one of the joined part; false where that is in memory, or of another part.
func (p *Part) left(id uint32, s *event.Span) bool {
	from, ok := p.origins[id]
	if !ok {
		return false
	}
	s.Op, s.Node = s.Op+from.base, from.node
	return !p.draws(s)
}

func compareSpans(a, b event.Span) int {
	switch {
	case a.Op != b.Op:
		return cmp.Compare(a.Op, b.Op)
	case a.Run != b.Run:
		return cmp.Compare(a.Run, b.Run)
	case a.Before(&b):
		return -1
	case b.Before(&a):
		return 1
	}
	return cmp.Compare(a.Size, b.Size)
}

// sameOrigin reports whether two operations of a part were found in one trace.
func (p *Part) sameOrigin(a, b int32) bool {
	if p.origins == nil {
		return true
	}
	for _, o := range p.origins {
		if o.base > min(a, b) && o.base <= max(a, b) {
			return false
		}
	}
	return true
}

// keep adds an execution to those in memory.
func (p *Part) keep(s event.Span) {
	if p.Ops[s.Op].Phase == hlo.Whole {
		p.Spans = append(p.Spans, s)
	} else {
		p.paired = append(p.paired, s)
	}
}

package execute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// hang ends a launch of which every block that runs is stuck, and says of each what it waits for.
func (x *worker) hang() {
	r := x.launch
	started := min(x.next.Swap(r.Blocks), r.Blocks)
	h := &hanging{x: x, idle: r.Blocks - started, waits: map[uint64][]uint64{}, live: map[uint64]bool{}}
	h.started = func(block uint64) bool {
		return r.Order == nil && block < started || slices.Contains(r.Order[:min(started, uint64(len(r.Order)))], block)
	}
	for _, b := range x.resident {
		h.live[b.Linear] = true
		for _, w := range polling(b) {
			if w.poll.at > 0 && !isShared(w.poll.address) {
				h.waits[w.poll.address] = append(h.waits[w.poll.address], b.Linear)
			}
		}
	}
	for _, list := range h.waits {
		slices.Sort(list)
	}
	for _, b := range x.resident {
		for _, w := range polling(b) {
			h.report(b, w)
		}
		b.ended = true
	}
}

// hanging is a launch that hangs.
type hanging struct {
	x       *worker
	idle    uint64 // blocks that have not started
	started func(block uint64) bool
	waits   map[uint64][]uint64 // blocks by the address at which they look
	live    map[uint64]bool     // blocks that have not ended
}

// polling are the warps of a block that look in vain. Where none does, those are it that go round a loop.
func polling(b *Block) (list []*Warp) {
	for _, w := range b.warps {
		if w.state != warpDone && w.poll.at > 0 && w.poll.round >= b.resting.since {
			list = append(list, w)
		}
	}
	if list != nil {
		return list
	}
	for _, w := range b.warps {
		if w.state == warpRests {
			w.poll.at = 0
			list = append(list, w)
		}
	}
	return list
}

// report notes what one warp waits for.
func (h *hanging) report(b *Block, w *Warp) {
	if w.poll.at == 0 {
		p := w.paths[min(w.run, len(w.paths)-1)]
		at := lineAbove(b.kernel, p.pc)
		b.report(checkDeadlock, w, at, p.lanes, fmt.Sprintf(
			"block %d goes round a loop for ever: it looks at no memory that another thread could change (a load that is neither volatile nor atomic counts as one that finds what it found before)%s",
			b.Linear, h.gathered(b)))
		return
	}
	at := w.poll.at - 1
	fault := &memory.Fault{Lanes: 1 << w.poll.lane, Lane: w.poll.lane, Address: w.poll.address, Bytes: w.poll.bytes, Atomic: b.code[at].Kind == code.KindAtomic}
	b.Running.Global.Locate(fault)
	b.note(checkDeadlock, w, at, fault.Lanes, fault, func() string { return h.message(b, w, fault) })
}

// message says what a warp waits for: where it looks and what is there, who wrote that last, and who will not.
func (h *hanging) message(b *Block, w *Warp, f *memory.Fault) string {
	r := b.Running
	what := fmt.Sprintf("shared memory at 0x%x", f.Address-memory.SharedWindow)
	who := fmt.Sprintf("warp %d of block %d", w.Index, b.Linear)
	shared := isShared(f.Address)
	if !shared {
		what = elementText(f)
		if list := h.waits[f.Address]; len(list) > 1 {
			who = blocksText(list)
		}
	}
	value, _ := b.mem.Peek(f.Address, min(f.Bytes, 8), w.Index, w.poll.lane)
	text := fmt.Sprintf("the launch hangs: %s polls %s, which stays %d (0x%x)", who, what, value, value)
	if len(h.waits[f.Address]) > 1 && !shared {
		text = strings.Replace(text, " polls ", " poll ", 1)
	}
	if !shared {
		text += h.writers(b, f.Address)
	}
	text += h.gathered(b)
	if h.idle > 0 {
		text += fmt.Sprintf("; %d blocks of the grid have not started: they do when one of the %d that run has ended", h.idle, len(h.x.resident))
	}
	if r.Blocks > 1 && !b.kernel.Ordered {
		text += "; no other block is asked, as the kernel looks at global memory neither by atomics nor by volatile loads"
	}
	return text
}

// isShared reports whether a generic address is one of shared memory.
func isShared(address uint64) bool {
	return address-memory.SharedWindow < memory.LocalWindow-memory.SharedWindow
}

// writers says who wrote an address, and which blocks will not.
func (h *hanging) writers(b *Block, address uint64) string {
	s := &b.Running.writes
	x := s.byPlace[address]
	switch {
	case x == nil && (s.cut || s.covers(address)):
		return "; who wrote it last was not kept"
	case x == nil:
		return "; nobody has written it in this launch" + h.couldWrite(b, address)
	}
	state := "has ended"
	if h.live[x.block] {
		state = "waits, too"
		for at, list := range h.waits {
			if slices.Contains(list, x.block) && at != address {
				state = "waits for " + h.placeText(b, at)
			}
		}
	}
	text := fmt.Sprintf("; block %d, which %s, wrote it last (warp %d, %s)", x.block, state, x.warp, lineText(b.kernel, x.at))
	if len(x.blocks) > 1 {
		var missing []uint64
		for n := range min(b.Running.Blocks, maxListed) {
			if _, ok := x.blocks[n]; !ok && !h.live[n] && h.started(n) {
				missing = append(missing, n)
			}
		}
		text += fmt.Sprintf("; %d blocks have written it", len(x.blocks))
		if len(missing) > 0 {
			text += fmt.Sprintf(", %s ended without that", blocksText(missing))
		}
	}
	return text
}

// couldWrite names the instructions that write the array in which an address lies, and the blocks that ended.
func (h *hanging) couldWrite(b *Block, address uint64) string {
	legal := b.Running.Global.Parameters(address)
	var lines []string
	for at := range b.code {
		in := &b.code[at]
		if in.Hidden || in.Kind != code.KindStore && in.Kind != code.KindAtomic || !isGlobal(in) || in.Mem.Legal != 0 && in.Mem.Legal&legal == 0 {
			continue
		}
		if text := lineText(b.kernel, int32(at)); !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	ended := ""
	var gone []uint64
	for n := range min(b.Running.Blocks, maxListed) {
		if !h.live[n] && h.started(n) {
			gone = append(gone, n)
		}
	}
	if len(gone) > 0 {
		ended = fmt.Sprintf("; %s ended without that", blocksText(gone))
	}
	if len(lines) == 0 {
		return ", and no instruction of the kernel does" + ended
	}
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "...")
	}
	return ended + "; its array is written by " + strings.Join(lines, ", ")
}

// Bounds of what a message lists.
const (
	maxListed = 1 << 16
	maxLines  = 4
	maxRuns   = 6
)

// gathered says which warps of a block wait at barriers.
func (h *hanging) gathered(b *Block) (text string) {
	for i := range b.arrived {
		if g := &b.arrived[i]; len(g.waiting) > 0 {
			want := b.alive * 32
			if g.want > 0 {
				want = g.want
			}
			text += fmt.Sprintf("; at barrier %d (%s) are %d of %d threads of the block", i, lineText(b.kernel, g.waiting[0].at), g.threads, want)
		}
	}
	return text
}

// placeText is an address as an element of its array.
func (h *hanging) placeText(b *Block, address uint64) string {
	f := &memory.Fault{Address: address, Bytes: 4}
	for _, x := range h.x.resident {
		for _, w := range x.warps {
			if w.poll.at > 0 && w.poll.address == address {
				f.Bytes = w.poll.bytes
			}
		}
	}
	b.Running.Global.Locate(f)
	return elementText(f)
}

// elementText is where a fault is, as an element of the array that it is in.
func elementText(f *memory.Fault) string {
	if f.Nearest == "" {
		return fmt.Sprintf("0x%x", f.Address)
	}
	return fmt.Sprintf("%s[%d] (%s at 0x%x)", f.Nearest, f.Offset/uint64(f.Bytes), bytesText(uint64(f.Bytes)), f.Address)
}

// lineText is an instruction with the line of the user's source at which it stands.
func lineText(k *code.Kernel, at int32) string {
	text := k.Text(at)
	if name, _, ok := strings.Cut(text, " "); ok {
		text = name
	}
	if where := k.Where(at); len(where) > 0 && where[len(where)-1].Line > 0 {
		return fmt.Sprintf("%s, line %d", text, where[len(where)-1].Line)
	}
	return text
}

// lineAbove is the instruction at a place, or the one above it that has a line.
func lineAbove(k *code.Kernel, pc int32) int32 {
	for at := pc; at >= 0; at-- {
		if where := k.Where(at); len(where) > 0 && where[0].Line > 0 {
			return at
		}
	}
	return pc
}

// blocksText is a list of blocks in words.
func blocksText(list []uint64) string {
	if len(list) == 1 {
		return fmt.Sprintf("block %d", list[0])
	}
	var runs []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			runs = append(runs, fmt.Sprint(list[i]))
		case 1:
			runs = append(runs, fmt.Sprint(list[i]), fmt.Sprint(list[j]))
		default:
			runs = append(runs, fmt.Sprintf("%d to %d", list[i], list[j]))
		}
		i = j + 1
	}
	if len(runs) > maxRuns {
		runs = append(runs[:maxRuns], "...")
	}
	return "blocks " + strings.Join(runs, ", ")
}

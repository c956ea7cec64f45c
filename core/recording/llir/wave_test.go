package llir

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// A test-only interpreter of LLVM IR for AMD GPUs: blocks of waves, whose lanes part at branches and meet again at the post-dominator.
// What it does not know is a panic that names it; a test turns that into its failure.

// value is what one lane has under a name: an element for each of a vector, one for everything else.
type value []uint64

// called is what the interpreter saw when a function of the recorder was called.
type called struct {
	name   string
	warp   uint64
	site   uint64
	active uint64
	args   [][]value // behind the site, by argument and lane
}

// machine runs a module.
type machine struct {
	m      *module
	by     map[string]*function
	flows  map[*function]*flow
	lanes  int
	grid   [3]uint32
	block  uint32 // threads
	memory []region
	told   uint64 // address of what a kernel is told implicitly
	calls  []called
	steps  int
	wrote  []wrote
	read   map[*inst]*reading
}

// reading is what an instruction says, read once.
type reading struct{ list, args, labels []string }

func (x *machine) reading(in *inst) *reading {
	r := x.read[in]
	if r == nil {
		r = &reading{list: parts(unflagged(in.Rest)), labels: labelsOf(x.m.whole(in))}
		if in.Op == "call" {
			r.args = arguments(in)
		}
		x.read[in] = r
	}
	return r
}

// wrote is an element that a lane of the kernel itself stored.
type wrote struct{ warp, at, value, bytes uint64 }

// region is memory that may be accessed.
type region struct {
	name  string
	at    uint64
	bytes []byte
}

// flow is what is known of the blocks of a function.
type flow struct {
	by    map[string]int32 // blocks by label
	after []int32          // the block where lanes that parted at the end of a block meet, -1 none
}

// frame is a call of a function.
type frame struct {
	w    *wave
	f    *function
	regs map[string][]value
	prev []int32 // by lane: the block it came from
	left uint64  // lanes that have returned
	back []value
}

// wave is one of a block.
type wave struct {
	*machine
	at     [3]uint32
	number uint32
}

const maxSteps = 20 << 20

func newMachine(m *module, lanes int, grid [3]uint32, block uint32) *machine {
	x := &machine{m: m, by: map[string]*function{}, flows: map[*function]*flow{}, read: map[*inst]*reading{}, lanes: lanes, grid: grid, block: block}
	for _, f := range m.Functions {
		x.by[f.Name] = f
	}
	implicit := make([]byte, 256)
	for k := range 3 {
		binary.LittleEndian.PutUint32(implicit[4*k:], grid[k])
	}
	binary.LittleEndian.PutUint16(implicit[12:], uint16(block))
	binary.LittleEndian.PutUint16(implicit[14:], 1)
	binary.LittleEndian.PutUint16(implicit[16:], 1)
	x.told = x.add("implicit arguments", implicit)
	return x
}

// add gives memory an address. Between two pieces nobody may write.
func (x *machine) add(name string, b []byte) uint64 {
	at := uint64(0x10000000) * uint64(len(x.memory)+1)
	x.memory = append(x.memory, region{name, at, b})
	return at
}

func (x *machine) access(at uint64, n int) []byte {
	for _, r := range x.memory {
		if at >= r.at && at-r.at <= uint64(len(r.bytes)) && uint64(len(r.bytes))-(at-r.at) >= uint64(n) {
			return r.bytes[at-r.at:][:n]
		}
	}
	panic(fmt.Sprintf("%d bytes at %#x belong to nobody", n, at))
}

// run runs the kernel over its grid, one wave after the other.
func (x *machine) run(kernel string, args []uint64) {
	f := x.by[kernel]
	for z := range x.grid[2] {
		for y := range x.grid[1] {
			for bx := range x.grid[0] {
				for n := range (x.block + uint32(x.lanes) - 1) / uint32(x.lanes) {
					w := &wave{x, [3]uint32{bx, y, z}, n}
					there := min(x.block-n*uint32(x.lanes), uint32(x.lanes))
					var list [][]value
					for _, a := range args {
						list = append(list, w.every(value{a}))
					}
					w.call(f, list, ^uint64(0)>>(64-there))
				}
			}
		}
	}
}

func (w *wave) every(v value) []value {
	all := make([]value, w.lanes)
	for i := range all {
		all[i] = v
	}
	return all
}

// warp is the number of a wave in the launch.
func (w *wave) warp() uint64 {
	perBlock := (uint64(w.block) + uint64(w.lanes) - 1) / uint64(w.lanes)
	block := (uint64(w.at[2])*uint64(w.grid[1])+uint64(w.at[1]))*uint64(w.grid[0]) + uint64(w.at[0])
	return block*perBlock + uint64(w.number)
}

func (w *wave) call(f *function, args [][]value, mask uint64) []value {
	fr := &frame{w: w, f: f, regs: make(map[string][]value, len(f.Insts)), prev: make([]int32, w.lanes), back: make([]value, w.lanes)}
	for i, p := range f.Params {
		fr.regs[p.Name] = args[i]
	}
	fr.run(mask, 0, -1)
	if fr.left != mask {
		panic("lanes of " + f.Name + " did not return")
	}
	return fr.back
}

// run takes lanes from a block to another one, or to the end.
func (fr *frame) run(mask uint64, b, stop int32) {
	flow := fr.w.flow(fr.f)
	for mask != 0 && b != stop {
		block := &fr.f.Blocks[b]
		at := fr.phis(block, mask)
		for ; at < block.End-1; at++ {
			fr.step(&fr.f.Insts[at], mask)
		}
		if fr.w.steps += int(block.End - block.First); fr.w.steps > maxSteps {
			panic("the kernel does not end")
		}
		in := &fr.f.Insts[at]
		if in.Op == "ret" {
			if in.Rest != "void" {
				v := fr.operand(in.Rest, mask)
				eachLane(mask, func(l int) { fr.back[l] = v[l] })
			}
			fr.left |= mask
			return
		}
		ways := fr.ways(in, mask, flow)
		eachLane(mask, func(l int) { fr.prev[l] = b })
		if len(ways) == 1 {
			b = ways[0].to
			continue
		}
		meet := flow.after[b]
		for _, way := range ways {
			fr.run(way.mask, way.to, meet)
		}
		if mask, b = mask&^fr.left, meet; meet < 0 {
			return
		}
	}
}

type way struct {
	to   int32
	mask uint64
}

// ways are where the lanes of a branch or switch go.
func (fr *frame) ways(in *inst, mask uint64, flow *flow) []way {
	text := fr.w.m.whole(in)
	labels := fr.w.reading(in).labels
	to := make([]int32, fr.w.lanes)
	switch rest, conditional := strings.CutPrefix(in.Rest, "i1 "); {
	case in.Op == "switch":
		n := typeEnd(in.Rest)
		name, _, _ := strings.Cut(in.Rest[n:], ",")
		v := fr.operand(in.Rest[:n]+" "+strings.TrimSpace(name), mask)
		eachLane(mask, func(l int) {
			to[l] = flow.by[labels[0]]
			for k, line := range strings.Split(text, "\n")[1:] {
				if c, _, ok := strings.Cut(strings.TrimSpace(line), ","); ok && k+1 < len(labels) && constant(c[:typeEnd(c)], strings.TrimSpace(c[typeEnd(c):]))[0] == v[l][0] {
					to[l] = flow.by[labels[k+1]]
				}
			}
		})
	case in.Op == "br" && conditional:
		name, _, _ := strings.Cut(rest, ",")
		v := fr.operand("i1 "+name, mask)
		eachLane(mask, func(l int) { to[l] = flow.by[labels[1-v[l][0]&1]] })
	case in.Op == "br":
		eachLane(mask, func(l int) { to[l] = flow.by[labels[0]] })
	default:
		panic("a block ends with " + in.Op)
	}
	var list []way
	eachLane(mask, func(l int) {
		for k := range list {
			if list[k].to == to[l] {
				list[k].mask |= 1 << l
				return
			}
		}
		list = append(list, way{to[l], 1 << l})
	})
	return list
}

// labelsOf are the labels that an instruction names, without their sign.
func labelsOf(text string) []string {
	var list []string
	for rest := text; ; {
		i := strings.Index(rest, "label %")
		if i < 0 {
			return list
		}
		rest = rest[i+7:]
		list = append(list, rest[:localEnd(rest)])
	}
}

// phis gives the phis at the start of a block their values, all at once, and returns the first other instruction.
func (fr *frame) phis(block *block, mask uint64) int32 {
	at := block.First
	made := map[string][]value{}
	for ; at < block.End && fr.f.Insts[at].Op == "phi"; at++ {
		in := &fr.f.Insts[at]
		n := typeEnd(in.Rest)
		all := make([]value, fr.w.lanes)
		for rest := in.Rest[n:]; ; {
			open := strings.IndexByte(rest, '[')
			if open < 0 {
				break
			}
			shut := closing(rest, open)
			pair := parts(rest[open+1 : shut])
			rest = rest[shut+1:]
			from, came := fr.w.flow(fr.f).by[pair[1][1:]], uint64(0)
			eachLane(mask, func(l int) {
				if fr.prev[l] == from {
					came |= 1 << l
				}
			})
			if came != 0 {
				v := fr.operand(in.Rest[:n]+" "+pair[0], came)
				eachLane(came, func(l int) { all[l] = v[l] })
			}
		}
		made[in.Name] = all
	}
	for name, all := range made {
		fr.set(name, all, mask)
	}
	return at
}

// set gives lanes a value under a name; others keep theirs.
func (fr *frame) set(name string, v []value, mask uint64) {
	if name == "" {
		return
	}
	old := fr.regs[name]
	if old == nil {
		old = make([]value, fr.w.lanes)
		fr.regs[name] = old
	}
	eachLane(mask, func(l int) { old[l] = v[l] })
}

func eachLane(mask uint64, do func(l int)) {
	for ; mask != 0; mask &= mask - 1 {
		do(bits.TrailingZeros64(mask))
	}
}

// flow finds where the lanes that part at a block meet: its nearest post-dominator.
func (x *machine) flow(f *function) *flow {
	if known := x.flows[f]; known != nil {
		return known
	}
	n := len(f.Blocks)
	fl := &flow{by: map[string]int32{}, after: make([]int32, n)}
	first := fmt.Sprint(len(f.Params)) // the entry block counts among the unnamed values
	for b := range f.Blocks {
		label := f.Blocks[b].Label
		if label == "" {
			label = first
		}
		fl.by[label] = int32(b)
	}
	exits := make([][]int32, n)
	post := make([]map[int32]bool, n) // blocks that every way from here leads through
	for b := range f.Blocks {
		last := &f.Insts[f.Blocks[b].End-1]
		for _, label := range labelsOf(x.m.whole(last)) {
			exits[b] = append(exits[b], fl.by[label])
		}
	}
	for changed := true; changed; {
		changed = false
		for b := n - 1; b >= 0; b-- {
			var all map[int32]bool
			for k, to := range exits[b] {
				if post[to] == nil {
					continue
				}
				if all == nil && k >= 0 {
					all = map[int32]bool{}
					for p := range post[to] {
						all[p] = true
					}
					continue
				}
				for p := range all {
					if !post[to][p] {
						delete(all, p)
					}
				}
			}
			if all == nil && len(exits[b]) > 0 {
				continue
			}
			if all == nil {
				all = map[int32]bool{}
			}
			all[int32(b)] = true
			if post[b] == nil || len(post[b]) != len(all) {
				post[b], changed = all, true
			}
		}
	}
	for b := range post {
		fl.after[b] = -1
		for p := range post[b] { // the nearest is the one that all others follow
			if p != int32(b) && (fl.after[b] < 0 || len(post[p]) > len(post[fl.after[b]])) {
				fl.after[b] = p
			}
		}
	}
	x.flows[f] = fl
	return fl
}

package simt

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/kernel/simt/lane"
)

// findUndefined finds the registers that may be read before they are written: they must be zero where a warp starts, so that a
// result never depends on what ran in the warp's place before. Where lanes can look into others that are not active, or
// predicates guard what writes, that is every register.
func (b *binder) findUndefined() {
	k := b.k
	collective, diverges := false, false
	for i := range k.code {
		in := &k.code[i]
		switch in.kind {
		case kindWarp, kindMatrix:
			collective = true
		case kindBranch, kindSwitch:
			diverges = true
		case kindReturn, kindExit, kindTrap:
			diverges = diverges || in.guard >= 0
		}
	}
	if k.clearAll = collective && diverges; k.clearAll {
		return
	}
	for bank, n := range k.variable {
		undefined := make([]bool, n)
		for _, r := range b.liveAtEntry(lane.Bank(bank), n) {
			undefined[r] = true
		}
		for r, is := range undefined {
			if is {
				k.clear[bank] = append(k.clear[bank], int32(r))
			}
		}
	}
}

// bitset is a set of registers.
type bitset []uint64

func (s bitset) add(i int32)      { s[i>>6] |= 1 << (i & 63) }
func (s bitset) has(i int32) bool { return s[i>>6]>>(i&63)&1 != 0 }

// liveAtEntry lists the registers of a bank that some path from the entry of the kernel, or of a function, reads before it
// writes them.
func (b *binder) liveAtEntry(bank lane.Bank, n int) []int32 {
	list := b.k.code
	pieces, next := b.pieces()
	size := (n + 63) / 64
	type sets struct{ use, def, live bitset }
	all := make([]sets, len(pieces))
	for i, p := range pieces {
		s := sets{make(bitset, size), make(bitset, size), make(bitset, size)}
		for at := p[0]; at < p[1]; at++ {
			in := &list[at]
			b.reads(in, func(r slot) {
				if r.bank == bank && int(r.index) < n && !s.def.has(r.index) {
					s.use.add(r.index)
				}
			})
			if in.guard >= 0 {
				continue
			}
			b.writes(in, func(r slot) {
				if r.bank == bank && int(r.index) < n {
					s.def.add(r.index)
				}
			})
		}
		copy(s.live, s.use)
		all[i] = s
	}
	for changed := true; changed; {
		changed = false
		for i := len(pieces) - 1; i >= 0; i-- {
			for _, to := range next[i] {
				for w := range all[i].live {
					grown := all[i].live[w] | all[to].live[w]&^all[i].def[w]
					changed = changed || grown != all[i].live[w]
					all[i].live[w] = grown
				}
			}
		}
	}
	var out []int32
	for _, f := range b.functions {
		for i, p := range pieces {
			if p[0] != f.start[0] {
				continue
			}
			for w, set := range all[i].live {
				for ; set != 0; set &= set - 1 {
					out = append(out, int32(w*64+bits.TrailingZeros64(set)))
				}
			}
		}
	}
	return out
}

// pieces cuts the code into runs without branches or targets, and says which follow each. A call goes on behind itself: callees
// have registers of their own.
func (b *binder) pieces() (pieces [][2]int32, next [][]int32) {
	list := b.k.code
	leader := make([]bool, len(list)+1)
	for _, f := range b.functions {
		leader[f.start[0]] = true
	}
	for i := range list {
		in := &list[i]
		switch in.kind {
		case kindJump, kindBranch:
			leader[in.target], leader[i+1] = true, true
		case kindSwitch:
			for _, t := range b.k.switches[in.detail] {
				leader[t.at] = true
			}
			leader[i+1] = true
		case kindReturn, kindExit, kindTrap:
			leader[i+1] = true
		}
	}
	at := make([]int32, len(list)+1)
	for i := range list {
		if leader[i] {
			pieces = append(pieces, [2]int32{int32(i), int32(i)})
		}
		at[i] = int32(len(pieces) - 1)
		pieces[len(pieces)-1][1] = int32(i + 1)
	}
	next = make([][]int32, len(pieces))
	for i, p := range pieces {
		in := &list[p[1]-1]
		falls := in.guard >= 0
		switch in.kind {
		case kindJump, kindBranch:
			next[i] = append(next[i], at[in.target])
		case kindSwitch:
			for _, t := range b.k.switches[in.detail] {
				next[i] = append(next[i], at[t.at])
			}
		case kindReturn, kindExit, kindTrap:
		default:
			falls = true
		}
		if falls && int(p[1]) < len(list) {
			next[i] = append(next[i], at[p[1]])
		}
	}
	return pieces, next
}

// reads visits the registers that an instruction reads.
func (b *binder) reads(in *inst, visit func(slot)) {
	if in.guard >= 0 {
		visit(inP(in.guard))
	}
	for _, r := range in.ins {
		visit(r)
	}
}

// writes visits the registers that an instruction writes.
func (b *binder) writes(in *inst, visit func(slot)) {
	for _, r := range in.outs {
		visit(r)
	}
}

package compile

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// findUndefined finds the registers that may be read before they are written: they must be zero where a warp starts, so that a
// result never depends on what ran in the warp's place before. Where lanes can look into others that are not active, or
// predicates guard what writes, that is every register.
func (b *binder) findUndefined() {
	k := b.k
	collective, diverges := false, false
	for i := range k.Code {
		in := &k.Code[i]
		switch in.Kind {
		case code.KindWarp, code.KindMatrix:
			collective = true
		case code.KindBranch, code.KindSwitch:
			diverges = true
		case code.KindReturn, code.KindExit, code.KindTrap:
			diverges = diverges || in.Guard >= 0
		}
	}
	if k.ClearAll = collective && diverges || b.stack != nil; k.ClearAll {
		return
	}
	for bank, n := range k.Written {
		undefined := make([]bool, n)
		for _, r := range b.liveAtEntry(lane.Bank(bank), n) {
			undefined[r] = true
		}
		for r, is := range undefined {
			if is {
				k.Clear[bank] = append(k.Clear[bank], int32(r))
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
	list := b.k.Code
	pieces, next := b.pieces()
	size := (n + 63) / 64
	type sets struct{ use, def, live bitset }
	all := make([]sets, len(pieces))
	for i, p := range pieces {
		s := sets{make(bitset, size), make(bitset, size), make(bitset, size)}
		for at := p[0]; at < p[1]; at++ {
			in := &list[at]
			b.reads(in, func(r code.Register) {
				if r.Bank == bank && int(r.Index) < n && !s.def.has(r.Index) {
					s.use.add(r.Index)
				}
			})
			if in.Guard >= 0 {
				continue
			}
			b.writes(in, func(r code.Register) {
				if r.Bank == bank && int(r.Index) < n {
					s.def.add(r.Index)
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
			if p[0] != f.entry {
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
	list := b.k.Code
	leader := make([]bool, len(list)+1)
	for _, f := range b.functions {
		leader[f.start[0]], leader[f.entry] = true, true
	}
	for i := range list {
		in := &list[i]
		switch in.Kind {
		case code.KindJump, code.KindBranch:
			leader[in.Target], leader[i+1] = true, true
		case code.KindSwitch:
			for _, t := range b.k.Switches[in.Detail] {
				leader[t.At] = true
			}
			leader[i+1] = true
		case code.KindReturn, code.KindExit, code.KindTrap:
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
		falls := in.Guard >= 0
		switch in.Kind {
		case code.KindJump, code.KindBranch:
			next[i] = append(next[i], at[in.Target])
		case code.KindSwitch:
			for _, t := range b.k.Switches[in.Detail] {
				next[i] = append(next[i], at[t.At])
			}
		case code.KindReturn, code.KindExit, code.KindTrap:
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
func (b *binder) reads(in *code.Inst, visit func(code.Register)) {
	if in.Guard >= 0 {
		visit(code.P(in.Guard))
	}
	for _, r := range in.Ins {
		visit(r)
	}
}

// writes visits the registers that an instruction writes.
func (b *binder) writes(in *code.Inst, visit func(code.Register)) {
	for _, r := range in.Outs {
		visit(r)
	}
}

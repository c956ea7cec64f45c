package memory_test

import (
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// registers makes registers enough for every test: addresses are in R64[0] and R32[0].
func registers() *lane.Regs {
	return &lane.Regs{R32: make([][lane.Lanes]uint32, 40), R64: make([][lane.Lanes]uint64, 40)}
}

func vector(space ptx.Space, elem, count int) *memory.Transfer {
	t := &memory.Transfer{Space: space, Elem: elem, Count: count}
	for i := range t.Regs {
		t.Regs[i], t.Data[i], t.New[i] = int32(1+i), int32(10+i), int32(20+i)
	}
	return t
}

const all = ^uint32(0)

func BenchmarkGlobal(b *testing.B) {
	g, err := memory.NewGlobal([]memory.Allocation{{Name: "x", Host: 0x10000, Bytes: make([]byte, 1<<16)}, {Name: "y", Host: 0x90000, Bytes: make([]byte, 1<<16)}})
	if err != nil {
		b.Fatal(err)
	}
	g.Arguments([]int{0, 1})
	for _, count := range []int{1, 2, 4} {
		for _, scattered := range []bool{false, true} {
			t := vector(ptx.Global, 4, count)
			t.Legal = 2
			r := registers()
			for l := range lane.Lanes {
				r.R64[0][l] = g.Pointer(1, 0x90000) + uint64(4*count*l)
				if scattered {
					r.R64[0][l] = g.Pointer(1, 0x90000) + uint64(4*count*l*7%4096)
				}
			}
			name := fmt.Sprintf("v%d.b32,scattered=%v", count, scattered)
			b.Run("load "+name, func(b *testing.B) {
				for b.Loop() {
					if f := g.Load(r, t, all); f != nil {
						b.Fatal(f)
					}
				}
			})
			b.Run("store "+name, func(b *testing.B) {
				for b.Loop() {
					if f := g.Store(r, t, all); f != nil {
						b.Fatal(f)
					}
				}
			})
		}
	}
}

func BenchmarkShared(b *testing.B) {
	g, err := memory.NewGlobal(nil)
	if err != nil {
		b.Fatal(err)
	}
	m, err := memory.NewBlock(g, memory.Shape{Warps: 4, Shared: 1 << 14, Checks: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 2, 4} {
		for _, scattered := range []bool{false, true} {
			t := vector(ptx.Shared, 4, count)
			t.Narrow = true
			r := registers()
			for l := range lane.Lanes {
				r.R32[0][l] = uint32(4 * count * l)
				if scattered {
					r.R32[0][l] = uint32(4 * count * l * 7 % 2048)
				}
			}
			m.Reset()
			name := fmt.Sprintf("v%d.b32,scattered=%v", count, scattered)
			b.Run("store "+name, func(b *testing.B) {
				for b.Loop() {
					if f := m.Store(r, t, 0, all); f != nil {
						b.Fatal(f)
					}
				}
			})
			b.Run("load "+name, func(b *testing.B) {
				for b.Loop() {
					if f := m.Load(r, t, 0, all); f != nil {
						b.Fatal(f)
					}
				}
			})
		}
	}
	t := vector(ptx.Shared, 4, 4)
	t.Narrow = true
	r := registers()
	for l := range lane.Lanes {
		r.R32[0][l] = uint32(16 * l)
	}
	if f := m.Store(r, t, 0, all); f != nil {
		b.Fatal(f)
	}
	k := new(memory.Pattern)
	for _, trans := range []bool{false, true} {
		t.Trans = trans
		b.Run(fmt.Sprintf("ldmatrix.x4,trans=%v", trans), func(b *testing.B) {
			for b.Loop() {
				if f := m.LoadMatrix(r, t, 0, all, k.Places(r, t)); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}

func BenchmarkCopyAsync(b *testing.B) {
	g, err := memory.NewGlobal([]memory.Allocation{{Name: "x", Host: 0x10000, Bytes: make([]byte, 1<<16)}})
	if err != nil {
		b.Fatal(err)
	}
	m, err := memory.NewBlock(g, memory.Shape{Warps: 4, Shared: 1 << 14, Checks: true})
	if err != nil {
		b.Fatal(err)
	}
	r := registers()
	for l := range lane.Lanes {
		r.R32[0][l] = uint32(16 * l)
		r.R64[0][l] = g.Pointer(0, 0x10000) + uint64(16*l)
	}
	c, k := &memory.Copy{To: memory.Transfer{Narrow: true}, From: *vector(ptx.Global, 4, 4), Bytes: 16, Size: -1}, new(memory.Pattern)
	for b.Loop() {
		if f := m.CopyAsync(r, c, 0, all, k.Sources(r, &c.From), k.Places(r, &c.To)); f != nil {
			b.Fatal(f)
		}
		m.Commit(0, all)
		m.Wait(0, all, 0)
	}
}

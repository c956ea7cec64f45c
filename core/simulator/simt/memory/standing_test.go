package memory_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// loadsAt loads a word through a pointer that was loaded, which any array may be behind.
func loadsAt(g *memory.Global, address uint64) (uint32, *memory.Fault) {
	r := registers()
	r.R64[0][0] = address
	f := g.Load(r, vector(ptx.Global, 4, 1), 1)
	return r.R32[1][0], f
}

func standingGlobal(t *testing.T, s *memory.Standing) *memory.Global {
	t.Helper()
	g, err := memory.NewGlobal([]memory.Allocation{{Name: "x", Host: 0x20000, Bytes: make([]byte, 64)}})
	if err != nil {
		t.Fatal(err)
	}
	g.Arguments([]int{0})
	g.Stand(s)
	return g
}

func TestArraysThatStandAreReachedByTheirAddresses(t *testing.T) {
	var s memory.Standing
	a, b := []byte{1, 0, 0, 0, 2, 0, 0, 0}, []byte{3, 0, 0, 0, 4, 0, 0, 0}
	if n := s.Change([]memory.Allocation{{Name: "b", Host: 0x50000, Bytes: b}, {Name: "a", Host: 0x40000, Bytes: a, ReadOnly: true}}, nil); n != 2 {
		t.Errorf("there are %d arrays", n)
	}
	g := standingGlobal(t, &s)
	for address, want := range map[uint64]uint32{0x40000: 1, 0x40004: 2, 0x50004: 4} {
		if v, f := loadsAt(g, address); v != want || f != nil {
			t.Errorf("at %#x is %d, %+v", address, v, f)
		}
	}
	if _, f := loadsAt(g, 0x50008); f == nil || f.Check != memory.OutOfBounds || f.Nearest != "b" || f.Distance != 4 {
		t.Errorf("behind b: %+v", f)
	}
	r := registers()
	r.R64[0][0] = 0x40000
	if f := g.Store(r, vector(ptx.Global, 4, 1), 1); f == nil || f.Check != memory.ReadOnlyWrite {
		t.Errorf("a store to a: %+v", f)
	}
	own := vector(ptx.Global, 4, 1)
	own.Legal = 1 // derives from x
	r.R64[0][0] = 0x50000
	if f := g.Load(r, own, 1); f == nil || f.Check != memory.OutOfBounds || f.Inside != "b" {
		t.Errorf("a pointer to x leads to b: %+v", f)
	}
}

func TestArraysComeAndGoBetweenLaunches(t *testing.T) {
	var s memory.Standing
	s.Change([]memory.Allocation{{Name: "a", Host: 0x40000, Bytes: make([]byte, 32)}}, nil)
	before := standingGlobal(t, &s)
	if n := s.Change([]memory.Allocation{{Name: "c", Host: 0x60000, Bytes: make([]byte, 32)}, {Name: "inside c", Host: 0x60008, Bytes: make([]byte, 8)}}, []uint64{0x40000, 0x70000}); n != 1 {
		t.Errorf("there are %d arrays", n)
	}
	after := standingGlobal(t, &s)
	for i, c := range []struct {
		g       *memory.Global
		address uint64
		there   bool
	}{{before, 0x40000, true}, {before, 0x60000, false}, {after, 0x40000, false}, {after, 0x60000, true}} {
		if _, f := loadsAt(c.g, c.address); (f == nil) != c.there {
			t.Errorf("case %d: %+v", i, f)
		}
	}
	if f, ok := s.Freed(0x4001f); !ok || f != (memory.Freed{Name: "a", Host: 0x40000, Bytes: 32}) {
		t.Errorf("what was at 0x4001f is %+v", f)
	}
	for _, address := range []uint64{0x40020, 0x60000} {
		if f, ok := s.Freed(address); ok {
			t.Errorf("what was at %#x is %+v", address, f)
		}
	}
}

func TestOldArraysAreForgotten(t *testing.T) {
	var s memory.Standing
	for i := range uint64(1100) {
		host := 0x100000 + i<<12
		s.Change([]memory.Allocation{{Name: "a", Host: host, Bytes: make([]byte, 8)}}, []uint64{host - 1<<12})
	}
	if _, ok := s.Freed(0x100000); ok {
		t.Error("the first is remembered")
	}
	if _, ok := s.Freed(0x100000 + 1098<<12); !ok {
		t.Error("the last that went is forgotten")
	}
}

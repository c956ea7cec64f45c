package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// orderWarps is how many warps the block of newBench has.
const orderWarps = 4

type clock [orderWarps]int

func (c *clock) raise(other clock) {
	for i, v := range other {
		c[i] = max(c[i], v)
	}
}

// history remembers every access to shared memory for ever, and what orders warps, in full.
type history struct {
	now     [orderWarps]clock // of each warp; its own component counts what it has done
	sent    map[int]clock
	synced  map[uint64]clock
	touched [256][]deed
}

type deed struct {
	warp, at      int // the warp, and its own clock
	write, strong bool
	value         byte
}

func (h *history) step(warp int) { h.now[warp][warp]++ }

// justified reports whether an access that was found to race with a warp really does: they touch one byte, nothing orders them,
// one writes, not both are strong, and they do not write the same.
func (h *history) justified(warp int, address uint64, n int, d deed, other int) bool {
	for i := range n {
		for _, before := range h.touched[address+uint64(i)] {
			if before.warp == other && before.warp != warp && before.at > h.now[warp][other] &&
				(before.write || d.write) && !(before.strong && d.strong) {
				return true
			}
		}
	}
	return false
}

// harmless reports whether all accesses that an access is not ordered with are reads while it reads, or writes of its value while it
// writes it, or strong as it is.
func (h *history) harmless(warp int, address uint64, n int, d deed) bool {
	for i := range n {
		for _, before := range h.touched[address+uint64(i)] {
			if before.warp == warp || before.at <= h.now[warp][before.warp] || !before.write && !d.write || before.strong && d.strong {
				continue
			}
			if before.write && d.write && before.value == d.value && !before.strong && !d.strong {
				continue
			}
			return false
		}
	}
	return true
}

// TestRacesAreRaces runs random accesses under everything that can order warps, and demands of each race that was found that it is
// one. Values are few, so that many writes write what is there.
func TestRacesAreRaces(t *testing.T) {
	found, harmless := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 77))
		s := newBench(t)
		h := &history{sent: map[int]clock{}, synced: map[uint64]clock{}}
		for w := range h.now {
			h.step(w)
		}
		log := ""
		for range 120 {
			warp := random.IntN(orderWarps)
			switch k := random.IntN(20); {
			case k == 0:
				barrier, set := random.IntN(3), uint32(random.IntN(16))
				log += fmt.Sprintf("meet %d %04b\n", barrier, set)
				s.b.Meet(barrier, set)
				all := h.sent[barrier]
				if set == 15 {
					all = clock{}
				} else {
					delete(h.sent, barrier)
				}
				for w := range orderWarps {
					if set>>w&1 != 0 {
						all.raise(h.now[w])
					}
				}
				for w := range orderWarps {
					if set>>w&1 != 0 {
						h.now[w].raise(all)
						h.step(w)
					}
				}
			case k == 1:
				barrier := random.IntN(3)
				log += fmt.Sprintf("arrive %d warp %d\n", barrier, warp)
				s.b.Arrive(barrier, warp)
				c := h.sent[barrier]
				c.raise(h.now[warp])
				h.sent[barrier] = c
				h.step(warp)
			case k < 5:
				address := uint64(random.IntN(2)) * 4
				release := random.IntN(2) == 0
				order := memory.Acquire
				if release {
					order = memory.Release
				} else {
					h.now[warp].raise(h.synced[address])
				}
				log += fmt.Sprintf("warp %d release %v at %d\n", warp, release, address)
				f := ordered(s, warp, order, address, release)
				d := deed{warp: warp, at: h.now[warp][warp], write: release, strong: true}
				found += h.judge(t, f, warp, address, 4, d, log)
				if release {
					c := h.synced[address]
					c.raise(h.now[warp])
					h.synced[address] = c
					h.step(warp)
				}
			default:
				n := []int{1, 2, 4, 16}[random.IntN(4)]
				address := uint64(random.IntN(48/n) * n)
				d := deed{warp: warp, at: h.now[warp][warp], write: random.IntN(2) == 0, value: byte(random.IntN(2))}
				log += fmt.Sprintf("warp %d at %d, %d bytes, write %v of %d\n", warp, address, n, d.write, d.value)
				var f *memory.Fault
				if d.write {
					f = s.store(warp, ptx.Shared, n, address, uint32(d.value)*0x01010101)
				} else {
					f = s.load(warp, ptx.Shared, n, address)
				}
				if d.write && h.harmless(warp, address, n, d) {
					harmless++
					for g := f; g != nil; g = g.Next {
						if g.Check == memory.SharedRace {
							t.Fatalf("seed %d: a race with nobody: %+v\n%s", seed, g, log)
						}
					}
				}
				found += h.judge(t, f, warp, address, n, d, log)
			}
		}
	}
	if found < 1000 || harmless < 1000 {
		t.Errorf("%d races and %d harmless writes: the programs say little", found, harmless)
	}
}

// judge checks what was found in an access, and remembers the access.
func (h *history) judge(t *testing.T, f *memory.Fault, warp int, address uint64, n int, d deed, log string) (races int) {
	t.Helper()
	for ; f != nil; f = f.Next {
		if f.Check != memory.SharedRace {
			continue
		}
		races++
		if !h.justified(warp, address, n, d, int(f.Other.Warp)) {
			t.Fatalf("the last access is no race with warp %d:\n%s", f.Other.Warp, log)
		}
	}
	for i := range n {
		h.touched[address+uint64(i)] = append(h.touched[address+uint64(i)], d)
	}
	return races
}

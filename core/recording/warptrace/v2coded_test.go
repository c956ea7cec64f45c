package warptrace

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// blockwise is a recording of small blocks, and its warps.
func blockwise(t *testing.T, seed uint64) (*Trace, []*Warp) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	warps := manyWarps(rng, 60)
	return openV2Bytes(t, writeV2(t, v2TestHeader(200), someSites(8), warps, func(i int) bool { return i%4 == 3 })), warps
}

// TestABlockThatIsHeldKeepsItsMemory holds some warps while others are read, whose blocks take over the memory of those that nobody holds.
func TestABlockThatIsHeldKeepsItsMemory(t *testing.T) {
	reused := 0
	for seed := range uint64(20) {
		trace, warps := blockwise(t, seed)
		cache := &trace.rec.(*v2).cache
		rng := rand.New(rand.NewPCG(seed, 4))
		var held [5]Coded
		var of [5]*Warp
		for step := range 400 {
			k, w := rng.IntN(len(held)), warps[step%len(warps)]
			if rng.IntN(3) == 0 {
				w = warps[rng.IntN(len(warps))]
			}
			before := len(cache.free)
			ok, err := trace.ReadCoded(t.Context(), w.Warp, &held[k])
			if err != nil {
				t.Fatal(err)
			}
			reused += max(0, before-len(cache.free))
			if of[k] = w; !ok {
				of[k] = nil // it left nothing
			}
			for i, known := range of {
				if known != nil && !sameAsCoded(&held[i], known) {
					t.Fatalf("seed %d, step %d: warp %d is another one since warp %d was read", seed, step, known.Warp, w.Warp)
				}
			}
		}
		for i := range held {
			held[i].release()
		}
	}
	if reused < 100 {
		t.Errorf("memory of a block was used again %d times, which tests nothing", reused)
	}
}

// TestBlocksAreReadByManyAtOnce reads the same warps in many orders, decoded and as symbols.
func TestBlocksAreReadByManyAtOnce(t *testing.T) {
	trace, warps := blockwise(t, 1)
	var group sync.WaitGroup
	for worker := range uint64(4) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(worker, 5))
			var c Coded
			var w Warp
			for range 300 {
				want := warps[rng.IntN(len(warps))]
				if ok, err := trace.ReadCoded(t.Context(), want.Warp, &c); err != nil || ok && !sameAsCoded(&c, want) {
					t.Errorf("warp %d is another one as symbols, %v", want.Warp, err)
				}
				if err := trace.ReadWarp(t.Context(), want.Warp, &w); err != nil || len(w.Value) != len(want.Value) {
					t.Errorf("warp %d is another one decoded, %v", want.Warp, err)
				}
			}
			c.release()
		})
	}
	group.Wait()
	for _, s := range trace.rec.(*v2).cache.slots {
		if s.users != 0 {
			t.Errorf("block %d is in use when nobody reads: %d", s.block, s.users)
		}
	}
}

// release lets go of the warp's block, whose memory is used again.
func (c *Coded) release() {
	if c.held != nil {
		c.cache.release(c.held)
	}
	*c = Coded{ranks: c.ranks}
}

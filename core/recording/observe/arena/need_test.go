package arena

import (
	"math/rand/v2"
	"testing"
)

// TestWhatIsNeededIsEnoughAndNotMuchMore fills arenas of the size that is said to be needed, and of less.
func TestWhatIsNeededIsEnoughAndNotMuchMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	lost := 0
	for range 300 {
		p := Plan{Warps: 1 + rng.Uint64N(40), Events: true, Known: make([]int32, rng.IntN(4)), Budget: []uint64{0, 0, 10, 100}[rng.IntN(4)]}
		totals := make([]uint64, p.Warps)
		for i := range totals {
			totals[i] = rng.Uint64N(200)
		}
		need := p.Need(totals, 1<<30)
		size := need.Bytes
		if rng.IntN(2) == 0 {
			size = max(headerBytes, size*rng.Uint64N(100)/100)
		}
		said := p.Need(totals, size)
		w := prepared(t, int(size), p)
		events := uint64(0)
		for warp, total := range totals {
			for range total {
				w.event(uint64(warp), Event{Site: 1})
				events++
			}
		}
		_, got, a := warps(t, w.memory)
		switch {
		case said.Events != events || need.Warps != p.Warps:
			t.Fatalf("%+v: %+v, %d events happened", p, said, events)
		case size == need.Bytes && a.Full+a.Outside+said.LostEvents+said.LostWarps > 0:
			t.Fatalf("%+v: %d bytes are not enough: %d and %d lost, said %+v", p, size, a.Full, a.Outside, said)
		case a.Full > said.LostEvents || said.LostEvents > a.Full+a.Outside+uint64(perChunk)*p.Warps:
			t.Fatalf("%+v, %d bytes: %d found no room, %d of %d warps have an entry, said %+v", p, size, a.Full, len(got), p.Warps, said)
		}
		if a.Full > 0 {
			lost++
		}
	}
	if lost < 30 {
		t.Errorf("only %d arenas were too small", lost)
	}
}

func TestWhatOperandsNeed(t *testing.T) {
	p := Plan{Warps: 2, Events: true, Operands: true, Sites: 3}
	need := p.Need([]uint64{10, 40}, 1<<20)
	if need.OperandBytes != 50*544 || need.LostOperands != 0 || need.MostEvents != 40 {
		t.Errorf("%+v", need)
	}
	if small := p.Need([]uint64{10, 40}, 8192); small.LostOperands == 0 || small.LostOperands >= 50 {
		t.Errorf("%+v", small)
	}
	p.Depth = 2
	if need := p.Need([]uint64{10, 40}, 1<<20); need.OperandBytes != 2*3*2*544 {
		t.Errorf("%+v", need)
	}
	if digest := (&Plan{Warps: 5, Known: []int32{0, 2}}).Need([]uint64{9}, 564); digest.Bytes != headerBytes+32+5*(64+80) || digest.LostWarps != 4 {
		t.Errorf("%+v", digest)
	}
}

package diff

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// someEvents are bytes of v1 events of few sites, in runs.
func someEvents(rng *rand.Rand, n int) warptrace.V1Events {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i/7%3))
		b = append(b, make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	for range rng.IntN(4) {
		if at := rng.IntN(max(1, n)) * warptrace.V1EventBytes; at < len(b) {
			b[at+rng.IntN(warptrace.V1EventBytes)] ^= 1
		}
	}
	return b
}

// TestRunsOfSitesAreThoseOfNumbers compares what is read from bytes with the same scripts over numbers.
func TestRunsOfSitesAreThoseOfNumbers(t *testing.T) {
	var direct, byNumber script.Solver
	found := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 21))
		n := rng.IntN(150)
		a, b := someEvents(rng, n), someEvents(rng, n)
		for range rng.IntN(4) { // events that one side has
			from := rng.IntN(len(b)/warptrace.V1EventBytes+1) * warptrace.V1EventBytes
			to := min(len(b), from+rng.IntN(5)*warptrace.V1EventBytes)
			b = slices.Delete(slices.Clone(b), from, to)
		}
		p := &streams{a: stream{n: a.Len(), raw: a}, b: stream{n: b.Len(), raw: b}}
		head := rng.IntN(min(a.Len(), b.Len())/4 + 1)
		tail := rng.IntN(min(a.Len(), b.Len())/4 + 1)
		got, gotExpected, gotOK := direct.NearRuns(p.siteRuns(head, tail))
		keysA, keysB := p.a.appendSites(nil, head, p.a.n-tail), p.b.appendSites(nil, head, p.b.n-tail)
		want, wantExpected, wantOK := byNumber.Near(keysA, keysB)
		if gotOK != wantOK || gotExpected != wantExpected || gotOK && !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, %d, %v of bytes; %v, %d, %v of numbers", seed, got, gotExpected, gotOK, want, wantExpected, wantOK)
		}
		if gotOK && len(got) > 0 {
			found++
		}
	}
	if found == 0 {
		t.Error("no script has an edit: the test shows nothing")
	}
}

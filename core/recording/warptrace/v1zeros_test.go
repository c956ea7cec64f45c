package warptrace

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestTheFirstEventOfZerosIsFound asks events one by one: of which each half may be zeros, and any of which may be blank.
func TestTheFirstEventOfZerosIsFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := rnd.IntN(40)
		events := make(V1Events, n*v1EventBytes)
		for i := range n {
			e := events[i*v1EventBytes:][:v1EventBytes]
			e[rnd.IntN(v1EventBytes)] = 1
			if rnd.IntN(30) == 0 {
				clear(e)
			}
		}
		want := -1
		for i := 0; i < n && want < 0; i++ {
			if bytes.Equal(events[i*v1EventBytes:][:v1EventBytes], make([]byte, v1EventBytes)) {
				want = i
			}
		}
		if got := events.blank(); got != want {
			t.Fatalf("of %d events the first of zeros is %d, got %d", n, want, got)
		}
	}
}

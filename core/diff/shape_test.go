package diff

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func TestLaunchesOfOtherShapesAreOneCallWhereTheirNumbersAre(t *testing.T) {
	header := func(change func(*warptrace.Header)) *warptrace.Header {
		h := &warptrace.Header{Version: 2, WaveSize: 32, Arguments: []warptrace.Argument{{Name: "x", Type: "*fp32", Digest: 7}, {Name: "n", Type: "i32", Value: "300"}}}
		change(h)
		return h
	}
	a := header(func(*warptrace.Header) {})
	for what, c := range map[string]struct {
		change func(*warptrace.Header)
		want   bool
	}{
		"another grid":          {func(h *warptrace.Header) { h.Grid = [3]uint32{4, 1, 1} }, true},
		"other contents":        {func(h *warptrace.Header) { h.Arguments[0].Digest = 8 }, true},
		"another number":        {func(h *warptrace.Header) { h.Arguments[1].Value = "200" }, false},
		"another type":          {func(h *warptrace.Header) { h.Arguments[0].Type = "*fp16" }, false},
		"an argument less":      {func(h *warptrace.Header) { h.Arguments = h.Arguments[:1] }, false},
		"no arguments":          {func(h *warptrace.Header) { h.Arguments = nil }, false},
		"format v1":             {func(h *warptrace.Header) { h.Version = 1 }, false},
		"waves of another size": {func(h *warptrace.Header) { h.WaveSize = 64 }, false},
	} {
		if got := sameCall(a, header(c.change)); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

package sweep_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
)

func TestASampleIsLookedAtUnlessAllIsAskedFor(t *testing.T) {
	for value, want := range map[string]int{"": 3, "1": 100} {
		t.Setenv("PRLX_FULL_SWEEP", value)
		if got := sweep.Of(3, 100); got != want {
			t.Errorf("PRLX_FULL_SWEEP=%q: %d cases, want %d", value, got, want)
		}
	}
}

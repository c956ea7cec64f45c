package diff

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func TestAddressesAreNamedByTheirArgument(t *testing.T) {
	h := &warptrace.Header{
		Version: 2, Means: warptrace.MeansObserved,
		Arguments: []warptrace.Argument{{Name: "out", Type: "*fp32"}, {Name: "n", Type: "i32"}, {Name: "x", Type: "*bf16"}, {Name: "q", Type: "*fp8e4nv"}, {Name: "m", Type: "*i1"}},
	}
	at := func(number int, offset int64) uint64 { return uint64(number)<<40 + uint64(offset) }
	for v, want := range map[uint64]string{
		at(1, 0):           "out[+0]",
		at(1, 4816):        "out[+1,204]",
		at(1, 6):           "out+6 bytes",
		at(3, -2):          "x[-1]",
		at(4, 1234567):     "q[+1,234,567]",
		at(5, 9):           "m[+9]",
		at(2, 8):           "0x20000000008", // a number is no array
		at(6, 8):           "0x60000000008", // there is no such argument
		64:                 "0x40",          // of shared memory
		1<<62 | at(1, 4):   "0x4000010000000004",
		0xfffffffffffffff0: "0xfffffffffffffff0",
	} {
		if got := heldText(h, v, warptrace.TypePtr); got != want {
			t.Errorf("%#x is %q, want %q", v, got, want)
		}
	}
	if got := heldText(h, at(1, 4), warptrace.TypeU64); got != "1099511627780" {
		t.Errorf("a plain number is %q", got)
	}
	h.Means = warptrace.MeansInstrumented
	if got := heldText(h, at(1, 4), warptrace.TypePtr); got != "0x10000000004" {
		t.Errorf("an address of a GPU is %q", got)
	}
}

package observe

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Two spellings of "at < n - slip" in a loop: as LLVM IR has it, and as PTX does after products and sums were joined and constants moved.
var (
	spelled = code{
		"at": {Origin: site.FromArith, Name: "or", Inputs: []string{"block", "tid"}}, "block": {Origin: site.FromArith, Name: "shl", Inputs: []string{"pid", "6"}},
		"pid": {Origin: site.FromProgramID, Name: "%ctaid.x"}, "tid": {Origin: site.FromProgramID, Name: "%tid.x"}, "6": {Origin: site.FromConstant, Name: "6"},
		"bound": {Origin: site.FromArith, Name: "add", Inputs: []string{"wide", "3"}}, "wide": same("n"), "n": {Origin: site.FromArgument, Name: "%2"},
		"far": {Origin: site.FromShuffle, Name: "llvm.nvvm.shfl", Lanes: "bfly 16"}, "near": {Origin: site.FromShuffle, Lanes: "bfly 1"}, "some": {Origin: site.FromShuffle},
		"3": {Origin: site.FromConstant, Name: "-3"}, "m": {Origin: site.FromArgument, Name: "%1"}, "loaded": {Origin: site.FromLoad, Inputs: []string{"m"}},
		"round": {Origin: site.FromCarried, Inputs: []string{"3"}, Around: []string{"next"}}, "next": {Origin: site.FromArith, Inputs: []string{"round", "m"}},
	}
	joined = code{
		"far": {Origin: site.FromShuffle, Name: "shfl.sync.bfly.b32", Lanes: "bfly 16"},
		"at":  {Origin: site.FromArith, Name: "mad.lo.s32", Inputs: []string{"pid", "tid"}}, "pid": {Origin: site.FromProgramID, Name: "%ctaid.x"},
		"tid": {Origin: site.FromProgramID, Name: "%tid.x"}, "bound": {Origin: site.FromArith, Name: "sub.s32", Inputs: []string{"n"}},
		"n": {Origin: site.FromArgument, Name: "%2"}, "loaded": {Origin: site.FromLoad, Name: "ld.global"}, "m": {Origin: site.FromArgument, Name: "%1"},
		"round": {Origin: site.FromCarried, Inputs: []string{"next"}}, "next": {Origin: site.FromArith, Inputs: []string{"m", "round"}},
	}
)

const signedLess, signedGreaterEqual, equal, orderedLess = 40, 39, 32, 4

func TestHashesOfOneComputationAreAlike(t *testing.T) {
	want := codeHash[string](spelled, site.Branch, signedLess, "i32", "at", "bound")
	for name, got := range map[string]uint32{
		"other opcodes and constants": codeHash[string](joined, site.Branch, signedLess, "s32", "at", "bound"),
		"a guard, not a branch":       codeHash[string](joined, site.Predicate, signedLess, "s32", "at", "bound"),
		"the opposite question":       codeHash[string](joined, site.Branch, signedGreaterEqual, "s32", "at", "bound"),
		"operands the other way":      codeHash[string](joined, site.Branch, signedLess, "s32", "bound", "at"),
		"greater, turned":             codeHash[string](joined, site.Predicate, 38, "s32", "bound", "at"),
		"fewer bits":                  codeHash[string](joined, site.Branch, signedLess, "i16", "at", "bound"),
	} {
		if got != want || got == 0 {
			t.Errorf("%s: %08x, want %08x", name, got, want)
		}
	}
	if a, b := codeHash[string](spelled, site.Branch, equal, "i32", "round"), codeHash[string](joined, site.Branch, equal, "i32", "round"); a != b {
		t.Errorf("around a loop: %08x and %08x", a, b)
	}
	const orEqual, turned, opposite = 3, 5, 12 // oge, ole, ult
	want = codeHash[string](spelled, site.Branch, orEqual, "f32", "far", "at")
	for _, c := range []site.Compare{turned, opposite} {
		if got := codeHash[string](joined, site.Branch, c, "f32", "at", "far"); got != want {
			t.Errorf("%s of floats: %08x, want %08x", c.Name(), got, want)
		}
	}
}

// Recordings and site tables hold these hashes, and those of other versions are compared with them: they stay what they are.
func TestHashesAreThoseThatRecordingsHold(t *testing.T) {
	for kind, want := range map[site.Kind]uint32{
		site.Branch: 0x67715f08, site.Switch: 0x7156b638, site.GlobalStore: 0x3936e600, site.Atomic: 0xb4f42e77, site.Load: 0xd65e96f1, site.Barrier: 0xc5adf577,
	} {
		if got := codeHash[string](spelled, kind, site.NoCompare, "", "at"); got != want {
			t.Errorf("%v: %#08x, want %#08x", kind, got, want)
		}
	}
}

func TestHashesOfOtherComputationsAreOthers(t *testing.T) {
	seen := map[uint32]string{}
	for name, hash := range map[string]uint32{
		"a bound":           codeHash[string](spelled, site.Branch, signedLess, "i32", "at", "bound"),
		"another argument":  codeHash[string](spelled, site.Branch, signedLess, "i32", "at", "m"),
		"no argument":       codeHash[string](spelled, site.Branch, signedLess, "i32", "at"),
		"what was loaded":   codeHash[string](spelled, site.Branch, signedLess, "i32", "at", "loaded"),
		"equality":          codeHash[string](spelled, site.Branch, equal, "i32", "at", "bound"),
		"floats":            codeHash[string](spelled, site.Branch, orderedLess, "f32", "at", "bound"),
		"64 bits":           codeHash[string](spelled, site.Branch, signedLess, "i64", "at", "bound"),
		"a store":           codeHash[string](spelled, site.GlobalStore, site.NoCompare, "", "at", "bound"),
		"an atomic":         codeHash[string](spelled, site.Atomic, site.NoCompare, "", "at", "bound"),
		"a step round":      codeHash[string](spelled, site.Branch, signedLess, "i32", "round"),
		"floats or equal":   codeHash[string](spelled, site.Branch, 3, "f32", "at", "bound"), // oge
		"numbers":           codeHash[string](spelled, site.Branch, 7, "f32", "at", "bound"), // ord
		"lanes apart":       codeHash[string](spelled, site.Branch, orderedLess, "f32", "far"),
		"lanes near":        codeHash[string](spelled, site.Branch, orderedLess, "f32", "near"),
		"lanes":             codeHash[string](spelled, site.Branch, orderedLess, "f32", "some"),
		"nothing is behind": codeHash[string](spelled, site.Branch, signedLess, "i32"),
	} {
		if hash == 0 || seen[hash] != "" {
			t.Errorf("%s has the hash of %s, %08x", name, seen[hash], hash)
		}
		seen[hash] = name
	}
}

// codeHash is the hash of one site.
func codeHash[V comparable](c Code[V], kind site.Kind, compare site.Compare, ty string, operands ...V) uint32 {
	return NewHashes(c).Of(kind, compare, ty, operands...)
}

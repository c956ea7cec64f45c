package warptrace

import (
	"math/rand/v2"
	"testing"
)

// TestDigestValues pins the digests: files hold them.
func TestDigestValues(t *testing.T) {
	var w Warp
	structuredWarp(&w, 3, 100)
	keys := []uint64{11, 22, 33, 44, 55, 66, 77}
	digest, control := digestOf(&w, keys)
	twinDigest, twinControl := digestBySpecification(&w, keys)
	if digest != twinDigest || control != twinControl {
		t.Errorf("got %#x, %#x; by the specification %#x, %#x", digest, control, twinDigest, twinControl)
	}
	if want := [2]uint64{0xea9e45bf4ae6ba53, 0xf85a703513d724ec}; [2]uint64{digest, control} != want {
		t.Errorf("got %#x, %#x, want %#x", digest, control, want)
	}
}

// digestBySpecification is the pseudocode of docs/formats/prlx-v2.md, a column at a time.
func digestBySpecification(w *Warp, keys []uint64) (digest, control uint64) {
	const p1, p2, p3, p4 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63
	round := func(acc, x uint64) uint64 {
		v := acc + x*p2
		return (v<<31 | v>>33) * p1
	}
	hash := func(acc uint64, of func(i int) uint64) uint64 {
		for i := range w.Len() {
			acc = round(acc, of(i))
		}
		return acc
	}
	a := []uint64{
		hash(1, func(i int) uint64 { return keys[w.Site[i]] }), hash(2, func(i int) uint64 { return w.Active[i] }), hash(3, func(i int) uint64 { return w.Taken[i] }),
		hash(4, func(i int) uint64 { return uint64(w.Kind[i]) + uint64(w.Dir[i])*256 }),
		hash(5, func(i int) uint64 { return w.Value[i] }), hash(6, func(i int) uint64 { return uint64(w.Type[i]) + uint64(w.Aux[i])*256 }),
	}
	finish := func(h uint64) uint64 {
		h = (h ^ h>>33) * p2
		h = (h ^ h>>29) * p3
		return h ^ h>>32
	}
	h := uint64(w.Len())
	for i, acc := range a {
		h = (h^round(0, acc))*p1 + p4
		if i == 3 {
			control = finish(h)
		}
	}
	return finish(h), control
}

func TestDigestsSeeEveryColumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	keys := make([]uint64, 30)
	for i := range keys {
		keys[i] = rng.Uint64()
	}
	for name, c := range map[string]struct {
		change  func(w *Warp, i int)
		control bool
	}{
		"site":   {func(w *Warp, i int) { w.Site[i] = (w.Site[i] + 1) % 30 }, true},
		"kind":   {func(w *Warp, i int) { w.Kind[i] ^= 1 }, true},
		"dir":    {func(w *Warp, i int) { w.Dir[i] ^= 1 }, true},
		"active": {func(w *Warp, i int) { w.Active[i] ^= 1 << rng.IntN(64) }, true},
		"taken":  {func(w *Warp, i int) { w.Taken[i] ^= 1 << rng.IntN(64) }, true},
		"value":  {func(w *Warp, i int) { w.Value[i] ^= 1 << rng.IntN(64) }, false},
		"type":   {func(w *Warp, i int) { w.Type[i] ^= 1 }, false},
		"aux":    {func(w *Warp, i int) { w.Aux[i] ^= 1 }, false},
		"order": {func(w *Warp, i int) {
			j := (i + 1) % w.Len()
			w.Active[i], w.Active[j] = w.Active[j], w.Active[i]
		}, true},
	} {
		w := randomWarp(rng, 1, 64, 30, 64)
		digest, control := digestOf(w, keys)
		for i := range w.Len() {
			c.change(w, i)
			d, k := digestOf(w, keys)
			if d == digest || (k != control) != c.control {
				t.Errorf("%s of event %d: digest changed %v, control changed %v, want true, %v", name, i, d != digest, k != control, c.control)
			}
			digest, control = d, k
		}
	}
}

func TestDigestsDoNotDependOnTheOrderOfTheTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	w := randomWarp(rng, 1, 100, 30, 64)
	keys, other, order := make([]uint64, 30), make([]uint64, 30), rng.Perm(30)
	for i := range keys {
		keys[i] = rng.Uint64()
		other[order[i]] = keys[i]
	}
	digest, control := digestOf(w, keys)
	for i, s := range w.Site {
		w.Site[i] = uint32(order[s])
	}
	if d, c := digestOf(w, other); d != digest || c != control {
		t.Errorf("got %#x, %#x, want %#x, %#x", d, c, digest, control)
	}
}

package warptrace

import "math/bits"

// The constants of digests (docs/formats/prlx-v2.md), those of xxHash64.
const (
	digestP1 = 0x9E3779B185EBCA87
	digestP2 = 0xC2B2AE3D27D4EB4F
	digestP3 = 0x165667B19E3779F9
	digestP4 = 0x85EBCA77C2B2AE63
)

func digestRound(acc, x uint64) uint64 { return bits.RotateLeft64(acc+x*digestP2, 31) * digestP1 }

func digestJoin(h, a uint64) uint64 { return (h^digestRound(0, a))*digestP1 + digestP4 }

func digestFinish(h uint64) uint64 {
	h = (h ^ h>>33) * digestP2
	h = (h ^ h>>29) * digestP3
	return h ^ h>>32
}

// digestOf returns the digests of a warp's events: over all columns, and over those that say which way the warp went. keys are the
// keys of the sites by local number; every site of the warp must have one.
//
// Each column has an accumulator of its own, so that the multiplications of one event do not wait for each other.
func digestOf(w *Warp, keys []uint64) (digest, control uint64) {
	a1, a2, a3, a4, a5, a6 := uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6)
	n := len(w.Site)
	kind, dir, aux, types := w.Kind[:n], w.Dir[:n], w.Aux[:n], w.Type[:n]
	active, taken, value := w.Active[:n], w.Taken[:n], w.Value[:n]
	for i, s := range w.Site {
		a1 = digestRound(a1, keys[s])
		a2 = digestRound(a2, active[i])
		a3 = digestRound(a3, taken[i])
		a4 = digestRound(a4, uint64(kind[i])|uint64(dir[i])<<8)
		a5 = digestRound(a5, value[i])
		a6 = digestRound(a6, uint64(types[i])|uint64(aux[i])<<8)
	}
	h := digestJoin(digestJoin(digestJoin(digestJoin(uint64(n), a1), a2), a3), a4)
	return digestFinish(digestJoin(digestJoin(h, a5), a6)), digestFinish(h)
}

// What is beside the bytes of a value in the shapes of StoredHash and of digests of contents.
const (
	NamedPointer    = 1 << 8 // the value is the name of an address (PointerName)
	AtomicOperation = 1 << 9 // times what an atomic does with its operand (docs/formats/prlx-v2.md); nothing is added for a store
)

// StoredHash is what one stored element adds to the hash of a StoreSum: value has the element's bytes in its low bits, offset is where
// in its array it went, shape its size in bytes, with NamedPointer and AtomicOperation where they apply. Sums of it do not depend on
// any order.
func StoredHash(offset, value, shape uint64) uint64 { return HashAt(HashPlace(offset, shape), value) }

// HashPlace is the part of StoredHash, and of what 8 bytes of the final contents of an array add to the digest of their chunk, that does not depend on the value. It is linear: the place of a sum is the sum of
// the places, modulo 2^64.
func HashPlace(offset, shape uint64) uint64 { return offset*digestP1 + shape*digestP4 }

// HashAt completes them. Of contents, the place is where the 8 bytes begin, a multiple of 8, and as shape a bit for each byte that was written,
// with NamedPointer where that applies; the value has 0 in bytes that were not written.
func HashAt(place, value uint64) uint64 {
	x := place + value*digestP2
	x = (x ^ x>>32) * digestP3
	return x ^ x>>29
}

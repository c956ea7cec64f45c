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

// DigestOf returns the digests of a warp's events: over all columns, and over those that say which way the warp went. keys are the
// keys of the sites by local number; every site of the warp must have one.
//
// Each column has an accumulator of its own, so that the multiplications of one event do not wait for each other.
func DigestOf(w *Warp, keys []uint64) (digest, control uint64) {
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

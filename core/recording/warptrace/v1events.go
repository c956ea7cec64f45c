package warptrace

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/recording/site"
)

// V1Events are the events of one warp as they stand in a file of format v1, 16 bytes each. Comparing two of them as bytes is many times
// faster than decoding either.
type V1Events []byte

// V1EventBytes is the size of an event.
const V1EventBytes = v1EventBytes

// The control part of an event, without its value and reserved field: the first 8 bytes under v1ControlMask and the mask behind them.
const v1ControlMask = 0x0000_ffff_ffff_ffff

// Len is the number of events.
func (e V1Events) Len() int { return len(e) / v1EventBytes }

// Site is the site id of event i.
func (e V1Events) Site(i int) uint32 { return binary.LittleEndian.Uint32(e[i*v1EventBytes:]) }

// Kind is the kind of event i.
func (e V1Events) Kind(i int) site.Kind { return site.Kind(e[i*v1EventBytes+4]) }

// Dir is the branch direction of event i.
func (e V1Events) Dir(i int) uint8 { return e[i*v1EventBytes+5] }

// Active is the active mask of event i.
func (e V1Events) Active(i int) uint32 { return binary.LittleEndian.Uint32(e[i*v1EventBytes+8:]) }

// Value is the value of event i.
func (e V1Events) Value(i int) uint32 { return binary.LittleEndian.Uint32(e[i*v1EventBytes+12:]) }

// SameControl reports whether event i and event k of other have the same site, kind, direction and mask.
func (e V1Events) SameControl(i int, other V1Events, k int) bool {
	x, y := e[i*v1EventBytes:][:v1EventBytes], other[k*v1EventBytes:][:v1EventBytes]
	return (binary.LittleEndian.Uint64(x)^binary.LittleEndian.Uint64(y))&v1ControlMask == 0 &&
		binary.LittleEndian.Uint32(x[8:]) == binary.LittleEndian.Uint32(y[8:])
}

// decode turns events from <= i < to into the columns of w, whose WarpInfo and rings stay as they are.
func (e V1Events) decode(from, to int, w *Warp) {
	n := to - from
	w.resize(n)
	clear(w.Taken)
	fill(w.Type, TypeBits)
	b := e[from*v1EventBytes : to*v1EventBytes]
	sites, kinds, dirs, aux, active, values := w.Site[:n], w.Kind[:n], w.Dir[:n], w.Aux[:n], w.Active[:n], w.Value[:n]
	for i := range sites {
		x := b[:v1EventBytes]
		low, high := binary.LittleEndian.Uint64(x), binary.LittleEndian.Uint64(x[8:])
		b = b[v1EventBytes:]
		sites[i] = uint32(low)
		kinds[i] = site.Kind(low >> 32)
		dirs[i] = uint8(low >> 40)
		aux[i] = uint16(low >> 48)
		active[i] = uint64(uint32(high))
		values[i] = high >> 32
	}
}

// fill sets every element, in blocks that double.
func fill[T any](s []T, v T) {
	if len(s) == 0 {
		return
	}
	s[0] = v
	for done := 1; done < len(s); done *= 2 {
		copy(s[done:], s[:done])
	}
}

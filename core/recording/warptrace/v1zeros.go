package warptrace

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/fault"
)

// Format v1 has no checksums, but no recorder leaves what a block of zeros leaves that was written over it: an event that no lane
// executed at no site, and a warp without events in front of events, while the same warp of the other recording has some.

// v1Look is how much of a slot without events is looked at: a block of a file system.
const v1Look = 4096

// blank is the first event that is nothing but zeros, -1 where there is none.
func (e V1Events) blank() int {
	const together = 8 // events whose first halves are looked at in one go: hardly any is zeros
	i := 0
	for ; i+together*v1EventBytes <= len(e); i += together * v1EventBytes {
		b := (*[together * v1EventBytes]byte)(e[i:])
		if first(b[0:]) == 0 || first(b[16:]) == 0 || first(b[32:]) == 0 || first(b[48:]) == 0 ||
			first(b[64:]) == 0 || first(b[80:]) == 0 || first(b[96:]) == 0 || first(b[112:]) == 0 {
			if at := blankOf(b[:]); at >= 0 {
				return i/v1EventBytes + at
			}
		}
	}
	if at := blankOf(e[i:]); at >= 0 {
		return i/v1EventBytes + at
	}
	return -1
}

// first is the first half of an event: site, type, decision and aux.
func first(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// blankOf is blank, event by event.
func blankOf(e []byte) int {
	for i := 0; i+v1EventBytes <= len(e); i += v1EventBytes {
		if first(e[i:])|binary.LittleEndian.Uint64(e[i+8:]) == 0 {
			return i / v1EventBytes
		}
	}
	return -1
}

// whole refuses events among which there are zeros.
func (e V1Events) whole(path string, warp uint64) error {
	if at := e.blank(); at >= 0 {
		return zeroed(path, "event %d of warp %d is zeros, which no recorder writes", at, warp)
	}
	return nil
}

// absent refuses a warp that counts no events and holds some. It is asked of warps that the other recording has.
func (v *v1) absent(warp uint64) error {
	if v.layout.compressed() || warp >= uint64(v.layout.slots) {
		return nil
	}
	b := make([]byte, min(v.layout.warpBytes()-v1WarpHead, v1Look))
	off := v1Header + int64(warp)*v.layout.warpBytes() + v1WarpHead
	if _, err := v.src.ReadAt(b, off); err != nil {
		return shorter(v.src.Path(), off, err)
	}
	for _, one := range b {
		if one != 0 {
			return zeroed(v.src.Path(), "warp %d counts no events, and there are some", warp)
		}
	}
	return nil
}

func zeroed(path, what string, args ...any) error {
	return fault.Formatf(path, fault.Unknown, "the recording is damaged: "+what, args...).WithHint("record again, or copy the file again")
}

package memory

import (
	"encoding/binary"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Hash is a hash of n bytes of global memory at an address, 0 where there are none.
func (g *Global) Hash(address uint64, n int) uint64 {
	in := g.within(address, address+uint64(n), 0)
	if in == nil {
		return 0
	}
	return hashBytes(1, in.bytes[address-in.base:][:n])
}

// HashOf is a hash of what a block has in shared and local memory, and of the copies that are on their way there.
func HashOf(b *Block) uint64 {
	h := hashBytes(1, b.shared)
	for w, used := range b.local.used {
		if used {
			h = hashBytes(h, b.local.data[uint64(w)*lane.Lanes*b.local.size:][:lane.Lanes*b.local.size])
		}
	}
	for i := range b.queues {
		h = mix(h, uint64(len(b.queues[i].items))<<32|uint64(len(b.queues[i].groups)))
	}
	return h
}

func hashBytes(h uint64, p []byte) uint64 {
	for ; len(p) >= 8; p = p[8:] {
		h = mix(h, binary.LittleEndian.Uint64(p))
	}
	for _, v := range p {
		h = mix(h, uint64(v))
	}
	return h
}

func mix(h, v uint64) uint64 { return bits.RotateLeft64((h^v)*0x9e3779b97f4a7c15, 29) }

package warptrace

import "encoding/binary"

// What memory holds, whoever wrote it, has a digest of its own kind (docs/formats/prlx-v2.md): a GPU makes it (runtime/device/contents.ptx), and
// this is the same in Go. Of memory of which a launch wrote every byte, it is what Array.Digest is of an array that begins where the memory does.

// ContentsDigest is that of the whole of a piece of memory: a sum over its pieces of 8 bytes, so it does not depend on their order.
func ContentsDigest(memory []byte) (digest uint64) {
	offset := uint64(0)
	for ; len(memory) >= 8; memory, offset = memory[8:], offset+8 {
		digest += StoredHash(offset, binary.LittleEndian.Uint64(memory), 0xff)
	}
	if n := len(memory); n > 0 {
		var last [8]byte
		copy(last[:], memory)
		digest += StoredHash(offset, binary.LittleEndian.Uint64(last[:]), 1<<n-1)
	}
	return digest
}

package recorder

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// ArgumentDigest is a hash over names, types, values, the contents of arrays and where in them views begin.
func ArgumentDigest(arguments []warptrace.Argument) uint64 {
	h := sha256.New()
	for _, a := range arguments {
		for _, text := range []string{a.Name, a.Type, a.Value} {
			writeText(h, text)
		}
		writeWord(h, a.Digest)
		if a.Offset != 0 {
			writeWord(h, a.Offset)
		}
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}

func writeText(h hash.Hash, text string) {
	writeWord(h, uint64(len(text)))
	h.Write([]byte(text))
}

func writeWord(h hash.Hash, word uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, word)) }

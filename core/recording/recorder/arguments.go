package recorder

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strconv"
	"strings"

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
		if a.Before != 0 {
			writeText(h, "before")
			writeWord(h, a.Before)
		}
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}

func writeText(h hash.Hash, text string) {
	writeWord(h, uint64(len(text)))
	h.Write([]byte(text))
}

func writeWord(h hash.Hash, word uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, word)) }

// ScalarText is the value of a scalar argument in text, by its type in Triton's spelling.
func ScalarText(ty string, bits uint64) string {
	switch ty {
	case "fp32", "f32":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case "fp64":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case "i1", "u1":
		return strconv.FormatBool(bits != 0)
	}
	if width, err := strconv.Atoi(strings.TrimLeft(ty, "iu")); err == nil && width > 0 && width <= 64 {
		if strings.HasPrefix(ty, "i") {
			return strconv.FormatInt(int64(bits<<(64-width))>>(64-width), 10)
		}
		return strconv.FormatUint(bits, 10)
	}
	return hex(bits)
}

// Alignment is the largest power of two that divides an address, as far as recordings say it.
func Alignment(address uint64) uint64 { return min(address&-address, warptrace.MostAligned) }

// ModuleHash is what recordings say of a module, by its text.
func ModuleHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:16])
}

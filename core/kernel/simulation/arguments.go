package simulation

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/simt"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// isScratch reports whether a parameter is memory that Triton adds to every kernel; it says nothing of the launch.
func isScratch(a *simt.Argument) bool {
	return a.Name == "global_scratch" || a.Name == "profile_scratch"
}

// recordedArguments describes the arguments before the launch. Addresses are left out: they change from run to run.
func recordedArguments(l *simt.Launch) []warptrace.Argument {
	var arguments []warptrace.Argument
	for i := range l.Params {
		p := &l.Params[i]
		if isScratch(p) {
			continue
		}
		a := warptrace.Argument{Name: p.Name, Type: p.Type}
		switch {
		case p.Allocation >= 0:
			sum := sha256.Sum256(l.Memory[p.Allocation].Bytes)
			a.Digest = binary.LittleEndian.Uint64(sum[:]) | 1 // 0 means unknown
		case !strings.HasPrefix(p.Type, "*"):
			a.Value = scalarText(p.Type, p.Bits)
		}
		arguments = append(arguments, a)
	}
	return arguments
}

// argumentDigest is a hash over names, types, values and the contents of arrays.
func argumentDigest(arguments []warptrace.Argument) uint64 {
	h := sha256.New()
	for _, a := range arguments {
		for _, text := range []string{a.Name, a.Type, a.Value} {
			writeText(h, text)
		}
		writeWord(h, a.Digest)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}

func writeText(h hash.Hash, text string) {
	writeWord(h, uint64(len(text)))
	h.Write([]byte(text))
}

func writeWord(h hash.Hash, word uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, word)) }

// scalarText is the value of a scalar argument in text, by its type in Triton's spelling.
func scalarText(ty string, bits uint64) string {
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

func hex(n uint64) string { return fmt.Sprintf("0x%016x", n) }

package simulation

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
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
		a := warptrace.Argument{Name: p.Name, Type: p.Type, Shape: p.Shape, Strides: p.Strides, Special: p.Special}
		switch {
		case p.Allocation >= 0:
			at := &l.Memory[p.Allocation]
			a.Offset, a.Aligned = p.Bits-at.Host, recorder.Alignment(p.Bits)
			a.Digest = contentsDigest(at.Bytes)
			if words := addresses(l, p); words != nil {
				a.Digest, a.Points = tableDigest(l, words), uint64(len(words))
			}
		case !strings.HasPrefix(p.Type, "*"):
			a.Value = recorder.ScalarText(p.Type, p.Bits)
		}
		arguments = append(arguments, a)
	}
	return arguments
}

func contentsDigest(contents []byte) uint64 {
	sum := sha256.Sum256(contents)
	return binary.LittleEndian.Uint64(sum[:]) | 1 // 0 means unknown
}

// What can be a table of pointers: its entries, and how near to memory of the launch they lie. A process has its arrays in a few regions,
// each well within nearby and none below lowest; other numbers come that close to one by chance only.
const (
	mostEntries = 1 << 16
	nearby      = 1 << 40
	lowest      = 1 << 32
)

// addresses are the entries of a table of pointers; nil where an array is none: an entry is neither 0 nor near memory of the launch.
func addresses(l *simt.Launch, p *simt.Argument) []uint64 {
	contents := l.Memory[p.Allocation].Bytes
	if p.Type != "*i64" && p.Type != "*u64" || len(contents) == 0 || len(contents)%8 != 0 || len(contents) > 8*mostEntries {
		return nil
	}
	words, any := make([]uint64, len(contents)/8), false
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(contents[8*i:])
		near := words[i] >= lowest && slices.ContainsFunc(l.Memory, func(m memory.Allocation) bool {
			return max(words[i], m.Host)-min(words[i], m.Host) < nearby
		})
		if words[i] != 0 && !near {
			return nil
		}
		any = any || words[i] != 0
	}
	if !any {
		return nil
	}
	return words
}

// tableDigest is a hash over what the entries of a table point at: contents, and where in them. It is 0, not known, where memory that an
// entry points at is not.
func tableDigest(l *simt.Launch, words []uint64) uint64 {
	h, known := sha256.New(), map[int]uint64{}
	for _, word := range words {
		if word == 0 {
			h.Write(make([]byte, 8))
			continue
		}
		at := slices.IndexFunc(l.Memory, func(m memory.Allocation) bool { return word >= m.Host && word-m.Host < uint64(len(m.Bytes)) })
		if at < 0 {
			return 0
		}
		if _, seen := known[at]; !seen {
			known[at] = contentsDigest(l.Memory[at].Bytes)
		}
		h.Write(binary.LittleEndian.AppendUint64(nil, known[at]))
		h.Write(binary.LittleEndian.AppendUint64(nil, word-l.Memory[at].Host))
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}

package api

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// TestAKernelDigestsMemoryAsTheCoreDoes runs the kernel that GPUs run, over pieces of memory of all lengths and alignments at once.
func TestAKernelDigestsMemoryAsTheCoreDoes(t *testing.T) {
	var kernel contentsKernelDocument
	m := newMachine(t, increment)
	m.must("contents_kernel", map[string]any{}, &kernel)
	m = newMachine(t, kernel.Code)
	m.memory = make([]byte, 1<<18)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.memory {
		m.memory[i] = byte(rng.Uint32())
	}
	const first, row = 1 << 20, 64
	m.SeeMemory(func(address uint64, n int) []byte { return m.memory[address-first:][:n:n] })
	sizes := []int{0, 1, 7, 8, 9, 15, 16, 2048, 2047, 40_000, 40_003}
	type piece struct{ at, n int }
	var pieces []piece
	at := first + 4096
	for i, n := range sizes {
		pieces = append(pieces, piece{at + i%3, n}) // aligned or not
		at += n + 16&^7
		at = (at + 7) &^ 7
	}
	addresses := make([]uint64, len(pieces))
	for i, p := range pieces {
		counted := i % 2
		if counted == 1 {
			for k := 0; k+8 <= p.n; k += 24 { // words that may be addresses, and their neighbours
				binary.LittleEndian.PutUint64(m.memory[p.at-first+k:], []uint64{1 << 32, 1<<48 - 1, 1<<32 - 1, 1 << 48}[k/24%4])
			}
			for k := 0; k+8 <= p.n; k += 8 {
				if word := binary.LittleEndian.Uint64(m.memory[p.at-first+k:]); word >= 1<<32 && word < 1<<48 {
					addresses[i]++
				}
			}
		}
		line := m.memory[row*i:]
		for k, v := range []uint64{uint64(p.at), uint64(p.n), uint64(counted), 0, 0, 0, 0, 0} {
			binary.LittleEndian.PutUint64(line[8*k:], v)
		}
	}
	for _, grid := range []int{1, 3, 200} {
		for i := range pieces {
			clear(m.memory[row*i+32 : row*i+64])
		}
		for _, into := range []int{32, 48} {
			var ran simulation.Document
			m.must("simulate_launch", map[string]any{
				"module": m.module, "kernel": kernel.Name, "grid": [3]int{grid, len(pieces), 1}, "block": [3]int{256, 1, 1},
				"params":      []map[string]any{{"name": "rows", "type": "*i64", "bits": first, "allocation": 0}, {"name": "into", "type": "i32", "bits": into, "allocation": -1}},
				"allocations": []map[string]any{{"name": "memory", "address": first, "bytes": len(m.memory)}},
			}, &ran)
			if len(ran.Findings) > 0 {
				t.Fatalf("the checks find %+v", ran.Findings[0])
			}
			for i, p := range pieces {
				want := fmt.Sprintf("%#x %d", contentsDigest(m.memory[p.at-first:][:p.n]), addresses[i])
				line := m.memory[row*i+into:]
				if got := fmt.Sprintf("%#x %d", binary.LittleEndian.Uint64(line), binary.LittleEndian.Uint64(line[8:])); got != want {
					t.Errorf("grid %d, %d bytes at %#x: got %s, want %s", grid, p.n, p.at, got, want)
				}
			}
		}
	}
}

// contentsDigest is that of the whole of a piece of memory (docs/formats/prlx-v2.md), which a GPU makes by runtime/device/contents.ptx: a sum
// over its pieces of 8 bytes, so it does not depend on their order.
func contentsDigest(memory []byte) (digest uint64) {
	offset := uint64(0)
	for ; len(memory) >= 8; memory, offset = memory[8:], offset+8 {
		digest += warptrace.StoredHash(offset, binary.LittleEndian.Uint64(memory), 0xff)
	}
	if n := len(memory); n > 0 {
		var last [8]byte
		copy(last[:], memory)
		digest += warptrace.StoredHash(offset, binary.LittleEndian.Uint64(last[:]), 1<<n-1)
	}
	return digest
}

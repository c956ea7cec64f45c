package diff

import (
	"bytes"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// leftArray is an array as a launch left it.
type leftArray struct {
	name, typ string
	size      int
	id        uint32
	values    []uint64 // of the elements, by their bits
	from      int64    // chunk of the first
	unwritten func(byte int) bool
	addresses []uint32 // elements of the first chunk that are names of addresses
	lost      int      // chunks at the end whose contents are not kept
	lie       uint8    // bytes of an element as contents have it, 0: the truth
}

// contents are the chunks of the array and what is in them. The digest of a chunk is one of its bytes and their places.
func (l leftArray) contents() (a warptrace.Array, kept []warptrace.Contents) {
	a = warptrace.Array{ID: l.id, Name: l.name, Type: l.typ, ElementBytes: uint32(l.size)}
	for from := 0; from < len(l.values); from += warptrace.ChunkElements {
		n := warptrace.ChunkElements * l.size
		c := warptrace.Contents{Array: l.id, Chunk: l.from + int64(from/warptrace.ChunkElements), Element: uint32(l.size), Bytes: make([]byte, n), Written: make([]byte, n/8)}
		for i, v := range l.values[from:min(from+warptrace.ChunkElements, len(l.values))] {
			for k := range l.size {
				at := i*l.size + k
				if l.unwritten != nil && l.unwritten(from*l.size+at) {
					continue
				}
				c.Bytes[at] = byte(v >> (8 * k))
				c.Written[at/8] |= 1 << (at % 8)
			}
		}
		for _, i := range l.addresses {
			if from == 0 {
				c.Pointers = append(c.Pointers, i*uint32(l.size))
			}
		}
		chunk := warptrace.Chunk{Index: c.Chunk, Bytes: uint32(c.NumberOfWritten())}
		for i, b := range c.Bytes {
			if c.WrittenAt(i) {
				chunk.Digest += hashOf(int(c.Chunk)*n+i, uint32(b))
			}
		}
		a.Written, a.Digest, a.Chunks = a.Written+uint64(chunk.Bytes), a.Digest+chunk.Digest, append(a.Chunks, chunk)
		if l.lie > 0 {
			c.Element, n = uint32(l.lie), warptrace.ChunkElements*int(l.lie)
			c.Bytes, c.Written = append(c.Bytes, make([]byte, n)...)[:n], append(c.Written, make([]byte, n/8)...)[:n/8]
		}
		kept = append(kept, c)
	}
	return a, kept[:len(kept)-l.lost]
}

// leave records a launch that left some arrays.
func leave(t testing.TB, name string, arrays ...leftArray) *warptrace.Trace {
	t.Helper()
	h := warptrace.Header{
		Version: 2, Kernel: "k", KernelHash: warptrace.Hash64("k"), Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, WaveSize: 32,
		WarpsPerBlock: 1, WarpSlots: 1, Mode: warptrace.ModeControlFlow, SampleRate: 1, Taken: true,
	}
	var file bytes.Buffer
	w, err := warptrace.CreateV2(&file, h, site.NewTable(nil), warptrace.V2Options{})
	must(t, err)
	o := warptrace.Outputs{Coverage: warptrace.Coverage{Arrays: true, Stores: true}}
	var all []warptrace.Contents
	for _, l := range arrays {
		a, kept := l.contents()
		o.Arrays, all = append(o.Arrays, a), append(all, kept...)
	}
	for i := range all {
		o.Coverage.ContentBytes += uint64(all[i].NumberOfWritten())
	}
	must(t, w.Append(&warptrace.Warp{}))
	must(t, w.SetOutputs(&o))
	for i := range all {
		must(t, w.AddContents(&all[i]))
	}
	must(t, w.Close())
	return warptracetest.Open(t, name, file.Bytes())
}

// leftApart compares what two launches left.
func leftApart(t testing.TB, a, b []leftArray, opt Options) *Document {
	t.Helper()
	return documentOf(t, compared(t, leave(t, "a.prlx", a...), leave(t, "b.prlx", b...), opt, 1))
}

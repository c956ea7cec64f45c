package record

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// writtenArray remembers which bytes of an array a launch wrote, in pages that are made when they are needed. Workers mark
// bytes at the same time; which of them comes first changes nothing.
//
// Bits count from a place in front of the array's first byte, so that a multiple of mostChunk is where an argument points: then chunks
// and pieces of 8 bytes never cross a word of bits.
type writtenArray struct {
	warptrace.Array
	allocation int
	base       int64 // offset in the allocation of what the array's offsets count from
	shift      int64 // bit of the allocation's first byte
	size       int64 // of the allocation
	writersTo  int64 // bit up to which writers are remembered

	once    sync.Once
	pages   []atomic.Pointer[bitPage]
	writers []atomic.Pointer[writerPage] // nil: nobody asks
}

const (
	pageBits  = 1 << 15                     // bytes of an array that share a page
	mostChunk = warptrace.ChunkElements * 8 // bytes of the largest chunk
)

type bitPage [pageBits / 64]uint64

// writerPage holds who wrote each element of a page, 0 nobody.
type writerPage []uint64

// begin makes the tables of pages, before the first byte is marked.
func (a *writtenArray) begin() {
	a.once.Do(func() {
		a.pages = make([]atomic.Pointer[bitPage], (a.shift+a.size+pageBits-1)/pageBits)
		if a.writersTo > 0 {
			a.writers = make([]atomic.Pointer[writerPage], (min(a.writersTo, a.shift+a.size)+pageBits-1)/pageBits)
		}
	})
}

// page returns a page of bits, made if it is not there.
func (a *writtenArray) page(i int64) *bitPage {
	if p := a.pages[i].Load(); p != nil {
		return p
	}
	a.pages[i].CompareAndSwap(nil, new(bitPage))
	return a.pages[i].Load()
}

// mark notes n bytes from a bit on. The range must be inside of the allocation.
func (a *writtenArray) mark(bit, n int64) {
	for n > 0 {
		p := a.page(bit / pageBits)
		at := bit % pageBits
		here := min(n, pageBits-at)
		bit, n = bit+here, n-here
		for here > 0 {
			low := at % 64
			take := min(here, 64-low)
			set := ^uint64(0) >> (64 - take) << low
			if w := &p[at/64]; atomic.LoadUint64(w)&set != set {
				atomic.OrUint64(w, set)
			}
			at, here = at+take, here-take
		}
	}
}

// first marks n bytes from a bit on, and reports whether none of them was marked before.
func (a *writtenArray) first(bit, n int64) bool {
	if bit%64+n > 64 {
		return false // an element that lies across: nobody says what it held
	}
	set := ^uint64(0) >> (64 - n) << (bit % 64)
	return atomic.OrUint64(&a.page(bit / pageBits)[bit%pageBits/64], set)&set == 0
}

// writerShift is where the place of the block begins in who wrote an element: above its thread and statement.
const (
	writerThreadBits    = 10
	writerStatementBits = 20
	writerShift         = writerThreadBits + writerStatementBits
)

// claim notes who wrote the elements of n bytes from a bit on. Of several blocks the last in the order of the schedule stays.
func (a *writtenArray) claim(bit, n int64, who uint64) {
	element := int64(a.ElementBytes)
	for at := bit / element * element; at < bit+n; at += element {
		i := at / pageBits
		if i >= int64(len(a.writers)) {
			return
		}
		p := a.writers[i].Load()
		if p == nil {
			fresh := make(writerPage, pageBits/element)
			a.writers[i].CompareAndSwap(nil, &fresh)
			p = a.writers[i].Load()
		}
		w := &(*p)[at%pageBits/element]
		for old := atomic.LoadUint64(w); old>>writerShift <= who>>writerShift; old = atomic.LoadUint64(w) {
			if atomic.CompareAndSwapUint64(w, old, who) {
				break
			}
		}
	}
}

// namer gives stored addresses their names.
type namer interface {
	// nameOf returns the name of a value that is an address inside of an array.
	nameOf(value uint64) (name uint64, ok bool)
}

// chunks calls visit with every chunk that was written: its first bit and the words of its bits.
func (a *writtenArray) chunks(visit func(bit int64, words []uint64)) {
	chunk := int64(a.ElementBytes) * warptrace.ChunkElements
	for i := range a.pages {
		p := a.pages[i].Load()
		if p == nil {
			continue
		}
		for at := int64(0); at < pageBits; at += chunk {
			words := p[at/64 : (at+chunk)/64]
			for _, w := range words {
				if w != 0 {
					visit(int64(i)*pageBits+at, words)
					break
				}
			}
		}
	}
}

// finish digests the final contents. most is how many chunks may be listed; the rest is counted.
func (a *writtenArray) finish(contents []byte, names namer, most int) (dropped uint64) {
	a.Values = &warptrace.ValueSums{}
	a.chunks(func(bit int64, words []uint64) {
		c := a.digest(contents, bit, words, names)
		a.Written += uint64(c.Bytes)
		a.Digest += c.Digest
		a.measure(contents, bit, words, names)
		if len(a.Chunks) < most {
			a.Chunks = append(a.Chunks, c)
		} else {
			dropped++
		}
	})
	return dropped
}

// offset is where in the array a bit is.
func (a *writtenArray) offset(bit int64) int64 { return bit - a.shift - a.base }

// digest is the digest of one chunk.
func (a *writtenArray) digest(contents []byte, bit int64, words []uint64, names namer) warptrace.Chunk {
	chunk := int64(a.ElementBytes) * warptrace.ChunkElements
	out := warptrace.Chunk{Index: floorDiv(a.offset(bit), chunk)}
	place := warptrace.HashPlace(uint64(a.offset(bit)), 0)
	at := bit - a.shift // in the allocation
	for _, w := range words {
		out.Bytes += uint32(bits.OnesCount64(w))
		if w == ^uint64(0) && names == nil {
			full := place + warptrace.HashPlace(0, 0xff)
			for piece := contents[at : at+64]; len(piece) >= 8; piece = piece[8:] {
				out.Digest += warptrace.HashAt(full, binary.LittleEndian.Uint64(piece))
				full += warptrace.HashPlace(8, 0)
			}
		} else {
			for k := int64(0); k < 64; k += 8 {
				if shape := w >> k & 0xff; shape != 0 {
					v, named := piece(contents, at+k, uint8(shape), names)
					out.Digest += warptrace.HashAt(place+warptrace.HashPlace(uint64(k), shape|named), v)
				}
			}
		}
		place, at = place+warptrace.HashPlace(64, 0), at+64
	}
	return out
}

// measure adds the elements of a chunk that were written whole to the sums of values.
func (a *writtenArray) measure(contents []byte, bit int64, words []uint64, names namer) {
	size := int64(a.ElementBytes)
	whole := ^uint64(0) >> (64 - size)
	for i, w := range words {
		if from := bit + 64*int64(i); w == ^uint64(0) && size == 4 {
			a.Values.AddWords(a.offset(from), contents[from-a.shift:][:64])
			continue
		}
		for k := int64(0); w != 0 && k < 64; k += size {
			if w>>k&whole != whole {
				continue
			}
			place := bit + 64*int64(i) + k
			at := place - a.shift
			var word [8]byte
			copy(word[:], contents[at:at+size])
			value := binary.LittleEndian.Uint64(word[:])
			if names != nil && size == 8 {
				if name, ok := names.nameOf(value); ok {
					a.Values.Hash += warptrace.StoredHash(0, name, 8+warptrace.NamedPointer)
					continue
				}
			}
			a.Values.AddPlaced(a.offset(place), value, int(size))
		}
	}
}

// piece reads 8 bytes of which those in shape were written; an address is named.
func piece(contents []byte, at int64, shape uint8, names namer) (value, named uint64) {
	if shape == 0xff {
		value = binary.LittleEndian.Uint64(contents[at:])
		if names != nil {
			if name, ok := names.nameOf(value); ok {
				return name, warptrace.NamedPointer
			}
		}
		return value, 0
	}
	for i := range int64(8) {
		if shape>>i&1 != 0 {
			value |= uint64(contents[at+i]) << (8 * i)
		}
	}
	return value, 0
}

// contents are those of one chunk, with who wrote them where that is known.
func (a *writtenArray) contents(memory []byte, bit int64, words []uint64, names namer, who func(uint64) warptrace.Writer) *warptrace.Contents {
	size := int64(a.ElementBytes) * warptrace.ChunkElements
	c := &warptrace.Contents{
		Array: a.ID, Chunk: floorDiv(a.offset(bit), size), Element: a.ElementBytes, Bytes: make([]byte, size), Written: make([]byte, size/8),
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(c.Written[8*i:], w)
		for k := int64(0); k < 64; k += 8 {
			shape := uint8(w >> k)
			if shape == 0 {
				continue
			}
			at := int64(64*i) + k
			v, named := piece(memory, bit-a.shift+at, shape, names)
			binary.LittleEndian.PutUint64(c.Bytes[at:], v)
			if named != 0 {
				c.Pointers = append(c.Pointers, uint32(at))
			}
		}
	}
	if i := bit / pageBits; who != nil && i < int64(len(a.writers)) {
		if p := a.writers[i].Load(); p != nil {
			c.Writers = make([]warptrace.Writer, warptrace.ChunkElements)
			for k, w := range (*p)[bit%pageBits/int64(a.ElementBytes):][:warptrace.ChunkElements] {
				c.Writers[k] = who(w)
			}
		}
	}
	return c
}

// floorDiv divides rounding down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

package warptracetest

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// written is what one warp wrote to global memory, in the order of its program.
type written struct {
	warp uint64
	all  []element
}

// element is one element that one lane wrote.
type element struct {
	array  *array
	site   uint32
	lane   uint32
	index  uint64
	value  uint64
	bytes  uint32
	atomic bool // value is the operand; what stands in memory then is not in the outputs
}

// wrote notes the lanes of a store or atomic.
func (m *machine) wrote(s *stmt, mask uint64, index, value *vec, typ warptrace.ValueType) {
	if m.writes == nil || s.kind == stStore && !s.global {
		return
	}
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		m.writes.all = append(m.writes.all, element{
			array: s.array, site: uint32(s.site), lane: uint32(i), index: index[i], value: stored(value[i], typ), bytes: uint32(typ.Bits() / 8),
			atomic: s.kind == stAtomic,
		})
	}
}

// sums are what a warp stored, by site and array.
func (w *written) sums() []warptrace.StoreSum {
	type key struct{ site, array uint32 }
	all := map[key]*warptrace.StoreSum{}
	for i := range w.all {
		x := &w.all[i]
		k := key{x.site, x.id()}
		if all[k] == nil {
			all[k] = &warptrace.StoreSum{Site: k.site, Array: k.array}
		}
		all[k].Count++
		all[k].Hash += warptrace.StoredHash(x.index*uint64(x.bytes), x.value, uint64(x.bytes))
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b key) int { return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.array, b.array)) })
	var out []warptrace.StoreSum
	for _, k := range keys {
		out = append(out, *all[k])
	}
	return out
}

// id is the number of the array among the parameters; counters of atomics have none.
func (x *element) id() uint32 {
	if x.array == nil {
		return warptrace.NoArray
	}
	return uint32(x.array.index)
}

// launchOutputs makes outputs of what the warps wrote, which come in the order in which they ran. Contents name the writers.
func launchOutputs(p *Program, warps []*written) (*warptrace.Outputs, []warptrace.Contents) {
	o := &warptrace.Outputs{Coverage: warptrace.Coverage{ControlFlow: true, Predicates: true, Stores: true, Arrays: true, Writers: true}}
	totals := map[[2]uint32]*warptrace.StoreTotal{}
	memory := map[uint32]map[int64]*warptrace.Contents{}
	for _, w := range warps {
		for _, s := range w.sums() {
			k := [2]uint32{s.Site, s.Array}
			if totals[k] == nil {
				totals[k] = &warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: s.Site, Array: s.Array}}
			}
			totals[k].Count += s.Count
			totals[k].Hash += s.Hash
			totals[k].Warps++
		}
		for i := range w.all {
			if x := &w.all[i]; x.array != nil && !x.atomic {
				x.put(memory, w.warp)
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(totals), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }) {
		o.Stores = append(o.Stores, *totals[k])
	}
	sites := map[uint32]bool{}
	for k := range totals {
		sites[k[0]] = true
	}
	o.Coverage.StoreSites = uint64(len(sites))
	var contents []warptrace.Contents
	for _, id := range slices.Sorted(maps.Keys(memory)) {
		a := p.arrays[id]
		out := warptrace.Array{ID: id, Name: a.name, Type: "*" + llvmType(a.typ), ElementBytes: uint32(a.typ.Bits() / 8)}
		for _, index := range slices.Sorted(maps.Keys(memory[id])) {
			c := memory[id][index]
			chunk := chunkOf(c)
			out.Chunks = append(out.Chunks, chunk)
			out.Written += uint64(chunk.Bytes)
			out.Digest += chunk.Digest
			contents = append(contents, *c)
		}
		o.Arrays = append(o.Arrays, out)
		o.Coverage.ContentBytes += out.Written
	}
	o.Coverage.ContentBudget = o.Coverage.ContentBytes
	return o, contents
}

// put writes an element into the contents of its chunk.
func (x *element) put(memory map[uint32]map[int64]*warptrace.Contents, warp uint64) {
	id, chunk := x.id(), int64(x.index/warptrace.ChunkElements)
	if memory[id] == nil {
		memory[id] = map[int64]*warptrace.Contents{}
	}
	c := memory[id][chunk]
	if c == nil {
		n := warptrace.ChunkElements * x.bytes
		c = &warptrace.Contents{Array: id, Chunk: chunk, Element: x.bytes, Bytes: make([]byte, n), Written: make([]byte, n/8)}
		c.Writers = slices.Repeat([]warptrace.Writer{{Site: warptrace.NoSite}}, warptrace.ChunkElements)
		memory[id][chunk] = c
	}
	at := uint32(x.index % warptrace.ChunkElements)
	c.Writers[at] = warptrace.Writer{Site: x.site, Lane: x.lane, Warp: warp}
	for i := range x.bytes {
		b := at*x.bytes + i
		c.Bytes[b] = byte(x.value >> (8 * i))
		c.Written[b/8] |= 1 << (b % 8)
	}
}

// chunkOf is the digest of contents, as the format's document spells it.
func chunkOf(c *warptrace.Contents) warptrace.Chunk {
	out := warptrace.Chunk{Index: c.Chunk, Bytes: uint32(c.NumberOfWritten())}
	for at := 0; at < len(c.Bytes); at += 8 {
		if shape := c.Written[at/8]; shape != 0 {
			out.Digest += warptrace.HashAt(warptrace.HashPlace(uint64(c.Offset()+int64(at)), uint64(shape)), binary.LittleEndian.Uint64(c.Bytes[at:]))
		}
	}
	return out
}

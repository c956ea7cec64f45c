package warptrace

import (
	"errors"
	"math/bits"
)

// The chunks and contents blocks of format v2: digests of the arrays that were written, and what was kept of them.

const (
	chunksColumns   = 4
	contentsColumns = 6
	writersColumns  = 3

	contentsWriters = 1 // flags of a chunk in a contents block
	contentsWhole   = 2 // every byte was written: no bits are stored
)

// chunkRow is a chunk with the array that it belongs to.
type chunkRow struct {
	array uint32
	Chunk
}

// encodeChunks makes the body of a chunks block.
func encodeChunks(rows []chunkRow) []byte {
	body, at := masks(nil, chunksColumns)
	column := make([]uint64, len(rows))
	put := func(width int, of func(i int) uint64) {
		for i := range column {
			column[i] = of(i)
		}
		body = appendPlanes(body, at, column, width)
		at++
	}
	put(4, func(i int) uint64 { return uint64(rows[i].array) })
	var before int64
	put(8, func(i int) uint64 {
		d := zigzag(uint64(rows[i].Index - before))
		before = rows[i].Index
		return d
	})
	put(4, func(i int) uint64 { return uint64(rows[i].Bytes) })
	put(4, func(i int) uint64 { return uint64(uint32(rows[i].Digest)) })
	return body
}

var (
	errChunks     = errors.New("its chunks do not have the length that their planes need")
	errChunkOrder = errors.New("its chunks are in no order, or of arrays that are not listed")
	errChunkBytes = errors.New("a chunk has more bytes than its array gives it")
)

// decodeChunks gives the chunks of a block to their arrays. Arrays are ascending, and so are their chunks, over all blocks.
func decodeChunks(body []byte, count int, o *Outputs, at *int) error {
	r := planes{body: body}
	r.takeMasks(chunksColumns)
	arrays, indices := make([]uint32, count), make([]uint64, count)
	written, digests := make([]uint32, count), make([]uint32, count)
	readColumn(&r, arrays, 4)
	readColumn(&r, indices, 8)
	readColumn(&r, written, 4)
	readColumn(&r, digests, 4)
	if r.bad || len(r.body) > 0 {
		return errChunks
	}
	var index uint64
	for i := range arrays {
		index += unzigzag(indices[i])
		for *at < len(o.Arrays) && o.Arrays[*at].ID != arrays[i] {
			*at++
		}
		if *at == len(o.Arrays) {
			return errChunkOrder
		}
		a := &o.Arrays[*at]
		if n := len(a.Chunks); n > 0 && a.Chunks[n-1].Index >= int64(index) {
			return errChunkOrder
		}
		if written[i] == 0 || uint64(written[i]) > ChunkElements*uint64(a.ElementBytes) {
			return errChunkBytes
		}
		a.Chunks = append(a.Chunks, Chunk{int64(index), written[i], uint64(digests[i])})
	}
	return nil
}

// encodeContents makes the body of a contents block.
func encodeContents(all []Contents) []byte {
	body, at := masks(nil, contentsColumns)
	column := make([]uint64, len(all))
	put := func(width int, of func(c *Contents) uint64) {
		for i := range column {
			column[i] = of(&all[i])
		}
		body = appendPlanes(body, at, column, width)
		at++
	}
	put(4, func(c *Contents) uint64 { return uint64(c.Array) })
	var before int64
	put(8, func(c *Contents) uint64 {
		d := zigzag(uint64(c.Chunk - before))
		before = c.Chunk
		return d
	})
	put(1, func(c *Contents) uint64 { return uint64(c.Element) })
	put(4, func(c *Contents) uint64 { return uint64(len(c.Bytes)) })
	put(1, func(c *Contents) uint64 { return uint64(c.flags()) })
	put(4, func(c *Contents) uint64 { return uint64(len(c.Pointers)) })
	for i := range all {
		c := &all[i]
		body = append(body, c.Bytes...)
		if c.flags()&contentsWhole == 0 {
			body = append(body, c.Written...)
		}
	}
	var pointers, sites, warps, lanes []uint64
	for i := range all {
		for _, p := range all[i].Pointers {
			pointers = append(pointers, uint64(p))
		}
		var warp uint64
		for _, w := range all[i].Writers {
			sites, lanes = append(sites, uint64(w.Site+1)), append(lanes, uint64(w.Lane))
			warps = append(warps, zigzag(w.Warp-warp))
			warp = w.Warp
		}
	}
	body, at = masks(body, 1+writersColumns)
	for i, column := range [][]uint64{pointers, sites, warps, lanes} {
		body = appendPlanes(body, at+i, column, [...]int{4, 4, 8, 1}[i])
	}
	return body
}

func (c *Contents) flags() (f uint8) {
	if c.Writers != nil {
		f |= contentsWriters
	}
	if c.NumberOfWritten() == len(c.Bytes) {
		f |= contentsWhole
	}
	return f
}

var (
	errContents = errors.New("its contents do not have the length that their numbers need")
	errElement  = errors.New("an element has 0 or more than 8 bytes, or a chunk more than its elements")
	errPointer  = errors.New("a pointer lies outside of its chunk")
	errWriter   = errors.New("an element was written by a warp, lane or site that does not exist")
)

// decodeContents reads the chunks of a contents block.
func decodeContents(body []byte, count, sites int, slots uint64, lanes int) ([]Contents, error) {
	r := planes{body: body}
	r.takeMasks(contentsColumns)
	arrays, chunks, element := make([]uint32, count), make([]uint64, count), make([]uint8, count)
	sizes, flags, pointers := make([]uint32, count), make([]uint8, count), make([]uint32, count)
	readColumn(&r, arrays, 4)
	readColumn(&r, chunks, 8)
	readColumn(&r, element, 1)
	readColumn(&r, sizes, 4)
	readColumn(&r, flags, 1)
	readColumn(&r, pointers, 4)
	if r.bad {
		return nil, errContents
	}
	all := make([]Contents, count)
	var chunk, named, writers uint64
	for i := range all {
		c := &all[i]
		chunk += unzigzag(chunks[i])
		c.Array, c.Chunk, c.Element = arrays[i], int64(chunk), uint32(element[i])
		if c.Element == 0 || c.Element > 8 || sizes[i] != ChunkElements*c.Element {
			return nil, errElement
		}
		if err := c.take(&r, int(sizes[i]), flags[i]); err != nil {
			return nil, err
		}
		named += uint64(pointers[i])
		if flags[i]&contentsWriters != 0 {
			writers += ChunkElements
		}
		if pointers[i] > sizes[i]/8 {
			return nil, errPointer
		}
	}
	return all, decodeWriters(&r, all, pointers, flags, int(named), int(writers), limits{sites, slots, lanes})
}

// limits are what the writers of elements are below.
type limits struct {
	sites int
	slots uint64
	lanes int
}

// take cuts the bytes of a chunk off.
func (c *Contents) take(r *planes, size int, flags uint8) error {
	n := size
	if flags&contentsWhole == 0 {
		n += size / 8
	}
	if n > len(r.body) {
		return errContents
	}
	c.Bytes, r.body = r.body[:size:size], r.body[size:]
	if flags&contentsWhole == 0 {
		c.Written, r.body = r.body[:size/8:size/8], r.body[size/8:]
		return nil
	}
	c.Written = make([]byte, size/8)
	for i := range c.Written {
		c.Written[i] = 0xff
	}
	return nil
}

// decodeWriters reads what follows the bytes of all chunks.
func decodeWriters(r *planes, all []Contents, pointers []uint32, flags []uint8, named, writers int, most limits) error {
	r.takeMasks(1 + writersColumns)
	at, sites, warps, lanes := make([]uint32, named), make([]uint32, writers), make([]uint64, writers), make([]uint8, writers)
	readColumn(r, at, 4)
	readColumn(r, sites, 4)
	readColumn(r, warps, 8)
	readColumn(r, lanes, 1)
	if r.bad || len(r.body) > 0 {
		return errContents
	}
	for i := range all {
		c := &all[i]
		c.Pointers, at = at[:pointers[i]:pointers[i]], at[pointers[i]:]
		for _, p := range c.Pointers {
			if int64(p)+8 > int64(len(c.Bytes)) {
				return errPointer
			}
		}
		if flags[i]&contentsWriters == 0 {
			continue
		}
		c.Writers = make([]Writer, ChunkElements)
		var warp uint64
		for k := range c.Writers {
			warp += unzigzag(warps[k])
			w := Writer{Site: sites[k] - 1, Warp: warp, Lane: uint32(lanes[k])}
			if warp >= max(most.slots, 1) || int(w.Lane) >= most.lanes || int64(w.Site) >= int64(most.sites) && w.Site != NoSite {
				return errWriter
			}
			c.Writers[k] = w
		}
		sites, warps, lanes = sites[ChunkElements:], warps[ChunkElements:], lanes[ChunkElements:]
	}
	return nil
}

// NumberOfWritten counts the bytes of the chunk that were written.
func (c *Contents) NumberOfWritten() int {
	n := 0
	for _, b := range c.Written {
		n += bits.OnesCount8(b)
	}
	return n
}

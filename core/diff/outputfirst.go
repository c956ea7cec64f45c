package diff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// readContents measures how far apart arrays that differ are, where contents were kept, holds them against the tolerance, and finds what
// differs first.
func (o *outputs) readContents(ctx context.Context, r *Result, a, b *warptrace.Trace) error {
	err := o.measure(ctx, r, a, b)
	o.unread = err != nil
	return cmp.Or(err, o.findFirst(ctx, r, a, b))
}

// tolerates reports whether contents decide whether arrays differ.
func (o *Options) tolerates() bool {
	return o.Values && (!o.Tolerance.exact() || o.NaN != naNBits)
}

// findFirst finds the first array that differs by more than noise, what stored it, and, where contents were kept, the first element.
func (o *outputs) findFirst(ctx context.Context, r *Result, a, b *warptrace.Trace) error {
	o.first = nil
	at := o.firstArray()
	change := o.firstChange(at)
	if at < 0 && (change == nil || o.agrees() != Differs) {
		return nil
	}
	f := &FirstOutput{}
	if change != nil {
		f.Store = change.place(r.Sites)
	}
	o.first = f
	if at < 0 {
		return nil
	}
	p := &o.arrays[at]
	f.Array, f.Type, f.TypeB = p.name(), clippedWord(p.array().Type), p.typeB()
	chunks := p.genuine()
	if len(chunks) == 0 {
		return nil
	}
	from := chunks[0] * warptrace.ChunkElements
	f.From, f.To = &from, new(int64)
	*f.To = from + warptrace.ChunkElements - 1
	if !o.keeps || p.a == nil || p.b == nil {
		return nil
	}
	e := elements{r: r, first: f, m: newMeasure(p, &r.Options), a: a, b: b}
	return keptOfBoth(ctx, a, b, p, chunks, func(x, y *warptrace.Contents) bool { return !e.find(x, y) })
}

// firstArray is the position of the array that was written first, by the order of the program, among those that differ.
func (o *outputs) firstArray() int {
	best, bestSite := -1, uint32(warptrace.NoSite)
	for i := range o.arrays {
		if _, genuine := o.arrays[i].counts(); genuine == 0 {
			continue
		}
		s := uint32(warptrace.NoSite)
		if c := o.firstChange(i); c != nil {
			s = min(c.siteA, c.siteB)
		}
		if best < 0 || s < bestSite {
			best, bestSite = i, s
		}
	}
	return best
}

// firstChange is the first statement that stored something else to an array, or to any for -1. nil: none.
func (o *outputs) firstChange(array int) *storeChange {
	for i := range o.changes {
		if c := &o.changes[i]; !c.noise && (array < 0 || c.array == int32(array)) {
			return c
		}
	}
	return nil
}

// genuine lists the chunks that differ by more than noise.
func (p *arrayPair) genuine() []int64 {
	var out []int64
	for i, c := range p.chunks {
		if !p.noise[i] {
			out = append(out, c)
		}
	}
	return out
}

// place spells the statement and the first warp of a change.
func (c *storeChange) place(sites []SiteRef) *OutputPlace {
	ref := &sites[c.site]
	p := &OutputPlace{
		SiteID: ref.Name(), SourceLocation: ref.Location(), LocationB: ref.locationB(), InTrace: ref.only(), SiteKind: ref.Kind.String(), Warps: int64(len(c.warps)),
	}
	if len(c.warps) > 0 {
		warp := int64(c.warps[0])
		p.Warp = &warp
	}
	return p
}

// elements finds the first element that differs in the contents of two chunks.
type elements struct {
	r     *Result
	first *FirstOutput
	m     *measure
	a, b  *warptrace.Trace
}

// find fills in the first element of a chunk that differs, and reports whether there is one.
func (e *elements) find(x, y *warptrace.Contents) bool {
	i, ok := e.m.first(x, y)
	if !ok {
		return false
	}
	element := x.Chunk*warptrace.ChunkElements + int64(i)
	f := e.first
	f.Element = &element
	*f.From = x.Chunk * warptrace.ChunkElements
	*f.To = *f.From + warptrace.ChunkElements - 1
	for _, side := range []struct {
		t           *warptrace.Trace
		c           *warptrace.Contents
		value, bits *string
		writer      **OutputWriter
	}{{e.a, x, &f.ValueA, &f.BitsA, &f.WriterA}, {e.b, y, &f.ValueB, &f.BitsB, &f.WriterB}} {
		size := int(side.c.Element)
		if side.c.WrittenAt(i * size) {
			*side.value, *side.bits = e.spell(side.t, side.c, i*size), bitsOf(side.c.Bytes[i*size:(i+1)*size])
		}
		*side.writer = writerOf(side.t, side.c, i)
	}
	if e.m.types[0] != e.m.types[1] {
		f.BitsA, f.BitsB = "", "" // those of one type beside those of another tell nothing
	}
	return true
}

// spell is the value of an element as its type prints.
func (e *elements) spell(t *warptrace.Trace, c *warptrace.Contents, at int) string {
	size := int(c.Element)
	if slices.Contains(c.Pointers, uint32(at)) && size == 8 {
		id, offset := warptrace.PointerName(wordAt(c.Bytes[at : at+size]))
		name := fmt.Sprintf("array %d", id)
		if arguments := t.Header().Arguments; int64(id) < int64(len(arguments)) {
			name = clippedWord(arguments[id].Name)
		}
		return fmt.Sprintf("&%s%+d", name, offset)
	}
	kind := e.m.types[truth(t == e.b)]
	if kind == warptrace.TypeNone {
		return bitsOf(c.Bytes[at : at+size])
	}
	return warptrace.FormatValue(wordAt(c.Bytes[at:at+size]), kind)
}

// writerOf is the thread that wrote an element last, nil when that is not known.
func writerOf(t *warptrace.Trace, c *warptrace.Contents, element int) *OutputWriter {
	if element >= len(c.Writers) || c.Writers[element].Site == warptrace.NoSite {
		return nil
	}
	w := &c.Writers[element]
	out := &OutputWriter{Warp: int64(min(w.Warp, 1<<62)), Lane: int64(w.Lane)}
	if per := uint64(t.Header().WarpsPerBlock); per > 0 {
		block, inBlock := int64(w.Warp/per), int64(w.Warp%per)
		out.Block, out.WarpOfBlock = &block, &inBlock
	}
	if s, ok := t.SiteOf(w.Site); ok {
		ref := SiteRef{ID: t.SiteID(w.Site), Wide: true, Kind: s.Kind, Site: s}
		out.SiteID, out.SourceLocation = ref.Name(), ref.Location()
	}
	return out
}

// wordAt is an element of at most 8 bytes as a number.
func wordAt(b []byte) uint64 {
	switch len(b) {
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// bitsOf spells the bytes of an element, the highest first.
func bitsOf(b []byte) string {
	b = bytes.Clone(b)
	slices.Reverse(b)
	return "0x" + hex.EncodeToString(b)
}

// elementTypes are the types of elements as Triton spells them.
var elementTypes = map[string]warptrace.ValueType{
	"i1": warptrace.TypeBool, "u1": warptrace.TypeBool, "i8": warptrace.TypeI8, "i16": warptrace.TypeI16, "i32": warptrace.TypeI32,
	"i64": warptrace.TypeI64, "u8": warptrace.TypeU8, "u16": warptrace.TypeU16, "u32": warptrace.TypeU32, "u64": warptrace.TypeU64,
	"fp16": warptrace.TypeF16, "bf16": warptrace.TypeBF16, "fp32": warptrace.TypeF32, "fp64": warptrace.TypeF64,
	"fp8e4nv": warptrace.TypeF8E4, "fp8e5": warptrace.TypeF8E5,
}

// elementType is the type of the elements of an array, TypeNone when that is not known.
func elementType(a *warptrace.Array) warptrace.ValueType {
	name := strings.TrimPrefix(strings.TrimPrefix(a.Type, "*"), "k")
	t := elementTypes[cmp.Or(name, "unknown")]
	if t.Bits() != 8*uint(a.ElementBytes) && t != warptrace.TypeBool {
		return warptrace.TypeNone
	}
	return t
}

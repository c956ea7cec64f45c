package diff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// maxHeldChunks is how many chunks of contents are in memory at once: about 10 MB with their writers.
const maxHeldChunks = 1024

// maxPasses is how often the contents of a recording are read at most to hold chunks that differ against a tolerance.
const maxPasses = 64

// readContents holds arrays that differ against the tolerance, where contents were kept, and finds what differs first.
func (o *outputs) readContents(ctx context.Context, r *Result, a, b *warptrace.Trace) error {
	if r.Options.tolerates() {
		if err := o.tolerate(ctx, r, a, b); err != nil {
			return err
		}
	}
	return o.findFirst(ctx, r, a, b)
}

// tolerates reports whether contents decide whether arrays differ.
func (o *Options) tolerates() bool {
	return o.Values && (!o.Tolerance.Exact() || o.NaN != NaNBits)
}

// tolerate removes the chunks in which no element differs by more than the tolerance, and what was stored to an array of which
// nothing else differs.
func (o *outputs) tolerate(ctx context.Context, r *Result, a, b *warptrace.Trace) error {
	for i := range o.arrays {
		p := &o.arrays[i]
		if p.a == nil || p.b == nil || !p.more && len(p.chunks) == 0 {
			continue
		}
		t := elementType(p.array())
		if t == warptrace.TypeNone {
			continue
		}
		near, seen := make(map[int64]bool), make(map[int64]bool)
		for pass, from := 0, 0; pass < maxPasses && from < len(p.chunks); pass, from = pass+1, from+maxHeldChunks {
			part := p.chunks[from:min(from+maxHeldChunks, len(p.chunks))]
			err := keptOfBoth(ctx, a, b, p, part, func(x, y *warptrace.Contents) bool {
				seen[x.Chunk] = true
				near[x.Chunk] = x.Element == y.Element && sameWithin(x, y, t, &r.Options)
				if near[x.Chunk] {
					o.noteErrors(x, y, t, p.name())
				}
				return true
			})
			if err != nil {
				return err
			}
		}
		untested := func(c int64) bool { return !seen[c] && r.Options.Tolerance.loosens(t) }
		for _, c := range p.chunks {
			p.untested += int64(truth(untested(c)))
		}
		if p.more && r.Options.Tolerance.loosens(t) {
			p.more, p.untested = false, p.untested+1
		}
		p.chunks = slices.DeleteFunc(p.chunks, func(c int64) bool { return near[c] || untested(c) })
		p.noise = make([]bool, len(p.chunks))
		if len(p.chunks) == 0 {
			o.changes = slices.DeleteFunc(o.changes, func(c storeChange) bool { return c.array == int32(i) && c.counts[0] == c.counts[1] })
		}
	}
	return nil
}

// sameWithin reports whether no element of two chunks differs by more than the tolerance.
func sameWithin(x, y *warptrace.Contents, t warptrace.ValueType, opt *Options) bool {
	if !bytes.Equal(x.Written, y.Written) || !slices.Equal(x.Pointers, y.Pointers) || len(x.Bytes) != len(y.Bytes) {
		return false
	}
	size := int(x.Element)
	for at := 0; at+size <= len(x.Bytes); at += size {
		va, vb := wordAt(x.Bytes[at:at+size]), wordAt(y.Bytes[at:at+size])
		if va != vb && !opt.Tolerance.Same(t, va, vb, opt.NaN) {
			return false
		}
	}
	return true
}

// noteErrors notes how far apart the elements of two chunks are that a tolerance let pass.
func (o *outputs) noteErrors(x, y *warptrace.Contents, t warptrace.ValueType, array string) {
	size := int(x.Element)
	for at := 0; at+size <= len(x.Bytes); at += size {
		bitsA, bitsB := wordAt(x.Bytes[at:at+size]), wordAt(y.Bytes[at:at+size])
		a, isFloat := warptrace.Float(bitsA, t)
		b, _ := warptrace.Float(bitsB, t)
		if gap := math.Abs(a - b); isFloat && gap > 0 { // not of NaN
			if o.largest == nil {
				o.largest = &LargestError{}
			}
			e := o.largest
			e.Relative = max(e.Relative, gap/max(math.Abs(a), math.Abs(b)))
			if gap > e.Absolute {
				e.Absolute, e.Array, e.Element = gap, array, x.Chunk*warptrace.ChunkElements+int64(at/size)
				e.ValueA, e.ValueB = warptrace.FormatValue(bitsA, t), warptrace.FormatValue(bitsB, t)
			}
		}
	}
}

// keptOfBoth visits chunks of one array whose contents both recordings kept, ascending, until visit returns false.
func keptOfBoth(ctx context.Context, a, b *warptrace.Trace, p *arrayPair, chunks []int64, visit func(x, y *warptrace.Contents) bool) error {
	held := make(map[int64]*warptrace.Contents)
	err := a.Contents(ctx, func(c *warptrace.Contents) error {
		if _, wanted := slices.BinarySearch(chunks, c.Chunk); wanted && c.Array == p.a.ID && len(held) < maxHeldChunks {
			held[c.Chunk] = copyOf(c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	going := true
	return b.Contents(ctx, func(c *warptrace.Contents) error {
		if x := held[c.Chunk]; going && x != nil && c.Array == p.b.ID {
			going = visit(x, c)
		}
		return nil
	})
}

func copyOf(c *warptrace.Contents) *warptrace.Contents {
	out := *c
	out.Bytes, out.Written = bytes.Clone(c.Bytes), bytes.Clone(c.Written)
	out.Pointers, out.Writers = slices.Clone(c.Pointers), slices.Clone(c.Writers)
	return &out
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
		f.Store = r.placeOfChange(change)
	}
	o.first = f
	if at < 0 {
		return nil
	}
	p := &o.arrays[at]
	f.Array, f.Type = p.name(), clippedWord(p.array().Type)
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
	e := elements{r: r, first: f, t: elementType(p.array()), a: a, b: b}
	return keptOfBoth(ctx, a, b, p, chunks[:min(len(chunks), maxHeldChunks)], func(x, y *warptrace.Contents) bool { return !e.find(x, y) })
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

// placeOfChange spells the statement and the first warp of a change.
func (r *Result) placeOfChange(c *storeChange) *OutputPlace {
	ref := &r.Sites[c.site]
	p := &OutputPlace{
		SiteID: ref.Name(), SourceLocation: ref.Location(), LocationB: ref.LocationB(), InTrace: ref.Only(), SiteKind: ref.Kind.String(), Warps: int64(len(c.warps)),
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
	t     warptrace.ValueType
	a, b  *warptrace.Trace
}

// find fills in the first element of a chunk that differs, and reports whether there is one.
func (e *elements) find(x, y *warptrace.Contents) bool {
	size := int(x.Element)
	if x.Element != y.Element || size == 0 {
		return false
	}
	for at := 0; at+size <= min(len(x.Bytes), len(y.Bytes)); at += size {
		wa, wb := x.WrittenAt(at), y.WrittenAt(at)
		va, vb := x.Bytes[at:at+size], y.Bytes[at:at+size]
		if !wa && !wb || wa == wb && bytes.Equal(va, vb) || wa && wb && e.tolerated(va, vb) {
			continue
		}
		element := x.Chunk*warptrace.ChunkElements + int64(at/size)
		f := e.first
		f.Element = &element
		from := x.Chunk * warptrace.ChunkElements
		*f.From, *f.To = from, from+warptrace.ChunkElements-1
		if wa {
			f.ValueA, f.BitsA = e.spell(e.a, x, at), bitsOf(va)
		}
		if wb {
			f.ValueB, f.BitsB = e.spell(e.b, y, at), bitsOf(vb)
		}
		f.WriterA, f.WriterB = writerOf(e.a, x, at/size), writerOf(e.b, y, at/size)
		return true
	}
	return false
}

func (e *elements) tolerated(a, b []byte) bool {
	opt := &e.r.Options
	return opt.Values && e.t != warptrace.TypeNone && opt.Tolerance.Same(e.t, wordAt(a), wordAt(b), opt.NaN)
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
	if e.t == warptrace.TypeNone {
		return bitsOf(c.Bytes[at : at+size])
	}
	return warptrace.FormatValue(wordAt(c.Bytes[at:at+size]), e.t)
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

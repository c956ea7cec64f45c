package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Distance is how far apart what two launches left in an array is, element by element. Elements of two types are compared by value.
type Distance struct {
	Elements   int64     `json:"elements"`             // that either launch wrote
	Compared   int64     `json:"compared"`             // of them; fewer where contents were kept of a part only
	Mismatched int64     `json:"mismatched"`           // of those compared: of other bits, or of another value where the types differ
	Share      float64   `json:"share"`                // mismatched of compared
	Absolute   *Farthest `json:"absolute,omitempty"`   // |A - B|
	Relative   *Farthest `json:"relative,omitempty"`   // |A - B| / max(|A|, |B|)
	ULPs       *Farthest `json:"ulps,omitempty"`       // floats of ulp_type from one to the other
	ULPType    string    `json:"ulp_type,omitempty"`   // the type, or the coarser one of two, to which both are rounded first
	Beyond     *int64    `json:"beyond,omitempty"`     // of those mismatched: beyond the tolerance, where one was given
	Rounded    int64     `json:"rounded,omitempty"`    // likewise: equal once both are rounded to ulp_type
	SameValue  int64     `json:"same_value,omitempty"` // likewise: zeros of other signs and NaNs of other bits
	NaNA       int64     `json:"nan_a,omitempty"`      // likewise: NaN in A alone
	NaNB       int64     `json:"nan_b,omitempty"`
	InfiniteA  int64     `json:"infinite_a,omitempty"` // likewise: infinite in A alone
	InfiniteB  int64     `json:"infinite_b,omitempty"`
	Infinities int64     `json:"infinities,omitempty"` // likewise: infinities of other signs
	OneSided   int64     `json:"one_sided,omitempty"`  // likewise: written by one launch alone
	NoNumber   int64     `json:"no_number,omitempty"`  // likewise: addresses, elements written in part, values of types that are not read
}

// Farthest is the first of the elements that are furthest apart in one measure.
type Farthest struct {
	Is      float64 `json:"is"`
	Element int64   `json:"element"`
	ValueA  string  `json:"value_a"`
	ValueB  string  `json:"value_b"`
}

// measure measures the arrays that differ, where contents were kept. It removes the chunks in which no element differs by more than the
// tolerance, and what was stored to an array of which nothing else differs.
func (o *outputs) measure(ctx context.Context, r *Result, a, b *warptrace.Trace) error {
	var pairs []*arrayPair
	work := make(map[*arrayPair]*measuring)
	for i := range o.arrays {
		p := &o.arrays[i]
		if p.a != nil && p.b != nil && (p.more || len(p.chunks) > 0) {
			pairs = append(pairs, p)
			work[p] = &measuring{measure: newMeasure(p, &r.Options), near: make([]bool, len(p.chunks)), seen: make([]bool, len(p.chunks))}
		}
	}
	if o.keeps {
		err := keptOfPairs(ctx, a, b, pairs, func(p *arrayPair, x, y *warptrace.Contents) bool {
			work[p].take(p, x, y)
			return true
		})
		if err != nil {
			return err
		}
	}
	for i := range o.arrays {
		if p := &o.arrays[i]; work[p] != nil && r.Options.tolerates() {
			o.tolerate(int32(i), work[p], &r.Options)
		}
	}
	return nil
}

// measuring is one array while it is measured.
type measuring struct {
	*measure
	near, seen []bool // of its chunks that differ
	within     measured
}

// take measures one chunk.
func (w *measuring) take(p *arrayPair, x, y *warptrace.Contents) {
	i, differs := slices.BinarySearch(p.chunks, x.Chunk)
	if !differs && !p.more {
		if w.fits(x, y) {
			equal := equalChunk(x)
			equal.listed = p.listed(x.Chunk)
			p.measured.add(&equal)
		}
		return
	}
	found, near := w.chunk(x, y)
	if found.chunks > 0 {
		found.listed = p.listed(x.Chunk)
	}
	p.measured.add(&found)
	if near {
		w.within.add(&found)
	}
	if differs {
		w.near[i], w.seen[i] = near, true
	}
}

// tolerate lets an array pass as far as the tolerance goes.
func (o *outputs) tolerate(at int32, w *measuring, opt *Options) {
	p := &o.arrays[at]
	if w.kind == warptrace.TypeNone {
		return
	}
	o.noteLargest(p, &w.within)
	loose := opt.Tolerance.loosens(w.kind)
	left := p.chunks[:0]
	for i, c := range p.chunks {
		switch {
		case !w.seen[i] && loose:
			p.untested++
		case !w.near[i]:
			left = append(left, c)
		}
	}
	if p.more && loose {
		p.more, p.untested = false, p.untested+1
	}
	p.chunks, p.noise = left, make([]bool, len(left))
	if len(left) == 0 { // elements of other sizes are not counted alike: several small ones are stored together
		uncounted := w.sizes[0] != w.sizes[1]
		o.changes = slices.DeleteFunc(o.changes, func(c storeChange) bool { return c.array == at && (uncounted || c.counts[0] == c.counts[1]) })
	}
}

// noteLargest notes how far apart elements are that the tolerance let pass.
func (o *outputs) noteLargest(p *arrayPair, within *measured) {
	far := &within.absolute
	if far.by == 0 {
		return
	}
	if o.largest == nil {
		o.largest = &LargestError{}
	}
	e := o.largest
	e.Relative, e.ULPs = max(e.Relative, within.relative.by), max(e.ULPs, within.ulps.by)
	if far.by > e.Absolute {
		f := p.farthest(far)
		e.Absolute, e.Array, e.Element, e.ValueA, e.ValueB = f.Is, p.name(), f.Element, f.ValueA, f.ValueB
	}
}

// listed is how many elements of a chunk the list of chunks says were written.
func (p *arrayPair) listed(chunk int64) (n int64) {
	for _, x := range []*warptrace.Array{p.a, p.b} {
		i, ok := slices.BinarySearchFunc(x.Chunks, chunk, func(c warptrace.Chunk, chunk int64) int { return cmp.Compare(c.Index, chunk) })
		if ok {
			n = max(n, elementsOf(x, uint64(x.Chunks[i].Bytes)))
		}
	}
	return n
}

// elementsOf is in how many elements of an array so many bytes are.
func elementsOf(x *warptrace.Array, bytes uint64) int64 {
	size := uint64(max(x.ElementBytes, 1))
	return int64(min((bytes+size-1)/size, 1<<62))
}

// elements counts the elements that the lists of chunks say were written, and those of chunks that one launch alone wrote.
func (p *arrayPair) elements() (all, oneSided int64) {
	ca, cb := p.a.Chunks, p.b.Chunks
	for i, k := 0, 0; i < len(ca) || k < len(cb); {
		switch {
		case k == len(cb) || i < len(ca) && ca[i].Index < cb[k].Index:
			oneSided += elementsOf(p.a, uint64(ca[i].Bytes))
			i++
		case i == len(ca) || cb[k].Index < ca[i].Index:
			oneSided += elementsOf(p.b, uint64(cb[k].Bytes))
			k++
		default:
			all += max(elementsOf(p.a, uint64(ca[i].Bytes)), elementsOf(p.b, uint64(cb[k].Bytes)))
			i, k = i+1, k+1
		}
	}
	return all + oneSided, oneSided
}

// distance is how far apart an array is, nil where that is not known, and either in words.
func (o *outputs) distance(p *arrayPair, opt *Options) (*Distance, string) {
	if why := o.unmeasured(p); why != "" {
		if p.typeB() != "" {
			return nil, fmt.Sprintf("%s in A, %s in B; whether the values differ is not known: %s", p.typeText(0), p.typeText(1), why)
		}
		return nil, "how far apart is not known: " + why
	}
	m, all, oneSided := p.measured, int64(0), int64(0)
	if o.whole {
		all, oneSided = p.elements()
	}
	m.compared, m.mismatched, m.beyond, m.oneSided = m.compared+oneSided, m.mismatched+oneSided, m.beyond+oneSided, m.oneSided+oneSided
	rest := max(0, all-oneSided-m.listed)
	d := &Distance{
		Elements: max(m.compared+rest, elementsOf(p.a, p.a.Written), elementsOf(p.b, p.b.Written)), Compared: m.compared, Mismatched: m.mismatched,
		Rounded: m.rounded, SameValue: m.sameValue, NaNA: m.nan[0], NaNB: m.nan[1], InfiniteA: m.infinite[0], InfiniteB: m.infinite[1],
		Infinities: m.infinities, OneSided: m.oneSided, NoNumber: m.noNumber,
		Absolute: p.farthest(&m.absolute), Relative: p.farthest(&m.relative), ULPs: p.farthest(&m.ulps),
	}
	if d.Compared > 0 {
		d.Share = float64(d.Mismatched) / float64(d.Compared)
	}
	if kind := p.kind(); isFloat(kind) && (d.ULPs != nil || d.Rounded > 0) {
		d.ULPType = kind.String()
	}
	if opt.tolerates() && opt.Tolerance.loosens(p.kind()) {
		d.Beyond = &m.beyond
	}
	return d, d.text(p)
}

// unmeasured says why it is not known how far apart an array is, "" where it is.
func (o *outputs) unmeasured(p *arrayPair) string {
	switch {
	case p.a == nil:
		return "A did not write it"
	case p.b == nil:
		return "B did not write it"
	case !o.kept[0] && !o.kept[1]:
		return "contents were not recorded"
	case !o.keeps:
		return "contents were not recorded in " + [2]string{"A", "B"}[truth(o.kept[0])]
	case o.unread:
		return "contents could not be read"
	case p.measured.chunks == 0:
		return "no contents of it are in both recordings"
	}
	return ""
}

// farthest spells an element, nil where none is apart.
func (p *arrayPair) farthest(f *farthest) *Farthest {
	if f.by == 0 {
		return nil
	}
	types := p.types()
	return &Farthest{Is: f.by, Element: f.element, ValueA: warptrace.FormatValue(f.bits[0], types[0]), ValueB: warptrace.FormatValue(f.bits[1], types[1])}
}

// typeB is the type of an array in B where it is another one.
func (p *arrayPair) typeB() string {
	if p.a == nil || p.b == nil || p.a.Type == p.b.Type {
		return ""
	}
	return cmp.Or(clippedWord(p.b.Type), "unknown")
}

// typeText is the type of the elements on a side.
func (p *arrayPair) typeText(side int) string {
	x := p.a
	if side == 1 {
		x = p.b
	}
	return cmp.Or(clippedWord(strings.TrimPrefix(x.Type, "*")), "an unknown type")
}

// distanceOf is distance where the tolerance plays no part.
func (o *outputs) distanceOf(p *arrayPair) *Distance {
	d, _ := o.distance(p, &Options{})
	return d
}

// sameValues reports whether an array differs in its type alone, or in what rounding to the coarser type removes.
func (o *outputs) sameValues(array string) bool {
	for i := range o.arrays {
		p := &o.arrays[i]
		if d := o.distanceOf(p); d != nil && p.name() == array && p.typeB() != "" {
			return d.Mismatched == d.Rounded && d.Compared == d.Elements
		}
	}
	return false
}

// otherType says how an array differs that is of another type in B: " differs" where it is not.
func (o *outputs) otherType(f *FirstOutput) string {
	i := slices.IndexFunc(o.arrays, func(p arrayPair) bool { return p.name() == f.Array })
	if f.TypeB == "" || i < 0 {
		return " differs"
	}
	p := &o.arrays[i]
	text := fmt.Sprintf(" is %s in A and %s in B", p.typeText(0), p.typeText(1))
	d := o.distanceOf(p)
	switch {
	case d == nil || d.Compared < d.Elements:
		return text + " and differs"
	case d.Mismatched == 0:
		return text + ", of the same values"
	case d.Mismatched == d.Rounded:
		return text + ", of values that are equal once rounded to " + d.ULPType + ", and differs"
	}
	return text + " and differs"
}

// text says it in words.
func (d *Distance) text(p *arrayPair) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if p.typeB() != "" {
		add("%s in A, %s in B, compared by value", p.typeText(0), p.typeText(1))
	}
	switch {
	case d.Mismatched == 0 && p.typeB() != "":
		add("all of %s have the same value%s", counted(d.Compared, "element"), d.keptText())
	default:
		add("%d of %s (%s)%s", d.Mismatched, plural(d.Compared, "element differs", "elements differ"), shareText(d.Mismatched, d.Compared), d.keptText())
	}
	if d.Rounded > 0 {
		add("%s equal once rounded to %s", ofThem(d.Rounded, d.Mismatched), d.ULPType)
	}
	if d.Beyond != nil {
		add("%s beyond the tolerance", ofThem(*d.Beyond, d.Mismatched))
	}
	if f := d.Absolute; f != nil {
		add("largest absolute error %.3g (element %d: %s in A, %s in B)", f.Is, f.Element, f.ValueA, f.ValueB)
	}
	if f := d.Relative; f != nil {
		add("relative %.3g (element %d)", f.Is, f.Element)
	}
	if f := d.ULPs; f != nil {
		add("%.0f ulp of %s (element %d)", f.Is, d.ULPType, f.Element)
	}
	for _, c := range []struct {
		n    int64
		what string
	}{
		{d.NaNA, "NaN in A alone"},
		{d.NaNB, "NaN in B alone"},
		{d.InfiniteA, "infinite in A alone"},
		{d.InfiniteB, "infinite in B alone"},
		{d.Infinities, "infinite with another sign"},
		{d.SameValue, "the same but for the sign of zero or the bits of NaN"},
		{d.OneSided, "written in one of them alone"},
		{d.NoNumber, "no numbers that are compared"},
	} {
		if c.n > 0 {
			add("%s %s", ofThem(c.n, d.Mismatched), c.what)
		}
	}
	return strings.Join(parts, "; ")
}

// keptText says of how many elements contents were kept, "" where of all.
func (d *Distance) keptText() string {
	if d.Compared >= d.Elements {
		return ""
	}
	return fmt.Sprintf(", contents were kept of no more than these of %d", d.Elements)
}

func ofThem(n, all int64) string {
	if n == all {
		return "all of them"
	}
	return fmt.Sprintf("%d of them", n)
}

// shareText is a share in per cent that is neither 0 nor 100 where it is not exactly that.
func shareText(n, of int64) string {
	percent := 100 * float64(n) / float64(max(of, 1))
	switch {
	case n > 0 && percent < 0.01:
		return "below 0.01 %"
	case n < of && percent >= 99.95:
		return "above 99.9 %"
	}
	return fmt.Sprintf("%.3g %%", percent)
}

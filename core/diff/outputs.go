package diff

import (
	"cmp"
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// What a launch wrote is compared in two ways. The arrays, chunk by chunk, say whether the results are the same. The sums of the
// statements that stored say where a difference was made, and that two launches with the same results wrote them in a different way.
// Both are sums over elements, so neither depends on which lane or warp wrote an element, nor in which order.

// outputs is how what two launches wrote compares.
type outputs struct {
	by         string // byContents, byDigest, byNothing or byRequest
	arrays     []arrayPair
	changes    []storeChange
	statements int64     // that stored anything
	limits     []string  // what is not known of what the kernel wrote
	withArrays bool      // the arrays themselves were compared, not only what was stored
	withAfter  bool      // in place of that, what their memory held after the launches
	lacking    string    // "A", "B" or "both": whose recording holds nothing of it
	keeps      bool      // both recordings keep contents
	kept       [2]bool   // A does, B does
	inNoSum    [2]uint64 // stores of A and B that are in no sum
	sums       bool      // what statements stored was compared
	largest    *LargestError
	first      *FirstOutput
	unread     bool // contents could not be read to their end
	whole      bool // no chunk is missing from the lists of chunks
}

// arrayPair is one array of both recordings, or of one. Its chunks are those that differ.
type arrayPair struct {
	a, b     *warptrace.Array // nil: that side did not write it
	chunks   []int64          // that differ, ascending
	noise    []bool           // beside them: equal runs differ there, too
	of       int64            // chunks that either side wrote
	more     bool             // chunks differ beyond those that are listed
	swaps    bool             // compare-and-swaps wrote it, whose values were not recorded
	atomics  bool             // wrote it
	untested int64            // chunks that differ, where a tolerance needs contents that were not recorded
	values   evidence         // what equal runs say of its values, where it differs as they do
	after    after            // what its memory says
	memory   uint64           // bytes of it, the same on both sides
	noisy    bool             // equal runs differ in its memory, too
	measured measured         // how far apart its elements are, where it differs and contents were kept
}

// storeChange is one statement that stored something else to one array.
type storeChange struct {
	array        int32  // position in outputs.arrays, noArrayPair for what lies in no known array
	key          uint64 // of the group, see storeGroups
	site         int32  // position in Result.Sites
	siteA, siteB uint32 // local numbers, warptrace.NoSite where a side has none
	counts       [2]uint64
	warps        []uint64 // that stored something else, ascending; nil when that is not known
	noise        bool
	all          [2][]*warptrace.StoreTotal // of which statements it is the sum
	values       evidence                   // what equal runs say of the values
	edited       bool                       // its statement is another one in B
}

const noArrayPair = -1

// readWritten reads what two launches wrote, and what was recorded of them.
func (g *gathering) readWritten(ctx context.Context, a, b *warptrace.Trace) (err error) {
	for side, t := range []*warptrace.Trace{a, b} {
		if g.written[side], err = t.Outputs(ctx); err != nil {
			return err
		}
	}
	g.oneSided = eventsOfOneSide(g.written[0], g.written[1])
	for side, kinds := range g.oneSided {
		if len(kinds) > 0 {
			g.r.Warnings = append(g.r.Warnings, fmt.Sprintf("%s alone holds events of %s, which were not compared", [2]string{"A", "B"}[side], kinds.text()))
		}
	}
	return nil
}

// compareWritten compares what two launches wrote, and what the checks found in them.
func (g *gathering) compareWritten(ctx context.Context, a, b *warptrace.Trace) error {
	g.compareFindings(g.written[0], g.written[1])
	return g.compareOutputs(ctx, a, b, g.written[0], g.written[1])
}

// compareOutputs compares what two launches wrote.
func (g *gathering) compareOutputs(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs) error {
	o := &outputs{by: byNothing}
	g.r.outputs = o
	if !g.opt.wantsOutputs() {
		o.by = byRequest
		return nil
	}
	if o.lacking = lacking(oa, ob); o.lacking != "" {
		return nil
	}
	o.withArrays = oa.Coverage.Arrays && ob.Coverage.Arrays && g.opt.Warps.All()
	o.inNoSum = [2]uint64{oa.Coverage.InNoSum, ob.Coverage.InNoSum}
	o.sums = oa.Coverage.Stores && ob.Coverage.Stores
	if !o.withArrays && !(oa.Coverage.Stores && ob.Coverage.Stores) {
		o.lacking = "both"
		return nil
	}
	o.by = byDigest
	o.kept = [2]bool{oa.Coverage.ContentBytes > 0, ob.Coverage.ContentBytes > 0}
	if o.keeps = o.kept[0] && o.kept[1]; o.keeps {
		o.by = byContents
	}
	for _, side := range []struct {
		name string
		c    *warptrace.Coverage
	}{{"A", &oa.Coverage}, {"B", &ob.Coverage}} {
		if side.c.Stopped {
			o.limits = append(o.limits, side.name+" ended at its first finding: what it would have written behind that is not known")
		}
		if oa.Coverage.Arrays != ob.Coverage.Arrays && !side.c.Arrays {
			o.limits = append(o.limits, side.name+" has sums of what was stored and no digests of arrays")
		}
		if oa.Coverage.ContentsAfter != ob.Coverage.ContentsAfter && side.c.ContentsAfter {
			o.limits = append(o.limits, side.name+" alone says what memory held after the launch")
		}
	}
	o.whole = oa.Coverage.ChunksDropped == 0 && ob.Coverage.ChunksDropped == 0
	var held [2]map[string]memoryOf
	la, lb := oa, ob
	if o.withAfter = oa.Coverage.ContentsAfter && ob.Coverage.ContentsAfter && !o.withArrays && g.opt.Warps.All(); o.withAfter {
		held = [2]map[string]memoryOf{memories(oa, a.Header()), memories(ob, b.Header())}
		la, lb = withChanged(oa, held[0], held[1]), withChanged(ob, held[1], held[0])
	}
	places := o.pairArrays(la, lb)
	if o.withArrays {
		for i := range o.arrays {
			o.arrays[i].compare(&oa.Coverage, &ob.Coverage)
		}
	}
	if o.withAfter {
		compareMemory(o.arrays, held[0], held[1])
	}
	o.noteAtomics(a, b, oa, ob, places)
	if o.sums {
		return g.compareStores(ctx, a, b, oa, ob, places)
	}
	return nil
}

// wantsOutputs reports whether outputs are among what was asked for: who looks at chosen sites or kinds does not.
func (o *Options) wantsOutputs() bool {
	return len(o.SiteFilter) == 0 && (o.Kinds == 0 || o.Kinds.has(kindOutput) || o.Kinds.has(kindStore))
}

// lacking says which recording holds nothing of what the kernel wrote.
func lacking(a, b *warptrace.Outputs) string {
	has := func(o *warptrace.Outputs) bool { return o != nil && (o.Coverage.Arrays || o.Coverage.Stores) }
	switch {
	case has(a) && has(b):
		return ""
	case has(a):
		return "B"
	case has(b):
		return "A"
	}
	return "both"
}

// arrayPlaces are the positions in outputs.arrays by the IDs of A and of B; scratch memory has none and is left out everywhere.
type arrayPlaces [2]map[uint32]int32

// scratch is the position of what the compiler added to the launch.
const scratch = int32(-2)

// of is the position of an array.
func (p *arrayPlaces) of(side int, id uint32) int32 {
	if at, ok := p[side][id]; ok {
		return at
	}
	return noArrayPair
}

// pairArrays pairs the arrays of both sides: by kind and name, then, among those left, arguments by their place.
func (o *outputs) pairArrays(a, b *warptrace.Outputs) *arrayPlaces {
	type named struct {
		kind warptrace.ArrayKind
		name string
	}
	places := &arrayPlaces{make(map[uint32]int32), make(map[uint32]int32)}
	byName, byID := make(map[named]int32), make(map[uint32]int32)
	for i := range a.Arrays {
		x := &a.Arrays[i]
		if x.Kind == warptrace.ArrayScratch {
			places[0][x.ID] = scratch
			continue
		}
		at := int32(len(o.arrays))
		o.arrays = append(o.arrays, arrayPair{a: x})
		places[0][x.ID], byName[named{x.Kind, x.Name}] = at, at
		byID[x.ID] = at
	}
	var left []*warptrace.Array
	for i := range b.Arrays {
		y := &b.Arrays[i]
		if y.Kind == warptrace.ArrayScratch {
			places[1][y.ID] = scratch
			continue
		}
		if at, ok := byName[named{y.Kind, y.Name}]; ok && y.Name != "" && o.arrays[at].b == nil {
			o.arrays[at].b, places[1][y.ID] = y, at
		} else {
			left = append(left, y)
		}
	}
	for _, y := range left {
		at, ok := byID[y.ID]
		if !ok || o.arrays[at].b != nil || o.arrays[at].a.Kind != y.Kind {
			at = int32(len(o.arrays))
			o.arrays = append(o.arrays, arrayPair{})
		}
		o.arrays[at].b, places[1][y.ID] = y, at
	}
	return places
}

// compare finds the chunks that differ. A chunk that a recording had no room for is known by the digest of its array only.
func (p *arrayPair) compare(a, b *warptrace.Coverage) {
	var ca, cb []warptrace.Chunk
	if p.a != nil {
		ca = p.a.Chunks
	}
	if p.b != nil {
		cb = p.b.Chunks
	}
	other := p.reinterpreted()
	same := p.a != nil && p.b != nil && p.a.Digest == p.b.Digest && p.a.Written == p.b.Written && !other
	whole := a.ChunksDropped == 0 && b.ChunksDropped == 0
	for i, k := 0, 0; i < len(ca) || k < len(cb); p.of++ {
		switch {
		case k == len(cb) || i < len(ca) && ca[i].Index < cb[k].Index:
			p.differs(ca[i].Index, whole && !same)
			i++
		case i == len(ca) || cb[k].Index < ca[i].Index:
			p.differs(cb[k].Index, whole && !same)
			k++
		default:
			p.differs(ca[i].Index, !same && (other || ca[i].Digest != cb[k].Digest || ca[i].Bytes != cb[k].Bytes))
			i, k = i+1, k+1
		}
	}
	p.more = !same && (!whole || len(p.chunks) == 0) && p.written() > 0
	p.noise = make([]bool, len(p.chunks))
}

func (p *arrayPair) differs(chunk int64, yes bool) {
	if yes {
		p.chunks = append(p.chunks, chunk)
	}
}

// types are the types of its elements on both sides, TypeNone where they are not known.
func (p *arrayPair) types() (types [2]warptrace.ValueType) {
	for side, x := range []*warptrace.Array{p.a, p.b} {
		if x != nil {
			types[side] = elementType(x)
		}
	}
	return types
}

// kind is the type by which elements of both sides are compared, TypeNone where it is not known.
func (p *arrayPair) kind() warptrace.ValueType {
	types := p.types()
	return coarser(types[0], types[1])
}

// reinterpreted reports whether equal bytes are no equal values: as floats of one type, and of another or an integer.
func (p *arrayPair) reinterpreted() bool {
	types := p.types()
	return types[0] != types[1] && p.kind() != warptrace.TypeNone && (isFloat(types[0]) || isFloat(types[1]))
}

// written is how many bytes either side wrote at most.
func (p *arrayPair) written() uint64 {
	var n uint64
	for _, x := range []*warptrace.Array{p.a, p.b} {
		if x != nil {
			n = max(n, x.Written)
		}
	}
	return n
}

// array is the array of A, or of B where A did not write it.
func (p *arrayPair) array() *warptrace.Array {
	if p.a != nil {
		return p.a
	}
	return p.b
}

// name is what people call the array.
func (p *arrayPair) name() string { return arrayName(p.array()) }

func arrayName(x *warptrace.Array) string {
	return cmp.Or(clippedWord(x.Name), fmt.Sprintf("argument %d", x.ID))
}

// beganOtherwise reports whether atomics found other contents in the array: then the order of atomics is not what makes it differ.
func (p *arrayPair) beganOtherwise() bool {
	return p.a != nil && p.b != nil && p.a.Began != 0 && p.b.Began != 0 && p.a.Began != p.b.Began
}

// counts is how many chunks differ, and how many of them are no noise.
func (p *arrayPair) counts() (all, genuine int64) {
	for _, noise := range p.noise {
		if !noise {
			genuine++
		}
	}
	all = int64(len(p.chunks))
	if p.more && all == 0 && p.noisy {
		return 1, 0
	}
	if p.more && all == 0 {
		return 1, 1
	}
	return all, genuine
}

// tells reports whether there is anything that can agree: outputs were compared, and either launch wrote something.
func (o *outputs) tells() bool {
	return o != nil && o.by != byNothing && o.by != byRequest && len(o.arrays)+int(o.statements) > 0
}

// agrees says whether what the kernel wrote is the same. Where equal runs leave other bytes in an array, what was stored to it, or
// given to atomics, must be the same.
func (o *outputs) agrees() Agreement {
	if !o.tells() {
		return AgreementUnknown
	}
	noise, untested := false, false
	for i := range o.arrays {
		all, genuine := o.arrays[i].counts()
		if genuine > 0 {
			return Differs
		}
		noise, untested = noise || all > 0, untested || o.arrays[i].untested > 0
	}
	for i := range o.changes {
		c := &o.changes[i]
		switch {
		case !o.decides(c):
		case !c.noise:
			return Differs
		default:
			noise = true
		}
	}
	switch {
	case untested:
		return AgreementUnknown
	case noise:
		return AgreesInNoise
	}
	return Agrees
}

// decides reports whether what a statement stored tells of the results, not only of the way to them: where the array was not compared,
// or differs as those of equal runs do.
func (o *outputs) decides(c *storeChange) bool {
	if !o.arrayTold(c.array) {
		return true
	}
	all, _ := o.arrays[c.array].counts()
	return all > 0
}

// storesAgree says whether the same was stored at the same statements, whatever became of it.
func (o *outputs) storesAgree() Agreement {
	found := Agrees
	if !o.tells() {
		return AgreementUnknown
	}
	for i := range o.changes {
		if !o.changes[i].noise {
			return Differs
		}
		found = AgreesInNoise
	}
	return found
}

// coverage says how what the kernel wrote was compared.
func (o *outputs) coverage() OutputCoverage {
	if o == nil {
		return OutputCoverage{By: byNothing, Agrees: AgreementUnknown, Limits: []string{}}
	}
	c := OutputCoverage{By: o.by, Digests: o.withArrays, Agrees: o.agrees(), Stores: o.statements, Limits: append([]string{}, o.limits...), LargestError: o.largest}
	if o.lacking == "A" || o.lacking == "B" {
		c.Limits = append(c.Limits, o.lacking+" does not say what the kernel wrote")
	}
	for i := range o.arrays {
		p := &o.arrays[i]
		if !o.withArrays {
			if o.withAfter && p.after.told() {
				c.Arrays, c.After = c.Arrays+1, c.After+1
				c.Elements += int64(p.memory / uint64(max(p.array().ElementBytes, 1)))
			} else {
				c.untold++
			}
			continue
		}
		c.Arrays++
		c.Chunks += p.of
		c.Elements += int64(p.written() / uint64(max(p.array().ElementBytes, 1)))
	}
	return c
}

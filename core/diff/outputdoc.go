package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// The kinds of divergences that are not events.
const (
	KindOutput  = "Output"  // a chunk of 256 elements of an array, in which the launches left other bytes
	KindStore   = "Store"   // a statement that stored something else
	KindFinding = "Finding" // something that a check of the simulator found in one run only, or more often
)

// OutputDiff is how what the kernel wrote differs.
type OutputDiff struct {
	Arrays        []ArrayDiff  `json:"arrays"` // that differ, in the order of their arguments
	ArraysOmitted int64        `json:"arrays_omitted"`
	Stores        []StoreDiff  `json:"stores"` // statements that stored something else, in the order of the program
	StoresOmitted int64        `json:"stores_omitted"`
	First         *FirstOutput `json:"first"`          // null when nothing but noise differs
	More          string       `json:"more,omitempty"` // what to record to see which element differs, and who wrote it
}

// ArrayDiff is one array whose contents differ.
type ArrayDiff struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`   // "*fp16"
	TypeB    string `json:"type_b,omitempty"` // where it is another one in B
	Chunks   int64  `json:"chunks"`           // of 256 elements, that differ
	ChunksOf int64  `json:"chunks_of"`        // that were written
	AtLeast  bool   `json:"at_least,omitempty"`
	After    bool   `json:"after,omitempty"` // told by what its memory held after the launch: chunks_of are those of the memory
	Elements string `json:"elements"`        // where the chunks lie: "0-255,512-767"
	WrittenA uint64 `json:"written_a"`
	WrittenB uint64 `json:"written_b"`
	Noise    bool   `json:"noise"` // every chunk that differs also differs among equal runs
	Noisy    int64  `json:"noisy,omitempty"`

	Distance     *Distance `json:"distance"`      // how far apart; null where that is not known
	DistanceText string    `json:"distance_text"` // likewise in words, or why it is not known
}

// StoreDiff is one statement that stored something else.
type StoreDiff struct {
	SiteID         string `json:"site_id"`
	SourceLocation string `json:"source_location,omitempty"`
	LocationB      string `json:"source_location_b,omitempty"` // of the same statement in B, where its line is another one
	InTrace        string `json:"in_trace,omitempty"`          // "A" | "B": only that build has the statement
	SiteKind       string `json:"site_kind"`
	Array          string `json:"array,omitempty"` // that it stored to
	CountA         uint64 `json:"count_a"`         // elements
	CountB         uint64 `json:"count_b"`
	Warps          int64  `json:"warps"` // that stored something else; 0 where that is not known
	WarpRanges     string `json:"warp_ranges,omitempty"`
	Noise          bool   `json:"noise"`
}

// FirstOutput is what differs first among what the kernel wrote: the array that the program wrote first.
type FirstOutput struct {
	Array   string        `json:"array,omitempty"`
	Type    string        `json:"type,omitempty"`
	TypeB   string        `json:"type_b,omitempty"` // where it is another one in B
	From    *int64        `json:"from,omitempty"`   // elements of the chunk
	To      *int64        `json:"to,omitempty"`
	Element *int64        `json:"element,omitempty"` // where contents were kept
	ValueA  string        `json:"value_a,omitempty"` // "" where A did not write it
	ValueB  string        `json:"value_b,omitempty"`
	BitsA   string        `json:"bits_a,omitempty"`
	BitsB   string        `json:"bits_b,omitempty"`
	Store   *OutputPlace  `json:"store,omitempty"` // the statement that stored something else, and its first warp
	WriterA *OutputWriter `json:"writer_a,omitempty"`
	WriterB *OutputWriter `json:"writer_b,omitempty"`
}

// OutputPlace is a statement that stores.
type OutputPlace struct {
	SiteID         string `json:"site_id"`
	SourceLocation string `json:"source_location,omitempty"`
	LocationB      string `json:"source_location_b,omitempty"` // of the same statement in B, where its line is another one
	InTrace        string `json:"in_trace,omitempty"`          // "A" | "B": only that build has the statement
	SiteKind       string `json:"site_kind"`
	Warp           *int64 `json:"warp,omitempty"` // the first that stored something else
	Warps          int64  `json:"warps"`
}

// OutputWriter is the thread that wrote an element last.
type OutputWriter struct {
	Warp           int64  `json:"warp"`
	Block          *int64 `json:"block,omitempty"`
	WarpOfBlock    *int64 `json:"warp_of_block,omitempty"`
	Lane           int64  `json:"lane"`
	SiteID         string `json:"site_id,omitempty"`
	SourceLocation string `json:"source_location,omitempty"`
}

// maxOutputsListed is how many arrays and statements a document lists.
const maxOutputsListed = 1000

// document spells what differs, nil when nothing does. sites are those of the comparison; rerun: it is compared with equal runs.
func (o *outputs) document(sites []SiteRef, opt *Options, rerun bool) *OutputDiff {
	if o == nil {
		return nil
	}
	d := &OutputDiff{Arrays: []ArrayDiff{}, Stores: []StoreDiff{}, First: o.first}
	for i := range o.arrays {
		p := &o.arrays[i]
		all, genuine := p.counts()
		if all == 0 {
			continue
		}
		if len(d.Arrays) == maxOutputsListed {
			d.ArraysOmitted++
			continue
		}
		out := ArrayDiff{
			Name: p.name(), Type: clippedWord(p.array().Type), TypeB: p.typeB(), Chunks: all, ChunksOf: p.of, AtLeast: p.more, Elements: elementRanges(p.chunks),
			Noise: genuine == 0, Noisy: all - genuine,
		}
		if p.after == afterDiffers {
			out.After, out.ChunksOf = true, p.memoryChunks()
		}
		if p.a != nil {
			out.WrittenA = p.a.Written
		}
		if p.b != nil {
			out.WrittenB = p.b.Written
		}
		out.Distance, out.DistanceText = o.distance(p, opt)
		d.Arrays = append(d.Arrays, out)
	}
	for i := range o.changes {
		c := &o.changes[i]
		if len(d.Stores) == maxOutputsListed {
			d.StoresOmitted++
			continue
		}
		ref := &sites[c.site]
		s := StoreDiff{
			SiteID: ref.Name(), SourceLocation: ref.Location(), LocationB: ref.locationB(), InTrace: ref.only(), SiteKind: ref.Kind.String(), CountA: c.counts[0], CountB: c.counts[1],
			Warps: int64(len(c.warps)), WarpRanges: ranges(c.warps), Noise: c.noise,
		}
		if c.array >= 0 {
			s.Array = o.arrays[c.array].name()
		}
		d.Stores = append(d.Stores, s)
	}
	if len(d.Arrays)+len(d.Stores) == 0 {
		return nil
	}
	switch f := o.first; {
	case f == nil || f.Array == "":
	case f.Store == nil && f.TypeB == "" && !rerun && o.inNoSum == [2]uint64{}:
		d.More = moreEqualRuns
	case f.Element == nil && !o.sameValues(f.Array):
		d.More = moreOutputs
	}
	return d
}

// What would tell more: where digests say that outputs differ and no more, and where nothing but the order of atomics can differ.
const (
	moreOutputs = `record both again with prlx.record(path, outputs="64MiB") or prlx simulate --record DIR --outputs 64MiB: that keeps ` +
		"contents, and the first element that differs is named, with both values and the thread that wrote it"
	moreEqualRuns = "compare with further runs that should be equal to A (--baseline): what differs among them, too, is noise"
)

// elementRanges spells where chunks lie, by their elements.
func elementRanges(chunks []int64) string {
	var b strings.Builder
	for i, shown := 0, 0; i < len(chunks); shown++ {
		k := i
		for k+1 < len(chunks) && chunks[k+1] == chunks[k]+1 {
			k++
		}
		if shown == maxRangesShown {
			fmt.Fprintf(&b, ",... (%d more chunks)", len(chunks)-i)
			break
		}
		if shown > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d-%d", chunks[i]*warptrace.ChunkElements, (chunks[k]+1)*warptrace.ChunkElements-1)
		i = k + 1
	}
	return b.String()
}

// countOthers counts what differs among outputs, stores and findings, by kind: all, and those that count.
func countOthers(o *outputs, found *findings, opt *Options) (all, count map[string]int64) {
	all, count = make(map[string]int64), make(map[string]int64)
	if o != nil {
		for i := range o.arrays {
			n, genuine := o.arrays[i].counts()
			all[KindOutput] += n
			if opt.requires(AspectOutputs) {
				count[KindOutput] += genuine
			}
		}
		for i := range o.changes {
			all[KindStore]++
			if c := &o.changes[i]; !c.noise && o.matters(c, opt) {
				count[KindStore]++
			}
		}
	}
	all[KindFinding], count[KindFinding] = int64(len(found.order)), found.genuine()
	for _, m := range []map[string]int64{all, count} {
		for kind, n := range m {
			if n == 0 {
				delete(m, kind)
			}
		}
	}
	return all, count
}

// matters reports whether a statement that stored something else counts: as part of the way, or where it alone tells of results.
func (o *outputs) matters(c *storeChange, opt *Options) bool {
	if opt.requires(AspectControlFlow) {
		return true
	}
	return opt.requires(AspectOutputs) && o.decides(c)
}

// sentence says what differs first among what the kernel wrote.
func (o *outputs) sentence() string {
	f := o.first
	if f == nil {
		return ""
	}
	text := "what was stored differs"
	if f.Array != "" {
		text = "output " + f.Array + o.otherType(f)
		switch {
		case f.Element != nil:
			text += fmt.Sprintf(" at element %d: %s in A, %s in B", *f.Element, cmp.Or(f.ValueA, "not written"), cmp.Or(f.ValueB, "not written"))
		case f.From != nil && !o.sameValues(f.Array):
			text += fmt.Sprintf(", first in elements %d-%d", *f.From, *f.To)
		}
	}
	if others := o.otherArrays(f.Array); others > 0 {
		text += fmt.Sprintf(" (and %s)", plural(others, "more output", "more outputs"))
	}
	return text + o.storedBy(f)
}

// unexplained says what is known of an array that differs while no sum of a statement does.
func (o *outputs) unexplained(name string) string {
	lost := o.inNoSum[0]+o.inNoSum[1] > 0
	noisy := slices.ContainsFunc(o.changes, func(c storeChange) bool { return c.array < 0 || o.arrays[c.array].name() == name })
	i := slices.IndexFunc(o.arrays, func(p arrayPair) bool { return p.name() == name })
	switch {
	case !o.sums:
		return "; who stored it was not recorded"
	case lost:
		return fmt.Sprintf("; who stored it is not known: at least %d stores of A and %d of B are in no sum", o.inNoSum[0], o.inNoSum[1])
	case noisy:
		return "; what was stored differs as among equal runs"
	case i < 0 || o.arrays[i].atomics:
		return "; every store and every operand of an atomic is the same: " + o.otherwise(i)
	}
	return "; every store is the same: they came in another order, or something else wrote to it"
}

// otherwise says what makes an array differ that was given the same.
func (o *outputs) otherwise(i int) string {
	switch {
	case i >= 0 && o.arrays[i].after == afterDiffers:
		return "atomics in another order"
	case i < 0 || o.arrays[i].a == nil || o.arrays[i].b == nil || o.arrays[i].a.Began == 0 || o.arrays[i].b.Began == 0:
		return "atomics in another order, or other contents before"
	case o.arrays[i].beganOtherwise():
		return "its atomics found other contents there"
	}
	return "atomics in another order"
}

// storedBy says who stored what differs.
func (o *outputs) storedBy(f *FirstOutput) string {
	for _, w := range []*OutputWriter{f.WriterB, f.WriterA} {
		if w == nil {
			continue
		}
		by := fmt.Sprintf("warp %d, lane %d", w.Warp, w.Lane)
		if w.Block != nil {
			by = fmt.Sprintf("block %d, warp %d, lane %d", *w.Block, *w.WarpOfBlock, w.Lane)
		}
		return ", stored at " + cmp.Or(shortPlace(w.SourceLocation), w.SiteID) + " by " + by
	}
	if f.Store == nil && f.TypeB != "" {
		return ""
	}
	if f.Store == nil {
		return o.unexplained(f.Array)
	}
	text := ", stored at " + cmp.Or(shortPlace(f.Store.SourceLocation), f.Store.SiteID)
	if f.Store.Warp != nil {
		text += fmt.Sprintf(" by warp %d", *f.Store.Warp)
		if f.Store.Warps > 1 {
			text += fmt.Sprintf(" and %d more", f.Store.Warps-1)
		}
	}
	return text
}

// otherArrays counts the arrays that differ besides the first.
func (o *outputs) otherArrays(first string) (n int64) {
	for i := range o.arrays {
		if _, genuine := o.arrays[i].counts(); genuine > 0 && o.arrays[i].name() != first {
			n++
		}
	}
	return n
}

// shortPlace is "file:line" of "file:function:line:column".
func shortPlace(location string) string {
	parts := strings.Split(location, ":")
	if len(parts) < 4 {
		return location
	}
	return parts[0] + ":" + parts[len(parts)-2]
}

// noisyNames names what differs as equal runs do: arrays, or else findings and stores.
func (o *outputs) noisyNames() []string {
	if names := o.noisyArrays(); len(names) > 0 {
		return names
	}
	if len(o.changes) > 0 {
		return []string{"what is stored on the way"}
	}
	return []string{"what the checks find"}
}

// noisyArrays names the arrays that differ as equal runs do.
func (o *outputs) noisyArrays() []string {
	var names []string
	for i := range o.arrays {
		if all, genuine := o.arrays[i].counts(); all > 0 && genuine == 0 {
			names = append(names, o.arrays[i].name())
		}
	}
	slices.Sort(names)
	return names
}

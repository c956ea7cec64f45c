// Package repeat finds the repeating structure of a sequence of symbols: what repeats, where each repetition starts and ends, and
// what repeats inside what. It knows nothing of kernels, names or time.
//
// The method is run-detect-and-collapse. One pass proposes a period wherever a short group of symbols was seen before, extends the
// match in both directions and keeps what repeats at least twice and is too long to be chance (runs.go). Each run of repetitions becomes
// one symbol (class, count), and the next pass looks at the shorter sequence: layers, then steps, then loops of steps (collapse.go).
// Between passes, what stands alone among repetitions is aligned with the classes just found, so that a few inserted, missing or swapped
// symbols cost an edit and not the rest of the sequence; what stands there again and again is no edit (mend.go). Steps of several kinds in
// no fixed order have no period; they are cut at a symbol that occurs once in each of them (segment.go). Whether runs or cuts are what
// repeats is decided by which of them describes the sequence in fewer bits (describe.go). At the end, what is left over is aligned
// once more, outer levels first (chain.go).
//
// Where symbols alone leave a choice of border, the rule is: the rotation that puts the most symbols into repetitions, of all classes and
// over the whole sequence, edited ones included (rotate.go); of equally good ones the one with clearly the largest Options.Weight in front
// of its borders; else the earliest in the first run.
package repeat

import (
	"math"
	"slices"
)

// MaxLevels is how many levels Find reports at most.
const MaxLevels = 4

// Options tune Find. The zero value is usable.
type Options struct {
	// Key gives a symbol a value that means the same in every sequence, a hash of the kernel's name, say. Canonical rotations are the
	// least by Key, and the ids of classes are made of it. nil uses the symbol itself: ids then hold for one numbering only.
	Key func(symbol uint32) uint64
	// Weight says how well a border would stand in front of index i: the idle time before it, say. It only decides between rotations
	// that give equally many repetitions.
	Weight func(i int) int64
	// EditPercent bounds the edits of one repetition, and of all repetitions of a class together, in percent of its symbols. 0 means
	// 5. Short classes may always have 3 edits in one repetition, if that is no more than a quarter of it. Negative allows none.
	EditPercent int
	// Canceled, where set, is asked now and then; once it says true, Find returns early and the result is not to be used.
	Canceled func() bool
}

// Structure is what Find found. Without levels there is no cycle.
type Structure struct {
	Levels  []Level // innermost first
	Symbols int     // length of the input
	// Covered is how many symbols lie in a repetition of any level.
	Covered int
	// WorkLimited says that the sequence held so many false starts, or so much between repetitions, that later ones were not
	// followed up.
	WorkLimited bool
}

// Level is one depth of nesting.
type Level struct {
	Classes []Class // most symbols covered first, then by first repetition
	Covered int     // symbols in repetitions of this level
}

// Class is one thing that repeats.
type Class struct {
	ID     uint64 // of the canonical rotation by Options.Key: the same from whatever start
	Period int
	// Symbols is the canonical (least) rotation. A repetition without edits reads Symbols[Rotation:] and then Symbols[:Rotation].
	Symbols  []uint32
	Rotation int
	// Repetitions are disjoint, in order.
	Repetitions []Span
	Edited      int // repetitions with edits
	Edits       int // edits of all repetitions
	Covered     int // symbols in repetitions
	// Children are the classes that a repetition consists of in part. Parents are the other direction.
	Children []Child
	Parents  []classRef
}

// classRef names a class by level and place.
type classRef struct{ Level, Class int }

// Child is a class inside another one.
type Child struct {
	classRef
	Count int // in one repetition of the parent
}

// Span is one repetition.
type Span struct {
	Start, End int32 // in the input
	Edits      int32 // symbols inserted, missing or replaced
}

// MaxSymbols is the longest sequence that Find takes; the rest of a longer one is not looked at.
const MaxSymbols = math.MaxInt32

// Find returns the repeating structure of symbols. Time is linear in their number, memory a few bytes for each.
func Find(symbols []uint32, opt Options) Structure {
	if len(symbols) > MaxSymbols {
		symbols = symbols[:MaxSymbols]
	}
	f := newFinder(symbols, opt)
	f.rounds(&sequence{t: f.in, n: len(f.in)}, 0, maxChoices)
	f.prune()
	if !f.canceled() {
		f.chain()
	}
	return f.result()
}

// class is a Class while it is being found.
type class struct {
	word   []uint32 // tokens of one repetition, from the chosen border
	period int      // in symbols of the input
	// rotation is where the word starts, in tokens from its canonical rotation.
	rotation int
	height   int     // 1 for a class without classes inside
	kind     bool    // a kind of steps (segment.go)
	blocks   []block // exact repetitions, in order of start
	edited   []Span
	flat     []uint32 // the word in symbols of the input, made when asked for
	inside   []place  // classes inside the word, made with flat
}

// block is count exact repetitions side by side.
type block struct{ start, count int32 }

// place is a repetition of a class inside a word.
type place struct {
	class  int32
	offset int32
}

type node struct {
	class int32
	count int32
}

type finder struct {
	in       []uint32
	opt      Options
	base     uint32 // tokens from here on are nodes
	nodes    []node
	nodeIDs  map[node]uint32
	classes  []*class
	byKey    map[uint64][]int32 // canonical hash of the word -> classes
	budget   *int               // of steps of the aligner, while rounds go on
	mended   float64            // bits that describe edits
	limited  bool
	original []uint32 // what renumbered symbols were called; nil where they were not
}

func newFinder(symbols []uint32, opt Options) *finder {
	if opt.EditPercent == 0 {
		opt.EditPercent = standardPercent
	}
	budget := alignPerSymbol*len(symbols) + 1<<18
	f := &finder{in: symbols, opt: opt, budget: &budget, nodeIDs: map[node]uint32{}, byKey: map[uint64][]int32{}}
	var top uint32
	for _, s := range symbols {
		top = max(top, s)
	}
	if int(top) >= max(1<<16, len(symbols)) {
		f.renumber()
	} else {
		f.base = top + 1
	}
	return f
}

// renumber makes room for nodes above the symbols.
func (f *finder) renumber() {
	numbers := map[uint32]uint32{}
	var names []uint32
	dense := make([]uint32, len(f.in))
	for i, s := range f.in {
		n, ok := numbers[s]
		if !ok {
			n = uint32(len(names))
			numbers[s] = n
			names = append(names, s)
		}
		dense[i] = n
	}
	key := f.opt.Key
	f.opt.Key = func(s uint32) uint64 {
		if key == nil {
			return uint64(names[s])
		}
		return key(names[s])
	}
	f.in, f.base = dense, uint32(len(names))
	f.original = names
}

func (f *finder) canceled() bool { return f.opt.Canceled != nil && f.opt.Canceled() }

// token returns the token of count repetitions of a class.
func (f *finder) token(c int32, count int32) uint32 {
	n := node{c, count}
	id, ok := f.nodeIDs[n]
	if !ok {
		id = f.base + uint32(len(f.nodes))
		f.nodes = append(f.nodes, n)
		f.nodeIDs[n] = id
	}
	return id
}

// key is the value of a token that holds for every numbering.
func (f *finder) key(t uint32) uint64 {
	if t < f.base {
		if f.opt.Key != nil {
			return f.opt.Key(t)
		}
		return uint64(t)
	}
	n := f.nodes[t-f.base]
	return mix(uint64(n.class)<<32|uint64(n.count)) | 1<<63
}

// size is the length of a token in symbols of the input.
func (f *finder) size(t uint32) int {
	if t < f.base {
		return 1
	}
	n := f.nodes[t-f.base]
	return f.classes[n.class].period * int(n.count)
}

// flatWord is the word of a class in symbols while its rotation is still open.
func (f *finder) flatWord(c int32) []uint32 {
	var out []uint32
	for _, t := range f.classes[c].word {
		if t < f.base {
			out = append(out, t)
			continue
		}
		n := f.nodes[t-f.base]
		for range n.count {
			out = append(out, f.flatten(n.class)...)
		}
	}
	return out
}

// flatten returns the word of a class in symbols of the input, and what lies inside.
func (f *finder) flatten(c int32) []uint32 {
	cl := f.classes[c]
	if cl.flat != nil {
		return cl.flat
	}
	out := make([]uint32, 0, cl.period)
	for _, t := range cl.word {
		if t < f.base {
			out = append(out, t)
			continue
		}
		n := f.nodes[t-f.base]
		sub := f.flatten(n.class)
		inner := f.classes[n.class].inside
		for range n.count {
			at := int32(len(out))
			cl.inside = append(cl.inside, place{n.class, at})
			for _, p := range inner {
				cl.inside = append(cl.inside, place{p.class, at + p.offset})
			}
			out = append(out, sub...)
		}
	}
	cl.flat = out
	return out
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// leastRotation returns where the least rotation of keys starts (the two-pointer form of Booth's algorithm), in linear time.
func leastRotation(keys []uint64) int {
	n := len(keys)
	at := func(i int) uint64 {
		if i >= n {
			i -= n
		}
		return keys[i]
	}
	i, j, k := 0, 1, 0
	for i < n && j < n && k < n {
		a, b := at(i+k), at(j+k)
		switch {
		case a == b:
			k++
			continue
		case a > b:
			i += k + 1
		default:
			j += k + 1
		}
		if i == j {
			j++
		}
		k = 0
	}
	return min(i, j)
}

// hashFrom hashes a rotation of keys.
func hashFrom(keys []uint64, start int) uint64 {
	h := uint64(len(keys))
	for i := range keys {
		j := start + i
		if j >= len(keys) {
			j -= len(keys)
		}
		h = mix(h ^ keys[j])
	}
	return h
}

// primitive returns the length of the primitive root of w.
func primitive(w []uint32) int {
	n := len(w)
	if n < 2 {
		return n
	}
	fail := make([]int32, n)
	k := int32(0)
	for i := 1; i < n; i++ {
		for k > 0 && w[i] != w[k] {
			k = fail[k-1]
		}
		if w[i] == w[k] {
			k++
		}
		fail[i] = k
	}
	if p := n - int(fail[n-1]); n%p == 0 {
		return p
	}
	return n
}

func sortSpans(s []Span) {
	slices.SortFunc(s, func(a, b Span) int { return int(a.Start) - int(b.Start) })
}

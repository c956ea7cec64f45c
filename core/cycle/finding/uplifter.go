package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// Uplifter's search, with its parameters: a kernel that is evenly spaced over the whole device is an anchor, the windows between its
// occurrences are compared with the first one, and a shorter cycle within replaces the outer one. It sees the kernels of all streams
// as one sequence. What that tool leaves to the order of a map is decided here by frequency, then by first occurrence; rotations of one
// cycle, which it lists as several, are one class, that with the most repetitions.

// What uplifter fixes without naming it a parameter.
const (
	uplifterSignature = 10 // kernels that tell one pattern from another
	uplifterOuter     = 20 // kernels of a cycle, above which a cycle within is looked for
	uplifterMatches   = 2  // windows that must match, beside the first
	uplifterWithin    = 3  // occurrences of a cycle within a cycle
)

// pattern is one pattern of uplifter.
type pattern struct {
	start, length int
	at            []int32
	anchor        uint32 // the name that is evenly spaced
	signature     string
}

func (f *finder) uplifterSearch() {
	r := f.r
	for seq := range r.Trace.Sequences {
		s := &r.Trace.Sequences[seq]
		if s.Len() == 0 || f.canceled() {
			continue
		}
		streams := make([]uint16, len(s.Streams))
		for i := range streams {
			streams[i] = uint16(i)
		}
		t := structure.NewTrack(s, seq, streams, true)
		t.Number = len(r.Tracks)
		r.Tracks = append(r.Tracks, t)
		for _, p := range f.uplifterPatterns(s.Name) {
			word := r.Symbols(t, p.start, p.start+p.length)
			start, id := repeat.Canonical(word, r.Words.Key(r.Keys))
			if slices.ContainsFunc(r.Classes, func(c *structure.Class) bool { return c.ID == id && c.Parts[len(c.Parts)-1].Track == t.Number }) {
				continue
			}
			reps := make([]repeat.Span, len(p.at))
			for i, at := range p.at {
				end := at + int32(p.length)
				reps[i] = repeat.Span{Start: at, End: end, Edits: int32(unlike(s.Name[p.start:p.start+p.length], s.Name[at:end]))}
			}
			f.add(structure.Class{ID: id, Depth: structure.DepthStep, Uplifter: true, Source: structure.SourceInferred, Word: word, Rotation: (len(word) - start) % len(word)}, structure.Part{
				Track: t.Number, Reps: reps, Anchor: r.Trace.Names[p.anchor], Signature: p.signature,
			})
		}
	}
	if len(r.Trace.Marks) > 0 {
		r.Warnings = append(r.Warnings, "uplifter uses no annotations: marks are left aside")
	}
}

func unlike(a, b []uint32) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// uplifterPatterns are the patterns of one device, most repetitions first.
func (f *finder) uplifterPatterns(names []uint32) []pattern {
	c := f.r.Opt.Compat
	bySignature := map[string]int{}
	var out []pattern
	for _, positions := range uplifterAnchors(names, c) {
		if f.canceled() {
			return nil
		}
		length := int(positions[1] - positions[0])
		if length < c.MinSubLength || !even(positions, length, c.LengthTolerance) {
			continue
		}
		p := pattern{start: int(positions[0]), length: length, anchor: names[positions[0]]}
		p.at = windows(names, p.start, length, c.OuterMatch)
		if len(p.at) < 1+uplifterMatches {
			continue
		}
		if length > uplifterOuter {
			p = f.uplifterInner(names, p)
		}
		var keys []string
		for _, n := range names[p.start : p.start+min(p.length, uplifterSignature)] {
			keys = append(keys, f.r.Words.LooseKeys[f.r.Words.Loose[n]])
		}
		p.signature = strings.Join(keys, "|")
		if k, ok := bySignature[p.signature]; !ok {
			bySignature[p.signature] = len(out)
			out = append(out, p)
		} else if len(p.at) > len(out[k].at) {
			out[k] = p
		}
	}
	slices.SortStableFunc(out, func(a, b pattern) int { return cmp.Compare(len(b.at), len(a.at)) })
	return out
}

// uplifterAnchors are the positions of the names that may be anchors, most frequent first.
func uplifterAnchors(names []uint32, c *cycledoc.CompatSettings) [][]int32 {
	count := map[uint32]int{}
	var order []uint32
	for _, n := range names {
		if count[n]++; count[n] == 1 {
			order = append(order, n)
		}
	}
	positions := map[uint32][]int32{}
	for _, n := range order {
		if count[n] >= c.MinAnchorCount && float64(count[n]) <= c.MaxAnchorShare*float64(len(names)) {
			positions[n] = make([]int32, 0, count[n])
		}
	}
	for i, n := range names {
		if p, ok := positions[n]; ok {
			positions[n] = append(p, int32(i))
		}
	}
	var out [][]int32
	for _, n := range order {
		if p, ok := positions[n]; ok {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// even reports whether positions are equally far from each other.
func even(positions []int32, length int, tolerance float64) bool {
	most := max(1, int(tolerance*float64(length)))
	for i := 1; i < len(positions); i++ {
		if abs(int(positions[i]-positions[i-1])-length) > most {
			return false
		}
	}
	return true
}

// windows are the places on the grid whose kernels match those of the first window.
func windows(names []uint32, start, length int, match float64) []int32 {
	first := names[start : start+length]
	var out []int32
	for at := start; at+length <= len(names); at += length {
		if float64(length-unlike(first, names[at:at+length])) >= match*float64(length) {
			out = append(out, int32(at))
		}
	}
	return out
}

// uplifterInner looks for a shorter cycle within the first window; it replaces the outer one, and repeats in each of its windows.
func (f *finder) uplifterInner(names []uint32, p pattern) pattern {
	c := f.r.Opt.Compat
	loose := f.r.Words.Loose
	window := make([]uint32, p.length)
	for i, n := range names[p.start : p.start+p.length] {
		window[i] = loose[n]
	}
	positions := map[uint32][]int32{}
	var order []uint32
	for i, s := range window {
		if positions[s] == nil {
			order = append(order, s)
		}
		positions[s] = append(positions[s], int32(i))
	}
	var best []int32
	length := 0
	for _, s := range order {
		q := positions[s]
		if len(q) < uplifterWithin {
			continue
		}
		n := int(q[1] - q[0])
		if n < c.MinSubLength || 2*n >= p.length || length > 0 && n >= length || !even(q, n, c.LengthTolerance) {
			continue
		}
		if at := windows(window, int(q[0]), n, c.SubMatch); len(at) >= uplifterWithin {
			best, length = at, n
		}
	}
	if best == nil {
		return p
	}
	out := pattern{start: p.start + int(best[0]), length: length, anchor: p.anchor}
	for _, outer := range p.at {
		for _, at := range best {
			out.at = append(out.at, outer+at)
		}
	}
	return out
}

package repeat

import (
	"cmp"
	"slices"
)

// result turns what was found into a Structure.
func (f *finder) result() Structure {
	s := Structure{Symbols: len(f.in), WorkLimited: f.limited}
	built := make([]*Class, len(f.classes))
	kept := make([]bool, len(f.classes))
	f.disjoin()
	for i, c := range f.classes {
		if len(c.blocks) == 0 {
			continue
		}
		built[i], kept[i] = f.build(int32(i)), true
	}
	levels := f.levels(kept)
	ref := make([]classRef, len(f.classes))
	for l, members := range levels {
		slices.SortFunc(members, func(a, b int32) int {
			return cmp.Or(cmp.Compare(built[b].Covered, built[a].Covered),
				cmp.Compare(built[a].Repetitions[0].Start, built[b].Repetitions[0].Start), cmp.Compare(a, b))
		})
		for k, c := range members {
			ref[c] = classRef{l, k}
		}
	}
	var all []Span
	for _, members := range levels {
		level := Level{}
		for _, c := range members {
			f.relate(c, built, kept, ref)
			level.Covered += built[c].Covered
			all = append(all, f.blocksOf([]int32{c})...)
			all = append(all, f.classes[c].edited...)
		}
		s.Levels = append(s.Levels, level)
	}
	for l, members := range levels {
		for _, c := range members {
			s.Levels[l].Classes = append(s.Levels[l].Classes, *built[c])
		}
	}
	for _, p := range mergeSpans(all, nil) {
		s.Covered += int(p.End - p.Start)
	}
	return s
}

// disjoin drops edited repetitions that overlap others of the same height; exact ones come first.
func (f *finder) disjoin() {
	byHeight := map[int][]int32{}
	for i, c := range f.classes {
		byHeight[c.height] = append(byHeight[c.height], int32(i))
	}
	for _, members := range byHeight { // heights do not depend on each other
		exact := f.blocksOf(members)
		var edited []stretch
		for _, c := range members {
			for k, s := range f.classes[c].edited {
				edited = append(edited, stretch{int(s.Start), k, c})
			}
		}
		if len(edited) == 0 {
			continue
		}
		slices.SortFunc(edited, func(a, b stretch) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.class, b.class), cmp.Compare(a.end, b.end))
		})
		keep := map[int32][]Span{}
		end, x := int32(0), 0
		for _, e := range edited {
			s := f.classes[e.class].edited[e.end]
			for x < len(exact) && exact[x].End <= s.Start {
				x++
			}
			if s.Start < end || x < len(exact) && exact[x].Start < s.End {
				continue
			}
			end = s.End
			keep[e.class] = append(keep[e.class], s)
		}
		for _, c := range members {
			f.classes[c].edited = keep[c]
		}
	}
}

// build expands a class.
func (f *finder) build(c int32) *Class {
	cl := f.classes[c]
	flat := f.flatten(c)
	keys := make([]uint64, len(flat))
	for i, t := range flat {
		keys[i] = f.key(t)
	}
	canon := leastRotation(keys)
	out := &Class{
		ID: hashFrom(keys, canon), Period: cl.period, Rotation: (cl.period - canon) % cl.period,
		Symbols: append(append(make([]uint32, 0, len(flat)), flat[canon:]...), flat[:canon]...),
	}
	if f.original != nil {
		for i, t := range out.Symbols {
			out.Symbols[i] = f.original[t]
		}
	}
	n := len(cl.edited)
	for _, b := range cl.blocks {
		n += int(b.count)
	}
	out.Repetitions = make([]Span, 0, n)
	for _, b := range cl.blocks {
		for k := range b.count {
			at := b.start + k*int32(cl.period)
			out.Repetitions = append(out.Repetitions, Span{Start: at, End: at + int32(cl.period)})
		}
	}
	if len(cl.edited) > 0 {
		out.Repetitions = append(out.Repetitions, cl.edited...)
		sortSpans(out.Repetitions)
	}
	for _, r := range out.Repetitions {
		out.Covered += int(r.End - r.Start)
		out.Edits += int(r.Edits)
		if r.Edits > 0 {
			out.Edited++
		}
	}
	return out
}

// worth reports whether a class is reported for its own sake.
func (f *finder) worth(cl *class) bool {
	count, longest := 0, 0
	for _, b := range cl.blocks {
		count += int(b.count)
		if b.count > sideBySide {
			longest = max(longest, int(b.count-1)*cl.period)
		}
	}
	switch {
	case count+len(cl.edited) < 2:
		return false
	case cl.period == 1: // a kernel said many times over is a cycle only when there is little else
		return 100*count > onlyPercent*len(f.in)
	}
	return cl.kind || longest >= enoughSymbols || 100*(count+len(cl.edited))*cl.period >= enoughPercent*len(f.in)
}

// prune removes the classes that are not reported; words keep them inside.
func (f *finder) prune() {
	kept := make([]bool, len(f.classes))
	for i := len(f.classes) - 1; i >= 0; i-- { // a class is made after those inside of it
		cl := f.classes[i]
		kept[i] = (kept[i] && cl.period > 1 && len(cl.blocks) > 0) || f.worth(cl)
		if !kept[i] {
			cl.blocks, cl.edited = nil, nil
			continue
		}
		for _, t := range cl.word {
			if t >= f.base {
				kept[f.nodes[t-f.base].class] = true
			}
		}
	}
}

// levels sorts the classes that are kept by how deep they nest. What nests too deep is not kept.
func (f *finder) levels(kept []bool) [][]int32 {
	var heights []int
	for i, c := range f.classes {
		if kept[i] {
			heights = append(heights, c.height)
		}
	}
	slices.Sort(heights)
	heights = slices.Compact(heights)
	heights = heights[:min(len(heights), MaxLevels)]
	out := make([][]int32, len(heights))
	for i, c := range f.classes {
		if l, ok := slices.BinarySearch(heights, c.height); ok && kept[i] {
			out[l] = append(out[l], int32(i))
		} else {
			kept[i] = false
		}
	}
	return out
}

// relate fills Children of a class, and Parents of those.
func (f *finder) relate(c int32, built []*Class, kept []bool, ref []classRef) {
	counts := map[int32]int{}
	var order []int32
	var visit func(c int32, times int)
	visit = func(c int32, times int) {
		for _, t := range f.classes[c].word {
			if t < f.base {
				continue
			}
			n := f.nodes[t-f.base]
			switch {
			case kept[n.class]:
				if counts[n.class] == 0 {
					order = append(order, n.class)
				}
				counts[n.class] += times * int(n.count)
			default:
				visit(n.class, times*int(n.count))
			}
		}
	}
	visit(c, 1)
	for _, child := range order {
		built[c].Children = append(built[c].Children, Child{ref[child], counts[child]})
		built[child].Parents = append(built[child].Parents, ref[c])
	}
}

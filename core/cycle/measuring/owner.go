package measuring

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
)

// owned says what the kernels of a place belong to: what most of them do. Modules of one name and place in different layers are one; their numbers
// are given where all have the same.
func owned(all []kernels.Owner, counts map[uint32]int64, out *cycledoc.Slot) {
	if len(counts) == 0 {
		return
	}
	paths, operators, collectives := map[string]int64{}, map[string]int64{}, map[string]int64{}
	plain := func(o *kernels.Owner) string {
		path := make([]kernels.Part, len(o.Path))
		for i, p := range o.Path {
			path[i] = kernels.Part{Name: p.Name, Index: -1}
		}
		return kernels.PathText(path, o.Backward)
	}
	for n, count := range counts {
		o := &all[n]
		paths[plain(o)] += count
		operators[o.Operator] += count
		collectives[o.Collective] += count
	}
	best := most(paths)
	var path []kernels.Part
	backward := false
	for n := range counts {
		o := &all[n]
		if plain(o) != best || path != nil && len(path) != len(o.Path) {
			continue
		}
		if path == nil {
			path, backward = slices.Clone(o.Path), o.Backward
		}
		for i := range path {
			if path[i].Index != o.Path[i].Index {
				path[i].Index = -1
			}
		}
	}
	out.Module, out.Operator, out.Collective = kernels.PathText(path, backward), most(operators), most(collectives)
}

// most is the text that is counted most often, the first of equals.
func most(counts map[string]int64) string {
	texts := make([]string, 0, len(counts))
	for text := range counts {
		texts = append(texts, text)
	}
	return slices.MinFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}

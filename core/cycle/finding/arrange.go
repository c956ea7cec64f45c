package finding

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/structure"
)

// arrange sorts the classes into levels, counts, and relates them.
func arrange(r *structure.Run) {
	for _, c := range r.Classes {
		c.Tally()
	}
	slices.SortStableFunc(r.Classes, func(a, b *structure.Class) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(rankOf(r.Aside(a)), rankOf(r.Aside(b))), cmp.Compare(b.Covered, a.Covered), cmp.Compare(a.Parts[0].Track, b.Parts[0].Track),
			cmp.Compare(a.Parts[0].Reps[0].Start, b.Parts[0].Reps[0].Start), cmp.Compare(a.ID, b.ID))
	})
	for i, c := range r.Classes {
		if n := len(r.Levels); n == 0 || r.Levels[n-1].Depth != c.Depth {
			if n == r.Opt.MaxLevels {
				r.Warnings = append(r.Warnings, fmt.Sprintf("levels beyond the %s of %d are left out", c.Depth.Name(), n))
				r.Classes = r.Classes[:i]
				break
			}
			r.Levels = append(r.Levels, structure.Level{Depth: c.Depth})
		}
		l := &r.Levels[len(r.Levels)-1]
		l.Classes = append(l.Classes, i)
		l.Covered += c.Covered
	}
	for i := range r.Levels {
		r.Levels[i].Reason = reason(r.Classes[r.Levels[i].Classes[0]], r.Levels[i].Depth)
	}
	tellApart(r.Classes)
	relate(r)
}

// tellApart gives classes of the same kernels on different levels ids of their own: a step that a mark defines may hold nothing
// but what repeats inside of others.
func tellApart(classes []*structure.Class) {
	seen := make(map[uint64]bool, len(classes))
	for _, c := range classes {
		for seen[c.ID] {
			c.ID = (c.ID ^ (uint64(c.Depth) + 1)) * 0x100000001b3
		}
		seen[c.ID] = true
	}
}

func rankOf(side bool) int {
	if side {
		return 1
	}
	return 0
}

// reason says why the classes of a level, of which c is the first, are at its depth.
func reason(c *structure.Class, depth structure.Depth) string {
	switch {
	case c.Uplifter:
		return "found as uplifter does, which knows no levels"
	case c.Source != structure.SourceInferred:
		return fmt.Sprintf("defined by %s marks", c.Source)
	}
	switch depth {
	case structure.DepthBlock:
		return "repeats inside of a layer"
	case structure.DepthLayer:
		return "repeats inside of a step"
	case structure.DepthMicrobatch:
		return "has layers and repeats inside of a step"
	case structure.DepthStep:
		return "the innermost level that has layers, is as long as no layer, is launched as one graph, or starts behind a pause"
	}
	return "repeats several steps"
}

// relate counts which classes a repetition consists of: those of the next level in that has any inside.
func relate(r *structure.Run) {
	for li := len(r.Levels) - 1; li > 0; li-- {
		for _, i := range r.Levels[li].Classes {
			outer := r.Classes[i]
			for below := li - 1; below >= 0 && len(outer.Children) == 0; below-- {
				for _, k := range r.Levels[below].Classes {
					if n := inner(outer, r.Classes[k]); n > 0 {
						outer.Children = append(outer.Children, structure.Child{Class: r.Classes[k], Count: n})
						r.Classes[k].Parents = append(r.Classes[k].Parents, i)
					}
				}
			}
		}
	}
}

// inner is how many repetitions of a class lie in one of another, most often.
func inner(outer, in *structure.Class) int {
	counts := map[int]int{}
	for _, p := range outer.Parts {
		for _, q := range in.Parts {
			if p.Track != q.Track {
				continue
			}
			k := 0
			for _, s := range p.Reps {
				for k < len(q.Reps) && q.Reps[k].Start < s.Start {
					k++
				}
				n := 0
				for k+n < len(q.Reps) && q.Reps[k+n].End <= s.End {
					n++
				}
				counts[n]++
				k += n
			}
		}
	}
	best := 0
	for n, times := range counts {
		if times > counts[best] || times == counts[best] && n > best {
			best = n
		}
	}
	return best
}

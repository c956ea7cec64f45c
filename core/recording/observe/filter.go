package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Filter says which kernels and which of their sites are recorded. The zero Filter wants all.
type Filter struct {
	Kernels []string    // patterns of names; none: all
	Places  []Place     // none: all
	Kinds   []site.Kind // none: all
}

// Place is a range of source lines, or a function.
type Place struct {
	File     string `json:"file"`     // its last part, or a longer end of its path; "" any
	Function string `json:"function"` // pattern of names; "": the lines say it
	First    uint32 `json:"first"`
	Last     uint32 `json:"last"`
}

// Kernel reports whether a kernel is wanted.
func (f *Filter) Kernel(name string) bool {
	return len(f.Kernels) == 0 || slices.ContainsFunc(f.Kernels, func(p string) bool { return named(p, name) })
}

// Site reports whether a site is wanted: its kind and a place of its chain are.
func (f *Filter) Site(s *site.Site) bool {
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, s.Kind) {
		return false
	}
	if len(f.Places) == 0 {
		return true
	}
	for i := range s.Chain {
		for k := range f.Places {
			if f.Places[k].holds(&s.Chain[i]) {
				return true
			}
		}
	}
	return false
}

func (p *Place) holds(at *site.Frame) bool {
	if p.File != "" && at.File != p.File && !strings.HasSuffix(at.File, "/"+p.File) {
		return false
	}
	if p.Function != "" {
		return named(p.Function, at.Function)
	}
	return p.First <= at.Line && at.Line <= p.Last
}

// named reports whether a pattern fits a name: with * and ? as a whole, without them also inside of it, as PRLX_FILTER has it.
func named(pattern, name string) bool {
	return matches(pattern, name) || pattern != "" && !strings.ContainsAny(pattern, "*?") && strings.Contains(name, pattern)
}

// Warps are warps of a launch, as ranges that ascend and do not touch. None at all is every warp.
type Warps []warpRange

// warpRange is a range of warps, both ends included.
type warpRange [2]uint64

// Has reports whether a warp is among them.
func (w Warps) Has(number uint64) bool {
	if len(w) == 0 {
		return true
	}
	i, found := slices.BinarySearchFunc(w, number, func(r warpRange, n uint64) int {
		switch {
		case r[1] < n:
			return -1
		case r[0] > n:
			return 1
		}
		return 0
	})
	return found && i < len(w)
}

// Check reports whether the ranges are as they have to be.
func (w Warps) Check() error {
	for i, r := range w {
		if r[0] > r[1] || i > 0 && r[0] <= w[i-1][1] {
			return fmt.Errorf("warps %s: ranges ascend", w)
		}
	}
	return nil
}

// String lists them: "0-3,9".
func (w Warps) String() string {
	var b strings.Builder
	for i, r := range w {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", r[0])
		if r[1] != r[0] {
			fmt.Fprintf(&b, "-%d", r[1])
		}
	}
	return b.String()
}

// matches reports whether a pattern with * and ? fits a whole name. It takes time in the order of the product of their lengths at most.
func matches(pattern, name string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

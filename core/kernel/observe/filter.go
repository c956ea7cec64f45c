package observe

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/site"
)

// Filter says which kernels and which of their sites are recorded. The zero Filter wants all.
type Filter struct {
	Kernels []string    // patterns with * and ?; one without is also found inside of a name, as PRLX_FILTER has it
	Lines   []Line      // none: all
	Kinds   []site.Kind // none: all
}

// Line is a range of source lines.
type Line struct {
	File        string // its last part, or a longer end of its path; "" any
	First, Last uint32
}

// Kernel reports whether a kernel is wanted.
func (f *Filter) Kernel(name string) bool {
	if len(f.Kernels) == 0 {
		return true
	}
	for _, p := range f.Kernels {
		if matches(p, name) || !strings.ContainsAny(p, "*?") && p != "" && strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// Site reports whether a site is wanted: its kind and a line of its chain are.
func (f *Filter) Site(s *site.Site) bool {
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, s.Kind) {
		return false
	}
	if len(f.Lines) == 0 {
		return true
	}
	for i := range s.Chain {
		for _, l := range f.Lines {
			at := &s.Chain[i]
			if l.First <= at.Line && at.Line <= l.Last && (l.File == "" || at.File == l.File || strings.HasSuffix(at.File, "/"+l.File)) {
				return true
			}
		}
	}
	return false
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

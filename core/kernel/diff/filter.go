package diff

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/site"
)

// WarpSet is a set of warps, such as "0-10,15". The zero WarpSet holds every warp.
type WarpSet struct {
	text   string
	ranges [][2]uint64 // first and last, in ascending order and apart
}

// maxRanges is how many ranges a WarpSet is made of at most.
const maxRanges = 100_000

// ParseWarps reads the spelling of a set of warps: numbers and ranges, separated by commas. "" is every warp.
func ParseWarps(text string) (WarpSet, error) {
	s := WarpSet{text: strings.TrimSpace(text)}
	if s.text == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(s.text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(strings.TrimSpace(low), 10, 64)
		last, err2 := strconv.ParseUint(strings.TrimSpace(high), 10, 64)
		if err != nil || err2 != nil || last < first {
			return WarpSet{}, fault.Usagef("%q is no warp and no range of warps", clippedWord(part)).WithHint(`expected for instance "0-10,15"`)
		}
		if s.ranges = append(s.ranges, [2]uint64{first, last}); len(s.ranges) > maxRanges {
			return WarpSet{}, fault.Usagef("more than %d ranges of warps", maxRanges)
		}
	}
	slices.SortFunc(s.ranges, func(a, b [2]uint64) int {
		if a[0] != b[0] {
			return compareOrdered(a[0], b[0])
		}
		return compareOrdered(a[1], b[1])
	})
	kept := s.ranges[:1]
	for _, r := range s.ranges[1:] {
		if end := &kept[len(kept)-1][1]; r[0] <= *end {
			*end = max(*end, r[1])
		} else {
			kept = append(kept, r)
		}
	}
	s.ranges = kept
	return s, nil
}

// All reports whether the set holds every warp.
func (s WarpSet) All() bool { return len(s.ranges) == 0 }

// Has reports whether the set holds a warp.
func (s WarpSet) Has(warp uint64) bool {
	if len(s.ranges) == 0 {
		return true
	}
	i, exact := slices.BinarySearchFunc(s.ranges, warp, func(r [2]uint64, w uint64) int { return compareOrdered(r[0], w) })
	return exact || i > 0 && warp <= s.ranges[i-1][1]
}

// String is the spelling that it was parsed from.
func (s WarpSet) String() string { return s.text }

// KindSet is a set of kinds of divergences. The zero KindSet holds every kind.
type KindSet uint8

// ParseKinds reads names of kinds, in any case: Branch, ActiveMask (active-mask, mask), Value, Path, ExtraEvents (extra-events, extra).
func ParseKinds(names []string) (KindSet, error) {
	var s KindSet
	for _, name := range names {
		kind, ok := kindOf(name)
		if !ok {
			return 0, fault.Usagef("%q is no kind of divergence%s", clippedWord(name), nearName(name, rowKindNames[:])).
				WithHint("the kinds are %s", strings.Join(rowKindNames[:], ", "))
		}
		s |= 1 << kind
	}
	return s, nil
}

func kindOf(name string) (RowKind, bool) {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	switch plain {
	case "mask":
		return RowActiveMask, true
	case "extra":
		return RowExtraEvents, true
	}
	for k, known := range rowKindNames {
		if plain == strings.ToLower(known) {
			return RowKind(k), true
		}
	}
	return 0, false
}

// Has reports whether the set holds a kind.
func (s KindSet) Has(k RowKind) bool { return s == 0 || s>>k&1 != 0 }

// Names lists the kinds that were asked for, none when every kind is in the set.
func (s KindSet) Names() []string {
	var names []string
	for k, name := range rowKindNames {
		if s>>k&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// SiteSet is a list of patterns of sites, such as "0x1a2b3c4d", "attn.py:41", "attn.py" or "*softmax*". The zero SiteSet is empty.
type SiteSet struct{ patterns []string }

// ParseSites reads patterns of sites. A pattern matches a site when it is its id in hexadecimal, its function, its file (with or
// without directories), its file:line, its file:line:column, its file:function:line:column or its kind ("kind:atomic"); *, ? and
// [..] in it are wildcards as in path.Match, where * also matches a slash.
func ParseSites(patterns []string) (SiteSet, error) {
	var s SiteSet
	for _, p := range patterns {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if _, err := path.Match(p, ""); err != nil {
			return SiteSet{}, fault.Usagef("%q is no pattern of sites: %v", clippedWord(p), err)
		}
		if len(p) > 1024 {
			return SiteSet{}, fault.Usagef("a pattern of sites has %d characters, 1024 are read", len(p))
		}
		if s.patterns = append(s.patterns, p); len(s.patterns) > maxRanges {
			return SiteSet{}, fault.Usagef("more than %d patterns of sites", maxRanges)
		}
	}
	return s, nil
}

// Empty reports whether there is no pattern.
func (s SiteSet) Empty() bool { return len(s.patterns) == 0 }

// Patterns are the spellings.
func (s SiteSet) Patterns() []string { return s.patterns }

// Has reports whether a pattern matches the site.
func (s SiteSet) Has(ref *SiteRef) bool {
	if len(s.patterns) == 0 {
		return false
	}
	names := namesOf(ref)
	for _, p := range s.patterns {
		if id, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(p), "0x"), 16, 64); err == nil && strings.HasPrefix(strings.ToLower(p), "0x") {
			if id == ref.ID {
				return true
			}
			continue
		}
		flat := strings.ReplaceAll(p, "/", "\x00")
		for _, name := range names {
			if ok, _ := path.Match(flat, strings.ReplaceAll(name, "/", "\x00")); ok {
				return true
			}
		}
	}
	return false
}

// namesOf lists what a pattern of sites is matched against.
func namesOf(ref *SiteRef) []string {
	names := []string{"kind:" + ref.Kind.String()}
	if ref.Site == nil {
		return names
	}
	if where := site.FormatLocation(ref.Site); where != "" {
		names = append(names, where)
	}
	w := ref.Site.Where()
	if w.Function != "" {
		names = append(names, w.Function)
	}
	if w.File == "" {
		return names
	}
	line := ":" + strconv.FormatUint(uint64(w.Line), 10)
	column := line + ":" + strconv.FormatUint(uint64(w.Column), 10)
	for _, f := range []string{w.File, path.Base(w.File)} {
		names = append(names, f, f+line, f+column)
	}
	return names
}

func compareOrdered[T uint64 | int64 | int | int32 | uint32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

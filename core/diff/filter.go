package diff

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
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
			return WarpSet{}, fault.Usagef("%q is neither a warp nor a range of warps", clippedWord(part)).WithHint(`expected for instance "0-10,15"`)
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

// kindSet is a set of kinds of divergences. The zero kindSet holds every kind.
type kindSet uint8

// The numbers in a kindSet of the kinds that are not rows.
const (
	kindOutput RowKind = rowKinds + iota
	kindStore
	kindFinding
)

// kindNames are the kinds in a kindSet, by number.
var kindNames = [...]string{
	KindBranch, KindActiveMask, KindValue, KindPath, KindExtraEvents, kindOutput: KindOutput, kindStore: KindStore, kindFinding: KindFinding,
}

// ParseKinds reads names of kinds, in any case: Branch, ActiveMask (active-mask, mask), Value, Path, ExtraEvents (extra-events, extra),
// Output, Store, Finding.
func ParseKinds(names []string) (kindSet, error) {
	var s kindSet
	for _, name := range names {
		kind, ok := kindOf(name)
		if !ok {
			return 0, fault.Usagef("%q is not a kind of divergence%s", clippedWord(name), nearName(name, kindNames[:])).
				WithHint("the kinds are %s", strings.Join(kindNames[:], ", "))
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
	for k, known := range kindNames {
		if plain == strings.ToLower(known) {
			return RowKind(k), true
		}
	}
	return 0, false
}

// has reports whether the set holds a kind.
func (s kindSet) has(k RowKind) bool { return s == 0 || s>>k&1 != 0 }

func compareOrdered[T uint64 | int64 | int | int32 | uint32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

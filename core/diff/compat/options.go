package compat

import (
	"strconv"
	"strings"
)

// DefaultLookahead is original prlx 0.5's window for finding the way back after two streams part.
const DefaultLookahead = 32

// Options are original prlx 0.5's flags. Where a flag of text is nil it was not given, which is not the same as empty: an empty
// filter lets nothing through.
type Options struct {
	Values            bool     // --values: compare operand values
	Limit             int64    // --limit: at most so many divergences, counted over warps in order; 0 is no limit
	Lookahead         int      // --lookahead: events searched ahead; DefaultLookahead unless said otherwise
	Force             bool     // --force: other kernel names are a warning
	CrossGPU          bool     // --cross-gpu: also other grids, blocks and warp sizes; masks are compared by how many lanes
	ContinueAfterPath bool     // --continue-after-path
	IgnoreActiveMask  bool     // --ignore-active-mask: do not count them against Threshold
	Threshold         int64    // --max-allowed-divergences
	Warps             *string  // --warps "0-10,15"
	Kinds             *string  // --filter-kind "Branch,Value"
	Sites             *string  // --filter-sites "0x12345678,ABCDEF01"; hexadecimal with and without 0x
	Map               *SiteMap // --map: source locations
	RemapA, RemapB    *SiteMap // --remap-a, --remap-b: both are needed, one alone does nothing
}

// filters are the flags that choose among what was found. They come after the limit: what they drop still used it up.
type filters struct {
	warps *ranges
	kinds map[string]bool
	sites map[uint32]bool
}

// ranges is a set of warps.
type ranges struct{ spans [][2]uint64 }

func (r *ranges) has(warp uint64) bool {
	for _, span := range r.spans {
		if span[0] <= warp && warp <= span[1] {
			return true
		}
	}
	return false
}

// readFilters reads the texts of the filters as original prlx 0.5 does: what it cannot read it leaves out, and says nothing. Here
// the pieces left out are returned.
func readFilters(opt Options) (f filters, ignored []string) {
	if opt.Warps != nil {
		f.warps = &ranges{}
		for _, piece := range strings.Split(*opt.Warps, ",") {
			if span, ok := readSpan(strings.TrimSpace(piece)); ok {
				f.warps.spans = append(f.warps.spans, span)
			} else {
				ignored = append(ignored, "--warps: "+quote(piece)+" is neither a number nor a range")
			}
		}
	}
	if opt.Kinds != nil {
		f.kinds = map[string]bool{}
		for _, piece := range strings.Split(*opt.Kinds, ",") {
			name := strings.ToLower(strings.TrimSpace(piece))
			if !isKind(name) {
				ignored = append(ignored, "--filter-kind: "+quote(piece)+" is not a kind of divergence")
				continue
			}
			f.kinds[name] = true
		}
	}
	if opt.Sites != nil {
		f.sites = map[uint32]bool{}
		for _, piece := range strings.Split(*opt.Sites, ",") {
			digits := strings.TrimSpace(piece)
			digits = strings.TrimPrefix(strings.TrimPrefix(digits, "0x"), "0X")
			id, ok := readUint32(digits, 16)
			if !ok {
				ignored = append(ignored, "--filter-sites: "+quote(piece)+" is not a hexadecimal id of 32 bits")
				continue
			}
			f.sites[id] = true
		}
	}
	return f, ignored
}

func readSpan(piece string) (span [2]uint64, ok bool) {
	from, to, isRange := strings.Cut(piece, "-")
	if !isRange {
		to = from
	}
	first, okFirst := readUint32(strings.TrimSpace(from), 10)
	last, okLast := readUint32(strings.TrimSpace(to), 10)
	return [2]uint64{uint64(first), uint64(last)}, okFirst && okLast
}

// readUint32 reads a number that may have a plus sign in front, but no prefix of its base and no underscores.
func readUint32(digits string, base int) (uint32, bool) {
	digits = strings.TrimPrefix(digits, "+")
	if strings.HasPrefix(digits, "+") {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return uint32(n), err == nil
}

func isKind(lower string) bool {
	for _, name := range kindNames {
		if strings.ToLower(name) == lower {
			return true
		}
	}
	return false
}

func (f *filters) pass(d *divergence) bool {
	if f.warps != nil && !f.warps.has(d.Warp) {
		return false
	}
	if f.kinds != nil && !f.kinds[strings.ToLower(d.Kind.String())] {
		return false
	}
	return f.sites == nil || f.sites[d.Site]
}

func (f *filters) any() bool { return f.warps != nil || f.kinds != nil || f.sites != nil }

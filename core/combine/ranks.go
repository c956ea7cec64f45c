package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/source"
)

// settleRanks finds out which rank each trace is of: the one that it says, else the one that its name says. Where several traces say one rank and
// their names tell them apart, the names are believed. What contradicts is named.
func settleRanks(nodes []*Node, given []Input) {
	r := &rankSettler{nodes: nodes, said: make([]*int64, len(nodes)), named: make([]*int64, len(nodes)), owners: map[int64][]int{}}
	for k, n := range nodes {
		if !n.hasOneRank() {
			continue
		}
		r.said[k] = n.Rank
		r.named[k] = rankByName(n.Path, given[k].ID)
		if n.Rank != nil {
			r.owners[*n.Rank] = append(r.owners[*n.Rank], k)
		}
	}
	r.confirmNumbers(given)
	for k, n := range nodes {
		if n.hasOneRank() {
			r.settle(k)
		}
	}
}

// hasOneRank reports whether a trace is of one process of a job, as far as can be seen: it was neither merged nor recorded beside another one.
func (n *Node) hasOneRank() bool {
	_, beside := n.Trace.(source.Accompanying)
	return !beside && n.parts() == 1 && n.mark == nil
}

// rankByName is the rank that a name says: that which the user gave, else the nearest of the path.
func rankByName(path, given string) *int64 {
	for _, name := range []string{given, path} {
		if id, ok := rankFromPath(name); ok && name != "" {
			n := int64(id.Number)
			return &n
		}
	}
	return nil
}

type rankSettler struct {
	nodes       []*Node
	said, named []*int64
	owners      map[int64][]int // by rank: the traces that say it
}

// confirmNumbers takes other numbers of names for ranks, as that of trace_3.json is, where each name has one and it is the rank of every trace that says
// one.
func (r *rankSettler) confirmNumbers(given []Input) {
	numbers, confirmed, taken := make([]int64, len(r.nodes)), 0, map[int64]bool{}
	for k, n := range r.nodes {
		if !n.hasOneRank() || r.named[k] != nil {
			return
		}
		id, ok := identityFromPath(n.Path)
		if given[k].ID != "" {
			id, ok = givenIdentity(given[k].ID), true
		}
		if !ok || id.Number < 0 || taken[int64(id.Number)] {
			return
		}
		numbers[k], taken[int64(id.Number)] = int64(id.Number), true
		if r.said[k] != nil {
			if *r.said[k] != numbers[k] {
				return
			}
			confirmed++
		}
	}
	if confirmed == 0 {
		return
	}
	for k := range r.nodes {
		r.named[k] = &numbers[k]
	}
}

// settle decides the rank of one trace.
func (r *rankSettler) settle(k int) {
	n, said, named := r.nodes[k], r.said[k], r.named[k]
	switch {
	case said == nil && named == nil:
	case said == nil:
		if r.free(*named, k) {
			n.setRank(*named)
			n.rankNote = fmt.Sprintf("the trace does not say its rank (distributedInfo is missing): by its name it is rank %d", *named)
		}
	case len(r.owners[*said]) > 1 && named != nil && r.apart(r.owners[*said]):
		n.rankNote = r.several(*said, k)
		if *named != *said {
			n.rankNote += fmt.Sprintf("; its name says rank %d, which is taken", *named)
			n.setRank(*named)
		}
	case len(r.owners[*said]) > 1:
		n.rankNote = r.several(*said, k) + ", and no name tells them apart"
	case named != nil && *named != *said:
		n.rankNote = fmt.Sprintf("its name says rank %d, and the trace says rank %d, which is taken", *named, *said)
	}
}

// several names the traces that say the same rank.
func (r *rankSettler) several(rank int64, k int) string {
	var others []string
	for _, o := range r.owners[rank] {
		if o != k {
			others = append(others, filepath.Base(r.nodes[o].Path))
		}
	}
	return fmt.Sprintf("the trace says rank %d, and so does that of %s", rank, shortList(others))
}

// free reports whether no other trace has or claims a rank.
func (r *rankSettler) free(rank int64, k int) bool {
	if len(r.owners[rank]) > 0 {
		return false
	}
	for o, named := range r.named {
		if o != k && r.said[o] == nil && named != nil && *named == rank {
			return false
		}
	}
	return true
}

// apart reports whether the names of some traces say ranks that differ, none of them that of another trace.
func (r *rankSettler) apart(owners []int) bool {
	taken := map[int64]bool{}
	for _, k := range owners {
		if r.named[k] == nil || taken[*r.named[k]] {
			return false
		}
		taken[*r.named[k]] = true
		others := r.owners[*r.named[k]]
		if slices.ContainsFunc(others, func(o int) bool { return !slices.Contains(owners, o) }) {
			return false
		}
	}
	return true
}

// setRank sets the rank of a node whose collectives may have been found before.
func (n *Node) setRank(rank int64) {
	n.Rank = &rank
	for part, p := range n.found.parts {
		if p.Ranks != nil {
			p.Ranks[int32(part)] = int(rank)
		}
	}
}

// shareGroups gives a trace that says nothing of process groups what the others say of them, where they agree.
func shareGroups(nodes []*Node) {
	var known *source.Distributed
	for _, n := range nodes {
		d := n.facts.Distributed
		switch {
		case d == nil || len(d.Groups) == 0 || !n.hasOneRank():
		case known == nil:
			known = d
		case !sameGroups(known, d):
			return
		}
	}
	for _, n := range nodes {
		if known != nil && n.hasOneRank() && n.facts.Distributed == nil && n.Rank != nil {
			d := *known
			d.Rank = int(*n.Rank)
			n.groups = &d
		}
	}
}

// sameGroups reports whether two accounts say the same of the groups that both name.
func sameGroups(a, b *source.Distributed) bool {
	for _, g := range a.Groups {
		for _, h := range b.Groups {
			if g.Name == h.Name && !slices.Equal(g.Ranks, h.Ranks) {
				return false
			}
		}
	}
	return true
}

// whyNoneShared says, in brackets, what the traces do not say that would relate their collectives; "" where that is not known.
func whyNoneShared(nodes []*Node, m *matching) string {
	if m == nil || len(nodes) < 2 {
		return ""
	}
	var parts []string
	most := collective.Unmatched{}
	for _, u := range m.Unmatched {
		if u.Count > most.Count {
			most = u
		}
	}
	if most.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s: %s", plural(most.Count, "execution"), most.Key, most.Reason))
	} else if len(m.Groups) == 0 {
		parts = append(parts, "they hold none that is recognised")
	}
	var silent []string
	for _, n := range nodes {
		if n.hasOneRank() && n.text != nil && n.Rank == nil {
			silent = append(silent, n.ID)
		}
	}
	if len(silent) > 0 && most.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s: distributedInfo, which says the rank, is missing, and their names say none", shortList(silent)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

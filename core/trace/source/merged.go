package source

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// Merged is what the processes of a trace say about the ranks that another tool merged into it. TraceLens names them "RANK 3 - GPU";
// SGLang puts "[TP03-DP00]" in front of their ids.
type Merged struct {
	Ranks  []MergedRank // in order of their numbers, or of their labels
	RankOf []int        // by process: index in Ranks, -1 where it says none
}

// MergedRank is one rank of a merged trace.
type MergedRank struct {
	ID   string // "rank3", "TP03-DP00"
	Rank *int64 // among all ranks of the job; nil where the trace only says its place in some group
}

var (
	rankName  = lazyregexp.New(`(?i)^\[?rank[ _-]?(\d{1,7})\b`)
	rankLabel = lazyregexp.New(`^\[((?:TP|DP|PP|EP)\d+(?:-(?:TP|DP|PP|EP)\d+)*)\] `)
)

// MergedRanks tells the ranks of a merged trace apart; nil where its processes do not name two.
func MergedRanks(layout []*Process) *Merged {
	for _, rule := range []func(*Process) (MergedRank, bool){labelled, named} {
		if m := mergedBy(layout, rule); len(m.Ranks) > 1 {
			return m
		}
	}
	return nil
}

func mergedBy(layout []*Process, rule func(*Process) (MergedRank, bool)) *Merged {
	m := &Merged{RankOf: make([]int, len(layout))}
	said := make([]string, len(layout))
	for i, p := range layout {
		r, ok := rule(p)
		if said[i] = r.ID; ok && !slices.ContainsFunc(m.Ranks, func(o MergedRank) bool { return o.ID == r.ID }) {
			m.Ranks = append(m.Ranks, r)
		}
	}
	slices.SortFunc(m.Ranks, func(a, b MergedRank) int {
		if a.Rank != nil && b.Rank != nil && *a.Rank != *b.Rank {
			return int(*a.Rank - *b.Rank)
		}
		return strings.Compare(a.ID, b.ID)
	})
	for i := range layout {
		m.RankOf[i] = slices.IndexFunc(m.Ranks, func(o MergedRank) bool { return o.ID == said[i] })
	}
	return m
}

// named reads the rank that a process is named after.
func named(p *Process) (MergedRank, bool) {
	found := rankName.FindStringSubmatch(p.Name)
	if found == nil {
		return MergedRank{}, false
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	return MergedRank{ID: "rank" + strconv.FormatInt(n, 10), Rank: &n}, err == nil
}

// labelled reads the label in front of a process's id.
func labelled(p *Process) (MergedRank, bool) {
	found := rankLabel.FindStringSubmatch(strings.TrimPrefix(p.TextID, `"`))
	if found == nil {
		return MergedRank{}, false
	}
	return MergedRank{ID: found[1]}, true
}

// IDs lists how the ranks are called.
func (m *Merged) IDs() []string {
	out := make([]string, len(m.Ranks))
	for i, r := range m.Ranks {
		out[i] = r.ID
	}
	return out
}

package straggler

import (
	"math/rand/v2"
	"slices"
)

const (
	// draws is how often the lateness of a job is dealt out by chance, to see what chance does.
	draws = 400
	// aboveChance is how many times as much as the most that chance gave to anybody a rank, or a link, must have cost.
	aboveChance = 1.15
	// leastShare is the share of the job below which nobody is blamed.
	leastShare = 0.0003
	// oneAtMost is the share of all lateness that one lateness counts for at most where latenesses are held against chance a second time: a single long one,
	// whosever it is, would hide a rank that is late again and again.
	oneAtMost = 0.1
)

// chance returns the most that anybody would have cost, were each lateness anybody's of those who could have been late: its givers, or a link of its
// class. The same job gives the same answer.
func chance(costs []int64, among []int, choices [][]int32, parties int) int64 {
	rng := rand.New(rand.NewPCG(uint64(len(costs)), 15))
	sums := make([]int64, parties)
	most := int64(0)
	for range draws {
		clear(sums)
		for i, ns := range costs {
			list := choices[among[i]]
			sums[list[rng.IntN(len(list))]] += ns
		}
		most = max(most, slices.Max(sums))
	}
	return most
}

// beyondChance says of each rank whether what it cost on its own is more than chance gives to anybody: as measured, or where no single lateness counts for more
// than oneAtMost of all.
func (j *Job) beyondChance(late []lateness) []bool {
	all := int64(0)
	for _, l := range late {
		if !l.transfer && !l.handed {
			all += l.costNS
		}
	}
	out := make([]bool, len(j.Ranks))
	for _, most := range [2]int64{all, int64(oneAtMost * float64(all))} {
		own := make([]int64, len(j.Ranks))
		for _, l := range late {
			if !l.transfer && !l.handed {
				own[j.Events[l.event].Rank] += min(l.costNS, most)
			}
		}
		limit := int64(aboveChance * float64(j.rankChance(late, most)))
		for r, ns := range own {
			out[r] = out[r] || ns > limit
		}
	}
	return out
}

// rankChance is the chance of ranks, where no lateness counts for more than most.
func (j *Job) rankChance(late []lateness, most int64) int64 {
	var costs []int64
	var among []int
	var choices [][]int32
	for _, l := range late {
		if l.transfer || l.handed || l.costNS == 0 {
			continue
		}
		list := make([]int32, len(l.givers))
		for i, e := range l.givers {
			list[i] = j.Events[e].Rank
		}
		if r := j.Events[l.event].Rank; !slices.Contains(list, r) || len(list) == 1 { // whoever waits could have been late as well
			list = list[:0]
			for _, g := range j.Ops[l.op].Gates {
				for _, part := range [2][]int32{g.Givers, g.Receivers} {
					for _, e := range part {
						list = append(list, j.Events[e].Rank)
					}
				}
			}
		}
		costs, among, choices = append(costs, min(l.costNS, most)), append(among, len(choices)), append(choices, list)
	}
	if len(costs) == 0 {
		return 0
	}
	return chance(costs, among, choices, len(j.Ranks))
}

// linkChance is that of links.
func (j *Job) linkChance(late []lateness, links []link, place map[link]int32) int64 {
	type use struct {
		class string
		link  int32
	}
	seen, byClass := map[use]bool{}, map[string][]int32{}
	var directed []int32
	for _, s := range j.Links {
		directed = append(directed, place[link{a: s.From, b: s.To, directed: true}])
	}
	for k := range j.Ops {
		if u := (use{j.Ops[k].Class, place[j.linkOf(int32(k))]}); !seen[u] {
			seen[u], byClass[u.class] = true, append(byClass[u.class], u.link)
		}
	}
	var costs []int64
	var among []int
	var choices [][]int32
	for _, l := range late {
		if !l.transfer {
			continue
		}
		list := byClass[j.Ops[l.op].Class]
		if j.linkFor(l.op, l.costNS).directed {
			list = directed
		}
		costs, among, choices = append(costs, l.costNS), append(among, len(choices)), append(choices, list)
	}
	if len(costs) == 0 {
		return 0
	}
	return chance(costs, among, choices, len(links))
}

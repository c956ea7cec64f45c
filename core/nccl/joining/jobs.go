package joining

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// Apart tells the jobs of a folder apart and returns the recordings of the latest, and what the others are. Processes that share a communicator are of
// one job. So are those that ran at the same time, unless a scheduler knows them by different numbers: not every job has a communicator of all. What
// was over before the others began is of another job: a folder keeps what former runs left in it. Of a process that is there twice, as a copy of a
// former moment, the latest is taken.
func Apart(recordings []*operation.Recording) (of []*operation.Recording, others []operation.Other, warnings []string) {
	read := recordings
	recordings, warnings = latest(read)
	var jobs []*cluster
	for _, c := range components(recordings) {
		n := slices.IndexFunc(jobs, func(j *cluster) bool { return j.same(c) })
		if n < 0 {
			jobs = append(jobs, c)
			continue
		}
		jobs[n].add(c)
	}
	if len(jobs) == 0 {
		return nil, nil, warnings
	}
	last := jobs[0]
	for _, j := range jobs[1:] {
		if j.lastNS > last.lastNS {
			last = j
		}
	}
	for _, j := range jobs {
		if j == last {
			continue
		}
		one := operation.Other{ID: j.id, StartedNS: j.startedNS, LastNS: j.lastNS, Before: j.lastNS < last.startedNS, Ranks: len(j.all)}
		for _, r := range j.all {
			one.Recordings = append(one.Recordings, r.Path)
		}
		others = append(others, one)
		when := "ran at the same time"
		if one.Before {
			when = fmt.Sprintf("was over %.1f s before this one began", float64(last.startedNS-one.LastNS)/1e9)
		}
		which := one.Recordings[0]
		if more := len(j.all) - 1; more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
		warnings = append(warnings, fmt.Sprintf("%d recordings are of another job, which %s, and are not looked at: %s", len(j.all), when, which))
	}
	slices.SortStableFunc(last.all, func(x, y *operation.Recording) int {
		return cmp.Compare(slices.Index(recordings, x), slices.Index(recordings, y))
	})
	return last.all, others, warnings
}

// latest leaves of each process the recording that goes on longest.
func latest(recordings []*operation.Recording) (out []*operation.Recording, warnings []string) {
	type process struct {
		boot, host string
		pid        uint32
		cookie     uint16
		startedNS  int64
	}
	at := map[process]int{}
	for _, r := range recordings {
		k := process{r.BootID, r.Host, r.PID, r.Cookie, r.StartedNS}
		n, ok := at[k]
		switch {
		case r.Writer != "" || !ok:
			if r.Writer == "" {
				at[k] = len(out)
			}
			out = append(out, r)
			continue
		case r.LastNS > out[n].LastNS || r.LastNS == out[n].LastNS && r.Loss.Records > out[n].Loss.Records:
			out[n], r = r, out[n]
		}
		warnings = append(warnings, fmt.Sprintf("%s and %s are of one process: the one that goes on longer counts", out[n].Path, r.Path))
	}
	return out, warnings
}

// cluster is recordings of one job, as far as is known.
type cluster struct {
	all               []*operation.Recording
	id                string
	startedNS, lastNS int64
	timeless          bool // another plug-in wrote it, whose times may count from anything
}

func (c *cluster) add(o *cluster) {
	c.all = append(c.all, o.all...)
	c.id = cmp.Or(c.id, o.id)
	c.startedNS, c.lastNS, c.timeless = min(c.startedNS, o.startedNS), max(c.lastNS, o.lastNS), c.timeless || o.timeless
}

// same reports whether two may be of one job. Clusters come by when they began.
func (c *cluster) same(later *cluster) bool {
	if c.timeless || later.timeless {
		return true
	}
	return later.startedNS <= c.lastNS && (c.id == "" || later.id == "" || c.id == later.id)
}

// components are recordings that communicators tie together, by when they began.
func components(recordings []*operation.Recording) []*cluster {
	of := map[uint64]*cluster{} // by communicator
	in := map[*cluster]bool{}
	for _, r := range recordings {
		c := &cluster{all: []*operation.Recording{r}, id: r.JobID, startedNS: r.StartedNS, lastNS: r.LastNS, timeless: r.Writer != ""}
		in[c] = true
		for i := range r.Members {
			id := r.Members[i].ID
			if id == 0 {
				continue
			}
			if had := of[id]; had != nil && had != c {
				c.add(had)
				delete(in, had)
				for k, v := range of {
					if v == had {
						of[k] = c
					}
				}
			}
			of[id] = c
		}
	}
	out := make([]*cluster, 0, len(in))
	for c := range in {
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y *cluster) int {
		return cmp.Or(cmp.Compare(x.startedNS, y.startedNS), cmp.Compare(x.all[0].Path, y.all[0].Path))
	})
	return out
}

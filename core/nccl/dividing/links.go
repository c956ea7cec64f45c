package dividing

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
)

// Link is what one rank sent to another on a channel.
type Link struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Channel  int     `json:"channel"`
	NIC      int     `json:"nic"` // -1 unknown
	Ops      int     `json:"operations"`
	Steps    int     `json:"steps"`
	Bytes    int64   `json:"bytes"`
	SendNS   int64   `json:"send_ns"`     // for which the oldest step that was open was in the network
	CreditNS int64   `json:"credit_ns"`   // what all steps waited for buffers of the receiver
	Rate     int64   `json:"bytes_per_s"` // while it sent
	Times    float64 `json:"times"`       // by how much longer it takes than the middle one, for steps of one size; 0 unknown
	Retries  int     `json:"retries"`

	FromRank int32     `json:"-"` // places in Job.Ranks
	ToRank   int32     `json:"-"`
	ratios   []float64 // of operations: to what is usual
	Excess   int64     `json:"excess_ns"` // what its steps took beyond those of the middle link
}

type linkKey struct {
	from, to int32
	channel  uint8
	nic      int32
}

// sample is one proxy operation: how long a byte of it took, in the network.
type sample struct {
	link    int32
	size    int64 // of a step: small ones take longer a byte
	bytes   int64
	perByte float64
}

// Links are all links that steps of proxies tell of, slowest first. Operations with steps of one size are compared, by the time in which the
// oldest step that was open was in the network.
func Links(job *operation.Job) []Link {
	at := map[linkKey]int32{}
	out := []Link{}
	var all []sample
	for ri, r := range job.Recordings {
		for i := range r.Proxies {
			p := &r.Proxies[i]
			if !p.Send || p.StopNS == 0 || p.Finished == 0 || p.Member < 0 || p.Bytes == 0 || p.StageNS[operation.SendWait] == 0 {
				continue
			}
			from, to := ends(job, int32(ri), p)
			if from < 0 || to < 0 {
				continue
			}
			k := linkKey{from, to, p.Channel, p.NIC}
			n, ok := at[k]
			if !ok {
				n = int32(len(out))
				at[k] = n
				out = append(out, Link{From: job.Ranks[from].ID, To: job.Ranks[to].ID, Channel: int(p.Channel), NIC: int(p.NIC), FromRank: from, ToRank: to})
			}
			l := &out[n]
			l.Ops, l.Steps, l.Bytes, l.Retries = l.Ops+1, l.Steps+int(p.Finished), l.Bytes+p.Bytes, l.Retries+int(p.Retries)
			l.CreditNS += p.SumNS[operation.SendPeerWait]
			l.SendNS += p.StageNS[operation.SendWait]
			all = append(all, sample{n, p.Bytes / int64(p.Finished), p.Bytes, float64(p.StageNS[operation.SendWait]) / float64(p.Bytes)})
		}
	}
	compare(out, all)
	slices.SortStableFunc(out, func(x, y Link) int {
		return cmp.Or(cmp.Compare(y.Times, x.Times), cmp.Compare(x.FromRank, y.FromRank), cmp.Compare(x.ToRank, y.ToRank), cmp.Compare(x.Channel, y.Channel))
	})
	return out
}

// ends are the ranks that a proxy operation is between.
func ends(job *operation.Job, recording int32, p *operation.ProxyOp) (from, to int32) {
	m := &job.Recordings[recording].Members[p.Member]
	if m.Comm < 0 || p.Peer < 0 || int(p.Peer) >= len(job.Comms[m.Comm].Seats) || m.Rank < 0 {
		return operation.None, operation.None
	}
	c := &job.Comms[m.Comm]
	return c.Seats[m.Rank].Rank, c.Seats[p.Peer].Rank
}

// slowest says of each operation on which link its data took longer than is usual for steps of that size, by most. Places are those of Job.Ranks; all are the
// links of which any operation tells.
func slowest(job *operation.Job) (by map[opKey]straggler.Slow, all []straggler.Slow) {
	type took struct {
		key      opKey
		from, to int32
		size, ns int64
		bytes    int64
	}
	var list []took
	sizes := map[int64][]float64{}
	for ri, r := range job.Recordings {
		for i := range r.Proxies {
			p := &r.Proxies[i]
			if !p.Send || p.Op < 0 || p.StopNS == 0 || p.Finished == 0 || p.Member < 0 || p.Bytes == 0 || p.StageNS[operation.SendWait] == 0 {
				continue
			}
			from, to := ends(job, int32(ri), p)
			if from < 0 || to < 0 {
				continue
			}
			t := took{opKey{int32(ri), p.Op}, from, to, p.Bytes / int64(p.Finished), p.StageNS[operation.SendWait], p.Bytes}
			list = append(list, t)
			sizes[t.size] = append(sizes[t.size], float64(t.ns)/float64(t.bytes))
		}
	}
	usual := map[int64]float64{}
	for size, each := range sizes {
		usual[size] = middle(each)
	}
	by = map[opKey]straggler.Slow{}
	seen := map[straggler.Slow]bool{}
	for _, t := range list {
		if l := (straggler.Slow{From: t.from, To: t.to}); !seen[l] {
			seen[l], all = true, append(all, l)
		}
		over := t.ns - int64(usual[t.size]*float64(t.bytes))
		if had, ok := by[t.key]; !ok || over > had.NS {
			by[t.key] = straggler.Slow{From: t.from, To: t.to, NS: over}
		}
	}
	return by, all
}

// opKey is an operation of a recording.
type opKey struct{ recording, op int32 }

// compare says of each link how much longer it takes than is usual for steps of that size.
func compare(links []Link, all []sample) {
	sizes := map[int64][]float64{}
	for _, s := range all {
		sizes[s.size] = append(sizes[s.size], s.perByte)
	}
	usual := map[int64]float64{}
	for size, list := range sizes {
		usual[size] = middle(list)
	}
	for _, s := range all {
		l, u := &links[s.link], usual[s.size]
		if u <= 0 {
			continue
		}
		l.ratios = append(l.ratios, s.perByte/u)
		l.Excess += int64((s.perByte - u) * float64(s.bytes))
	}
	for i := range links {
		l := &links[i]
		if len(links) > 2 {
			l.Times = middle(l.ratios)
		}
		if l.SendNS > 0 {
			l.Rate = int64(float64(l.Bytes) / float64(l.SendNS) * 1e9)
		}
	}
}

// middle is the median of a list, which it sorts.
func middle(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

// Above is how many operations of a link take so many times as long as is usual, and of how many.
func (l *Link) Above(times float64) (above, of int) {
	for _, x := range l.ratios {
		if x >= times {
			above++
		}
	}
	return above, len(l.ratios)
}

// Quarter is by how much longer than is usual a quarter of the operations of a link take at most: it says whether the link is slow for good, or
// was, now and then.
func (l *Link) Quarter() float64 {
	if len(l.ratios) == 0 {
		return 0
	}
	return l.ratios[len(l.ratios)/4]
}

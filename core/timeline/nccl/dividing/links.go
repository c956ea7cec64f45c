package dividing

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/nccl/operation"
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
	SendNS   int64   `json:"send_ns"`     // the median of a step in the network
	CreditNS int64   `json:"credit_ns"`   // what all steps waited for buffers of the receiver
	Rate     int64   `json:"bytes_per_s"` // of a step in the network
	Times    float64 `json:"times"`       // by how much longer it takes than the middle link, for the same bytes; 0 unknown
	Retries  int     `json:"retries"`

	FromRank int32 `json:"-"` // places in Job.Ranks
	ToRank   int32 `json:"-"`
	perByte  []float64
	Excess   int64 `json:"excess_ns"` // what its steps took beyond those of the middle link
}

type linkKey struct {
	from, to int32
	channel  uint8
	nic      int32
}

// Links are all links that steps of proxies tell of, slowest first. Steps that ended are compared, by bytes.
func Links(job *operation.Job) []Link {
	all := map[linkKey]*Link{}
	var order []linkKey
	for ri, r := range job.Recordings {
		for i := range r.Proxies {
			p := &r.Proxies[i]
			if !p.Send || p.Finished == 0 || p.Member < 0 || p.Bytes == 0 || p.SumNS[operation.SendWait] == 0 {
				continue
			}
			from, to := ends(job, int32(ri), p)
			if from < 0 || to < 0 {
				continue
			}
			k := linkKey{from, to, p.Channel, p.NIC}
			l := all[k]
			if l == nil {
				l = &Link{From: job.Ranks[from].ID, To: job.Ranks[to].ID, Channel: int(p.Channel), NIC: int(p.NIC), FromRank: from, ToRank: to}
				all[k] = l
				order = append(order, k)
			}
			l.Ops, l.Steps, l.Bytes, l.Retries = l.Ops+1, l.Steps+int(p.Finished), l.Bytes+p.Bytes, l.Retries+int(p.Retries)
			l.CreditNS += p.SumNS[operation.SendPeerWait]
			l.perByte = append(l.perByte, float64(p.SumNS[operation.SendWait])/float64(p.Bytes))
		}
	}
	return ranked(all, order)
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

func ranked(all map[linkKey]*Link, order []linkKey) []Link {
	out, medians := make([]Link, 0, len(all)), make([]float64, 0, len(all))
	typical := map[linkKey]float64{}
	for _, k := range order {
		l := all[k]
		slices.Sort(l.perByte)
		x := l.perByte[(len(l.perByte)-1)/2]
		typical[k] = x
		medians = append(medians, x)
		l.SendNS = int64(x * float64(l.Bytes) / float64(max(l.Steps, 1)))
		if x > 0 {
			l.Rate = int64(1e9 / x)
		}
	}
	if len(medians) == 0 {
		return out
	}
	slices.Sort(medians)
	middle := medians[(len(medians)-1)/2]
	for _, k := range order {
		l := all[k]
		if middle > 0 && len(medians) > 2 {
			l.Times = typical[k] / middle
			l.Excess = int64((typical[k] - middle) * float64(l.Bytes))
		}
		out = append(out, *l)
	}
	slices.SortStableFunc(out, func(x, y Link) int {
		return cmp.Or(cmp.Compare(y.Times, x.Times), cmp.Compare(x.FromRank, y.FromRank), cmp.Compare(x.ToRank, y.ToRank), cmp.Compare(x.Channel, y.Channel))
	})
	return out
}

// Spread is how far apart the operations of a link are: the middle half of them, as a part of their median. It says whether the link is slow or
// was, now and then.
func (l *Link) Spread() float64 {
	n := len(l.perByte)
	if n < 4 || l.perByte[n/2] == 0 {
		return 0
	}
	return (l.perByte[3*n/4] - l.perByte[n/4]) / l.perByte[n/2]
}

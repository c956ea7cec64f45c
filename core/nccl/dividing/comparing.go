package dividing

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/verdict"
)

// comparisonSchema is the schema of Comparison.
const comparisonSchema = "prlx.nccl-compare/1"

// The values of Comparison.Status.
const (
	statusSlower       = "slower" // B takes longer, by more than chance and clocks explain
	statusFaster       = "faster"
	statusSame         = "same"         // the difference is within its bound, or below what counts
	statusInconclusive = "inconclusive" // nothing can be compared, or a difference that would count is within its bound
)

// Comparison is prlx.nccl-compare/1: where the time of NCCL operations went in two runs, side by side. Times are what a rank spends in an
// operation, in the mean over the operations that both runs have, each kind as often as B executed it.
type Comparison struct {
	Schema     string          `json:"schema"`
	Status     string          `json:"status"`
	Verdict    string          `json:"verdict"`    // in a sentence
	Conclusion verdict.Verdict `json:"conclusion"` // passed: B takes no longer than A; failed: it does
	A          Run             `json:"a"`
	B          Run             `json:"b"`
	Held       PartChange      `json:"held"`  // from when a rank's kernel began until its true end: the parts from waiting on
	Parts      []PartChange    `json:"parts"` // what grew most first
	Classes    []ClassChange   `json:"classes"`
	Ranks      []RankChange    `json:"ranks"`
	Links      []LinkChange    `json:"links"` // what became slowest first
	OnlyA      []Lone          `json:"only_a"`
	OnlyB      []Lone          `json:"only_b"`
	LeastShare float64         `json:"least_share"` // a change of held by less does not count
	Notes      []string        `json:"notes"`
	Warnings   []string        `json:"warnings"`
}

// Run is one of the two.
type Run struct {
	Ranks      int    `json:"ranks"`
	Hosts      int    `json:"hosts"`
	Operations int    `json:"operations"`
	Compared   int    `json:"compared"` // of these
	Unusual    int    `json:"unusual"`  // left out: they took more than 3 times the median of their kind
	ClocksBy   string `json:"clocks_by"`
}

// PartChange is one part of the time in both runs.
type PartChange struct {
	Part         string `json:"part"` // launch, scheduling, waiting, kernel, proxy, credit, network, flush, or held
	ANS          int64  `json:"a_ns"`
	BNS          int64  `json:"b_ns"`
	ChangeNS     int64  `json:"change_ns"`
	BoundNS      *int64 `json:"bound_ns"` // by how much that can be off by chance and clocks; null: not known
	Certain      bool   `json:"certain"`  // the change is beyond its bound
	Rank         string `json:"rank"`     // of which it grew most (waiting: which the others waited for), where one stands out; "" none
	RankHost     string `json:"rank_host"`
	RankChangeNS int64  `json:"rank_change_ns"`
}

// ClassChange is the operations of one communicator, function and size in both runs.
type ClassChange struct {
	Comm      string       `json:"communicator"`
	Operation string       `json:"operation"`
	Datatype  string       `json:"datatype"`
	Bytes     int64        `json:"bytes"`
	ComparedA int          `json:"compared_a"`
	ComparedB int          `json:"compared_b"`
	HowA      string       `json:"how_a"` // algorithm, protocol, channels of most of them
	HowB      string       `json:"how_b"`
	Held      PartChange   `json:"held"`
	Parts     []PartChange `json:"parts"` // in the order of time
}

// RankChange is one rank in both runs.
type RankChange struct {
	ID          string     `json:"id"`
	HostA       string     `json:"host_a"`
	HostB       string     `json:"host_b"`
	OperationsA int        `json:"operations_a"`
	OperationsB int        `json:"operations_b"`
	Change      PartsDelta `json:"change"`      // of what it spends in an operation
	LastA       int        `json:"last_a"`      // it began last, for certain
	LastB       int        `json:"last_b"`      //
	CausedANS   int64      `json:"caused_a_ns"` // for which the others waited for it, in the mean over all operations
	CausedBNS   int64      `json:"caused_b_ns"`
}

// PartsDelta is by how much parts changed; those from waiting on add up to the change of held.
type PartsDelta struct {
	LaunchNS     int64 `json:"launch_ns"`
	SchedulingNS int64 `json:"scheduling_ns"`
	WaitingNS    int64 `json:"waiting_ns"`
	KernelNS     int64 `json:"kernel_ns"`
	ProxyNS      int64 `json:"proxy_ns"`
	CreditNS     int64 `json:"credit_ns"`
	NetworkNS    int64 `json:"network_ns"`
	FlushNS      int64 `json:"flush_ns"`
}

// LinkChange is a link that both runs used.
type LinkChange struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Channel int     `json:"channel"`
	NIC     int     `json:"nic"` // -1 unknown
	ARate   int64   `json:"a_bytes_per_s"`
	BRate   int64   `json:"b_bytes_per_s"`
	Times   float64 `json:"times"` // by how much longer a byte takes in B
}

// Lone is what one run alone has.
type Lone struct {
	Comm      string `json:"communicator"`
	Operation string `json:"operation"`
	Bytes     int64  `json:"bytes"`
	Count     int    `json:"count"`
	Why       string `json:"why"` // "absent" in the other run, or "not divided" in one
}

// CompareOptions are what is asked for.
type CompareOptions struct {
	LeastShare float64 // a change of held by less than this part does not count; 0: 0.02
}

// leastShare is what a change of the total must be of held to count, where nothing else is asked for.
const leastShare = 0.02

// Compare divides the time of two runs of a job and says which part grew, for whom.
func Compare(a, b *operation.Job, opt CompareOptions) *Comparison {
	if opt.LeastShare == 0 {
		opt.LeastShare = leastShare
	}
	c := &comparer{
		a: &division{job: a, ext: extents(a)}, b: &division{job: b, ext: extents(b)},
		doc: &Comparison{
			Schema: comparisonSchema, LeastShare: opt.LeastShare, Parts: []PartChange{}, Classes: []ClassChange{}, Ranks: []RankChange{}, Links: []LinkChange{}, OnlyA: []Lone{}, OnlyB: []Lone{}, Notes: []string{}, Warnings: []string{},
		},
	}
	c.pair()
	c.doc.A, c.doc.B = c.run(a, 0), c.run(b, 1)
	c.classes()
	c.ranks()
	c.whole()
	c.links()
	c.blame()
	c.judge()
	c.conclude()
	return c.doc
}

// both is one kind of operation in both runs.
type both struct {
	side   [2]*tally
	spread [2]spread
	weight float64 // operations of B that are compared
}

type comparer struct {
	a, b    *division
	doc     *Comparison
	pairs   []*both
	unusual [2]int
}

func (c *comparer) run(job *operation.Job, side int) Run {
	r := Run{Ranks: len(job.Ranks), Hosts: len(job.Clocks), Operations: len(job.Matches), Unusual: c.unusual[side], ClocksBy: job.Clocked}
	for _, p := range c.pairs {
		r.Compared += p.count(side)
	}
	which := [...]string{"A", "B"}[side]
	for _, w := range job.Warnings {
		c.doc.Warnings = append(c.doc.Warnings, which+": "+w)
	}
	return r
}

func (p *both) count(side int) int { return len(p.side[side].ops) }

// pair finds the kinds of operations that both runs have, and of which some are divided.
func (c *comparer) pair() {
	inA, inB := c.a.tallies(), c.b.tallies()
	byKey := map[tallyKey]*tally{}
	for _, t := range inB {
		byKey[t.key] = t
	}
	lone := func(t *tally, why string) Lone { return Lone{t.comm, t.key.function, t.key.bytes, t.count, why} }
	for _, t := range inA {
		o := byKey[t.key]
		delete(byKey, t.key)
		switch {
		case o == nil:
			c.doc.OnlyA = append(c.doc.OnlyA, lone(t, "absent"))
		case len(t.divided) == 0 || len(o.divided) == 0:
			c.doc.OnlyA = append(c.doc.OnlyA, lone(t, "not divided"))
		default:
			p := &both{side: [2]*tally{t, o}}
			for i, d := range []*division{c.a, c.b} {
				c.unusual[i] += d.add(p.side[i])
				p.spread[i] = spreadOf(p.side[i].ops)
			}
			p.weight = float64(len(o.ops))
			c.pairs = append(c.pairs, p)
		}
	}
	for _, t := range inB {
		if byKey[t.key] != nil {
			c.doc.OnlyB = append(c.doc.OnlyB, lone(t, "absent"))
		}
	}
}

// bound is by how much the change of a part of one kind of operation can be off; negative: not known.
func (p *both) bound(k int) float64 {
	x := chance(&p.spread[0], &p.spread[1], k)
	if x < 0 {
		return -1
	}
	for _, t := range p.side {
		if t.unbound && (k == partWaiting || k == partKernel || k == partNetwork) {
			return -1
		}
		x += t.bounds[k]
	}
	return x
}

func change(part string, a, b, bound float64) PartChange {
	out := PartChange{Part: part, ANS: wholeNS(a), BNS: wholeNS(b), ChangeNS: wholeNS(b - a)}
	if bound >= 0 {
		n := int64(math.Ceil(bound))
		out.BoundNS, out.Certain = &n, max(out.ChangeNS, -out.ChangeNS) > n
	}
	return out
}

func wholeNS(x float64) int64 { return int64(math.Round(x)) }

// partName is the name of a part, or held.
func partName(k int) string {
	if k == partHeld {
		return "held"
	}
	return partNames[k]
}

func (c *comparer) classes() {
	for _, p := range c.pairs {
		a, b := p.side[0], p.side[1]
		row := ClassChange{
			Comm: b.comm, Operation: b.key.function, Datatype: b.key.datatype, Bytes: b.key.bytes, ComparedA: len(a.ops), ComparedB: len(b.ops), HowA: a.mostly(), HowB: b.mostly(),
			Parts: []PartChange{},
		}
		for k := range partNames {
			row.Parts = append(row.Parts, change(partName(k), p.spread[0].mean[k], p.spread[1].mean[k], p.bound(k)))
		}
		row.Held = change("held", p.spread[0].mean[partHeld], p.spread[1].mean[partHeld], p.bound(partHeld))
		c.doc.Classes = append(c.doc.Classes, row)
	}
	weight := func(x *ClassChange) int64 { return max(x.Held.ChangeNS, -x.Held.ChangeNS) * int64(x.ComparedB) }
	slices.SortStableFunc(c.doc.Classes, func(x, y ClassChange) int { return cmp.Compare(weight(&y), weight(&x)) })
}

// whole adds up kinds, each as often as B executed it. Bounds add up: what is wrong with a clock is so in all.
func (c *comparer) whole() {
	weight := 0.0
	for _, p := range c.pairs {
		weight += p.weight
	}
	for k := range partHeld + 1 {
		a, b, bound := 0.0, 0.0, 0.0
		for _, p := range c.pairs {
			w := p.weight / weight
			a, b = a+w*p.spread[0].mean[k], b+w*p.spread[1].mean[k]
			if x := p.bound(k); x < 0 || bound < 0 {
				bound = -1
			} else {
				bound += w * x
			}
		}
		if len(c.pairs) == 0 {
			bound = -1
		}
		if row := change(partName(k), a, b, bound); k == partHeld {
			c.doc.Held = row
		} else {
			c.doc.Parts = append(c.doc.Parts, row)
		}
	}
	slices.SortStableFunc(c.doc.Parts, func(x, y PartChange) int { return cmp.Compare(y.ChangeNS, x.ChangeNS) })
}

// ranks compares rank by rank.
func (c *comparer) ranks() {
	ids := map[string]bool{}
	for _, p := range c.pairs {
		for _, t := range p.side {
			for id := range t.byRank {
				ids[id] = true
			}
		}
	}
	hosts := [2]map[string]string{{}, {}}
	for i, d := range []*division{c.a, c.b} {
		for k := range d.job.Ranks {
			hosts[i][d.job.Ranks[k].ID] = d.job.Ranks[k].Host
		}
	}
	for _, id := range sortedRanks(ids) {
		row := RankChange{ID: id, HostA: hosts[0][id], HostB: hosts[1][id]}
		var delta values
		all, weight := [2]float64{}, 0.0
		for _, p := range c.pairs {
			a, b := p.side[0].byRank[id], p.side[1].byRank[id]
			if a != nil {
				row.OperationsA, row.LastA, all[0] = row.OperationsA+a.times, row.LastA+a.last, all[0]+a.caused
			}
			if b != nil {
				row.OperationsB, row.LastB, all[1] = row.OperationsB+b.times, row.LastB+b.last, all[1]+b.caused
			}
			if a != nil && b != nil {
				delta.add(b.time, 1)
				delta.add(a.time, -float64(b.times)/float64(a.times))
				weight += float64(b.times)
			}
		}
		if weight > 0 {
			for k := range delta {
				delta[k] /= weight
			}
		}
		row.Change = delta.parts()
		for i, n := range []int{row.OperationsA, row.OperationsB} {
			if n > 0 {
				*[]*int64{&row.CausedANS, &row.CausedBNS}[i] = wholeNS(all[i] / float64(n))
			}
		}
		c.doc.Ranks = append(c.doc.Ranks, row)
	}
}

func (v *values) parts() PartsDelta {
	return PartsDelta{wholeNS(v[0]), wholeNS(v[1]), wholeNS(v[2]), wholeNS(v[3]), wholeNS(v[4]), wholeNS(v[5]), wholeNS(v[6]), wholeNS(v[7])}
}

func (p *PartsDelta) of(part string) int64 {
	return [...]int64{p.LaunchNS, p.SchedulingNS, p.WaitingNS, p.KernelNS, p.ProxyNS, p.CreditNS, p.NetworkNS, p.FlushNS}[slices.Index(partNames[:], part)]
}

// links compares links of the same ends, channel and NIC.
func (c *comparer) links() {
	type key struct {
		from, to     string
		channel, nic int
	}
	before := map[key]*Link{}
	list := Links(c.a.job)
	for i := range list {
		l := &list[i]
		before[key{l.From, l.To, l.Channel, l.NIC}] = l
	}
	for _, l := range Links(c.b.job) {
		a := before[key{l.From, l.To, l.Channel, l.NIC}]
		if a == nil || a.Rate == 0 || l.Rate == 0 {
			continue
		}
		c.doc.Links = append(c.doc.Links, LinkChange{l.From, l.To, l.Channel, l.NIC, a.Rate, l.Rate, math.Round(1000*float64(a.Rate)/float64(l.Rate)) / 1000})
	}
	slices.SortStableFunc(c.doc.Links, func(x, y LinkChange) int { return cmp.Compare(y.Times, x.Times) })
}

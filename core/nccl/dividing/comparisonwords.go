package dividing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/straggler"
)

// blame finds for each part that changed the rank of which that is truest: where one stands out.
func (c *comparer) blame() {
	for i := range c.doc.Parts {
		p := &c.doc.Parts[i]
		if !p.Certain || p.ChangeNS <= 0 || len(c.doc.Ranks) < 3 {
			continue
		}
		of := func(r *RankChange) int64 {
			if p.Part == "waiting" { // which the others waited for
				return r.CausedBNS - r.CausedANS
			}
			return r.Change.of(p.Part)
		}
		order := make([]int, len(c.doc.Ranks))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(of(&c.doc.Ranks[y]), of(&c.doc.Ranks[x])) })
		first, middle := &c.doc.Ranks[order[0]], of(&c.doc.Ranks[order[len(order)/2]])
		// It stands out if it is far from the middle and from the next one.
		if x := of(first); x > 2*max(middle, 0) && x > of(&c.doc.Ranks[order[1]])*3/2 && x > p.ChangeNS/2 {
			p.Rank, p.RankHost, p.RankChangeNS = first.ID, first.HostB, x
		}
	}
}

// judge says in a sentence what changed.
func (c *comparer) judge() {
	d := c.doc
	t := &d.Held
	counted := fmt.Sprintf("%d operations of B and %d of A in %s", d.B.Compared, d.A.Compared, kindsOf(len(c.pairs)))
	share := 0.0
	if t.ANS > 0 {
		share = float64(t.ChangeNS) / float64(t.ANS)
	}
	spends := fmt.Sprintf("an operation holds a rank for %s, in A for %s (%+.1f %%%s)", straggler.Duration(t.BNS), straggler.Duration(t.ANS), 100*share, bounded(t))
	switch {
	case len(c.pairs) == 0 && d.A.Operations == 0 && d.B.Operations == 0:
		d.Status, d.Verdict = statusInconclusive, "Neither run has an operation"
		return
	case len(c.pairs) == 0:
		d.Status, d.Verdict = statusInconclusive, "The runs have no kind of operation in common of which both recorded when it began and ended: nothing is compared"
		return
	case t.Certain && share >= d.LeastShare:
		d.Status = statusSlower
	case c.oftener():
		d.Status = statusSlower
		d.Verdict = fmt.Sprintf("B is slower: %d of its %d operations took more than %d times the median of their kind, in A %d of %d; without these, %s", d.B.Unusual, d.B.Unusual+d.B.Compared, timesUsual, d.A.Unusual, d.A.Unusual+d.A.Compared, spends) + c.grown() + "; compared: " + counted
		c.notes()
		return
	case t.Certain && share <= -d.LeastShare:
		d.Status = statusFaster
	case t.BoundNS == nil || float64(*t.BoundNS) > d.LeastShare*float64(t.ANS) && max(share, -share) >= d.LeastShare:
		d.Status = statusInconclusive
	default:
		d.Status = statusSame
	}
	switch d.Status {
	case statusSlower, statusFaster:
		d.Verdict = fmt.Sprintf("B is %s: %s", d.Status, spends)
	case statusSame:
		d.Verdict = "B takes as long as A: " + spends
	default:
		d.Verdict = "Whether B takes longer than A is not known: " + spends
	}
	d.Verdict += c.grown() + "; compared: " + counted
	c.notes()
}

// oftener reports whether B has more unusual operations than chance explains, and more than one in a hundred.
func (c *comparer) oftener() bool {
	a, b := float64(c.unusual[0]), float64(c.unusual[1])
	ofA, ofB := float64(c.unusual[0]+c.doc.A.Compared), float64(c.unusual[1]+c.doc.B.Compared)
	if ofA == 0 || ofB == 0 {
		return false
	}
	more := b - a*ofB/ofA
	return more > 0.01*ofB && more > 3.29*math.Sqrt(b+a*(ofB/ofA)*(ofB/ofA))
}

func kindsOf(n int) string {
	if n == 1 {
		return "1 kind"
	}
	return fmt.Sprintf("%d kinds", n)
}

// bounded is how far off a change can be.
func bounded(p *PartChange) string {
	if p.BoundNS == nil {
		return ", by chance and clocks off by an amount that is not known"
	}
	return ", known to +-" + straggler.Duration(*p.BoundNS)
}

// grown names the part that changed most, and for whom.
func (c *comparer) grown() string {
	most := (*PartChange)(nil)
	for i := range c.doc.Parts {
		p := &c.doc.Parts[i]
		if p.Certain && (most == nil || max(p.ChangeNS, -p.ChangeNS) > max(most.ChangeNS, -most.ChangeNS)) {
			most = p
		}
	}
	certain := most != nil
	if !certain && !c.doc.Held.Certain {
		return "; no part changed by more than chance and clocks explain"
	}
	if !certain { // clocks of ranks say less of a part than that of one rank says of all
		for i := range c.doc.Parts {
			p := &c.doc.Parts[i]
			if slices.Index(partNames[:], p.Part) >= partWaiting && (most == nil || (p.ChangeNS > most.ChangeNS) == (c.doc.Held.ChangeNS > 0)) {
				most = p
			}
		}
	}
	verb := "grew"
	if most.ChangeNS < 0 {
		verb = "shrank"
	}
	text := fmt.Sprintf("; %s %s most, from %s to %s", said[most.Part], verb, straggler.Duration(most.ANS), straggler.Duration(most.BNS))
	if !certain {
		text = fmt.Sprintf("; as clocks show it, %s %s most, from %s to %s, which they cannot prove", said[most.Part], verb, straggler.Duration(most.ANS), straggler.Duration(most.BNS))
	}
	if most.Rank != "" {
		text += c.forWhom(most)
	}
	if l := c.slowest(); l != nil && most.ChangeNS > 0 && (most.Part == "network" || most.Part == "credit" || most.Part == "proxy") {
		nic := ""
		if l.NIC >= 0 {
			nic = fmt.Sprintf(", NIC %d", l.NIC)
		}
		text += fmt.Sprintf("; the link from rank %s to rank %s on channel %d%s became %.1f times slower", l.From, l.To, l.Channel, nic, l.Times)
	}
	return text
}

// said is what sentences call the parts.
var said = map[string]string{
	"launch": "the host's launch", "scheduling": "queueing on the GPU", "waiting": "waiting for a rank", "kernel": "the kernel's work", "proxy": "the proxy thread's work",
	"credit": "waiting for buffers of the receiver", "network": "the network", "flush": "flushing to the GPU",
}

func (c *comparer) forWhom(p *PartChange) string {
	host := ""
	if p.RankHost != "" {
		host = " (" + p.RankHost + ")"
	}
	for i := range c.doc.Ranks {
		if r := &c.doc.Ranks[i]; r.ID == p.Rank && p.Part == "waiting" {
			return fmt.Sprintf(", for rank %s%s: it began last in %d of %d operations, in A in %d of %d", r.ID, host, r.LastB, r.OperationsB, r.LastA, r.OperationsA)
		}
	}
	return fmt.Sprintf(", most for rank %s%s, by %s", p.Rank, host, straggler.Duration(p.RankChangeNS))
}

// slowest is the link that became slower than links did on the whole; nil: there is none.
func (c *comparer) slowest() *LinkChange {
	l := c.doc.Links
	if len(l) < 3 || l[0].Times < 1.3 || l[0].Times < 1.3*l[len(l)/2].Times {
		return nil
	}
	return &l[0]
}

func (c *comparer) notes() {
	d := c.doc
	if n := d.A.Unusual + d.B.Unusual; n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("left out: %d operations of A and %d of B that took more than %d times the median of their kind", d.A.Unusual, d.B.Unusual, timesUsual))
	}
	few := 0
	for _, p := range c.pairs {
		if min(p.spread[0].n, p.spread[1].n) < fewStretches {
			few++
		}
	}
	if few > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %s have fewer than %d operations in one of the runs, of which nothing says how much varies by chance", few, kindsOf(len(c.pairs)), fewStretches))
	}
	if d.A.Ranks != d.B.Ranks {
		d.Notes = append(d.Notes, fmt.Sprintf("A has %d ranks and B %d: communicators are compared where both have the same", d.A.Ranks, d.B.Ranks))
	}
	for i := range d.Classes {
		if k := &d.Classes[i]; k.HowA != k.HowB {
			d.Notes = append(d.Notes, fmt.Sprintf("%s of %d bytes in %s: %s in A, %s in B", k.Operation, k.Bytes, k.Comm, k.HowA, k.HowB))
		}
	}
	for i, list := range [][]Lone{d.OnlyA, d.OnlyB} {
		absent, vague := 0, 0
		for k := range list {
			if list[k].Why == "absent" {
				absent += list[k].Count
			} else {
				vague += list[k].Count
			}
		}
		if absent > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%d operations are of kinds that %s alone has", absent, [...]string{"A", "B"}[i]))
		}
		if vague > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%d operations of A are of kinds of which one of the runs has no begin or no end; level 1 records them", vague))
		}
	}
}

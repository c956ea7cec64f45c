package diagnosing

import (
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/straggler"
)

const (
	slowTimes   = 1.5    // by how much longer a step must take than on the middle link
	mostSlow    = 0.25   // of all links: where more are slow, links are of two kinds
	leastSteps  = 32     // that a link must have carried
	leastShare  = 0.0005 // of the time that was recorded, which the excess must be
	leastTimes  = 1.3    // what a quarter of the operations of a link that is slow for good may stay below
	leastOfJob  = 0.01   // of the time of the job that a straggler must cost
	leastChance = 0.001  // by which any link may look slow where other traffic slows all of them now and then
	leastEvents = 8      // operations that a link must have carried
)

// slowness is who is late and which links are slow, of jobs that do come to an end.
type slowness struct {
	found
	d          *dossier
	links      string              // whether links were looked at
	stragglers string              // whether ranks were
	lost       *straggler.Document // what was lost and is nobody's fault as far as is known; nil: nothing
}

// lookForSlowness looks at links, then at ranks: a link that costs time is said once.
func lookForSlowness(d *dossier) (*slowness, error) {
	o := &slowness{d: d, links: lookedUnknown, stragglers: lookedUnknown}
	o.lookForLinks()
	return o, o.lookForStragglers()
}

// lookForStragglers asks `straggler` who is late again and again.
func (o *slowness) lookForStragglers() error {
	d := o.d
	s := dividing.StragglerJob(d.job, d.ext)
	if s == nil {
		o.advise("record at level 1 or above (PRLX_NCCL_LEVEL=1): who was late is told by when kernels begin and end")
		return nil
	}
	late, err := straggler.Find(s, straggler.Options{})
	if err != nil {
		return err
	}
	switch late.Status {
	case straggler.StatusInconclusive:
		o.notes = append(o.notes, late.Verdict)
		o.lost = late
		return nil
	case straggler.StatusNobody:
		o.stragglers = lookedNone
		return nil
	}
	o.stragglers = lookedNone
	if late.Unblamed.Share >= straggler.LostShare {
		o.lost = late
	}
	for i := range late.Ranks {
		r := &late.Ranks[i]
		cost := costOf(r, late)
		if !r.Blamed || float64(cost) < leastOfJob*float64(late.LengthNS) {
			continue
		}
		rank := int32(slices.IndexFunc(s.Ranks, func(x straggler.Rank) bool { return x.ID == r.ID }))
		o.stragglers = lookedFound
		f := d.about(classStraggler, []int32{rank})
		f.CostNS, f.Certain, f.Window = cost, true, windowOf(r.Window)
		f.Sentence = fmt.Sprintf("%s is late %s: it cost %s, %.1f %% of the time", d.nameOf(rank), often(r, late), straggler.Duration(cost), 100*float64(cost)/float64(late.LengthNS))
		f.Detail = append(f.Detail, late.Verdict)
		o.add(f)
	}
	o.slowNowAndThen(s, late)
	return nil
}

// costOf is what a rank cost: as far as clocks say it, or, where they leave so much open that it would not count, what it took longer by its own.
func costOf(r *straggler.RankCost, late *straggler.Document) int64 {
	if r.Share < leastOfJob && float64(r.OwnNS) >= straggler.LostShare*float64(late.LengthNS) {
		return r.OwnNS
	}
	return r.CostNS
}

// often says how often a rank was late, and when, where that was rare.
func often(r *straggler.RankCost, late *straggler.Document) string {
	if r.Window.Rare() {
		return r.Window.Often(late.FromNS)
	}
	return fmt.Sprintf("again and again, in %d of %d operations for certain", r.Late, r.Operations)
}

// windowOf is when time was lost. Times that were made up of durations are none.
func windowOf(w *straggler.Window) *Window {
	if w == nil {
		return nil
	}
	return &Window{w.FromNS, w.ToNS, uint64(w.First), uint64(w.Last), w.Operations, w.Of}
}

// slowNowAndThen adds links that cost the job time, and that are not slow for good.
func (o *slowness) slowNowAndThen(s *straggler.Job, late *straggler.Document) {
	d := o.d
	for i := range late.Links {
		l := &late.Links[i]
		if !l.Blamed || !l.Directed {
			continue
		}
		from := int32(slices.IndexFunc(s.Ranks, func(x straggler.Rank) bool { return x.ID == l.Ranks[0] }))
		to := int32(slices.IndexFunc(s.Ranks, func(x straggler.Rank) bool { return x.ID == l.Ranks[1] }))
		o.links = lookedFound
		if o.told(from, to, windowOf(l.Window)) {
			continue
		}
		f := d.about(ClassSlowLink, []int32{from})
		f.Peer, f.CostNS, f.Certain, f.Direction, f.Window = d.job.Ranks[to].ID, l.CostNS, true, "send", windowOf(l.Window)
		f.Sentence = fmt.Sprintf("the link from %s to %s is slow %s: it cost %s, %.1f %% of the time", d.nameOf(from), d.nameOf(to), l.Window.Often(late.FromNS), straggler.Duration(l.CostNS), 100*l.Share)
		f.Detail = append(f.Detail, late.Verdict)
		o.add(f)
	}
}

// told adds to a finding that names a link, or the NIC before it, when it cost time; false: there is none.
func (o *slowness) told(from, to int32, w *Window) bool {
	d := o.d
	for i := range o.findings {
		f := &o.findings[i]
		send := f.Class == ClassSlowLink && f.Ranks[0] == d.job.Ranks[from].ID && f.Peer == d.job.Ranks[to].ID ||
			f.Class == ClassSlowNIC && f.Direction == "send" && f.Ranks[0] == d.job.Ranks[from].ID
		if send || f.Class == ClassSlowNIC && f.Direction == "receive" && f.Ranks[0] == d.job.Ranks[to].ID {
			f.Window = w
			return true
		}
	}
	return false
}

// about begins a finding that is about no one operation.
func (d *dossier) about(class string, ranks []int32) *Finding {
	f := &Finding{Class: class, Channel: -1, NIC: -1, Ranks: []string{}, Hosts: []string{}, Waiting: []string{}, Detail: []string{}}
	for _, r := range ranks {
		f.Ranks = append(f.Ranks, d.job.Ranks[r].ID)
		if h := d.job.Ranks[r].Host; h != "" && !slices.Contains(f.Hosts, h) {
			f.Hosts = append(f.Hosts, h)
		}
	}
	return f
}

// lookForLinks looks for links on which steps take longer than on others.
func (o *slowness) lookForLinks() {
	d := o.d
	all := dividing.Links(d.job)
	all = slices.DeleteFunc(all, func(l dividing.Link) bool { return l.Steps < leastSteps || l.Ops < leastEvents })
	if len(all) < 4 {
		o.advise("record at level 3 (PRLX_NCCL_LEVEL=3): how fast links are is told by the steps of proxies, of which there are some between hosts only")
		return
	}
	o.links = lookedNone
	first, last := int64(0), d.end
	for _, r := range d.job.Recordings {
		if first == 0 || r.FirstNS < first {
			first = r.FirstNS
		}
	}
	usual := share(all)
	slow := func(l *dividing.Link) bool {
		above, n := l.Above(slowTimes)
		return chance(above, n, usual)*float64(len(all)) < leastChance && l.Times >= slowTimes && l.Quarter() >= leastTimes && float64(l.Excess) >= leastShare*float64(d.busyNS(first, last))
	}
	n := 0
	for i := range all {
		if all[i].Times >= slowTimes {
			n++
		}
	}
	switch {
	case n == 0:
		return
	case float64(n) > mostSlow*float64(len(all)):
		o.notes = append(o.notes, fmt.Sprintf("%d of %d links are slower than the middle one by half or more: they are of two kinds, and none is called slow", n, len(all)))
		return
	}
	taken := map[int]bool{}
	for _, side := range []struct {
		of        func(l *dividing.Link) (own, other int32)
		direction string
	}{
		{func(l *dividing.Link) (int32, int32) { return l.FromRank, l.ToRank }, "send"},
		{func(l *dividing.Link) (int32, int32) { return l.ToRank, l.FromRank }, "receive"},
	} {
		o.nics(all, slow, side.of, side.direction, taken)
	}
	for i := range all {
		if l := &all[i]; !taken[i] && slow(l) {
			o.slowLink(l)
		}
	}
}

// share is how many of all operations over links take long.
func share(all []dividing.Link) float64 {
	long, of := 0, 0
	for i := range all {
		above, n := all[i].Above(slowTimes)
		long, of = long+above, of+n
	}
	return (float64(long) + 1) / (float64(of) + 2)
}

// chance bounds how likely it is that so many of n operations of a link take long, were it like the others (Chernoff).
func chance(above, n int, usual float64) float64 {
	x := float64(above) / float64(max(n, 1))
	if x <= usual {
		return 1
	}
	far := x * math.Log(x/usual)
	if x < 1 {
		far += (1 - x) * math.Log((1-x)/(1-usual))
	}
	return math.Exp(-float64(n) * far)
}

// busyNS is the time in which the job did anything: without the silence at its end.
func (d *dossier) busyNS(first, last int64) int64 {
	moved := first
	for i := range d.ext {
		moved = max(moved, d.ext[i].MovedNS)
	}
	return max(min(moved, last)-first, 1)
}

// nics finds ranks all of whose links in one direction are slow, to two others at least, while not all are in the other direction.
func (o *slowness) nics(all []dividing.Link, slow func(*dividing.Link) bool, of func(*dividing.Link) (int32, int32), direction string, taken map[int]bool) {
	d := o.d
	type tally struct {
		links, slow int
		peers       []int32
		excess      int64
		back, bad   int // links in the other direction
	}
	by := map[int32]*tally{}
	at := func(r int32) *tally {
		if by[r] == nil {
			by[r] = &tally{}
		}
		return by[r]
	}
	for i := range all {
		l := &all[i]
		own, other := of(l)
		t := at(own)
		t.links++
		is := slow(l)
		if is {
			t.slow++
			t.excess += l.Excess
			if !slices.Contains(t.peers, other) {
				t.peers = append(t.peers, other)
			}
		}
		back := at(other)
		back.back++
		if is {
			back.bad++
		}
	}
	ranks := make([]int32, 0, len(by))
	for r := range by {
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	for _, r := range ranks {
		t := by[r]
		if t.slow < t.links || len(t.peers) < 2 || t.back > 0 && t.bad == t.back {
			continue
		}
		f := d.about(ClassSlowNIC, []int32{r})
		f.Direction, f.CostNS, f.Certain = direction, t.excess, true
		f.Sentence = fmt.Sprintf("all %d links over which %s %ss are slow, to %d others: its NIC, or what is before it, is slow in that direction", t.links, d.nameOf(r), direction, len(t.peers))
		if direction == "receive" {
			f.Sentence = fmt.Sprintf("all %d links over which %s receives are slow, from %d others: its NIC, or what is before it, is slow in that direction", t.links, d.nameOf(r), len(t.peers))
		}
		for i := range all {
			if own, _ := of(&all[i]); own == r {
				taken[i] = true
				f.Detail = append(f.Detail, said(&all[i]))
			}
		}
		o.links = lookedFound
		o.add(f)
	}
}

func said(l *dividing.Link) string {
	s := fmt.Sprintf("from rank %s to rank %s on channel %d: %.3g GB/s, a step takes %.1f times as long as on the middle link", l.From, l.To, l.Channel, float64(l.Rate)/1e9, l.Times)
	if l.NIC >= 0 {
		s += fmt.Sprintf(" (NIC %d)", l.NIC)
	}
	return s
}

func (o *slowness) slowLink(l *dividing.Link) {
	d := o.d
	f := d.about(ClassSlowLink, []int32{l.FromRank})
	f.Peer, f.Channel, f.NIC, f.CostNS, f.Certain, f.Direction = l.To, l.Channel, l.NIC, l.Excess, true, "send"
	f.Sentence = fmt.Sprintf("the link from %s to %s is slow on channel %d: a step takes %.1f times as long as on the middle link, %.3g GB/s", d.nameOf(l.FromRank), d.nameOf(l.ToRank), l.Channel, l.Times, float64(l.Rate)/1e9)
	if l.NIC >= 0 {
		f.Sentence += fmt.Sprintf(" (NIC %d)", l.NIC)
	}
	o.links = lookedFound
	o.add(f)
}

package straggler

import (
	"cmp"
	"fmt"
	"slices"
)

// How much time did the job lose beyond its own noise, and who is to be named for it? Chance says who is late too often; what is rare is never too
// often, and three pauses can cost a tenth of a run. So each operation is held against what operations of its class lose usually: what it loses
// far beyond that is a loss, and whoever caused losses of LostShare of the run is blamed, be it by one operation. Losses that nobody is
// blamed for keep the verdict open where they come to as much.

// LostShare is the part of the run that losses must come to, to be somebody's fault or to keep the verdict open.
const LostShare = 0.02

const (
	// noiseShare and noiseTimes say what is noise: so many times what this share of the operations of a class lose at most. Of exponential times one in 3,000
	// is beyond, of log-normal ones with a sigma of 1 one in 150, and these are of no account for a run.
	noiseShare = 0.8
	noiseTimes = 5 // times what that share of the operations lose at most, beyond which a loss is no noise
	// noiseWindows is into how many parts in time the operations of a class are divided: a part that is bad throughout shall not pass for noise, so a quiet
	// one counts.
	noiseWindows = 6
	// leastRun is how many operations a job must have for what is rare to be somebody's fault: of fewer, one that takes twice as long is LostShare of all.
	leastRun = int(1 / LostShare)
	// leastAlike is how many operations a class must have to have a noise of its own, and a job to be judged.
	leastAlike = 8
)

// opLoss is what an operation lost.
type opLoss struct {
	own       int64 // by how much longer than usual a giver took before it, beyond the middle one, as far as somebody waited for it: no clock has a part in this
	event     int32 // that of this giver; -1 nobody
	middle    int64 // by how much longer than usual the middle one took before it
	alone     int64 // by how much longer than usual the one stayed in it that stayed shortest, so waited for nobody: neither has one in this
	transfer  int64 // by how much longer than usual somebody stayed in it when all were there
	first     bool  // of its class: connections are made
	beginning bool  // the job begins: all take longer before it, and differ by as much
}

// noise is what operations lose usually, by operation.
type noise struct{ own, middle, alone, transfer []int64 }

// losses are those of all operations, and what is noise in them.
type losses struct {
	ops   []opLoss
	noise noise
}

// losses measures what operations lost.
func (m *measures) losses(gate []passage) *losses {
	j := m.job
	l := &losses{ops: make([]opLoss, len(j.Ops))}
	shortest, longest, transfer := make([]int64, len(j.Ops)), make([]int64, len(j.Ops)), make([]int64, len(j.Ops))
	for k := range shortest {
		shortest[k] = -1
	}
	for e := range j.Events {
		x := &j.Events[e]
		took := max(x.LeaveNS-x.EnterNS, 0)
		if longest[x.Op] = max(longest[x.Op], took); shortest[x.Op] < 0 || took < shortest[x.Op] {
			shortest[x.Op] = took
		}
		transfer[x.Op] = max(transfer[x.Op], j.transferOf(int32(e), &gate[e]))
	}
	order := j.inTime()
	alone, together := j.usually(order, shortest), j.usually(order, transfer)
	seen := map[string]bool{}
	for _, k := range order {
		o, class := &l.ops[k], j.Ops[k].Class
		o.first, seen[class] = !seen[class], true
		o.alone, o.transfer = max(shortest[k]-alone[class], 0), max(transfer[k]-together[class], 0)
		m.ownLoss(k, o, longest[k]-shortest[k])
	}
	m.beginning(l, order)
	l.noise.own = j.noise(order, func(k int32) int64 { return l.ops[k].own })
	l.noise.middle = j.noise(order, func(k int32) int64 { return l.ops[k].middle })
	l.noise.alone = j.noise(order, func(k int32) int64 { return l.ops[k].alone })
	l.noise.transfer = j.noise(order, func(k int32) int64 { return l.ops[k].transfer })
	return l
}

// ownLoss looks for the giver that took longer than usual by most. Nobody waited longer for it than waited says.
func (m *measures) ownLoss(k int32, o *opLoss, waited int64) {
	o.event = -1
	var over []int64
	for _, g := range m.job.Ops[k].Gates {
		over = over[:0]
		worst := int32(-1)
		for _, e := range g.Givers {
			if m.before[e] < 0 {
				continue
			}
			over = append(over, m.over[e])
			if worst < 0 || m.over[e] > m.over[worst] {
				worst = e
			}
		}
		if worst < 0 {
			continue
		}
		mid := int64(0)
		if len(over) > 1 {
			mid = max(middle(over), 0)
		}
		if ns := min(m.over[worst]-mid, waited); ns > o.own || o.event < 0 {
			o.own, o.event, o.middle = max(ns, 0), worst, mid
		}
	}
}

// longBeginning is by how much longer than usual the middle rank takes before an operation, as a part, while a job begins: kernels are compiled and caches are
// filled, on one rank sooner than on the other.
const longBeginning = 0.5

// blindBeginning is with how many operations a job begins where that is not seen.
const blindBeginning = 3

// beginning marks the operations with which the job begins: the first one, before which nothing is known, and those that follow it as long as all take longer
// than usual, no more than a tenth of all.
func (m *measures) beginning(l *losses, order []int32) {
	for i, k := range order {
		o := &l.ops[k]
		if m.job.ByDurations && i < blindBeginning {
			o.beginning = true
			continue
		}
		usual := int64(0)
		if o.event >= 0 {
			for _, p := range m.pieces(o.event) {
				usual += m.usual[p.what]
			}
		}
		if i > len(order)/10 || o.event >= 0 && float64(o.middle) < longBeginning*float64(usual) {
			return
		}
		o.beginning = true
	}
}

// inTime lists operations by when the last of them entered.
func (j *Job) inTime() []int32 {
	entered, order := make([]int64, len(j.Ops)), make([]int32, len(j.Ops))
	for i := range j.Events {
		x := &j.Events[i]
		entered[x.Op] = max(entered[x.Op], x.EnterNS)
	}
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(entered[a], entered[b]) })
	return order
}

// usually is the median of a value of operations, by class.
func (j *Job) usually(order []int32, of []int64) map[string]int64 {
	all := map[string][]int64{}
	for _, k := range order {
		class := j.Ops[k].Class
		all[class] = append(all[class], of[k])
	}
	out := map[string]int64{}
	for class, list := range all {
		out[class] = middle(list)
	}
	return out
}

// noise says of each operation what its class loses usually. Classes that are too small have that of all.
func (j *Job) noise(order []int32, of func(k int32) int64) []int64 {
	all := map[string][]int64{}
	const anybody = "\x00"
	for _, k := range order {
		class := j.Ops[k].Class
		all[class], all[anybody] = append(all[class], of(k)), append(all[anybody], of(k))
	}
	limit := map[string]int64{}
	for class, list := range all {
		limit[class] = quietly(list)
	}
	out := make([]int64, len(j.Ops))
	for k := range out {
		class := j.Ops[k].Class
		if len(all[class]) < leastAlike {
			class = anybody
		}
		out[k] = limit[class]
	}
	return out
}

// quietly is what a list of losses loses usually, in the quieter third of its parts.
func quietly(list []int64) int64 {
	parts := min(max(len(list)/leastAlike, 1), noiseWindows)
	var each []int64
	for i := range parts {
		part := slices.Sorted(slices.Values(list[i*len(list)/parts : (i+1)*len(list)/parts]))
		each = append(each, part[int(noiseShare*float64(len(part)-1))])
	}
	slices.Sort(each)
	return noiseTimes * each[(len(each)-1)/3]
}

// beyond is what of a lateness is beyond so many times the noise; 0: it is not.
func (l *losses) beyond(late *lateness, times int64) int64 {
	o, noise := &l.ops[late.op], l.noise.own[late.op]
	ns := late.costNS - o.middle
	if late.transfer {
		ns, noise = min(late.costNS, o.transfer), l.noise.transfer[late.op]
	}
	if late.handed || o.beginning || late.transfer && o.first || ns <= times*noise {
		return 0
	}
	return ns
}

// Of a single loss, however large, chance gives all to one. So somebody is to blame for mostOfAll of what all lost beyond noise, too, as far as it is farBeyond.
const (
	mostOfAll = 0.5 // of what all lost beyond noise
	farBeyond = 2   // times the noise
)

// costly says of each of several, ranks or links, whether what it lost beyond noise is its fault, however rare it was: it is LostShare of the job, and
// more than chance gives to anybody, or most of what all of them lost.
func (f *finder) costly(late []lateness, lost *losses, parties int, of func(l *lateness) int) []bool {
	out, sums, far, all := make([]bool, parties), make([]int64, parties), make([]int64, parties), int64(0)
	if parties == 0 || len(f.job.Ops) < leastRun {
		return out
	}
	everybody := make([]int32, parties)
	for i := range everybody {
		everybody[i] = int32(i)
	}
	var costs []int64
	for i := range late {
		if at := of(&late[i]); at >= 0 {
			if ns := lost.beyond(&late[i], 1); ns > 0 {
				sums[at], all, costs = sums[at]+ns, all+ns, append(costs, ns)
				far[at] += lost.beyond(&late[i], farBeyond)
			}
		}
	}
	least := LostShare * float64(f.length)
	if float64(all) < least || all == 0 {
		return out
	}
	limit := float64(chance(costs, make([]int, len(costs)), [][]int32{everybody}, parties)) * aboveChance
	for i, ns := range sums {
		out[i] = float64(ns) >= max(least, limit) || float64(far[i]) >= max(least, mostOfAll*float64(all))
	}
	return out
}

// Unblamed is what operations lost far beyond what those of their class lose usually, and nobody is blamed for.
type Unblamed struct {
	CostNS     int64   `json:"cost_ns"`
	Share      float64 `json:"share"`       // of the time
	Operations int     `json:"operations"`  // in which it was lost
	LeastShare float64 `json:"least_share"` // from here on it keeps the verdict open
	Window     *Window `json:"window"`      // null: nothing was lost
}

// unblamed adds up losses on the chain that nobody is blamed for.
func (f *finder) unblamed(l *losses, late []lateness, chain []hop) {
	u := &f.doc.Unblamed
	u.LeastShare = LostShare
	cost, blamed := map[int32]int64{}, map[int32][2]bool{} // blamed: for a rank, for a link
	for _, h := range chain {
		for _, e := range [2]int32{h.entered, h.left} {
			if k := f.job.Events[e].Op; f.counts[k] {
				cost[k] = 0
			}
		}
	}
	transfer := map[int32]int64{}
	for i := range late {
		x := &late[i]
		b := blamed[x.op]
		if x.transfer {
			transfer[x.op] = max(transfer[x.op], min(x.costNS, l.ops[x.op].transfer))
			b[1] = b[1] || f.slow[f.job.linkFor(x.op, x.costNS)]
		} else {
			b[0] = b[0] || f.ranks[f.job.Events[x.event].Rank].Blamed
		}
		blamed[x.op] = b
	}
	w := window{f: f}
	for k := range cost {
		o, b := &l.ops[k], blamed[k]
		if o.beginning {
			continue
		}
		lost := int64(0)
		if o.own > l.noise.own[k] && !b[0] && !f.ranks[f.job.Events[o.event].Rank].Blamed {
			lost = o.own
		}
		if o.middle > l.noise.middle[k] {
			lost += o.middle
		}
		if !o.first && !b[1] {
			ns := int64(0)
			if o.alone > l.noise.alone[k] {
				ns = o.alone
			}
			if transfer[k] > l.noise.transfer[k] {
				ns = max(ns, transfer[k])
			}
			lost += ns
		}
		if lost > 0 {
			u.CostNS, u.Operations = u.CostNS+lost, u.Operations+1
			w.add(k, lost)
		}
	}
	u.Share, u.Window = f.share(u.CostNS), w.most(len(cost))
}

// owns fills by how much longer each rank took than the middle one, where it was the one that took longest.
func (f *finder) owns(l *losses) {
	for k := range l.ops {
		if o := &l.ops[k]; o.event >= 0 && f.counts[k] && !o.beginning {
			f.ranks[f.job.Events[o.event].Rank].OwnNS += o.own
		}
	}
}

// unsure is a rank that took longer than the others again and again by its own clock, at a cost that would count, while clocks do not say whether anybody waited
// for it; -1: there is none.
func (f *finder) unsure(surely []bool) int32 {
	worst := int32(-1)
	for r := range f.ranks {
		c := &f.ranks[r]
		if surely[r] && !c.Blamed && float64(c.OwnNS) >= LostShare*float64(f.length) && (worst < 0 || c.OwnNS > f.ranks[worst].OwnNS) {
			worst = int32(r)
		}
	}
	return worst
}

// Window is from when to when most of a loss was, and in how many operations.
type Window struct {
	FromNS     int64 `json:"from_ns"`
	ToNS       int64 `json:"to_ns"`
	First      int   `json:"first"`      // which operation of its kind the first one was
	Last       int   `json:"last"`       // and the last one
	Operations int   `json:"operations"` // in which it was lost
	Of         int   `json:"of"`         // that there were
}

// Rare reports whether most was lost in a third of the operations at most.
func (w *Window) Rare() bool { return w != nil && 3*w.Operations <= w.Of }

// Often says how often and when, in words that follow "late" or "slow"; fromNS is when the job began.
func (w *Window) Often(fromNS int64) string {
	switch {
	case w == nil:
		return ""
	case w.Operations == 1:
		return fmt.Sprintf("in one of %d operations, %s after the first began", w.Of, Duration(w.FromNS-fromNS))
	}
	return fmt.Sprintf("in %d of %d operations, %s to %s after the first began", w.Operations, w.Of, Duration(w.FromNS-fromNS), Duration(w.ToNS-fromNS))
}

// windowShare is what is most of a loss.
const windowShare = 0.9

// window gathers the losses of somebody.
type window struct {
	f    *finder
	all  []lateness
	cost int64
}

func (w *window) add(op int32, ns int64) {
	w.all, w.cost = append(w.all, lateness{op: op, costNS: ns}), w.cost+ns
}

// most is the window of those that cost most, windowShare of all together; nil: nothing was lost.
func (w *window) most(of int) *Window {
	if w.cost <= 0 {
		return nil
	}
	slices.SortFunc(w.all, func(a, b lateness) int { return cmp.Or(cmp.Compare(b.costNS, a.costNS), cmp.Compare(a.op, b.op)) })
	out, sum := &Window{Of: of}, int64(0)
	for _, x := range w.all {
		if float64(sum) >= windowShare*float64(w.cost) {
			break
		}
		sum += x.costNS
		from, to := w.f.spans[x.op][0], w.f.spans[x.op][1]
		n := w.f.job.Ops[x.op].Occurrence
		if out.Operations == 0 {
			out.FromNS, out.ToNS, out.First, out.Last = from, to, n, n
		}
		out.FromNS, out.ToNS, out.First, out.Last = min(out.FromNS, from), max(out.ToNS, to), min(out.First, n), max(out.Last, n)
		out.Operations++
	}
	return out
}

// windows says of each rank that is blamed, and of each link, when.
func (f *finder) windows(late []lateness) {
	ranks, links := make([]window, len(f.ranks)), map[link]*window{}
	for i := range late {
		l := &late[i]
		if l.costNS <= 0 {
			continue
		}
		if !l.transfer {
			ranks[f.job.Events[l.event].Rank].add(l.op, l.costNS)
			continue
		}
		at := f.job.linkFor(l.op, l.costNS)
		if links[at] == nil {
			links[at] = &window{f: f}
		}
		links[at].add(l.op, l.costNS)
	}
	for r := range ranks {
		ranks[r].f = f
		f.ranks[r].Window = ranks[r].most(f.ranks[r].Operations)
	}
	for i := range f.doc.Links {
		if w := links[f.linkOrder[i]]; w != nil {
			f.doc.Links[i].Window = w.most(f.doc.Operations.Count)
		}
	}
}

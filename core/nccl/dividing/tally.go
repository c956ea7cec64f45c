package dividing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// partNames are the parts in the order of Parts.
var partNames = [...]string{"launch", "scheduling", "waiting", "kernel", "proxy", "credit", "network", "flush"}

const (
	partScheduling = 1
	partWaiting    = 2
	partKernel     = 3
	partNetwork    = 6
	partHeld       = len(partNames)
)

// values are the parts in the order of partNames, and for how long the operation held the rank: the parts from waiting on. What comes before,
// the host's launch and the queue of the GPU, may pass while the GPU works on what was before.
type values [partHeld + 1]float64

func (p *Parts) values() values {
	v := values{
		float64(p.LaunchNS), float64(p.SchedulingNS), float64(p.WaitingNS), float64(p.KernelNS), float64(p.ProxyNS), float64(p.CreditNS), float64(p.NetworkNS), float64(p.FlushNS),
	}
	for _, x := range v[partWaiting:partHeld] {
		v[partHeld] += x
	}
	return v
}

func (v *values) add(o values, times float64) {
	for i := range v {
		v[i] += times * o[i]
	}
}

// tallyKey is what two runs have in common: a communicator by its name, or by its ranks where it has none, a function, and a size.
type tallyKey struct {
	comm, function, datatype string
	bytes                    int64
}

// tally is where the time of the operations of one key went in one run.
type tally struct {
	key     tallyKey
	comm    string // as the run calls it
	count   int
	divided []whole
	ops     []values // of the divided ones that are not unusual, in order: of a rank, in the mean
	byRank  map[string]*rankTally
	bounds  values // of the clocks: by how much each part can be off, in the mean
	unbound bool   // the clocks of hosts are not related in some
	how     map[string]int
}

// rankTally is one rank's share.
type rankTally struct {
	time   values
	times  int
	last   int     // it began last, for certain
	caused float64 // for which all others waited for it in these, ns
}

// tallies adds up a run by key, in the order in which keys come up.
func (d *division) tallies() []*tally {
	names := commNames(d.job)
	at := map[tallyKey]*tally{}
	var out []*tally
	for mi := range d.job.Matches {
		m := &d.job.Matches[mi]
		p := &d.job.Parts[m.From]
		rec, op := d.job.Recordings[p.Recording], d.job.Op(p)
		k := tallyKey{names[m.Comm], m.Func, rec.Name(op.Datatype), d.bytes(m)}
		t := at[k]
		if t == nil {
			t = &tally{key: k, comm: d.job.Comms[m.Comm].Name, byRank: map[string]*rankTally{}, how: map[string]int{}}
			at[k] = t
			out = append(out, t)
		}
		t.count++
		if w, ok := d.whole(int32(mi)); ok {
			t.how[how(rec, op)]++
			t.divided = append(t.divided, w)
		}
	}
	return out
}

// how is in which way NCCL executed an operation.
func how(r *operation.Recording, op *operation.Op) string {
	var list []string
	for _, s := range []string{r.Name(op.Algorithm), r.Name(op.Protocol)} {
		if s != "" {
			list = append(list, s)
		}
	}
	if op.Channels > 0 {
		list = append(list, fmt.Sprintf("%d channels", op.Channels))
	}
	return strings.Join(list, " ")
}

// mostly is the way in which most operations were executed.
func (t *tally) mostly() string {
	best, times := "", 0
	for h, n := range t.how {
		if n > times || n == times && h < best {
			best, times = h, n
		}
	}
	return best
}

// timesUsual is how much longer than usual for their kind operations take that are left out: the first ones of a job, and those in which
// something else happened.
const timesUsual = 3

// add adds up the operations of a kind, and returns how many were left out.
func (d *division) add(t *tally) (unusual int) {
	totals := make([]float64, len(t.divided))
	for i := range t.divided {
		totals[i] = d.mean(&t.divided[i])[partHeld]
	}
	sorted := slices.Clone(totals)
	slices.Sort(sorted)
	for i := range t.divided {
		if len(sorted) > 2 && totals[i] > timesUsual*sorted[len(sorted)/2] {
			unusual++
			continue
		}
		d.one(t, &t.divided[i])
	}
	t.divided = nil
	for k := range t.bounds {
		t.bounds[k] /= float64(max(len(t.ops), 1))
	}
	return unusual
}

// mean is where the time of a rank in an operation went.
func (d *division) mean(w *whole) values {
	m := &d.job.Matches[w.Match]
	mean := values{}
	for i := m.From; i < m.To; i++ {
		p := d.parts(w, i)
		mean.add(p.values(), 1/float64(m.To-m.From))
	}
	return mean
}

// one adds one operation.
func (d *division) one(t *tally, w *whole) {
	m := &d.job.Matches[w.Match]
	n := float64(m.To - m.From)
	own := 0.0 // how far the clocks of GPUs can be off their hosts'
	for i := m.From; i < m.To; i++ {
		p := d.parts(w, i)
		r := d.rankOf(t, i)
		r.times++
		r.time.add(p.values(), 1)
		if b := d.ext[i].BoundNS; b >= 0 {
			own += float64(b) / n
		} else { // it begins and ends when the host saw that
			own += float64(operation.SeenNS) / n
			t.bounds[partHeld] += float64(operation.SeenNS) / n
		}
	}
	t.ops = append(t.ops, d.mean(w))
	t.bounds[partScheduling] += own
	if w.BoundNS < 0 {
		t.unbound = true
		return
	}
	for _, k := range []int{partWaiting, partKernel, partNetwork} { // what lies before and after the last rank began
		t.bounds[k] += 2 * float64(w.BoundNS)
	}
	if w.LeadNS > 2*w.BoundNS {
		r := d.rankOf(t, w.Last)
		r.last++
		r.caused += float64(w.LeadNS)
	}
}

func (d *division) rankOf(t *tally, part int32) *rankTally {
	id := d.job.Ranks[d.job.Parts[part].Rank].ID
	r := t.byRank[id]
	if r == nil {
		r = &rankTally{}
		t.byRank[id] = r
	}
	return r
}

// commNames are what communicators are called in every run: by the program, else by the ranks that they have. Of several that are called the same,
// each is the n-th.
func commNames(job *operation.Job) []string {
	out := make([]string, len(job.Comms))
	seen := map[string]int{}
	for i := range job.Comms {
		c := &job.Comms[i]
		number := fmt.Sprintf("%#x", c.ID)
		name := strings.TrimSuffix(c.Name, " ("+number+")")
		if name == number {
			name = ""
			for k := range c.Seats {
				id := "?"
				if r := c.Seats[k].Rank; r >= 0 {
					id = job.Ranks[r].ID
				}
				name += "," + id
			}
		}
		name = fmt.Sprintf("%s of %d", name, c.Ranks)
		seen[name]++
		if n := seen[name]; n > 1 {
			name += fmt.Sprintf(" #%d", n)
		}
		out[i] = name
	}
	return out
}

// spread is a mean, and how far off it is by chance: the standard error of the means of stretches of operations, which hold for operations that
// are like those before them too.
type spread struct {
	mean, error values
	n           int // stretches
}

const mostStretches = 16

func spreadOf(ops []values) spread {
	var s spread
	s.n = min(len(ops), mostStretches)
	if s.n == 0 {
		return s
	}
	means := make([]values, s.n)
	for i := range means {
		from, to := i*len(ops)/s.n, (i+1)*len(ops)/s.n
		for _, v := range ops[from:to] {
			means[i].add(v, 1/float64(to-from))
		}
	}
	for _, v := range ops {
		s.mean.add(v, 1/float64(len(ops)))
	}
	if s.n < 2 {
		return s
	}
	middle := values{}
	for i := range means {
		middle.add(means[i], 1/float64(s.n))
	}
	for k := range s.error {
		sum := 0.0
		for i := range means {
			x := means[i][k] - middle[k]
			sum += x * x
		}
		s.error[k] = math.Sqrt(sum / float64(s.n-1) / float64(s.n))
	}
	return s
}

// fewStretches is from how many on a spread says anything.
const fewStretches = 4

// chance is by how much two means differ by chance in one comparison of a thousand at most; negative: too few operations to tell.
func chance(a, b *spread, k int) float64 {
	if a.n < fewStretches || b.n < fewStretches {
		return -1
	}
	const z = 3.29 // two-sided, 0.001
	free := float64(min(a.n, b.n) - 1)
	t := z + (z*z*z+z)/(4*free) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*free*free) // Student's t by that of the normal distribution
	return t * math.Hypot(a.error[k], b.error[k])
}

// sortedRanks are the ranks of both runs, numbers before names.
func sortedRanks(in map[string]bool) []string {
	out := make([]string, 0, len(in))
	for id := range in {
		out = append(out, id)
	}
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
	return out
}

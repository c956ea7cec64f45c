package measuring

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

type besideKey struct {
	class  int32
	name   uint32
	stream string
}

type besideSum struct {
	count, ns, hidden int64
	communication     bool
}

// besides attributes the kernels of other streams to the step in whose time they start.
func (f *measurer) besides() {
	r := f.r
	sums := map[besideKey]*besideSum{}
	for from := 0; from < len(r.Steps); {
		to := from
		for to < len(r.Steps) && r.Steps[to].Track == r.Steps[from].Track {
			to++
		}
		if t := r.Tracks[r.Steps[from].Track]; t.Index != nil {
			f.beside(t, r.Steps[from:to], sums)
		}
		from = to
	}
	keys := make([]besideKey, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b besideKey) int {
		return cmp.Or(cmp.Compare(sums[b].ns, sums[a].ns), cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name), cmp.Compare(a.stream, b.stream))
	})
	for _, k := range keys {
		c, s := r.Classes[k.class], sums[k]
		if len(c.Beside) == maxBeside {
			continue
		}
		b := cycledoc.BesideSlot{
			Name: r.Trace.Names[k.name], Stream: k.stream, Communication: s.communication, Count: s.count,
			PerRepetition: float64(s.count) / float64(c.Count), MeanNS: float64(s.ns) / float64(s.count),
		}
		if s.ns > 0 {
			b.HiddenShare = float64(s.hidden) / float64(s.ns)
		}
		c.Beside = append(c.Beside, b)
	}
}

// beside goes once through a device: kernels of the track tell what is covered, the others are given to steps.
func (f *measurer) beside(t *structure.Track, steps []structure.Step, sums map[besideKey]*besideSum) {
	r := f.r
	s := r.Seq(t)
	cover := &union{r: r, t: t}
	own, at := 0, 0
	for i := range s.Name {
		if own < t.N && t.At(own) == i {
			own++
			continue
		}
		start := s.StartNS[i]
		for at < len(steps) && steps[at].StartNS+steps[at].WallNS <= start {
			at++
		}
		if at == len(steps) {
			return
		}
		if steps[at].StartNS > start || steps[at].Class < 0 {
			continue
		}
		stream := &s.Streams[s.Stream[i]]
		k := besideKey{steps[at].Class, s.Name[i], stream.Name}
		sum := sums[k]
		if sum == nil {
			sum = &besideSum{communication: stream.Communication}
			sums[k] = sum
		}
		sum.count++
		sum.ns += s.DurNS(i)
		sum.hidden += cover.with(start, s.EndNS(i))
	}
}

// union is the time in which a track is busy, asked in order of start.
type union struct {
	r  *structure.Run
	t  *structure.Track
	at int // first kernel that ends behind the last query's start
}

// with is how much of [from, to) is covered.
func (u *union) with(from, to int64) int64 {
	s := u.r.Seq(u.t)
	for u.at < u.t.N && s.EndNS(u.t.At(u.at)) <= from {
		u.at++
	}
	sum, reach := int64(0), from
	for i := u.at; i < u.t.N && s.StartNS[u.t.At(i)] < to; i++ {
		end := min(to, s.EndNS(u.t.At(i)))
		if end > reach {
			sum += end - max(reach, s.StartNS[u.t.At(i)])
			reach = end
		}
	}
	return sum
}

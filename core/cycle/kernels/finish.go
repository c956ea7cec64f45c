package kernels

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/work"
)

// finisher makes a Trace of what was gathered. Columns are built one after the other, and what they were made of goes at once, so that the
// peak stays near one copy.
type finisher struct {
	ctx     context.Context
	g       *gather
	t       *Trace
	devices string   // how to record what devices execute
	seqOf   []int    // by lane, -1 none
	stream  []uint16 // by lane: place in Sequence.Streams
	order   [][]uint32
	rank    []uint32 // of names, by their numbers of the gathering
	corr    [][]uint32
	main    []uint16 // the busiest stream of each sequence

	settled    []settled
	graphMarks int
}

func (g *gather) finish(ctx context.Context, format, devices string) (*Trace, error) {
	f := &finisher{ctx: ctx, g: g, t: &Trace{Path: g.Path, Format: format}, devices: devices}
	if len(g.Origins) > 0 {
		f.t.BaseNS = g.Origins[0].BaseNS
	}
	f.laneMarks()
	f.sequences()
	f.rankNames()
	if err := f.sort(); err != nil {
		return nil, err
	}
	if err := f.annotations(); err != nil {
		return nil, err
	}
	f.columns()
	f.graphs()
	f.settleMarks()
	f.conclude()
	return f.t, f.cancelled()
}

func (f *finisher) cancelled() error {
	if err := f.ctx.Err(); err != nil {
		return fault.FromIO(f.g.Path, err)
	}
	return nil
}

func (f *finisher) collect() {
	if f.g.Rows.Len() >= collectRows || f.t.Kernels() >= collectRows {
		runtime.GC()
	}
}

// laneMarks turns lanes of steps and modules into marks.
func (f *finisher) laneMarks() {
	g := f.g
	for i := range g.Lanes {
		if g.Lanes[i].Marks == "" {
			continue
		}
		for k := range uint32(g.Rows.Len()) {
			if int(g.Rows.Lane.At(k)) == i {
				start := g.Rows.Start.At(k)
				m := work.RawMark{Kind: g.Lanes[i].Marks, Process: g.Lanes[i].Process, Lane: uint16(i), Start: start, End: start + g.Rows.DurNS(k)*psPerNS}
				if g.Mark(m, []byte(g.Names.All[g.Rows.Name.At(k)])) != nil {
					g.Losses.LostMarks++
				}
			}
		}
	}
}

// sequences makes one sequence for every device that has kernels, and says which lanes are which streams of it.
func (f *finisher) sequences() {
	g := f.g
	type key struct {
		rank         int
		host, device string
	}
	keyOf := func(l *work.Lane) key {
		p := &g.Processes[l.Process]
		device := p.Device
		if l.Device != "" {
			device = l.Device
		}
		return key{p.Rank, p.Host, device}
	}
	seen := map[key]int{}
	var keys []key
	for i := range g.Lanes {
		if l := &g.Lanes[i]; l.Rows > 0 && !l.Skip {
			if k := keyOf(l); seen[k] == 0 {
				seen[k] = 1
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), lessNatural(a.host, b.host), lessNatural(a.device, b.device), strings.Compare(a.device, b.device))
	})
	for i, k := range keys {
		seen[k] = i
		f.t.Sequences = append(f.t.Sequences, Sequence{Rank: k.rank, Host: k.host, Device: k.device})
	}
	f.seqOf, f.stream = make([]int, len(g.Lanes)), make([]uint16, len(g.Lanes))
	lanes := make([][]int, len(keys))
	for i := range g.Lanes {
		f.seqOf[i] = -1
		if l := &g.Lanes[i]; !l.Skip {
			if s, ok := seen[keyOf(l)]; ok {
				f.seqOf[i] = s
				if l.Rows > 0 {
					lanes[s] = append(lanes[s], i)
				}
			}
		}
	}
	f.main = make([]uint16, len(keys))
	for s, list := range lanes {
		f.streams(s, list)
	}
}

// streams lists the streams of a sequence in order of their names. Lanes of one name, in two documents, are one stream.
func (f *finisher) streams(s int, lanes []int) {
	g, seq := f.g, &f.t.Sequences[s]
	slices.SortFunc(lanes, func(a, b int) int {
		return cmp.Or(lessNatural(g.Lanes[a].Stream, g.Lanes[b].Stream), strings.Compare(g.Lanes[a].Stream, g.Lanes[b].Stream))
	})
	for _, i := range lanes {
		l := &g.Lanes[i]
		if n := len(seq.Streams); n == 0 || seq.Streams[n-1].Name != l.Stream {
			seq.Streams = append(seq.Streams, Stream{Name: l.Stream})
		}
		n := len(seq.Streams) - 1
		seq.Streams[n].Kernels += l.Rows
		f.stream[i] = uint16(n)
	}
	busiest := 0
	for i := range seq.Streams {
		if seq.Streams[i].Kernels > seq.Streams[busiest].Kernels {
			busiest = i
		}
	}
	f.main[s] = uint16(busiest)
}

// rankNames sorts the names of the kernels that are in sequences.
func (f *finisher) rankNames() {
	g := f.g
	used := make([]bool, len(g.Names.All))
	for b, block := range g.Rows.Name.Blocks {
		for i, n := range block {
			used[n] = used[n] || f.seqOf[g.Rows.Lane.Blocks[b][i]] >= 0
		}
	}
	var order []uint32
	for i, u := range used {
		if u {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(g.Names.All[a], g.Names.All[b]) })
	f.rank = make([]uint32, len(used))
	f.t.Names = make([]string, len(order))
	for i, n := range order {
		f.rank[n] = uint32(i)
		f.t.Names[i] = g.Names.All[n]
	}
}

// sort orders the kernels of every sequence.
func (f *finisher) sort() error {
	g := f.g
	f.order = make([][]uint32, len(f.t.Sequences))
	for s := range f.t.Sequences {
		n := 0
		for _, st := range f.t.Sequences[s].Streams {
			n += st.Kernels
		}
		f.order[s] = make([]uint32, 0, n)
	}
	for b, block := range g.Rows.Lane.Blocks {
		for i, l := range block {
			if s := f.seqOf[l]; s >= 0 {
				f.order[s] = append(f.order[s], uint32(b<<work.BlockBits+i))
			}
		}
	}
	for s := range f.order {
		if err := f.cancelled(); err != nil {
			return err
		}
		if !f.nearly(f.order[s]) {
			slices.SortFunc(f.order[s], f.compare)
		}
		if len(g.Origins) > 1 {
			f.unite(s)
		}
	}
	return nil
}

// unite leaves out kernels that several documents of a file have.
func (f *finisher) unite(s int) {
	g, order, n := f.g, f.order[s], 0
	document := func(k uint32) int { return g.Processes[g.Lanes[g.Rows.Lane.At(k)].Process].Document }
	for i, k := range order {
		if i > 0 && f.compare(order[n-1], k) == 0 && document(order[n-1]) != document(k) {
			g.Losses.Duplicates++
			f.t.Sequences[s].Streams[f.stream[g.Rows.Lane.At(k)]].Kernels--
			continue
		}
		order[n] = k
		n++
	}
	f.order[s] = order[:n]
}

// compare orders two kernels by what they are.
func (f *finisher) compare(a, b uint32) int {
	r := &f.g.Rows
	if x, y := r.Start.At(a), r.Start.At(b); x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Or(cmp.Compare(r.DurNS(a), r.DurNS(b)), cmp.Compare(f.rank[r.Name.At(a)], f.rank[r.Name.At(b)]), cmp.Compare(r.Corr.At(a), r.Corr.At(b)),
		cmp.Compare(f.stream[r.Lane.At(a)], f.stream[r.Lane.At(b)]))
}

// nearly sorts by insertion, for files that are all but in order, and gives up when it moves much.
func (f *finisher) nearly(order []uint32) bool {
	left := nearlyMoves * len(order)
	for i := 1; i < len(order); i++ {
		x := order[i]
		k := i
		for k > 0 && f.compare(order[k-1], x) > 0 {
			order[k] = order[k-1]
			k--
		}
		order[k] = x
		if left -= i - k; left < 0 {
			return false
		}
	}
	return true
}

// columns builds the columns of the sequences.
func (f *finisher) columns() {
	r := &f.g.Rows
	communicates := make([]bool, len(f.t.Names))
	for i, n := range f.t.Names {
		communicates[i] = collective(n)
	}
	f.each(func(s *Sequence, order []uint32) {
		s.Name = make([]uint32, len(order))
		s.Stream = make([]uint16, len(order))
		for i, k := range order {
			s.Name[i], s.Stream[i] = f.rank[r.Name.At(k)], f.stream[r.Lane.At(k)]
			if communicates[s.Name[i]] {
				s.Streams[s.Stream[i]].Collectives++
			}
		}
		for i := range s.Streams {
			st := &s.Streams[i]
			st.Communication = st.Collectives == st.Kernels && st.Kernels > 0
		}
	})
	r.Name.Drop()
	r.Lane.Drop()
	f.collect()
	base := f.baseNS()
	f.each(func(s *Sequence, order []uint32) {
		s.StartNS = make([]int64, len(order))
		for i, k := range order {
			s.StartNS[i] = base + floorNS(r.Start.At(k))
		}
	})
	r.Start.Drop()
	f.collect()
	f.each(func(s *Sequence, order []uint32) {
		s.dur = make([]uint32, len(order))
		for i, k := range order {
			if s.dur[i] = r.Dur.At(k); s.dur[i] == math.MaxUint32 {
				if s.long == nil {
					s.long = map[int]int64{}
				}
				s.long[i] = r.Long[k]
			}
		}
	})
	r.Dur.Drop()
	if r.Blocks.N > 0 {
		f.each(func(s *Sequence, order []uint32) {
			s.Blocks = make([]uint32, len(order))
			for i, k := range order {
				if int(k) < r.Blocks.N { // kernels behind the last one that said it
					s.Blocks[i] = r.Blocks.At(k)
				}
			}
		})
		r.Blocks.Drop()
	}
	if r.Scopes.N > 0 {
		owner := f.scopes()
		f.each(func(s *Sequence, order []uint32) {
			s.Owner = make([]uint32, len(order))
			for i, k := range order {
				if int(k) < r.Scopes.N {
					s.Owner[i] = owner[r.Scopes.At(k)]
				}
			}
		})
		r.Scopes.Drop()
	}
	f.corr = make([][]uint32, len(f.order))
	for s, order := range f.order { // in place: the order is not needed after this
		for i, k := range order {
			order[i] = r.Corr.At(k)
		}
		f.corr[s] = order
	}
	f.order = nil
	r.Corr.Drop()
	f.g.Launches.At.Drop()
	f.g.Launches.Corr.Drop()
	f.g.Launches.Process.Drop()
	f.collect()
}

// scopes makes owners of what recorders wrote beside kernels; the place in the list is the number in Rows.Scopes.
func (f *finisher) scopes() []uint32 {
	all := newOwners()
	out := make([]uint32, len(f.g.Scopes.All)+1)
	for i, text := range f.g.Scopes.All {
		out[i+1] = all.number(Owner{Path: scopePath(text)})
	}
	f.t.Owners = all.all
	return out
}

func (f *finisher) each(build func(s *Sequence, order []uint32)) {
	for i := range f.t.Sequences {
		build(&f.t.Sequences[i], f.order[i])
	}
}

// baseNS is what the picoseconds of all documents count from by now, in absolute ns.
func (f *finisher) baseNS() int64 {
	for i := range f.g.Origins {
		if o := &f.g.Origins[i]; o.Set {
			return o.AbsoluteNS
		}
	}
	return 0
}

func floorNS(ps int64) int64 {
	ns := ps / psPerNS
	if ps%psPerNS < 0 {
		ns--
	}
	return ns
}

// conclude fills in counts and warnings.
func (f *finisher) conclude() {
	g, t := f.g, f.t
	t.Losses, t.World = g.Losses, g.World
	t.Warnings = g.Warnings
	say := func(n int64, text string) {
		if n > 0 {
			t.Warnings = append(t.Warnings, fmt.Sprintf(text, n))
		}
	}
	if t.Kernels() == 0 {
		t.Warnings = append(t.Warnings, strings.TrimRight("the file has no kernels: record what devices execute, "+f.devices, ", "))
	}
	say(g.Losses.Unusable, "%d kernels have no usable time and were left out")
	say(g.Losses.Negative, "%d kernels have a negative duration and count as 0 ns long")
	say(g.Losses.Unpaired, "%d kernels begin without an end and were left out")
	say(g.Losses.LostMarks, "%d marks are more than are kept and were left out")
	say(g.Losses.LostLaunches, "%d launches are more than are kept and were left out")
}

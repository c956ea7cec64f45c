package kernels

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/trace/work"
)

// settled is a mark with its interval still in ps.
type settled struct {
	raw        *work.RawMark
	place      markPlace
	seq        int
	start, end int64
}

// annotations ties the marks to sequences. It needs the rows, before they become columns.
func (f *finisher) annotations() error {
	g := f.g
	device, host := f.split()
	for _, m := range device {
		f.settled = append(f.settled, settled{m, OnDevice, f.seqOf[m.Lane], m.Start, m.End})
	}
	found := g.launchMarks(host)
	if err := f.cancelled(); err != nil {
		return err
	}
	type markSeq struct {
		mark uint32
		seq  int
	}
	all := map[markSeq]*extent{} // over all streams, and over the busiest one where that has any
	main := map[markSeq]*extent{}
	for k, x := range found {
		key := markSeq{k.mark, f.seqOf[k.lane]}
		if key.seq < 0 {
			continue
		}
		widen(all, key, x)
		if f.stream[k.lane] == f.main[key.seq] {
			widen(main, key, x)
		}
	}
	tied := map[uint32]bool{}
	for k, x := range all {
		if m := main[k]; m != nil {
			x = m
		}
		tied[k.mark] = true
		f.settled = append(f.settled, settled{&g.Marks[k.mark], Launched, k.seq, x.first, x.last})
	}
	for _, h := range host {
		if !tied[h] {
			m := &g.Marks[h]
			f.settled = append(f.settled, settled{m, OnHost, -1, m.Start, m.End})
		}
	}
	return nil
}

func widen[K comparable](in map[K]*extent, key K, x *extent) {
	if old := in[key]; old != nil {
		old.first, old.last, old.kernels = min(old.first, x.first), max(old.last, x.last), old.kernels+x.kernels
		return
	}
	c := *x
	in[key] = &c
}

// split takes apart what is on devices and what is on the host and is not on a device too. Profilers repeat an annotation on every stream
// that had work of it; that of the busiest stream counts.
func (f *finisher) split() (device []*work.RawMark, host []uint32) {
	g := f.g
	type textSeq struct {
		text uint32
		seq  int
	}
	type textGroup struct {
		text  uint32
		group uint16
	}
	onMain := map[textSeq]bool{}
	onDevice := map[textGroup]bool{}
	for i := range g.Marks {
		m := &g.Marks[i]
		if m.Lane == work.NoLane || f.sequenceOf(m) < 0 {
			continue
		}
		onDevice[textGroup{m.Text, g.Processes[m.Process].Group}] = true
		if s := f.sequenceOf(m); f.isMain(m.Lane, s) {
			onMain[textSeq{m.Text, s}] = true
		}
	}
	for i := range g.Marks {
		m := &g.Marks[i]
		switch {
		case m.Lane == work.NoLane:
			if !onDevice[textGroup{m.Text, g.Processes[m.Process].Group}] {
				host = append(host, uint32(i))
			}
		default:
			s := f.sequenceOf(m)
			if s >= 0 && (!onMain[textSeq{m.Text, s}] || f.isMain(m.Lane, s) || m.Kind == XLAModule || m.Kind == XLAStep) {
				f.seqOf[m.Lane] = s
				device = append(device, m)
			}
		}
	}
	return device, host
}

// sequenceOf is the sequence of the device that a mark was recorded on, -1 where that has no kernels.
func (f *finisher) sequenceOf(m *work.RawMark) int {
	if s := f.seqOf[m.Lane]; s >= 0 {
		return s
	}
	p := &f.g.Processes[m.Process]
	for s := range f.t.Sequences {
		if q := &f.t.Sequences[s]; q.Rank == p.Rank && q.Host == p.Host && q.Device == p.Device {
			return s
		}
	}
	return -1
}

// isMain reports whether a lane is the busiest stream of a sequence.
func (f *finisher) isMain(lane uint16, seq int) bool {
	return f.g.Lanes[lane].Rows > 0 && f.stream[lane] == f.main[seq]
}

// settleMarks writes the marks, in order.
func (f *finisher) settleMarks() {
	g, t := f.g, f.t
	base := f.baseNS()
	for _, s := range f.settled {
		say := &g.Says[s.raw.Text]
		m := Mark{
			Kind: s.raw.Kind, Text: g.Texts.All[s.raw.Text], Place: s.place, Sequence: s.seq, Rank: g.Processes[s.raw.Process].Rank,
			StartNS: base + floorNS(s.start), EndNS: base + floorNS(s.end), Step: -1,
		}
		if m.Kind == say.Kind {
			m.Phase, m.Step, m.Tokens, m.Batch = say.Phase, say.Step, say.Tokens, say.Batch
		}
		if m.Kind == XLAStep {
			last := m.Text[strings.LastIndexByte(m.Text, ' ')+1:] // "12", "train 12"
			if n := work.LeadingDigits(last); n > 0 && n == len(last) {
				m.Step = int64(work.Number(last))
			}
		}
		t.Marks = append(t.Marks, m)
	}
	f.settled = nil
	for i := range t.Marks {
		if m := &t.Marks[i]; m.Sequence >= 0 && m.Kind != GraphLaunch {
			m.Kernels = t.Sequences[m.Sequence].started(m.StartNS, m.EndNS)
		}
	}
	slices.SortFunc(t.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(b.EndNS, a.EndNS), strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(a.Text, b.Text), cmp.Compare(a.Rank, b.Rank), strings.Compare(string(a.Place), string(b.Place)))
	})
}

// started counts the kernels that start in [from, to].
func (s *Sequence) started(from, to int64) int {
	first, _ := slices.BinarySearch(s.StartNS, from)
	behind, _ := slices.BinarySearch(s.StartNS[first:], to+1)
	return behind
}

// graphs numbers the graph launches of every sequence, and makes marks of them.
func (f *finisher) graphs() {
	for s := range f.t.Sequences {
		f.graphsOf(s)
	}
	f.corr = nil
	f.collect()
	if f.graphMarks > maxGraphMarks {
		f.g.Losses.LostMarks += int64(f.graphMarks)
		f.t.Marks = slices.DeleteFunc(f.t.Marks, func(m Mark) bool { return m.Kind == GraphLaunch })
	}
}

// graphsOf finds the correlation ids that belong to launches of graphs: those of such calls, or, where a file has no calls, those that
// several kernels share.
func (f *finisher) graphsOf(s int) {
	g, seq, corr := f.g, &f.t.Sequences[s], f.corr[s]
	number := map[uint32]uint32{}
	groups := map[uint16]bool{}
	for i := range g.Lanes {
		if f.seqOf[i] == s && g.Lanes[i].Rows > 0 {
			groups[g.Processes[g.Lanes[i].Process].Group] = true
		}
	}
	for k := range g.Launches.Graph {
		if groups[g.Processes[k.Group].Group] {
			number[k.Corr] = 0
		}
	}
	if !g.Called {
		last := make([]uint32, len(seq.Streams))
		for i, c := range corr {
			if st := seq.Stream[i]; c != 0 {
				if last[st] == c && len(number) < work.MaxGraphs {
					number[c] = 0
				}
				last[st] = c
			}
		}
	}
	if len(number) == 0 {
		return
	}
	var marks []Mark
	count := uint32(0)
	for i, c := range corr {
		n, ok := number[c]
		if !ok || c == 0 {
			continue
		}
		if n == 0 {
			count++
			n = count
			number[c] = n
			if seq.Graph == nil {
				seq.Graph = make([]uint32, len(corr))
			}
			if len(marks) <= maxGraphMarks {
				marks = append(marks, Mark{Kind: GraphLaunch, Text: "graph launch", Place: OnDevice, Sequence: s, Rank: seq.Rank, StartNS: seq.StartNS[i], Step: -1})
			}
		}
		seq.Graph[i] = n
		if int(n) <= len(marks) {
			m := &marks[n-1]
			m.EndNS = max(m.EndNS, seq.EndNS(i))
			if m.Kernels++; m.Kernels == 1 {
				m.EndNS = seq.EndNS(i)
			}
		}
	}
	f.graphMarks += int(count)
	if f.graphMarks <= maxGraphMarks {
		f.t.Marks = append(f.t.Marks, marks...)
	}
}

package diagnosing

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

const (
	mostStuck = 4096 // rows of Document.Stuck come of so many at most, and one operation
	mostWaits = 4096
)

// finding begins a finding about an operation and the ranks that cause it.
func (d *dossier) finding(class string, mi int32, ranks []int32) *Finding {
	m := &d.job.Matches[mi]
	f := &Finding{
		Class: class, Channel: -1, NIC: -1, Comm: d.job.Comms[m.Comm].Name, Operation: m.Func, Sequence: d.number(m), Occurrence: int(m.Occurrence),
		Ranks: []string{}, Hosts: []string{}, Waiting: []string{}, Detail: []string{},
	}
	for _, r := range ranks {
		if r < 0 {
			continue
		}
		f.Ranks = append(f.Ranks, d.job.Ranks[r].ID)
		if h := d.job.Ranks[r].Host; h != "" && !slices.Contains(f.Hosts, h) {
			f.Hosts = append(f.Hosts, h)
		}
	}
	return f
}

// number is what tells an operation from others of its function: sends and receives are counted.
func (d *dossier) number(m *operation.Match) uint64 {
	if m.Kind == operation.Send {
		return uint64(m.Occurrence)
	}
	return m.Sequence
}

// operation names an operation: "AllReduce #17 of world".
func (d *dossier) operation(mi int32) string {
	m := &d.job.Matches[mi]
	if m.Kind == operation.Send {
		p := &d.job.Parts[m.From]
		from, to := p.Seat, d.job.Op(p).Peer
		if d.job.Op(p).Kind == operation.Recv {
			from, to = to, from
		}
		return fmt.Sprintf("send #%d from %s to %s of %s", m.Occurrence, d.seatName(m.Comm, from), d.seatName(m.Comm, to), d.job.Comms[m.Comm].Name)
	}
	s := fmt.Sprintf("%s #%d of %s", m.Func, m.Sequence, d.job.Comms[m.Comm].Name)
	if m.Occurrence > 0 {
		s += fmt.Sprintf(", replay %d", m.Occurrence)
	}
	return s
}

func (d *dossier) seatName(comm, seat int32) string {
	if seat < 0 || int(seat) >= len(d.job.Comms[comm].Seats) {
		return fmt.Sprintf("rank %d", seat)
	}
	if r := d.rank(comm, seat); r != nil {
		return "rank " + r.ID
	}
	return fmt.Sprintf("rank %d of the communicator", seat)
}

// nameOf names a rank with its host.
func (d *dossier) nameOf(rank int32) string {
	if rank < 0 {
		return "a rank that nobody recorded"
	}
	r := &d.job.Ranks[rank]
	switch {
	case r.Host == "":
		return "rank " + r.ID
	case r.World < 0:
		return r.ID
	}
	return fmt.Sprintf("rank %s (%s)", r.ID, r.Host)
}

// namesOf names several ranks, the first of them where they are many.
func (d *dossier) namesOf(ranks []int32) string {
	switch {
	case len(ranks) == 1:
		return d.nameOf(ranks[0])
	case len(ranks) <= 4:
		s := d.nameOf(ranks[0])
		for i, r := range ranks[1:] {
			if i == len(ranks)-2 {
				s += " and " + d.nameOf(r)
			} else {
				s += ", " + d.nameOf(r)
			}
		}
		return s
	}
	return fmt.Sprintf("%s and %d other ranks", d.nameOf(ranks[0]), len(ranks)-1)
}

// waiting names the ranks that are in an operation.
func (d *dossier) waiting(f *Finding, s *stall) {
	for _, part := range slices.Concat(s.running, s.queued) {
		if r := d.job.Parts[part].Rank; r >= 0 && !slices.Contains(f.Waiting, d.job.Ranks[r].ID) && !slices.Contains(f.Ranks, d.job.Ranks[r].ID) {
			f.Waiting = append(f.Waiting, d.job.Ranks[r].ID)
		}
	}
	f.SinceNS = s.sinceNS
}

// waited says for how long how many have waited.
func waited(f *Finding) string {
	who := fmt.Sprintf("%d ranks have", len(f.Waiting))
	if len(f.Waiting) == 1 {
		who = "one rank has"
	}
	return fmt.Sprintf("%s waited for %s", who, seconds(f.SinceNS))
}

func seconds(ns int64) string { return fmt.Sprintf("%.1f s", float64(ns)/1e9) }

func (w *follower) neverArrived(s *stall, seat int32) {
	d := w.d
	m := &d.job.Matches[s.match]
	rank := d.job.Comms[m.Comm].Seats[seat].Rank
	f := d.finding(classNeverArrived, s.match, []int32{rank})
	f.Certain = !d.blind(rank)
	d.waiting(f, s)
	f.Sentence = fmt.Sprintf("%s never called %s: %s", d.nameOf(rank), d.operation(s.match), waited(f))
	if !f.Certain {
		f.Detail = append(f.Detail, "whether an operation that it called before holds it is not recorded at level 0; record at level 1 or above")
		w.out.advise("record at level 1 or above (PRLX_NCCL_LEVEL=1): at level 0 the end of operations is not recorded")
	}
	if last := d.last[m.Comm][seat]; last >= 0 {
		f.Detail = append(f.Detail, "the last that it called of this communicator is "+d.operation(last))
	} else {
		f.Detail = append(f.Detail, "it called nothing of this communicator")
	}
	f.Detail = append(f.Detail, "its process lives: it does something else, and its own stack says what")
	w.root(s, rank, "it has not called it, and waits for nobody in NCCL")
	w.out.add(f)
}

// lostSince reports whether callbacks of a code were lost, by a member of an operation, after it was called.
func (d *dossier) lostSince(mi int32, code int) bool {
	m := &d.job.Matches[mi]
	for i := m.From; i < m.To; i++ {
		l := &d.job.Recordings[d.job.Parts[i].Recording].Loss
		if l.LostByCode[code] > 0 && (l.LostToNS == 0 || l.LostToNS >= d.ext[i].CalledNS) {
			return true
		}
	}
	return false
}

// blind reports whether it is not recorded that the last operation of a rank ended.
func (d *dossier) blind(rank int32) bool {
	last, at := operation.Finished, int64(0)
	for i := range d.job.Parts {
		if d.job.Parts[i].Rank == rank && d.ext[i].CalledNS >= at {
			last, at = d.ext[i].Progress, d.ext[i].CalledNS
		}
	}
	return last == operation.Called
}

func (w *follower) ended(s *stall, seat int32) {
	d := w.d
	m := &d.job.Matches[s.match]
	rank := d.job.Comms[m.Comm].Seats[seat].Rank
	r := d.job.Recordings[d.job.Ranks[rank].Recording]
	f := d.finding(classEnded, s.match, []int32{rank})
	f.Certain = true
	d.waiting(f, s)
	how := "ended by exit"
	if !r.Ended {
		how = "died, or was stopped,"
	}
	f.Sentence = fmt.Sprintf("%s %s before %s: %s", d.nameOf(rank), how, d.operation(s.match), waited(f))
	f.Detail = append(f.Detail, fmt.Sprintf("its last sign of life is %s older than the last one of the job", seconds(d.end-r.LastNS)))
	w.root(s, rank, "its process "+how)
	w.out.add(f)
}

func (w *follower) unrecorded(s *stall) {
	d := w.d
	m := &d.job.Matches[s.match]
	ranks, names, lacks := []int32{}, "", "there is no recording of"
	seats := s.unrecorded
	if len(seats) == 0 {
		seats, lacks = s.doubted, "the file is damaged of"
	}
	for i, seat := range seats {
		ranks = append(ranks, d.job.Comms[m.Comm].Seats[seat].Rank)
		if i > 0 {
			names += ", "
		}
		names += d.seatName(m.Comm, seat)
		if i == 3 && len(seats) > 4 {
			names += fmt.Sprintf(" and %d more", len(seats)-4)
			break
		}
	}
	f := d.finding(classUnrecorded, s.match, ranks)
	d.waiting(f, s)
	f.Sentence = fmt.Sprintf("%s does not come to an end, and %s %s: %s", d.operation(s.match), lacks, names, waited(f))
	if len(s.unrecorded) > 0 {
		w.out.advise("gather the recordings of all hosts into one folder")
	}
	w.out.add(f)
}

func (w *follower) notStarted(s *stall, part int32) {
	d := w.d
	p := &d.job.Parts[part]
	f := d.finding(classNotStarted, s.match, []int32{p.Rank})
	l := &d.job.Recordings[p.Recording].Loss
	f.Certain = l.Lost == 0 || l.LostToNS > 0 && l.LostToNS < d.ext[part].CalledNS // else what is before it on the GPU may be lost
	d.waiting(f, s)
	f.Sentence = fmt.Sprintf("the GPU of %s has not begun with %s, which the rank called %s before the recording ends: %s", d.nameOf(p.Rank), d.operation(s.match), seconds(d.job.Recordings[p.Recording].LastNS-d.ext[part].CalledNS), waited(f))
	f.Detail = append(f.Detail, "no kernel of NCCL is before it on this GPU: a kernel or a copy of the program is, or an event that its stream waits for")
	w.root(s, p.Rank, "its GPU has not begun with it")
	w.out.add(f)
}

// differentCalls are members of one communicator that called different operations at one place.
func (w *follower) differentCalls(s, other *stall) {
	d := w.d
	m := &d.job.Matches[s.match]
	o := &d.job.Matches[other.match]
	in, out := int(m.To-m.From), int(o.To-o.From)
	odd, called, instead, rest := s, s.match, other.match, other // who are fewer
	if out < in || out == in && s.match < other.match {
		odd, called, instead, rest = other, other.match, s.match, s
	}
	var ranks []int32
	for i := d.job.Matches[odd.match].From; i < d.job.Matches[odd.match].To; i++ {
		ranks = append(ranks, d.job.Parts[i].Rank)
	}
	f := d.finding(classMismatch, called, ranks)
	unsure := d.unsure(m)
	f.Certain = unsure == 0 || min(in, out)+unsure <= max(in, out) // else others may make them the most
	d.waiting(f, rest)
	f.Sentence = fmt.Sprintf("%s called %s where the other ranks of the communicator called %s", d.namesOf(ranks), d.operation(called), d.operation(instead))
	w.out.add(f)
}

func (w *follower) deadlock(s *stall, ranks []int32, circle []string) {
	d := w.d
	f := d.finding(ClassDeadlock, s.match, ranks)
	f.Certain = true
	d.waiting(f, s)
	f.Sentence = fmt.Sprintf("%s wait for each other in a circle of %d operations, for %s", d.namesOf(ranks), len(circle), seconds(s.sinceNS))
	f.Detail = append(f.Detail, circle...)
	w.out.add(f)
}

// stage is a step that holds an operation which all members are in.
func (w *follower) stage(s *stall, h *held) {
	d := w.d
	m := &d.job.Matches[s.match]
	rank := d.seatRank(m.Comm, h.seat)
	f := d.finding(classStage, s.match, []int32{rank})
	f.Stage, f.Channel, f.NIC = operation.StageNames[h.stage], h.channel, h.nic
	f.Certain = h.certain && !d.lostSince(s.match, operation.CodeProxyStep)
	d.waiting(f, s)
	where := fmt.Sprintf("on channel %d", h.channel)
	if h.peer >= 0 {
		f.Peer = fmt.Sprint(h.peer)
		if r := d.rank(m.Comm, h.peer); r != nil {
			f.Peer = r.ID
		}
		where = fmt.Sprintf("with %s %s", d.seatName(m.Comm, h.peer), where)
	}
	if h.nic >= 0 {
		where += fmt.Sprintf(", NIC %d", h.nic)
	}
	f.Sentence = fmt.Sprintf("%s holds up %s in %s %s: %s; %s", d.nameOf(rank), d.operation(s.match), f.Stage, where, h.because, waited(f))
	w.root(s, rank, f.Stage+": "+h.because)
	w.out.add(f)
}

// stuck is an operation that all members are in, and of which no step tells where it is held up.
func (w *follower) stuck(s *stall, proxies int) {
	d := w.d
	f := d.finding(classStuck, s.match, nil)
	d.waiting(f, s)
	f.Sentence = fmt.Sprintf("%s does not come to an end, all its ranks are in it, and nothing that was recorded says where it is held up: %s", d.operation(s.match), waited(f))
	switch {
	case proxies == 0:
		w.out.advise("record at level 3 (PRLX_NCCL_LEVEL=3): the steps of proxies tell which stage of which rank holds; operations inside of one host have none")
	default:
		w.out.advise("record at level 3 (PRLX_NCCL_LEVEL=3): what proxies do is recorded, and not the stages of their steps")
	}
	w.out.add(f)
}

// wait lists that the ranks of an operation wait for one that is in another.
func (w *follower) wait(h hop, next int32, s *stall) {
	d := w.d
	w.row(s, h.rank, h.because+" "+d.operation(next), d.job.Ranks[h.rank].ID)
}

// root lists that the ranks of an operation wait for one at which it ends.
func (w *follower) root(s *stall, rank int32, because string) {
	d := w.d
	if rank >= 0 {
		w.row(s, rank, because, d.job.Ranks[rank].ID)
	}
}

func (w *follower) row(s *stall, rank int32, because, id string) {
	d := w.d
	m := &d.job.Matches[s.match]
	for _, part := range slices.Concat(s.running, s.queued) {
		p := &d.job.Parts[part]
		if p.Rank == rank || len(w.waits) >= mostWaits {
			continue
		}
		one := Wait{d.job.Ranks[p.Rank].ID, id, d.job.Comms[m.Comm].Name, m.Func, d.number(m), because}
		if !slices.Contains(w.waits, one) {
			w.waits = append(w.waits, one)
		}
	}
}

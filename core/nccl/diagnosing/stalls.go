package diagnosing

import (
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// silentNS is for how long a process may say nothing before it counts as gone: the recorder gives a sign of life each second.
const silentNS = 3_500_000_000

// stall is an operation that does not come to an end.
type stall struct {
	match      int32
	absent     []int32 // seats that have a recording and no part
	unrecorded []int32 // seats of which nobody recorded anything
	doubted    []int32 // seats whose recordings are damaged, unless they are seen to have finished
	queued     []int32 // parts that have not begun
	running    []int32 // parts that have, or that may have
	sinceNS    int64   // for how long it has not moved
}

// stalls are operations that do not come to an end, and the roots of that.
type stalls struct {
	found
	waits  []Wait
	stuck  []Stuck
	looked Looked // the counts of operations, and whether any stalls
}

// lookForStalls finds what does not come to an end, and follows each to its root. Where recordings hold those operations alone that have ended it counts
// them.
func lookForStalls(d *dossier) stalls {
	w := &follower{d: d, found: map[int32]*stall{}, known: map[int32]bool{}, at: map[int32][]int32{}}
	looked := Looked{Stalls: lookedUnknown}
	var open []int32 // in order of time
	for mi := range d.job.Matches {
		s, state := d.stalled(int32(mi))
		looked.count(state)
		if s != nil {
			w.found[int32(mi)] = s
			open = append(open, int32(mi))
		}
	}
	if d.partial {
		return stalls{looked: looked}
	}
	d.inOrder(open)
	for _, mi := range open {
		s := w.found[mi]
		for _, part := range slices.Concat(s.running, s.queued) {
			rank := d.job.Parts[part].Rank
			w.at[rank] = append(w.at[rank], mi)
		}
	}
	var stuck []Stuck
	for _, mi := range open {
		w.match(mi)
		if len(stuck) < mostStuck {
			stuck = append(stuck, d.tabulate(w.found[mi])...)
		}
	}
	switch {
	case len(open) > 0:
		looked.Stalls = lookedFound
	case looked.Unknown == 0 || !d.silence():
		looked.Stalls = lookedNone
	}
	return stalls{found: w.out, waits: w.waits, stuck: stuck, looked: looked}
}

// state is how an operation was left.
type state uint8

const (
	complete   state = iota
	unfinished       // or it moves
	unknown          // whether it ended is not recorded
)

// count counts an operation.
func (l *Looked) count(s state) {
	l.Operations++
	switch s {
	case complete:
		l.Complete++
	case unfinished:
		l.Unfinished++
	case unknown:
		l.Unknown++
	}
}

// stalled looks at one operation; nil: it has ended, moves, or nobody is known to wait in it.
func (d *dossier) stalled(mi int32) (*stall, state) {
	m := &d.job.Matches[mi]
	s := &stall{match: mi}
	called, alive := 0, int64(0)
	for i := m.From; i < m.To; i++ {
		switch p := d.ext[i].Progress; {
		case p != operation.Finished && d.doubt[d.job.Parts[i].Recording]:
			s.doubted = append(s.doubted, d.job.Parts[i].Seat)
			continue
		case p == operation.Queued:
			s.queued = append(s.queued, i)
		case p == operation.Running:
			s.running = append(s.running, i)
		case p == operation.Called:
			called++
			s.running = append(s.running, i)
		default:
			continue
		}
		alive = max(alive, d.job.Recordings[d.job.Parts[i].Recording].LastNS)
	}
	for _, seat := range d.missing(m) {
		switch c := &d.job.Comms[m.Comm]; {
		case c.Seats[seat].Recording >= 0 && !d.doubt[c.Seats[seat].Recording] && d.before(m, seat):
		case c.Seats[seat].Recording < 0:
			s.unrecorded = append(s.unrecorded, seat)
		case d.doubt[c.Seats[seat].Recording]:
			s.doubted = append(s.doubted, seat)
		case !d.lostAt(m, seat):
			s.absent = append(s.absent, seat)
		}
	}
	waits := len(s.queued)+len(s.running) > 0
	switch {
	case !waits && len(s.doubted) > 0:
		return nil, unknown
	case !waits:
		return nil, complete
	case called == len(s.queued)+len(s.running) && len(s.absent) == 0:
		return nil, unknown
	}
	s.sinceNS = alive - d.movedNS(m)
	if s.sinceNS < d.opt.StallNS {
		return nil, unfinished
	}
	if len(s.queued) > 0 && len(s.queued)+len(s.running) == int(m.To-m.From) && len(s.absent)+len(s.unrecorded) == 0 && len(s.running) == 0 && m.Kind == operation.Send && m.To-m.From == 1 {
		return nil, unfinished
	}
	return s, unfinished
}

// lostAt reports whether a seat may have executed an operation whose records were lost.
func (d *dossier) lostAt(m *operation.Match, seat int32) bool {
	l := &d.job.Recordings[d.job.Comms[m.Comm].Seats[seat].Recording].Loss
	code := operation.CodeColl
	if m.Kind == operation.Send {
		code = operation.CodeP2P
	}
	return l.Lost > 0 && l.ByCode[code] > 0 && l.LostToNS >= d.movedNS(m)
}

// silence reports whether all ranks have stopped to call anything while they live, in operations of which nothing tells whether they ended.
func (d *dossier) silence() bool {
	quiet := true
	for ri, r := range d.job.Recordings {
		if d.doubt[ri] {
			continue
		}
		last := int64(0)
		for i := range r.Ops {
			last = max(last, r.Ops[i].StartNS, r.Ops[i].StopNS)
		}
		finalized := len(r.Members) > 0
		for i := range r.Members {
			finalized = finalized && r.Members[i].FinalizedNS > 0
		}
		if r.Ended || finalized || d.gone(int32(ri)) || r.LastNS-last < d.opt.StallNS {
			quiet = false
		}
	}
	return quiet
}

// gone reports whether a process gave no sign of life any more when others did.
func (d *dossier) gone(recording int32) bool {
	r := d.job.Recordings[recording]
	return !r.Ended && d.end-r.LastNS > silentNS
}

// follower follows who holds an operation up to a root.
type follower struct {
	d     *dossier
	found map[int32]*stall
	known map[int32]bool    // matches whose root has been said
	path  []hop             // that is followed
	at    map[int32][]int32 // by rank: the operations that it is in and that do not come to an end, in order of time

	out   found
	waits []Wait
}

// hop is one step of a path: an operation, and the rank that it waits for.
type hop struct {
	match   int32
	rank    int32 // place in Job.Ranks, -1 unnamed
	because string
}

// match says why an operation does not come to an end.
func (w *follower) match(mi int32) {
	for k := range w.path {
		if w.path[k].match == mi {
			w.circle(w.path[k:])
			return
		}
	}
	if w.known[mi] {
		return
	}
	s := w.found[mi]
	switch {
	case len(s.absent) > 0:
		for _, seat := range s.absent {
			w.absent(s, seat)
		}
	case len(s.queued) > 0:
		for _, part := range s.queued {
			w.queued(s, part)
		}
	case len(s.unrecorded)+len(s.doubted) > 0:
		if !w.held(s) {
			w.unrecorded(s)
		}
	default:
		w.held(s)
	}
	w.known[mi] = true
}

// absent is a rank that has not called an operation which others are in.
func (w *follower) absent(s *stall, seat int32) {
	d, m := w.d, &w.d.job.Matches[s.match]
	c := &d.job.Comms[m.Comm]
	r := &d.job.Ranks[c.Seats[seat].Rank]
	switch {
	case d.job.Recordings[r.Recording].Ended || d.gone(r.Recording):
		w.ended(s, seat)
	default:
		next := w.next(c.Seats[seat].Rank, s.match)
		if next < 0 {
			w.neverArrived(s, seat)
			return
		}
		if other := w.found[next]; d.job.Matches[next].Comm == m.Comm && d.job.Matches[next].Kind != operation.Send && m.Kind != operation.Send && d.excludes(s, other) {
			w.differentCalls(s, other)
			return
		}
		w.follow(hop{s.match, c.Seats[seat].Rank, "it has not called it, and waits in"}, next)
	}
}

// excludes reports whether a member of one operation has not called another.
func (d *dossier) excludes(in, other *stall) bool {
	m := &d.job.Matches[in.match]
	for i := m.From; i < m.To; i++ {
		if slices.Contains(other.absent, d.job.Parts[i].Seat) {
			return true
		}
	}
	return false
}

// queued is a rank that has called an operation, and whose GPU has not begun with it.
func (w *follower) queued(s *stall, part int32) {
	p := &w.d.job.Parts[part]
	next := w.next(p.Rank, s.match)
	if next < 0 {
		w.notStarted(s, part)
		return
	}
	w.follow(hop{s.match, p.Rank, "its GPU has not begun with it, and is in"}, next)
}

func (w *follower) follow(h hop, next int32) {
	w.wait(h, next, w.found[h.match])
	w.path = append(w.path, h)
	w.match(next)
	w.path = w.path[:len(w.path)-1]
}

// next is the operation that a rank is in while another waits for it: one that its GPU has begun with, else the first one that it called; -1
// none. Operations that it called later do not hold it up.
func (w *follower) next(rank, but int32) int32 {
	d := w.d
	first := int32(-1)
	limit, ok := d.calledNS(but, rank)
	for _, mi := range w.at[rank] {
		if mi == but {
			continue
		}
		s := w.found[mi]
		for _, part := range s.running {
			if d.job.Parts[part].Rank == rank && d.ext[part].Progress == operation.Running {
				return mi
			}
		}
		if at, _ := d.calledNS(mi, rank); first < 0 && (!ok || at < limit) {
			first = mi
		}
	}
	return first
}

// calledNS is when a rank called an operation.
func (d *dossier) calledNS(mi, rank int32) (int64, bool) {
	m := &d.job.Matches[mi]
	for i := m.From; i < m.To; i++ {
		if d.job.Parts[i].Rank == rank {
			return d.ext[i].CalledNS, true
		}
	}
	return 0, false
}

// circle is a path that has come back to where it was.
func (w *follower) circle(path []hop) {
	var ranks []int32
	sentence := []string{}
	for _, h := range path {
		if !slices.Contains(ranks, h.rank) {
			ranks = append(ranks, h.rank)
		}
		sentence = append(sentence, w.d.operation(h.match)+" waits for "+w.d.nameOf(h.rank))
	}
	w.deadlock(w.found[path[0].match], ranks, sentence)
}

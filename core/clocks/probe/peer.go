package probe

import (
	"net/netip"
	"sort"
)

// peer is what a prober knows of one of its links.
type peer struct {
	node  int
	addr  netip.AddrPort
	run   uint64     // of the process there, once it has answered us; 0: not known
	seen  window     // of that process's packets
	seq   uint32     // of our last packet
	asked []question // ascending by seq
	held  []held     // ascending by answer
	given [followUps]followUp

	sent, answered int64
	minRTT         int64 // 0: no answer
	surely         int64 // what that round trip took at most, whatever the rates of the clocks

	full, unproven float64 // how many answers may be given at once
	filled         int64   // when they were last counted
}

// question is a probe that waits for its answer.
type question struct {
	seq   uint32
	t1    stamp
	until int64
	late  bool // it was given up, and is kept to tell a late answer from a replayed one
	again int  // so many probes follow its answer, one after another
}

// held is an exchange that waits for the peer's kernel stamp of its answer.
type held struct {
	exchange
	answer uint32 // seq of the answer
	until  int64
}

func (l *peer) find(seq uint32) int {
	i := sort.Search(len(l.asked), func(i int) bool { return l.asked[i].seq >= seq })
	if i < len(l.asked) && l.asked[i].seq == seq {
		return i
	}
	return -1
}

// question returns the open question of a number, nil for none.
func (l *peer) question(seq uint32) *question {
	if i := l.find(seq); i >= 0 {
		return &l.asked[i]
	}
	return nil
}

func (l *peer) forget(seq uint32) {
	if i := l.find(seq); i >= 0 {
		l.asked = append(l.asked[:i], l.asked[i+1:]...)
	}
}

// expire gives up questions that nobody has answered in time and returns how many. A while later it forgets them.
func (l *peer) expire(mono int64) int {
	given := 0
	kept := l.asked[:0]
	for _, q := range l.asked {
		if q.until <= mono && !q.late {
			given++
			q.late, q.until = true, mono+lateAnswers
		}
		if q.until > mono {
			kept = append(kept, q)
		}
	}
	l.asked = kept
	return given
}

// lateAnswers is how long an answer is told from a replayed one, ns.
const lateAnswers = 4e9

// gave notes when the kernel sent an answer. The last few are told in every packet that follows.
func (l *peer) gave(seq uint32, at int64) {
	copy(l.given[1:], l.given[:])
	l.given[0] = followUp{seq, at}
}

// How many answers are given: generously more than a peer asks for, and a few to processes that are not known to be alive, so that
// packets which somebody recorded and sends again get a handful of answers at most.
const (
	answersAtOnce  = 64
	unprovenAtOnce = 8
	unprovenRate   = 2 // a second
)

func (l *peer) refill(mono int64, rate float64) {
	s := float64(mono-l.filled) / 1e9
	l.filled = mono
	l.full = min(answersAtOnce, l.full+s*4*max(rate, defaultRate))
	l.unproven = min(unprovenAtOnce, l.unproven+s*unprovenRate)
}

func (l *peer) allow(proven bool) bool {
	n := &l.full
	if !proven {
		n = &l.unproven
	}
	if *n < 1 {
		return false
	}
	*n--
	return true
}

// window remembers which numbers a process has used: the highest, and which of the 64 before it.
type window struct {
	highest uint32
	bits    uint64 // bit i: highest-i was seen
}

// take notes a number and reports whether it is new. One that is too old to tell is not.
func (w *window) take(seq uint32) bool {
	if seq > w.highest {
		w.bits = w.bits<<(seq-w.highest) | 1 // a shift by 64 or more leaves 0
		w.highest = seq
		return true
	}
	back := w.highest - seq
	if back >= 64 || w.bits>>back&1 != 0 {
		return false
	}
	w.bits |= 1 << back
	return true
}

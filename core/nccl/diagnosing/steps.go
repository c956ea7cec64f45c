package diagnosing

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// hand is a proxy operation that has not ended: what a rank sends to another, or receives from it, on one channel.
type hand struct {
	seat, peer int32
	channel    uint8
	send       bool
	phase      phase
	recording  int32
	proxy      *operation.ProxyOp
	step       *operation.Step // the oldest that is open; nil: none is, or none is recorded
}

// handKey finds the other end.
type handKey struct {
	seat, peer int32
	channel    uint8
	send       bool
}

// held is a root among the steps of one operation.
type held struct {
	stage   operation.Stage
	seat    int32 // that causes it
	peer    int32 // -1 none
	channel int
	nic     int
	certain bool
	because string
	unknown bool // what it waits for would be in a recording that is damaged or not there
}

// table holds the proxy operations of one operation, of all members.
type table struct {
	hands map[handKey]*hand
	all   []*hand // that have not ended
	began map[int32]bool
	host  map[int32]int32 // of seats
	how   string          // the algorithm
	lacks map[int32]bool  // seats of which there is no sound recording
}

func (d *dossier) hands(s *stall) *table {
	t := &table{hands: map[handKey]*hand{}, began: map[int32]bool{}, host: map[int32]int32{}, lacks: map[int32]bool{}}
	m := &d.job.Matches[s.match]
	for _, seat := range slices.Concat(s.unrecorded, s.doubted) {
		t.lacks[seat] = true
	}
	for i := m.From; i < m.To; i++ {
		p := &d.job.Parts[i]
		if t.lacks[p.Seat] {
			continue
		}
		r, op := d.job.Recordings[p.Recording], d.job.Op(p)
		t.host[p.Seat], t.how = d.job.Ranks[p.Rank].Clock, r.Name(op.Algorithm)
		for k := op.ProxyFrom; k < op.ProxyTo; k++ {
			proxy := &r.Proxies[k]
			h := &hand{seat: p.Seat, peer: proxy.Peer, channel: proxy.Channel, send: proxy.Send, recording: p.Recording, proxy: proxy}
			for n := proxy.StepFrom; n < proxy.StepTo && h.step == nil; n++ {
				if r.Steps[n].Open {
					h.step = &r.Steps[n]
				}
			}
			t.hands[handKey{h.seat, h.peer, h.channel, h.send}] = h
			if !h.done() {
				t.all = append(t.all, h)
			}
		}
	}
	t.phases()
	slices.SortStableFunc(t.all, func(x, y *hand) int {
		return cmp.Or(cmp.Compare(x.seat, y.seat), cmp.Compare(x.channel, y.channel), cmp.Compare(x.peer, y.peer))
	})
	return t
}

func (h *hand) done() bool {
	return h.proxy.StopNS > 0 || h.step == nil && h.proxy.StepsTotal > 0 && h.proxy.Finished >= h.proxy.StepsTotal
}

func (h *hand) stage() operation.Stage {
	if h.step != nil {
		return h.step.Stage
	}
	if h.proxy.Begun == 0 {
		return h.proxy.Stage // what states of NCCL up to 2.26 tell
	}
	return operation.StageNone
}

// number is that of the step that is waited for.
func (h *hand) number() int32 {
	if h.step != nil {
		return h.step.Number
	}
	return h.proxy.Finished
}

// other is the other end of a hand; nil: it is not recorded.
func (t *table) other(h *hand) *hand { return t.hands[handKey{h.peer, h.seat, h.channel, !h.send}] }

func (h *hand) root(stage operation.Stage, certain bool, because string) *held {
	return &held{stage: stage, seat: h.seat, peer: h.peer, channel: int(h.channel), nic: int(h.proxy.NIC), certain: certain, because: because}
}

// place is what a rank does in one direction of an operation, and on one channel where each has a tree of its own.
type place struct {
	seat    int32
	phase   phase
	channel int16 // -1: all
}

func (h *hand) place() place {
	if h.phase == around {
		return place{h.seat, around, -1}
	}
	return place{h.seat, h.phase, int16(h.channel)}
}

// rank is root of all that a rank does: in a tree the sums first, for the result follows from them.
func (t *table) rank(seat int32) *held {
	seen := map[place]bool{}
	for _, ph := range []phase{around, toRoot, fromRoot} {
		for _, h := range t.all {
			if h.seat != seat || h.phase != ph {
				continue
			}
			if found := t.root(h.place(), seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// root follows what one rank waits for to where it begins; nil: its steps wait for each other in a circle, or say nothing.
func (t *table) root(at place, seen map[place]bool) *held {
	if seen[at] {
		return nil
	}
	seen[at] = true
	if at.phase == fromRoot && !t.receives(at) { // the root of the tree, as far as proxies tell: the result follows from the sums
		if found := t.root(place{at.seat, toRoot, at.channel}, seen); found != nil {
			return found
		}
	}
	var own, lacks *held
	least := int32(0)
	for _, look := range []operation.Stage{operation.RecvFlushWait, operation.SendWait, operation.SendPeerWait, operation.RecvWait, operation.SendGPUWait, operation.RecvGPUWait} {
		for _, h := range t.all {
			if h.seat != at.seat || h.phase != at.phase || at.channel >= 0 && int16(h.channel) != at.channel || h.stage() != look {
				continue
			}
			if found := t.hand(h, seen); found != nil {
				if found.unknown { // the GPU may wait for what that brings
					lacks = found
					continue
				}
				if look != operation.SendGPUWait && look != operation.RecvGPUWait {
					return found
				}
				// A GPU fills a buffer when it has emptied the one before; in a tree, that of the same number.
				if own == nil || h.number() < least || h.number() == least && at.phase != around && !h.send {
					own, least = found, h.number()
				}
			}
		}
	}
	if lacks != nil {
		return lacks
	}
	return own
}

// hand follows what one proxy operation waits for.
func (t *table) hand(h *hand, seen map[place]bool) *held {
	switch h.stage() {
	case operation.RecvFlushWait:
		return h.root(operation.RecvFlushWait, true, "what it received is not flushed to its GPU")
	case operation.SendWait:
		return h.root(operation.SendWait, true, "the network has what it sends and does not deliver it")
	case operation.SendPeerWait:
		return t.credit(h, seen)
	case operation.RecvWait:
		return t.data(h, seen)
	case operation.SendGPUWait, operation.RecvGPUWait:
		return t.gpu(h, seen)
	}
	return nil
}

// gpu is a step that waits for the GPU of its rank. What that GPU waits for may come from another of its host, past all proxies: then the way
// goes on where the data came into the host, or to where it leaves it.
func (t *table) gpu(h *hand, seen map[place]bool) *held {
	own := &held{stage: h.stage(), seat: h.seat, peer: -1, channel: int(h.channel), nic: -1, certain: true}
	own.because = "its GPU does not fill the buffer, and nothing is missing that it would need for that"
	if !h.send {
		own.because = "its GPU does not empty the buffer, and nothing else keeps it from that"
	}
	if h.phase != around || t.how != "" && t.how != ring {
		return t.unseen(h, own)
	}
	if h.send && h.number() == 0 {
		return own
	}
	for k := range t.hands {
		if k.seat == h.seat && k.channel == h.channel && k.send != h.send {
			return own
		}
	}
	own.certain = false
	own.because = "its GPU waits, perhaps for another GPU of its host, whose data no proxy carries"
	var through []int32
	for k := range t.hands {
		if t.host[k.seat] == t.host[h.seat] && k.seat != h.seat && k.channel == h.channel && k.send != h.send {
			if !slices.Contains(through, k.seat) && !t.passes(k.seat, k.channel, h.send) {
				through = append(through, k.seat)
			}
		}
	}
	if len(through) == 1 {
		if found := t.root(place{through[0], around, -1}, seen); found != nil {
			return found
		}
	}
	return own
}

// passes reports whether a seat has a proxy operation of a direction on a channel.
func (t *table) passes(seat int32, channel uint8, send bool) bool {
	for k := range t.hands {
		if k.seat == seat && k.channel == channel && k.send == send {
			return true
		}
	}
	return false
}

// credit follows a sender that waits for a buffer of its receiver.
func (t *table) credit(h *hand, seen map[place]bool) *held {
	o := t.other(h)
	switch {
	case o == nil && t.lacks[h.peer]:
		return &held{unknown: true}
	case o == nil || o.proxy.Begun == 0 && o.stage() == operation.StageNone:
		return &held{stage: operation.SendPeerWait, seat: h.peer, peer: h.seat, channel: int(h.channel), nic: -1, because: "it has not begun to receive"}
	case o.stage() == operation.RecvFlushWait:
		return t.hand(o, seen)
	case o.stage() == operation.RecvGPUWait:
		return t.root(o.place(), seen)
	case o.stage() == operation.RecvWait && o.number() < h.number():
		return o.root(operation.RecvWait, true, "the other end has sent it, and it has not come")
	}
	return h.root(operation.SendPeerWait, true, "the receiver has offered a buffer, and that has not come")
}

// data follows a receiver that waits for what a sender sends.
func (t *table) data(h *hand, seen map[place]bool) *held {
	o := t.other(h)
	switch {
	case o == nil && t.lacks[h.peer]:
		return &held{unknown: true}
	case o == nil:
		return &held{stage: operation.RecvWait, seat: h.peer, peer: h.seat, channel: int(h.channel), nic: -1, because: "it has no operation that sends it"}
	case o.done() || o.number() > h.number():
		return h.root(operation.RecvWait, true, "the other end has sent it, and it has not come")
	}
	switch o.stage() {
	case operation.SendWait:
		return t.hand(o, seen)
	case operation.SendPeerWait:
		return o.root(operation.SendPeerWait, true, "the receiver has offered a buffer, and that has not come")
	case operation.SendGPUWait:
		return t.root(o.place(), seen)
	}
	return &held{stage: operation.RecvWait, seat: h.peer, peer: h.seat, channel: int(h.channel), nic: int(o.proxy.NIC), because: "its proxy thread does not go on with it"}
}

// held says which stage of which step holds an operation that all members are in. Where of some there is no sound recording, it says so only if the
// others show it for certain; false: they do not.
func (w *follower) held(s *stall) bool {
	t := w.d.hands(s)
	votes, order := map[held]int{}, []held{}
	for _, h := range t.all {
		if t.began[h.seat] {
			continue
		}
		t.began[h.seat] = true
		found := t.rank(h.seat)
		if found == nil || found.unknown || len(t.lacks) > 0 && !found.certain {
			continue
		}
		k := *found
		k.channel, k.nic = -1, -1
		if votes[k] == 0 {
			order = append(order, *found)
		}
		votes[k]++
	}
	best := -1
	for i, h := range order {
		h.channel, h.nic = -1, -1
		if best < 0 {
			best = i
			continue
		}
		b := order[best]
		b.channel, b.nic = -1, -1
		if h.certain && !b.certain || h.certain == b.certain && votes[h] > votes[b] {
			best = i
		}
	}
	switch {
	case best >= 0:
		w.stage(s, &order[best])
	case len(t.lacks) > 0:
		return false
	default:
		w.stuck(s, len(t.all))
	}
	return true
}

package diagnosing

import "slices"

// phase is the direction of what a proxy operation moves.
type phase uint8

const (
	around   phase = iota // a ring, or a send and its receive: what comes in goes out again
	toRoot                // a tree: sums on their way to its root
	fromRoot              // and the result on its way back
)

// ring is the algorithm whose order of steps is known without looking.
const ring = "RING"

// trees are algorithms whose ranks send to a parent what their children have sent, and to their children what comes from the parent.
var trees = []string{"TREE", "NVLS_TREE"}

// phases tells in a tree which way each proxy operation goes. Whom a rank sends to before it has anything from is its parent: NCCL says of
// nobody whether it is one.
func (t *table) phases() {
	if !slices.Contains(trees, t.how) {
		return
	}
	for k, h := range t.hands {
		back := t.hands[handKey{k.seat, k.peer, k.channel, !k.send}]
		if back == nil {
			continue
		}
		send, receive := h, back
		if !h.send {
			send, receive = back, h
		}
		sent, came := send.proxy.SentNS, receive.proxy.CameNS
		parent := sent > 0 && (came == 0 || sent < came)
		if sent == 0 && came == 0 { // neither: what the other end has says it
			if o := t.other(send); o != nil {
				if b := t.other(receive); b != nil {
					parent = b.proxy.SentNS == 0 && o.proxy.CameNS > 0
				}
			}
		}
		h.phase = fromRoot
		if parent == h.send {
			h.phase = toRoot
		}
	}
}

// receives reports whether a proxy brings a rank anything in a direction.
func (t *table) receives(at place) bool {
	for k, h := range t.hands {
		if k.seat == at.seat && !k.send && h.phase == at.phase && int16(k.channel) == at.channel {
			return true
		}
	}
	return false
}

// unseen is a GPU that waits in an operation that is not a ring: for itself, unless others of its host take part, whose data no proxy carries, or
// nobody knows in which order the algorithm goes on.
func (t *table) unseen(h *hand, own *held) *held {
	alone := true
	for seat, host := range t.host {
		alone = alone && (seat == h.seat || host != t.host[h.seat])
	}
	if h.phase == around || !alone || len(t.lacks) > 0 {
		own.certain = false
		own.because = "its GPU waits, perhaps for another GPU, whose data no proxy carries"
	}
	return own
}

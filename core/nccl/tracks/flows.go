package tracks

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// flows leads from the call of each operation to its launch, to its kernel on each channel, from there to what its proxies send, and from
// these to what the peers' proxies receive.
func (b *builder) flows() {
	j := b.t.Job
	for ri, r := range j.Recordings {
		for i := range r.Ops {
			b.own(int32(ri), r, &r.Ops[i], chainOf(r, &r.Ops[i], rankOf(r, &r.Ops[i])))
			if b.t.alone {
				b.received(int32(ri), r, &r.Ops[i])
			}
		}
	}
	for i := range j.Matches {
		b.between(&j.Matches[i])
	}
}

// own draws the flows within one rank.
func (b *builder) own(recording int32, r *operation.Recording, op *operation.Op, chain uint64) {
	var last *Place
	step := func(kind kind, index int32) {
		if p, ok := b.at[thing{recording, kind, index}]; ok && index >= 0 {
			if last != nil {
				b.lead(*last, p)
			}
			b.link(p, chain)
			last = &p
		}
	}
	if !op.Captured || op.Occurrence == 0 { // of a replay the call and the launch are those of the capture
		step(API, op.API)
		step(Launch, op.Launch)
	}
	before := last
	byChannel := map[uint8]Place{}
	for k := op.KernelFrom; k < op.KernelTo; k++ {
		p, ok := b.at[thing{recording, Kernel, k}]
		if !ok {
			continue
		}
		byChannel[r.Kernels[k].Channel] = p
		if before != nil {
			b.lead(*before, p)
		}
		b.link(p, chain)
	}
	for k := op.ProxyFrom; k < op.ProxyTo; k++ {
		if !r.Proxies[k].Send {
			continue
		}
		p, ok := b.at[thing{recording, Proxy, k}]
		if !ok {
			continue
		}
		from, ok := byChannel[r.Proxies[k].Channel]
		switch {
		case ok:
			b.lead(from, p)
		case before != nil:
			b.lead(*before, p)
		}
		b.link(p, chain)
	}
}

// received puts what proxies receive into the chains of those that send it, whose recordings are not at hand.
func (b *builder) received(recording int32, r *operation.Recording, op *operation.Op) {
	for k := op.ProxyFrom; k < op.ProxyTo; k++ {
		if x := &r.Proxies[k]; !x.Send && !x.Foreign {
			if p, ok := b.at[thing{recording, Proxy, k}]; ok {
				b.link(p, chainOf(r, op, x.Peer))
			}
		}
	}
}

// rankOf is the rank of an operation's member in its communicator; -1 unknown.
func rankOf(r *operation.Recording, op *operation.Op) int32 {
	if op.Member < 0 || int(op.Member) >= len(r.Members) {
		return operation.None
	}
	return r.Members[op.Member].Rank
}

// chainOf is the number of the chain that begins with what a rank of the communicator calls for an operation. It is the same whichever recording tells of it, where
// NCCL gave the communicator a number.
func chainOf(r *operation.Recording, op *operation.Op, rank int32) uint64 {
	own := rankOf(r, op)
	if own < 0 || rank < 0 || r.Members[op.Member].ID == 0 {
		return Number(uint64(r.PID), r.BootID, uint64(r.Cookie), op.Handle)
	}
	id := r.Members[op.Member].ID
	switch {
	case op.Kind == operation.Collective || op.Kind == operation.CopyEngine:
		return Number(id, r.Name(op.Func), op.Sequence, uint64(op.Occurrence), uint64(rank))
	case op.Kind == operation.Send || rank != own: // what a send gives, or a receive is given
		to := op.Peer
		if op.Kind == operation.Recv {
			to = own
		}
		return Number(id, "Send", uint64(op.Occurrence), uint64(rank), uint64(to))
	}
	return Number(id, "Recv", uint64(op.Occurrence), uint64(op.Peer), uint64(own))
}

// Number is a number above 0 that others get of the same and hardly of anything else. It has 53 bits, which viewers read exactly.
func Number(id uint64, text string, others ...uint64) uint64 {
	h := fnv.New64a()
	b := binary.LittleEndian.AppendUint64([]byte(text), id)
	for _, n := range others {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	h.Write(b) // never fails
	return max(1, h.Sum64()>>11)
}

// between draws the flows from what ranks send to what their peers receive: of one operation, communicator and channel.
func (b *builder) between(m *operation.Match) {
	j := b.t.Job
	parts := j.Of(m)
	type way struct {
		from, to int32
		channel  uint8
	}
	sent := map[way][]Place{}
	each := func(send bool, visit func(w way, p Place)) {
		for i := range parts {
			part := &parts[i]
			r, op := j.Recordings[part.Recording], j.Op(part)
			for k := op.ProxyFrom; k < op.ProxyTo; k++ {
				x := &r.Proxies[k]
				if p, ok := b.at[thing{part.Recording, Proxy, k}]; ok && x.Send == send {
					w := way{part.Seat, x.Peer, x.Channel}
					if !send {
						w = way{x.Peer, part.Seat, x.Channel}
					}
					visit(w, p)
				}
			}
		}
	}
	each(true, func(w way, p Place) { sent[w] = append(sent[w], p) })
	each(false, func(w way, p Place) {
		if list := sent[w]; len(list) > 0 {
			b.lead(list[0], p)
			b.link(p, b.t.slice(list[0]).Chain)
			sent[w] = list[1:]
		}
	})
}

// link puts a slice into the chain of an operation, unless it is in that of another.
func (b *builder) link(p Place, chain uint64) {
	if s := b.t.slice(p); s.Chain == 0 {
		s.Chain = chain
	}
}

// lead draws a flow. It begins with its first slice, and arrives later: viewers sort by time, and would turn round what is at one instant.
func (b *builder) lead(from, to Place) {
	x, y := b.t.slice(from), b.t.slice(to)
	at := max(x.StartNS+1, y.StartNS)
	if at >= y.StopNS {
		b.t.Unordered++
		return
	}
	b.t.Flows = append(b.t.Flows, Flow{from, to, x.StartNS, at})
}

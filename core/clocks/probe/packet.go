package probe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// packetSize is the size of every packet. An answer is as long as its question.
const packetSize = 112

const (
	magic   = 0x70726c78 // "prlx"
	version = 1
	macSize = 16
	signed  = packetSize - macSize

	kindProbe  = 1
	kindAnswer = 2

	flagKernelT2   = 1 << 0 // the receive stamp is the kernel's
	flagKernelSoon = 1 << 1 // the sender's kernel stamps what it sends: a later packet says when this one was sent
	knownFlags     = flagKernelT2 | flagKernelSoon

	followUps = 2
)

// sessionID is what the packets of one job and one list of peers are known by.
type sessionID [8]byte

// followUp says when the kernel sent an earlier answer.
type followUp struct {
	seq uint32 // of the answer; 0: none
	at  int64
}

// packet is one datagram. docs/formats/probe-packets.md draws it.
type packet struct {
	kind      uint8
	flags     uint8
	session   sessionID
	from, to  uint32
	fromRun   uint64 // the number of the sending process
	toRun     uint64 // of the receiving process, as far as the sender knows it
	seq       uint32 // of the sender's packets to this receiver, from 1
	answers   uint32 // of an answer: the probe's seq
	t2, t3    int64  // of an answer: when the probe arrived, and when the answer was about to be sent
	followUps [followUps]followUp
}

// refusal is why a packet is not taken.
type refusal uint8

const (
	taken refusal = iota
	malformed
	foreign
	forged
)

// signer signs packets and checks them.
type signer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newSigner(key []byte) *signer { return &signer{mac: hmac.New(sha256.New, key)} }

func (s *signer) of(b []byte) []byte {
	s.mac.Reset()
	s.mac.Write(b)
	return s.mac.Sum(s.sum[:0])[:macSize]
}

// put writes the packet into b, which has packetSize bytes, and signs it.
func (p *packet) put(b []byte, s *signer) {
	be := binary.BigEndian
	be.PutUint32(b[0:], magic)
	b[4], b[5], b[6], b[7] = version, p.kind, p.flags, 0
	copy(b[8:16], p.session[:])
	be.PutUint32(b[16:], p.from)
	be.PutUint32(b[20:], p.to)
	be.PutUint64(b[24:], p.fromRun)
	be.PutUint64(b[32:], p.toRun)
	be.PutUint32(b[40:], p.seq)
	be.PutUint32(b[44:], p.answers)
	be.PutUint64(b[48:], uint64(p.t2))
	be.PutUint64(b[56:], uint64(p.t3))
	for i, f := range p.followUps {
		be.PutUint32(b[64+16*i:], f.seq)
		be.PutUint32(b[68+16*i:], 0)
		be.PutUint64(b[72+16*i:], uint64(f.at))
	}
	copy(b[signed:], s.of(b[:signed]))
}

// read reads a packet of a session. Everything that anybody can send comes through here: the signature is checked before anything in the
// packet is believed, and after what tells at no cost that it is not ours.
func (p *packet) read(b []byte, session sessionID, s *signer) refusal {
	be := binary.BigEndian
	if len(b) != packetSize || be.Uint32(b) != magic || b[4] != version {
		return malformed
	}
	if sessionID(b[8:16]) != session {
		return foreign
	}
	if !hmac.Equal(s.of(b[:signed]), b[signed:]) {
		return forged
	}
	p.kind, p.flags, p.session = b[5], b[6], session
	p.from, p.to = be.Uint32(b[16:]), be.Uint32(b[20:])
	p.fromRun, p.toRun = be.Uint64(b[24:]), be.Uint64(b[32:])
	p.seq, p.answers = be.Uint32(b[40:]), be.Uint32(b[44:])
	p.t2, p.t3 = int64(be.Uint64(b[48:])), int64(be.Uint64(b[56:]))
	zero := b[7] == 0
	for i := range p.followUps {
		p.followUps[i] = followUp{be.Uint32(b[64+16*i:]), int64(be.Uint64(b[72+16*i:]))}
		zero = zero && be.Uint32(b[68+16*i:]) == 0
	}
	if !zero || p.flags&^uint8(knownFlags) != 0 || p.seq == 0 || p.fromRun == 0 || p.from == p.to {
		return malformed
	}
	switch p.kind {
	case kindProbe:
		if p.answers != 0 || p.t2 != 0 || p.t3 != 0 || p.flags&flagKernelT2 != 0 {
			return malformed
		}
	case kindAnswer:
		if p.answers == 0 || p.t2 <= 0 || p.t3 <= 0 {
			return malformed
		}
	default:
		return malformed
	}
	return taken
}

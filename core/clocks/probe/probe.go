// Package probe measures how far the clocks of several hosts are apart, by small udp packets between them.
//
// A Prober is a state machine: it is told the time, what arrived and what the kernel says about what it sent, and it sends through a
// Transport. It has no goroutine, no timer and no socket of its own, so that tests run thousands of them in virtual time; Run drives one
// on a udp socket. What it finds are exchanges, the four readings of a probe and its answer, which a Recorder appends to a file as raw
// probe stamps. It solves nothing: package offsets does. docs/formats/probe-packets.md has the packets, docs/formats/raw-probes.md the file.
package probe

import (
	"net/netip"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

// stamp is an instant of the host's wall clock, and who read it.
type stamp struct {
	NS     int64
	Kernel bool // read by the kernel where the packet passed, not by us before or after
}

// exchange is one probe and its answer: T1 and T4 on the clock of this node, T2 and T3 on the peer's.
type exchange struct {
	Src, Dst       int
	Seq            uint32
	T1, T2, T3, T4 stamp
}

// transport sends packets. When the kernel sent one is told later, by the packet's id: see Prober.Transmitted. An id of 0 says that it will not be.
type transport interface {
	Send(to netip.AddrPort, packet []byte) (id uint64, err error)
}

// clock is the wall clock of the host.
type clock interface {
	Now() int64 // ns since 1970
}

// sink takes what was measured.
type sink interface {
	Exchange(e *exchange)
}

// config is what a prober is told. The zero value of a field means its default.
type config struct {
	Peers   []netip.AddrPort // of all nodes, this one included; the same order everywhere
	Node    int              // which of them this one is
	Session sessionID        // what the packets of this job are known by
	Key     []byte           // proves that a packet is of this job; at least minKey bytes
	Rate    float64          // probes a second to all peers together. Default 24; up to 10,000
	Random  uint64           // seeds the jitter and is this process's number, which no other one has: from a good source
}

// Limits and defaults.
const (
	defaultRate = 24
	maxRate     = 10_000
	maxPeers    = 1 << 16
	minKey      = 16

	// answerTimeout is how long an answer is waited for. One that comes later is counted as late and not used.
	answerTimeout = int64(time.Second)
	// stampTimeout is how long an exchange waits for the peer's kernel stamp of its answer before it is recorded with the peer's own.
	stampTimeout = int64(700 * time.Millisecond)
)

func (c *config) check() error {
	switch {
	case len(c.Peers) < 2:
		return fault.Usagef("the list of peers names %d host, expected 2 or more", len(c.Peers)).WithHint("list every host, this one included")
	case len(c.Peers) > maxPeers:
		return fault.Usagef("the list of peers names %d hosts, expected at most %d", len(c.Peers), maxPeers)
	case c.Node < 0 || c.Node >= len(c.Peers):
		return fault.Usagef("node is %d, expected 0 to %d: a place in the list of peers", c.Node, len(c.Peers)-1)
	case !(c.Rate > 0 && c.Rate <= maxRate):
		return fault.Usagef("rate is %g, expected 1 to %d probes a second", c.Rate, maxRate)
	}
	return checkKey(c.Key)
}

func checkKey(key []byte) error {
	if len(key) < minKey {
		return fault.Usagef("the job key has %d bytes, at least %d are needed", len(key), minKey).WithHint("make one: %s", makeKey)
	}
	return nil
}

// Counters say what became of the packets of a prober.
type Counters struct {
	Sent      int64 `json:"sent"`      // probes that were sent
	Answered  int64 `json:"answered"`  // of these, answered in time
	Late      int64 `json:"late"`      // answered too late
	Dropped   int64 `json:"dropped"`   // never answered
	Unsent    int64 `json:"unsent"`    // that the system did not send
	Given     int64 `json:"given"`     // answers that were given
	Withheld  int64 `json:"withheld"`  // answers that were not given: more questions than a prober asks
	Rejected  int64 `json:"rejected"`  // packets that are not of this job, damaged, or replayed; the sum of the following
	Malformed int64 `json:"malformed"` // no packet of ours, or of another version
	Foreign   int64 `json:"foreign"`   // of another job or list of peers, or from a node that is not a peer
	Forged    int64 `json:"forged"`    // not signed with the job's key
	Replayed  int64 `json:"replayed"`  // seen before, or of a process that is gone
	Recorded  int64 `json:"recorded"`  // exchanges that were recorded
	Kernel    int64 `json:"kernel"`    // of these, with four stamps of the kernel
}

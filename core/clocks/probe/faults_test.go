package probe

import (
	"math/rand"
	"net/netip"
	"testing"
)

// pair is two probers in virtual time whose packets a test carries, keeps and changes.
type pair struct {
	t       *testing.T
	now     int64
	probers [2]*prober
	found   [2]int
	wire    []sentPacket // in order
	stamped []sentAt     // by the kernel, and not told yet
	lost    bool
	count   uint64
}

// sentAt is a packet that the kernel stamped.
type sentAt struct {
	from int
	id   uint64
	at   int64
}

// tell tells the probers when the kernel sent what they sent.
func (p *pair) tell() {
	for _, s := range p.stamped {
		p.probers[s.from].Transmitted(s.id, s.at)
	}
	p.stamped = p.stamped[:0]
}

type sentPacket struct {
	from int
	b    []byte
}

type end struct {
	p  *pair
	id int
}

func (e end) Now() int64 { return 1_760_000_000_000_000_000 + e.p.now }
func (e end) Send(to netip.AddrPort, b []byte) (uint64, error) {
	e.p.wire = append(e.p.wire, sentPacket{e.id, append([]byte(nil), b...)})
	e.p.count++
	e.p.stamped = append(e.p.stamped, sentAt{e.id, e.p.count, e.Now() + 1000})
	return e.p.count, nil
}
func (e end) Exchange(*exchange) { e.p.found[e.id]++ }

var pairPeers = []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:2")}

func (p *pair) start(id int, run uint64) {
	q, err := newProber(config{Peers: pairPeers, Node: id, Session: testSession, Key: testKey, Random: run}, end{p, id}, end{p, id}, end{p, id}, p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	p.probers[id] = q
}

// step lets a millisecond pass and delivers what was sent.
func (p *pair) step() {
	p.now += 1e6
	for _, q := range p.probers {
		q.Advance(p.now)
	}
	for len(p.wire) > 0 {
		s := p.wire[0]
		p.wire = p.wire[1:]
		p.now += 20_000
		if !p.lost {
			p.deliver(s)
		}
	}
}

func (p *pair) deliver(s sentPacket) {
	p.tell()
	to := 1 - s.from
	p.probers[to].Received(s.b, pairPeers[s.from], stamp{end{p, to}.Now(), true}, p.now)
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t}
	p.start(0, 1)
	p.start(1, 2)
	return p
}

func TestAProbeThatIsAnsweredIsRecordedWithFourStampsOfTheKernel(t *testing.T) {
	p := newPair(t)
	for range 5000 {
		p.step()
	}
	for i, q := range p.probers {
		c := q.Counters()
		if c.Sent < 100 || c.Answered != c.Sent || c.Kernel < c.Recorded-2 || c.Recorded < c.Answered-1 || c.Rejected != 0 || c.Withheld != 0 {
			t.Errorf("prober %d: %+v", i, c)
		}
	}
}

// TestNothingIsTakenOfPacketsThatWereSentBefore: everything that two probers said in 5 s is sent again, to both, in another order, while they go on,
// and after both have started anew.
func TestNothingIsTakenOfPacketsThatWereSentBefore(t *testing.T) {
	p := newPair(t)
	var old []sentPacket
	for range 5000 {
		p.now += 1e6
		for _, q := range p.probers {
			q.Advance(p.now)
		}
		for len(p.wire) > 0 {
			s := p.wire[0]
			p.wire = p.wire[1:]
			old = append(old, s)
			p.deliver(s)
		}
	}
	if len(old) < 400 {
		t.Fatalf("%d packets", len(old))
	}
	replay := func(name string) {
		r := rand.New(rand.NewSource(9))
		before := [2]Counters{}
		for i, q := range p.probers {
			before[i] = q.Counters()
		}
		replayed := int64(0)
		for range 60_000 / 50 { // 60 s
			for range 50 {
				s := old[r.Intn(len(old))]
				if r.Intn(4) == 0 {
					s.from = 1 - s.from // to who sent it
				}
				p.deliver(s)
				replayed++
				p.wire = p.wire[:0]
			}
			p.now += 50e6
			for _, q := range p.probers { // questions are open, and nobody gets them
				q.Advance(p.now)
			}
			p.wire = p.wire[:0]
		}
		for i, q := range p.probers {
			c := q.Counters()
			if c.Answered != before[i].Answered || c.Recorded > before[i].Answered {
				t.Errorf("%s: prober %d took %d answers of old packets", name, i, c.Answered-before[i].Answered)
			}
			// what may be a probe of a process that started a moment ago is answered, twice a second
			if given := c.Given - before[i].Given; given > unprovenAtOnce+60*unprovenRate {
				t.Errorf("%s: prober %d gave %d answers to %d old packets", name, i, given, replayed)
			}
		}
	}
	replay("while they run")
	p.start(0, 3)
	replay("after one started anew")
	p.start(1, 4)
	replay("after both started anew")
	before := p.found
	for range 3000 {
		p.step()
	}
	if p.found[0] < before[0]+50 || p.found[1] < before[1]+50 {
		t.Errorf("after all that they do not find each other: %v, before %v", p.found, before)
	}
}

func TestRandomPacketsAreRejected(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewSource(4))
	for range 1000 {
		p.step()
	}
	before := p.probers[0].Counters()
	var sample []byte
	p.lost = true
	for sample == nil {
		p.now += 1e6
		p.probers[1].Advance(p.now)
		if len(p.wire) > 0 {
			sample = p.wire[0].b
			p.wire = p.wire[:0]
		}
	}
	const n = 200_000
	for range n {
		b := make([]byte, r.Intn(2*packetSize))
		r.Read(b)
		if r.Intn(2) == 0 { // one of ours, with something changed
			b = append([]byte(nil), sample...)
			b[r.Intn(len(b))] ^= byte(1 + r.Intn(255))
		}
		p.probers[0].Received(b, pairPeers[1], stamp{end{p, 0}.Now(), true}, p.now)
	}
	c := p.probers[0].Counters()
	if c.Rejected-before.Rejected != n || c.Given != before.Given || c.Answered != before.Answered || len(p.wire) != 0 {
		t.Errorf("%d random packets: before %+v, after %+v", n, before, c)
	}
}

func TestAProberThatStartsAnewIsFoundAgain(t *testing.T) {
	p := newPair(t)
	for range 2000 {
		p.step()
	}
	p.start(1, 77)
	found := p.found
	for range 2000 {
		p.step()
	}
	if p.found[0] < found[0]+30 || p.found[1] < found[1]+30 {
		t.Errorf("%v exchanges before, %v after", found, p.found)
	}
	if c := p.probers[0].Counters(); c.Kernel < c.Recorded-5 {
		t.Errorf("stamps of the kernel are missing after a start: %+v", c)
	}
}

func TestLostPacketsAreCounted(t *testing.T) {
	p := newPair(t)
	for range 1000 {
		p.step()
	}
	p.lost = true
	sent := p.probers[0].Counters().Sent
	for range 5000 {
		p.step()
	}
	c := p.probers[0].Counters()
	if lost := c.Sent - sent; c.Dropped < lost-30 || c.Dropped > lost {
		t.Errorf("%d of %d lost probes are counted: %+v", c.Dropped, lost, c)
	}
}

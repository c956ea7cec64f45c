package probe

import (
	"math"
	"net/netip"
	"slices"
)

// prober measures the clocks of one node against those of its links. All times called mono are ns of a clock that never steps.
// A Prober is used by one goroutine.
type prober struct {
	cfg       config
	clock     clock
	transport transport
	sink      sink
	signer    *signer
	random    random
	run       uint64 // the number of this process
	links     []*peer
	byNode    map[uint32]*peer

	counters Counters
	stamps   bool        // the kernel stamps what we send
	sent     [256]unsaid // packets whose kernel stamp may come, by ID
	order    []int       // of the links in this round
	turn     int
	next     int64 // when the next probe is due
	checked  int64 // when links were last looked through
	packet   [packetSize]byte
}

// unsaid is a packet whose kernel stamp has not come yet.
type unsaid struct {
	id    uint64
	to    *peer
	seq   uint32
	probe bool
}

// newProber returns a prober whose first probe is due at mono.
func newProber(cfg config, clock clock, transport transport, sink sink, mono int64) (*prober, error) {
	if cfg.Rate == 0 {
		cfg.Rate = defaultRate
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &prober{cfg: cfg, clock: clock, transport: transport, sink: sink, signer: newSigner(cfg.Key), random: random(cfg.Random), byNode: map[uint32]*peer{}}
	for p.run == 0 {
		p.run = p.random.next()
	}
	seed := random(0)
	for _, b := range cfg.Session {
		seed = seed<<8 | random(b)
	}
	for _, n := range links(len(cfg.Peers), uint64(seed))[cfg.Node] {
		l := &peer{node: n, addr: cfg.Peers[n], full: answersAtOnce, unproven: unprovenAtOnce, filled: mono}
		p.links = append(p.links, l)
		p.byNode[uint32(n)] = l
	}
	p.order = make([]int, len(p.links))
	for i := range p.order {
		p.order[i] = i
	}
	p.next, p.checked = mono+int64(p.random.unit()*p.interval()), mono
	return p, nil
}

// linked returns the nodes that this one exchanges probes with, ascending.
func (p *prober) linked() []int {
	out := make([]int, len(p.links))
	for i, l := range p.links {
		out[i] = l.node
	}
	return out
}

// reach says where a node is, when that is found out only after the prober was made.
func (p *prober) reach(node int, at netip.AddrPort) {
	if l := p.byNode[uint32(node)]; l != nil {
		l.addr = at
	}
}

// Counters returns what became of the packets so far.
func (p *prober) Counters() Counters { return p.counters }

const (
	// probesAtOnce is how many probes are sent whenever the process wakes up for that: what a prober costs is mostly waking up.
	probesAtOnce = 3
	// inARow is how many probes a peer gets one after another where the kernel stamps nothing, each when the one before has been answered.
	inARow = 6
	// wellKnown is how many answers of a peer come before that.
	wellKnown = 3
)

// interval is the mean time between two times that probes are sent, ns.
func (p *prober) interval() float64 {
	if p.stamps {
		return probesAtOnce * 1e9 / p.cfg.Rate
	}
	return inARow * 1e9 / p.cfg.Rate
}

// checkEvery is how often links are looked through for what has waited long enough.
const checkEvery = int64(100e6)

// longestWait is how long a prober may sleep that sends few probes, for others wait for its answers.
const longestWait = int64(200e6)

// Advance does what is due at mono and returns when it is to be called next.
func (p *prober) Advance(mono int64) (next int64) {
	if mono >= p.checked+checkEvery {
		p.checked = mono
		for _, l := range p.links {
			p.counters.Dropped += int64(l.expire(mono))
			p.release(l, mono)
		}
	}
	if mono >= p.next {
		p.round(mono)
		p.next += int64(p.interval() * (0.5 + p.random.unit())) // jitter: probers must not fall into step
		if p.next < mono {                                      // the host was suspended, or is too busy
			p.next = mono + int64(p.interval()*p.random.unit())
		}
	}
	return min(p.next, mono+longestWait)
}

// Close records what still waits for a stamp.
func (p *prober) Close() {
	for _, l := range p.links {
		for i := range l.held {
			p.record(&l.held[i].exchange)
		}
		l.held = l.held[:0]
	}
}

// round sends the probes that are due: each to another peer, or those of one peer in a row.
func (p *prober) round(mono int64) {
	if !p.stamps {
		l := p.inTurn()
		if l.answered >= wellKnown {
			p.probe(l, mono, inARow-1)
			return
		}
		p.probe(l, mono, 0) // whoever ends after a moment should have been seen at many instants
		for range inARow - 1 {
			p.probe(p.inTurn(), mono, 0)
		}
		return
	}
	for range probesAtOnce {
		p.probe(p.inTurn(), mono, 0)
	}
}

// inTurn returns the link whose turn it is in the round.
func (p *prober) inTurn() *peer {
	if p.turn == 0 { // every round in another order
		for i := len(p.order) - 1; i > 0; i-- {
			k := int(p.random.next() % uint64(i+1))
			p.order[i], p.order[k] = p.order[k], p.order[i]
		}
	}
	l := p.links[p.order[p.turn]]
	p.turn = (p.turn + 1) % len(p.order)
	return l
}

// probe sends a probe. So many others as again says follow at once when it is answered: where processes stamp packets, they find both of them
// awake, and their round trips are the shorter ones.
func (p *prober) probe(l *peer, mono int64, again int) {
	out := packet{kind: kindProbe}
	p.address(&out, l)
	out.put(p.packet[:], p.signer)
	t1 := stamp{NS: p.clock.Now()}
	id, err := p.transport.Send(l.addr, p.packet[:])
	if err != nil {
		p.counters.Unsent++
		return
	}
	p.counters.Sent++
	l.sent++
	p.expect(unsaid{id, l, out.seq, true})
	l.asked = append(l.asked, question{seq: out.seq, t1: t1, until: mono + answerTimeout, again: again})
}

// address fills in what every packet to a peer has.
func (p *prober) address(out *packet, l *peer) {
	l.seq++
	out.session, out.from, out.to = p.cfg.Session, uint32(p.cfg.Node), uint32(l.node)
	out.fromRun, out.toRun, out.seq = p.run, l.run, l.seq
	if p.stamps {
		out.flags |= flagKernelSoon
	}
	out.followUps = l.given
}

// expect notes a packet whose stamp may come.
func (p *prober) expect(u unsaid) {
	if u.id != 0 {
		p.sent[u.id%uint64(len(p.sent))] = u
	}
}

// Transmitted tells when the kernel sent the packet of an ID.
func (p *prober) Transmitted(id uint64, at int64) {
	u := &p.sent[id%uint64(len(p.sent))]
	if id == 0 || u.id != id {
		return
	}
	p.stamps = true
	if u.probe {
		if q := u.to.question(u.seq); q != nil {
			q.t1 = stamp{at, true}
		}
	} else {
		u.to.gave(u.seq, at)
	}
	*u = unsaid{}
}

// Received takes a datagram that arrived.
func (p *prober) Received(b []byte, from netip.AddrPort, at stamp, mono int64) {
	var in packet
	switch in.read(b, p.cfg.Session, p.signer) {
	case malformed:
		p.reject(&p.counters.Malformed)
		return
	case foreign:
		p.reject(&p.counters.Foreign)
		return
	case forged:
		p.reject(&p.counters.Forged)
		return
	}
	l := p.byNode[in.from]
	if l == nil || in.to != uint32(p.cfg.Node) {
		p.reject(&p.counters.Foreign)
		return
	}
	if in.kind == kindAnswer {
		p.answered(l, &in, at, mono)
	} else {
		p.asked(l, &in, from, at, mono)
	}
}

func (p *prober) reject(why *int64) {
	p.counters.Rejected++
	*why++
}

// asked answers a probe. A probe of a process that has not proved to be alive (it, or we, started a moment ago) is answered too, for the
// answer lets it prove that; nothing else in it is believed.
func (p *prober) asked(l *peer, in *packet, from netip.AddrPort, at stamp, mono int64) {
	l.refill(mono, p.cfg.Rate)
	proven := in.fromRun == l.run && in.toRun == p.run
	if proven {
		if !l.seen.take(in.seq) {
			p.reject(&p.counters.Replayed)
			return
		}
		p.followUps(l, in)
	}
	if !l.allow(proven) {
		p.counters.Withheld++
		return
	}
	out := packet{kind: kindAnswer, answers: in.seq, t2: at.NS}
	p.address(&out, l)
	out.toRun = in.fromRun
	if at.Kernel {
		out.flags |= flagKernelT2
	}
	out.t3 = p.clock.Now()
	out.put(p.packet[:], p.signer)
	id, err := p.transport.Send(from, p.packet[:])
	if err != nil {
		p.counters.Unsent++
		return
	}
	p.counters.Given++
	p.expect(unsaid{id, l, out.seq, false})
}

// answered takes an answer to a question that is open. Only who got the question can have answered it, so its process is alive.
func (p *prober) answered(l *peer, in *packet, at stamp, mono int64) {
	q := l.question(in.answers)
	if in.toRun != p.run || q == nil {
		p.reject(&p.counters.Replayed)
		return
	}
	if q.late {
		p.counters.Late++
		p.counters.Dropped--
		l.forget(in.answers)
		return
	}
	if in.fromRun != l.run {
		l.run, l.seen = in.fromRun, window{}
		p.release(l, never)
	}
	l.seen.take(in.seq)
	p.followUps(l, in)
	e := exchange{
		Src: p.cfg.Node, Dst: l.node, Seq: in.answers,
		T1: q.t1, T2: stamp{in.t2, in.flags&flagKernelT2 != 0}, T3: stamp{NS: in.t3}, T4: at,
	}
	again := q.again
	l.forget(in.answers)
	p.counters.Answered++
	l.answered++
	if again > 0 && !p.stamps {
		p.probe(l, mono, again-1)
	}
	if in.flags&flagKernelSoon == 0 {
		p.record(&e)
		return
	}
	l.held = append(l.held, held{exchange: e, answer: in.seq, until: mono + stampTimeout})
}

// followUps completes exchanges by the kernel's stamps of answers that came before.
func (p *prober) followUps(l *peer, in *packet) {
	for _, f := range in.followUps {
		if f.seq == 0 {
			continue
		}
		i := slices.IndexFunc(l.held, func(h held) bool { return h.answer == f.seq })
		if i < 0 {
			continue
		}
		e := &l.held[i].exchange
		// the packet left after it was made, and before it arrived here as far as the round trip tells, by clocks of different rates
		if held := f.at - e.T2.NS; f.at >= e.T3.NS && held <= e.T4.NS-e.T1.NS+held/mostDrift {
			e.T3 = stamp{f.at, true}
		}
		p.record(e)
		l.held = slices.Delete(l.held, i, i+1)
	}
}

// mostDrift: two clocks differ by a part in so many, 1000 ppm. The time that a packet waited for its answer is known to that.
const mostDrift = 1000

// never is later than any instant.
const never = math.MaxInt64

// release records the exchanges that have waited long enough for the peer's kernel stamp.
func (p *prober) release(l *peer, mono int64) {
	kept := l.held[:0]
	for i := range l.held {
		if l.held[i].until > mono {
			kept = append(kept, l.held[i])
			continue
		}
		p.record(&l.held[i].exchange)
	}
	l.held = kept
}

func (p *prober) record(e *exchange) {
	p.counters.Recorded++
	l := p.byNode[uint32(e.Dst)]
	held := e.T3.NS - e.T2.NS
	if rtt := e.T4.NS - e.T1.NS - held; held >= 0 && rtt > 0 && (l.minRTT == 0 || rtt+held/mostDrift < l.surely) {
		l.minRTT, l.surely = rtt, rtt+held/mostDrift
	}
	if e.T1.Kernel && e.T2.Kernel && e.T3.Kernel && e.T4.Kernel {
		p.counters.Kernel++
	}
	p.sink.Exchange(e)
}

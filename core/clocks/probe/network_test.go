package probe_test

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"math/rand"
	"net/netip"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// A simulated network in virtual time: the real scheduler, packets, solver and bounds, and clocks whose truth is known.

const epoch = int64(1_760_000_000_000_000_000)

// hostClock is a wall clock: an offset, a rate that wanders, and steps.
type hostClock struct {
	offset int64
	rate   []float64 // by second, parts of one
	gained []float64 // ns since the start, by second
	steps  []step
}

type step struct{ at, by int64 }

// at is what the clock shows at a true instant, ns since the start.
func (c *hostClock) at(t int64) int64 {
	s := min(max(0, int(t/1e9)), len(c.rate)-1)
	v := epoch + t + c.offset + int64(math.Round(c.gained[s]+c.rate[s]*float64(t-int64(s)*1e9)))
	for _, x := range c.steps {
		if t >= x.at {
			v += x.by
		}
	}
	return v
}

// newClock draws a clock: up to 2 s and 200 ppm off, with a rate that walks by 0.1 ppm a second within 1 ppm.
func newClock(r *rand.Rand, seconds int, wander float64) hostClock {
	c := hostClock{offset: r.Int63n(4e9) - 2e9}
	drift := (r.Float64()*2 - 1) * 200e-6
	walk, gained := 0.0, 0.0
	for range seconds + 1 {
		c.rate = append(c.rate, drift+walk)
		c.gained = append(c.gained, gained)
		gained += (drift + walk) * 1e9
		walk = math.Max(-wander, math.Min(wander, walk+r.NormFloat64()*wander/10))
	}
	return c
}

// path is how packets go from one node to another.
type path struct {
	delay  int64   // without any queue
	extra  int64   // added in this direction only: an asymmetry
	jitter float64 // mean of an exponential queue
	heavy  float64 // the share of packets that wait much longer
	change int64   // when the route changes, ns; 0: never
	more   int64   // by how much it is longer from then on
}

// network is the simulation.
type network struct {
	r         *rand.Rand
	now       int64
	seconds   int
	nodes     []*simNode
	paths     map[[2]int]*path
	events    queue
	number    int64
	symmetric bool
	loss      float64
	kernel    bool
	bursts    []int64
	sawBadLen bool
}

type simNode struct {
	net    *network
	id     int
	clock  hostClock
	prober *probe.Prober
	stamps []clockfile.Stamp
	sink   probe.Sink
	dead   bool
	diesAt int64
	nextID uint64
	starts int64
	told   []sentStamp // by the kernel, of what was sent; read when the process wakes up
	inbox  []arrival   // packets that wait for that, too
}

type sentStamp struct {
	id uint64
	at int64
}

type arrival struct {
	b     []byte
	from  netip.AddrPort
	stamp probe.Stamp
}

type event struct {
	at, number int64
	do         func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (n *network) after(delay int64, do func()) {
	n.number++
	heap.Push(&n.events, event{n.now + delay, n.number, do})
}

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 4747)
}

// Now is the wall clock of the node's process.
func (s *simNode) Now() int64 { return s.clock.at(s.net.now) }

// Exchange keeps what was measured as the reader of files would.
func (s *simNode) Exchange(e *probe.Exchange) {
	if s.sink != nil {
		s.sink.Exchange(e)
		return
	}
	s.stamps = append(s.stamps, clockfile.Stamp{
		Src: int32(e.Src), Dst: int32(e.Dst), Seq: int64(e.Seq), T1: e.T1.NS, T2: e.T2.NS, T3: e.T3.NS, T4: e.T4.NS,
	})
}

// Send puts a packet on the network: the kernel stamps it some microseconds after the process asked for it.
func (s *simNode) Send(to netip.AddrPort, b []byte) (id uint64, err error) {
	n := s.net
	if n.r.Intn(1000) == 0 {
		return 0, errors.New("no buffer space available")
	}
	if len(b) != probe.PacketSize {
		n.sawBadLen = true
	}
	a := to.Addr().As4()
	target := n.nodes[int(a[1])<<16|int(a[2])<<8|int(a[3])]
	sendPath := int64(1000 + n.r.ExpFloat64()*2000)
	leaves := n.now + sendPath
	copies := 1
	switch x := n.r.Float64(); {
	case x < n.loss:
		copies = 0
	case x < n.loss+0.005:
		copies = 2
	}
	for range copies {
		d := n.delay(s.id, target.id)
		packet := slices.Clone(b)
		n.after(sendPath+d, func() { target.arrives(packet, address(s.id)) })
	}
	if !n.kernel {
		return 0, nil
	}
	s.nextID++
	stamp := sentStamp{s.nextID, s.clock.at(leaves)}
	if n.r.Intn(100) > 0 { // else the stamp is never told
		n.after(sendPath, func() { s.told = append(s.told, stamp) })
	}
	return s.nextID, nil
}

// delay is how long a packet takes.
func (n *network) delay(from, to int) int64 {
	p := n.paths[[2]int{from, to}]
	d := p.delay + p.extra + int64(n.r.ExpFloat64()*p.jitter)
	if p.change > 0 && n.now > p.change {
		d += p.more
	}
	if n.r.Float64() < p.heavy {
		d += int64(math.Min(200e6, 50e3/math.Pow(1-n.r.Float64(), 1.2)))
	}
	for _, b := range n.bursts {
		if n.now >= b && n.now < b+300e6 {
			d += int64(n.r.Float64() * 3e6)
		}
	}
	return d
}

// arrives: the kernel stamps the packet, and it waits until the process wakes up, or it wakes up the process.
func (s *simNode) arrives(b []byte, from netip.AddrPort) {
	n := s.net
	if n.kernel {
		s.inbox = append(s.inbox, arrival{b, from, probe.Stamp{NS: s.clock.at(n.now), Kernel: true}})
		return
	}
	wake := int64(5e3 + n.r.ExpFloat64()*20e3)
	if n.r.Intn(100) == 0 {
		wake += n.r.Int63n(5e6)
	}
	n.after(wake, func() {
		if s.alive() {
			s.prober.Received(b, from, probe.Stamp{NS: s.clock.at(n.now)}, n.now)
		}
	})
}

func (s *simNode) alive() bool {
	return s.prober != nil && !s.dead && (s.diesAt == 0 || s.net.now < s.diesAt)
}

// tick wakes the process up: it reads what waits and does what is due.
func (s *simNode) tick() {
	if !s.alive() {
		return
	}
	told, inbox := s.told, s.inbox
	s.told, s.inbox = nil, nil
	for _, t := range told {
		s.prober.Transmitted(t.id, t.at)
	}
	for _, a := range inbox {
		s.prober.Received(a.b, a.from, a.stamp, s.net.now)
	}
	next := s.prober.Advance(s.net.now)
	s.net.after(next-s.net.now+s.net.r.Int63n(60e3), s.tick) // timers are late
}

// conditions are what the network of a run is like.
type conditions struct {
	nodes, seconds int
	symmetric      bool
	kernel         bool
	deadShare      float64
	steps          bool
	wander         float64
	rate           float64
}

func newNetwork(seed int64, c conditions) *network {
	r := rand.New(rand.NewSource(seed))
	n := &network{r: r, seconds: c.seconds, paths: map[[2]int]*path{}, symmetric: c.symmetric, loss: 0.05, kernel: c.kernel}
	peers := make([]netip.AddrPort, c.nodes)
	for i := range peers {
		peers[i] = address(i)
		s := &simNode{net: n, id: i, clock: newClock(r, c.seconds+2, c.wander)}
		n.nodes = append(n.nodes, s)
	}
	session, key := probe.Session{1, 2, 3}, []byte("a key of the job")
	var seedOfGraph uint64
	for _, b := range session {
		seedOfGraph = seedOfGraph<<8 | uint64(b)
	}
	for a, links := range probe.Links(c.nodes, seedOfGraph) {
		for _, b := range links {
			if a < b {
				n.connect(a, b, c)
			}
		}
	}
	for range r.Intn(3) {
		n.bursts = append(n.bursts, r.Int63n(int64(c.seconds)*1e9))
	}
	for i, s := range n.nodes {
		if i > 0 && r.Float64() < c.deadShare {
			if r.Intn(2) == 0 {
				s.dead = true
				continue
			}
			s.diesAt = r.Int63n(int64(c.seconds) * 1e9)
		}
		if c.steps && i > 0 && r.Intn(8) == 0 {
			s.clock.steps = append(s.clock.steps, step{r.Int63n(int64(c.seconds) * 1e9), r.Int63n(4e6) - 2e6})
		}
		s.starts = r.Int63n(2e9)
		n.after(s.starts, func() {
			cfg := probe.Config{Peers: peers, Node: i, Session: session, Key: key, Random: r.Uint64(), Rate: c.rate}
			p, err := probe.New(cfg, s, s, s, n.now)
			if err != nil {
				panic(err)
			}
			s.prober = p
			s.tick()
		})
	}
	return n
}

func (n *network) connect(a, b int, c conditions) {
	r := n.r
	delay := int64(2e3 * math.Pow(2500, r.Float64())) // 2 us to 5 ms
	jitter := 1e3 + r.Float64()*float64(min(delay/2, 50e3))
	heavy := r.Float64() * 0.1
	there := path{delay: delay, jitter: jitter, heavy: heavy}
	back := there
	if !c.symmetric {
		there.extra = r.Int63n(delay + 1)
	}
	if r.Intn(8) == 0 {
		there.change = 1 + r.Int63n(int64(c.seconds)*1e9)
		there.more = r.Int63n(delay + 1)
		back.change, back.more = there.change, there.more
	}
	n.paths[[2]int{a, b}], n.paths[[2]int{b, a}] = &there, &back
}

func (n *network) run() {
	end := int64(n.seconds) * 1e9
	for n.events.Len() > 0 {
		e := heap.Pop(&n.events).(event)
		if e.at > end {
			break
		}
		n.now = e.at
		e.do()
	}
	n.now = end
	for _, s := range n.nodes {
		if s.alive() {
			s.prober.Close()
		}
	}
}

// outcome is how a run came out.
type outcome struct {
	errors    []int64 // ascending, outside of steps
	bounds    []int64 // of nodes, the median of each
	link      int64   // the median of the links' bounds, each of what that link alone says
	far       []far   // nodes whose bound is over three times that, of those that live for more than half of the run
	least     int64   // of the node that is farthest from the reference: the least bound that any method could state
	beyond    int     // errors beyond their bound
	worst     int64   // by how much
	instants  int
	asymmetry int64 // the largest half
	missing   int
	counters  probe.Counters
	stamps    int
}

func (n *network) outcome(t testing.TB, opt offsets.Options) outcome {
	t.Helper()
	var all []clockfile.Stamp
	var o outcome
	for _, s := range n.nodes {
		all = append(all, s.stamps...)
		if s.prober != nil {
			add(&o.counters, s.prober.Counters())
		}
	}
	o.stamps = len(all)
	s, err := offsets.SolveStamps(context.Background(), all, opt)
	if err != nil {
		t.Fatal(err)
	}
	ref := n.nodes[s.Reference]
	o.link = medianLink(t, all, opt)
	least := n.least(s.Reference)
	o.least = slices.Max(least)
	for _, p := range n.paths {
		o.asymmetry = max(o.asymmetry, p.extra/2)
	}
	for _, node := range n.nodes {
		m, ok := s.Node(node.id)
		if !ok {
			if !node.dead && (node.diesAt == 0 || node.diesAt > node.starts+2e9) {
				o.missing++
			}
			continue
		}
		if node.id == s.Reference {
			continue
		}
		var bounds []int64
		for i := range int64(instants) {
			at := int64(n.seconds) * 1e9 / instants * i
			if !node.seen(at) {
				continue
			}
			y, bound, cov := m.Map.At(node.clock.at(at))
			e := y - ref.clock.at(at)
			e = max(e, -e)
			o.instants++
			if e > bound {
				o.beyond++
				o.worst = max(o.worst, e-bound)
			}
			if cov&(clock.InStep|clock.Extrapolated) == 0 {
				o.errors = append(o.errors, e)
				bounds = append(bounds, bound)
			}
		}
		slices.Sort(bounds)
		if len(bounds) > 0 {
			median := bounds[len(bounds)/2]
			o.bounds = append(o.bounds, median)
			if median > 3*o.link && least[node.id] > 0 { // 0: it died in the first half, and was seen for seconds only
				o.far = append(o.far, far{node.id, median, least[node.id]})
			}
		}
	}
	slices.Sort(o.errors)
	slices.Sort(o.bounds)
	return o
}

// far is a node that is known less well than links are.
type far struct {
	node         int
	bound, least int64
}

// medianLink is the bound of the median link: of each, what its packets alone say of the one clock against the other, at most of the instants.
func medianLink(t testing.TB, all []clockfile.Stamp, opt offsets.Options) int64 {
	t.Helper()
	of := map[[2]int32][]clockfile.Stamp{}
	for _, s := range all {
		k := [2]int32{min(s.Src, s.Dst), max(s.Src, s.Dst)}
		of[k] = append(of[k], s)
	}
	var bounds []int64
	for k, stamps := range of {
		s, err := offsets.SolveStamps(context.Background(), stamps, opt)
		if err != nil {
			continue // a node that died at once
		}
		if n, ok := s.Node(int(k[1])); ok {
			bounds = append(bounds, n.Bound.P50)
		}
	}
	slices.Sort(bounds)
	return bounds[len(bounds)/2]
}

// least returns, by node, the bound that nothing could be below: from packets without any queue. Of each link they say that the one clock is at most so much
// ahead of the other, and at least so much; whatever is between is as good an explanation of every packet, with other delays of the two directions. How far a
// clock can be moved, up and down, are the shortest ways from the node and to it; half of their sum is what is left open. It is what it is in the middle of
// the run: over the nodes that live then, on the routes that there are then. 0 for nodes that cannot be reached.
func (n *network) least(from int) []int64 {
	ahead, behind := n.ways(from, false), n.ways(from, true)
	out := make([]int64, len(n.nodes))
	for i := range out {
		out[i] = (ahead[i] + behind[i]) / 2
	}
	return out
}

// ways returns the sums of the delays on the shortest ways from a node to all others, or back.
func (n *network) ways(from int, back bool) []int64 {
	out := make([]int64, len(n.nodes))
	middle := int64(n.seconds) * 1e9 / 2
	lives := func(i int) bool { return !n.nodes[i].dead && (n.nodes[i].diesAt == 0 || n.nodes[i].diesAt > middle) }
	for changed := true; changed; {
		changed = false
		for k, p := range n.paths {
			a, b := k[0], k[1]
			if back {
				a, b = b, a
			}
			if b == from || !lives(a) || !lives(b) || a != from && out[a] == 0 {
				continue
			}
			d := out[a] + p.delay + p.extra
			if !n.kernel { // before it leaves, and until the process wakes up
				d += 6e3
			}
			if p.change > 0 && p.change < middle {
				d += p.more
			}
			if out[b] == 0 || d < out[b] {
				out[b], changed = d, true
			}
		}
	}
	return out
}

// seen reports whether a prober was there to see what the clock did: not before it started, and not beyond a step for which it had less than
// a second, a handful of probes.
func (s *simNode) seen(at int64) bool {
	end := int64(s.net.seconds) * 1e9
	if s.diesAt > 0 {
		end = s.diesAt
	}
	for _, x := range s.clock.steps {
		if x.at < s.starts+1e9 && at < x.at || x.at > end-1e9 && at >= x.at {
			return false
		}
	}
	return at >= s.starts && at <= end
}

// instants is at how many instants of a run every clock is compared with the truth.
const instants = 400

func add(to *probe.Counters, c probe.Counters) {
	to.Sent += c.Sent
	to.Answered += c.Answered
	to.Late += c.Late
	to.Dropped += c.Dropped
	to.Unsent += c.Unsent
	to.Given += c.Given
	to.Withheld += c.Withheld
	to.Rejected += c.Rejected
	to.Malformed += c.Malformed
	to.Foreign += c.Foreign
	to.Forged += c.Forged
	to.Replayed += c.Replayed
	to.Recorded += c.Recorded
	to.Kernel += c.Kernel
}

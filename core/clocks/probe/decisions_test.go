package probe

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheGeneratorIsSplitmix64, by the numbers that its author's program prints for the seed 1234567.
func TestTheGeneratorIsSplitmix64(t *testing.T) {
	r := random(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := r.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	for range 1000 {
		if u := r.unit(); u < 0 || u >= 1 {
			t.Fatalf("%v is not in [0, 1)", u)
		}
	}
}

// TestAnswersAreGivenOutOfABucket: no more than are allowed at once, however long nobody asked, and four times as many a second as are asked.
func TestAnswersAreGivenOutOfABucket(t *testing.T) {
	given := func(l *peer, proven bool) (n int) {
		for l.allow(proven) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		proven  bool
		seconds int64
		rate    float64
		want    int
	}{
		{true, 0, 24, answersAtOnce}, {true, 3600, 24, answersAtOnce}, {false, 0, 24, unprovenAtOnce}, {false, 3600, 24, unprovenAtOnce},
	} {
		l := &peer{full: answersAtOnce, unproven: unprovenAtOnce}
		l.refill(c.seconds*1e9, c.rate)
		if n := given(l, c.proven); n != c.want {
			t.Errorf("%+v: %d answers", c, n)
		}
	}
	l := &peer{}
	for rate, want := range map[float64]int{defaultRate: 48, 10: 48, 20: 48, 30: 60} {
		*l = peer{}
		l.refill(5e8, rate)
		if n := given(l, true); n != want {
			t.Errorf("half a second at a rate of %v: %d answers, want %d", rate, n, want)
		}
	}
	*l = peer{}
	if l.refill(2e9, defaultRate); given(l, false) != 2*unprovenRate {
		t.Error("two seconds allow another number of answers to who has not proved to be alive")
	}
}

// TestTheFirstProbeIsDueWithinAnInterval: probers that start together do not send together.
func TestTheFirstProbeIsDueWithinAnInterval(t *testing.T) {
	p := &pair{t: t, now: 3600e9}
	earliest, latest, atOnce := int64(1<<62), int64(0), 0
	for run := range uint64(50) {
		p.start(0, run+1)
		at := p.probers[0].Advance(p.now) - p.now
		if p.probers[0].counters.Sent != 0 {
			atOnce++
		}
		earliest, latest = min(earliest, at), max(latest, at)
	}
	if interval := int64(1e9 * inARow / defaultRate); earliest > interval/5 || latest < interval/2 || latest > interval || atOnce > 2 {
		t.Errorf("the first probes of 50 probers are due %d to %d ns after they start, an interval is %d; %d are sent at once", earliest, latest, interval, atOnce)
	}
}

// mute is an end whose packets the kernel does not stamp.
type mute struct{ end }

func (m mute) Send(to netip.AddrPort, b []byte) (uint64, error) {
	_, err := m.end.Send(to, b)
	return 0, err
}

// TestAsManyProbesAreSentAsAreAskedFor, with stamps of the kernel and without: 24 a second.
func TestAsManyProbesAreSentAsAreAskedFor(t *testing.T) {
	const seconds = 120
	for _, stamped := range []bool{true, false} {
		p := newPair(t)
		if !stamped {
			for id := range p.probers {
				q, err := newProber(config{Peers: pairPeers, Node: id, Session: testSession, Key: testKey, Random: uint64(id + 7)}, end{p, id}, mute{end{p, id}}, end{p, id}, p.now)
				if err != nil {
					t.Fatal(err)
				}
				p.probers[id] = q
			}
		}
		for p.now < seconds*1e9 {
			p.step()
		}
		for i, q := range p.probers {
			if sent := q.Counters().Sent; sent < seconds*defaultRate*93/100 || sent > seconds*defaultRate*107/100 {
				t.Errorf("stamped: %v, prober %d: %d probes in %d s, want %d", stamped, i, sent, seconds, seconds*defaultRate)
			}
		}
	}
}

// TestPacketsForOthersAndOfStrangersAreForeign though they are of the job and signed.
func TestPacketsForOthersAndOfStrangersAreForeign(t *testing.T) {
	for name, c := range map[string]struct {
		from, to uint32
		foreign  int64
	}{"for us": {1, 0, 0}, "for another": {1, 5, 1}, "of nobody": {9, 0, 1}, "of nobody, for another": {9, 5, 1}} {
		p := newPair(t)
		out := packet{kind: kindProbe, session: testSession, from: c.from, to: c.to, fromRun: 5, seq: 1}
		var b [packetSize]byte
		out.put(b[:], newSigner(testKey))
		q := p.probers[0]
		q.Received(b[:], pairPeers[1], stamp{}, 0)
		if n := q.Counters(); n.Foreign != c.foreign || n.Rejected != c.foreign || n.Given != 1-c.foreign {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// recorded keeps exchanges.
type recorded struct{ list []exchange }

func (r *recorded) Exchange(e *exchange) { r.list = append(r.list, *e) }

// TestAFollowUpCompletesTheExchangeThatItIsOf: among others that say nothing, and only by an instant that can be.
func TestAFollowUpCompletesTheExchangeThatItIsOf(t *testing.T) {
	const t1, t2, t3, t4 = 1_000_000, 5_000_000, 5_010_000, 1_050_000
	for name, c := range map[string]struct {
		told   [followUps]followUp
		t3     int64
		kernel bool
		held   int
	}{
		"alone":                         {[followUps]followUp{{7, t3 + 5}}, t3 + 5, true, 0},
		"behind an empty one":           {[followUps]followUp{{}, {7, t3 + 5}}, t3 + 5, true, 0},
		"behind one of another":         {[followUps]followUp{{6, t3 + 9}, {7, t3 + 5}}, t3 + 5, true, 0},
		"at the instant of the process": {[followUps]followUp{{7, t3}}, t3, true, 0},
		"before it was made":            {[followUps]followUp{{7, t3 - 1}}, t3, false, 0},
		"after it arrived here":         {[followUps]followUp{{7, t2 + (t4 - t1) + 100}}, t3, false, 0},
		"as it arrived here":            {[followUps]followUp{{7, t2 + (t4 - t1)}}, t2 + (t4 - t1), true, 0},
		"of another":                    {[followUps]followUp{{6, t3 + 5}}, 0, false, 1},
	} {
		p := newPair(t)
		sink := &recorded{}
		q := p.probers[0]
		q.sink = sink
		l := q.byNode[1]
		l.held = []held{{exchange: exchange{Src: 0, Dst: 1, T1: stamp{NS: t1}, T2: stamp{NS: t2}, T3: stamp{NS: t3}, T4: stamp{NS: t4}}, answer: 7}}
		q.followUps(l, &packet{followUps: c.told})
		if len(l.held) != c.held || len(sink.list) != 1-c.held {
			t.Errorf("%s: %d wait, %d are recorded", name, len(l.held), len(sink.list))
			continue
		}
		if c.held == 0 && sink.list[0].T3 != (stamp{c.t3, c.kernel}) {
			t.Errorf("%s: the answer was sent at %+v", name, sink.list[0].T3)
		}
	}
}

// TestExchangesWaitForTheirStampNoLongerThanTheyMay: each by its own time.
func TestExchangesWaitForTheirStampNoLongerThanTheyMay(t *testing.T) {
	p := newPair(t)
	sink := &recorded{}
	q := p.probers[0]
	q.sink = sink
	l := q.byNode[1]
	of := func(seq uint32, until int64) held {
		return held{exchange: exchange{Dst: 1, Seq: seq}, answer: seq, until: until}
	}
	l.held = []held{of(1, 20), of(2, 10), of(3, 15), of(4, 30)}
	q.release(l, 15)
	if len(sink.list) != 2 || sink.list[0].Seq != 2 || sink.list[1].Seq != 3 || len(l.held) != 2 || l.held[0].answer != 1 || l.held[1].answer != 4 {
		t.Errorf("recorded are %+v, and %+v wait", sink.list, l.held)
	}
}

func TestOfManyNamesTheFirstFourAreListed(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "a", 4: "a, b, c, d", 5: "a, b, c, d and 1 more", 7: "a, b, c, d and 3 more"} {
		if got := fewOf(strings.Split("abcdefg", "")[:n]); got != want {
			t.Errorf("of %d: %q, want %q", n, got, want)
		}
	}
}

// TestASocketThatIsClosedIsAnError, with stamps of the kernel and without: who waits for packets would wait for ever.
func TestASocketThatIsClosedIsAnError(t *testing.T) {
	for _, stamped := range []bool{true, false} {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		u := NewUDP(conn)
		if !stamped {
			u.WithoutKernelStamps()
		}
		p := newPair(t)
		u.Close()
		if err := u.Receive(p.probers[0], 0, func() int64 { return 0 }); err == nil {
			t.Errorf("stamps of the kernel: %v: a closed socket has nothing to say", stamped)
		}
	}
}

// TestEveryPeerHasItsTurn: in each round once, and rounds are not alike.
func TestEveryPeerHasItsTurn(t *testing.T) {
	peers := []netip.AddrPort{}
	for i := range 6 {
		peers = append(peers, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 9))
	}
	p := newPair(t)
	q, err := newProber(config{Peers: peers, Session: testSession, Key: testKey, Random: 5}, end{p, 0}, end{p, 0}, end{p, 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[string]bool{}
	for range 20 {
		seen, order := map[int]bool{}, ""
		for range q.links {
			l := q.inTurn()
			seen[l.node] = true
			order += string(rune('0' + l.node))
		}
		if len(seen) != 5 {
			t.Fatalf("a round of %s", order)
		}
		rounds[order] = true
	}
	if len(rounds) < 10 {
		t.Errorf("20 rounds in %d orders", len(rounds))
	}
	if _, err := newProber(config{Peers: peers[:1], Key: testKey}, end{p, 0}, end{p, 0}, end{p, 0}, 0); err == nil {
		t.Error("a job of one host has nobody to measure")
	}
}

// TestWhatIsWrongWithAMeasurementIsSaid, each by its own sentence.
func TestWhatIsWrongWithAMeasurementIsSaid(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.2:1")
	for want, c := range map[string]struct {
		doc Document
		l   peer
	}{
		"":                           {Document{Kernel: true, Links: []LinkDocument{{Name: "b", Sent: 5, Answered: 5}}}, peer{addr: at}},
		"the system does not stamp":  {Document{Links: []LinkDocument{{Name: "b", Sent: 5, Answered: 5}}}, peer{addr: at}},
		"1 of 1 peers never":         {Document{Kernel: true, Links: []LinkDocument{{Name: "b", Sent: 5}}}, peer{addr: at}},
		"has no address: b":          {Document{Kernel: true, Links: []LinkDocument{{Name: "b"}}}, peer{}},
		"3 stamps are lost":          {Document{Kernel: true, Lost: 3, Links: []LinkDocument{{Name: "b", Sent: 5, Answered: 5}}}, peer{addr: at}},
		"2 packets were not signed":  {Document{Kernel: true, Counters: Counters{Forged: 2}, Links: []LinkDocument{{Name: "b", Sent: 5, Answered: 5}}}, peer{addr: at}},
		"4 packets were of another ": {Document{Kernel: true, Counters: Counters{Foreign: 4}, Links: []LinkDocument{{Name: "b", Sent: 5, Answered: 5}}}, peer{addr: at}},
	} {
		(&plan{}).judge(&c.doc, []*peer{&c.l})
		if said := strings.Join(c.doc.Warnings, "\n"); !strings.Contains(said, want) || want == "" && said != "" || strings.Count(said, "\n") > 0 {
			t.Errorf("%q: %q", want, said)
		}
	}
}

// TestAFileThatCannotBeWrittenIsAnError at the beginning and at every roll.
func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "probes_node3.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := newRecorder(dir, Header{Node: 3}, 0, 0); err == nil {
		t.Error("a folder stands where the file would")
	}
	dir = t.TempDir()
	r := recorderIn(t, dir, time.Second, 0)
	if err := os.Mkdir(filepath.Join(dir, "probes_node3.2.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.Exchange(exchangeOf(1))
	if err := r.flush(10e9); err == nil || r.part != 1 {
		t.Errorf("%v; part %d", err, r.part)
	}
	if n := r.number(filepath.Join(dir, "probes_node3.x.jsonl")); n != 0 {
		t.Errorf("x is number %d", n)
	}
	if n := r.number(filepath.Join(dir, "probes_node3.17.jsonl")); n != 17 {
		t.Errorf("17 is number %d", n)
	}
}

// TestStampsOfWhatWasSentAreWaitedForOneByOne.
func TestStampsOfWhatWasSentAreWaitedForOneByOne(t *testing.T) {
	s := &sentStamps{base: 1 << 33}
	first, second := s.number(5), s.number(6)
	if s.open != 2 || first == second {
		t.Fatalf("%d are open", s.open)
	}
	if id, ok := s.told(1, 7); !ok || id != second || s.open != 1 {
		t.Errorf("%d, %v; %d are open", id, ok, s.open)
	}
	if _, ok := s.told(0, 4); ok || s.open != 0 {
		t.Errorf("a stamp from before: %v; %d are open", ok, s.open)
	}
	if _, ok := s.told(2, 7); ok {
		t.Error("a packet that nobody sent")
	}
}

// TestASocketIsClosedOnce, where packets are not read in batches, too.
func TestASocketIsClosedOnce(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	u := &udp{conn: conn}
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	if err := u.Close(); err == nil {
		t.Error("a socket that is closed was closed again")
	}
}

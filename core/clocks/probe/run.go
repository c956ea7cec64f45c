package probe

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/verdict"
)

// Request is what a prober of this machine is asked to do.
type Request struct {
	Peers    []string // a file, or host:port each
	Node     *int     // which of them this machine is; nil: found by its name and addresses
	Output   string   // directory
	Duration time.Duration
	Keep     time.Duration // only the last stretch of the stamps; 0: all
	Rate     float64
	Device   string  // network interface
	JobFile  string  // holds the key
	Ranks    [][]int // by peer: the processes of the job on its host, where that is known; for the file

	Environment map[string]string // of the process: the job's key, the launcher's list of hosts
	Version     string

	// For tests: an identity of the host's clock that is not the machine's, a socket that is open, a clock that is not the machine's.
	HostClock string
	Socket    *udp
	Shown     func(ns int64) int64 // what that clock shows when the machine's shows ns
}

// Document is prlx.probe/1: what a prober did.
type Document struct {
	Schema     string          `json:"schema"`
	Status     string          `json:"status"` // "measured", "inconclusive": no probe was answered, "elsewhere": another process of this host measures
	Conclusion verdict.Verdict `json:"conclusion"`
	Node       int             `json:"node"`
	Name       string          `json:"name"`
	Peers      int             `json:"peers"`
	PeersBy    string          `json:"peers_by"` // "peers", or the variable that held the list
	Session    string          `json:"session"`
	Kernel     bool            `json:"kernel_stamps"`
	Seconds    float64         `json:"seconds"`
	Counters   Counters        `json:"counters"`
	Links      []LinkDocument  `json:"links"`
	Written    int64           `json:"stamps_written"`
	Lost       int64           `json:"stamps_lost"` // that the disk did not take
	Output     string          `json:"output"`      // the file that was written last
	Warnings   []string        `json:"warnings"`
}

// LinkDocument is what became of the probes to one peer.
type LinkDocument struct {
	Node     int    `json:"node"`
	Name     string `json:"name"`
	Sent     int64  `json:"sent"`
	Answered int64  `json:"answered"`
	MinRTTNS int64  `json:"min_rtt_ns"` // 0: no answer
}

// plan is a request that was understood.
type plan struct {
	Request
	peers   []string
	node    int
	by      string
	key     []byte
	session sessionID
	elect   string // what the processes of this host that could probe have in common
}

// Run measures until the duration is over or the job is cancelled, which is how it usually ends and no error.
func Run(j *job.Job, r Request) (*Document, error) {
	p, err := r.plan()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	mono := func() int64 { return int64(time.Since(start)) }
	until := never64
	if r.Duration > 0 {
		until = int64(r.Duration)
	}
	doc := &Document{
		Schema: "prlx.probe/1", Status: "elsewhere", Node: p.node, Name: p.peers[p.node], Peers: len(p.peers), PeersBy: p.by,
		Session: hex.EncodeToString(p.session[:]), Links: []LinkDocument{}, Warnings: []string{},
	}
	// One process of a host measures; when it ends, the next one takes over.
	lock, err := p.wait(j, mono, until)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		defer lock.Close()
		doc.Status = "measured"
		err = p.measure(j, mono, until, doc)
	}
	doc.Seconds = float64(mono()/1e6) / 1e3
	doc.conclude()
	return doc, err
}

// conclude says what probing comes to: passed where every peer that was probed has answered.
func (d *Document) conclude() {
	var e verdict.Evidence
	answered := int64(0)
	for _, l := range d.Links {
		if answered += l.Answered; l.Answered == 0 {
			e.Lacks(fmt.Sprintf("the clock of node %d", l.Node), "no probe was answered by "+l.Name)
		}
	}
	e.Looked("answered probes", answered)
	switch {
	case d.Status == "elsewhere":
		e.Lacks("probes of this process", "another process of this host measures")
	case answered == 0:
		d.Status = "inconclusive"
	}
	d.Conclusion = e.Check(false, fmt.Sprintf("%d probes were answered", answered))
}

const never64 = int64(never)

// plan understands a request.
func (r Request) plan() (*plan, error) {
	p := &plan{Request: r, by: "peers"}
	if p.Rate == 0 {
		p.Rate = defaultRate
	}
	switch {
	case r.Output == "":
		return nil, fault.Usagef("no directory to write to").WithHint("name one: -o DIR")
	case r.Duration < 0 || r.Keep < 0:
		return nil, fault.Usagef("a time to measure or to keep is not negative")
	}
	get := func(name string) string { return r.Environment[name] }
	var err error
	node := -1
	if len(r.Peers) > 0 {
		p.peers, err = readPeers(r.Peers, defaultPort)
	} else {
		var l *launched
		if l, err = fromLauncher(get); err == nil {
			p.by, node = l.By, l.Node
			p.peers, err = parsePeers(strings.Join(l.Hosts, "\n"), defaultPort)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(p.Ranks) > 0 && len(p.Ranks) != len(p.peers) {
		return nil, fault.Usagef("the ranks of %d hosts beside %d peers", len(p.Ranks), len(p.peers))
	}
	if p.key, err = jobKey(r.JobFile, get("PRLX_JOB_KEY")); err != nil {
		return nil, err
	}
	p.session = sessionOf(p.key, p.peers)
	clock := r.HostClock
	if clock == "" {
		clock = hostClock()
	}
	p.elect = fmt.Sprintf("%s %x", clock, p.session)
	switch {
	case r.Node != nil: // it insists on a node of its own
		p.node = *r.Node
		p.elect += fmt.Sprintf(" %d", p.node)
	case node >= 0:
		p.node = node
	default:
		var ok bool
		if p.node, ok = thisMachine().Find(p.peers); !ok {
			return nil, fault.Usagef("none of the %d peers is this machine, by name or address", len(p.peers)).WithHint("say which one it is: --node N, from 0")
		}
	}
	cfg := config{Peers: make([]netip.AddrPort, len(p.peers)), Node: p.node, Key: p.key, Rate: p.Rate}
	return p, cfg.check()
}

// makeKey is how a key is made that nobody else can read.
const makeKey = "(umask 077; head -c 32 /dev/urandom | base64 > job.key)"

// jobKey reads the key that the probers of a job have in common. As ssh does, it refuses a file that others can read or write.
func jobKey(path, text string) ([]byte, error) {
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fault.FromIO(path, err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, fault.FromIO(path, err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return nil, fault.Usagef("the job file has the permissions %#o: others can read or write the key", mode).WithPath(path).
				WithHint("chmod 600 the file, or pass the key in PRLX_JOB_KEY")
		}
		b := make([]byte, 4097)
		n, _ := f.Read(b)
		if n == len(b) {
			return nil, fault.New(fault.Limit, "a job file holds a key of at most 4096 bytes").WithPath(path)
		}
		text = string(b[:n])
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, fault.Usagef("no job key: probers of one job know each other by it").
			WithHint("write one to a file that all hosts read, and pass --job-file FILE, or set PRLX_JOB_KEY: %s", makeKey)
	}
	return []byte(text), checkKey([]byte(text))
}

// hostClock identifies the clock of this machine: all processes between two starts of its kernel share it.
func hostClock() string {
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(b))
	}
	name, _ := os.Hostname()
	return name
}

// electEvery is how often a process looks whether the one that measures is gone.
const electEvery = 200 * time.Millisecond

// wait returns when this process is the one of its host that measures, nil when the time is over before.
func (p *plan) wait(j *job.Job, mono func() int64, until int64) (*os.File, error) {
	ctx := j.Context()
	sum := sha256.Sum256([]byte(p.elect))
	path := filepath.Join(os.TempDir(), fmt.Sprintf("prlx-probe-%d-%x.lock", os.Getuid(), sum[:8]))
	for mono() < until && ctx.Err() == nil {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		j.Progress().SetStage("waiting")
		select {
		case <-ctx.Done():
		case <-time.After(min(electEvery, time.Duration(until-mono()))):
		}
	}
	return nil, nil
}

// flushEvery is how often stamps go to the file: what is older survives whatever ends the process.
const flushEvery = int64(200e6)

// measure runs the prober on a socket.
func (p *plan) measure(j *job.Job, mono func() int64, until int64, doc *Document) (err error) {
	ctx := j.Context()
	u := p.Socket
	if u == nil {
		if u, err = p.listen(); err != nil {
			return err
		}
	}
	defer u.Close()
	if p.Shown != nil {
		u.Shown = p.Shown
	}
	hostname, _ := os.Hostname()
	rec, err := newRecorder(p.Output, Header{
		Node: p.node, Name: p.peers[p.node], Host: p.host(), ID: doc.Session, Peers: len(p.peers), Rate: p.Rate, Kernel: u.Kernel(), By: p.Version,
		Hostname: hostname, Ranks: p.Ranks,
	}, p.Keep, mono())
	if err != nil {
		return err
	}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return fault.New(fault.IO, "no random numbers: %v", err)
	}
	cfg := config{Peers: make([]netip.AddrPort, len(p.peers)), Node: p.node, Session: p.session, Key: p.key, Rate: p.Rate, Random: binary.LittleEndian.Uint64(seed[:])}
	prober, err := newProber(cfg, u, u, rec, mono())
	if err != nil {
		return err
	}
	names := p.resolve(ctx, prober.linked())
	defer names.stop()
	stage := j.Progress()
	stage.SetStage("probing")
	var failed error
	told := int64(0)
	for flush := mono() + flushEvery; ctx.Err() == nil && mono() < until; {
		names.tell(prober)
		now := mono()
		next := min(prober.Advance(now), until)
		if err := u.Receive(prober, time.Duration(max(0, next-mono())), mono); err != nil {
			failed = fault.New(fault.IO, "the socket failed: %v", err).Wrap(err)
			break
		}
		if now >= flush {
			_ = rec.flush(now) // a full disk is counted, and may have room again
			flush = now + flushEvery
			stage.Add(prober.Counters().Recorded - told)
			told = prober.Counters().Recorded
		}
	}
	prober.Close()
	closed := rec.close(mono())
	doc.Kernel, doc.Counters = u.Kernel(), prober.Counters()
	doc.Written, doc.Lost, doc.Output = rec.Written, rec.Lost, rec.Path()
	for _, l := range prober.links {
		doc.Links = append(doc.Links, LinkDocument{Node: l.node, Name: p.peers[l.node], Sent: l.sent, Answered: l.answered, MinRTTNS: l.minRTT})
	}
	p.judge(doc, prober.links)
	if failed != nil {
		return failed
	}
	if doc.Written > 0 { // what the disk did not take is counted, and a warning
		return nil
	}
	return closed
}

func (p *plan) host() string {
	if p.HostClock != "" {
		return p.HostClock
	}
	return hostClock()
}

// listen opens the socket of this node: on its address where the list has it and it is this machine's, else on its port of all addresses.
func (p *plan) listen() (*udp, error) {
	if at, err := netip.ParseAddrPort(p.peers[p.node]); err == nil {
		u, err := listen(at, p.Device)
		if !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return u, err
		}
	}
	_, port, err := net.SplitHostPort(p.peers[p.node])
	if err != nil {
		return nil, fault.New(fault.Internal, "%v", err)
	}
	at, err := netip.ParseAddrPort("[::]:" + port)
	if err != nil {
		return nil, fault.New(fault.Internal, "%v", err)
	}
	u, err := listen(at, p.Device)
	if errors.Is(err, syscall.EAFNOSUPPORT) {
		if v4, again := listen(netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), p.Device); again == nil { // a system without IPv6
			return v4, nil
		}
	}
	return u, err
}

// judge says what a reader of the counts should know.
func (p *plan) judge(doc *Document, links []*peer) {
	warn := func(format string, args ...any) { doc.Warnings = append(doc.Warnings, fmt.Sprintf(format, args...)) }
	c := doc.Counters
	var silent, unknown []string
	for i, l := range doc.Links {
		switch {
		case !links[i].addr.IsValid():
			unknown = append(unknown, l.Name)
		case l.Sent > 0 && l.Answered == 0:
			silent = append(silent, l.Name)
		}
	}
	if len(unknown) > 0 {
		warn("%d of %d peers have a name that has no address: %s: nothing was sent to them", len(unknown), len(doc.Links), fewOf(unknown))
	}
	if len(silent) > 0 {
		warn("%d of %d peers never answered: %s: not running, another key or list of peers, or a firewall that stops UDP", len(silent), len(doc.Links), fewOf(silent))
	}
	if c.Forged > 0 {
		warn("%d packets were not signed with this job's key: another key, or another job on this port", c.Forged)
	}
	if c.Foreign > 0 {
		warn("%d packets were of another job, or of a node with another key or list of peers", c.Foreign)
	}
	if doc.Lost > 0 {
		warn("%d stamps are lost: the disk did not take them", doc.Lost)
	}
	if !doc.Kernel {
		warn("the system does not stamp packets: stamps are the process's own, which are several times less exact")
	}
}

// fewOf lists the first names of a list.
func fewOf(list []string) string {
	const most = 4
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// names resolves the names of peers beside the loop: one may get an address only when its machine has started.
type names struct {
	mu    sync.Mutex
	found map[int]netip.AddrPort
	group *safe.Group
	end   context.CancelFunc
}

const resolveEvery = 5 * time.Second

func (p *plan) resolve(ctx context.Context, nodes []int) *names {
	n := &names{found: map[int]netip.AddrPort{}}
	left := make([]int, 0, len(nodes))
	for _, i := range nodes {
		if at, err := netip.ParseAddrPort(p.peers[i]); err == nil {
			n.found[i] = at
		} else {
			left = append(left, i)
		}
	}
	ctx, n.end = context.WithCancel(ctx)
	n.group, ctx = safe.NewGroup(ctx)
	n.group.Go(func() error {
		for len(left) > 0 {
			still := left[:0:0]
			for _, i := range left {
				at, ok := lookUp(ctx, p.peers[i])
				if !ok {
					still = append(still, i)
					continue
				}
				n.mu.Lock()
				n.found[i] = at
				n.mu.Unlock()
			}
			left = still
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(resolveEvery):
			}
		}
		return nil
	})
	return n
}

func lookUp(ctx context.Context, peer string) (netip.AddrPort, bool) {
	host, port, err := net.SplitHostPort(peer)
	if err != nil {
		return netip.AddrPort{}, false
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	number, err2 := net.DefaultResolver.LookupPort(ctx, "udp", port)
	if err != nil || err2 != nil || len(addrs) == 0 {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addrs[0].Unmap(), uint16(number)), true
}

// tell gives the prober the addresses that were found.
func (n *names) tell(p *prober) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, at := range n.found {
		p.reach(i, at)
		delete(n.found, i)
	}
}

func (n *names) stop() {
	n.end()
	_ = n.group.Wait()
}

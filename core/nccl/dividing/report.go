package dividing

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/verdict"
)

// Schema is the schema of Document.
const Schema = "prlx.nccl/1"

// Document is prlx.nccl/1: what NCCL did in a job, and where the time went.
type Document struct {
	Schema       string                `json:"schema"`
	Verdict      string                `json:"verdict"`    // in a sentence
	Conclusion   verdict.Verdict       `json:"conclusion"` // passed: it is of all ranks, and of all that they recorded
	FromNS       int64                 `json:"from_ns"`    // of the first call, on the clock of the job
	ToNS         int64                 `json:"to_ns"`      // the last end, or the last sign of life
	Ranks        []RankTime            `json:"ranks"`
	Comms        []Comm                `json:"communicators"`
	Operations   []Class               `json:"operations"`     // by communicator, function and size, those that took most time first
	Time         Parts                 `json:"time"`           // of all ranks in all operations that were divided
	Worst        []Worst               `json:"worst"`          // the operations that took longest from the first call
	Links        []Link                `json:"links"`          // slowest first
	Waits        []Wait                `json:"waits"`          // who waited for whom, longest first
	WaitsLeftOut int                   `json:"waits_left_out"` // pairs that are not listed
	Proxies      []Proxy               `json:"proxies"`
	Bandwidths   []straggler.Bandwidth `json:"bandwidths"`
	Stragglers   string                `json:"stragglers"` // who was late, in a sentence
	Clocks       []Clock               `json:"clocks"`
	ClocksBy     string                `json:"clocks_by"`
	Notes        []string              `json:"notes"`
	Warnings     []string              `json:"warnings"`
}

// RankTime is where a rank's time in operations went.
type RankTime struct {
	ID         string `json:"id"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	Path       string `json:"path"` // of its recording, "" none
	Operations int    `json:"operations"`
	Divided    int    `json:"divided"`   // of these
	Last       int    `json:"last"`      // of these it began last, and that is certain
	CausedNS   int64  `json:"caused_ns"` // for which all others waited for it in these
	Time       Parts  `json:"time"`
}

// Comm is a communicator.
type Comm struct {
	Name       string `json:"name"`
	ID         string `json:"id"` // NCCL's, in hex
	Ranks      int    `json:"ranks"`
	Recorded   int    `json:"recorded"` // ranks of which there is a recording
	Operations int    `json:"operations"`
}

// Class is operations of one communicator, function and size.
type Class struct {
	Comm      string `json:"communicator"`
	Operation string `json:"operation"`
	Datatype  string `json:"datatype"`
	Algorithm string `json:"algorithm"`
	Protocol  string `json:"protocol"`
	Channels  int    `json:"channels"`
	Bytes     int64  `json:"bytes"` // as nccl-tests counts it, 0 unknown
	Count     int    `json:"count"`
	Divided   int    `json:"divided"`   // of which all members are known to have begun and ended
	Replays   int    `json:"replays"`   // of graphs
	MedianNS  int64  `json:"median_ns"` // from when the last one began to the true end
	P99NS     int64  `json:"p99_ns"`
	Time      Parts  `json:"time"`
	Last      string `json:"last"`       // the rank that most often began last for certain, "" none
	LastTimes int    `json:"last_times"` // how often
}

// Worst is one operation that took long.
type Worst struct {
	Comm       string `json:"communicator"`
	Operation  string `json:"operation"`
	Sequence   uint64 `json:"sequence"`
	Occurrence int    `json:"occurrence"`
	AtNS       int64  `json:"at_ns"` // of the first call
	TookNS     int64  `json:"took_ns"`
	Last       string `json:"last"` // that began last
	LeadNS     int64  `json:"lead_ns"`
	BoundNS    *int64 `json:"bound_ns"` // how far off that can be; null unknown
	Ranks      []Part `json:"ranks"`
}

// Part is one rank in one operation.
type Part struct {
	Rank    string `json:"rank"`
	AtNS    int64  `json:"at_ns"` // of its call
	EndedNS int64  `json:"ended_ns"`
	Time    Parts  `json:"time"`
}

// Proxy is what the proxy threads of a process did.
type Proxy struct {
	Rank       string `json:"rank"`
	Operations int    `json:"operations"`
	Steps      int    `json:"steps"`
	Retries    int    `json:"retries"`
	Bytes      int64  `json:"bytes"`
	DelayNS    int64  `json:"delay_ns"` // the median from when an operation was taken over until it was begun
	IdleNS     int64  `json:"idle_ns"`
	SleepNS    int64  `json:"sleep_ns"`
	Appends    int    `json:"appends"`
	Appended   int    `json:"appended"`
	Foreign    int    `json:"foreign"` // operations of other processes of the host (PXN)
}

// Clock is that of a host.
type Clock struct {
	Host     string `json:"host"`
	Method   string `json:"method"`
	OffsetNS int64  `json:"offset_ns"` // how far it was ahead
	BoundNS  *int64 `json:"bound_ns"`  // null unknown
}

// Options are what is asked for.
type Options struct {
	Worst int // operations that are listed, 0: 10
}

// Report divides the time of a job.
func Report(job *operation.Job, opt Options) (*Document, error) {
	if opt.Worst == 0 {
		opt.Worst = 10
	}
	if opt.Worst < 0 {
		return nil, fault.Usagef("%d operations to list, expected a positive number", opt.Worst)
	}
	d := &division{job: job, ext: extents(job)}
	r := &reporter{division: d, doc: &Document{
		Schema: Schema, ClocksBy: job.Clocked, Links: Links(job), Worst: []Worst{}, Bandwidths: []straggler.Bandwidth{}, Notes: []string{},
		Warnings: append([]string{}, job.Warnings...), Operations: []Class{}, Comms: []Comm{}, Ranks: []RankTime{}, Proxies: []Proxy{}, Clocks: []Clock{},
	}, classes: map[classKey]*class{}, waits: map[pair]*Wait{}}
	r.ranks()
	for mi := range job.Matches {
		r.match(int32(mi), opt.Worst)
	}
	r.finish()
	if s := StragglerJob(job, d.ext); s != nil {
		var missing verdict.Evidence
		d.rests(&missing, "")
		late, err := straggler.Find(s, straggler.Options{Evidence: missing})
		if err != nil {
			return nil, err
		}
		r.doc.Bandwidths, r.doc.Stragglers = late.Bandwidths, late.Verdict
	} else {
		r.doc.Stragglers = "not known: no operation is recorded with the begin and the end of all its ranks; level 1 records them"
	}
	r.verdict()
	r.conclude()
	return r.doc, nil
}

// conclude says whether the report is of all that the job did.
func (r *reporter) conclude() {
	var e verdict.Evidence
	r.job.Evidence(&e)
	e.Looked("operations", int64(len(r.job.Matches)))
	if len(r.job.Matches) == 0 {
		e.Lacks("operations", "none of several ranks is in the recordings")
	}
	r.doc.Conclusion = e.Check(false, r.doc.Verdict)
}

type reporter struct {
	*division
	doc     *Document
	classes map[classKey]*class
	waits   map[pair]*Wait
	order   []classKey
	divided int
}

type classKey struct {
	comm                     int32
	function                 string
	bytes                    int64
	datatype, algo, protocol string
}

type class struct {
	Class
	took []int64
	last map[int32]int
}

func (r *reporter) ranks() {
	for i := range r.job.Ranks {
		k := &r.job.Ranks[i]
		row := RankTime{ID: k.ID, Host: k.Host}
		if k.Recording >= 0 {
			rec := r.job.Recordings[k.Recording]
			row.PID, row.Path = int(rec.PID), rec.Path
			if r.doc.FromNS == 0 || rec.FirstNS < r.doc.FromNS {
				r.doc.FromNS = rec.FirstNS
			}
			r.doc.ToNS = max(r.doc.ToNS, rec.LastNS)
			if p := proxyOf(rec, k.ID); k.Seat == 0 && p.Operations > 0 {
				r.doc.Proxies = append(r.doc.Proxies, p)
			}
		}
		r.doc.Ranks = append(r.doc.Ranks, row)
	}
	for i := range r.job.Comms {
		c := &r.job.Comms[i]
		row := Comm{Name: c.Name, ID: fmt.Sprintf("%#x", c.ID), Ranks: int(c.Ranks)}
		for k := range c.Seats {
			if c.Seats[k].Recording >= 0 {
				row.Recorded++
			}
		}
		r.doc.Comms = append(r.doc.Comms, row)
	}
	for i := range r.job.Clocks {
		c := &r.job.Clocks[i]
		row := Clock{Host: c.Host, Method: c.Method, OffsetNS: c.OffsetNS}
		if b := c.BoundNS; b >= 0 {
			row.BoundNS = &b
		}
		r.doc.Clocks = append(r.doc.Clocks, row)
	}
}

// proxyOf adds up what the proxy threads of a process did, for whomever.
func proxyOf(rec *operation.Recording, id string) Proxy {
	c := &rec.Control
	p := Proxy{Rank: id, IdleNS: c.IdleNS, SleepNS: c.SleepNS, Appends: c.Appends, Appended: c.Appended}
	var delays []int64
	for i := range rec.Proxies {
		o := &rec.Proxies[i]
		if o.Adopted { // by the proxy of another process, in whose sum it is
			continue
		}
		p.Operations++
		p.Steps, p.Retries, p.Bytes = p.Steps+int(o.Finished), p.Retries+int(o.Retries), p.Bytes+o.Bytes
		if o.Foreign {
			p.Foreign++
		}
		if o.ProgressNS >= o.StartNS && o.StartNS > 0 {
			delays = append(delays, o.ProgressNS-o.StartNS)
		}
	}
	if len(delays) > 0 {
		slices.Sort(delays)
		p.DelayNS = delays[(len(delays)-1)/2]
	}
	return p
}

// match adds one operation to what there is.
func (r *reporter) match(mi int32, worst int) {
	m := &r.job.Matches[mi]
	p := &r.job.Parts[m.From]
	rec, op := r.job.Recordings[p.Recording], r.job.Op(p)
	k := classKey{m.Comm, m.Func, r.bytes(m), rec.Name(op.Datatype), rec.Name(op.Algorithm), rec.Name(op.Protocol)}
	c := r.classes[k]
	if c == nil {
		c = &class{Class: Class{Comm: r.job.Comms[m.Comm].Name, Operation: m.Func, Datatype: k.datatype, Algorithm: k.algo, Protocol: k.protocol, Bytes: k.bytes}, last: map[int32]int{}}
		r.classes[k] = c
		r.order = append(r.order, k)
	}
	c.Count++
	c.Channels = max(c.Channels, int(op.Channels))
	if m.Occurrence > 0 && m.Kind == operation.Collective {
		c.Replays++
	}
	r.doc.Comms[m.Comm].Operations++
	for i := m.From; i < m.To; i++ {
		r.doc.Ranks[r.job.Parts[i].Rank].Operations++
	}
	w, ok := r.whole(mi)
	if !ok {
		if ns := r.told(m); ns > 0 {
			c.took = append(c.took, ns)
		}
		return
	}
	r.divided++
	c.Divided++
	c.took = append(c.took, w.EndedNS-w.BeganNS)
	last := r.job.Parts[w.Last].Rank
	certain := w.BoundNS >= 0 && w.LeadNS > 2*w.BoundNS
	if certain {
		c.last[last]++
		r.doc.Ranks[last].Last++
		r.doc.Ranks[last].CausedNS += w.LeadNS
	}
	first := int64(0)
	for i := m.From; i < m.To; i++ {
		parts := r.parts(&w, i)
		row := &r.doc.Ranks[r.job.Parts[i].Rank]
		row.Divided++
		row.Time.Add(&parts)
		r.wait(&w, r.job.Parts[i].Rank, parts.WaitingNS, certain)
		c.Time.Add(&parts)
		r.doc.Time.Add(&parts)
		if at := r.ext[i].CalledNS; first == 0 || at < first {
			first = at
		}
	}
	r.worst(&w, first, worst)
}

// told is how long an operation took where its writer says how long each member's kernel did, and not when: the last one to begin waited for
// nobody, so its time is the shortest. 0: that is not known of all members.
func (r *reporter) told(m *operation.Match) int64 {
	least := int64(0)
	for i := m.From; i < m.To; i++ {
		took := r.job.Op(&r.job.Parts[i]).TookNS
		if took == 0 {
			return 0
		}
		if least == 0 || took < least {
			least = took
		}
	}
	if int(m.To-m.From) < r.needed(m) {
		return 0
	}
	return least
}

// worst keeps the operations that took longest.
func (r *reporter) worst(w *whole, first int64, most int) {
	m := &r.job.Matches[w.Match]
	took := w.EndedNS - first
	list := r.doc.Worst
	if len(list) >= most && list[len(list)-1].TookNS >= took {
		return
	}
	row := Worst{
		Comm: r.job.Comms[m.Comm].Name, Operation: m.Func, Sequence: m.Sequence, Occurrence: int(m.Occurrence), AtNS: first, TookNS: took,
		Last: r.job.Ranks[r.job.Parts[w.Last].Rank].ID, LeadNS: w.LeadNS, Ranks: []Part{},
	}
	if b := w.BoundNS; b >= 0 {
		row.BoundNS = &b
	}
	for i := m.From; i < m.To; i++ {
		row.Ranks = append(row.Ranks, Part{r.job.Ranks[r.job.Parts[i].Rank].ID, r.ext[i].CalledNS, r.ext[i].EndedNS, r.parts(w, i)})
	}
	at, _ := slices.BinarySearchFunc(list, took, func(x Worst, t int64) int { return cmp.Compare(t, x.TookNS) })
	list = slices.Insert(list, at, row)
	r.doc.Worst = list[:min(len(list), most)]
}

func (r *reporter) finish() {
	for _, k := range r.order {
		c := r.classes[k]
		if len(c.took) > 0 {
			slices.Sort(c.took)
			c.MedianNS, c.P99NS = c.took[(len(c.took)-1)/2], c.took[(len(c.took)-1)*99/100]
		}
		for rank, n := range c.last {
			if n > c.LastTimes || n == c.LastTimes && r.job.Ranks[rank].ID < c.Last {
				c.Last, c.LastTimes = r.job.Ranks[rank].ID, n
			}
		}
		r.doc.Operations = append(r.doc.Operations, c.Class)
	}
	r.listWaits()
	slices.SortStableFunc(r.doc.Operations, func(x, y Class) int {
		return cmp.Or(cmp.Compare(y.Time.Total(), x.Time.Total()), cmp.Compare(y.Count, x.Count))
	})
}

func (r *reporter) verdict() {
	d := r.doc
	counted := func(n int, noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return strconv.Itoa(n) + " " + noun + "s"
	}
	d.Verdict = counted(len(r.job.Matches), "operation") + " of " + counted(len(d.Ranks), "rank") + " in " + counted(len(d.Comms), "communicator")
	switch {
	case len(r.job.Matches) == 0:
		d.Verdict += ": nothing to divide"
	case r.divided == 0:
		d.Verdict += "; no time is divided: when kernels or proxies began and ended is not recorded, which level 1 does"
	default:
		total := d.Time.Total()
		share := func(ns int64) string { return fmt.Sprintf("%.1f %%", 100*float64(ns)/float64(max(total, 1))) }
		d.Verdict += fmt.Sprintf("; of the time of ranks in them %s was waiting for a rank, %s the host's launch, %s queueing on the GPU, %s transfer", share(d.Time.WaitingNS), share(d.Time.LaunchNS), share(d.Time.SchedulingNS), share(total-d.Time.WaitingNS-d.Time.LaunchNS-d.Time.SchedulingNS))
		if r.divided < len(r.job.Matches) {
			d.Verdict += fmt.Sprintf(" (%d of the operations are divided)", r.divided)
		}
	}
}

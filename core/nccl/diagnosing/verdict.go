package diagnosing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
)

// What was found of one kind of thing.
const (
	lookedFound   = "found"
	lookedNone    = "none"
	lookedUnknown = "unknown"
)

// weight orders findings: what is certain and a cause first.
var weight = []string{
	classMismatch, classEnded, classNeverArrived, ClassDeadlock, classStage, classNotStarted, ClassSlowNIC, ClassSlowLink, classStraggler, classUnrecorded, classStuck,
}

// slow are classes of what comes to an end, and takes long.
var slow = []string{ClassSlowNIC, ClassSlowLink, classStraggler}

// undecided are classes that name no culprit.
var undecided = []string{classUnrecorded, classStuck}

// document says what was found, the culprit first, and what it rests on.
func document(d *dossier, m mismatches, s stalls, o *slowness) *Document {
	all := together(&m.found, &s.found, &o.found)
	doc := &Document{
		Schema: Schema, StallNS: d.opt.StallNS, Clocks: d.job.Clocked, Findings: all.findings, Waits: s.waits, Stuck: s.stuck, Looked: d.looked(m, s, o), Ranks: d.ranks(),
		Recordings: d.quality(), Advice: all.advice, Warnings: slices.Clone(d.job.Warnings),
	}
	if d.implied > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("the end of %d operations of ranks is not recorded, and is known from later ones that began", d.implied))
	}
	doc.Notes = append(doc.Notes, all.notes...)
	d.unsettle(doc.Findings)
	sortFindings(doc.Findings)
	doc.judge(d, o.lost)
	doc.Progress = doc.progress(d.evidence(&doc.Looked))
	doc.conclude(d.evidence(&doc.Looked))
	if more := len(doc.Findings) - d.opt.Limit; more > 0 {
		doc.Findings = doc.Findings[:d.opt.Limit]
		doc.Notes = append(doc.Notes, fmt.Sprintf("%d more findings are not listed", more))
	}
	fill(doc)
	return doc
}

// sortFindings puts what is certain and a cause first.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(x, y Finding) int {
		sure := func(f *Finding) int {
			if f.Certain {
				return 0
			}
			return 1
		}
		goesOn := func(f *Finding) int { // what does not come to an end comes before what takes long
			if slices.Contains(slow, f.Class) {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(goesOn(&x), goesOn(&y)), cmp.Compare(sure(&x), sure(&y)), cmp.Compare(slices.Index(weight, x.Class), slices.Index(weight, y.Class)))
	})
}

// judge says in one sentence who it is, or why that is not known. lost is what was lost and is nobody's fault as far as is known; nil: nothing.
func (doc *Document) judge(d *dossier, lost *straggler.Document) {
	switch {
	case doc.culprit():
		doc.Status, doc.Verdict = StatusCulprit, capital(doc.Findings[0].Sentence)
	case len(doc.Findings) > 0:
		doc.Status, doc.Verdict = statusInconclusive, capital(doc.Findings[0].Sentence)
		if f := &doc.Findings[0]; !slices.Contains(undecided, f.Class) {
			doc.Verdict = "Perhaps " + f.Sentence
		}
	case doc.Looked.Operations == 0:
		doc.Status, doc.Verdict = statusInconclusive, "No operation of several ranks is in the recordings: nothing could be looked at"
	case lost != nil:
		doc.Status, doc.Verdict = statusInconclusive, capital(lost.Verdict)
	case d.partial:
		doc.Status = statusInconclusive
		doc.Verdict = doc.nothing() + "; whether an operation does not come to an end is not known: these recordings hold operations that have ended"
		doc.Advice = append(doc.Advice, "record with the recorder of prlx (prlx nccl plugin): it writes what has begun, too")
	case doc.Looked.Stalls == lookedUnknown:
		doc.Status = statusInconclusive
		doc.Verdict = "All ranks called the same operations and then nothing; whether these ended is not recorded"
		doc.Advice = append(doc.Advice, "record at level 1 or above (PRLX_NCCL_LEVEL): at level 0 the end of operations is not recorded")
	default:
		doc.Status, doc.Verdict = StatusNothing, doc.nothing()
	}
}

// culprit reports whether the first finding names who it is. One rank alone that has not called what all others are in is named even where it
// is not recorded whether something holds it; of several, any may follow from another.
func (doc *Document) culprit() bool {
	if len(doc.Findings) == 0 {
		return false
	}
	f := &doc.Findings[0]
	if slices.Contains(undecided, f.Class) {
		return false
	}
	if f.Certain || f.Class != classNeverArrived {
		return f.Certain
	}
	n := 0
	for i := range doc.Findings {
		if doc.Findings[i].Class == classNeverArrived {
			n++
		}
	}
	return n == 1
}

// nothing says what was looked at where nothing was found, and what was not.
func (doc *Document) nothing() string {
	l := &doc.Looked
	s := fmt.Sprintf("Nothing is wrong with the %d operations of %d ranks that were looked at", l.Operations, len(doc.Ranks))
	var not []string
	if l.Unknown > 0 {
		not = append(not, fmt.Sprintf("whether %d of them ended", l.Unknown))
	}
	if l.Stragglers == lookedUnknown {
		not = append(not, "who was late")
	}
	if l.Links == lookedUnknown {
		not = append(not, "how fast links are")
	}
	for i, n := range not {
		switch {
		case i == 0:
			s += "; not recorded is "
		case i == len(not)-1:
			s += " and "
		default:
			s += ", "
		}
		s += n
	}
	return s
}

func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// fill makes lists of what would be null.
func fill(d *Document) {
	for _, l := range []*[]string{&d.Advice, &d.Notes, &d.Warnings} {
		if *l == nil {
			*l = []string{}
		}
	}
	if d.Findings == nil {
		d.Findings = []Finding{}
	}
	if d.Waits == nil {
		d.Waits = []Wait{}
	}
	if d.Stuck == nil {
		d.Stuck = []Stuck{}
	}
}

// ranks says of each rank how it was left.
func (d *dossier) ranks() []Rank {
	out := []Rank{}
	for i := range d.job.Ranks {
		r := &d.job.Ranks[i]
		row := Rank{ID: r.ID, Host: r.Host, State: "unrecorded"}
		if r.Recording >= 0 {
			rec := d.job.Recordings[r.Recording]
			row.PID, row.Level, row.SilentNS, row.State = int(rec.PID), rec.Level, d.end-rec.LastNS, "recording"
			switch {
			case rec.Ended:
				row.State = "ended"
			case d.gone(r.Recording):
				row.State = "silent"
			}
			if c := &rec.Control; c.LastNS > c.FirstNS {
				row.IdleShare = float64(c.IdleNS+c.SleepNS) / float64(c.LastNS-c.FirstNS)
			}
			for k := range rec.Proxies {
				row.Retries += int(rec.Proxies[k].Retries)
			}
		}
		out = append(out, row)
	}
	return out
}

// quality says of each recording what it lacks.
func (d *dossier) quality() []Quality {
	out := []Quality{}
	for _, r := range d.job.Recordings {
		l := &r.Loss
		q := Quality{Path: r.Path, Records: l.Records, Lost: l.Lost, Overwritten: l.Overwritten, Damaged: l.Damaged, Gone: l.Gone, Orphans: l.Orphans, Says: []string{}}
		if l.Lost > 0 {
			q.Says = append(q.Says, fmt.Sprintf("%d callbacks found no room and are not recorded", l.Lost))
		}
		if l.Overwritten > 0 {
			q.Says = append(q.Says, fmt.Sprintf("%d records made room for newer ones: it holds the last %s", l.Overwritten, seconds(r.LastNS-r.FirstNS)))
		}
		q.Says = append(q.Says, l.Harm...)
		if l.StorageErrno != 0 {
			q.Says = append(q.Says, fmt.Sprintf("its file could not grow (errno %d)", l.StorageErrno))
		}
		q.Complete = l.Lost == 0 && l.Overwritten == 0 && !r.Doubted()
		out = append(out, q)
	}
	return out
}

// looked is what was looked at.
func (d *dossier) looked(m mismatches, s stalls, o *slowness) Looked {
	l := s.looked
	l.Mismatches, l.Links, l.Stragglers = m.looked, o.links, o.stragglers
	for _, r := range d.job.Recordings {
		l.Kernels += len(r.Kernels)
		l.Proxies += len(r.Proxies)
		for i := range r.Proxies {
			l.Steps += int(r.Proxies[i].Begun)
		}
	}
	return l
}

// tabulate lists what each rank does for an operation that does not come to an end.
func (d *dossier) tabulate(s *stall) (rows []Stuck) {
	m := &d.job.Matches[s.match]
	c := &d.job.Comms[m.Comm]
	row := Stuck{Comm: c.Name, Operation: m.Func, Sequence: d.number(m), Channel: -1, NIC: -1}
	for _, seat := range slices.Concat(s.absent, s.unrecorded, s.doubted) {
		one := row
		one.Rank, one.State, one.SinceNS = d.seatName(m.Comm, seat)[len("rank "):], "not called", s.sinceNS
		switch n := c.Seats[seat].Recording; {
		case n < 0:
			one.State = "unrecorded"
		case d.doubt[n]:
			one.State = "damaged"
		case d.job.Recordings[n].Ended:
			one.State = "ended"
		case d.gone(n):
			one.State = "silent"
		}
		rows = append(rows, one)
	}
	t := d.hands(s)
	for i := m.From; i < m.To; i++ {
		p := &d.job.Parts[i]
		if t.lacks[p.Seat] {
			continue
		}
		one := row
		one.Rank, one.State = d.job.Ranks[p.Rank].ID, [...]string{"called", "queued", "running", "finished"}[d.ext[i].Progress]
		one.SinceNS = d.job.Recordings[p.Recording].LastNS - d.ext[i].MovedNS
		steps := 0
		for _, h := range t.all {
			if h.seat == p.Seat {
				rows = append(rows, d.stageRow(one, m.Comm, h))
				steps++
			}
		}
		if steps == 0 {
			rows = append(rows, one)
		}
	}
	return rows
}

// stageRow is a proxy operation that has not ended.
func (d *dossier) stageRow(row Stuck, comm int32, h *hand) Stuck {
	row.Stage, row.Direction, row.Channel, row.NIC = operation.StageNames[h.stage()], "receive", int(h.channel), int(h.proxy.NIC)
	if h.send {
		row.Direction = "send"
	}
	row.Peer = d.seatName(comm, h.peer)[len("rank "):]
	row.Steps, row.Of, row.Retries = int(h.proxy.Finished), int(h.proxy.StepsTotal), int(h.proxy.Retries)
	if h.step != nil {
		row.SinceNS = d.job.Recordings[h.recording].LastNS - h.step.StageNS
	}
	return row
}

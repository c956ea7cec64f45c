package flightrecorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// class says what is wrong with an operation.
type class string

// The classes, the gravest first.
const (
	wrongOperation class = "mismatched_operation" // ranks called different operations under one number
	wrongSize      class = "mismatched_size"
	wrongType      class = "mismatched_type"
	restarted      class = "restarted"    // a rank counts from the beginning again: the process that others wait for has ended
	missing        class = "missing_rank" // a rank has not called it, and its record goes on to the end
	unmatched      class = "unmatched_p2p"
	unfinished     class = "unfinished" // some have completed it, others have not
	hung           class = "hung"       // all have called it, nobody has completed it
	unrecorded     class = "no_dump"    // ranks of its group gave no dump, and those that did are alike
)

var gravity = map[class]int{wrongOperation: 0, wrongSize: 1, wrongType: 2, restarted: 3, missing: 4, unmatched: 5, unfinished: 6, hung: 7, unrecorded: 8}

// finding is something wrong with one operation of one group.
type finding struct {
	Class    class
	Group    string // its name, with its description where there is one
	Sequence int64
	Op       string // that most ranks called
	Ranks    []int  // the culprits, ascending; of a split in equal parts all of them
	Waiting  []int  // who is in it and has not completed it
	NoDump   []int  // members that gave no dump
	Detail   string // what differs
	Sentence string
	At       []frame // where in the program the first culprit is, or was last
	Even     bool    // the ranks are split in parts of equal size: nobody can say which is wrong
	place    int
	groupKey string
}

// standing is how far a rank has come in a group.
type standing struct {
	Rank             int
	First, Last      int64 // numbers of operations that its dump still holds; 0: none
	Op               string
	State            state
	Operations       int
	Unfinished       int
	OldestUnfinished int64 // 0: none
}

// groupReport is what was looked at in a group.
type groupReport struct {
	Name, Description string
	Ranks             []int
	Guessed           bool // no dump lists the members: they are those that called something
	NoDump            []int
	Standings         []standing
	From, To          int64 // numbers that could be compared
	Compared, Matched int
	Undecided         int // alltoall of uneven sizes, or members without a dump
	Sends, Paired     int // point-to-point operations, and those that have their other end
}

// Result is what a set of dumps says.
type Result struct {
	Dumps    int
	Ranks    []int
	NoDump   []int // ranks that groups name
	Versions []string
	Entries  int
	Groups   []groupReport
	Findings []finding // what explains others first
	Chain    []string  // who waits for whom, to the root, a sentence each
	Cycle    bool      // the chain comes back to where it began
	Verdict  string    // one sentence
	Passed   bool      // operations were compared, and all match
	Warnings []string

	skipped map[int]int    // entries of a rank that were not looked at
	unread  map[int]string // why the dump of a rank could not be read
}

// Analyze matches the operations of all ranks. Of dumps that could not be read it is told which those are.
func Analyze(dumps []*dump, unread ...unreadDump) (*Result, error) {
	if len(dumps) == 0 {
		return nil, fault.New(fault.Usage, "no dump to analyse")
	}
	a := &analysis{byRank: map[int]*dump{}}
	r := &a.result
	r.skipped, r.unread = map[int]int{}, map[int]string{}
	for _, u := range unread {
		r.unread[u.Rank] = fault.Of(u.Err).Error()
		r.Warnings = append(r.Warnings, "not read: "+r.unread[u.Rank])
	}
	dumps, err := a.latest(dumps)
	if err != nil {
		return nil, err
	}
	for _, d := range dumps {
		r.Ranks = append(r.Ranks, d.Rank)
		r.Entries += len(d.Entries)
		if !slices.Contains(r.Versions, d.Version) {
			r.Versions = append(r.Versions, d.Version)
		}
		if r.skipped[d.Rank] = d.Skipped; d.Skipped > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("rank %d: %d entries name no group or no operation and are not looked at", d.Rank, d.Skipped))
		}
	}
	slices.Sort(r.Ranks)
	r.Dumps = len(dumps)
	if len(r.Versions) > 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the dumps are of several versions: %s", strings.Join(r.Versions, ", ")))
	}
	a.gather()
	for _, key := range slices.Sorted(maps.Keys(a.groups)) {
		a.compare(a.groups[key])
	}
	a.conclude()
	return r, nil
}

// latest leaves of each rank one dump. Where there are two, the one that was over before the other began is a former run's.
func (a *analysis) latest(dumps []*dump) ([]*dump, error) {
	for _, d := range dumps {
		o := a.byRank[d.Rank]
		if o == nil {
			a.byRank[d.Rank] = d
			continue
		}
		former, latter := o, d
		if former.firstNS() > latter.firstNS() {
			former, latter = latter, former
		}
		if former.lastNS() == 0 || former.lastNS() >= latter.firstNS() {
			return nil, fault.New(fault.Incompatible, "%s and %s are both of rank %d", o.Path, d.Path, d.Rank).WithHint("name the dumps of one moment only")
		}
		a.byRank[d.Rank] = latter
		a.result.Warnings = append(a.result.Warnings, fmt.Sprintf("%s is of a former run, which was over before %s began, and is not looked at", former.Path, latter.Path))
	}
	return slices.DeleteFunc(slices.Clone(dumps), func(d *dump) bool { return a.byRank[d.Rank] != d }), nil
}

// firstNS is when the first operation of a dump was created; 0: it is not known.
func (d *dump) firstNS() (first int64) {
	for i := range d.Entries {
		if at := d.Entries[i].CreatedNS; at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// lastNS is when the last one was.
func (d *dump) lastNS() (last int64) {
	for i := range d.Entries {
		last = max(last, d.Entries[i].CreatedNS)
	}
	return last
}

type analysis struct {
	byRank map[int]*dump
	groups map[string]*group
	result Result
}

// group is a process group with the operations of its ranks.
type group struct {
	key, name, description string
	ranks                  []int
	guessed                bool
	again                  []int            // ranks whose numbering began again
	calls                  map[int][]*entry // collectives of a rank in order
	ends                   map[int][]*entry // sends and receives
}

func (g *group) label() string {
	if g.description != "" && g.description != "undefined" && g.description != g.name {
		return fmt.Sprintf("%s (%s)", g.name, g.description)
	}
	return g.name
}

// gather sorts operations into groups. Groups of one name with other members, as split_group makes them, are different groups.
func (a *analysis) gather() {
	a.groups = map[string]*group{}
	unlisted := map[string]*group{}
	for _, rank := range a.result.Ranks {
		d := a.byRank[rank]
		for i := range d.Entries {
			e := &d.Entries[i]
			g := a.groupOf(d, e, unlisted)
			if e.P2P && (e.Name == "send" || e.Name == "recv") {
				g.ends[rank] = append(g.ends[rank], e)
			} else {
				g.calls[rank] = append(g.calls[rank], e)
			}
		}
	}
	missing := map[int]bool{}
	for _, g := range a.groups {
		for _, rank := range g.ranks {
			missing[rank] = missing[rank] || a.byRank[rank] == nil
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(missing)) {
		if missing[rank] {
			a.result.NoDump = append(a.result.NoDump, rank)
		}
	}
}

func (a *analysis) groupOf(d *dump, e *entry, unlisted map[string]*group) *group {
	listed, ok := d.Groups[e.Group]
	if !ok || len(listed.Ranks) == 0 {
		g := unlisted[e.Group]
		if g == nil {
			g = newGroup(e.Group+" ?", e.Group, e.Description, nil)
			g.guessed = true
			unlisted[e.Group], a.groups[g.key] = g, g
		}
		if !slices.Contains(g.ranks, d.Rank) {
			g.ranks = append(g.ranks, d.Rank)
			slices.Sort(g.ranks)
		}
		return g
	}
	key := fmt.Sprint(e.Group, " ", listed.Ranks)
	if a.groups[key] == nil {
		description := listed.Description
		if description == "" {
			description = e.Description
		}
		a.groups[key] = newGroup(key, e.Group, description, listed.Ranks)
	}
	return a.groups[key]
}

func newGroup(key, name, description string, ranks []int) *group {
	return &group{key: key, name: name, description: description, ranks: ranks, calls: map[int][]*entry{}, ends: map[int][]*entry{}}
}

// numbered is a rank's operations under one number: several where they were coalesced.
type numbered map[int64][]*entry

// compare looks at all operations of a group that all its ranks still hold.
func (a *analysis) compare(g *group) {
	rep := groupReport{Name: g.name, Description: g.description, Ranks: g.ranks, Guessed: g.guessed}
	by := map[int]numbered{}
	for _, rank := range g.ranks {
		if a.byRank[rank] == nil {
			rep.NoDump = append(rep.NoDump, rank)
			continue
		}
		s := standing{Rank: rank}
		n := numbered{}
		for _, e := range g.calls[rank] {
			n[e.Sequence] = append(n[e.Sequence], e)
			s.see(e)
		}
		by[rank] = n
		rep.Standings = append(rep.Standings, s)
	}
	began := a.again(g, by)
	a.restarted(g, &rep, by, began)
	for _, rank := range began {
		delete(by, rank)
		g.again = append(g.again, rank)
	}
	a.range_(&rep, by)
	for _, seq := range numbers(by) { // those that somebody has: a file may claim any
		if seq >= rep.From {
			a.number(g, &rep, by, seq)
		}
	}
	a.pair(g, &rep)
	a.result.Groups = append(a.result.Groups, rep)
}

func (s *standing) see(e *entry) {
	s.Operations++
	if s.First == 0 || e.Sequence < s.First {
		s.First = e.Sequence
	}
	if e.Sequence >= s.Last {
		s.Last, s.Op, s.State = e.Sequence, e.Name, e.State
	}
	if e.State != completed {
		if s.Unfinished++; s.OldestUnfinished == 0 || e.Sequence < s.OldestUnfinished {
			s.OldestUnfinished = e.Sequence
		}
	}
}

// range_ finds the numbers that can be compared. The buffers are rings: what a rank has no longer, nobody knows.
func (a *analysis) range_(rep *groupReport, by map[int]numbered) {
	for i := range rep.Standings {
		s := &rep.Standings[i]
		if by[s.Rank] == nil {
			continue
		}
		rep.To = max(rep.To, s.Last)
		if d := a.byRank[s.Rank]; s.Operations > 0 && len(d.Entries) > 0 && d.Entries[0].Record > 0 {
			rep.From = max(rep.From, s.First) // older ones may have made room
		}
	}
	if rep.From == 0 {
		for _, n := range by {
			for seq := range n {
				if rep.From == 0 || seq < rep.From {
					rep.From = seq
				}
			}
		}
	}
}

// numbers are those that any rank has, ascending.
func numbers(by map[int]numbered) []int64 {
	all := map[int64]bool{}
	for _, n := range by {
		for seq := range n {
			all[seq] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// number compares what ranks did under one number of a group.
func (a *analysis) number(g *group, rep *groupReport, by map[int]numbered, seq int64) {
	var here, absent []int
	most := 0
	for i := range rep.Standings {
		rank := rep.Standings[i].Rank
		switch calls := by[rank][seq]; {
		case by[rank] == nil: // its numbers are of another count
		case len(calls) > 0:
			here = append(here, rank)
			most = max(most, len(calls))
		case rep.Standings[i].Last < seq:
			absent = append(absent, rank)
		case rep.Standings[i].First > seq:
			return // made room
		default:
			absent = append(absent, rank)
		}
	}
	if len(here) == 0 {
		return
	}
	rep.Compared++
	undecided := len(rep.NoDump)+len(g.again) > 0
	for k := range most {
		if f := a.differs(g, by, here, seq, k); f != nil {
			a.find(g, rep, f, seq)
			return
		}
		undecided = undecided || uneven[by[here[0]][seq][0].Name]
	}
	first := by[here[0]][seq][0]
	if len(absent) > 0 {
		a.find(g, rep, &finding{Class: missing, Op: first.Name, Ranks: absent, Waiting: waiting(by, here, seq)}, seq)
		return
	}
	if f := a.progress(by, here, seq, len(rep.NoDump)+len(g.again) > 0); f != nil {
		a.find(g, rep, f, seq)
		return
	}
	if undecided {
		rep.Undecided++
	} else {
		rep.Matched++
	}
}

// progress finds operations that not all ranks, or none, have completed.
func (a *analysis) progress(by map[int]numbered, here []int, seq int64, noDump bool) *finding {
	var done, not []int
	for _, rank := range here {
		if by[rank][seq][len(by[rank][seq])-1].State == completed {
			done = append(done, rank)
		} else {
			not = append(not, rank)
		}
	}
	op := by[here[0]][seq][0].Name
	switch {
	case len(not) == 0:
		return nil
	case noDump && len(done) == 0:
		return &finding{Class: unrecorded, Op: op, Waiting: not}
	case len(done) > 0:
		return &finding{Class: unfinished, Op: op, Ranks: not, Waiting: not}
	}
	return &finding{Class: hung, Op: op, Ranks: nil, Waiting: not}
}

func waiting(by map[int]numbered, here []int, seq int64) (out []int) {
	for _, rank := range here {
		if by[rank][seq][len(by[rank][seq])-1].State != completed {
			out = append(out, rank)
		}
	}
	return out
}

// find keeps a finding. Of a group's collectives the first counts, for those behind it follow from it; of sends and receives the first of each two ranks.
func (a *analysis) find(g *group, rep *groupReport, f *finding, seq int64) {
	f.Group, f.Sequence, f.NoDump, f.groupKey = g.label(), seq, rep.NoDump, g.key
	if f.Op == "send" || f.Op == "recv" {
		f.groupKey = fmt.Sprint(g.key, f.Op, f.Ranks, f.Waiting)
	}
	for i := range a.result.Findings {
		if o := &a.result.Findings[i]; o.groupKey == f.groupKey {
			return
		}
	}
	f.place = len(a.result.Findings)
	culprit := f.Ranks
	if len(culprit) == 0 {
		culprit = f.Waiting
	}
	if len(culprit) > 0 {
		f.At = a.frames(g, culprit[0], seq)
	}
	a.result.Findings = append(a.result.Findings, *f)
}

// frames is where a rank called the operation, or what it called last where it did not.
func (a *analysis) frames(g *group, rank int, seq int64) []frame {
	for _, e := range g.calls[rank] {
		if e.Sequence == seq {
			return e.Frames
		}
	}
	if d := a.byRank[rank]; d != nil && len(d.Entries) > 0 {
		return d.Entries[len(d.Entries)-1].Frames
	}
	return nil
}

// order puts what explains others first: the earliest by the program, the gravest of one moment.
func (a *analysis) order() {
	slices.SortStableFunc(a.result.Findings, func(x, y finding) int {
		return cmp.Or(cmp.Compare(gravity[x.Class], gravity[y.Class]), cmp.Compare(x.place, y.place))
	})
}

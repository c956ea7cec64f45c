package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
)

// pair matches sends and receives of a group in order: the k-th send from one rank to another is for its k-th receive from there.
func (a *analysis) pair(g *group, rep *groupReport) {
	type way struct{ from, to int }
	sends, recvs := map[way][]*entry{}, map[way][]*entry{}
	var order []way
	member := func(i int) int {
		if i >= 0 && i < len(g.ranks) {
			return g.ranks[i]
		}
		return -1
	}
	for _, rank := range g.ranks {
		for _, e := range g.ends[rank] {
			w := way{member(e.Source), member(e.Target)}
			if w.from < 0 || w.to < 0 {
				continue // a receive from anybody
			}
			if sends[w] == nil && recvs[w] == nil {
				order = append(order, w)
			}
			if e.Name == "send" {
				sends[w] = append(sends[w], e)
			} else {
				recvs[w] = append(recvs[w], e)
			}
		}
	}
	for _, w := range order {
		if slices.Contains(g.again, w.from) || slices.Contains(g.again, w.to) {
			continue
		}
		s, r := sends[w], recvs[w]
		rep.Sends += len(s)
		if a.byRank[w.from] == nil || a.byRank[w.to] == nil || a.ringed(w.from) || a.ringed(w.to) {
			s, r = sameEnds(s, r)
		}
		n := min(len(s), len(r))
		rep.Paired += n
		for i := range n {
			if elements(s[i].InputSizes) != elements(r[i].OutputSizes) && len(s[i].InputSizes) > 0 && len(r[i].OutputSizes) > 0 {
				a.find(g, rep, &finding{
					Class: wrongSize, Op: "send", Ranks: []int{w.from, w.to}, Even: true,
					Detail: fmt.Sprintf("rank %d sends %d elements where rank %d receives %d", w.from, elements(s[i].InputSizes), w.to, elements(r[i].OutputSizes)),
				}, s[i].P2PSequence)
				break
			}
		}
		if a.byRank[w.from] != nil && a.byRank[w.to] != nil {
			a.alone(g, rep, s[n:], r[n:], w.from, w.to)
		}
	}
}

// ringed reports whether older entries of a rank made room.
func (a *analysis) ringed(rank int) bool {
	d := a.byRank[rank]
	return d != nil && len(d.Entries) > 0 && d.Entries[0].Record > 0
}

// sameEnds drops from the front of the longer list what has no other end any more.
func sameEnds(s, r []*entry) (sends, receives []*entry) {
	n := min(len(s), len(r))
	return s[len(s)-n:], r[len(r)-n:]
}

// alone finds a send or receive whose other end nobody called, and that has not completed.
func (a *analysis) alone(g *group, rep *groupReport, sends, recvs []*entry, from, to int) {
	for _, one := range []struct {
		left          []*entry
		waits, absent int
		verb          string
	}{{sends, from, to, "receive"}, {recvs, to, from, "send"}} {
		for _, e := range one.left {
			if e.State != completed {
				a.find(g, rep, &finding{
					Class: unmatched, Op: e.Name, Ranks: []int{one.absent}, Waiting: []int{one.waits},
					Detail: fmt.Sprintf("rank %d never called the %s", one.absent, one.verb),
				}, e.P2PSequence)
				return
			}
		}
	}
}

// conclude words the findings, follows who waits for whom, and says what was looked at.
func (a *analysis) conclude() {
	r := &a.result
	a.order()
	compared, matched, undecided, pairs := 0, 0, 0, 0
	for _, g := range r.Groups {
		compared, matched, undecided, pairs = compared+g.Compared, matched+g.Matched, undecided+g.Undecided, pairs+g.Paired
		if g.Guessed {
			r.Warnings = append(r.Warnings, fmt.Sprintf("no dump lists the members of group %s: they are taken to be %s, which called something in it", g.Name, named(g.Ranks)))
		}
	}
	for i := range r.Findings {
		r.Findings[i].Sentence = r.Findings[i].say()
	}
	a.follow()
	switch {
	case r.Cycle:
		r.Verdict = "deadlock: " + strings.Join(r.Chain, "; ")
	case len(r.Findings) > 0:
		r.Verdict = r.Findings[0].Sentence
		if len(r.Chain) > 1 {
			r.Verdict = r.Chain[len(r.Chain)-1]
		}
	case compared+pairs == 0:
		r.Verdict = "nothing could be compared: no operation is in the dumps of two ranks of its group"
	case undecided > 0:
		r.Verdict = fmt.Sprintf("%d of %d operations match on all ranks that gave a dump; %d could not be decided", matched, compared, undecided)
	default:
		r.Verdict = fmt.Sprintf("all %d operations and %d sends match on %s", compared, pairs, named(r.Ranks))
		r.Passed = true
	}
}

// say words a finding.
func (f *finding) say() string {
	what := fmt.Sprintf("%s #%d of group %s", f.Op, f.Sequence, f.Group)
	var s string
	switch f.Class {
	case missing:
		s = fmt.Sprintf("%s never called %s", named(f.Ranks), what)
		if len(f.Waiting) > 0 {
			s += fmt.Sprintf(", in which %s %s", named(f.Waiting), verb(f.Waiting, "waits", "wait"))
		}
	case restarted:
		s = fmt.Sprintf("%s counts from the beginning again, after others had completed more: the process that was there before never called %s, in which %s %s", named(f.Ranks), what, named(f.Waiting), verb(f.Waiting, "waits", "wait"))
	case unfinished:
		s = fmt.Sprintf("%s %s not come out of %s, which others have completed", named(f.Ranks), verb(f.Ranks, "has", "have"), what)
	case hung:
		s = fmt.Sprintf("all of %s are in %s and nobody has completed it: the cause lies below torch.distributed, or on the GPU before it", named(f.Waiting), what)
	case unrecorded:
		s = fmt.Sprintf("%s %s in %s; %s gave no dump, so nobody can say whether they called it", named(f.Waiting), verb(f.Waiting, "waits", "wait"), what, named(f.NoDump))
	case unmatched:
		s = fmt.Sprintf("%s waits in a %s of group %s: %s", named(f.Waiting), f.Op, f.Group, f.Detail)
	default:
		noun := map[class]string{wrongOperation: "different operations", wrongSize: "sizes that do not fit", wrongType: "different types"}[f.Class]
		s = fmt.Sprintf("%s disagrees with the others in %s: %s (%s)", named(f.Ranks), what, noun, f.Detail)
		if len(f.Ranks) > 1 {
			s = strings.Replace(s, " disagrees ", " disagree ", 1)
		}
		if f.Even {
			s = fmt.Sprintf("ranks do not agree in %s: %s (%s); which of them is wrong the dumps cannot say", what, noun, f.Detail)
		}
	}
	if len(f.At) > 0 {
		at := f.place_()
		s += fmt.Sprintf("; %s at %s:%d (%s)", map[bool]string{true: "it is", false: "called"}[f.Class == missing], at.File, at.Line, at.Function)
	}
	return s
}

// place_ is the innermost frame that is not torch's own.
func (f *finding) place_() frame {
	for _, at := range f.At {
		if !strings.Contains(at.File, "/torch/") && !strings.HasPrefix(at.File, "<") {
			return at
		}
	}
	return f.At[0]
}

func verb(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return one
	}
	return several
}

// follow goes from a rank that waits to those that it waits for, and on to what these wait in, until nobody waits for anybody else.
func (a *analysis) follow() {
	waitsIn := func(rank int) *finding { // what keeps a rank, the earliest that it called
		for i := range a.result.Findings {
			f := &a.result.Findings[i]
			if (f.Class == missing || f.Class == unmatched) && slices.Contains(f.Waiting, rank) {
				return f
			}
		}
		return nil
	}
	for i := range a.result.Findings {
		start := &a.result.Findings[i]
		if start.Class != missing && start.Class != unmatched {
			continue
		}
		var chain []string
		seen := map[*finding]bool{}
		f := start
		for !seen[f] {
			seen[f] = true
			chain = append(chain, f.Sentence)
			var next *finding
			for _, rank := range f.Ranks {
				if next = waitsIn(rank); next != nil {
					break
				}
			}
			if next == nil {
				break
			}
			if f = next; f == start {
				a.result.Chain, a.result.Cycle = chain, true
				return
			}
		}
		if len(chain) > len(a.result.Chain) {
			a.result.Chain = chain
		}
	}
}

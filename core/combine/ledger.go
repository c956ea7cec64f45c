package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/verdict"
)

// Ledger accounts for everything that the inputs stand for: each file was used, or is named with the reason why it was not.
type Ledger struct {
	Seen       int          `json:"seen"`        // files, and directories that hold no trace; used and passed over together
	Used       []string     `json:"used"`        // traces and clock files, relative to the directory that all inputs share
	PassedOver []PassedOver `json:"passed_over"` // what was not used
}

// PassedOver is a file or directory that was not used.
type PassedOver struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	Lost bool   `json:"lost"` // a trace is expected there, so something may be missing
}

// seenFile is what Discover met, and what became of it.
type seenFile struct {
	path   string
	dir    bool
	why    string // it was not used because; "" if it may be
	broken bool   // it is called JSON and cannot be read as JSON
	spare  bool   // it holds no trace, whatever its name
}

// see notes a file or directory that is passed over.
func (w *walker) see(path, why string) *seenFile {
	w.found.seen = append(w.found.seen, seenFile{path: path, why: why})
	return &w.found.seen[len(w.found.seen)-1]
}

// ledger accounts for the files of a request, where the caller has not.
func (r *Request) ledger() *Ledger {
	if r.Files != nil {
		return r.Files
	}
	own := *r
	own.Account(&Found{})
	return own.Files
}

// Account makes the ledger of a request whose inputs and clock files are decided.
func (r *Request) Account(f *Found) {
	used := map[string]bool{}
	var named []string // clock files that were named one by one
	add := func(paths ...string) {
		for _, p := range paths {
			if p != "" && !used[p] {
				used[p], named = true, append(named, p)
			}
		}
	}
	for _, in := range append(slices.Clone(r.Inputs), r.Snapshots...) {
		add(in.Path)
	}
	add(r.Probes...)
	add(r.Offsets, r.Declared)
	l := &Ledger{Used: []string{}, PassedOver: []PassedOver{}}
	met := map[string]bool{}
	for _, p := range named {
		l.Used, met[p] = append(l.Used, p), true
	}
	for _, s := range f.seen {
		if met[s.path] {
			continue
		}
		met[s.path] = true
		why := s.why
		if why == "" {
			why = "other clock files are used"
		}
		l.PassedOver = append(l.PassedOver, PassedOver{Path: s.path, Why: why, Lost: s.lost(r.Inputs)})
	}
	l.Seen = len(l.Used) + len(l.PassedOver)
	l.shorten(f.root)
	r.Files = l
}

// shorten writes paths relative to the directory that all inputs share, so that a document is the same wherever they lie.
func (l *Ledger) shorten(root string) {
	short := func(path string) string {
		if rel, err := filepath.Rel(root, path); err == nil && root != "" {
			return filepath.ToSlash(rel)
		}
		return filepath.Base(path)
	}
	for i := range l.Used {
		l.Used[i] = short(l.Used[i])
	}
	for i := range l.PassedOver {
		l.PassedOver[i].Path = short(l.PassedOver[i].Path)
	}
}

// lost reports whether a trace is expected where a file lies: it is called JSON and cannot be read as JSON, or its name differs from that of a trace that is
// used in its numbers alone, as rank1.json does from rank0.json, and no trace of its own name is used.
func (s *seenFile) lost(traces []Input) bool {
	if s.spare {
		return false
	}
	if s.broken {
		return true
	}
	mine, like := stem(s.path), false
	for _, t := range traces {
		theirs := stem(t.Path)
		if s.dir {
			theirs = upTo(t.Path, strings.Count(filepath.ToSlash(s.path), "/"))
			mine = s.path
		}
		if theirs == mine {
			return false
		}
		like = like || masked(theirs) == masked(mine)
	}
	return like
}

// upTo is the part of a path down to a depth.
func upTo(path string, depth int) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[:min(len(parts), depth+1)], "/")
}

// traceEndings are what names of traces, of copies of them and of half of them end in.
var traceEndings = []string{".gz", ".zst", ".json", ".trace", ".pt", ".pb", ".xplane", ".pftrace", ".tmp", ".part"}

// stem is a path without the endings of its name.
func stem(path string) string {
	for again := true; again; {
		again = false
		for _, e := range traceEndings {
			if cut, ok := strings.CutSuffix(path, e); ok && cut != "" {
				path, again = cut, true
			}
		}
	}
	return path
}

var numbers = lazyregexp.New(`[0-9]+`)

// masked is a path with its numbers left out.
func masked(path string) string { return numbers.ReplaceAllString(path, "#") }

// commonDir is the deepest directory that holds all of some paths.
func commonDir(paths []string) string {
	common := ""
	for i, p := range paths {
		if p == "-" {
			continue
		}
		if i == 0 || common == "" {
			common = p
			continue
		}
		for common != filepath.Dir(common) && !within(p, common) {
			common = filepath.Dir(common)
		}
	}
	return common
}

// lost lists what is passed over although a trace is expected there.
func (l *Ledger) lost() (out []PassedOver) {
	if l == nil {
		return nil
	}
	for _, p := range l.PassedOver {
		if p.Lost {
			out = append(out, p)
		}
	}
	return out
}

// leaveOut moves traces that cannot be read from what was used to what was not.
func (l *Ledger) leaveOut(skipped []Unreadable) {
	for _, u := range skipped {
		i := slices.IndexFunc(l.Used, func(p string) bool { return p == u.Path || strings.HasSuffix(p, "/"+u.Path) })
		if i >= 0 {
			l.PassedOver = append(l.PassedOver, PassedOver{Path: l.Used[i], Why: u.Error, Lost: true})
			l.Used = slices.Delete(l.Used, i, i+1)
		}
	}
}

// missing adds what is lost to the evidence. Traces that were left out on request are in the ledger, too.
func (l *Ledger) missing(e *verdict.Evidence) {
	for _, p := range l.lost() {
		e.Lacks(p.Path, p.Why)
	}
}

// Ranks is how many ranks there are.
type Ranks struct {
	Seen    int     `json:"seen"`    // that have a trace
	Total   *int    `json:"total"`   // of the job; null: the traces do not say
	Missing []int64 `json:"missing"` // ranks without a trace, the first of them where there are many; empty where ranks are not known
}

// mostMissing is how many missing ranks a document lists.
const mostMissing = 1000

// ranksOf counts the ranks of some nodes.
func ranksOf(nodes []*Node) *Ranks {
	r := &Ranks{Missing: []int64{}}
	have, total, unknown := map[int64]bool{}, 0, false
	for _, n := range nodes {
		if n.beside != nil {
			continue
		}
		for part := range n.parts() {
			rank := n.Rank
			if n.parts() > 1 {
				rank = n.member(part).Rank
			}
			if rank == nil {
				r.Seen, unknown = r.Seen+1, true
			} else if !have[*rank] {
				have[*rank] = true
				r.Seen++
			}
		}
		if d := n.facts.Distributed; d != nil {
			total = max(total, d.WorldSize)
		}
	}
	if total < r.Seen || total == 0 {
		return r
	}
	r.Total = &total
	for rank := int64(0); !unknown && rank < int64(total) && len(r.Missing) < mostMissing; rank++ {
		if !have[rank] {
			r.Missing = append(r.Missing, rank)
		}
	}
	return r
}

// said names the ranks without a trace, "" where there are none.
func (r *Ranks) said() string {
	if r == nil || r.Total == nil || *r.Total <= r.Seen {
		return ""
	}
	text := fmt.Sprintf("%d of %d ranks have a trace", r.Seen, *r.Total)
	if len(r.Missing) == 0 {
		return text
	}
	names := make([]string, len(r.Missing))
	for i, rank := range r.Missing {
		names[i] = fmt.Sprint(rank)
	}
	return text + ", rank " + shortList(names) + " has none"
}

// missing adds the ranks without a trace to the evidence.
func (r *Ranks) missing(e *verdict.Evidence) {
	if r == nil {
		return
	}
	if said := r.said(); said != "" {
		e.Missed("ranks", int64(*r.Total-r.Seen), said)
	}
}

package diff

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Undecided is a set of divergences of one site and kind that equal runs can neither explain nor rule out.
type Undecided struct {
	SiteID         string  `json:"site_id"`
	SourceLocation string  `json:"source_location,omitempty"`
	Kind           string  `json:"kind"`
	Why            string  `json:"why"`         // "unseen" | "more" | "less" | "in-one-warp" | "longer" | "lanes" | "warps" | "direction" | "what-it-follows" | "stays" | "noisier" | "pairing"
	Divergences    int64   `json:"divergences"` // of A and B
	Expected       float64 `json:"expected"`    // as many as one equal run shows
	MoreRunsA      int     `json:"more_runs_a"` // more equal runs of A that would do by themselves; 0: none would
	MoreRunsB      int     `json:"more_runs_b"` // more equal runs of B, likewise

	site int32 // position in Result.Sites
}

// noiseRunsAskedFor is how many equal runs of a side are worth asking for: no more can be given.
const noiseRunsAskedFor = maxNoiseRuns - 1

// undecided lists what stays open.
func (j *noiseJudge) undecided() []Undecided {
	type group struct {
		site int32
		kind RowKind
		why  string
	}
	list := []Undecided{}
	at := make(map[group]int)
	warps := make(map[group]map[uint64]struct{})
	for i := range j.r.Rows {
		row := &j.r.Rows[i]
		if !row.Undecided {
			continue
		}
		g := group{siteOfRow(row), row.Kind, j.why[i]}
		k, known := at[g]
		if !known {
			k = len(list)
			at[g], warps[g] = k, make(map[uint64]struct{})
			list = append(list, j.describe(i, g.why))
		}
		list[k].Divergences++
		warps[g][row.Warp] = struct{}{}
	}
	for g, k := range at {
		j.ask(&list[k], int64(len(warps[g])))
	}
	return append(list, j.missing()...)
}

// describe begins the entry of a row.
func (j *noiseJudge) describe(row int, why string) Undecided {
	x := &j.r.Rows[row]
	site := &j.r.Sites[siteOfRow(x)]
	u := Undecided{SiteID: site.Name(), SourceLocation: site.Location(), Kind: x.Kind.String(), Why: why, site: siteOfRow(x)}
	f := j.said.findings[j.side.all[j.side.judged[row]].key]
	u.Expected = math.Round(100*f.expected) / 100
	if n := moreRuns(f, j.side.equal, why); j.side.ofB {
		u.MoreRunsB = n
	} else {
		u.MoreRunsA = n
	}
	return u
}

// moreRuns is how many more equal runs of the side settle a number, when they go on as before. 0: none that can be given.
func moreRuns(f *keyFinding, equal int, why string) int {
	if f.decided == nil || why != whyMore && why != whyUnseen {
		return 0
	}
	for n := equal + 1; n <= noiseRunsAskedFor; n++ {
		if f.decided(int64(n)) {
			return n - equal
		}
	}
	return 0
}

// ask finds how many more runs of the other side settle what stays open in some warps. Runs that differ there from the one that was
// given show that it was chance; runs that do not show that it stays.
func (j *noiseJudge) ask(u *Undecided, warps int64) {
	if u.Why == whyNoise {
		return // it does not go away
	}
	runs := [2]int{j.side.equal, j.side.others} // equal runs of A and B that there are
	if j.side.ofB {
		runs[0], runs[1] = runs[1], runs[0]
	}
	for side, more := range []*int{&u.MoreRunsA, &u.MoreRunsB} {
		if *more > 0 {
			continue
		}
		for n := runs[side] + 1; n <= noiseRunsAskedFor; n++ {
			ways := lnChoose(int64(n+1+runs[1-side]+1), int64(n+1))
			if n >= 2 && float64(warps)*ways > -math.Log(noiseAlpha) {
				*more = n - runs[side]
				break
			}
		}
	}
}

// missing lists where equal runs differ and B does not: what makes them differ is gone, or hidden.
func (j *noiseJudge) missing() []Undecided {
	var list []Undecided
	s := j.side
	for _, key := range j.said.less {
		of := s.keys[key]
		u := Undecided{SiteID: fmt.Sprintf("0x%016x", of.site), Kind: of.kind.String(), Why: whyLess, site: None}
		for i := range j.r.Sites {
			if s.names[i] == of.site {
				u.SiteID, u.SourceLocation, u.site = j.r.Sites[i].Name(), j.r.Sites[i].Location(), int32(i)
			}
		}
		f := j.said.findings[key]
		u.Divergences, u.Expected = f.counts.deviates, math.Round(100*f.expected)/100
		list = append(list, u)
	}
	return list
}

// noiseOpen says in a sentence what stays open, and what would settle it, when everything that counts is undecided; "" when something
// is decided or nothing is open. counts divergences count, and open of them are rows that are undecided.
func (r *Result) noiseOpen(counts, open int64) string {
	b := r.Baseline
	if b == nil || len(b.Undecided) == 0 {
		return ""
	}
	if counts != open || open == 0 && !r.Options.requires(AspectControlFlow) {
		return ""
	}
	text := fmt.Sprintf("equal runs neither explain %s nor rule them out", counted(open, "divergence"))
	switch open {
	case 0:
		if b.Undecided[0].Why != whyLess {
			return ""
		}
		text = "B differs less than equal runs do"
	case 1:
		text = "equal runs neither explain one divergence nor rule it out"
	}
	first := &b.Undecided[0]
	if r.First >= 0 {
		text += ", first " + r.place(&r.Rows[r.First])
	} else if first.site != None {
		text += " at " + cmp.Or(r.Sites[first.site].line(), r.Sites[first.site].Name())
	}
	var ways []string
	if n := b.moreRuns(func(u *Undecided) int { return u.MoreRunsA }); n > 0 {
		ways = append(ways, counted(int64(n), "more equal run")+" of A")
	}
	if n := b.moreRuns(func(u *Undecided) int { return u.MoreRunsB }); n > 0 {
		ways = append(ways, counted(int64(n), "more equal run")+" of B")
	}
	if len(ways) > 0 {
		text += ": " + strings.Join(ways, " or ") + " would tell"
	}
	if b.Suppressed > 0 {
		text += "; " + explainedOf(b.Suppressed, b.Suppressed+open)
	}
	return text
}

// moreRuns is how many more runs of a side settle everything that stays open, 0 when no number does.
func (b *Baseline) moreRuns(of func(*Undecided) int) int {
	most := 0
	for i := range b.Undecided {
		n := of(&b.Undecided[i])
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	return most
}

func explainedOf(n, all int64) string {
	return fmt.Sprintf("noise explains %d of %s", n, counted(all, "divergence"))
}

package diff

import (
	"cmp"
	"math"
	"strconv"
)

// noiseJudge holds one result against what equal runs show.
type noiseJudge struct {
	r    *Result
	side *noiseSide
	said *sideFindings
	of   []standing
	why  []string
	skip []bool
}

// mostNoisePasses is how often rows are judged at most: usually once or twice.
const mostNoisePasses = 4

// markNoise sets Noise and Undecided on rows, and says in the baseline what is explained and what stays open.
//
// Rows are judged more than once. What follows a genuine divergence in its warp is left to that one: the next time it is not counted, so
// that noise does not seem to be more than it is because of what a bug leads to.
func markNoise(r *Result, side *noiseSide) {
	n := len(r.Rows)
	j := &noiseJudge{r: r, side: side, of: make([]standing, n), why: make([]string, n), skip: make([]bool, n)}
	side.add(r, side.names, side.equal)
	side.events = r.Stats.EventsA + r.Stats.EventsB
	side.sort()
	for range mostNoisePasses {
		j.judge()
		if !j.leave() {
			break
		}
	}
	j.set()
}

// judge asks what equal runs make of every row.
func (j *noiseJudge) judge() {
	s := j.side
	j.said = s.judge(len(j.r.Rows), j.skip)
	for i := range j.r.Rows {
		if !j.r.Options.lists(&j.r.Rows[i]) {
			continue
		}
		switch {
		case s.common[s.all[s.judged[i]].id]:
			j.of[i], j.why[i] = explained, ""
		case j.skip[i]:
			j.of[i], j.why[i] = genuine, ""
		default:
			j.of[i], j.why[i] = j.said.of[i], j.said.why[i]
		}
	}
	j.judgeStaying()
}

// leave skips what follows a genuine divergence of another key in its warp, and reports whether that is something else than before.
func (j *noiseJudge) leave() (changed bool) {
	lead, warp := int32(-1), uint64(math.MaxUint64)
	for i := range j.r.Rows {
		row := &j.r.Rows[i]
		if !j.r.Options.lists(row) {
			continue
		}
		if row.Warp != warp {
			lead, warp = -1, row.Warp
		}
		key := j.side.all[j.side.judged[i]].key
		skip := lead >= 0 && lead != key
		changed = changed || j.skip[i] != skip
		j.skip[i] = skip
		if lead < 0 && j.of[i] == genuine {
			lead = key
		}
	}
	return changed
}

// judgeStaying looks at what differs between A and B although the equal runs of A agree there with each other, and those of B too. Were
// all of them equal runs, the ones that deviate would be just those of one side with probability 1/n, where n is the number of ways
// to choose that side's. Warps in which equal runs take other paths are left out: what is paired there depends on both runs.
func (j *noiseJudge) judgeStaying() {
	s := j.side
	if s.others == 0 {
		return
	}
	ways := math.Exp(lnChoose(int64(s.equal+s.others+2), int64(s.others+1)))
	for _, f := range j.said.findings {
		warps := make(map[uint64]struct{})
		var rows []int32
		for i := range f.counts.judged {
			x := &f.counts.judged[i]
			warp := j.r.Rows[x.row].Warp
			if _, moved := s.gaps[warp]; x.fresh && x.always && !moved {
				warps[warp] = struct{}{}
				rows = append(rows, x.row)
			}
		}
		to := explained
		n := int64(len(warps))
		switch p := binomialUpper(n, n+f.counts.equalWarps()+f.counts.family, 1/ways); {
		case n == 0:
		case p < noiseAlpha/float64(max(j.said.tested, 1)):
			to = genuine
		case p < noiseDoubt:
			to = open
		}
		for _, i := range rows {
			if j.of[i] < to {
				j.of[i], j.why[i] = to, whyStays
			}
		}
	}
}

// set puts on rows what was found. What has only noise before it in its warp follows nothing that counts.
func (j *noiseJudge) set() {
	b := j.r.Baseline
	noisy := make(map[int32]struct{})
	quiet, warp := true, uint64(math.MaxUint64) // only noise so far
	seen := false
	for i := range j.r.Rows {
		row := &j.r.Rows[i]
		if !j.r.Options.lists(row) {
			continue
		}
		if row.Warp != warp {
			quiet, seen, warp = true, false, row.Warp
		}
		row.Noise, row.Undecided = j.of[i] == explained, j.of[i] == open
		if row.Noise {
			b.Suppressed++
			noisy[siteOfRow(row)] = struct{}{}
		} else {
			if seen && quiet {
				row.Follows = false
			}
			quiet = false
		}
		seen = true
	}
	b.NoiseSites = len(noisy)
	b.sites = j.sites()
	b.Undecided = j.undecided()
}

// siteOfRow is the site under which a divergence is listed.
func siteOfRow(row *Row) int32 {
	if row.SiteA != None {
		return row.SiteA
	}
	return row.SiteB
}

// noiseOfSite is how a site differs among equal runs, beside how it differs between A and B.
type noiseOfSite struct {
	warps     int64 // of the equal runs, in which it differs
	compared  int64
	chance    float64 // of so many deviations or more, when B is one more equal run; the least of its kinds
	explained int64   // divergences of A and B that are noise
	open      int64   // and those that nobody can tell
}

// sites says of every site of the result how often equal runs differ there.
func (j *noiseJudge) sites() []noiseOfSite {
	all := make([]noiseOfSite, len(j.r.Sites))
	for i := range all {
		all[i].chance = 1
	}
	s := j.side
	chances := make(map[uint64]float64)
	for key, f := range j.said.findings {
		site := s.keys[key].site
		if known, ok := chances[site]; !ok || f.chance < known {
			chances[site] = f.chance
		}
	}
	for i := range all {
		all[i].warps, all[i].compared = s.bySite[s.names[i]], s.compared
		if p, ok := chances[s.names[i]]; ok {
			all[i].chance = p
		}
	}
	for i := range j.r.Rows {
		row := &j.r.Rows[i]
		switch {
		case row.Noise:
			all[siteOfRow(row)].explained++
		case row.Undecided:
			all[siteOfRow(row)].open++
		}
	}
	return all
}

func (n *noiseOfSite) rate() float64 {
	if n.compared == 0 {
		return 0
	}
	return float64(n.warps) / float64(n.compared)
}

// tell fills in what a document says of a site.
func (n *noiseOfSite) tell(s *SiteSummary) {
	s.BaselineRate, s.BaselineWarps, s.BaselineOf = n.rate(), n.warps, n.compared
	s.Explained, s.Undecided = n.explained, n.open
	// Three digits are more than it is good for, and the same on every machine.
	chance, _ := strconv.ParseFloat(strconv.FormatFloat(n.chance, 'e', 2, 64), 64)
	s.Chance = &chance
}

// rank orders two sites by how much more often they differ than equal runs do: noise last, then the least likely first. Without
// baselines all are alike.
func (b *Baseline) rank(x, y int, noiseX, noiseY bool) int {
	if b == nil || max(x, y) >= len(b.sites) {
		return 0
	}
	return cmp.Or(cmp.Compare(truth(noiseX), truth(noiseY)), cmp.Compare(b.sites[x].chance, b.sites[y].chance))
}

package diff

import (
	"cmp"
	"strconv"
)

// noiseJudge holds one result against what equal runs show.
type noiseJudge struct {
	r      *Result
	tables []*noiseTable
	found  []*noiseTable // the result itself, by the names of each table
	often  []map[noiseKey]noiseExcess
}

// noiseExcess says whether something differs in more warps than equal runs explain, and whether all of these are warps in which
// equal runs differ too.
type noiseExcess struct{ is, known bool }

// markNoise sets Noise on the rows that equal runs explain, and then on clusters.
func markNoise(r *Result, tables []*noiseTable) {
	j := &noiseJudge{r: r, tables: tables}
	for _, t := range tables {
		self := newNoiseTable(2)
		self.observe(r, t.names, false)
		j.found = append(j.found, self)
		j.often = append(j.often, make(map[noiseKey]noiseExcess))
	}
	for _, rows := range byWarp(r.Rows) {
		j.warp(rows)
	}
	noisy := make(map[int32]struct{})
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Noise {
			r.Baseline.Suppressed++
			noisy[siteOfRow(row)] = struct{}{}
		}
	}
	r.Baseline.NoiseSites = len(noisy)
	r.Baseline.sites = j.sites()
}

// siteOfRow is the site under which a divergence is listed.
func siteOfRow(row *Row) int32 {
	if row.SiteA != None {
		return row.SiteA
	}
	return row.SiteB
}

// warp judges the rows of one warp in their order. What follows a divergence that is no noise is left to it; what has only noise
// before it is noise itself, unless equal runs show well what such noise leads to, and this is not it.
func (j *noiseJudge) warp(rows []Row) {
	inWarp := make(map[noiseKey]int64)
	for i := range rows {
		inWarp[keyOfRow(&rows[i], j.tables[0].names)]++
	}
	var before []*Row // noise that nothing before it leads to
	genuine := false
	for i := range rows {
		row := &rows[i]
		switch {
		case j.explained(row, inWarp[keyOfRow(row, j.tables[0].names)]):
			row.Noise = true
			if !row.Follows || len(before) == 0 {
				before = append(before, row)
			}
		case !row.Follows || genuine || len(before) == 0:
			genuine = true
		case j.canFollow(row, before):
			row.Noise = true
		default:
			row.Follows, genuine = false, true
		}
	}
}

// explained reports whether the equal runs of either side show a divergence like this one, as often and in such places.
func (j *noiseJudge) explained(row *Row, inWarp int64) bool {
	for i, t := range j.tables {
		key := keyOfRow(row, t.names)
		if s := t.stats[key]; s != nil && j.within(i, s, key, row, inWarp) {
			return true
		}
		// The same, but as a consequence of something before it. That does not explain what comes by itself, once equal runs
		// have shown it often enough; what comes by itself explains what comes after something else.
		other := key
		other.follows = !key.follows
		s := t.stats[other]
		if s != nil && (key.follows || s.where.n < noiseRich) && j.within(i, s, key, row, inWarp) {
			return true
		}
	}
	return false
}

// within reports whether a divergence stays within what equal runs show of its like.
func (j *noiseJudge) within(table int, s *noiseStat, key noiseKey, row *Row, inWarp int64) bool {
	_, known := s.seen[row.Warp]
	if !known && s.where.complete() {
		return false // equal runs differ here in certain warps, and this is another one
	}
	if row.Lanes&^s.lanes != 0 && s.which.complete() {
		return false // likewise with lanes
	}
	if poissonUpper(inWarp, s.inWarp) < noiseAlpha || poissonUpper(int64(max(row.Count, row.CountB)), s.count) < noiseAlpha {
		return false // more often in this warp, or longer, than in any warp of equal runs
	}
	if excess := j.excess(table, s, key); excess.is {
		return known && !excess.known
	}
	return true
}

// excess reports whether more warps of A and B differ than any two equal runs show, and than chance makes of their rate.
func (j *noiseJudge) excess(table int, s *noiseStat, key noiseKey) noiseExcess {
	if e, done := j.often[table][key]; done {
		return e
	}
	t, self, n := j.tables[table], j.found[table].stats[key], j.r.Stats.WarpsCompared
	e := noiseExcess{known: true}
	if float64(self.warps)*float64(t.largest) > float64(s.most)*float64(n) {
		e.is = t.chance(s.warps, self.warps, n) < noiseAlpha
	}
	for w := range self.seen {
		if _, is := s.seen[w]; !is {
			e.known = false
			break
		}
	}
	j.often[table][key] = e
	return e
}

// canFollow reports whether a divergence that equal runs do not show can be a consequence of noise before it in its warp.
func (j *noiseJudge) canFollow(row *Row, before []*Row) bool {
	for _, t := range j.tables {
		key := keyOfRow(row, t.names).anyway()
		for _, noise := range before {
			s := t.stats[keyOfRow(noise, t.names).anyway()]
			if s == nil {
				continue
			}
			if _, is := s.followed[key]; is || !s.after.complete() {
				return true
			}
		}
	}
	return false
}

// noiseOfSite is how a site differs among equal runs, beside how it differs between A and B.
type noiseOfSite struct {
	warps    int64 // of the pairs, in which it differs
	compared int64
	chance   float64 // of so many warps or more between A and B, at the rate of equal runs
}

// sites says of every site of the result how often equal runs differ there: on the side where they do more often.
func (j *noiseJudge) sites() []noiseOfSite {
	all := make([]noiseOfSite, len(j.r.Sites))
	for i := range all {
		all[i].chance = 1
		for k, t := range j.tables {
			name := t.names[i]
			of := noiseOfSite{warps: t.bySite[name], compared: t.compared}
			of.chance = t.chance(of.warps, j.found[k].bySite[name], j.r.Stats.WarpsCompared)
			if k == 0 || of.rate() > all[i].rate() {
				all[i] = of
			}
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

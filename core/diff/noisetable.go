package diff

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	maxNoiseRuns = 64      // of one side
	maxSightings = 1 << 23 // of one side: what is kept of the divergences among equal runs
)

// kindSlip is the kind of a noiseKey for pairs of events that are of different passes of a loop. Where events are added or missing,
// alignment may pair a few passes with their neighbours, and everything in them differs: that is one reason, whichever sites it
// shows at.
const kindSlip = RowKind(rowKinds)

// noiseKey is what a divergence is, wherever it is.
type noiseKey struct {
	site, other uint64 // RowPath: both sites, the smaller name first
	kind        RowKind
}

// The ways that a divergence can go, seen from the first run of a side.
const (
	wayNone  = iota // values have no way
	wayMore         // lanes or events that the first run lacks
	wayLess         // lanes or events that only the first run has
	wayMixed        // both
	ways     = iota
)

// sighting is one divergence between the first run of a side and another run: one of the equal runs, or the other side's first.
type sighting struct {
	warp  uint64
	lanes uint64
	id    int32  // in the order of adding
	key   int32  // in noiseSide.keys
	run   int32  // which equal run; noiseSide.equal: the other side; beyond that: runs equal to the other side
	at    int32  // the event of the first run
	turn  uint32 // how often the warp had passed the site
	count uint32 // events of a gap
	row   int32  // in Result.Rows, for the other side
	lead  int32  // the sighting that comes first in the warp, by id
	way   uint8
}

// noiseSide is what equal runs show: those of one side are compared with the first of that side, as the other side is, and the equal
// runs of the other side are.
type noiseSide struct {
	ofB      bool     // the first run is B
	names    []uint64 // of the sites of the result to be judged
	equal    int      // equal runs beside the first
	others   int      // runs equal to the other side, beside the one that is judged
	keys     []noiseKey
	index    map[noiseKey]int32
	all      []sighting
	spans    [][2]int32          // of each key in all, once sorted
	common   []bool              // by id: the first run is the one that deviates
	bySite   map[uint64]int64    // warps of equal runs in which the site differs
	compared int64               // warps of equal runs
	events   int64               // of A and B
	judged   []int32             // by row of the result: its place in all, -1 none
	gaps     map[uint64]struct{} // warps in which equal runs have other events than the first run
	slips    map[uint64]struct{} // warps in which passes are paired with others than their own, by any run
}

func newNoiseSide(equal, others int, names []uint64, ofB bool) *noiseSide {
	return &noiseSide{equal: equal, others: others, names: names, ofB: ofB, index: make(map[noiseKey]int32), bySite: make(map[uint64]int64)}
}

// isGap reports whether events are added, missing or replaced.
func (k *noiseKey) isGap() bool { return k.kind == RowPath || k.kind == RowExtraEvents }

// keyOf is the key of a divergence, and whether its sites were swapped to put the smaller name first.
func keyOf(row *Row, names []uint64) (k noiseKey, swapped bool) {
	if row.Kind <= RowValue && row.OccurrenceA != row.OccurrenceB {
		return noiseKey{kind: kindSlip}, false
	}
	k.kind = row.Kind
	k.site = names[siteOfRow(row)]
	if row.Kind == RowPath && row.SiteA != None && row.SiteB != None {
		if k.other = names[row.SiteB]; k.other < k.site {
			k.site, k.other, swapped = k.other, k.site, true
		}
	}
	return k, swapped
}

// wayOf is the way that a divergence goes from A to B.
func wayOf(row *Row, swapped bool) uint8 {
	var more, less bool
	switch row.Kind {
	case RowBranch:
		both := row.ActiveA & row.ActiveB
		more, less = row.TakenB&^row.TakenA&both != 0, row.TakenA&^row.TakenB&both != 0
		if !more && !less {
			more, less = row.DirB > row.DirA, row.DirB < row.DirA
		}
	case RowActiveMask:
		more, less = row.ActiveB&^row.ActiveA != 0, row.ActiveA&^row.ActiveB != 0
	case RowExtraEvents:
		more, less = !row.inA(), row.inA()
	case RowPath:
		more, less = !swapped, swapped
	}
	switch {
	case more && less:
		return wayMixed
	case more:
		return wayMore
	case less:
		return wayLess
	}
	return wayNone
}

// backwards is a way seen from the other side.
func backwards(way uint8) uint8 {
	switch way {
	case wayMore:
		return wayLess
	case wayLess:
		return wayMore
	}
	return way
}

// add takes the divergences of one comparison. Of the one that is judged, rows are numbered, and seen from B where B is the first run.
func (s *noiseSide) add(r *Result, names []uint64, run int) {
	judged := run == s.equal
	if judged {
		s.judged = make([]int32, len(r.Rows))
		for i := range s.judged {
			s.judged[i] = -1
		}
	}
	equal := run < s.equal
	if equal {
		s.compared += r.Stats.WarpsCompared
	}
	here := make(map[uint64]struct{})
	lead, before := int32(-1), uint64(0)
	for i := range r.Rows {
		row := &r.Rows[i]
		if !r.Options.lists(row) {
			continue
		}
		if lead < 0 || row.Warp != before {
			lead, before = int32(len(s.all)), row.Warp
			clear(here)
		}
		key, swapped := keyOf(row, names)
		sees := sighting{
			warp: row.Warp, lanes: row.Lanes, id: int32(len(s.all)), key: s.keyNumber(key), run: int32(run), at: row.EventA,
			turn: max(row.OccurrenceA, row.OccurrenceB), count: max(row.Count, row.CountB), row: int32(i), lead: lead, way: wayOf(row, swapped),
		}
		if judged && s.ofB {
			sees.at, sees.way = row.EventB, backwards(sees.way)
		}
		s.all = append(s.all, sees)
		if site := names[siteOfRow(row)]; equal {
			if _, known := here[site]; !known {
				here[site] = struct{}{}
				s.bySite[site]++
			}
		}
	}
}

func (s *noiseSide) keyNumber(key noiseKey) int32 {
	n, known := s.index[key]
	if !known {
		n = int32(len(s.keys))
		s.index[key] = n
		s.keys = append(s.keys, key)
	}
	return n
}

// sort brings together what was seen of each key, in each warp, at each place, and finds the places at which the first run itself is
// the one that deviates: most of the other runs differ from it there.
func (s *noiseSide) sort() {
	slices.SortFunc(s.all, func(x, y sighting) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.warp, y.warp), cmp.Compare(x.at, y.at), cmp.Compare(x.run, y.run))
	})
	s.findGaps()
	s.common = make([]bool, len(s.all))
	s.spans = make([][2]int32, len(s.keys))
	for from := 0; from < len(s.all); {
		first := &s.all[from]
		to, runs := from, 0
		for to < len(s.all) && s.all[to].key == first.key && s.all[to].warp == first.warp && s.all[to].at == first.at {
			if run := int(s.all[to].run); run <= s.equal && (to == from || s.all[to-1].run != s.all[to].run) {
				runs++
			}
			to++
		}
		deviates := 2*runs >= s.equal+2
		for k := from; k < to; k++ {
			s.common[s.all[k].id] = deviates
			if s.all[k].run == int32(s.equal) {
				s.judged[s.all[k].row] = int32(k)
			}
		}
		if span := &s.spans[first.key]; span[1] == 0 {
			span[0] = int32(from)
		}
		s.spans[first.key][1] = int32(to)
		from = to
	}
}

// noiseCounts is what deviates at one key: in the equal runs beside the first, and last in the other side. Where the first run itself
// deviates is not in it. Of kindSlip, each warp counts once.
type noiseCounts struct {
	rows, warps []int64
	each        []int64 // rows, also of kindSlip
	most        int64   // rows of one warp of an equal run, at most
	cells       int64   // warps of equal runs that have any
	repeats     int64   // their rows beyond the first of each
	spread      float64
	lanes       [2][64]int64 // of equal runs, of the other side
	laned       [2]int64     // rows whose lanes are known
	ways        [2][ways]int64
	longest     int64 // gap of any equal run
	gaps        int64
	gapped      int64 // their events beyond the first of each
	alone       int64 // rows of equal runs in warps in which no other equal run has any
	where       noiseSpecies
	which       noiseSpecies
	first       int64   // places at which the first run deviates
	family      int64   // rows of the other side and of the runs equal to it that do not stay
	deviates    int64   // rows of the other side, also those that do not stay
	moved       []int64 // rows of the other side in each warp in which passes are paired anew
	judged      []judgedRow
}

// judgedRow is a divergence of A and B that is to be judged.
type judgedRow struct {
	row    int32
	at     int32 // in noiseSide.all
	inWarp int64 // how many there are of its key in its warp
	moved  bool  // passes are paired anew in this warp, and how depends on both runs
	firm   bool  // it is in noiseCounts.rows, not another one of a warp that slips
	fresh  bool  // no equal run has any in this warp
	once   bool  // most of the runs equal to the other side do not have it
	always bool  // all of them have it
}

// count counts one key. Rows of A and B that are skipped are left out.
func (s *noiseSide) count(key int32, skip []bool) *noiseCounts {
	n := s.equal + 1
	c := &noiseCounts{rows: make([]int64, n), each: make([]int64, n), warps: make([]int64, n)}
	d := newDispersion(s.equal)
	span := s.spans[key]
	for from := span[0]; from < span[1]; {
		to := from
		for to < span[1] && s.all[to].warp == s.all[from].warp {
			to++
		}
		s.countWarp(c, d, s.all[from:to], from, skip)
		from = to
	}
	c.spread = d.spread(c.rows[:s.equal])
	return c
}

func (s *noiseSide) countWarp(c *noiseCounts, d *dispersion, group []sighting, from int32, skip []bool) {
	d.begin()
	slips := s.keys[group[0].key].kind == kindSlip
	here, fresh := len(c.judged), true
	ofFamily := s.family(group)
	for i := range group {
		x := &group[i]
		if int(x.run) > s.equal {
			if !s.common[x.id] && !ofFamily.stays(i) {
				c.family++
			}
			continue
		}
		equal := int(x.run) < s.equal
		fresh = fresh && !equal
		if equal && x.count > 0 {
			c.longest, c.gaps, c.gapped = max(c.longest, int64(x.count)), c.gaps+1, c.gapped+int64(x.count)-1
		}
		if s.common[x.id] {
			if i == 0 || group[i-1].at != x.at {
				c.first++
			}
			continue
		}
		if !equal && skip[x.row] {
			continue
		}
		firm := !slips || d.cell[x.run] == 0
		side := 0
		if !equal {
			once := s.others > 0 && !ofFamily.stays(i)
			c.judged = append(c.judged, judgedRow{row: x.row, at: from + int32(i), firm: firm && !once, once: once, always: ofFamily.runs(i) == ofFamily.all})
			if firm {
				c.deviates++
			}
			if once {
				c.family++
				continue
			}
			side = 1
		}
		c.each[x.run]++
		if !firm {
			continue
		}
		d.saw(x)
		c.rows[x.run]++
		c.ways[side][x.way]++
		if x.lanes != 0 {
			c.laned[side]++
			if equal {
				c.which.n++
			}
		}
		for lanes := x.lanes; lanes != 0; lanes &= lanes - 1 {
			lane := bits.TrailingZeros64(lanes)
			c.lanes[side][lane]++
			if equal {
				c.which.saw(uint64(lane))
			}
		}
	}
	runs, rows := 0, int64(0)
	for run, x := range d.cell {
		if x == 0 {
			continue
		}
		c.warps[run]++
		if run == s.equal {
			continue
		}
		runs, rows = runs+1, rows+x
		c.most = max(c.most, x)
		c.cells++
		c.repeats += x - 1
		c.where.n++
		c.where.saw(group[0].warp)
	}
	if runs == 1 {
		c.alone += rows
	}
	_, moved := s.slips[group[0].warp]
	if n := d.cell[s.equal]; moved && n > 0 {
		c.moved = append(c.moved, n)
	}
	for k := here; k < len(c.judged); k++ {
		c.judged[k].inWarp, c.judged[k].fresh, c.judged[k].moved = d.cell[s.equal], fresh, moved
	}
	d.end()
}

// equalRows is how many rows all equal runs have.
func (c *noiseCounts) equalRows() (sum int64) {
	for _, n := range c.rows[:len(c.rows)-1] {
		sum += n
	}
	return sum
}

func (c *noiseCounts) equalWarps() (sum int64) {
	for _, n := range c.warps[:len(c.warps)-1] {
		sum += n
	}
	return sum
}

// dispersion measures how much more than single independent events the rows of equal runs vary: they may come in bursts of passes, in
// few warps at once, or in some runs more than in others.
type dispersion struct {
	equal           int
	cell            []int64 // of the warp at hand, by run
	last            []int64 // the pass of the newest row of each run, -1 none
	length          []int64 // of the burst that it belongs to
	bursts, squares float64
	within, means   float64
}

func newDispersion(equal int) *dispersion {
	return &dispersion{equal: equal, cell: make([]int64, equal+1), last: make([]int64, equal+1), length: make([]int64, equal+1)}
}

func (d *dispersion) begin() {
	clear(d.cell)
	clear(d.length)
}

func (d *dispersion) saw(x *sighting) {
	d.cell[x.run]++
	if int(x.run) == d.equal {
		return
	}
	if d.length[x.run] > 0 && int64(x.turn) != d.last[x.run]+1 {
		d.close(int(x.run))
	}
	d.length[x.run]++
	d.last[x.run] = int64(x.turn)
}

func (d *dispersion) close(run int) {
	n := float64(d.length[run])
	d.bursts += n
	d.squares += n * n
	d.length[run] = 0
}

func (d *dispersion) end() {
	mean := 0.0
	for run := range d.equal {
		if d.length[run] > 0 {
			d.close(run)
		}
		mean += float64(d.cell[run]) / float64(d.equal)
	}
	for run := range d.equal {
		d.within += (float64(d.cell[run]) - mean) * (float64(d.cell[run]) - mean)
	}
	d.means += mean
}

// spread is how many rows count as one: the length of a burst, as a row sees it, or the variance over the mean of the rows of a warp or
// of a run, whichever is most.
func (d *dispersion) spread(runs []int64) float64 {
	most := 1.0
	if d.bursts > 0 {
		most = max(most, d.squares/d.bursts)
	}
	if d.equal < 2 || d.means == 0 {
		return most
	}
	free := float64(d.equal - 1)
	mean, variance := 0.0, 0.0
	for _, n := range runs {
		mean += float64(n) / float64(d.equal)
	}
	for _, n := range runs {
		variance += (float64(n) - mean) * (float64(n) - mean) / free
	}
	return max(most, d.within/free/d.means, variance/mean)
}

// findGaps finds the warps in which alignment has something to choose.
func (s *noiseSide) findGaps() {
	s.gaps, s.slips = make(map[uint64]struct{}), make(map[uint64]struct{})
	for i := range s.all {
		x := &s.all[i]
		if int(x.run) < s.equal && s.keys[x.key].isGap() {
			s.gaps[x.warp] = struct{}{}
		}
		if s.keys[x.key].kind == kindSlip {
			s.slips[x.warp] = struct{}{}
		}
	}
}

// familyGroup says of the sightings of a key in a warp which of the other side's stay: the runs that are equal to the other side, or
// most of them, have them too.
type familyGroup struct {
	place []int // by position in the group: how many runs of the family have it at this place
	warp  int   // how many have any in the warp
	exact bool  // places can be told
	all   int   // runs of the family
}

// family looks at what the runs equal to the other side show of a key in a warp. Where alignment has something to choose, places cannot
// be told, and whatever is in the warp stays.
func (s *noiseSide) family(group []sighting) *familyGroup {
	_, moved := s.slips[group[0].warp]
	f := &familyGroup{exact: !moved && !s.keys[group[0].key].isGap(), all: s.others + 1}
	if s.others == 0 {
		return f
	}
	f.place = make([]int, len(group))
	have := make(map[int32]struct{})
	for from := 0; from < len(group); {
		to, runs := from, 0
		for to < len(group) && group[to].at == group[from].at {
			if x := &group[to]; int(x.run) >= s.equal {
				have[x.run] = struct{}{}
				if to == from || group[to-1].run != x.run {
					runs++
				}
			}
			to++
		}
		for k := from; k < to; k++ {
			f.place[k] = runs
		}
		from = to
	}
	f.warp = len(have)
	return f
}

// stays reports whether most of the family has what stands at a position in the group.
func (f *familyGroup) stays(at int) bool {
	return 2*f.runs(at) > f.all
}

// runs is how many of the family have what stands at a position in the group.
func (f *familyGroup) runs(at int) int {
	switch {
	case f.place == nil:
		return f.all
	case f.exact:
		return f.place[at]
	}
	return f.warp
}

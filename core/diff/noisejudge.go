package diff

import "math"

// A standing is what equal runs make of a divergence of A and B.
type standing uint8

const (
	explained standing = iota // equal runs show as much: noise
	open                      // equal runs can neither explain it nor rule it out
	genuine                   // more than equal runs show
)

// Why a divergence is not explained, as documents spell it.
const (
	whyUnseen = "unseen" // no equal run shows it
	whyMore   = "more"   // more of them than equal runs show, or too few equal runs to say that it is not
	whyWarp   = "in-one-warp"
	whyLonger = "longer"
	whyLanes  = "lanes"
	whyWarps  = "warps"
	whyWay    = "direction"
	whyLead   = "what-it-follows"
	whyStays  = "stays"   // the equal runs of A agree with each other, those of B too, and the two do not
	whyNoise  = "noisier" // the equal runs of B differ from each other more than those of A do
	whySlips  = "pairing" // other passes of a loop are paired than in equal runs
	whyLess   = "less"    // equal runs show more
)

// keyFinding is what was found about the divergences of one key.
type keyFinding struct {
	counts   *noiseCounts
	number   standing
	why      string
	chance   float64 // of so many or more, when B is one more equal run
	expected float64 // as many as an equal run shows
	decided  func(runs int64) bool
}

// sideFindings is what the equal runs of one side say: of every row, and of every key.
type sideFindings struct {
	of       []standing
	why      []string
	counted  []bool // the row was counted, neither skipped nor the first run's own
	findings []*keyFinding
	tested   int // keys that share the chances
	less     []int32
}

// judge holds the rows of A and B that are not skipped against the equal runs of the side.
func (s *noiseSide) judge(rows int, skip []bool) *sideFindings {
	j := &sideFindings{of: make([]standing, rows), why: make([]string, rows), counted: make([]bool, rows), findings: make([]*keyFinding, len(s.keys))}
	for key := range s.keys {
		c := s.count(int32(key), skip)
		j.findings[key] = &keyFinding{counts: c}
		if len(c.judged) > 0 {
			j.tested++
		}
	}
	leads, first := s.leads(skip), s.firsts(skip)
	for key, f := range j.findings {
		for i := range f.counts.judged {
			j.counted[f.counts.judged[i].row] = true
		}
		shared := j.tested
		if first[int32(key)] {
			shared = len(first)
		}
		f.judgeNumber(int64(s.equal), shared, j.tested)
		if s.keys[key].kind == kindSlip {
			f.judgeSlips(s.events)
			s.mark(j, f)
			continue
		}
		s.mark(j, f)
		s.judgeLanes(j, f)
		s.judgeWays(j, f)
		s.judgeWarps(j, f)
		s.judgeRepeats(j, f)
		s.judgeLengths(j, f)
		s.judgeFollowers(j, f, int32(key), leads)
		s.judgeFamily(j, f)
		if f.isLess(int64(s.equal), len(s.keys)) {
			j.less = append(j.less, int32(key))
		}
	}
	return j
}

// firsts lists the keys that come first in a warp of B, not counting what the first run itself does. There are few, and what
// they lead to is left to them: so the significance of being called a divergence is divided over these keys.
func (s *noiseSide) firsts(skip []bool) map[int32]bool {
	out := make(map[int32]bool)
	seen := make(map[uint64]struct{})
	for row, at := range s.judged { // ascending by warp, then event
		if at < 0 || skip[row] || s.common[s.all[at].id] {
			continue
		}
		if _, again := seen[s.all[at].warp]; !again {
			seen[s.all[at].warp] = struct{}{}
			out[s.all[at].key] = true
		}
	}
	return out
}

// scaled turns rows into independent ones: rounded up, or down.
func scaled(n int64, spread float64, up bool) int64 {
	if up {
		return int64(math.Ceil(float64(n) / spread))
	}
	return int64(math.Floor(float64(n) / spread))
}

// judgeNumber asks whether B deviates more often than one more equal run would. If B were one, every deviation would be B's with the
// chance of one in the number of runs.
func (f *keyFinding) judgeNumber(equal int64, shared, keys int) {
	c := f.counts
	f.chance, f.expected = 1, float64(c.equalRows())/float64(equal)
	if c.rows[equal] == 0 {
		return
	}
	f.why = whyMore
	if c.equalRows() == 0 {
		f.why = whyUnseen
	}
	n := newNumbers(c, shared, keys)
	f.number, f.chance = n.verdict(equal)
	f.decided = func(runs int64) bool {
		v, _ := n.verdict(runs)
		return v != open
	}
}

// numbers are how often B deviates, and each equal run.
type numbers struct {
	k      int64 // of B
	apart  int64 // of these, those that are known not to belong together
	equal  []int64
	sum    int64 // of equal runs
	most   int64 // of one of them
	warps  int64 // of B
	spread float64
	shared int  // keys that share the chance of a divergence
	keys   int  // keys that share the chance of doubt
	alone  bool // the first run is one more that does not deviate
}

func newNumbers(c *noiseCounts, shared, keys int) *numbers {
	last := len(c.rows) - 1
	n := &numbers{k: c.rows[last], equal: c.rows[:last], warps: c.warps[last], spread: c.spread, shared: shared, keys: keys}
	for _, x := range n.equal {
		n.sum += x
		n.most = max(n.most, x)
	}
	n.apart = n.k
	if n.sum < noiseMeasured {
		n.apart = min(n.k, n.warps*max(c.most, 1))
	}
	beyond := int64(0)
	for _, rows := range c.moved {
		beyond += max(rows-noiseMoved*max(c.most, 1), 0)
	}
	n.apart = min(n.apart, n.k-beyond)
	n.alone = n.sum == 0 && c.first == 0
	return n
}

// verdict says what follows from the numbers when there are so many equal runs that go on as those that there are, and how likely as
// many deviations as B's are.
func (n *numbers) verdict(runs int64) (standing, float64) {
	sum := float64(n.sum) * float64(runs) / float64(len(n.equal))
	share := 1 / float64(runs+1)
	if n.alone {
		share = 1 / float64(runs+2)
	}
	few, many := scaled(n.apart, n.spread, false), scaled(n.k, n.spread, true)
	chance := binomialUpper(few, few+int64(math.Ceil(sum/n.spread)), share)
	switch {
	case n.k > n.most && chance < noiseAlpha/float64(n.shared):
		return genuine, chance
	case chance < noiseDoubt/float64(n.keys):
		return open, chance
	case binomialLower(many, many+int64(math.Floor(sum/n.spread)), noiseTimes/float64(runs+noiseTimes)) < noiseHidden:
		return explained, chance
	case n.isUsual(runs):
		return explained, chance
	}
	return open, chance
}

// isUsual reports whether many equal runs deviate as often as B does, whatever the distribution is.
func (n *numbers) isUsual(runs int64) bool {
	as := int64(0)
	for _, x := range n.equal {
		if x >= n.k {
			as++
		}
	}
	return binomialUpper(as*runs/int64(len(n.equal)), runs, noiseUsual) < noiseSure
}

// judgeSlips asks how many events are paired with those of other passes, too: they must not be many times as many as in equal runs,
// nor so many that little is left to compare.
func (f *keyFinding) judgeSlips(events int64) {
	each, most := f.counts.each, int64(0)
	last := len(each) - 1
	for _, n := range each[:last] {
		most = max(most, n)
	}
	blind := float64(each[last]) > noiseBlind*float64(events)
	if f.why = whySlips; f.number == explained && (blind || each[last] > noiseSlips*most) {
		f.number, f.decided = open, nil
	}
}

// isLess reports whether B deviates less often than equal runs do.
func (f *keyFinding) isLess(equal int64, keys int) bool {
	c := f.counts
	k, least := c.deviates, int64(math.MaxInt64)
	for _, n := range c.rows[:equal] {
		least = min(least, n)
	}
	many := scaled(k, c.spread, true)
	return k < least && binomialLower(many, many+scaled(c.equalRows(), c.spread, false), 1/float64(equal+1)) < noiseAlpha/float64(keys)
}

// mark says of the rows of a key what was found about their number. Where there are too many, as many as an equal run shows are
// explained: those in warps in which equal runs have some, the last ones first, because the first is what is looked at.
func (s *noiseSide) mark(j *sideFindings, f *keyFinding) {
	left := 0
	if f.number == genuine {
		left = int(math.Round(f.expected))
	}
	for i := range f.counts.judged {
		if x := &f.counts.judged[i]; x.once {
			j.of[x.row], j.why[x.row] = explained, ""
		}
	}
	for _, fresh := range []bool{false, true} {
		for i := len(f.counts.judged) - 1; i >= 0; i-- {
			x := &f.counts.judged[i]
			if x.fresh != fresh || x.once {
				continue
			}
			if left > 0 {
				left--
				j.of[x.row] = explained
				continue
			}
			j.of[x.row], j.why[x.row] = f.number, f.why
		}
	}
}

// raise says that rows stand out by more than their number.
func (j *sideFindings) raise(f *keyFinding, to standing, why string, which func(x *judgedRow) bool) {
	for i := range f.counts.judged {
		if x := &f.counts.judged[i]; x.firm && which(x) && j.of[x.row] < to {
			j.of[x.row], j.why[x.row] = to, why
		}
	}
}

// alpha is what one of the questions beside the number may err.
func (j *sideFindings) alpha() float64 { return noiseAlpha / noiseWhere / float64(max(j.tested, 1)) }

// judgeLanes asks whether a lane has a larger share of B's rows than of those of equal runs, and whether it is one that they never show.
func (s *noiseSide) judgeLanes(j *sideFindings, f *keyFinding) {
	c := f.counts
	if c.laned[0] == 0 || c.laned[1] == 0 {
		return
	}
	var many, fresh uint64
	for lane := range 64 {
		k, n := scaled(c.lanes[1][lane], c.spread, false), scaled(c.laned[1], c.spread, true)
		if fisherUpper(k, n, scaled(c.lanes[0][lane], c.spread, true), scaled(c.laned[0], c.spread, false)) < j.alpha()/64 {
			many |= 1 << lane
		}
		if c.lanes[0][lane] == 0 && c.lanes[1][lane] > 0 {
			fresh |= 1 << lane
		}
	}
	if many != 0 {
		j.raise(f, genuine, whyLanes, func(x *judgedRow) bool { return s.all[x.at].lanes&many != 0 })
	}
	if fresh != 0 && c.which.complete() {
		j.raise(f, open, whyLanes, func(x *judgedRow) bool { return s.all[x.at].lanes&fresh != 0 })
	}
}

// judgeWays asks whether B goes one way more often than equal runs do.
func (s *noiseSide) judgeWays(j *sideFindings, f *keyFinding) {
	c := f.counts
	var all [2]int64
	for way := range ways {
		all[0] += c.ways[0][way]
		all[1] += c.ways[1][way]
	}
	for way := range ways {
		k, n := scaled(c.ways[1][way], c.spread, false), scaled(all[1], c.spread, true)
		k0, n0 := scaled(c.ways[0][way], c.spread, true), scaled(all[0], c.spread, false)
		to := explained
		switch p := fisherUpper(k, n, k0, n0); {
		case p < j.alpha()/ways:
			to = genuine
		case c.ways[1][way] > 0 && k0 == 0 && n0 >= noiseRich:
			to = open
		}
		if to != explained {
			j.raise(f, to, whyWay, func(x *judgedRow) bool { return int(s.all[x.at].way) == way })
		}
	}
}

// judgeWarps asks whether more of B's rows are in warps in which no equal run has any than each equal run has in warps of its own.
func (s *noiseSide) judgeWarps(j *sideFindings, f *keyFinding) {
	c := f.counts
	fresh := int64(0)
	for i := range c.judged {
		if x := &c.judged[i]; x.fresh && x.firm {
			fresh++
		}
	}
	sum := c.equalRows()
	if fresh == 0 || sum == 0 {
		return
	}
	to := explained
	p := fisherUpper(scaled(fresh, c.spread, false), scaled(c.rows[s.equal], c.spread, true), scaled(c.alone, c.spread, true), scaled(sum, c.spread, false))
	switch {
	case p < j.alpha():
		to = genuine
	case c.where.complete():
		to = open
	}
	if to != explained {
		j.raise(f, to, whyWarps, func(x *judgedRow) bool { return x.fresh })
	}
}

// judgeRepeats asks whether a warp of B has more rows than any warp of an equal run.
func (s *noiseSide) judgeRepeats(j *sideFindings, f *keyFinding) {
	c := f.counts
	if c.cells == 0 {
		return
	}
	measured := s.equal > 1 && c.equalRows() >= noiseMeasured
	warps := c.warps[s.equal]
	for i := range c.judged {
		x := c.judged[i].inWarp
		if x <= c.most {
			continue
		}
		chance := poissonUpper(scaled(x, c.spread, false), scaled(c.most, c.spread, true))
		ends := geometricUpper(x-1, c.repeats, c.cells) * float64(warps)
		to := explained
		switch {
		case ends < j.alpha() && x >= 2*c.most, measured && chance < j.alpha() && 2*x >= 3*c.most:
			to = genuine
		case chance < j.alpha():
			to = open
		}
		if c.judged[i].moved {
			to = min(to, open)
		}
		if to != explained {
			warp := s.all[c.judged[i].at].warp
			j.raise(f, to, whyWarp, func(y *judgedRow) bool { return s.all[y.at].warp == warp })
		}
	}
}

// judgeLengths asks whether a gap of B is longer than any of an equal run.
func (s *noiseSide) judgeLengths(j *sideFindings, f *keyFinding) {
	c := f.counts
	if c.gaps == 0 {
		return
	}
	for i := range c.judged {
		x := int64(s.all[c.judged[i].at].count)
		if x <= c.longest || poissonUpper(x, c.longest) >= j.alpha() {
			continue
		}
		to := open
		if x >= 2*c.longest && geometricUpper(x-1, c.gapped, c.gaps)*float64(len(c.judged)) < j.alpha() {
			to = genuine
		}
		row := c.judged[i].row
		j.raise(f, to, whyLonger, func(y *judgedRow) bool { return y.row == row })
	}
}

// judgeFamily looks at what differs once: the runs equal to B do not have it, so it is chance. That is noise as long as it does not
// happen much more often than among the equal runs of A.
func (s *noiseSide) judgeFamily(j *sideFindings, f *keyFinding) {
	c := f.counts
	if s.others == 0 || c.family == 0 {
		return
	}
	runs := float64(s.equal + s.others + 2)
	k := scaled(c.family, c.spread, false)
	if binomialUpper(k, k+scaled(c.equalRows()+c.first, c.spread, true), float64(s.others+1)/runs) >= noiseDoubt/float64(max(j.tested, 1)) {
		return
	}
	for i := range c.judged {
		if x := &c.judged[i]; x.once {
			j.of[x.row], j.why[x.row] = open, whyNoise
		}
	}
}

// leadCount counts the warps in which a key comes first, and those of them in which another key follows: in equal runs, in the other side.
type leadCount struct {
	warps   [2]int64
	follows map[int32]*[2]int64
}

// leads counts what follows what. A warp in which the first run deviates first is left out: all runs say the same there.
func (s *noiseSide) leads(skip []bool) map[int32]*leadCount {
	keys := make([]int32, len(s.all)) // by id
	for i := range s.all {
		keys[s.all[i].id] = s.all[i].key
	}
	out := make(map[int32]*leadCount)
	type seen struct {
		warp uint64
		run  int32
	}
	counted := make(map[seen]struct{})
	for key := range s.keys {
		clear(counted)
		for i := s.spans[key][0]; i < s.spans[key][1]; i++ {
			x := &s.all[i]
			side := 0
			if int(x.run) == s.equal {
				side = 1
			}
			if int(x.run) > s.equal {
				continue
			}
			if s.common[x.lead] || side == 1 && skip[x.row] {
				continue
			}
			if _, twice := counted[seen{x.warp, x.run}]; twice {
				continue
			}
			counted[seen{x.warp, x.run}] = struct{}{}
			of := out[keys[x.lead]]
			if of == nil {
				of = &leadCount{follows: make(map[int32]*[2]int64)}
				out[keys[x.lead]] = of
			}
			if x.lead == x.id {
				of.warps[side]++
				continue
			}
			if of.follows[x.key] == nil {
				of.follows[x.key] = new([2]int64)
			}
			of.follows[x.key][side]++
		}
	}
	return out
}

// judgeFollowers asks whether a key follows another one more often than among equal runs.
func (s *noiseSide) judgeFollowers(j *sideFindings, f *keyFinding, key int32, leads map[int32]*leadCount) {
	var many map[int32]bool // first ones of the warp, after which there are too many
	for lead, of := range leads {
		n := of.follows[key]
		if n == nil || n[1] == 0 || of.warps[0] == 0 {
			continue
		}
		if fisherUpper(n[1], of.warps[1], min(n[0], of.warps[0]), of.warps[0]) < j.alpha()/float64(max(len(leads), 1)) {
			if many == nil {
				many = make(map[int32]bool)
			}
			many[lead] = true
		}
	}
	if many == nil {
		return
	}
	keys := make(map[int32]int32)
	for i := range s.all {
		if x := &s.all[i]; x.id == x.lead && int(x.run) == s.equal {
			keys[x.id] = x.key
		}
	}
	j.raise(f, genuine, whyLead, func(x *judgedRow) bool {
		lead := s.all[x.at].lead
		return lead != s.all[x.at].id && many[keys[lead]]
	})
}

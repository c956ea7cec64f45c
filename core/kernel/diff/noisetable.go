package diff

const (
	maxNoiseRuns  = 64 // of one side
	maxNoisePairs = 66 // compared on each side: all pairs of 12 runs
)

// noisePairs chooses which of n equal runs are compared: neighbours first, then runs further apart, until there are enough.
func noisePairs(n int) [][2]int {
	var pairs [][2]int
	for apart := 1; apart < n; apart++ {
		for i := 0; i+apart < n && len(pairs) < maxNoisePairs; i++ {
			pairs = append(pairs, [2]int{i, i + apart})
		}
	}
	return pairs
}

// noiseKey is what a divergence is, whichever warp it is in.
type noiseKey struct {
	site, other uint64 // RowPath: both sites, the smaller name first
	kind        RowKind
	follows     bool
}

func keyOfRow(row *Row, names []uint64) noiseKey {
	k := noiseKey{kind: row.Kind, follows: row.Follows}
	switch {
	case row.Kind == RowPath && row.SiteA != None && row.SiteB != None:
		k.site, k.other = names[row.SiteA], names[row.SiteB]
		if k.other < k.site {
			k.site, k.other = k.other, k.site
		}
	case row.SiteA != None:
		k.site = names[row.SiteA]
	case row.SiteB != None:
		k.site = names[row.SiteB]
	}
	return k
}

// noiseStat is how often something differs: among equal runs over all their pairs, or between A and B.
type noiseStat struct {
	warps    int64 // warps of pairs in which it differs
	most     int64 // the same in the pair with the most
	inWarp   int64 // divergences of one warp, at most
	count    int64 // events of one divergence, at most
	lanes    uint64
	where    noiseSpecies // warps; counted over pairs that share no run
	which    noiseSpecies // lanes, likewise
	after    noiseSpecies // what follows in the same warp, likewise; for what follows nothing
	seen     map[uint64]struct{}
	followed map[noiseKey]struct{}
}

// noiseTable is what the equal runs of one side show.
type noiseTable struct {
	names    []uint64 // of the sites of the result to be judged
	stats    map[noiseKey]*noiseStat
	bySite   map[uint64]int64 // warps of pairs in which the site differs, in whatever way
	compared int64            // warps of all pairs
	largest  int64            // warps of the pair that has the most
	runs     int
	pairs    int
}

func newNoiseTable(runs int) *noiseTable {
	return &noiseTable{stats: make(map[noiseKey]*noiseStat), bySite: make(map[uint64]int64), runs: runs}
}

// chance is how likely it is that at least k of n warps differ between A and B when they do so at the rate of equal runs. Pairs
// that share a run say the same thing twice, so all pairs together count as many warps as those that share none have.
func (t *noiseTable) chance(among, k, n int64) float64 {
	if t.pairs == 0 {
		return 1
	}
	apart, pairs := int64(t.runs/2), int64(t.pairs)
	return fisherUpper(k, n, (among*apart+pairs-1)/pairs, (t.compared*apart+pairs-1)/pairs)
}

func (t *noiseTable) stat(k noiseKey) *noiseStat {
	s := t.stats[k]
	if s == nil {
		s = &noiseStat{seen: make(map[uint64]struct{}), followed: make(map[noiseKey]struct{})}
		t.stats[k] = s
	}
	return s
}

// observe adds the divergences of one pair of runs. apart says that no other such pair shares a run with it.
func (t *noiseTable) observe(r *Result, names []uint64, apart bool) {
	t.pairs++
	t.compared += r.Stats.WarpsCompared
	t.largest = max(t.largest, r.Stats.WarpsCompared)
	inPair := make(map[*noiseStat]int64)
	for _, rows := range byWarp(r.Rows) {
		inWarp := make(map[*noiseStat]int64)
		here := make(map[uint64]struct{})
		var root *noiseStat
		for i := range rows {
			row := &rows[i]
			key := keyOfRow(row, names)
			s := t.stat(key)
			s.observe(row, apart)
			inWarp[s]++
			here[names[siteOfRow(row)]] = struct{}{}
			switch {
			case !row.Follows && root == nil:
				root = s
				if apart {
					root.after.n++
				}
			case root != nil:
				root.followed[key.anyway()] = struct{}{}
				if apart && inWarp[s] == 1 {
					root.after.saw(key.anyway().hash())
				}
			}
		}
		for name := range here {
			t.bySite[name]++
		}
		for s, n := range inWarp {
			s.warps++
			s.inWarp = max(s.inWarp, n)
			inPair[s]++
			s.seen[rows[0].Warp] = struct{}{}
			if apart {
				s.where.n++
				s.where.saw(rows[0].Warp)
			}
		}
	}
	for s, n := range inPair {
		s.most = max(s.most, n)
	}
}

func (s *noiseStat) observe(row *Row, apart bool) {
	s.lanes |= row.Lanes
	s.count = max(s.count, int64(row.Count), int64(row.CountB))
	if !apart || row.Lanes == 0 {
		return
	}
	s.which.n++
	for lanes, lane := row.Lanes, uint64(0); lanes != 0; lanes, lane = lanes>>1, lane+1 {
		if lanes&1 != 0 {
			s.which.saw(lane)
		}
	}
}

// anyway is the key of the same divergence, whether or not it follows.
func (k noiseKey) anyway() noiseKey {
	k.follows = false
	return k
}

func (k noiseKey) hash() uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for _, v := range [...]uint64{k.site, k.other, uint64(k.kind)} {
		h = (h ^ v) * prime
		h ^= h >> 29
	}
	return h
}

// byWarp cuts rows, which ascend by warp, into those of each warp.
func byWarp(rows []Row) [][]Row {
	var cut [][]Row
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Warp == rows[0].Warp {
			n++
		}
		cut = append(cut, rows[:n])
		rows = rows[n:]
	}
	return cut
}

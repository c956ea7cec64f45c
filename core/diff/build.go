package diff

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// DocumentOptions say how much of a result a document holds.
type DocumentOptions struct {
	Rows     *int64 // divergences listed, in the order of warps; nil: 1,000, 0: all
	Clusters *int64 // nil: 1,000, 0: all
	Sites    *int64 // nil: 1,000, 0: all
}

const defaultListed = 1000

func listed(asked *int64, have int64) int64 {
	switch {
	case asked == nil:
		return min(defaultListed, have)
	case *asked == 0:
		return have
	}
	return min(*asked, have)
}

// Document makes the document of a result. Marks that were set on rows (noise, accepted) are taken into account.
func (r *Result) Document(opt DocumentOptions) (*Document, error) {
	r.Settle()
	d := &Document{
		Schema: "prlx.diff/1", Threshold: r.Options.MaxDivergences.Total, Thresholds: r.Options.MaxDivergences.ByKind, WarpsCompared: r.Stats.WarpsCompared, WarpsDiverged: r.Stats.WarpsDiverged,
		TotalEventsA: r.Stats.EventsA, TotalEventsB: r.Stats.EventsB, DivergenceBreakdown: breakdown(r.Stats.ByKind[:]),
		A: recordingOf(r.A, r.PathA, r.Stats.WarpsA), B: recordingOf(r.B, r.PathB, r.Stats.WarpsB),
		Losses: LossesOfBoth{A: lossesOf(&r.LossesA), B: lossesOf(&r.LossesB)},
		Blocks: r.Blocks, Builds: r.Builds, Baseline: r.Baseline, Explanation: r.Why, Reruns: r.Reruns, Accepted: r.AcceptedUse, Sources: []Source{}, Options: r.Options.Settings,
		Warnings: append([]string{}, r.Warnings...),
	}
	d.CrossGPU, d.OtherShape = r.crossGPU(), r.OtherShape
	v := r.Judge()
	d.Status, d.Passed, d.TotalDivergences, d.CountedDivergences = v.Status, v.Passed, v.Total, v.Counted
	d.Coverage, d.Require, d.DivergenceBreakdown = &v.coverage, r.Options.Required(), v.ByKind
	d.Outputs, d.Findings, d.Edits, d.Given = r.outputs.document(r.Sites, &r.Options, r.Baseline != nil), r.findings.document(), editsOf(r.Changes), r.Given
	d.Clusters = make([]Cluster, 0, listed(opt.Clusters, int64(len(r.Clusters))))
	for i := range cap(d.Clusters) {
		d.Clusters = append(d.Clusters, r.clusterOf(i))
	}
	d.ClustersOmitted = r.ClustersOmitted + int64(len(r.Clusters)-len(d.Clusters))
	d.Sites = r.siteSummaries(opt)
	d.Divergences = r.listRows(opt)
	d.DivergencesOmitted = v.rows - int64(len(d.Divergences))
	if r.First >= 0 {
		first := r.divergence(&r.Rows[r.First])
		r.addDetails(&first, r.First)
		d.First = &first
	}
	d.tellFirst(r.Changes)
	d.Verdict = r.verdict(&v) + r.Blocks.unread(v.Total)
	d.Conclusion, d.Headline = r.conclude(&v, d.Verdict), HeadlineOf(d.Status, d.Passed, d.CountedDivergences, r.Options.MaxDivergences)
	return d, nil
}

// Demangled is a name as people wrote it, "" where it is that already.
func Demangled(name string) string {
	if plain := site.Readable(name); plain != name {
		return clippedWord(plain)
	}
	return ""
}

func (r *Result) listRows(opt DocumentOptions) []Divergence {
	most := listed(opt.Rows, int64(len(r.Rows)))
	if r.Options.Limit > 0 {
		most = min(most, r.Options.Limit)
	}
	list := make([]Divergence, 0, most)
	for k := range r.Rows {
		if int64(len(list)) == most {
			break
		}
		if r.Options.lists(&r.Rows[k]) {
			list = append(list, r.divergence(&r.Rows[k]))
		}
	}
	return list
}

func breakdown[T int32 | int64](by []T) map[string]int64 {
	m := map[string]int64{}
	for k, n := range by {
		if n > 0 {
			m[rowKindNames[k]] = int64(n)
		}
	}
	return m
}

func recordingOf(h *warptrace.Header, path string, warps int64) Recording {
	modes := []string{"unknown", "digest", "control-flow", "values"}
	means := []string{"unknown", "instrumented", "observed", "converted", "generated"}
	name := func(of []string, at int) string { return of[min(at, len(of))%len(of)] }
	return Recording{
		Path: path, Format: fmt.Sprintf("prlx v%d", h.Version), Kernel: h.Kernel, KernelName: Demangled(h.Kernel), ModuleHash: h.ModuleHash, Arch: h.Arch, WaveSize: h.WaveSize,
		Grid: h.Grid, Block: h.Block, Launch: h.Launch, Warps: warps, WarpSlots: h.WarpSlots, WarpsPerBlock: h.WarpsPerBlock,
		Mode: name(modes, int(h.Mode)), Means: name(means, int(h.Means)),
		Origin: h.Origin,
	}
}

func lossesOf(l *warptrace.Losses) Losses {
	out := Losses{
		Events: l.Events, Dropped: l.Dropped, WarpsWithDrops: l.WarpsWithDrops, SampleRate: max(l.SampleRate, 1), Truncated: l.Truncated,
		Notes: append([]string{}, l.Notes...),
	}
	if all := l.Events + l.Dropped; all > 0 {
		out.DroppedShare = float64(l.Dropped) / float64(all)
	}
	return out
}

func (r *Result) crossGPU() *CrossGPU {
	if !r.Options.CrossGPU {
		return nil
	}
	return &CrossGPU{
		ArchA: r.A.Arch, ArchB: r.B.Arch, WarpSizeA: uint32(r.A.WaveSize), WarpSizeB: uint32(r.B.WaveSize),
		GridA: r.A.Grid, GridB: r.B.Grid, BlockA: r.A.Block, BlockB: r.B.Block,
	}
}

// divergence spells a row.
func (r *Result) divergence(row *Row) Divergence {
	d := Divergence{
		WarpIdx: int64(row.Warp), EventIdx: int64(row.EventA), EventIdxB: int64(row.EventB), Kind: row.Kind.String(),
		Occurrence: int64(row.OccurrenceA), OccurrenceB: int64(row.OccurrenceB), Lanes: laneList(row.Lanes), Cluster: int64(row.Cluster),
		Follows: row.Follows, Noise: row.Noise, Undecided: row.Undecided, Reordered: row.Reordered, Accepted: row.Accepted,
	}
	if at := siteOfRow(row); at != None {
		s := &r.Sites[at]
		d.SiteID, d.SourceLocation, d.LocationB, d.Inside, d.SiteKind = s.Name(), s.Location(), s.locationB(), s.inside(), s.Kind.String()
		if s.Site != nil {
			d.Function = Demangled(s.Site.Shown().Function)
		}
	}
	switch row.Kind {
	case RowPath:
		d.Count, d.CountB = int64(row.Count), int64(row.CountB)
		if row.SiteB != None {
			d.SiteB, d.LocationB = r.Sites[row.SiteB].Name(), r.Sites[row.SiteB].Location()
		}
	case RowExtraEvents:
		d.Count, d.InTrace = int64(row.Count+row.CountB), "A"
		if row.CountB > 0 {
			d.InTrace = "B"
		}
	}
	typed := row.Type != warptrace.TypeNone
	if row.Count > 0 {
		dir := row.DirA
		d.DirA, d.MaskA = &dir, hexMask(row.ActiveA, r.A.WaveSize)
		if r.A.Taken {
			d.TakenA = hexMask(row.TakenA, r.A.WaveSize)
		}
		if typed {
			d.ValueA, d.BitsA = heldText(r.A, row.ValueA, row.Type), fmt.Sprintf("0x%x", row.ValueA)
		}
	}
	if row.CountB > 0 {
		dir := row.DirB
		d.DirB, d.MaskB = &dir, hexMask(row.ActiveB, r.B.WaveSize)
		if r.B.Taken {
			d.TakenB = hexMask(row.TakenB, r.B.WaveSize)
		}
		if typed {
			d.ValueB, d.BitsB = heldText(r.B, row.ValueB, row.Type), fmt.Sprintf("0x%x", row.ValueB)
		}
	}
	if typed {
		d.ValueType = row.Type.String()
	}
	return d
}

// addDetails adds operands and history to the divergence in Result.Rows at a position, when it is the first of a cluster's warps.
func (r *Result) addDetails(d *Divergence, at int32) {
	if c := r.Rows[at].Cluster; c >= 0 {
		first := &r.Clusters[c].First
		if row := &r.Rows[at]; first.EventA == row.EventA && first.EventB == row.EventB {
			r.addClusterDetails(d, &r.Clusters[c])
		}
	}
}

func (r *Result) addClusterDetails(d *Divergence, c *clusterRef) {
	d.LaneValues = c.Operands
	if c.Compare != site.NoCompare && len(c.Operands) > 0 {
		d.Compare = c.Compare.Name()
		if c.CompareB != c.Compare && c.CompareB != site.NoCompare {
			d.CompareB = c.CompareB.Name()
		}
	}
	d.History = r.context(c.around)
}

func hexMask(mask uint64, wave int) string { return fmt.Sprintf("0x%0*x", max(wave, 4)/4, mask) }

func laneList(lanes uint64) []int {
	list := make([]int, 0, bits.OnesCount64(lanes))
	for ; lanes != 0; lanes &= lanes - 1 {
		list = append(list, bits.TrailingZeros64(lanes))
	}
	return list
}

func (r *Result) clusterOf(i int) Cluster {
	c := &r.Clusters[i]
	out := Cluster{
		ID: int64(i), Warps: int64(len(c.Warps)), WarpRanges: ranges(c.Warps), Divergences: int64(c.Rows), Breakdown: breakdown(c.ByKind[:]),
		First: r.divergence(&c.First), Follows: c.Follows, Noise: c.Noise, Accepted: c.Accepted, Reordered: c.Reordered,
	}
	if c.At >= 0 { // marks are set on rows
		out.First.Noise, out.First.Undecided, out.First.Accepted = r.Rows[c.At].Noise, r.Rows[c.At].Undecided, r.Rows[c.At].Accepted
	}
	r.addClusterDetails(&out.First, c)
	perBlock, last := uint64(max(r.A.WarpsPerBlock, 1)), ^uint64(0)
	for _, w := range c.Warps {
		if w/perBlock != last {
			last = w / perBlock
			out.Blocks++
		}
	}
	return out
}

// maxRangesShown is how many ranges of warps are spelled out.
const maxRangesShown = 200

// ranges spells ascending warps, such as "0-10,15".
func ranges(warps []uint64) string {
	var b strings.Builder
	shown := 0
	for i := 0; i < len(warps); {
		k := i
		for k+1 < len(warps) && warps[k+1] == warps[k]+1 {
			k++
		}
		if shown == maxRangesShown {
			fmt.Fprintf(&b, ",... (%d more)", len(warps)-i)
			break
		}
		if shown++; shown > 1 {
			b.WriteByte(',')
		}
		if fmt.Fprintf(&b, "%d", warps[i]); k > i {
			fmt.Fprintf(&b, "-%d", warps[k])
		}
		i = k + 1
	}
	return b.String()
}

// siteOrder is what a document says of a site, while it is gathered.
type siteOrder struct {
	at     int
	seen   bool
	first  cause
	follow bool
	noise  bool
	warps  []uint64
}

// siteSummaries lists the sites that differ, in order of how early they can be a cause; with baselines first by how much more often
// they differ than equal runs do.
func (r *Result) siteSummaries(opt DocumentOptions) []SiteSummary {
	of := make([]siteOrder, len(r.Sites))
	for k := range r.Rows {
		row := &r.Rows[k]
		at := siteOfRow(row)
		if at == None || !r.Options.lists(row) {
			continue
		}
		s := &of[at]
		c := causeOf(row, r.epochs[row.Warp])
		if !s.seen || c.before(s.first, row.Follows, s.follow) < 0 {
			s.first, s.follow = c, row.Follows
		}
		s.noise = (s.noise || !s.seen) && row.Noise
		s.seen, s.at = true, int(at)
		if n := len(s.warps); n == 0 || s.warps[n-1] != row.Warp {
			s.warps = append(s.warps, row.Warp)
		}
	}
	of = slices.DeleteFunc(of, func(s siteOrder) bool { return !s.seen })
	slices.SortFunc(of, func(x, y siteOrder) int {
		return cmp.Or(
			r.Baseline.rank(x.at, y.at, x.noise, y.noise),
			cmp.Compare(truth(x.follow), truth(y.follow)), x.first.compare(y.first), cmp.Compare(x.at, y.at),
		)
	})
	all := make([]SiteSummary, 0, listed(opt.Sites, int64(len(of))))
	for i := range cap(all) {
		all = append(all, r.siteSummary(&of[i]))
	}
	return all
}

func (r *Result) siteSummary(o *siteOrder) SiteSummary {
	ref, t := &r.Sites[o.at], &r.Tallies[o.at]
	s := SiteSummary{
		SiteID: ref.Name(), SourceLocation: ref.Location(), LocationB: ref.locationB(), InTrace: ref.only(), SiteKind: ref.Kind.String(), Divergences: t.Rows, Warps: t.Warps,
		WarpRanges: ranges(o.warps), Breakdown: breakdown(t.ByKind[:]), Noise: o.noise,
	}
	if r.Stats.WarpsCompared > 0 {
		s.Rate = float64(t.Warps) / float64(r.Stats.WarpsCompared)
	}
	if r.Baseline != nil && o.at < len(r.Baseline.sites) {
		r.Baseline.sites[o.at].tell(&s)
	}
	return s
}

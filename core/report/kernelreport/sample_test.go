package kernelreport

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/verdict"
)

const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`,;%0A\r\n::error::\x00\x1b[31m\u202egnp.\u200b=cmd|'/c calc'!A1\xff\u2028"

// sample is a comparison of every kind: a cause in two warps out of 128, what follows from it, another cause of extra events,
// and noise; with sources, lanes, history, losses, a baseline and an explanation.
func sample() *diff.Document {
	recording := func(path string) diff.Recording {
		return diff.Recording{
			Path: path, Format: "prlx v2", Kernel: "masked_softmax", ModuleHash: "9f2c41d07b8e", Arch: "sm_90", WaveSize: 32,
			Grid: [3]uint32{32, 1, 1}, Block: [3]uint32{128, 1, 1}, Launch: 7, Warps: 128, WarpSlots: 128, WarpsPerBlock: 4, Mode: "values", Means: "generated",
		}
	}
	first := branch(17, 41, 0x0000fff8, 0x0000ffff)
	doc := &diff.Document{
		Schema: "prlx.diff/1", Status: "diverged", Headline: diff.HeadlineOf("diverged", false, 10, diff.Allowed{}),
		Verdict:          "The runs differ: 12 divergences in 8 of 128 warps, first at softmax.py:24 in warp 17, as far as recorded (A lost 0.20 % of its events).",
		TotalDivergences: 12, CountedDivergences: 10, WarpsCompared: 128, WarpsDiverged: 8, TotalEventsA: 52_301, TotalEventsB: 52_338,
		DivergenceBreakdown: map[string]int64{diff.KindBranch: 2, diff.KindActiveMask: 2, diff.KindValue: 4, diff.KindPath: 3, diff.KindExtraEvents: 1},
		A:                   recording("runs/good/masked_softmax_7.prlx"), B: recording("runs/bad/masked_softmax_7.prlx"),
		Losses: diff.LossesOfBoth{
			A: diff.Losses{Events: 52_301, Dropped: 105, DroppedShare: 0.002, WarpsWithDrops: 3, SampleRate: 1, Notes: []string{"3 warps kept the first 4096 events"}},
			B: diff.Losses{Events: 52_338, SampleRate: 1, Notes: []string{}},
		},
		Options:  diff.Settings{Values: true, Tolerance: "f32: 2 ulp", NaN: "equal", Ignore: []string{"*_debug"}},
		Warnings: []string{"the recordings name different modules: line numbers are those of A"},
		Sources:  []diff.Source{softmaxSource()},
	}
	var seen verdict.Evidence
	seen.Looked("warps", 128)
	seen.Looked("events", 52_338)
	doc.Conclusion = seen.Compare(true, doc.Verdict)
	follower := activeMask(17, 44)
	value := valueOf(17, 52)
	path := pathOf(64, 12)
	extra := extraOf(99, 30)
	noise := valueOf(3, 71)
	noise.SiteID, noise.SourceLocation, noise.SiteKind, noise.Follows, noise.Noise, noise.Cluster = "0x00000000a70301c0", "kernels/softmax.py:masked_softmax:32:9", "atomic", false, true, 3
	doc.First = &first
	doc.Clusters = []diff.Cluster{
		{ID: 0, Warps: 2, WarpRanges: "17-18", Blocks: 1, Divergences: 3, Breakdown: map[string]int64{"Branch": 1, "ActiveMask": 1, "Value": 1}, First: first},
		{ID: 1, Warps: 3, WarpRanges: "64-65,67", Blocks: 1, Divergences: 1, Breakdown: map[string]int64{"Path": 1}, First: path, Follows: true},
		{ID: 2, Warps: 1, WarpRanges: "99", Blocks: 1, Divergences: 1, Breakdown: map[string]int64{"ExtraEvents": 1}, First: extra},
		{ID: 3, Warps: 2, WarpRanges: "3,127", Blocks: 2, Divergences: 1, Breakdown: map[string]int64{"Value": 1}, First: noise, Noise: true},
	}
	doc.Sites = []diff.SiteSummary{
		siteOf(&first, 2, 2, "17-18", map[string]int64{"Branch": 2}),
		siteOf(&follower, 2, 2, "17-18", map[string]int64{"ActiveMask": 2}),
		siteOf(&value, 2, 2, "17-18", map[string]int64{"Value": 2}),
		siteOf(&path, 3, 3, "64-65,67", map[string]int64{"Path": 3}),
		siteOf(&extra, 1, 1, "99", map[string]int64{"ExtraEvents": 1}),
		siteOf(&noise, 2, 2, "3,127", map[string]int64{"Value": 2}),
	}
	doc.Sites[5].BaselineRate, doc.Sites[5].Noise = 0.021, true
	at := func(d diff.Divergence, warp int64) diff.Divergence { d.WarpIdx = warp; return d }
	doc.Divergences = []diff.Divergence{
		noise, first, follower, value, at(first, 18), at(follower, 18), at(value, 18), path, at(path, 65), extra, at(noise, 127),
	}
	doc.DivergencesOmitted = 1
	doc.Baseline = &diff.Baseline{RunsA: 3, RunsB: 1, Pairs: 3, NoiseSites: 1, Suppressed: 2, Undecided: []diff.Undecided{}, Paths: []string{"runs/good2", "runs/good3"}}
	doc.Explanation = explanation(&first)
	three := int64(3)
	doc.Accepted = &diff.AcceptedUse{Path: "accepted.toml", Divergences: 0, Entries: []diff.AcceptedRow{
		{Line: 4, Site: "softmax.py:31", Reason: "the debug loop runs once more", Until: "2026-10-01", Status: "expired", Matched: 1},
		{Line: 9, Site: "softmax.py:12", Reason: "ordering of warps", Status: "unused", Max: &three},
	}}
	return doc
}

func softmaxSource() diff.Source {
	text := `@triton.jit
def masked_softmax(out, inp, lens, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    length = tl.load(lens + row)
    mask = offs <= length
    if tl.max(offs, 0) < n:
        x = tl.load(inp + row * n + offs, mask=mask, other=-float("inf"))
        top = tl.max(x, axis=0)
        y = tl.exp(x - top)
        total = tl.sum(y, axis=0)
        tl.store(out + row * n + offs, y / total, mask=mask)
        for k in range(0, length):
	    tl.atomic_add(stats + k, total)   # a tab and <angles> & ampersands`
	return diff.Source{File: "kernels/softmax.py", FirstLine: 19, Lines: strings.Split(text, "\n"), Stale: true}
}

func branch(warp, event int64, takenA, takenB uint64) diff.Divergence {
	zero, one := uint8(0), uint8(1)
	d := diff.Divergence{
		WarpIdx: warp, EventIdx: event, EventIdxB: event, SiteID: "0x00000000c0ffee01", Kind: diff.KindBranch, SourceLocation: "kernels/softmax.py:masked_softmax:24:12",
		SiteKind: "branch", Occurrence: 2, OccurrenceB: 2, DirA: &zero, DirB: &one, MaskA: "0x00000000ffffffff", MaskB: "0x00000000ffffffff",
		TakenA: fmt.Sprintf("0x%016x", takenA), TakenB: fmt.Sprintf("0x%016x", takenB), Compare: "sle", ValueType: "i32",
	}
	for lane := range 32 {
		a, b := takenA>>lane&1 == 1, takenB>>lane&1 == 1
		length := "16"
		if a != b {
			length = "2"
		}
		d.LaneValues = append(d.LaneValues, diff.LaneValues{
			Lane: lane, ActiveA: true, ActiveB: true, TakenA: &a, TakenB: &b, LhsA: fmt.Sprint(lane), RhsA: length, LhsB: fmt.Sprint(lane), RhsB: "16", Differs: a != b,
		})
		if a != b {
			d.Lanes = append(d.Lanes, lane)
		}
	}
	loc := func(line int) string { return fmt.Sprintf("kernels/softmax.py:masked_softmax:%d:5", line) }
	d.History = []diff.Context{
		{EventA: event - 3, EventB: event - 3, SiteID: "0x00000000c0ffee00", Location: loc(23), SiteKind: "load", TextA: "value 16", TextB: "value 16", Mark: "="},
		{EventA: event - 2, EventB: -1, SiteID: "0x00000000c0ffee07", Location: loc(31), SiteKind: "branch", TextA: "taken 0x0000ffff of 0xffffffff", Mark: "-"},
		{EventA: event - 1, EventB: event - 1, SiteID: "0x00000000c0ffee00", Location: loc(23), SiteKind: "load", TextA: "value 2", TextB: "value 16", Mark: "!"},
		{EventA: event, EventB: event, SiteID: d.SiteID, Location: d.SourceLocation, SiteKind: "branch", TextA: "taken 0x0000fff8 of 0xffffffff", TextB: "taken 0x0000ffff of 0xffffffff", Mark: "!"},
		{EventA: -1, EventB: event + 1, SiteID: "0x00000000c0ffee02", Location: loc(26), SiteKind: "load", TextB: "value -0.25", Mark: "+"},
	}
	return d
}

func activeMask(warp, event int64) diff.Divergence {
	return diff.Divergence{
		WarpIdx: warp, EventIdx: event, EventIdxB: event + 1, SiteID: "0x00000000c0ffee02", Kind: diff.KindActiveMask, SourceLocation: "kernels/softmax.py:masked_softmax:26:13",
		SiteKind: "load", MaskA: "0x000000000000fff8", MaskB: "0x000000000000ffff", Lanes: []int{0, 1, 2}, Follows: true,
	}
}

func valueOf(warp, event int64) diff.Divergence {
	return diff.Divergence{
		WarpIdx: warp, EventIdx: event, EventIdxB: event + 1, SiteID: "0x00000000c0ffee03", Kind: diff.KindValue, SourceLocation: "kernels/softmax.py:masked_softmax:29:17",
		SiteKind: "value", MaskA: "0x00000000ffffffff", MaskB: "0x00000000ffffffff", ValueA: "1.25", ValueB: "-nan", BitsA: "0x3fa00000", BitsB: "0xffc00000", ValueType: "f32",
		Lanes: []int{0}, Follows: true,
	}
}

func pathOf(warp, event int64) diff.Divergence {
	return diff.Divergence{
		WarpIdx: warp, EventIdx: event, EventIdxB: event, SiteID: "0x00000000c0ffee04", Kind: diff.KindPath, SourceLocation: "kernels/softmax.py:masked_softmax:30:9", SiteKind: "global-store",
		SiteB: "0x00000000c0ffee05", LocationB: "kernels/softmax.py:masked_softmax:31:18", Count: 2, CountB: 5, Cluster: 1, Follows: true, Lanes: []int{},
	}
}

func extraOf(warp, event int64) diff.Divergence {
	return diff.Divergence{
		WarpIdx: warp, EventIdx: event, EventIdxB: event, SiteID: "0x00000000c0ffee07", Kind: diff.KindExtraEvents, SourceLocation: "kernels/softmax.py:masked_softmax:31:9",
		SiteKind: "branch", Count: 37, InTrace: "B", Cluster: 2, Lanes: []int{},
	}
}

func siteOf(d *diff.Divergence, n, warps int64, where string, kinds map[string]int64) diff.SiteSummary {
	return diff.SiteSummary{
		SiteID: d.SiteID, SourceLocation: d.SourceLocation, SiteKind: d.SiteKind, Divergences: n, Warps: warps, WarpRanges: where, Breakdown: kinds, Rate: float64(warps) / 128,
	}
}

func explanation(first *diff.Divergence) *diff.Explanation {
	return &diff.Explanation{
		Class: "stale-data", Confidence: "likely", Summary: "The right operand of the compare was loaded one store too early: lanes 0-2 still saw the length of the row before.",
		Chain: []diff.Link{
			{What: "compare", SiteID: first.SiteID, SourceLocation: first.SourceLocation, Text: "lane <= length: 2 in A, 16 in B", Lanes: []int{0, 1, 2}, Recorded: true},
			{What: "load", SiteID: "0x00000000c0ffee00", SourceLocation: "kernels/softmax.py:masked_softmax:23:14", Text: "length is loaded from lens + row; the value differs already here", Lanes: []int{0, 1, 2}, Recorded: true},
			{What: "argument", Text: "lens is the third argument of the kernel", Recorded: false},
		},
		Considered: []diff.Ruling{
			{Class: "stale-data", Score: 5, For: []string{"the loaded value is that of an earlier pass", "the same address in both runs"}, Against: []string{}},
			{Class: "race", Score: 2, For: []string{"only 2 of 128 warps differ"}, Against: []string{"no atomic on the way"}},
			{Class: "precision", Score: 0, For: []string{}, Against: []string{"the operands are integers"}},
		},
		Missing: []string{"which store wrote lens: record with --mode values --sites softmax.py:14"},
	}
}

// identical is a comparison that found nothing.
func identical() *diff.Document {
	doc := sample()
	return &diff.Document{
		Schema: doc.Schema, Status: "identical", Headline: diff.HeadlineOf("identical", true, 0, diff.Allowed{}), Verdict: "Nothing differs: 128 warps, 52 301 events.", Conclusion: allLooked(), WarpsCompared: 128, TotalEventsA: 52_301, TotalEventsB: 52_301,
		DivergenceBreakdown: map[string]int64{}, Passed: true, A: doc.A, B: doc.B, Clusters: []diff.Cluster{}, Sites: []diff.SiteSummary{}, Divergences: []diff.Divergence{},
		Losses: diff.LossesOfBoth{A: diff.Losses{Events: 52_301, SampleRate: 1}, B: diff.Losses{Events: 52_301, SampleRate: 1}}, Sources: []diff.Source{}, Warnings: []string{},
	}
}

// nasty is the sample with a hostile text wherever a recording has a say.
func nasty(name string) *diff.Document {
	doc := sample()
	for _, r := range []*diff.Recording{&doc.A, &doc.B} {
		r.Path, r.Kernel, r.ModuleHash, r.Arch, r.Mode, r.Means, r.Format = name, name, name, name, name, name, name
		r.Origin = &origin.Origin{Text: name, Region: name, Graph: name}
	}
	doc.Verdict, doc.Warnings, doc.Losses.A.Notes = name, []string{name}, []string{name}
	spoil := func(d *diff.Divergence) {
		d.SourceLocation, d.LocationB = name+":"+name+":24:12", name
		d.ValueA, d.ValueB, d.ValueType, d.SiteKind, d.Compare = name, name, name, name, name
		for i := range d.History {
			h := &d.History[i]
			h.Location, h.SiteKind, h.TextA, h.TextB, h.SiteID = name, name, name, name, name
		}
		for i := range d.LaneValues {
			d.LaneValues[i].LhsA, d.LaneValues[i].RhsB = name, name
		}
	}
	spoil(doc.First)
	for i := range doc.Divergences {
		spoil(&doc.Divergences[i])
	}
	for i := range doc.Clusters {
		spoil(&doc.Clusters[i].First)
		doc.Clusters[i].WarpRanges = name
	}
	for i := range doc.Sites {
		s := &doc.Sites[i]
		s.SourceLocation, s.SiteKind, s.WarpRanges = name+":"+name+":24:12", name, name
		s.Breakdown[name] = 1
	}
	doc.Sources = []diff.Source{{File: name, FirstLine: 20, Lines: []string{name, name, name, name, name, name, name}}}
	e := doc.Explanation
	e.Class, e.Confidence, e.Summary, e.Missing = name, name, name, []string{name}
	for i := range e.Chain {
		e.Chain[i].What, e.Chain[i].Text, e.Chain[i].SourceLocation = name, name, name
	}
	e.Considered[0].Class, e.Considered[0].For, e.Considered[0].Against = name, []string{name}, []string{name}
	doc.Baseline.Paths = []string{name}
	doc.Accepted.Path, doc.Accepted.Entries[0].Site, doc.Accepted.Entries[0].Reason, doc.Accepted.Entries[0].Until = name, name, name, name
	doc.Edits = &diff.Edits{
		Text: name, First: name, Constants: []diff.EditedConstant{{Name: name, A: name, B: name}},
		Functions: []diff.EditedText{{Function: name, FileA: name, FileB: name + "b", Hunks: []diff.Hunk{{A: []string{name}, B: []string{name}}}}},
	}
	doc.First.Inside = []string{name, name + ":" + name + ":1:2"}
	doc.Options.Tolerance, doc.Options.Ignore, doc.Options.SiteFilter = name, []string{name}, []string{name}
	return doc
}

// many is a comparison with n divergences in as many warps of 100 000, in 40 clusters.
func many(n int) *diff.Document {
	doc := sample()
	doc.A.WarpSlots, doc.A.Warps, doc.A.Grid, doc.B.WarpSlots = 100_000, 100_000, [3]uint32{25_000, 1, 1}, 100_000
	doc.WarpsCompared, doc.WarpsDiverged, doc.TotalDivergences, doc.CountedDivergences = 100_000, int64(n), int64(n), int64(n)
	doc.Clusters, doc.Sites, doc.Divergences, doc.DivergencesOmitted, doc.Explanation = nil, nil, nil, 0, nil
	ranges := make([][]string, 40)
	makers := []func(warp, event int64) diff.Divergence{
		func(w, e int64) diff.Divergence { return branch(w, e, 0xfff8, 0xffff) }, activeMask, valueOf, pathOf, extraOf,
	}
	for i := range n {
		warp := int64(i) * 7 % 100_000
		c := (i*i/91 + i/700) % 40
		d := makers[c%5](warp, int64(i%900))
		d.LaneValues, d.History, d.Cluster, d.Follows = nil, nil, int64(c), c%3 == 1
		d.SourceLocation = fmt.Sprintf("kernels/softmax.py:masked_softmax:%d:%d", 20+c/2, 5+c%2)
		d.SiteID = fmt.Sprintf("0x%016x", 0xc0ffee00+c)
		doc.Divergences = append(doc.Divergences, d)
		ranges[c] = append(ranges[c], fmt.Sprint(warp))
	}
	for c, list := range ranges {
		if len(list) == 0 {
			continue
		}
		d := makers[c%5](int64(c)*7, 30)
		d.SourceLocation, d.SiteID, d.Cluster, d.Follows = fmt.Sprintf("kernels/softmax.py:masked_softmax:%d:%d", 20+c/2, 5+c%2), fmt.Sprintf("0x%016x", 0xc0ffee00+c), int64(c), c%3 == 1
		where, size := strings.Join(list, ","), int64(len(list))
		doc.Clusters = append(doc.Clusters, diff.Cluster{
			ID: int64(c), Warps: size, WarpRanges: where, Blocks: size, Divergences: 1, Breakdown: map[string]int64{d.Kind: 1}, First: d, Follows: d.Follows,
		})
		one := siteOf(&d, size, size, where, map[string]int64{d.Kind: size})
		one.Rate = float64(size) / 100_000
		doc.Sites = append(doc.Sites, one)
	}
	return doc
}

// bare is the sample as recordings of v1 without a site map tell it: no places, no sources, no lanes, no history.
func bare() *diff.Document {
	doc := sample()
	doc.Sources, doc.Explanation, doc.Baseline, doc.Accepted = nil, nil, nil, nil
	strip := func(d *diff.Divergence) {
		d.SourceLocation, d.LocationB, d.LaneValues, d.History, d.Lanes, d.TakenA, d.TakenB, d.SiteID = "", "", nil, nil, nil, "", "", "0x"+d.SiteID[10:]
		if d.SiteB != "" {
			d.SiteB = "0x" + d.SiteB[10:]
		}
	}
	strip(doc.First)
	for i := range doc.Divergences {
		strip(&doc.Divergences[i])
	}
	for i := range doc.Clusters {
		strip(&doc.Clusters[i].First)
	}
	for i := range doc.Sites {
		doc.Sites[i].SourceLocation, doc.Sites[i].SiteID = "", "0x"+doc.Sites[i].SiteID[10:]
	}
	for _, r := range []*diff.Recording{&doc.A, &doc.B} {
		r.Format, r.ModuleHash, r.Mode, r.Means = "prlx v1", "", "unknown", "unknown"
	}
	return doc
}

// allLooked is the conclusion of a comparison that found nothing.
func allLooked() verdict.Verdict {
	var seen verdict.Evidence
	seen.Looked("warps", 128)
	return seen.Compare(false, "nothing differs")
}

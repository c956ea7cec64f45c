package report

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// Pictures stand alone, too.
var (
	kit              = webpage.NewKit(assets, "colours.css", "picture.css", "page.css")
	pageTemplate     = kit.Template("page.html")
	pageScript       = kit.Script("page.js")
	validateTemplate = kit.Template("validate.html")
	pictureStyle     = sync.OnceValue(func() string {
		return webpage.Unindented(webpage.Asset(assets, "colours.css") + webpage.Asset(assets, "picture.css"))
	})
)

// pageHead is what every page begins with.
type pageHead struct {
	webpage.Head
	What, Said         string // what was done or looked at, and what became of it
	Status, StatusText string // the colour of that, and what it means

	Conclusion verdict.Verdict
}

// page is what the template shows.
type page struct {
	pageHead
	Data            template.JS
	Sentences       []string
	Tiles           []webpage.Tile
	Picture         template.HTML
	PictureNote     string
	Rows            []row
	RowsLeftOut     string
	Charts          []card
	ChartsNote      string
	Outputs         []output
	Open            []way
	Late            *lateSection
	Warnings, Notes []string
	Zero            string
	Reference       string
	Timebase        string
}

type row struct {
	ID, Host, Rank, Method, Offset, Drift, P50, P99, Max, Coverage, Low, High, Events, Corrected string
	Clamped, Extrapolated, InStep, Steps, Warnings                                               string
	Alarm                                                                                        bool
	IsReference                                                                                  bool
}

type card struct {
	ID, Host, Line string
	Chart          template.HTML
}

type output struct{ Path, Format, Size, SHA256 string }

type way struct{ Where, Text, Command string }

func newPage(in *CombineReport) *page {
	doc := in.Doc
	p := &page{
		pageHead: pageHead{
			Status: foreign.Clean(doc.Status, 40), StatusText: combine.StatusMeaning(doc.Status), Conclusion: foreign.Verdict(doc.Conclusion),
		},
		Reference: foreign.Clean(doc.Reference, 80), Timebase: foreign.Clean(doc.Timebase, 20),
		Zero: fmt.Sprintf("%d", doc.ZeroNS),
	}
	p.What, p.Said, _ = strings.Cut(foreign.Clean(doc.Verdict, 200), ": ")
	p.Head = kit.Head(p.What+": "+p.Said, pageScript())
	p.headline(in)
	p.picture(in)
	for k := range doc.Nodes[:min(len(doc.Nodes), maxRows)] {
		p.Rows = append(p.Rows, newRow(&doc.Nodes[k], doc.Reference))
	}
	if n := len(doc.Nodes) - maxRows; n > 0 {
		p.RowsLeftOut = figure.Plural(n, "more node is", "more nodes are") + " in the JSON document beside the output."
	}
	p.Late = newLate(in)
	p.charts(in)
	for _, o := range doc.Outputs {
		p.Outputs = append(p.Outputs, output{foreign.Clean(o.Path, 200), foreign.Clean(o.Format, 40), size(o.Bytes), foreign.Clean(o.SHA256, 64)})
	}
	p.Open = openings(in)
	p.Warnings = bounded(allWarnings(doc), "warnings")
	p.Notes = bounded(doc.Notes, "notes")
	return p
}

func bounded(list []string, what string) []string {
	var out []string
	for _, s := range list[:min(len(list), maxNotes)] {
		out = append(out, foreign.Clean(s, 600))
	}
	if n := len(list) - maxNotes; n > 0 {
		out = append(out, fmt.Sprintf("%s more %s are in the JSON document beside the output.", figure.Count(n), what))
	}
	return out
}

func allWarnings(doc *combine.Document) []string {
	out := slices.Clone(doc.Warnings)
	for k := range doc.Nodes {
		for _, w := range doc.Nodes[k].Warnings {
			out = append(out, doc.Nodes[k].ID+": "+w)
		}
	}
	return out
}

// headline says in one breath what was found, and in tiles how well.
func (p *page) headline(in *CombineReport) {
	doc := in.Doc
	low, high, bound, p99, p50, worst, events, guessed := int64(0), int64(0), int64(0), int64(0), int64(0), "", int64(0), 0
	for k := range doc.Nodes {
		n := &doc.Nodes[k]
		events += n.Events
		if !known(n, doc.Reference) {
			guessed++
			continue
		}
		low, high = min(low, n.OffsetNS), max(high, n.OffsetNS)
		p99, p50 = max(p99, n.BoundNS.P99), max(p50, n.BoundNS.P50)
		if n.BoundNS.Max > bound {
			bound, worst = n.BoundNS.Max, n.ID
		}
	}
	unaligned := doc.Status == combine.StatusUnaligned
	if unaligned {
		p.Sentences = append(p.Sentences, "The traces were merged as recorded: each node's times are on its own clock.")
	} else {
		s := fmt.Sprintf("The clocks differed by up to %s.", duration(high-low))
		if len(doc.Nodes) == 1 {
			s = "One trace was put on the clock of " + p.Reference + "."
		}
		whose := "every event"
		if guessed > 0 {
			whose = "every event of the nodes whose clocks are known"
		}
		within := [3]string{"off by at most %s.", "99 %% of any node's events are off by at most %s.", "Half of them are off by at most %s."}
		if doc.Outside != nil { // there the bound is no limit
			within = [3]string{"with a bound of up to %s, which is assumed outside of the clock readings.", "99 %% of any node's events have a bound of %s or less.", "Half of them have one of %s or less."}
		}
		p.Sentences = append(p.Sentences, s+fmt.Sprintf(" Now %s stands on the clock of %s, "+within[0], whose, p.Reference, duration(bound)))
		if p99 < bound/2 || p50 < p99/2 {
			p.Sentences = append(p.Sentences, fmt.Sprintf(within[1], duration(p99)))
		}
		if p50 < p99/2 {
			p.Sentences = append(p.Sentences, fmt.Sprintf(within[2], duration(p50)))
		}
		if guessed > 0 {
			p.Sentences = append(p.Sentences, fmt.Sprintf("Nothing is known about the clocks of %s: their times may be off by any amount.", figure.Plural(guessed, "node", "nodes")))
		}
	}
	p.Sentences = append(p.Sentences, bounded(doc.Limits(), "sentences")...)
	p.Tiles = append(p.Tiles, webpage.Tile{Label: "nodes", Value: figure.Count(len(doc.Nodes)), Detail: figure.Count(events) + " events"})
	if c := doc.Collectives; c != nil && c.Groups > 0 {
		t := webpage.Tile{Label: "impossible collectives", From: figure.Count(c.Before.Violated), Value: figure.Count(c.After.Violated), Detail: "of " + figure.Count(c.Groups) + " matched", Class: "good"}
		if c.After.Undecidable > 0 {
			t.Detail += ", " + figure.Count(c.After.Undecidable) + " undecidable"
		}
		if c.Unmatched > 0 {
			t.Detail += ", " + figure.Count(c.Unmatched) + " unmatched"
		}
		if c.After.Violated > 0 {
			t.Class = "bad"
		}
		p.Tiles = append(p.Tiles, t)
		p.Sentences = append(p.Sentences, collectiveSentence(c))
	} else {
		p.Tiles = append(p.Tiles, webpage.Tile{Label: "impossible collectives", Value: "–", Detail: "none could be matched"})
	}
	if unaligned {
		return
	}
	t := webpage.Tile{Label: "largest error bound", Value: duration(bound)}
	if worst != "" {
		t.Detail = "on " + foreign.Clean(worst, 40)
	}
	if p99 < bound/2 {
		t.Detail += ", 99 % within " + duration(p99)
	}
	if p50 < p99/2 {
		t.Detail += ", half within " + duration(p50)
	}
	if guessed > 0 {
		t.Detail, t.Class = "unknown for "+figure.Plural(guessed, "node", "nodes"), "bad"
	}
	p.Tiles = append(p.Tiles, t, webpage.Tile{Label: "clocks apart by", Value: duration(high - low), Detail: "before, at mid-trace"})
}

func collectiveSentence(c *combine.Collectives) string {
	was := fmt.Sprintf("Of %s, %s ended on one node before another node had begun it", figure.Plural(c.Groups, "collective", "collectives"), figure.Count(c.Before.Violated))
	switch {
	case c.Before.Violated == 0 && c.After.Violated == 0 && c.After.Undecidable == 0:
		return fmt.Sprintf("All of %s happen in a possible order, before and after.", figure.Plural(c.Groups, "collective", "collectives"))
	case c.After.Violated == 0 && c.After.Undecidable > 0:
		return was + fmt.Sprintf("; none certainly does now, %s cannot be decided within the bounds.", figure.Count(c.After.Undecidable))
	case c.After.Violated == 0:
		return was + "; none does now."
	}
	return was + fmt.Sprintf("; %s still do.", figure.Count(c.After.Violated))
}

// picture prepares the static picture and the data with which the script moves through it.
func (p *page) picture(in *CombineReport) {
	if len(in.Groups) == 0 {
		return
	}
	from, to := opening(in.Groups)
	groups := in.Groups[from:to]
	all := in.lanes(in.Groups, math.MaxInt)
	lanes := all[:min(len(all), maxLanes)]
	var d drawing
	height := in.picture(&d, groups, lanes, 0)
	p.Picture = template.HTML(fmt.Sprintf(`<svg id="picture" viewBox="0 0 %s %s" role="img" aria-label="collectives before and after alignment">%s</svg>`, num(pictureWidth), num(height), d.b.String()))
	if total := in.total(); total > len(in.Groups) {
		stretches := in.Groups[len(in.Groups)-1].Stretch + 1
		p.PictureNote = fmt.Sprintf("%s of %s matched collectives are on this page: %s of successive ones, spread over the run.", figure.Count(len(in.Groups)), figure.Count(total), figure.Plural(stretches, "stretch", "stretches"))
	}
	p.Data = template.JS(in.data(from, to, all))
}

// pictureData is what the script reads.
type pictureData struct {
	Nodes    []string   `json:"nodes"`
	Lanes    []int      `json:"lanes"`
	Keys     []string   `json:"keys"`
	Words    []string   `json:"words"`
	Classes  []string   `json:"classes"`
	Titles   [2]string  `json:"titles"`
	Verdicts [2]string  `json:"verdicts"`
	Bad      [2]bool    `json:"bad"`
	From     int        `json:"from"`
	To       int        `json:"to"`
	MaxLanes int        `json:"maxLanes"`
	Geometry [8]float64 `json:"geometry"`
	Groups   [][]int64  `json:"groups"` // key, occurrence, before, after, stretch, then node and four times a span
}

func (in *CombineReport) data(from, to int, lanes []int) []byte {
	d := pictureData{
		Lanes: lanes, From: from, To: to, MaxLanes: maxLanes, Titles: [2]string{beforeSide.title, afterSide.title},
		Geometry: [8]float64{pictureWidth, laneLabel, laneRight, lanePitch, barHeight, panelHead, panelFoot, 18},
		Groups:   make([][]int64, 0, len(in.Groups)), Nodes: []string{}, Keys: []string{},
	}
	d.Verdicts[0], d.Verdicts[1], d.Bad[0], d.Bad[1] = in.verdicts()
	for k := range in.Doc.Nodes {
		d.Nodes = append(d.Nodes, foreign.Clean(in.Doc.Nodes[k].ID, 60))
	}
	for j := range 3 {
		d.Words, d.Classes = append(d.Words, word(judgementOf(j))), append(d.Classes, class(judgementOf(j)))
	}
	index := map[string]int{}
	for i := range in.Groups {
		g := &in.Groups[i]
		key := foreign.Clean(g.Key, 120)
		k, ok := index[key]
		if !ok {
			k = len(d.Keys)
			index[key] = k
			d.Keys = append(d.Keys, key)
		}
		row := []int64{int64(k), int64(g.Occurrence), int64(g.Before), int64(g.After), int64(g.Stretch)}
		for _, s := range g.Spans {
			if s.Node >= 0 && s.Node < len(in.Doc.Nodes) {
				row = append(row, int64(s.Node), s.BeforeStartNS, s.BeforeEndNS, s.AfterStartNS, s.AfterEndNS)
			}
		}
		d.Groups = append(d.Groups, row)
	}
	b, err := json.Marshal(d) // escapes <, > and &
	if err != nil {
		panic(err) // strings and integers only
	}
	return b
}

// known reports whether anything is known about the clock of a node; the reference's is right by definition.
func known(n *combine.NodeResult, reference string) bool {
	return n.ID == reference || !n.BoundNS.Unknown && n.Method != combine.MethodNone && n.Method != combine.MethodWall
}

func newRow(n *combine.NodeResult, reference string) row {
	r := row{
		ID: foreign.Clean(n.ID, 60), Host: foreign.Clean(n.Host, 60), Method: foreign.Clean(n.Method, 20), IsReference: n.ID == reference,
		Offset: withSign(n.OffsetNS), Drift: ppm(n.DriftPPM), P50: duration(n.BoundNS.P50), P99: duration(n.BoundNS.P99), Max: duration(n.BoundNS.Max),
		Coverage: percent(n.Coverage), Low: withSign(n.MinCorrectionNS), High: withSign(n.MaxCorrectionNS), Events: figure.Count(n.Events), Corrected: figure.Count(n.EventsCorrected),
		Clamped: figure.Count(n.EventsClamped), Extrapolated: figure.Count(n.SnapshotExtrapolations + n.OffsetExtrapolations), InStep: figure.Count(n.EventsInStep),
		Steps: figure.Count(len(n.Steps)), Warnings: figure.Count(len(n.Warnings)),
		Alarm: n.Coverage < 1 || n.EventsClamped > 0 || n.EventsInStep > 0 || len(n.Steps) > 0,
	}
	if n.Rank != nil {
		r.Rank = figure.Count(*n.Rank)
	}
	if !known(n, reference) {
		r.Offset, r.Drift, r.P50, r.P99, r.Max = "–", "–", "–", "–", "–"
	}
	if n.Host == n.ID {
		r.Host = ""
	}
	return r
}

func (p *page) charts(in *CombineReport) {
	curves := map[string]curve{}
	for _, c := range in.Curves {
		curves[c.Node] = c
	}
	var nodes []int
	for k := range in.Doc.Nodes {
		if c := curves[in.Doc.Nodes[k].ID]; len(c.Points) > 1 {
			nodes = append(nodes, k)
		}
	}
	if len(nodes) > maxCharts {
		p.ChartsNote = fmt.Sprintf("%d of %d nodes are drawn: those with the largest error bounds.", maxCharts, len(nodes))
		slices.SortStableFunc(nodes, func(a, b int) int {
			switch x, y := in.Doc.Nodes[a].BoundNS.Max, in.Doc.Nodes[b].BoundNS.Max; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		nodes = nodes[:maxCharts]
		slices.Sort(nodes)
	}
	var untouched []string
	for _, k := range nodes {
		n := &in.Doc.Nodes[k]
		c := card{ID: foreign.Clean(n.ID, 60)}
		if n.ID != n.Host {
			c.Host = foreign.Clean(n.Host, 60)
		}
		curve := curves[n.ID]
		if flat(curve) {
			untouched = append(untouched, c.ID)
			continue
		}
		c.Line = "nothing is known about this clock"
		if known(n, in.Doc.Reference) {
			c.Line = fmt.Sprintf("offset %s, drift %s, bound %s", withSign(n.OffsetNS), ppm(n.DriftPPM), duration(n.BoundNS.Max))
		}
		c.Chart = chart(curve, n, in.Doc.ZeroNS)
		p.Charts = append(p.Charts, c)
	}
	if len(untouched) > 0 {
		p.ChartsNote += " Times left as they are: " + strings.Join(untouched, ", ") + "."
	}
}

// openings are the ways to open the output, with commands where there are some.
func openings(in *CombineReport) []way {
	if len(in.Doc.Outputs) == 0 {
		return nil
	}
	target := in.Output
	if target == "" && len(in.Doc.Outputs) == 1 {
		target = in.Doc.Outputs[0].Path
	}
	target = strings.TrimSuffix(foreign.Clean(target, 400), "/")
	switch {
	case in.Doc.Outputs[0].Format == string(combine.FormatChrome):
		return []way{
			{Where: "Perfetto", Text: "Open https://ui.perfetto.dev and drop the file on the page. It is read in the browser and sent nowhere.", Command: target},
			{Where: "Chrome", Text: "Open chrome://tracing and load the file.", Command: target},
		}
	case strings.HasSuffix(target, ".pb"):
		return []way{
			{Where: "XProf", Text: "It opens directories: give the file one of its own, then choose trace_viewer@.", Command: "mkdir -p view/plugins/profile/run && cp " + shellQuote(target) + " view/plugins/profile/run/\nxprof --logdir view"},
			{Where: "TensorBoard", Text: "The same directory, with the profile plugin installed.", Command: "tensorboard --logdir view"},
			{Where: "Python", Text: "With JAX.", Command: "from jax.profiler import ProfileData\nProfileData.from_file(" + pythonQuote(target) + ")"},
			perfettoInstead,
		}
	}
	if target == "" {
		target = "."
	}
	return []way{
		{Where: "XProf", Text: "It looks for runs under plugins/profile; every node is a host of the run.", Command: "mkdir -p view/plugins/profile/run && cp -r " + shellQuote(target) + "/. view/plugins/profile/run\nxprof --logdir view"},
		{Where: "TensorBoard", Text: "The same directory, with the profile plugin installed.", Command: "tensorboard --logdir view"},
		{Where: "Python", Text: "With JAX, node by node.", Command: "from jax.profiler import ProfileData\nProfileData.from_file(" + pythonQuote(path.Join(target, foreign.Clean(in.Doc.Outputs[0].Path, 200))) + ")"},
		perfettoInstead,
	}
}

var perfettoInstead = way{Where: "Perfetto", Text: "It reads JSON, not XSpace. Combine the same inputs once more into JSON and drop the file on https://ui.perfetto.dev.", Command: "prlx combine ... --format chrome -o all.json.gz"}

// pythonQuote quotes text for Python. JSON strings are Python strings but for their escapes of HTML.
func pythonQuote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}

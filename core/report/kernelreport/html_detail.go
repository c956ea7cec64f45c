package kernelreport

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
	"unicode"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/report/figure"
)

// detail is everything that the page shows of one divergence.
type detail struct {
	Kind, Place, Function, File, SiteID, SiteKind string
	What, Where, Role                             string
	Listed                                        bool // the site is in the table of sites
	Cluster                                       int64
	Warp                                          int64
	PlaceB, Inside                                string // the place in B where it is another one; lines of libraries within
	Sources                                       []listing
	Facts                                         []comparison
	Bands                                         []band
	Differing                                     string
	LaneRows                                      []laneRow
	Compare                                       string
	History                                       []historyRow
	HistoryLeftOut                                string
}

// sourceRow is one line of source; where Here, the part at the column is Mark.
type sourceRow struct {
	Number       int
	Before, Mark string
	After        string
	Here         bool
}

// band is up to 32 lanes of both sides.
type band struct{ Lanes []laneCell }

type laneCell struct {
	Lane    int
	A, B    string // "taken", "not", "active", "idle", "unknown"
	Title   string
	Differs bool
	Tick    bool // a number stands below
}

type laneRow struct {
	Lane                         int
	A, LhsA, RhsA, B, LhsB, RhsB string
	Sign, SignB                  string // how each side compares
	Differs                      bool
}

type historyRow struct{ EventA, A, Mark, Class, Place, SiteKind, B, EventB string }

const (
	maxHistory    = 200
	sourceAround  = 8   // lines before and after the marked one
	maxSourceLine = 240 // characters
)

func newDetail(d *diff.Divergence, doc *diff.Document) *detail {
	p := placeOf(d.SourceLocation)
	out := &detail{
		Kind: clean(d.Kind, 40), Place: clean(siteName(d.SiteID, d.SourceLocation), maxName), Function: clean(site.Readable(p.Function), maxName), File: clean(p.File, maxName),
		SiteID: clean(d.SiteID, 40), SiteKind: clean(d.SiteKind, 40), What: what(d), Where: where(d, doc), Role: roleNote(roleOf(d)), Cluster: d.Cluster, Warp: d.WarpIdx,
		Listed: listed(doc, d.SiteID), Facts: facts(d), Compare: compareSign(d.Compare),
	}
	if p.Line == 0 {
		out.Function = ""
	}
	places := placesOf(d)
	if out.PlaceB = clean(places.b.short(), maxName); places.b.Line == 0 || d.SiteB != "" {
		out.PlaceB = ""
	}
	out.Sources, out.Inside = listings(doc, places), insideText(d.Inside)
	out.lanes(d, waveSize(doc))
	for i := range d.History[:min(len(d.History), maxHistory)] {
		out.History = append(out.History, newHistoryRow(&d.History[i]))
	}
	if n := len(d.History) - maxHistory; n > 0 {
		out.HistoryLeftOut = figure.Plural(n, "more event is", "more events are") + " in the JSON document."
	}
	return out
}

// roleNote is the role where it is worth a word.
func roleNote(r role) string {
	if r == cause {
		return ""
	}
	return r.String()
}

// waveSize is how many lanes pictures show.
func waveSize(doc *diff.Document) int {
	if max(doc.A.WaveSize, doc.B.WaveSize) > 32 {
		return 64
	}
	return 32
}

func facts(d *diff.Divergence) []comparison {
	var out []comparison
	add := func(label, a, b string) {
		if a != "" || b != "" {
			out = append(out, comparison{label, a, b, a != b})
		}
	}
	if decides(d.SiteKind) && (d.DirA != nil || d.DirB != nil) {
		add("decision", decision(d.DirA), decision(d.DirB))
	}
	add("active lanes", maskText(d.MaskA), maskText(d.MaskB))
	if decides(d.SiteKind) || d.TakenA != d.TakenB {
		add("taken lanes", maskText(d.TakenA), maskText(d.TakenB))
	}
	if d.ValueA != "" || d.ValueB != "" || d.BitsA != "" || d.BitsB != "" {
		add("value", value(d.ValueA, d.BitsA, d.ValueType), value(d.ValueB, d.BitsB, d.ValueType))
		add("bits", clean(d.BitsA, 40), clean(d.BitsB, 40))
	}
	switch d.Kind {
	case diff.KindExtraEvents:
		n := figure.Plural(d.Count, "event", "events")
		switch d.InTrace {
		case "A":
			add("events here", n, "none")
		case "B":
			add("events here", "none", n)
		}
	case diff.KindPath:
		add("goes on at", clean(siteName(d.SiteID, d.SourceLocation), maxName), clean(siteName(d.SiteB, d.LocationB), maxName))
		add("events until they meet", figure.Count(d.Count), figure.Count(d.CountB))
	}
	add("event", figure.Count(d.EventIdx), figure.Count(d.EventIdxB))
	add("pass of the site", ordinal(d.Occurrence+1), ordinal(d.OccurrenceB+1))
	return out
}

func decision(dir *uint8) string {
	switch {
	case dir == nil:
		return "unknown"
	case *dir == 0:
		return "not taken"
	case *dir == 1:
		return "taken"
	}
	return fmt.Sprintf("case %d", *dir)
}

func maskText(mask string) string {
	m, ok := maskOf(mask)
	if !ok {
		return clean(mask, 40)
	}
	if m <= 1<<32-1 {
		return fmt.Sprintf("0x%08x (%d)", m, bits.OnesCount64(m))
	}
	return fmt.Sprintf("0x%016x (%d)", m, bits.OnesCount64(m))
}

// codeText makes a line of source fit for a page; tabs are four columns wide.
func codeText(line string) string { return clean(expand(line), maxSourceLine) }

func expand(line string) string {
	return strings.ReplaceAll(strings.TrimRight(line, " \t\r\n"), "\t", "    ")
}

// atColumn cuts a line at a column (in bytes, from 1, as compilers count) into what is before, the token there, and the rest.
func atColumn(line string, column int) (before, mark, after string) {
	line = strings.TrimRight(line, " \t\r\n")
	at := column - 1
	if at < 0 || at >= len(line) || at > 4*maxSourceLine {
		return codeText(line), "", ""
	}
	end := at
	for end < len(line) && (line[end] == '_' || line[end] == '.' || line[end] >= 0x80 || unicode.IsLetter(rune(line[end])) || unicode.IsDigit(rune(line[end]))) {
		end++
	}
	if end == at {
		end++
	}
	return clean(strings.ReplaceAll(line[:at], "\t", "    "), maxSourceLine), clean(strings.ReplaceAll(line[at:end], "\t", " "), 80), clean(strings.ReplaceAll(line[end:], "\t", "    "), maxSourceLine)
}

// lanes fills in the grid and the table. The grid comes from the values of lanes where there are any, else from the masks.
func (out *detail) lanes(d *diff.Divergence, wave int) {
	cells := lanesByMask(d, wave)
	if len(d.LaneValues) > 0 {
		if cells == nil {
			cells = make([]laneCell, wave)
			for i := range cells {
				cells[i] = laneCell{Lane: i, A: "unknown", B: "unknown"}
			}
		}
		for i := range d.LaneValues[:min(len(d.LaneValues), maxLanes)] {
			v := d.LaneValues[i]
			if !decides(d.SiteKind) && d.TakenA == d.TakenB {
				v.TakenA, v.TakenB = nil, nil
			}
			if v.Lane >= 0 && v.Lane < len(cells) {
				cells[v.Lane].A, cells[v.Lane].B, cells[v.Lane].Differs = laneState(v.ActiveA, v.TakenA), laneState(v.ActiveB, v.TakenB), v.Differs
			}
			out.LaneRows = append(out.LaneRows, laneRow{
				v.Lane, stateText(laneState(v.ActiveA, v.TakenA)), clean(v.LhsA, 80), clean(v.RhsA, 80), stateText(laneState(v.ActiveB, v.TakenB)), clean(v.LhsB, 80), clean(v.RhsB, 80),
				out.Compare, compareSign(cmp.Or(d.CompareB, d.Compare)), v.Differs,
			})
		}
	}
	var differing []int
	for i := range cells {
		c := &cells[i]
		if c.Differs {
			differing = append(differing, c.Lane)
		}
		c.Tick = c.Lane%8 == 0 || c.Lane%32 == 31
		c.Title = fmt.Sprintf("lane %d: A %s, B %s", c.Lane, stateText(c.A), stateText(c.B))
	}
	for i := range out.LaneRows {
		r := &out.LaneRows[i]
		if r.Lane >= 0 && r.Lane < len(cells) && r.LhsA+r.RhsA+r.LhsB+r.RhsB != "" {
			cells[r.Lane].Title = fmt.Sprintf("lane %d\nA: %s %s %s, %s\nB: %s %s %s, %s", r.Lane, r.LhsA, r.Sign, r.RhsA, r.A, r.LhsB, r.SignB, r.RhsB, r.B)
		}
	}
	if len(differing) == 0 && len(d.LaneValues) == 0 {
		return // all lanes alike: the table of masks says as much
	}
	out.Differing = ranges(differing)
	for len(cells) > 0 {
		n := min(32, len(cells))
		out.Bands = append(out.Bands, band{cells[:n]})
		cells = cells[n:]
	}
}

// lanesByMask is the grid as the masks tell it, nil when there are none.
func lanesByMask(d *diff.Divergence, wave int) []laneCell {
	activeA, okA := maskOf(d.MaskA)
	activeB, okB := maskOf(d.MaskB)
	if !okA && !okB {
		return nil
	}
	takenA, hasA := maskOf(d.TakenA)
	takenB, hasB := maskOf(d.TakenB)
	if !decides(d.SiteKind) && takenA == takenB {
		hasA, hasB = false, false
	}
	if bits.Len64(activeA|activeB) > wave {
		wave = maxLanes
	}
	listed := map[int]bool{}
	for _, l := range d.Lanes[:min(len(d.Lanes), maxLanes)] {
		listed[l] = true
	}
	cells := make([]laneCell, wave)
	for i := range cells {
		c := laneCell{Lane: i, A: maskState(activeA, okA, takenA, hasA, i), B: maskState(activeB, okB, takenB, hasB, i)}
		c.Differs = listed[i] || okA && okB && c.A != c.B
		cells[i] = c
	}
	return cells
}

func maskState(active uint64, known bool, taken uint64, hasTaken bool, lane int) string {
	switch {
	case !known:
		return "unknown"
	case active>>lane&1 == 0:
		return "idle"
	case !hasTaken:
		return "active"
	case taken>>lane&1 == 1:
		return "taken"
	}
	return "not"
}

func stateText(state string) string {
	if state == "not" {
		return "not taken"
	}
	return state
}

// compareSign is a compare as people write it; the compiler's name where there is no sign.
func compareSign(name string) string {
	signs := map[string]string{"eq": "==", "ne": "≠", "gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
	short := name
	if len(name) == 3 && strings.ContainsRune("suo", rune(name[0])) {
		short = name[1:]
	}
	if s, ok := signs[short]; ok {
		return s
	}
	if name == "" {
		return "·"
	}
	return clean(name, 20)
}

var marks = map[string][2]string{"=": {"=", "same"}, "!": {"≠", "differs"}, "-": {"A", "only-a"}, "+": {"B", "only-b"}}

func newHistoryRow(c *diff.Context) historyRow {
	r := historyRow{
		EventA: eventText(c.EventA), EventB: eventText(c.EventB), A: clean(c.TextA, 200), B: clean(c.TextB, 200),
		Place: clean(siteName(c.SiteID, c.Location), maxName), SiteKind: clean(c.SiteKind, 40), Mark: "?", Class: "same",
	}
	if m, ok := marks[c.Mark]; ok {
		r.Mark, r.Class = m[0], m[1]
	}
	return r
}

func eventText(event int64) string {
	if event < 0 {
		return ""
	}
	return figure.Count(event)
}

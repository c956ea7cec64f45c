package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/verdict"
)

// compareSchema is the schema of CompareDocument.
const compareSchema = "prlx.combine-compare/1"

// The values of CompareDocument.Status and ComparedNode.Status.
const (
	compareAgree        = "agree"        // at no instant do both exclude the other's clock
	compareContradict   = "contradict"   // at some instant what one allows the other excludes
	compareInconclusive = "inconclusive" // there was nothing to compare, or, of documents, not every clock could be
	compareReference    = "reference"    // of a node: all clocks are compared with it
)

// CompareRequest is what a comparison of two alignments is asked for.
type CompareRequest struct {
	A string `json:"a"` // alignment.json, or the run directory that holds it
	B string `json:"b"`
}

// CompareDocument is prlx.combine-compare/1: how the clocks of two alignments of the same traces differ.
type CompareDocument struct {
	Schema     string          `json:"schema"`
	Status     string          `json:"status"` // agree, contradict, inconclusive
	Conclusion verdict.Verdict `json:"conclusion"`
	Verdict    string          `json:"verdict"`
	Reference  string          `json:"reference"`
	A          ComparedSide    `json:"a"`
	B          ComparedSide    `json:"b"`
	Nodes      []ComparedNode  `json:"nodes"`
	OnlyA      []string        `json:"only_a"` // nodes that the other document lacks
	OnlyB      []string        `json:"only_b"`
	Warnings   []string        `json:"warnings"`
}

// ComparedSide is one of the two documents.
type ComparedSide struct {
	Path   string `json:"path"`
	Status string `json:"status"`
	Nodes  int    `json:"nodes"`
}

// ComparedNode is how the two clocks of a node differ, at the instants of its own clock that both documents state. A difference is that of B
// less that of A.
type ComparedNode struct {
	ID         string        `json:"id"`
	Status     string        `json:"status"` // agree, contradict, inconclusive, reference
	Why        string        `json:"why"`    // of what is inconclusive
	A          ComparedClock `json:"a"`
	B          ComparedClock `json:"b"`
	Instants   int           `json:"instants"`
	ApartNS    *Spread       `json:"apart_ns"`    // how far the offsets are apart; null: no instant was compared
	DriftPPM   *float64      `json:"drift_ppm"`   // how much more B's clock of the node gains
	Worst      *Apart        `json:"worst"`       // where the two are apart most, beyond what both allow or nearest to it
	Disjoint   int           `json:"disjoint"`    // instants at which the intervals have nothing in common
	DisjointNS []int64       `json:"disjoint_ns"` // the first and the last of these
}

// ComparedClock is what one document says of a node's clock.
type ComparedClock struct {
	Method   string  `json:"method"`
	OffsetNS int64   `json:"offset_ns"`
	DriftPPM float64 `json:"drift_ppm"`
	BoundNS  *int64  `json:"bound_ns"` // the median over the instants that are compared
}

// Spread is a median and the largest, in size.
type Spread struct {
	P50 int64 `json:"p50"`
	Max int64 `json:"max"`
}

// Apart is how far two statements of a clock lie apart at an instant.
type Apart struct {
	AtNS      int64 `json:"at_ns"`
	ByNS      int64 `json:"by_ns"`      // B's offset less A's
	AllowedNS int64 `json:"allowed_ns"` // the two bounds together
}

// Compare compares the clocks of two alignments.
func Compare(ctx context.Context, req CompareRequest) (*CompareDocument, error) {
	if req.A == "" || req.B == "" {
		return nil, fault.Usagef("two documents are compared: name two").WithHint("prlx combine compare A/alignment.json B/alignment.json")
	}
	var docs [2]*Document
	d := &CompareDocument{Schema: compareSchema, Nodes: []ComparedNode{}, OnlyA: []string{}, OnlyB: []string{}, Warnings: []string{}}
	for i, path := range []string{req.A, req.B} {
		doc, found, err := readAlignment(ctx, path)
		if err != nil {
			return nil, err
		}
		docs[i] = doc
		*[]*ComparedSide{&d.A, &d.B}[i] = ComparedSide{Path: found, Status: doc.Status, Nodes: len(doc.Nodes)}
	}
	a, b := docs[0], docs[1]
	if a.Reference != b.Reference {
		return nil, fault.New(fault.Incompatible, "the clocks of %s are on that of %s, those of %s on that of %s", req.A, nodeName(a.Reference), req.B, nodeName(b.Reference)).
			WithHint("combine one of them again with --reference")
	}
	d.Reference = a.Reference
	for i := range a.Nodes {
		n := &a.Nodes[i]
		k := slices.IndexFunc(b.Nodes, func(o NodeResult) bool { return o.ID == n.ID })
		if k < 0 {
			d.OnlyA = append(d.OnlyA, n.ID)
			continue
		}
		d.Nodes = append(d.Nodes, compareNode(n, &b.Nodes[k], a.Reference))
	}
	for i := range b.Nodes {
		if !slices.ContainsFunc(a.Nodes, func(o NodeResult) bool { return o.ID == b.Nodes[i].ID }) {
			d.OnlyB = append(d.OnlyB, b.Nodes[i].ID)
		}
	}
	d.conclude()
	return d, nil
}

// readAlignment reads the document at a path, of a run directory the one in it.
func readAlignment(ctx context.Context, path string) (*Document, string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "alignment.json")
	}
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, "", err
	}
	defer src.Close()
	const expected = "the document of prlx combine (alignment.json, or FILE.alignment.json beside an output)"
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		return nil, "", err
	}
	if kind := format.Of(head); kind != format.Document && kind.Known() {
		return nil, "", kind.Refuse(path, expected).WithHint("the document lies beside what combine wrote")
	}
	if src.Size() > maxDocument {
		return nil, "", fault.New(fault.Limit, "has %d bytes, more than the %d that a document may have", src.Size(), maxDocument).WithPath(path)
	}
	text, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil, "", err
	}
	var doc Document
	if err := json.Unmarshal(text, &doc); err != nil || doc.Schema != Schema {
		return nil, "", fault.Formatf(path, fault.Unknown, "is not %s", expected).Wrap(err)
	}
	if len(doc.Nodes) == 0 {
		return nil, "", fault.Formatf(path, fault.Unknown, "names no nodes, so it is not %s as combine writes it", expected)
	}
	return &doc, path, nil
}

func compareNode(a, b *NodeResult, reference string) ComparedNode {
	c := ComparedNode{ID: a.ID, Status: compareReference, A: comparedClock(a), B: comparedClock(b), DisjointNS: []int64{}}
	if a.ID == reference {
		return c
	}
	c.Status = compareInconclusive
	for _, n := range []*NodeResult{a, b} {
		if len(n.Clock) == 0 && c.Why == "" {
			c.Why = map[bool]string{true: "only one of the documents relates its clock to the others", false: "neither document relates its clock to the others"}[len(a.Clock)+len(b.Clock) > 0]
			if n.Clock == nil {
				c.Why = "a document of an earlier prlx does not say what the clock showed over time: combine again"
			}
		}
	}
	if c.Why != "" {
		return c
	}
	var apart, boundsA, boundsB []int64
	for i, j := 0, 0; i < len(a.Clock) && j < len(b.Clock); {
		x, y := a.Clock[i], b.Clock[j]
		switch {
		case x.AtNS < y.AtNS:
			i++
			continue
		case x.AtNS > y.AtNS:
			j++
			continue
		}
		i, j = i+1, j+1
		at := Apart{AtNS: x.AtNS, ByNS: differenceOf(y.OffsetNS, x.OffsetNS), AllowedNS: sumOf(x.BoundNS, y.BoundNS)}
		apart, boundsA, boundsB = append(apart, sizeOf(at.ByNS)), append(boundsA, x.BoundNS), append(boundsB, y.BoundNS)
		if c.Worst == nil || differenceOf(sizeOf(at.ByNS), at.AllowedNS) > differenceOf(sizeOf(c.Worst.ByNS), c.Worst.AllowedNS) {
			c.Worst = &at
		}
		if sizeOf(at.ByNS) > at.AllowedNS {
			if c.Disjoint++; len(c.DisjointNS) == 0 {
				c.DisjointNS = []int64{at.AtNS, at.AtNS}
			}
			c.DisjointNS[1] = at.AtNS
		}
	}
	if c.Instants = len(apart); c.Instants == 0 {
		c.Why = "the documents state no instant of its clock in common: they are not of the same trace"
		return c
	}
	if c.Status = compareAgree; c.Disjoint > 0 {
		c.Status = compareContradict
	}
	drift := b.DriftPPM - a.DriftPPM
	c.DriftPPM, c.ApartNS = &drift, &Spread{P50: middleOf(apart), Max: slices.Max(apart)}
	ma, mb := middleOf(boundsA), middleOf(boundsB)
	c.A.BoundNS, c.B.BoundNS = &ma, &mb
	return c
}

func comparedClock(n *NodeResult) ComparedClock {
	return ComparedClock{Method: n.Method, OffsetNS: n.OffsetNS, DriftPPM: n.DriftPPM}
}

// conclude sums the nodes up.
func (d *CompareDocument) conclude() {
	counts := map[string]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		counts[n.Status]++
		if n.Status == compareInconclusive {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s", n.ID, n.Why))
		}
	}
	d.Status = compareInconclusive
	switch {
	case counts[compareContradict] > 0:
		d.Status = compareContradict
	case counts[compareAgree] > 0:
		d.Status = compareAgree
	}
	compared := plural(counts[compareAgree]+counts[compareContradict], "clock")
	switch d.Status {
	case compareContradict:
		var names []string
		for i := range d.Nodes {
			if d.Nodes[i].Status == compareContradict {
				names = append(names, d.Nodes[i].ID)
			}
		}
		d.Verdict = fmt.Sprintf("the alignments contradict each other about %s, of %s compared", shortList(names), compared)
	case compareAgree:
		worst := int64(0)
		for i := range d.Nodes {
			if s := d.Nodes[i].ApartNS; s != nil {
				worst = max(worst, s.Max)
			}
		}
		d.Verdict = fmt.Sprintf("the alignments agree: %s compared, at most %s us apart, within what both allow", compared, microseconds(worst))
	default:
		d.Verdict = "inconclusive: no clock could be compared"
	}
	if n := counts[compareInconclusive]; n > 0 && d.Status != compareInconclusive {
		d.Verdict += fmt.Sprintf("; %s could not be compared", plural(n, "clock"))
	}
	if n := len(d.OnlyA) + len(d.OnlyB); n > 0 {
		d.Verdict += fmt.Sprintf("; %s only in one of them", plural(n, "node"))
	}
	if d.Conclusion = d.concluded(); d.Conclusion.Outcome == verdict.Inconclusive && d.Status == compareAgree {
		d.Status, d.Verdict = compareInconclusive, "inconclusive: "+d.Verdict
		d.Conclusion.Why = "inconclusive: " + d.Conclusion.Why
	}
}

// concluded is what comparing comes to: the same where every clock was compared and none contradicts.
func (d *CompareDocument) concluded() verdict.Verdict {
	var e verdict.Evidence
	compared := int64(0)
	for i := range d.Nodes {
		switch n := &d.Nodes[i]; n.Status {
		case compareAgree, compareContradict:
			compared++
		case compareInconclusive:
			e.Lacks("the clock of "+n.ID, n.Why)
		}
	}
	e.Looked("clocks", compared)
	for _, id := range append(slices.Clone(d.OnlyA), d.OnlyB...) {
		e.Lacks("the clock of "+id, "only one of the documents has that node")
	}
	return e.Compare(d.Status == compareContradict, d.Verdict)
}

func middleOf(v []int64) int64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// sizeOf, sumOf and differenceOf stay within int64: a document may say anything.
func sizeOf(v int64) int64 {
	if v == math.MinInt64 {
		return math.MaxInt64
	}
	return max(v, -v)
}

func sumOf(a, b int64) int64 {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

func differenceOf(a, b int64) int64 {
	if b == math.MinInt64 {
		return sumOf(sumOf(a, math.MaxInt64), 1)
	}
	return sumOf(a, -b)
}

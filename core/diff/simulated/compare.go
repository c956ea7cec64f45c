package simulated

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simulation"
	"github.com/prlx-go/prlx/core/verdict"
)

// CompareSchema names CompareDocument.
const CompareSchema = "prlx.simulate-compare/1"

// CompareDocument is prlx.simulate-compare/1: what two versions of a program did on the simulator, kernel by kernel and line by line.
type CompareDocument struct {
	Schema  string `json:"schema"`
	Status  string `json:"status"` // "same": all counts are, and no result is known to differ; "differs"; "nothing": no kernel was launched on both sides
	Verdict string `json:"verdict"`

	Conclusion verdict.Verdict `json:"conclusion"`

	A       Side         `json:"a"`
	B       Side         `json:"b"`
	Written *Written     `json:"written"` // null: nobody compared results
	Kernels []KernelPair `json:"kernels"` // in the order of B
	OnlyA   []string     `json:"only_a"`  // kernels that the other side did not launch
	OnlyB   []string     `json:"only_b"`
}

// Side is one of the programs.
type Side struct {
	Script   string `json:"script"`
	Launches int64  `json:"launches"`
	Findings int64  `json:"findings"`
}

// KernelPair is a kernel in both versions.
type KernelPair struct {
	KernelA   string         `json:"kernel_a"`
	KernelB   string         `json:"kernel_b"`
	LaunchesA int64          `json:"launches_a"`
	LaunchesB int64          `json:"launches_b"`
	A         LineSum        `json:"a"`
	B         LineSum        `json:"b"`
	Paired    string         `json:"paired"`    // how lines were: "text", by what the versions look like; "number", where a text is not known
	Constants []ConstantPair `json:"constants"` // what they were compiled for, where that differs
	Lines     []LinePair     `json:"lines"`
}

// ConstantPair is a value that the versions were compiled for; "" where one lacks it.
type ConstantPair struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// LineSum is what a line, or all of a kernel, did.
type LineSum struct {
	Instructions     uint64 `json:"instructions"`
	LaneInstructions uint64 `json:"lane_instructions"`
	simulation.Counts
}

// The values of LinePair.Change.
const (
	LineSame    = "same"    // the code is the same
	lineChanged = "changed" // the line was edited into the other
	lineAdded   = "added"   // only B has it
	lineRemoved = "removed" // only A has it
)

// LinePair is a line and the one that stands for it. Lines that did nothing on either side are left out.
type LinePair struct {
	Change string   `json:"change"`
	FileA  string   `json:"file_a"`
	LineA  uint32   `json:"line_a"` // 0: A has none, or no line is known
	TextA  string   `json:"text_a"` // "" not known
	FileB  string   `json:"file_b"`
	LineB  uint32   `json:"line_b"`
	TextB  string   `json:"text_b"`
	A      *LineSum `json:"a"` // null: did nothing, or is not there
	B      *LineSum `json:"b"`
}

// Compare compares two versions of a program; written is nil where nobody compared what they wrote.
func Compare(a, b *Document, written *Written) *CompareDocument {
	doc := &CompareDocument{
		Schema: CompareSchema, A: sideOf(a), B: sideOf(b), Written: written, Kernels: []KernelPair{}, OnlyA: []string{}, OnlyB: []string{},
	}
	partner := partners(a.Kernels, b.Kernels)
	taken := make([]bool, len(a.Kernels))
	for i := range b.Kernels {
		if partner[i] < 0 {
			doc.OnlyB = append(doc.OnlyB, b.Kernels[i].Kernel)
			continue
		}
		taken[partner[i]] = true
		doc.Kernels = append(doc.Kernels, compare(&a.Kernels[partner[i]], &b.Kernels[i]))
	}
	for i := range a.Kernels {
		if !taken[i] {
			doc.OnlyA = append(doc.OnlyA, a.Kernels[i].Kernel)
		}
	}
	doc.judge()
	doc.conclude(a, b)
	return doc
}

func sideOf(d *Document) Side {
	return Side{Script: d.Script, Launches: d.Launches, Findings: int64(len(d.Findings)) + d.MoreFindings}
}

// partners finds for each kernel of b the one of a, -1 none: by name, and the last ones left with each other.
func partners(a, b []Kernel) []int {
	partner, byName := make([]int, len(b)), map[string]int{}
	for i := range a {
		byName[a[i].Kernel] = i
	}
	left, without := len(a), -1
	for i := range b {
		at, ok := byName[b[i].Kernel]
		if !ok {
			partner[i] = -1
			if without >= 0 {
				without = len(b)
			} else {
				without = i
			}
			continue
		}
		partner[i] = at
		delete(byName, b[i].Kernel)
		left--
	}
	if left == 1 && without >= 0 && without < len(b) {
		for _, at := range byName {
			partner[without] = at
		}
	}
	return partner
}

// judge says it in a sentence.
func (doc *CompareDocument) judge() {
	if len(doc.Kernels) == 0 {
		doc.Status, doc.Verdict = "nothing", "no kernel was launched on both sides"
		return
	}
	changed, lines := 0, 0
	var more []string
	for i := range doc.Kernels {
		p := &doc.Kernels[i]
		if p.A == p.B && p.LaunchesA == p.LaunchesB {
			continue
		}
		changed++
		for k := range p.Lines {
			if l := &p.Lines[k]; l.A == nil || l.B == nil || *l.A != *l.B {
				lines++
			}
		}
		more = append(more, fmt.Sprintf("%s %s", p.KernelB, p.change()))
	}
	doc.Status = "differs"
	switch {
	case changed == 0 && len(doc.OnlyA)+len(doc.OnlyB) == 0:
		doc.Status, doc.Verdict = "same", fmt.Sprintf("%d of %d kernels did the same", len(doc.Kernels), len(doc.Kernels))
	case changed == 0:
		doc.Verdict = fmt.Sprintf("%d kernels did the same, %d are on one side only", len(doc.Kernels), len(doc.OnlyA)+len(doc.OnlyB))
	default:
		doc.Verdict = fmt.Sprintf("%d of %d kernels did something else, at %d lines: %s", changed, len(doc.Kernels), lines, strings.Join(more[:min(len(more), 3)], "; "))
	}
	if doc.Written.differs() {
		doc.Status = "differs"
	}
	doc.Verdict += doc.Written.sentence()
}

// conclude says what the comparison rests on: kernels of both, and the launches that the simulator did not execute or did not count.
func (doc *CompareDocument) conclude(a, b *Document) {
	var e verdict.Evidence
	e.Looked("kernels", int64(len(doc.Kernels)))
	for _, side := range []struct {
		name string
		of   *Document
	}{{"A", a}, {"B", b}} {
		for _, r := range side.of.Refused {
			e.Missed("launches of "+r.Kernel+" in "+side.name, r.Count, "the simulator does not execute them: "+r.Message)
		}
		if side.of.ExitStatus != 0 {
			e.Lacks("launches of "+side.name+" behind its end", fmt.Sprintf("the script ended with %d", side.of.ExitStatus))
		}
		for i := range side.of.Kernels {
			if k := &side.of.Kernels[i]; k.Launches > 0 && k.Instructions == 0 {
				e.Lacks("work of "+k.Kernel+" in "+side.name, "no instruction was counted")
			}
		}
	}
	doc.Written.note(&e)
	if doc.Status == "nothing" {
		doc.Conclusion = e.Open(doc.Verdict)
		return
	}
	doc.Conclusion = e.Compare(doc.Status == "differs", doc.Verdict)
}

// change says what a kernel does more or less.
func (p *KernelPair) change() string {
	var parts []string
	for _, c := range []struct {
		what string
		a, b uint64
	}{
		{"instructions", p.A.Instructions, p.B.Instructions}, {"bytes", p.A.GlobalBytes, p.B.GlobalBytes}, {"bank conflicts", p.A.BankConflicts, p.B.BankConflicts},
	} {
		switch {
		case c.a == c.b:
		case c.a == 0:
			parts = append(parts, fmt.Sprintf("%d %s instead of none", c.b, c.what))
		default:
			parts = append(parts, fmt.Sprintf("%+.1f %% %s", 100*(float64(c.b)/float64(c.a)-1), c.what))
		}
	}
	if len(parts) == 0 {
		return "other counts"
	}
	return strings.Join(parts, ", ")
}

func compare(a, b *Kernel) KernelPair {
	p := KernelPair{
		KernelA: a.Kernel, KernelB: b.Kernel, LaunchesA: a.Launches, LaunchesB: b.Launches, Paired: "number", Constants: []ConstantPair{}, Lines: []LinePair{},
		A: LineSum{a.Instructions, a.LaneInstructions, a.Counts}, B: LineSum{b.Instructions, b.LaneInstructions, b.Counts},
	}
	changes := edits.Between(a.Texts.recorded(), b.Texts.recorded())
	if changes != nil {
		p.Paired = "text"
		for _, c := range changes.Constants {
			p.Constants = append(p.Constants, ConstantPair(c))
		}
	}
	m := matcher{changes: changes, texts: [2]*Texts{a.Texts, b.Texts}, other: map[place]*simulation.Line{}}
	places := make([]place, len(b.Lines))
	for i := range b.Lines {
		places[i] = b.Texts.place(&b.Lines[i])
		if m.other[places[i]] != nil { // two files of one name
			places[i] = placeOf(&b.Lines[i])
		}
		m.other[places[i]] = &b.Lines[i]
	}
	for i := range a.Lines {
		p.Lines = append(p.Lines, m.pair(&a.Lines[i]))
	}
	for i := range b.Lines {
		if m.other[places[i]] != nil {
			p.insert(m.alone(&b.Lines[i]))
		}
	}
	return p
}

// place is a line as the texts have it, or as it is where they do not.
func (t *Texts) place(l *simulation.Line) place {
	if f, i := t.Find(l.File, l.Line); f != nil {
		return place{f.File, f.FirstLine + uint32(i)}
	}
	return placeOf(l)
}

// recorded is the texts as recordings have them.
func (t *Texts) recorded() *warptrace.Texts {
	if t == nil {
		return nil
	}
	out := &warptrace.Texts{}
	for _, f := range t.Functions {
		out.Functions = append(out.Functions, warptrace.Text{File: f.File, Function: f.Function, FirstLine: f.FirstLine, Text: f.Text})
	}
	for _, c := range t.Constants {
		out.Constants = append(out.Constants, warptrace.Constant(c))
	}
	return out
}

// place is a line of a file.
type place struct {
	file string
	line uint32
}

func placeOf(l *simulation.Line) place { return place{l.File, l.Line} }

// matcher finds the line of B that stands for one of A.
type matcher struct {
	changes *edits.Changes
	texts   [2]*Texts
	other   map[place]*simulation.Line // of B, that no line of A has yet
}

// pair is a line of A with the one that stands for it.
func (m *matcher) pair(l *simulation.Line) LinePair {
	p := LinePair{Change: lineRemoved, FileA: l.File, LineA: l.Line, TextA: m.texts[0].line(l.File, l.Line), A: sumOf(l)}
	at, known := m.standsFor(l)
	if !known {
		return p
	}
	p.Change = LineSame
	p.FileB, p.LineB, p.TextB = at.file, at.line, m.texts[1].line(at.file, at.line)
	if changed, ok := m.changes.Changed(edits.Line{Side: edits.SideA, File: l.File, Line: int(l.Line)}); ok && changed && codeOf(p.TextA) != codeOf(p.TextB) {
		p.Change = lineChanged
	}
	if other := m.other[at]; other != nil {
		p.B = sumOf(other)
		delete(m.other, at)
	}
	return p
}

// standsFor is the place in B of a line of A. What stands outside of the texts, as in a library, is known by its number.
func (m *matcher) standsFor(l *simulation.Line) (place, bool) {
	if other, ok := m.changes.Other(edits.Line{Side: edits.SideA, File: l.File, Line: int(l.Line)}); ok {
		return place{other.File, uint32(other.Line)}, true
	}
	if m.changes != nil && m.texts[0].holds(l.File, l.Line) {
		return place{}, false
	}
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, func(a, b string) bool { return path.Base(a) == path.Base(b) }} {
		var found []place
		for at := range m.other {
			if at.line == l.Line && same(at.file, l.File) {
				found = append(found, at)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
	}
	return place{}, false
}

// alone is a line that only B has counts for.
func (m *matcher) alone(l *simulation.Line) LinePair {
	p := LinePair{Change: lineAdded, FileB: l.File, LineB: l.Line, TextB: m.texts[1].line(l.File, l.Line), B: sumOf(l)}
	if other, ok := m.changes.Other(edits.Line{Side: edits.SideB, File: l.File, Line: int(l.Line)}); ok {
		p.Change, p.FileA, p.LineA, p.TextA = LineSame, other.File, uint32(other.Line), m.texts[0].line(other.File, uint32(other.Line))
		if codeOf(p.TextA) != codeOf(p.TextB) {
			p.Change = lineChanged
		}
	}
	return p
}

// insert puts a line of B behind those of its file that stand before it.
func (p *KernelPair) insert(l LinePair) {
	at := -1
	for i := range p.Lines {
		if q := &p.Lines[i]; q.LineB > 0 && q.FileB == l.FileB && q.LineB < l.LineB {
			at = i
		}
	}
	if at < 0 {
		at = slices.IndexFunc(p.Lines, func(q LinePair) bool { return q.FileB == l.FileB && q.LineB > l.LineB }) - 1
		if at < -1 {
			at = len(p.Lines) - 1
		}
	}
	p.Lines = slices.Insert(p.Lines, at+1, l)
}

func sumOf(l *simulation.Line) *LineSum {
	return &LineSum{l.Instructions, l.LaneInstructions, l.Counts}
}

// codeOf is a line without the room around it.
func codeOf(text string) string { return strings.Join(strings.Fields(text), " ") }

// Find is the function that a line is of, and its number in it from 0; nil where no text holds it. Where no text is of the file, one of a file
// of that name counts: a compiler may name another directory.
func (t *Texts) Find(file string, line uint32) (f *Function, i int) {
	if t == nil || line == 0 {
		return nil, 0
	}
	best := slices.IndexFunc(t.Functions, func(f Function) bool { return f.File == file && f.has(line) })
	if best < 0 {
		best = slices.IndexFunc(t.Functions, func(f Function) bool { return path.Base(f.File) == path.Base(file) && f.has(line) })
	}
	if best < 0 {
		return nil, 0
	}
	return &t.Functions[best], int(line - t.Functions[best].FirstLine)
}

func (f *Function) has(line uint32) bool {
	return line >= f.FirstLine && line-f.FirstLine <= uint32(strings.Count(strings.TrimSuffix(f.Text, "\n"), "\n"))
}

func (t *Texts) holds(file string, line uint32) bool {
	f, _ := t.Find(file, line)
	return f != nil
}

// line is the text of a line, "" where it is not known.
func (t *Texts) line(file string, line uint32) string {
	f, i := t.Find(file, line)
	if f == nil {
		return ""
	}
	return strings.Split(f.Text, "\n")[i]
}

// Lines is a function's text by line.
func (f *Function) Lines() []string { return strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n") }

// Busiest sorts lines by their instructions, most first.
func Busiest(lines []simulation.Line) []simulation.Line {
	out := slices.Clone(lines)
	slices.SortStableFunc(out, func(a, b simulation.Line) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

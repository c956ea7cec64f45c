package simulationreport

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

// WriteComparison writes the report of two versions of a program.
func WriteComparison(name string, w io.Writer, d *simulated.CompareDocument) error {
	write, err := table.Named(name)
	if err != nil {
		return err
	}
	return write.comparison(w, d)
}

// comparePage is what the template shows.
type comparePage struct {
	webpage.Head
	Word, Tone, Verdict string
	Conclusion          verdict.Verdict
	A, B                string
	Only                []string
	Kernels             []comparePart
	MoreKernels         string
}

type comparePart struct {
	ID, Name, Looked, Constants, More string
	Totals                            []compareTotal
	Rows                              []compareRow
}

type compareTotal struct {
	Label, A, B, Change string
	Worse, Better       bool
}

// compareRow is a line of both versions. Each figure is that of A, that of B and the change.
type compareRow struct {
	Change, NumberA, NumberB, CodeA, CodeB string
	Figures                                []compareTotal
}

func newComparePage(d *simulated.CompareDocument) *comparePage {
	p := &comparePage{
		Word: clean(d.Status, maxName), Tone: "amber", Conclusion: foreign.Verdict(d.Conclusion),
		Verdict: figure.Sentence(clean(d.Verdict, maxText)), A: sideText(&d.A), B: sideText(&d.B),
	}
	p.Head = kit.Head("Two versions: "+p.Word, "")
	if d.Status == "same" {
		p.Tone = "good"
	}
	for _, side := range []struct {
		name  string
		names []string
	}{{"A", d.OnlyA}, {"B", d.OnlyB}} {
		for _, name := range side.names[:min(len(side.names), maxKernels)] {
			p.Only = append(p.Only, fmt.Sprintf("%s was launched by %s only.", clean(name, maxName), side.name))
		}
	}
	room := maxPageRows
	for i := range d.Kernels[:min(len(d.Kernels), maxKernels)] {
		part := comparisonOf(i, &d.Kernels[i], room)
		room -= len(part.Rows)
		p.Kernels = append(p.Kernels, part)
	}
	if n := len(d.Kernels) - maxKernels; n > 0 {
		p.MoreKernels = figure.Plural(n, "more kernel is", "more kernels are") + " in the JSON document."
	}
	return p
}

func sideText(s *simulated.Side) string {
	return fmt.Sprintf("%s: %s, %s", clean(s.Script, maxText), figure.Plural(s.Launches, "launch", "launches"), figure.Plural(s.Findings, "finding", "findings"))
}

// comparisonOf is a kernel in both versions.
func comparisonOf(n int, k *simulated.KernelPair, room int) comparePart {
	part := comparePart{ID: "kernel-" + strconv.Itoa(n+1), Name: clean(k.KernelB, maxName)}
	if k.KernelA != k.KernelB {
		part.Name = clean(k.KernelA, maxName) + " and " + part.Name
	}
	part.Looked = "Lines stand for each other by what they look like."
	if k.Paired != "text" {
		part.Looked = "The text of one version is not known: lines stand for each other by their numbers."
	}
	if k.LaunchesA != k.LaunchesB {
		part.Looked += fmt.Sprintf(" A has %s, B %d.", figure.Plural(k.LaunchesA, "launch", "launches"), k.LaunchesB)
	}
	part.Totals = figuresOf(&k.A, &k.B)
	nothing := map[string]bool{} // figures of which neither version has any
	for _, f := range part.Totals {
		nothing[f.Label] = f.A == ""
	}
	counted := func(list []compareTotal) []compareTotal {
		return slices.DeleteFunc(list, func(f compareTotal) bool { return nothing[f.Label] })
	}
	part.Totals = counted(part.Totals)
	var constants []string
	for _, c := range k.Constants[:min(len(k.Constants), 40)] {
		constants = append(constants, fmt.Sprintf("%s: %s, %s", clean(c.Name, maxName), orNone(c.A), orNone(c.B)))
	}
	part.Constants = strings.Join(constants, "; ")
	for i := range k.Lines {
		if len(part.Rows) >= min(room, maxLines) {
			part.More = figure.Plural(len(k.Lines)-i, "more line is", "more lines are") + " in the JSON document."
			break
		}
		row := compareRowOf(&k.Lines[i])
		row.Figures = counted(row.Figures)
		part.Rows = append(part.Rows, row)
	}
	return part
}

func orNone(s string) string {
	if s == "" {
		return "no constant"
	}
	return clean(s, maxName)
}

func compareRowOf(l *simulated.LinePair) compareRow {
	row := compareRow{
		Change: clean(l.Change, maxName), NumberA: numberOf(l.FileA, l.LineA, l.TextA), NumberB: numberOf(l.FileB, l.LineB, l.TextB), CodeA: code(l.TextA), CodeB: code(l.TextB),
		Figures: figuresOf(l.A, l.B),
	}
	if l.Change == simulated.LineSame || row.CodeA == row.CodeB {
		row.CodeA = ""
	}
	return row
}

// numberOf is the number of a line, with its file where the text does not say which it is.
func numberOf(file string, line uint32, text string) string {
	switch {
	case line == 0 && file == "" && text == "":
		return ""
	case line == 0:
		return "no line"
	case text == "":
		return clean(path.Base(file), maxName) + ":" + strconv.FormatUint(uint64(line), 10)
	}
	return strconv.FormatUint(uint64(line), 10)
}

// figuresOf are the counts of a line, or of a kernel, side by side.
func figuresOf(a, b *simulated.LineSum) []compareTotal {
	if a == nil {
		a = &simulated.LineSum{}
	}
	if b == nil {
		b = &simulated.LineSum{}
	}
	list := []compareTotal{
		{Label: "instructions", A: figure.Count(a.Instructions), B: figure.Count(b.Instructions)},
		{Label: "bytes", A: bytesText(a.GlobalBytes), B: bytesText(b.GlobalBytes)},
		{Label: "sectors", A: figure.Count(a.GlobalSectors), B: figure.Count(b.GlobalSectors)},
		{Label: "bank conflicts", A: figure.Count(a.BankConflicts), B: figure.Count(b.BankConflicts)},
		{Label: "divergent branches", A: figure.Count(a.Divergent), B: figure.Count(b.Divergent)},
	}
	for i, v := range [][2]uint64{{a.Instructions, b.Instructions}, {a.GlobalBytes, b.GlobalBytes}, {a.GlobalSectors, b.GlobalSectors}, {a.BankConflicts, b.BankConflicts}, {a.Divergent, b.Divergent}} {
		list[i].Change, list[i].Worse, list[i].Better = changeText(v[0], v[1]), v[1] > v[0], v[1] < v[0]
		if v[0] == 0 && v[1] == 0 {
			list[i].A, list[i].B = "", ""
		}
	}
	return list
}

func changeText(a, b uint64) string {
	switch {
	case a == b:
		return ""
	case a == 0:
		return "new"
	case b == 0:
		return "gone"
	}
	sign := "+"
	change := 100 * (float64(b)/float64(a) - 1)
	if change < 0 {
		sign, change = figure.Minus, -change
	}
	digits := 1
	if change >= 100 {
		digits = 0
	}
	return foreign.Clean(sign+strconv.FormatFloat(change, 'f', digits, 64), 16) + "\u00a0%"
}

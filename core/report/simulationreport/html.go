// Package simulationreport turns what a program did on the simulator (prlx.simulate/1) and how two versions of it differ
// (prlx.simulate-compare/1) into pages: html.go the page of one program with its lines, touch.go the pictures of its arrays, compare.go the
// page of two. A page is a function of the document alone, has no script, and asks for nothing.
//
// What a program may contain reaches a page escaped and bounded. The same document gives the same bytes.
package simulationreport

import (
	"embed"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/formats"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/simulator/simulation"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// What a page holds at most.
const (
	maxKernels  = 32
	maxLines    = 600  // rows of one kernel
	maxPageRows = 3000 // of all kernels
	maxFindings = 200
	maxStops    = 20
	maxMissing  = 50
	maxText     = 400 // characters of a sentence
	maxCode     = 240 // of a line of source
	maxName     = 80
)

// No page runs a script.
var (
	kit             = webpage.NewKit(assets)
	pageTemplate    = kit.Template("page.html")
	compareTemplate = kit.Template("compare.html")
)

// writers write one format: of a program and of two versions of it.
type writers struct {
	program    func(io.Writer, *simulated.Document) error
	comparison func(io.Writer, *simulated.CompareDocument) error
}

var table = formats.Table[writers]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: writers{
		func(w io.Writer, d *simulated.Document) error { return pageTemplate().Execute(w, newPage(d)) },
		func(w io.Writer, d *simulated.CompareDocument) error {
			return compareTemplate().Execute(w, newComparePage(d))
		},
	}},
	{Name: "json", Endings: []string{".json"}, Write: writers{
		func(w io.Writer, d *simulated.Document) error { return formats.JSON(w, d) },
		func(w io.Writer, d *simulated.CompareDocument) error { return formats.JSON(w, d) },
	}},
}

// Formats lists the names that Write takes.
func Formats() []string { return table.Names() }

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the report of a program.
func Write(name string, w io.Writer, d *simulated.Document) error {
	write, err := table.Named(name)
	if err != nil {
		return err
	}
	return write.program(w, d)
}

// page is what the template shows.
type page struct {
	webpage.Head
	Program, Verdict string
	Conclusion       verdict.Verdict
	Tiles            []webpage.Tile
	Findings         []findingRow
	MoreFindings     string
	Kernels          []kernelPart
	MoreKernels      string
	Refused          []string
	Stops            []stopPart
	MoreStops        string
}

type findingRow struct {
	ID, Check, Place, Line, Message, Who string
}

// kernelPart is one kernel: its lines and its arrays.
type kernelPart struct {
	ID, Name, Looked string
	Functions        []functionPart
	Elsewhere        []lineRow // lines of libraries, and those whose text is not known
	More             string
	Constants        string
	Arrays           []arrayPart
	ArraysNote       string
	Fidelity         *fidelityPart // nil: the document does not say
}

type functionPart struct {
	Title     string
	Rows      []lineRow
	Conflicts bool // a line has some
}

// lineRow is a line of the source.
type lineRow struct {
	ID, Number, Code                        string
	Instructions, Lanes, Bytes, Conflicts   string
	Heat                                    int // 0 to 5: the share of the kernel's instructions
	Counted, LanesLow, Conflicted, Findings bool
	Found                                   []found
}

type found struct{ ID, Check, Message string }

func newPage(d *simulated.Document) *page {
	p := &page{
		Program: clean(d.Script, maxText), Conclusion: foreign.Verdict(d.Conclusion), Verdict: verdictOf(d),
	}
	p.Head = kit.Head("Simulation: "+string(p.Conclusion.Outcome), "")
	p.Tiles = tilesOf(d)
	marks := p.findings(d)
	room, pictures := maxPageRows, maxPictures
	for i := range d.Kernels[:min(len(d.Kernels), maxKernels)] {
		part := kernelOf(i, &d.Kernels[i], marks, room)
		part.Fidelity = fidelityOf(d.Kernels[i].Fidelity)
		pictures = part.arrays(d.Kernels[i].Touched, pictures)
		for _, f := range part.Functions {
			room -= len(f.Rows)
		}
		room -= len(part.Elsewhere)
		p.Kernels = append(p.Kernels, part)
	}
	if n := len(d.Kernels) - maxKernels; n > 0 {
		p.MoreKernels = figure.Plural(n, "more kernel is", "more kernels are") + " in the JSON document."
	}
	p.stops(d)
	p.refused(d)
	return p
}

func verdictOf(d *simulated.Document) string {
	ended := fmt.Sprintf("the script ended with exit code %d", d.ExitStatus)
	switch n := int64(len(d.Findings)) + d.MoreFindings; {
	case d.Launches == 0:
		return "Nothing was launched, so nothing was checked; " + ended + "."
	case n > 0:
		return figure.Plural(n, "finding", "findings") + " in " + figure.Plural(d.Launches, "launch", "launches") + "."
	case d.ExitStatus != 0:
		return "No finding in " + figure.Plural(d.Launches, "launch", "launches") + " before " + ended + "."
	case !d.Conclusion.Good():
		return "No check found anything in " + figure.Plural(d.Launches, "launch", "launches") + ", and not everything could be looked at."
	}
	return "No check found anything in " + figure.Plural(d.Launches, "launch", "launches") + "."
}

func tilesOf(d *simulated.Document) []webpage.Tile {
	var sum simulation.Counts
	lanes := uint64(0)
	for i := range d.Kernels {
		k := &d.Kernels[i]
		lanes += k.LaneInstructions
		sum.GlobalBytes += k.GlobalBytes
		sum.BankConflicts += k.BankConflicts
		sum.Branches += k.Branches
		sum.Divergent += k.Divergent
	}
	return []webpage.Tile{
		{Label: "Launches", Value: figure.Count(d.Launches), Detail: figure.Plural(len(d.Kernels), "kernel", "kernels")},
		{Label: "Instructions", Value: figure.Count(d.Instructions), Detail: "of warps"},
		{Label: "Lanes", Value: share(lanes, d.Instructions), Detail: "took part in them"},
		{Label: "Global memory", Value: bytesText(sum.GlobalBytes), Detail: "loaded and stored by lanes"},
		{Label: "Bank conflicts", Value: figure.Count(sum.BankConflicts), Detail: "further passes of shared memory"},
		{Label: "Divergent branches", Value: figure.Count(sum.Divergent), Detail: "of " + figure.Count(sum.Branches)},
	}
}

// share is the part of lanes that took part in instructions of warps.
func share(lanes, instructions uint64) string {
	if instructions == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(lanes)/(32*float64(instructions)), 'f', 0, 64) + "\u00a0%"
}

// bytesText writes bytes with the unit that fits.
func bytesText(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return figure.Count(n) + "\u00a0B"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + "\u00a0" + units[i]
}

func clean(s string, limit int) string { return foreign.Clean(s, limit) }

// code is a line of source: tabs are shown.
func code(s string) string {
	return clean(strings.ReplaceAll(strings.TrimRight(s, "\r"), "\t", "    "), maxCode)
}

// spot is a line of a kernel.
type spot struct {
	kernel, file string
	line         uint32
}

// findings lists what was found, and returns it by line.
func (p *page) findings(d *simulated.Document) map[spot][]found {
	marks := map[spot][]found{}
	for i := range d.Findings {
		f := &d.Findings[i]
		if i >= maxFindings {
			break
		}
		id := "finding-" + strconv.Itoa(i+1)
		row := findingRow{
			ID: id, Check: clean(f.Check, maxName), Message: figure.Sentence(clean(f.Message, maxText)), Place: clean(f.Instruction, maxName),
			Who: clean(fmt.Sprintf("%s, launch %d, block (%d, %d, %d), warp %d, %s, %s", f.Kernel, f.Launch, f.Block[0], f.Block[1], f.Block[2], f.Warp, lanesText(f.Lanes), figure.Plural(f.Count, "time", "times")), maxText),
		}
		if f.Line > 0 {
			row.Place = clean(path.Base(f.File), maxName) + ":" + strconv.FormatUint(uint64(f.Line), 10)
			at := spot{f.Kernel, f.File, f.Line}
			if k := kernelNamed(d, f.Kernel); k != nil {
				at, _ = spotIn(k, f.File, f.Line)
			}
			marks[at] = append(marks[at], found{id, row.Check, row.Message})
		}
		p.Findings = append(p.Findings, row)
	}
	if n := int64(len(d.Findings)-len(p.Findings)) + d.MoreFindings; n > 0 {
		p.MoreFindings = figure.Plural(n, "more finding is", "more findings are") + " not shown."
	}
	return marks
}

func kernelNamed(d *simulated.Document, name string) *simulated.Kernel {
	for i := range d.Kernels {
		if d.Kernels[i].Kernel == name {
			return &d.Kernels[i]
		}
	}
	return nil
}

func lanesText(lanes []int) string {
	if len(lanes) == 1 {
		return "lane " + laneText(lanes)
	}
	return "lanes " + laneText(lanes)
}

// laneText writes lanes as ranges: 0-7, 12.
func laneText(lanes []int) string {
	var parts []string
	for i := 0; i < len(lanes); {
		k := i
		for k+1 < len(lanes) && lanes[k+1] == lanes[k]+1 {
			k++
		}
		if k == i {
			parts = append(parts, strconv.Itoa(lanes[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", lanes[i], lanes[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}

// kernelOf is a kernel: its functions with every line, then the lines of others.
func kernelOf(n int, k *simulated.Kernel, marks map[spot][]found, room int) kernelPart {
	part := kernelPart{
		ID: "kernel-" + strconv.Itoa(n+1), Name: clean(k.Kernel, maxName),
		Looked: fmt.Sprintf("%s of %s, %s, %s of lanes active.", figure.Plural(k.Launches, "launch", "launches"), figure.Plural(k.Blocks, "block", "blocks"),
			figure.Plural(k.Instructions, "warp instruction", "warp instructions"), share(k.LaneInstructions, k.Instructions)),
	}
	room = min(room, maxLines)
	counted := map[spot]*simulation.Line{}
	var elsewhere []simulation.Line
	for _, c := range simulated.Busiest(k.Lines) {
		at, ok := spotIn(k, c.File, c.Line)
		if ok && counted[at] == nil {
			counted[at] = &c
		} else {
			elsewhere = append(elsewhere, c)
		}
	}
	if k.Texts != nil {
		for i := range k.Texts.Functions {
			f := &k.Texts.Functions[i]
			fp := functionPart{Title: clean(f.Function, maxName) + " in " + clean(path.Base(f.File), maxName)}
			for at, text := range f.Lines() {
				if room <= 0 {
					part.More = moreLines
					break
				}
				here := spot{k.Kernel, f.File, f.FirstLine + uint32(at)}
				row := rowOf(k, here.line, text, counted[here], marks[here])
				fp.Rows, fp.Conflicts = append(fp.Rows, row), fp.Conflicts || row.Conflicted
				room--
			}
			part.Functions = append(part.Functions, fp)
		}
		part.Constants = constantsOf(k.Texts.Constants)
	}
	for i := range elsewhere {
		if room <= 0 {
			part.More = moreLines
			break
		}
		c := &elsewhere[i]
		row := rowOf(k, c.Line, "", c, marks[spot{k.Kernel, c.File, c.Line}])
		row.Number = placeText(c)
		part.Elsewhere = append(part.Elsewhere, row)
		room--
	}
	return part
}

const moreLines = "The rest of the lines is in the JSON document."

// spotIn is where a line stands in the text of a kernel; ok is false where it does not.
func spotIn(k *simulated.Kernel, file string, line uint32) (at spot, ok bool) {
	f, i := k.Texts.Find(file, line)
	if f == nil {
		return spot{k.Kernel, file, line}, false
	}
	return spot{k.Kernel, f.File, f.FirstLine + uint32(i)}, true
}

func placeText(l *simulation.Line) string {
	if l.Line == 0 {
		return "no line"
	}
	return clean(path.Base(l.File), maxName) + ":" + strconv.FormatUint(uint64(l.Line), 10)
}

func constantsOf(list []simulated.Constant) string {
	var parts []string
	for _, c := range list[:min(len(list), 40)] {
		parts = append(parts, clean(c.Name, maxName)+" = "+clean(c.Value, maxName))
	}
	return strings.Join(parts, ", ")
}

func rowOf(k *simulated.Kernel, line uint32, text string, c *simulation.Line, marks []found) lineRow {
	row := lineRow{Number: strconv.FormatUint(uint64(line), 10), Code: code(text), Found: marks}
	row.Findings = len(row.Found) > 0
	if c == nil {
		return row
	}
	row.Counted = true
	row.Instructions, row.Lanes = figure.Count(c.Instructions), share(c.LaneInstructions, c.Instructions)
	row.LanesLow = 2*c.LaneInstructions < 32*c.Instructions
	if c.GlobalBytes > 0 {
		row.Bytes = bytesText(c.GlobalBytes)
	}
	if c.BankConflicts > 0 {
		row.Conflicts, row.Conflicted = figure.Count(c.BankConflicts), true
	}
	if k.Instructions > 0 && c.Instructions > 0 {
		row.Heat = 1 + min(4, int(10*float64(c.Instructions)/float64(k.Instructions)))
	}
	return row
}

// Package sources finds the lines of source files that a comparison refers to: in the recordings, which hold the text of their kernel as it
// was compiled, else in files of the machine where the comparison is made.
package sources

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Bounds on the sources that a document holds.
const (
	sourceContext  = 3       // lines before and after a reported one
	maxSourceFiles = 64      // in a document
	maxSourceBytes = 4 << 20 // of a file that is looked into
	maxSourceLines = 2000    // in a document
	maxSourceLine  = 400     // bytes
)

// sourceEndings are those of files that hold code. A recording says which files are looked into, and anybody can write a recording:
// nothing else of this machine shall end in a report.
var sourceEndings = strings.Fields(".py .pyi .cu .cuh .c .cc .cpp .cxx .h .hh .hpp .hxx .inl .inc .hip .cl .ll .mlir .ptx .s .jl .rs .go .f90 .mojo")

// sourceReader finds the lines that a document refers to.
type sourceReader struct {
	roots    []string
	recorded time.Time            // of the older recording; the zero time is unknown
	texts    [2]*warptrace.Texts  // of A and B; nil: not recorded
	lines    int                  // that may still be taken
	opened   map[string]*diskText // by file
}

// diskText is a file as it is on this machine.
type diskText struct {
	lines   []string // nil: not found
	changed time.Time
}

// place is a file with the lines of it that a document mentions, on one side.
type place struct {
	side edits.Side
	file string
}

// From says where the lines of a comparison can be found.
type From struct {
	A, B     *warptrace.Texts // the text of both kernels, nil: not recorded
	Changes  *edits.Changes   // how they differ, nil: not known
	Roots    []string         // directories below which files are looked for
	Recorded time.Time        // of the older recording; the zero time is unknown
}

// Read returns the lines around every place that a document shows first: of the first divergence, the clusters, the sites and
// the explanation. Lines that were recorded are taken out of the recording of their side; others are looked for in files, also below the
// roots. What is not found is left out.
func Read(ctx context.Context, doc *diff.Document, from From) ([]diff.Source, error) {
	r := &sourceReader{
		roots: from.Roots, recorded: from.Recorded, texts: [2]*warptrace.Texts{from.A, from.B}, lines: maxSourceLines, opened: map[string]*diskText{},
	}
	out := []diff.Source{}
	m := mentioned{of: map[place][]int{}, changes: from.Changes}
	m.document(doc)
	files := map[string]bool{}
	for _, p := range m.order {
		if files[p.file] = true; len(files) > maxSourceFiles || r.lines <= 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, r.pieces(p, m.of[p], out)...)
	}
	return out, nil
}

// mentioned are the lines that a document mentions, in the order in which it does.
type mentioned struct {
	order   []place
	of      map[place][]int
	changes *edits.Changes
}

func (m *mentioned) line(side edits.Side, file string, line int) {
	if file == "" || line <= 0 {
		return
	}
	p := place{side, file}
	if _, known := m.of[p]; !known {
		m.order = append(m.order, p)
	}
	m.of[p] = append(m.of[p], line)
}

// location adds a place of a side, with the line that stands for it on the other one.
func (m *mentioned) location(location string, side edits.Side) {
	file, line := diff.FileAndLine(location)
	m.line(side, file, line)
	if other, ok := m.changes.Other(edits.Line{Side: side, File: file, Line: line}); ok {
		m.line(other.Side, other.File, other.Line)
	}
}

// both adds a place as one side or both have it.
func (m *mentioned) both(location, inB, only string) {
	side := edits.SideA
	if only == "B" {
		side = edits.SideB
	}
	m.location(location, side)
	m.location(inB, edits.SideB)
}

func (m *mentioned) divergence(d *diff.Divergence) {
	m.both(d.SourceLocation, d.LocationB, d.InTrace)
	for i := range d.History {
		only := ""
		if d.History[i].Mark == "+" {
			only = "B"
		}
		m.both(d.History[i].Location, "", only)
	}
}

func (m *mentioned) document(doc *diff.Document) {
	if doc.First != nil {
		m.divergence(doc.First)
	}
	if doc.Explanation != nil {
		for i := range doc.Explanation.Chain {
			m.location(doc.Explanation.Chain[i].SourceLocation, edits.SideA)
		}
	}
	if o := doc.Outputs; o != nil {
		if o.First != nil && o.First.Store != nil {
			m.both(o.First.Store.SourceLocation, o.First.Store.LocationB, o.First.Store.InTrace)
		}
		for i := range o.Stores {
			m.both(o.Stores[i].SourceLocation, o.Stores[i].LocationB, o.Stores[i].InTrace)
		}
	}
	for i := range doc.Findings {
		only := ""
		if doc.Findings[i].CountA == 0 {
			only = "B"
		}
		m.both(doc.Findings[i].SourceLocation, "", only)
	}
	for i := range doc.Clusters {
		m.divergence(&doc.Clusters[i].First)
	}
	for i := range doc.Sites {
		m.both(doc.Sites[i].SourceLocation, doc.Sites[i].LocationB, doc.Sites[i].InTrace)
	}
}

// pieces are the runs of lines of one file around the wanted ones: out of the recording where it has them. What a piece of the other side
// shows already for both is left out.
func (r *sourceReader) pieces(p place, wanted []int, before []diff.Source) []diff.Source {
	slices.Sort(wanted)
	var out []diff.Source
	for _, line := range slices.Compact(wanted) {
		if r.lines <= 0 {
			break
		}
		if shownForBoth(before, p.file, line) || shownForBoth(out, p.file, line) {
			continue
		}
		piece, lines := r.around(p, line)
		if lines == nil {
			continue
		}
		first, last := max(1, line-sourceContext, piece.FirstLine), min(piece.FirstLine+len(lines)-1, line+sourceContext)
		begin := piece.FirstLine
		if n := len(out); n > 0 && out[n-1].Side == piece.Side && out[n-1].Recorded == piece.Recorded {
			end := out[n-1].FirstLine + len(out[n-1].Lines) // the line after the piece before
			if first <= end && end >= begin {
				r.take(&out[n-1], lines[min(end, last+1)-begin:last+1-begin])
				continue
			}
		}
		piece.FirstLine, piece.Lines = first, []string{}
		r.take(&piece, lines[first-begin:last+1-begin])
		out = append(out, piece)
	}
	return out
}

// shownForBoth reports whether a piece that is the same on both sides has a line.
func shownForBoth(pieces []diff.Source, file string, line int) bool {
	return slices.ContainsFunc(pieces, func(s diff.Source) bool {
		return s.Side == "" && s.File == file && line >= s.FirstLine && line < s.FirstLine+len(s.Lines)
	})
}

// around finds what holds a line: lines is all of a text, whose first line is piece.FirstLine; nil where nothing holds it.
func (r *sourceReader) around(p place, line int) (piece diff.Source, lines []string) {
	f := textWith(r.texts[p.side], p.file, line)
	if f == nil { // a place of the explanation, which may be of either side
		p.side = p.side.Other()
		f = textWith(r.texts[p.side], p.file, line)
	}
	if f != nil {
		piece = diff.Source{File: p.file, FirstLine: int(f.FirstLine), Recorded: true, Side: []string{"A", "B"}[p.side]}
		lines = linesOf(f.Text)
		if g := textWith(r.texts[p.side.Other()], p.file, line); g != nil && g.Digest == f.Digest && g.FirstLine == f.FirstLine {
			piece.Side = ""
		}
		piece.Changed = r.differs(f.File, int(f.FirstLine), lines) && r.differsFrom(named(r.texts[p.side.Other()], f))
		return piece, lines
	}
	disk := r.disk(p.file)
	if line > len(disk.lines) {
		return piece, nil
	}
	return diff.Source{File: p.file, FirstLine: 1, Stale: !r.recorded.IsZero() && disk.changed.After(r.recorded)}, disk.lines
}

// textWith is the recorded function that a line belongs to, nil where there is none.
func textWith(texts *warptrace.Texts, file string, line int) *warptrace.Text {
	if texts == nil {
		return nil
	}
	var found *warptrace.Text
	for i := range texts.Functions {
		f := &texts.Functions[i]
		if f.Text == "" || line < int(f.FirstLine) || line >= int(f.FirstLine)+len(linesOf(f.Text)) {
			continue
		}
		if f.File == file {
			return f
		}
		if found == nil && path.Base(f.File) == path.Base(file) { // a compiler that keeps what it made names where it made it first
			found = f
		}
	}
	return found
}

func linesOf(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// named is the function of a side that stands for one of the other, nil where there is none.
func named(texts *warptrace.Texts, f *warptrace.Text) *warptrace.Text {
	if texts == nil {
		return nil
	}
	for i := range texts.Functions {
		if g := &texts.Functions[i]; g.Text != "" && g.File == f.File && g.Function == f.Function {
			return g
		}
	}
	return nil
}

// differsFrom is differs for a function, true where there is none: what is here by now may be the other side's.
func (r *sourceReader) differsFrom(f *warptrace.Text) bool {
	return f == nil || r.differs(f.File, int(f.FirstLine), linesOf(f.Text))
}

// differs reports whether a file has other lines here than were recorded; a file that is not found has none.
func (r *sourceReader) differs(file string, first int, lines []string) bool {
	disk := r.disk(file).lines
	if disk == nil {
		return false
	}
	same := first >= 1 && first-1+len(lines) <= len(disk) && slices.EqualFunc(disk[first-1:first-1+len(lines)], lines, func(x, y string) bool {
		return strings.TrimSuffix(x, "\r") == strings.TrimSuffix(y, "\r")
	})
	return !same
}

// disk is a file of a recording as it is on this machine.
func (r *sourceReader) disk(file string) *diskText {
	found, known := r.opened[file]
	if !known {
		found = &diskText{}
		if text, changed := r.open(file); text != nil {
			*found = diskText{linesOf(string(text)), changed}
		}
		if r.opened[file] = found; len(r.opened) > 2*maxSourceFiles {
			clear(r.opened)
		}
	}
	return found
}

func (r *sourceReader) take(piece *diff.Source, lines []string) {
	lines = lines[:min(len(lines), max(r.lines, 0))]
	r.lines -= len(lines)
	for _, line := range lines {
		line = strings.ToValidUTF8(strings.TrimSuffix(line, "\r"), "\uFFFD")
		if len(line) > maxSourceLine {
			cut := maxSourceLine
			for !utf8.RuneStart(line[cut]) {
				cut--
			}
			line = line[:cut]
		}
		piece.Lines = append(piece.Lines, line)
	}
}

// open finds a file of a recording on this machine, below the roots: where it was recorded if that is an absolute path into one of
// them, by its path, and by its name. Recordings and site tables come from others, and their paths lead nowhere else: neither absolute
// ones, nor "..", nor links that leave a root.
func (r *sourceReader) open(file string) (text []byte, changed time.Time) {
	if !slices.Contains(sourceEndings, strings.ToLower(path.Ext(file))) {
		return nil, changed
	}
	local := strings.TrimLeft(filepath.ToSlash(filepath.Clean(file)), "/")
	for _, dir := range r.roots {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		for _, name := range append(below(dir, file), local, path.Base(local)) {
			if !filepath.IsLocal(name) {
				continue
			}
			info, err := root.Stat(name)
			if text, changed = readSource(info, err, func() (*os.File, error) { return root.Open(name) }); text != nil {
				break
			}
		}
		root.Close()
		if text != nil {
			return text, changed
		}
	}
	return nil, changed
}

// below is an absolute path as seen from a directory, also where either was named through links; what is not in it is no local name.
func below(dir, file string) (names []string) {
	if !filepath.IsAbs(file) {
		return nil
	}
	linked := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return path
	}
	for _, pair := range [][2]string{{dir, file}, {linked(dir), linked(file)}} {
		if name, err := filepath.Rel(pair[0], pair[1]); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// readSource reads a whole text file that is not too large; nil for anything else. Only what is a regular file is opened: opening a
// pipe would wait.
func readSource(info fs.FileInfo, err error, open func() (*os.File, error)) (text []byte, changed time.Time) {
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxSourceBytes {
		return nil, changed
	}
	f, err := open()
	if err != nil {
		return nil, changed
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxSourceBytes))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil, changed
	}
	return text, info.ModTime()
}

// sameScript is how much later than a recording a source may be written without being taken for changed, where only the file says
// when that was: scripts that make both write one after the other.
const sameScript = time.Minute

// RecordedAt is when a recording was made: as it says, else when its file was written.
func RecordedAt(path string, h *warptrace.Header) time.Time {
	if h != nil && h.TimestampNS > 0 {
		return time.Unix(0, h.TimestampNS)
	}
	if info, err := os.Stat(path); err == nil {
		return info.ModTime().Add(sameScript)
	}
	return time.Time{}
}

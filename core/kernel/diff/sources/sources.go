// Package sources finds the lines of source files that a comparison refers to, on the machine where it is made: a recording says which
// files and lines, not what is in them.
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
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/kernel/diff"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
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
	recorded time.Time // of the older recording; the zero time is unknown
	lines    int       // that may still be taken
}

// Read returns the lines around every place that a document shows first: of the first divergence, the clusters, the sites and
// the explanation. Files are looked for below the roots. What is not found is left out.
func Read(ctx context.Context, doc *diff.Document, roots []string, recorded time.Time) ([]diff.Source, error) {
	r := &sourceReader{roots: roots, recorded: recorded, lines: maxSourceLines}
	out := []diff.Source{}
	files, wanted := placesOf(doc)
	for _, file := range files {
		if len(out) >= maxSourceFiles || r.lines <= 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, r.pieces(file, wanted[file])...)
	}
	return out, nil
}

// placesOf lists the files of a document in the order in which they are mentioned, and the lines of each.
func placesOf(doc *diff.Document) (files []string, lines map[string][]int) {
	lines = map[string][]int{}
	add := func(location string) {
		file, line := fileAndLine(location)
		if file == "" || line <= 0 {
			return
		}
		if _, known := lines[file]; !known {
			files = append(files, file)
		}
		lines[file] = append(lines[file], line)
	}
	shown := func(d *diff.Divergence) {
		add(d.SourceLocation)
		add(d.LocationB)
		for i := range d.History {
			add(d.History[i].Location)
		}
	}
	if doc.First != nil {
		shown(doc.First)
	}
	if doc.Explanation != nil {
		for i := range doc.Explanation.Chain {
			add(doc.Explanation.Chain[i].SourceLocation)
		}
	}
	if doc.Outputs != nil {
		for i := range doc.Outputs.Stores {
			add(doc.Outputs.Stores[i].SourceLocation)
		}
	}
	for i := range doc.Findings {
		add(doc.Findings[i].SourceLocation)
	}
	for i := range doc.Clusters {
		shown(&doc.Clusters[i].First)
	}
	for i := range doc.Sites {
		add(doc.Sites[i].SourceLocation)
	}
	return files, lines
}

// fileAndLine takes "file:function:line:column" apart. Functions may hold colons (C++), files on this side of the world do not.
func fileAndLine(location string) (file string, line int) {
	file, rest, ok := strings.Cut(location, ":")
	if !ok {
		return "", 0
	}
	end := strings.LastIndexByte(rest, ':')
	if end < 0 {
		return "", 0
	}
	begin := strings.LastIndexByte(rest[:end], ':')
	line, err := strconv.Atoi(rest[begin+1 : end])
	if err != nil {
		return "", 0
	}
	return file, line
}

// pieces are the runs of lines of one file around the wanted ones.
func (r *sourceReader) pieces(file string, wanted []int) []diff.Source {
	text, changed := r.open(file)
	if text == nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	slices.Sort(wanted)
	var out []diff.Source
	for _, line := range slices.Compact(wanted) {
		first, last := max(1, line-sourceContext), min(len(lines), line+sourceContext)
		if line > len(lines) || r.lines <= 0 {
			break
		}
		if n := len(out); n > 0 {
			end := out[n-1].FirstLine + len(out[n-1].Lines) // the line after the piece before
			if first <= end {
				r.take(&out[n-1], lines[min(end, last+1)-1:last])
				continue
			}
		}
		piece := diff.Source{File: file, FirstLine: first, Lines: []string{}}
		piece.Stale = !r.recorded.IsZero() && changed.After(r.recorded)
		r.take(&piece, lines[first-1:last])
		out = append(out, piece)
	}
	return out
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

// open finds a file of a recording on this machine: as it was recorded when that is an absolute path, and below the roots by its path
// and by its name.
func (r *sourceReader) open(file string) (text []byte, changed time.Time) {
	if !slices.Contains(sourceEndings, strings.ToLower(path.Ext(file))) {
		return nil, changed
	}
	if filepath.IsAbs(file) {
		info, err := os.Stat(file)
		if text, changed = readSource(info, err, func() (*os.File, error) { return os.Open(file) }); text != nil {
			return text, changed
		}
	}
	local := strings.TrimLeft(filepath.ToSlash(filepath.Clean(file)), "/")
	for _, dir := range r.roots {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		for _, name := range []string{local, path.Base(local)} {
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

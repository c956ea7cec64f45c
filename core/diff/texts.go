package diff

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// readTexts reads the text of both kernels. A recording whose text is damaged is compared without, and that is said.
func readTexts(ctx context.Context, a, b *warptrace.Trace) (texts [2]*warptrace.Texts, warnings []string, err error) {
	for side, t := range []*warptrace.Trace{a, b} {
		texts[side], err = t.Texts(ctx)
		if ctx.Err() != nil {
			return texts, nil, ctx.Err()
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the text of the kernel in %s cannot be read: %v", [2]string{"A", "B"}[side], err))
		}
	}
	return texts, warnings, nil
}

// What Edits.First says.
const (
	firstEdited  = "edited"
	firstSame    = "same"
	firstUnknown = "unknown" // its text was not recorded, or no place is named
)

// What a document holds of edits at most: lines, and lines that its sentence names.
const (
	maxEditedLines = 400
	maxEditedLine  = 400 // bytes
	maxNamedLines  = 4
)

// editsOf spells how the texts differ; nil where that is not known. Edits.First and Text wait for tellFirst.
func editsOf(c *edits.Changes) *Edits {
	if c == nil {
		return nil
	}
	out := &Edits{Functions: []EditedText{}, Constants: []EditedConstant{}}
	left := maxEditedLines
	take := func(lines []string) []string {
		kept := make([]string, 0, len(lines))
		for _, line := range lines[:min(len(lines), left)] {
			kept = append(kept, strings.ToValidUTF8(clippedTo(line, maxEditedLine), "\uFFFD"))
		}
		left -= len(kept)
		out.Omitted += int64(len(lines) - len(kept))
		return kept
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		text := EditedText{Function: clippedWord(f.Name), FileA: f.FileA, FileB: f.FileB, Hunks: []Hunk{}}
		for k := range f.Hunks {
			h := &f.Hunks[k]
			hunk := Hunk{FirstA: h.FirstA, FirstB: h.FirstB, A: take(h.A), B: take(h.B)}
			if len(hunk.A)+len(hunk.B) > 0 {
				text.Hunks = append(text.Hunks, hunk)
			}
		}
		if len(text.Hunks) > 0 {
			out.Functions = append(out.Functions, text)
		}
	}
	for _, x := range c.Constants {
		out.Constants = append(out.Constants, EditedConstant(x))
	}
	return out
}

func clippedTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most]
}

// headPlaces are the places that a document names, in the order in which a reader meets them, each with the side whose line it is.
func (d *Document) headPlaces() (places []headPlace) {
	add := func(location, only string) {
		if location != "" {
			side := edits.SideA
			if only == "B" {
				side = edits.SideB
			}
			places = append(places, headPlace{location, side})
		}
	}
	if d.First != nil {
		add(d.First.SourceLocation, d.First.InTrace)
	}
	if o := d.Outputs; o != nil {
		if o.First != nil && o.First.Store != nil {
			add(o.First.Store.SourceLocation, o.First.Store.InTrace)
		}
		if len(o.Stores) > 0 {
			add(o.Stores[0].SourceLocation, o.Stores[0].InTrace)
		}
	}
	if len(d.Findings) > 0 {
		add(d.Findings[0].SourceLocation, d.Findings[0].inTrace())
	}
	return places
}

type headPlace struct {
	location string
	side     edits.Side
}

// tellFirst says whether the place that a document names first was edited.
func (d *Document) tellFirst(changes *edits.Changes) {
	if d.Edits == nil {
		return
	}
	e, at := d.Edits, ""
	e.First = firstUnknown
	if places := d.headPlaces(); len(places) > 0 {
		file, line := FileAndLine(places[0].location)
		asked := edits.Line{Side: places[0].side, File: file, Line: line}
		at = shortLine(asked)
		if changed, known := changes.Changed(asked); known {
			e.First = firstSame
			if changed {
				e.First = firstEdited
			}
		}
		if other, ok := changes.Other(asked); ok && (other.Line != asked.Line || e.First == firstEdited) {
			at += " (" + sideName(other.Side) + ": " + shortLine(other) + ")"
		}
	}
	e.Text = e.sentence(editedLines(changes), at)
}

// sentence is what Edits say in one sentence. lines are the statements that were edited, at the place that differs first.
func (e *Edits) sentence(lines, at string) string {
	var constants []string
	for _, c := range e.Constants[:min(len(e.Constants), maxNamedLines)] {
		constants = append(constants, fmt.Sprintf("%s (%s and %s)", clippedWord(c.Name), orNone(c.A), orNone(c.B)))
	}
	compiled := ""
	if len(constants) > 0 {
		compiled = "compiled for another " + strings.Join(constants, ", ")
	}
	switch {
	case len(e.Functions) == 0 && compiled == "":
		return "both sides have the same text"
	case len(e.Functions) == 0:
		return "both sides have the same text, " + compiled
	default:
		text := "edited: " + lines
		if compiled != "" {
			text += "; " + compiled
		}
		switch {
		case at == "" || e.First == firstUnknown:
		case e.First == firstEdited:
			text += "; " + at + ", the line that differs first, is one of them"
		default:
			text += "; " + at + ", the line that differs first, is the same in both texts"
		}
		return text
	}
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return clippedWord(value)
}

// editedLines names the statements that were edited: "A kernel.py:9, B kernel.py:9".
func editedLines(c *edits.Changes) string {
	var named []string
	for _, side := range []edits.Side{edits.SideA, edits.SideB} {
		lines := c.ChangedLines(side)
		for i, l := range lines {
			if i == maxNamedLines {
				named = append(named, fmt.Sprintf("%d more of %s", len(lines)-i, sideName(side)))
				break
			}
			named = append(named, sideName(side)+" "+shortLine(l))
		}
	}
	if len(named) == 0 { // functions that only one side has
		for _, f := range c.Functions[:min(len(c.Functions), maxNamedLines)] {
			named = append(named, clippedWord(f.Name))
		}
	}
	return strings.Join(named, ", ")
}

func sideName(s edits.Side) string {
	if s == edits.SideB {
		return "B"
	}
	return "A"
}

func shortLine(l edits.Line) string { return fmt.Sprintf("%s:%d", path.Base(l.File), l.Line) }

// FileAndLine takes "file:function:line:column" apart. Functions may hold colons (C++), files on this side of the world do not. The line
// is 0 where the location is not of that form.
func FileAndLine(location string) (file string, line int) {
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

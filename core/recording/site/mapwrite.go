package site

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// mapName is what site maps are called, here and by other tools.
const mapName = "prlx-sites.json"

// WriteMap writes a site map, one site a line. Fields that other tools do not know are written only where they say something.
func WriteMap(w io.Writer, t *Table) error {
	out := bufio.NewWriter(w)
	out.WriteByte('[')
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for i := range t.Len() {
		line.Reset()
		if err := enc.Encode(entryOf(t.At(i))); err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	}
	out.WriteString("\n]\n")
	return out.Flush()
}

func entryOf(s *Site) *entry {
	kind := uint8(s.Kind)
	e := &entry{ID: &s.ID, Kind: &kind, Text: s.Text, Shape: s.Shape, Code: s.Code, Occurrence: s.Occurrence, Operands: writtenOperands(s.Operands)}
	if len(s.Chain) > 0 {
		f := &s.Chain[0]
		e.File, e.Function, e.Line, e.Column = f.File, f.Function, f.Line, f.Column
		for _, f := range s.Chain[1:] {
			e.Inlined = append(e.Inlined, frame(f))
		}
	}
	if s.Ordinal >= 0 {
		e.Ordinal = &s.Ordinal
	}
	if s.Compare != NoCompare {
		c := uint8(s.Compare)
		e.Compare = &c
	}
	if s.Key != 0 {
		e.Key = "0x" + hex16(uint64(s.Key))
	}
	return e
}

func writtenOperands(in []Operand) []operand {
	out := make([]operand, 0, len(in))
	for i := range in {
		o := &in[i]
		e := operand{Role: o.Role, Type: o.Type, Origin: uint8(o.Origin), Name: o.Name, Inputs: writtenOperands(o.Inputs)}
		if o.Site != 0 {
			e.Site = "0x" + hex16(uint64(o.Site))
		}
		if o.Where != (Frame{}) {
			f := frame(o.Where)
			e.Where = &f
		}
		out = append(out, e)
	}
	return out
}

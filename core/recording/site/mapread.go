package site

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Limits of a site map. The largest modules that we know have some ten thousand sites.
const (
	maxMapBytes     = 128 << 20
	maxMapSites     = 1 << 20
	maxEntryBytes   = 1 << 20
	maxParts        = 1 << 20 // frames and operands of all sites: three bytes of text become a hundred of memory
	maxChain        = 256
	maxOperandDepth = 16
)

const mapHint = "a site map is prlx-sites.json: a list of sites, see docs/formats/prlx-sites.md"

// entry is one element of the file. Pointers tell a missing field from a zero.
type entry struct {
	ID         *uint32   `json:"site_id"`
	File       string    `json:"filename"`
	Function   string    `json:"function"`
	Line       uint32    `json:"line"`
	Column     uint32    `json:"column"`
	Kind       *uint8    `json:"event_type"`
	Ordinal    *int32    `json:"ordinal,omitempty"`
	Inlined    []frame   `json:"inlined_at,omitempty"`
	Key        string    `json:"key,omitempty"`
	Occurrence uint32    `json:"occurrence,omitempty"`
	Compare    *uint8    `json:"compare,omitempty"`
	Text       string    `json:"text,omitempty"`
	Shape      uint32    `json:"shape,omitempty"`
	Code       uint32    `json:"code,omitempty"`
	Operands   []operand `json:"operands,omitempty"`
}

type frame struct {
	Function string `json:"function"`
	File     string `json:"filename"`
	Line     uint32 `json:"line"`
	Column   uint32 `json:"column"`
}

type operand struct {
	Role   string    `json:"role,omitempty"`
	Type   string    `json:"type,omitempty"`
	Origin uint8     `json:"origin"`
	Name   string    `json:"name,omitempty"`
	Site   string    `json:"site,omitempty"`
	Where  *frame    `json:"where,omitempty"`
	Inputs []operand `json:"inputs,omitempty"`
}

// ReadMap reads a site map (prlx-sites.json). The warnings say what was strange about it and could still be read. Of several entries
// with one id the last holds. Sites for which the file has no key get that of KeyOf.
func ReadMap(ctx context.Context, src *file.Source) (*Table, []string, error) {
	if src.Size() > maxMapBytes {
		return nil, nil, fault.New(fault.Limit, "the site map has %d bytes; at most %d are read", src.Size(), maxMapBytes).WithPath(src.Path())
	}
	r := &mapReader{path: src.Path(), byID: map[uint32]int{}, keys: map[Key]bool{}}
	r.dec = json.NewDecoder(bufio.NewReaderSize(io.NewSectionReader(src, 0, src.Size()), 1<<16))
	if err := r.read(ctx); err != nil {
		return nil, nil, err
	}
	r.finish()
	return NewTable(r.sites), r.warnings(), nil
}

type mapReader struct {
	path      string
	dec       *json.Decoder
	sites     []Site
	byID      map[uint32]int
	keys      map[Key]bool // of sites
	parts     int
	repeated  int // entries that say again what another said
	conflicts int // entries that contradict an earlier one
	badKeys   int // keys that are not KeyOf's
}

func (r *mapReader) wrong(offset int64, format string, args ...any) error {
	return fault.Formatf(r.path, offset, "site map: %s", fmt.Sprintf(format, args...)).WithHint(mapHint)
}

func (r *mapReader) broken(err error, base int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.wrong(r.dec.InputOffset(), "the file ends inside the list of sites")
	case errors.As(err, &syntax):
		return r.wrong(base, "%s", syntax.Error())
	case fault.Of(err).Kind != fault.Internal:
		return err
	}
	return r.wrong(base, "%s", err.Error())
}

func (r *mapReader) read(ctx context.Context) error {
	first, err := r.dec.Token()
	if err != nil {
		return r.broken(err, r.dec.InputOffset())
	}
	if first != json.Delim('[') {
		return r.wrong(0, "expected a list, got %s", tokenName(first))
	}
	for n := 0; r.dec.More(); n++ {
		if n == maxMapSites {
			return fault.New(fault.Limit, "the site map has more than %d sites", maxMapSites).WithPath(r.path)
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return fault.Of(ctx.Err())
		}
		if err := r.entry(n); err != nil {
			return err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return r.broken(err, r.dec.InputOffset())
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return r.wrong(r.dec.InputOffset(), "something follows the list of sites")
	}
	return nil
}

func tokenName(t json.Token) string {
	switch t.(type) {
	case json.Delim:
		return "an object"
	case string:
		return "text"
	case nil:
		return "null"
	}
	return "a number or a truth value"
}

// entry reads element n of the list.
func (r *mapReader) entry(n int) error {
	var raw json.RawMessage
	if err := r.dec.Decode(&raw); err != nil {
		return r.broken(err, r.dec.InputOffset())
	}
	at := r.dec.InputOffset() - int64(len(raw))
	if len(raw) > maxEntryBytes {
		return r.wrong(at, "entry %d has %d bytes; at most %d are read", n, len(raw), maxEntryBytes)
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			field := typed.Field
			if field == "" {
				return r.wrong(at, "entry %d is %s, expected an object", n, typed.Value)
			}
			return r.wrong(at+typed.Offset, "entry %d: %s is %s, expected %s", n, field, typed.Value, expected(typed.Type.String()))
		}
		return r.broken(err, at)
	}
	if e.ID == nil || e.Kind == nil {
		return r.wrong(at, "entry %d has no site_id or no event_type", n)
	}
	s, what := e.site()
	if what != "" {
		return r.wrong(at, "entry %d: %s", n, what)
	}
	if r.parts += len(s.Chain) + countOperands(s.Operands); r.parts > maxParts {
		return fault.New(fault.Limit, "the site map has more than %d locations and operands", maxParts).WithPath(r.path)
	}
	r.add(s)
	return nil
}

func countOperands(operands []Operand) int {
	n := len(operands)
	for i := range operands {
		n += countOperands(operands[i].Inputs)
	}
	return n
}

func expected(goType string) string {
	switch {
	case strings.HasPrefix(goType, "uint32"), strings.HasPrefix(goType, "*uint32"):
		return "an integer from 0 to 4294967295"
	case strings.HasPrefix(goType, "uint8"), strings.HasPrefix(goType, "*uint8"):
		return "an integer from 0 to 255"
	case strings.Contains(goType, "int32"):
		return "an integer from -2147483648 to 2147483647"
	case goType == "string":
		return "text"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "an object"
}

func (r *mapReader) add(s Site) {
	i, known := r.byID[s.ID]
	if !known || s.ID == 0 {
		if s.ID != 0 {
			r.byID[s.ID] = len(r.sites)
		}
		r.keys[s.Key] = true
		r.sites = append(r.sites, s)
		return
	}
	old := &r.sites[i]
	switch same := FormatLocation(old) == FormatLocation(&s) && old.Kind == s.Kind; {
	case same && old.Key != 0 && s.Key != 0 && !r.keys[s.Key]: // inlined at several places: one id, several keys
		r.keys[s.Key] = true
		r.sites = append(r.sites, s)
		return
	case same:
		r.repeated++
	default:
		r.conflicts++
	}
	r.keys[s.Key] = true
	r.sites[i] = s
}

// finish gives keys to the sites that have none.
func (r *mapReader) finish() {
	own := make([]Site, len(r.sites))
	copy(own, r.sites)
	AssignKeys(own)
	for i := range r.sites {
		s := &r.sites[i]
		switch {
		case s.Key == 0:
			s.Key, s.Occurrence = own[i].Key, own[i].Occurrence
		case s.Key != KeyOf(s):
			r.badKeys++
		}
	}
}

func (r *mapReader) warnings() []string {
	var out []string
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, "site map: 1 "+one)
		case n > 1:
			out = append(out, "site map: "+strconv.Itoa(n)+" "+many)
		}
	}
	say(r.repeated, "site stands there twice", "entries repeat earlier ones")
	say(r.conflicts, "id stands for two places: the later one was taken", "ids stand for several places: the last one was taken")
	say(r.badKeys, "key is not that of its place; it was kept", "keys are not those of their places; they were kept")
	return out
}

// site turns an entry into a Site, or says what is wrong with it.
func (e *entry) site() (Site, string) {
	s := Site{ID: *e.ID, Kind: Kind(*e.Kind), Occurrence: e.Occurrence, Ordinal: -1, Compare: NoCompare, Text: e.Text, Shape: e.Shape, Code: e.Code}
	if e.Ordinal != nil {
		s.Ordinal = *e.Ordinal
	}
	if e.Compare != nil {
		s.Compare = Compare(*e.Compare)
	}
	if len(e.Inlined) > maxChain {
		return s, fmt.Sprintf("inlined_at has %d frames; at most %d are read", len(e.Inlined), maxChain)
	}
	s.Chain = append(make([]Frame, 0, 1+len(e.Inlined)), Frame{Function: e.Function, File: e.File, Line: e.Line, Column: e.Column})
	for _, f := range e.Inlined {
		s.Chain = append(s.Chain, Frame(f))
	}
	var what string
	if s.Key, what = parseKey(e.Key); what != "" {
		return s, what
	}
	s.Operands, what = operandsOf(e.Operands, 0)
	return s, what
}

func parseKey(text string) (Key, string) {
	if text == "" {
		return 0, ""
	}
	digits, ok := strings.CutPrefix(text, "0x")
	k, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || k == 0 {
		return 0, fmt.Sprintf("%.40q is not a key, expected 0x and 16 hexadecimal digits", text)
	}
	return Key(k), ""
}

func operandsOf(in []operand, depth int) ([]Operand, string) {
	if len(in) == 0 {
		return nil, ""
	}
	if depth == maxOperandDepth {
		return nil, fmt.Sprintf("operands are nested more than %d deep", maxOperandDepth)
	}
	out := make([]Operand, len(in))
	for i := range in {
		o := &in[i]
		inputs, what := operandsOf(o.Inputs, depth+1)
		if what != "" {
			return nil, what
		}
		key, what := parseKey(o.Site)
		if what != "" {
			return nil, what
		}
		out[i] = Operand{Role: o.Role, Type: o.Type, Origin: Origin(o.Origin), Name: o.Name, Site: key, Inputs: inputs}
		if o.Where != nil {
			out[i].Where = Frame(*o.Where)
		}
	}
	return out, ""
}

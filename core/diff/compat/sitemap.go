package compat

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// A site map is bounded: every place of a kernel of a million lines has room.
const (
	maxMapSites = 4 << 20
	maxMapBytes = 1 << 30
)

// SiteMap is prlx-sites.json as original prlx 0.5 reads it: every entry with all its fields or none of the file; of two entries
// for one site the later holds.
type SiteMap struct {
	sites map[uint32]mapped
	order []uint32 // as in the file, repetitions too
}

type mapped struct {
	file, function        string
	line, column, ordinal uint32
	kind                  uint8
	hasOrdinal            bool
}

// mapEntry is one element of the file. Pointers tell what is missing from what is 0.
type mapEntry struct {
	SiteID    *uint32 `json:"site_id"`
	Filename  *string `json:"filename"`
	Function  *string `json:"function"`
	Line      *uint32 `json:"line"`
	Column    *uint32 `json:"column"`
	EventType *uint8  `json:"event_type"`
	Ordinal   *uint32 `json:"ordinal"`
}

// ReadSiteMap reads prlx-sites.json.
func ReadSiteMap(ctx context.Context, src *file.Source) (*SiteMap, error) {
	path := src.Path()
	if src.Size() > maxMapBytes {
		return nil, fault.New(fault.Limit, "site map: %d bytes, at most %d are read", src.Size(), maxMapBytes).WithPath(path)
	}
	d := json.NewDecoder(bufio.NewReader(io.NewSectionReader(src, 0, src.Size())))
	wrong := func(what string, err error) error {
		return fault.Formatf(path, d.InputOffset(), "site map: %s", what).Wrap(err).
			WithHint("a site map is the prlx-sites.json that compiling with recording leaves")
	}
	start, err := d.Token()
	if err != nil || start != json.Delim('[') {
		return nil, wrong("expected an array of sites", err)
	}
	m := &SiteMap{sites: map[uint32]mapped{}}
	for d.More() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(m.order) == maxMapSites {
			return nil, fault.New(fault.Limit, "site map: more than %d sites", maxMapSites).WithPath(path)
		}
		var e mapEntry
		if err := d.Decode(&e); err != nil {
			return nil, wrong("entry "+strconv.Itoa(len(m.order))+" is not a site: "+err.Error(), err)
		}
		if e.SiteID == nil || e.Filename == nil || e.Function == nil || e.Line == nil || e.Column == nil || e.EventType == nil {
			return nil, wrong("entry "+strconv.Itoa(len(m.order))+
				" lacks one of site_id, filename, function, line, column, event_type", nil)
		}
		m.add(&e)
	}
	if _, err := d.Token(); err != nil {
		return nil, wrong("the array does not end", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, wrong("more than one JSON value", err)
	}
	return m, nil
}

func (m *SiteMap) add(e *mapEntry) {
	s := mapped{file: *e.Filename, function: *e.Function, line: *e.Line, column: *e.Column, kind: *e.EventType}
	if e.Ordinal != nil {
		s.ordinal, s.hasOrdinal = *e.Ordinal, true
	}
	m.sites[*e.SiteID] = s
	m.order = append(m.order, *e.SiteID)
}

// location is where a site is, as documents spell it.
func (m *SiteMap) location(id uint32) (string, bool) {
	if m == nil {
		return "", false
	}
	s, ok := m.sites[id]
	if !ok {
		return "", false
	}
	return s.file + ":" + s.function + ":" + strconv.FormatUint(uint64(s.line), 10) + ":" + strconv.FormatUint(uint64(s.column), 10), true
}

// label is what a site is called in a flamegraph.
func (m *SiteMap) label(id uint32) string {
	if m != nil {
		if s, ok := m.sites[id]; ok {
			return s.file + ":" + strconv.FormatUint(uint64(s.line), 10)
		}
	}
	return hex8(id)
}

// place is what original prlx 0.5 pairs sites of two builds by.
type place struct {
	function string
	kind     uint8
	ordinal  uint32
}

// remapping returns B's sites in terms of A's. Sites without an ordinal are left alone. Where two sites of A share a place, the
// original prlx 0.5 takes whichever its hash table yields last, so it varies from run to run; here it is the later one in the file.
func remapping(a, b *SiteMap) map[uint32]uint32 {
	if a == nil || b == nil {
		return nil
	}
	byPlace := map[place]uint32{}
	for _, id := range a.order {
		if s := a.sites[id]; s.hasOrdinal {
			byPlace[place{s.function, s.kind, s.ordinal}] = id
		}
	}
	out := map[uint32]uint32{}
	for id, s := range b.sites {
		if to, ok := byPlace[place{s.function, s.kind, s.ordinal}]; ok && s.hasOrdinal {
			out[id] = to
		}
	}
	return out
}

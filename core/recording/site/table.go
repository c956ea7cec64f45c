package site

import "strconv"

// Table holds the sites of one module or one recording. It does not change once made. The nil Table is empty.
type Table struct {
	sites []Site
	byID  map[uint32]int
	byKey map[Key]int
}

// NewTable makes a table of sites; their position is their local number in format v2. Of several sites with the same id or key the
// first is found.
func NewTable(sites []Site) *Table {
	t := &Table{sites: sites, byID: make(map[uint32]int, len(sites)), byKey: make(map[Key]int, len(sites))}
	for i := range sites {
		if _, taken := t.byID[sites[i].ID]; !taken && sites[i].ID != 0 {
			t.byID[sites[i].ID] = i
		}
		if _, taken := t.byKey[sites[i].Key]; !taken && sites[i].Key != 0 {
			t.byKey[sites[i].Key] = i
		}
	}
	t.name(newLibraries(nil))
	return t
}

// Len is the number of sites.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.sites)
}

// At returns the site at a position, which must be below Len.
func (t *Table) At(i int) *Site { return &t.sites[i] }

// ByID finds a site by its id of format v1.
func (t *Table) ByID(id uint32) (int, bool) {
	if t == nil {
		return 0, false
	}
	i, ok := t.byID[id]
	return i, ok
}

// byKey finds a site by its key of format v2.
func (t *Table) ByKey(k Key) (int, bool) {
	if t == nil {
		return 0, false
	}
	i, ok := t.byKey[k]
	return i, ok
}

// FormatLocation returns "file:function:line:column" of the line that names a site to its user, spelled as in the documents of original
// prlx 0.5, "" when the location is unknown.
func FormatLocation(s *Site) string {
	if s == nil || len(s.Chain) == 0 {
		return ""
	}
	return FormatFrame(s.Shown())
}

// FormatFrame returns "file:function:line:column".
func FormatFrame(f Frame) string {
	return f.File + ":" + f.Function + ":" + strconv.FormatUint(uint64(f.Line), 10) + ":" + strconv.FormatUint(uint64(f.Column), 10)
}

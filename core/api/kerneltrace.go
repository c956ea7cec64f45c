package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

type kernelTraceRequest struct {
	requestLimits
	siteMapArgs
	Path    string   `json:"path"`
	Warps   string   `json:"warps"` // "0-10,15"
	Sites   []string `json:"sites"` // ids or locations
	Kinds   []string `json:"kinds"` // of sites
	MaxRows int64    `json:"max_rows"`
	Head    int64    `json:"head"`   // only the first events
	Tables  []string `json:"tables"` // "warps", "events", "sites", "history", "snapshots"
}

// tablesOfTraces are the tables that a request of kernel_trace may ask for.
var tablesOfTraces = []string{"warps", "events", "sites", "history", "snapshots"}

// kernelTrace describes a recording and reads what was asked for into columns.
func kernelTrace(j *job.Job, r *kernelTraceRequest) (*describe.Recording, error) {
	for _, name := range r.Tables {
		if !slices.Contains(tablesOfTraces, name) {
			return nil, fault.Usagef("there is no table %q", name).WithHint("there are %s", strings.Join(tablesOfTraces, ", "))
		}
	}
	t, err := recording.Open(j.Context(), r.Path, r.maps())
	if err != nil {
		return nil, err
	}
	defer t.Close()
	doc, err := describe.OfRecording(j.Context(), t)
	if err != nil {
		return nil, fault.Of(err).WithPath(r.Path)
	}
	if err := readTables(j, t, r); err != nil {
		return nil, fault.Of(err).WithPath(r.Path)
	}
	return doc, nil
}

// bytesPerRow is what a row of the table of events takes while it is made and handed out.
const bytesPerRow = 64

// mostRows is how many rows fit into the memory limit.
func mostRows(j *job.Job, asked int64) int64 {
	most := int64(1) << 28
	if limit := j.Budget().Limit(); limit > 0 {
		most = min(most, limit/bytesPerRow)
	}
	if asked > 0 {
		most = min(most, asked)
	}
	return most
}

// traceReader reads the events of chosen warps, sites and kinds into columns.
type traceReader struct {
	t       *recording.Recording
	most    int64
	head    int64
	filter  *recording.Filter
	numbers map[uint32]int32
	locals  []uint32 // of the sites met, in the order of their first event
	counts  []int64  // events of each
	first   []site.Kind

	keep bool // the events are wanted, not only their counts
	rows eventRows

	lanes   *snapshotRows
	history *historyRows
}

// eventRows are the columns of the table of events.
type eventRows struct {
	warp                        []int64
	event, site, kind, dir, typ []int32
	active, taken, value        []int64
}

func readTables(j *job.Job, t *recording.Recording, r *kernelTraceRequest) error {
	wants := func(name string) bool { return slices.Contains(r.Tables, name) }
	warps, err := diff.ParseWarps(r.Warps)
	if err != nil {
		return err
	}
	sites, err := site.ParsePatterns(r.Sites)
	if err != nil {
		return err
	}
	index, err := t.Index(j.Context())
	if err != nil {
		return err
	}
	if !warps.All() {
		index = slices.DeleteFunc(slices.Clone(index), func(w warptrace.WarpInfo) bool { return !warps.Has(w.Warp) })
	}
	if wants("warps") {
		attachTable(j, "warps", warpTable(t.Header(), index))
	}
	if !wants("events") && !wants("sites") && !wants("history") && !wants("snapshots") {
		return nil
	}
	read := &traceReader{
		t: t, most: mostRows(j, r.MaxRows), head: r.Head, filter: recording.NewFilter(t.Trace, sites, r.Kinds), keep: wants("events"),
		numbers: map[uint32]int32{},
	}
	if wants("history") {
		read.history = new(historyRows)
	}
	if wants("snapshots") {
		read.lanes = new(snapshotRows)
	}
	if err := read.all(j, index); err != nil {
		return err
	}
	read.attach(j, wants("sites"))
	return nil
}

func (r *traceReader) all(j *job.Job, index []warptrace.WarpInfo) error {
	var total int64
	for i := range index {
		total += int64(index[i].Events)
	}
	if r.keep && r.head == 0 && r.filter.All() {
		if total > r.most {
			return r.tooMany(total)
		}
		r.rows.grow(int(total))
	}
	j.Progress().SetStage("reading")
	j.Progress().SetTotal(total)
	var w warptrace.Warp
	for i := range index {
		if err := j.Context().Err(); err != nil {
			return err
		}
		if err := r.t.ReadWarp(j.Context(), index[i].Warp, &w); err != nil {
			return err
		}
		done, err := r.warp(&w)
		if err != nil || done {
			return err
		}
		j.Progress().Add(int64(w.Len()))
	}
	return nil
}

func (r *traceReader) tooMany(n int64) error {
	return fault.New(fault.Limit, "the table would have %d rows, and %d fit", n, r.most).
		WithHint("read some of it (warps, sites, kinds), or raise max_rows or the memory limit")
}

// warp adds the events of one warp; it reports whether enough was read.
func (r *traceReader) warp(w *warptrace.Warp) (done bool, err error) {
	for i := range w.Site {
		if !r.filter.Keeps(w, i) {
			continue
		}
		number := r.number(w.Site[i], w.Kind[i])
		r.counts[number]++
		if !r.keep {
			continue
		}
		if int64(len(r.rows.warp)) >= r.most {
			return false, r.tooMany(r.most + 1)
		}
		r.rows.add(w, i, number)
		if r.head > 0 && int64(len(r.rows.warp)) == r.head {
			return true, nil
		}
	}
	if r.history != nil {
		r.history.add(r.t.Trace, w)
	}
	if r.lanes != nil {
		r.lanes.add(r.t.Trace, w)
		if int64(len(r.lanes.warp)) > r.most {
			return false, r.tooMany(int64(len(r.lanes.warp)))
		}
	}
	return false, nil
}

// number counts the sites in the order of their first event.
func (r *traceReader) number(local uint32, kind site.Kind) int32 {
	n, known := r.numbers[local]
	if !known {
		n = int32(len(r.locals))
		r.numbers[local] = n
		r.locals = append(r.locals, local)
		r.counts = append(r.counts, 0)
		r.first = append(r.first, kind)
	}
	return n
}

func (e *eventRows) grow(n int) {
	e.warp = make([]int64, 0, n)
	for _, column := range []*[]int32{&e.event, &e.site, &e.kind, &e.dir, &e.typ} {
		*column = make([]int32, 0, n)
	}
	for _, column := range []*[]int64{&e.active, &e.taken, &e.value} {
		*column = make([]int64, 0, n)
	}
}

func (e *eventRows) add(w *warptrace.Warp, i int, number int32) {
	e.warp = append(e.warp, int64(w.Warp))
	e.event = append(e.event, int32(i))
	e.site = append(e.site, number)
	e.kind = append(e.kind, int32(w.Kind[i]))
	e.dir = append(e.dir, int32(w.Dir[i]))
	e.typ = append(e.typ, int32(w.Type[i]))
	e.active = append(e.active, int64(w.Active[i]))
	e.taken = append(e.taken, int64(w.Taken[i]))
	e.value = append(e.value, int64(w.Value[i]))
}

func (r *traceReader) attach(j *job.Job, sites bool) {
	names, places := make([]string, len(r.locals)), make([]string, len(r.locals))
	for i, local := range r.locals {
		names[i] = recording.SiteText(r.t.Trace, local)
		if s, ok := r.t.SiteOf(local); ok {
			places[i] = site.FormatLocation(s)
		}
	}
	if r.keep {
		attachTable(j, "events", r.rows.table(r.t.Header().Taken, names, places))
	}
	if sites {
		attachTable(j, "sites", r.siteTable(names))
	}
	if r.history != nil {
		attachTable(j, "history", r.history.table())
	}
	if r.lanes != nil {
		attachTable(j, "snapshots", r.lanes.table())
	}
}

// table makes the columns of events; sites and places are the names and source locations of sites.
func (e *eventRows) table(taken bool, sites, places []string) *table {
	n := len(e.warp)
	out := newTable(n)
	out.Int64("warp", "", e.warp, nil)
	out.int32("event", "", e.event, nil)
	out.codes("site", e.site, sites)
	out.codes("location", located(e.site, places), places)
	out.codes("kind", e.kind, kindDictionary(e.kind))
	out.int32("dir", "", e.dir, nil)
	out.Int64("active", "", e.active, nil)
	var known []bool
	if !taken {
		known = make([]bool, n)
	}
	out.Int64("taken", "", e.taken, known)
	valued := make([]bool, n)
	for i, t := range e.typ {
		valued[i] = warptrace.ValueType(t) != warptrace.TypeNone
	}
	out.Int64("value", "", e.value, valued)
	out.codes("type", e.typ, typeDictionary(e.typ))
	return out
}

// located are the codes of sites whose place is known; those of others are missing.
func located(sites []int32, places []string) []int32 {
	codes := make([]int32, len(sites))
	for i, s := range sites {
		if codes[i] = s; s >= 0 && int(s) < len(places) && places[s] == "" {
			codes[i] = missingCode
		}
	}
	return codes
}

func kindDictionary(codes []int32) []string {
	out := make([]string, highest(codes)+1)
	for k := range out {
		out[k] = site.Kind(k).String()
	}
	return out
}

func typeDictionary(codes []int32) []string {
	out := make([]string, highest(codes)+1)
	for k := range out {
		out[k] = warptrace.ValueType(k).String()
	}
	return out
}

func highest(codes []int32) int32 {
	most := int32(-1)
	for _, c := range codes {
		most = max(most, c)
	}
	return most
}

// siteTable has the sites that were met, in the order of their first event, then those of the recording that were not.
func (r *traceReader) siteTable(names []string) *table {
	locals, counts := slices.Clone(r.locals), slices.Clone(r.counts)
	if r.t.Header().Version != 1 && r.filter.All() {
		for i := range r.t.Sites().Len() {
			if _, met := r.numbers[uint32(i)]; !met {
				locals, counts = append(locals, uint32(i)), append(counts, 0)
				names = append(names, recording.SiteText(r.t.Trace, uint32(i)))
			}
		}
	}
	var id, kind, location, file, function, text, code stringColumn
	line, column := make([]int32, len(locals)), make([]int32, len(locals))
	known := make([]bool, len(locals))
	for i, local := range locals {
		id.append(names[i])
		s, ok := r.t.SiteOf(local)
		if !ok {
			kind.append(r.first[i].String()) // a site that nobody names was met: its events say what it is
			for _, c := range []*stringColumn{&location, &file, &function, &text, &code} {
				c.appendMissing()
			}
			continue
		}
		where := s.Where()
		known[i], line[i], column[i] = where.Line > 0, int32(where.Line), int32(where.Column)
		kind.append(s.Kind.String())
		at := ""
		if len(s.Chain) > 0 {
			at = site.FormatFrame(where)
		}
		appendOrMissing(&location, at)
		appendOrMissing(&file, where.File)
		appendOrMissing(&function, where.Function)
		appendOrMissing(&text, s.Text)
		hash := ""
		if s.Code != 0 {
			hash = fmt.Sprintf("0x%08x", s.Code)
		}
		appendOrMissing(&code, hash)
	}
	out := newTable(len(locals))
	out.strings("site", &id)
	out.strings("kind", &kind)
	out.strings("location", &location)
	out.strings("file", &file)
	out.strings("function", &function)
	out.int32("line", "", line, known)
	out.int32("column", "", column, known)
	out.strings("text", &text)
	out.strings("code", &code)
	out.Int64("events", "", counts, nil)
	return out
}

func appendOrMissing(column *stringColumn, text string) {
	if text == "" {
		column.appendMissing()
		return
	}
	column.append(text)
}

func warpTable(h *warptrace.Header, index []warptrace.WarpInfo) *table {
	n := len(index)
	warp, block, total, dropped := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	events := make([]int32, n)
	known, hashed := make([]bool, n), make([]bool, n)
	hash := make([]int64, n)
	for i := range index {
		w := &index[i]
		warp[i], events[i], total[i], dropped[i] = int64(w.Warp), int32(w.Events), int64(w.Total), int64(w.Dropped)
		hash[i], hashed[i] = int64(w.Rolling), w.HasRolling
		if h.WarpsPerBlock > 0 {
			block[i], known[i] = int64(w.Warp/uint64(h.WarpsPerBlock)), true
		}
	}
	out := newTable(n)
	out.Int64("warp", "", warp, nil)
	out.Int64("block", "", block, known)
	out.int32("events", "", events, nil)
	out.Int64("total", "", total, nil)
	out.Int64("dropped", "", dropped, nil)
	out.Int64("hash", "", hash, hashed)
	return out
}

package warptrace

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
)

// ConvertOptions shape what Convert writes.
type ConvertOptions struct {
	Compress      bool         // v1: the events in one zstd frame; v2 is always compressed
	Level         int          // zstd level, 0: 3
	Variant       site.Variant // v1: how ids of sites that have none are hashed
	EventsPerWarp uint32       // v1: capacity of a warp; 0: that of the header, or as many as the fullest warp has
}

// ConvertReport says what Convert did.
type ConvertReport struct {
	From, To      int // format versions
	Warps, Events int64
	Sites         *site.Table   // as the file that was written knows them: for v1, what a site map must hold
	Lost          []convertLoss // what has no place in the format that was written; empty: nothing
}

// convertLoss is one kind of thing that was left out.
type convertLoss struct {
	What  string
	Count int64
}

func (r *ConvertReport) lose(what string, count int64) {
	if count > 0 {
		r.Lost = append(r.Lost, convertLoss{what, count})
	}
}

// maxV1File is how large a file of v1 may become: its warps take their whole buffers whether they are used or not.
const maxV1File = 1 << 36

// Convert writes a recording in a format version, 1 or 2; the same version again compresses it anew. What has no place is left out,
// counted and listed. A recording that was cut is refused: what it lost would look like what the kernel never did, in a file that is whole.
func Convert(j *job.Job, from *Trace, to io.Writer, version int, opt ConvertOptions) (ConvertReport, error) {
	c := &conversion{j: j, from: from, opt: opt, report: ConvertReport{From: from.Header().Version, To: version}}
	losses, err := from.Losses(j.Context())
	if err != nil {
		return c.report, err
	}
	if losses.Truncated {
		return c.report, fault.Formatf(from.Path(), fault.Unknown, "was cut, or is damaged: a recording that is whole cannot be made of it").
			WithHint("record again, or copy the file again; prlx diff and prlx inspect read what is left of it")
	}
	index, err := from.Index(j.Context())
	if err != nil {
		return c.report, err
	}
	c.index = index
	c.report.Warps = int64(len(index))
	for i := range index {
		c.report.Events += int64(index[i].Events)
	}
	j.Progress().SetStage("convert")
	j.Progress().SetTotal(c.report.Events)
	switch version {
	case 1:
		err = c.toV1(to)
	case 2:
		err = c.toV2(to)
	default:
		err = fault.Usagef("there is no format version %d to convert to", version).WithHint("1 or 2")
	}
	return c.report, err
}

// conversion is one Convert.
type conversion struct {
	j      *job.Job
	from   *Trace
	opt    ConvertOptions
	index  []WarpInfo
	report ConvertReport
}

// each reads the warps in ascending order.
func (c *conversion) each(visit func(*Warp) error) error {
	var w Warp
	for i := range c.index {
		if err := c.context().Err(); err != nil { // reading one warp is too short to ask by itself
			return err
		}
		if err := c.from.rec.readWarp(c.context(), i, &w); err != nil {
			return err
		}
		if err := visit(&w); err != nil {
			return err
		}
		c.j.Progress().Add(int64(w.Events))
	}
	return nil
}

func (c *conversion) context() context.Context { return c.j.Context() }

// renumber replaces the site numbers of a warp.
func renumber(w *Warp, number func(local uint32) uint32) {
	for i, s := range w.Site {
		w.Site[i] = number(s)
	}
	for i := range w.History {
		w.History[i].Site = number(w.History[i].Site)
	}
	for i := range w.Snapshots {
		w.Snapshots[i].Site = number(w.Snapshots[i].Site)
	}
}

func (c *conversion) toV2(to io.Writer) error {
	h := *c.from.Header()
	if h.Version == 1 {
		h.Means = MeansConverted
	}
	sites := copyOf(c.from.Sites())
	if !haveKeys(sites) {
		site.AssignKeys(sites)
	}
	w, err := CreateV2(to, h, site.NewTable(sites), V2Options{Level: c.opt.Level})
	if err != nil {
		return err
	}
	losses, err := c.from.Losses(c.context())
	if err != nil {
		return err
	}
	for _, note := range losses.Notes {
		w.Note(note)
	}
	texts, err := c.from.Texts(c.context())
	if err != nil {
		return err
	}
	if texts != nil {
		if err := w.SetTexts(texts); err != nil {
			return err
		}
	}
	ids := newIDTable(sites)
	left, err := c.newLeftovers()
	if err != nil {
		return err
	}
	err = c.each(func(warp *Warp) error {
		left.give(warp)
		if h.Version == 1 {
			if fresh := ids.rename(warp); len(fresh) > 0 {
				if err := w.addSites(fresh); err != nil {
					return err
				}
			}
		}
		return w.Append(warp)
	})
	if err != nil {
		return err
	}
	if err := left.write(w); err != nil {
		return err
	}
	c.report.Sites = site.NewTable(ids.sites)
	return w.Close()
}

func copyOf(t *site.Table) []site.Site {
	all := make([]site.Site, t.Len())
	for i := range all {
		all[i] = *t.At(i)
	}
	return all
}

func haveKeys(sites []site.Site) bool {
	seen := make(map[site.Key]struct{}, len(sites))
	for i := range sites {
		k := sites[i].Key
		if _, twice := seen[k]; twice || k == 0 {
			return false
		}
		seen[k] = struct{}{}
	}
	return true
}

// idTable gives local numbers to ids of v1.
type idTable struct {
	sites []site.Site
	local map[uint32]uint32
	keys  map[site.Key]struct{}
	fresh int // sites that were there when rename began
}

func newIDTable(sites []site.Site) *idTable {
	t := &idTable{sites: sites, local: make(map[uint32]uint32, len(sites)), keys: make(map[site.Key]struct{}, len(sites))}
	for i := range sites {
		t.keys[sites[i].Key] = struct{}{}
		if _, taken := t.local[sites[i].ID]; !taken && sites[i].ID != 0 {
			t.local[sites[i].ID] = uint32(i)
		}
	}
	return t
}

// rename replaces the ids of a warp by local numbers and returns the sites that are new.
func (t *idTable) rename(w *Warp) []site.Site {
	t.fresh = len(t.sites)
	for i, id := range w.Site {
		if _, ok := t.local[id]; !ok {
			t.add(id, w.Kind[i])
		}
	}
	renumber(w, func(id uint32) uint32 {
		if _, ok := t.local[id]; !ok {
			t.add(id, site.Load) // only histories and snapshots name it
		}
		return t.local[id]
	})
	return t.sites[t.fresh:]
}

func (t *idTable) add(id uint32, kind site.Kind) {
	key := site.Key(id)
	if id == 0 {
		key = v1ZeroKey
	}
	for _, taken := t.keys[key]; taken; _, taken = t.keys[key] {
		key += 1 << 33 // a hash of another site happens to be so small
	}
	t.keys[key] = struct{}{}
	t.local[id] = uint32(len(t.sites))
	t.sites = append(t.sites, site.Site{ID: id, Key: key, Kind: kind, Ordinal: -1, Compare: site.NoCompare})
}

func (c *conversion) toV1(to io.Writer) error {
	h := c.v1Header()
	size := float64(h.WarpSlots) * (16*3 + 16*float64(h.EventsPerWarp) + 16*float64(h.HistoryDepth) + 288*float64(h.SnapshotDepth))
	if size > maxV1File {
		return fault.New(fault.Limit, "in format v1 the recording would take %.0f GB: every one of %d warps takes a buffer of %d events", size/1e9, h.WarpSlots, h.EventsPerWarp).
			WithHint("format v2 holds only what was recorded")
	}
	w, err := CreateV1(to, h, V1Options{Compress: c.opt.Compress, Level: c.opt.Level})
	if err != nil {
		return err
	}
	ids := c.v1IDs()
	var more v1Losses
	err = c.each(func(warp *Warp) error {
		more.count(warp)
		if c.report.From != 1 {
			renumber(warp, func(local uint32) uint32 { return ids[local] })
		}
		return w.Append(warp)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.listV1Losses(w, &more)
	return c.listOutputLosses()
}

// v1Header makes the header of a v1 file, and lists what of ours has no place in it.
func (c *conversion) v1Header() Header {
	h := *c.from.Header()
	if h.Version == 1 && c.opt.EventsPerWarp == 0 {
		return h
	}
	if c.opt.EventsPerWarp > 0 {
		h.EventsPerWarp = c.opt.EventsPerWarp
	} else {
		for i := range c.index {
			h.EventsPerWarp = max(h.EventsPerWarp, c.index[i].Events)
		}
	}
	if v, ok := c.from.rec.(*v2); ok {
		h.HistoryDepth = min(max(h.HistoryDepth, v.mostHistory), v1MaxRing)
		h.SnapshotDepth = min(max(h.SnapshotDepth, v.mostSnapshots), v1MaxRing)
	}
	h.Version = 1
	if h.ArchNumber == 0 {
		h.ArchNumber = archNumber(&h)
	}
	for _, fact := range []struct {
		what string
		has  bool
	}{
		{"the end of the kernel's name", len(h.Kernel) >= v1NameBytes},
		{"the hash of the module", h.ModuleHash != ""},
		{"the shape of clusters", h.Cluster != [3]uint32{}},
		{"the index of the launch", h.Launch != 0},
		{"the arguments of the launch", len(h.Arguments) > 0 || h.ArgumentDigest != 0},
		{"the policy of what is kept", h.Keep != KeepFirst},
		{"the name of the architecture", h.Arch != v1Arch(h.ArchNumber)},
		{"the fraction of the second of the launch", h.TimestampNS%1_000_000_000 != 0},
		{"the size of a wave", (h.ArchNumber >= 0x1000) != (h.WaveSize == 64)},
		{"the producer", h.Producer != ""},
	} {
		if fact.has {
			c.report.lose(fact.what, 1)
		}
	}
	return h
}

// archNumber is how v1 spells an architecture: 80 for sm_80; what begins with gfx by its digits, above 0x1000 for waves of 64 lanes.
func archNumber(h *Header) uint32 {
	digits := strings.TrimLeft(h.Arch, "abcdefghijklmnopqrstuvwxyz_")
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.ParseUint(digits, 10, 12)
	if err != nil {
		n = 0
	}
	if h.WaveSize == 64 {
		n |= 0x1000
	}
	return uint32(n)
}

// v1IDs returns the id of each local site number, and fills the report's sites with them.
func (c *conversion) v1IDs() []uint32 {
	sites := copyOf(c.from.Sites())
	c.report.Sites = site.NewTable(sites)
	if c.report.From == 1 {
		return nil
	}
	ids := make([]uint32, len(sites))
	taken := make(map[uint32]struct{}, len(sites))
	assign := site.NewAssigner(c.opt.Variant)
	var shared int64
	for i := range sites {
		s := &sites[i]
		if s.ID == 0 && (s.Key != v1ZeroKey || len(s.Chain) > 0) {
			at := s.Where()
			at.File = at.File[strings.LastIndexAny(at.File, `/\`)+1:]
			id, ordinal, _ := assign.Assign(at, s.Kind)
			s.ID = id
			if s.Ordinal < 0 {
				s.Ordinal = int32(ordinal)
			}
		}
		if _, twice := taken[s.ID]; twice {
			shared++
		}
		taken[s.ID] = struct{}{}
		ids[i] = s.ID
	}
	c.report.Sites = site.NewTable(sites)
	c.report.lose("sites that are told apart: those of one line share an id", shared)
	return ids
}

// v1Losses counts what V1Writer does not.
type v1Losses struct{ types, lanes, wide, rolling, before int64 }

func (l *v1Losses) count(w *Warp) {
	for i, t := range w.Type {
		if t != TypeBits && (t != TypeNone || w.Value[i] != 0) {
			l.types++
		}
	}
	for i := range w.Snapshots {
		s := &w.Snapshots[i]
		for _, operand := range [][]uint64{s.Lhs, s.Rhs} {
			for lane, v := range operand {
				switch {
				case lane >= v1SnapLanes && s.Active>>lane&1 == 1:
					l.lanes++
				case lane < v1SnapLanes && v > math.MaxUint32:
					l.wide++
				}
			}
		}
	}
	if w.HasRolling {
		l.rolling++
	}
	if w.Before > 0 {
		l.before++
	}
}

func (c *conversion) listV1Losses(w *V1Writer, more *v1Losses) {
	for _, l := range []convertLoss{
		{"events beyond the capacity of their warp", w.counts.events},
		{"events whose mask was cut to 32 lanes", w.counts.wideMasks},
		{"events whose value was cut to 32 bits", w.counts.wideValues},
		{"events whose taken lanes were left out", w.counts.taken},
		{"events whose value lost its type", more.types},
		{"events of kinds that readers of v1 do not know", w.counts.kinds},
		{"history entries", w.counts.history},
		{"snapshots", w.counts.snapshots},
		{"operands of lanes above 32", more.lanes},
		{"operands that were cut to 32 bits", more.wide},
		{"rolling hashes of warps", more.rolling},
		{"places of the events that are lost", more.before},
	} {
		c.report.lose(l.What, l.Count)
	}
}

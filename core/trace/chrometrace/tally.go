package chrometrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// maxCats bounds the number of distinct cats that are counted by name.
const maxCats = 4096

// tally collects what the events of one scan say.
type tally struct {
	s        *scanner
	t        *trace
	cats     map[string]*category
	procs    map[string]*process
	lastCat  *category
	lastProc *process
	names    int
	fine     int32 // bit 0: a fraction of a us was seen, bit 1: a fraction of a ns
	minText  []byte
}

type category struct {
	text   string // as written, with quotes
	count  int64
	device bool
}

type process struct {
	traceProcess
	threads map[string]*thread
	last    *thread
}

type thread struct {
	traceThread
	key string
}

func (y *tally) init(s *scanner) {
	y.s, y.t = s, s.trace
	y.cats, y.procs = map[string]*category{}, map[string]*process{}
}

// event counts one element of the list.
func (y *tally) event(b []byte, f *fields, c *chunk) error {
	t := y.t
	if f.empty() {
		t.Lenient.EmptyEvents++
		return nil
	}
	t.Events++
	c.Events++
	ph := f.phase(b)
	t.Phases[ph]++
	if f.repeated {
		t.Repeated++
	}
	cat := y.category(f.at[fieldCat].of(b))
	p, th, err := y.place(f.at[fieldPID].of(b), f.at[fieldTID].of(b))
	if err != nil {
		return err
	}
	if f.at[fieldID].set() || f.at[fieldID2].set() || f.at[fieldBindID].set() {
		y.ids(b, f)
	}
	if f.at[fieldSF].set() || f.at[fieldESF].set() {
		t.StackRefs++
	}
	if ph == 'M' {
		y.metadata(b, f, p, th)
		return nil
	}
	if p != nil {
		p.Events++
		if cat != nil && cat.device {
			p.DeviceEvents++
			if isCollectiveKernel(f.at[fieldName].of(b)) {
				y.collective(f)
			}
		}
		if th != nil {
			th.Events++
		}
	}
	if f.at[fieldTS].set() {
		y.time(b, f, c)
	}
	return nil
}

// time accounts for the ts and dur of an event. Until the scan ends, instants are relative to baseTimeNanoseconds, which may
// stand behind the events.
func (y *tally) time(b []byte, f *fields, c *chunk) {
	t := y.t
	ts := parseNumber(f.at[fieldTS].of(b))
	if !ts.ok {
		t.Unusable++
		return
	}
	y.spelling(ts)
	if notFinite(f.at[fieldDur].of(b)) {
		t.Unusable++
		return
	}
	start, ok := ts.instant(0)
	end := start
	if ok && f.at[fieldDur].set() {
		dur := parseNumber(f.at[fieldDur].of(b))
		if dur.ok {
			y.spelling(dur)
			end, ok = plus(ts.stamp, dur.stamp, 0)
			if end.Before(start) {
				end = start
				t.Negative++
			}
		} else {
			t.Unusable++
		}
	}
	if !ok {
		t.Unusable++
		return
	}
	if t.Timed == 0 || start.Before(t.Min) {
		t.Min = start
		y.minText = append(y.minText[:0], f.at[fieldTS].of(b)...)
	}
	if t.Timed == 0 || t.Max.Before(end) {
		t.Max = end
	}
	t.Timed++
	if c.Timed == 0 || start.Before(c.Min) {
		c.Min = start
	}
	if c.Timed == 0 || c.Max.Before(end) {
		c.Max = end
	}
	c.Timed++
}

func (y *tally) spelling(n number) {
	if n.ps != 0 {
		y.fine |= 1
		if n.ps%1000 != 0 {
			y.fine |= 2
		}
	}
	if n.rounded {
		y.t.RoundedPS++
	}
}

func (y *tally) category(raw []byte) *category {
	if len(raw) == 0 {
		return nil
	}
	c := y.lastCat
	if c == nil || string(raw) != c.text {
		if c = y.cats[string(raw)]; c == nil {
			if len(y.cats) >= maxCats {
				y.t.OtherCats++
				return nil
			}
			text := string(raw)
			c = &category{text: text, device: deviceCategory(string(textOf(raw)))}
			y.cats[text] = c
		}
		y.lastCat = c
	}
	c.count++
	return c
}

// maxCollectives bounds how many kernels of collectives are listed: 16 MiB.
const maxCollectives = 1 << 20

// isCollectiveKernel reports whether a kernel's name (as written) is one of NCCL's or RCCL's.
func isCollectiveKernel(name []byte) bool {
	return bytes.Contains(name, []byte("nccl")) || bytes.Contains(name, []byte("rccl")) || bytes.Contains(name, []byte("NCCL"))
}

func (y *tally) collective(f *fields) {
	if len(y.t.Collectives) >= maxCollectives {
		y.t.CollectivesOmitted++
		return
	}
	y.t.Collectives = append(y.t.Collectives, extent{y.s.offset(f.start), int64(f.end - f.start)})
}

// deviceCategory reports whether a cat is one of work on an accelerator, in Kineto's spellings of any year.
func deviceCategory(cat string) bool {
	c := strings.ToLower(cat)
	return c == "kernel" || c == "memcpy" || c == "memset" || strings.HasPrefix(c, "gpu_mem")
}

// place finds the process and thread of an event; either may be nil where pid or tid is absent.
func (y *tally) place(pid, tid []byte) (*process, *thread, error) {
	if len(pid) == 0 {
		return nil, nil, nil
	}
	p := y.lastProc
	if p == nil || string(pid) != p.PID {
		if p = y.procs[string(pid)]; p == nil {
			if err := y.newName(len(pid)); err != nil {
				return nil, nil, err
			}
			p = &process{traceProcess: traceProcess{Index: len(y.t.Processes), PID: string(pid), Device: -1}, threads: map[string]*thread{}}
			y.procs[p.PID] = p
			y.t.Processes = append(y.t.Processes, &p.traceProcess)
		}
		y.lastProc = p
	}
	if len(tid) == 0 {
		return p, nil, nil
	}
	th := p.last
	if th == nil || string(tid) != th.key {
		if th = p.threads[string(tid)]; th == nil {
			if err := y.newName(len(tid)); err != nil {
				return nil, nil, err
			}
			th = &thread{traceThread: traceThread{TID: string(tid)}, key: string(tid)}
			p.threads[th.key] = th
			p.Threads = append(p.Threads, &th.traceThread)
		}
		p.last = th
	}
	return p, th, nil
}

// newName counts a new pid or tid against the limits.
func (y *tally) newName(length int) error {
	y.names++
	if y.names > y.s.opt.MaxNames || length > 1<<12 {
		return &fault.Error{
			Kind: fault.Limit, Path: y.t.Path, Offset: y.s.offset(y.s.i),
			Msg: fmt.Sprintf("more than %d distinct pids and tids, or one longer than 4 KiB", y.s.opt.MaxNames),
		}
	}
	return nil
}

func (y *tally) ids(b []byte, f *fields) {
	y.t.FlowIDs++
	for _, v := range [...]span{f.at[fieldID], f.at[fieldBindID]} {
		if !v.set() {
			continue
		}
		if n, err := strconv.ParseUint(string(v.of(b)), 10, 64); err == nil && n > y.t.MaxID {
			y.t.MaxID = n
		}
	}
}

// metadata keeps the names and orders that metadata events give to processes and threads.
func (y *tally) metadata(b []byte, f *fields, p *process, th *thread) {
	if p == nil || !f.at[fieldArgs].set() {
		return
	}
	l := &y.s.lex
	text := func(key string) (string, bool) {
		v, ok := lookup(l, f.at[fieldArgs], key)
		return clip(string(textOf(v.of(b)))), ok
	}
	number := func(key string) (int64, bool) {
		v, ok := lookup(l, f.at[fieldArgs], key)
		n := parseNumber(v.of(b))
		return n.us, ok && n.ok
	}
	switch string(textOf(f.at[fieldName].of(b))) {
	case "process_name":
		if s, ok := text("name"); ok {
			p.Name, p.HasName = s, true
		}
	case "process_labels":
		if s, ok := text("labels"); ok {
			p.Labels, p.HasLabels = s, true
			p.Device = deviceNumber(s)
		}
	case "process_sort_index":
		if n, ok := number("sort_index"); ok {
			p.SortIndex, p.HasSortIndex = n, true
		}
	case "thread_name":
		if s, ok := text("name"); ok && th != nil {
			th.Name = s
		}
	case "thread_sort_index":
		if n, ok := number("sort_index"); ok && th != nil {
			th.SortIndex, th.HasSortIndex = n, true
		}
	}
}

// clip bounds the names that are kept in memory.
func clip(s string) string {
	const limit = 1 << 10
	if len(s) > limit {
		return s[:limit]
	}
	return s
}

// deviceNumber reads the number of "GPU 3" and the like, -1 where the label says something else.
func deviceNumber(label string) int {
	rest, ok := strings.CutPrefix(label, "GPU ")
	if n, err := strconv.Atoi(rest); ok && err == nil && n >= 0 {
		return n
	}
	return -1
}

// topLevel reads the keys of the document that mean something here.
func (y *tally) topLevel(k *key) error {
	t := y.t
	text := string(textOf(k.Value))
	switch strings.ToLower(k.Name) {
	case "basetimenanoseconds":
		if k.Name != "baseTimeNanoseconds" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fault.Formatf(t.Path, k.Offset, "baseTimeNanoseconds is %s, expected an integer", clip(string(k.Value)))
		}
		t.BaseNS, t.HasBase = n, true
	case "displaytimeunit":
		t.DisplayTimeUnit = clip(text)
	case "schemaversion":
		t.SchemaVersion = clip(text)
	case "trace_id":
		t.TraceID = clip(text)
	case "host_name", "hostname", "host":
		if len(k.Value) > 0 && k.Value[0] == '"' {
			t.Host = clip(text)
		}
	case "distributedinfo":
		t.Distributed = readDistributed(k.Value)
	}
	return nil
}

// readDistributed reads Kineto's distributedInfo; what does not have the expected type is left out.
func readDistributed(raw []byte) *distributedInfo {
	var loose struct {
		Backend   any             `json:"backend"`
		Rank      json.RawMessage `json:"rank"`
		WorldSize json.RawMessage `json:"world_size"`
		Groups    json.RawMessage `json:"pg_config"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &loose) != nil {
		return nil
	}
	d := &distributedInfo{Rank: looseInt(loose.Rank, -1), WorldSize: looseInt(loose.WorldSize, 0)}
	d.Backend, _ = loose.Backend.(string)
	var groups []struct {
		Name    any             `json:"pg_name"`
		Desc    any             `json:"pg_desc"`
		Backend any             `json:"backend_config"`
		Size    json.RawMessage `json:"pg_size"`
		Ranks   json.RawMessage `json:"ranks"`
	}
	if json.Unmarshal(loose.Groups, &groups) == nil {
		for _, g := range groups {
			pg := processGroup{Size: looseInt(g.Size, 0)}
			pg.Name, _ = g.Name.(string)
			pg.Desc, _ = g.Desc.(string)
			pg.Backend, _ = g.Backend.(string)
			if json.Unmarshal(g.Ranks, &pg.Ranks) != nil {
				pg.Ranks = nil
			}
			d.Groups = append(d.Groups, pg)
		}
	}
	return d
}

func looseInt(raw []byte, absent int) int {
	n, err := strconv.Atoi(string(textOf(bytes.TrimSpace(raw))))
	if err != nil {
		return absent
	}
	return n
}

// finish turns relative instants into absolute ones and orders the counts.
func (y *tally) finish() error {
	t := y.t
	t.ResolutionPS = 1_000_000
	if y.fine&1 != 0 {
		t.ResolutionPS = 1000
	}
	if y.fine&2 != 0 {
		t.ResolutionPS = 1
	}
	t.MinTS = clip(string(y.minText))
	for _, c := range y.cats {
		t.Cats = append(t.Cats, nameCount{clip(string(textOf([]byte(c.text)))), c.count})
	}
	sort.Slice(t.Cats, func(i, j int) bool {
		a, b := t.Cats[i], t.Cats[j]
		return a.Count > b.Count || a.Count == b.Count && a.Name < b.Name
	})
	move := func(i *Instant) bool {
		sum := i.NS + t.BaseNS
		ok := (t.BaseNS >= 0) == (sum >= i.NS)
		i.NS = sum
		return ok
	}
	if t.Timed > 0 {
		if !move(&t.Min) || !move(&t.Max) {
			return fault.Formatf(t.Path, fault.Unknown, "baseTimeNanoseconds %d plus ts lies outside +-292 years", t.BaseNS)
		}
	}
	for i := range t.Chunks {
		if c := &t.Chunks[i]; c.Timed > 0 {
			move(&c.Min)
			move(&c.Max)
		}
	}
	return nil
}

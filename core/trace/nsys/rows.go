package nsys

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// role is what the rows of a table are.
type role uint8

const (
	kernelRow role = iota
	copyRow
	fillRow
	graphRow // a CUDA graph as a whole
	callRow
	rangeRow
)

// category is what Kineto calls such events.
func (r role) category() string {
	return [...]string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_graph", "cuda_runtime", "nvtx"}[r]
}

func (r role) onDevice() bool { return r <= graphRow }

// tables are those that are read, in this order.
var tables = []struct {
	name string
	role role
}{
	{"CUPTI_ACTIVITY_KIND_KERNEL", kernelRow},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", copyRow},
	{"CUPTI_ACTIVITY_KIND_MEMSET", fillRow},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphRow},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", callRow},
	{"NVTX_EVENTS", rangeRow},
}

// book is an open database with the tables that hold events.
type book struct {
	db    *sqlite.Database
	path  string
	views []*view
}

// view is a table that holds events, with the places of its columns, -1 where it has none of the name.
type view struct {
	table                                                      *sqlite.Table
	role                                                       role
	start, end, device, context, stream, pid, tid, correlation int
	demangled, short, mangled, called, text, textID, kind      int // what names an event
	copyKind, sourceKind, targetKind, memory, graph            int
	bytes, grid, block, registers, static, dynamic, domain     int // grid and block: the first of three
}

// open opens a database and finds its tables. One without any is refused.
func open(ctx context.Context, src *file.Source) (*book, error) {
	db, err := sqlite.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	b := &book{db: db, path: src.Path()}
	for _, known := range tables {
		t := db.Table(known.name)
		if t == nil {
			continue
		}
		v := &view{table: t, role: known.role}
		for name, at := range map[string]*int{
			"start": &v.start, "end": &v.end, "deviceId": &v.device, "contextId": &v.context, "streamId": &v.stream, "globalPid": &v.pid, "globalTid": &v.tid,
			"correlationId": &v.correlation, "demangledName": &v.demangled, "shortName": &v.short, "mangledName": &v.mangled, "nameId": &v.called, "text": &v.text,
			"textId": &v.textID, "eventType": &v.kind, "copyKind": &v.copyKind, "srcKind": &v.sourceKind, "dstKind": &v.targetKind, "memKind": &v.memory,
			"graphId": &v.graph, "bytes": &v.bytes, "gridX": &v.grid, "blockX": &v.block, "registersPerThread": &v.registers,
			"staticSharedMemory": &v.static, "dynamicSharedMemory": &v.dynamic, "domainId": &v.domain,
		} {
			*at = t.Column(name)
		}
		if v.start < 0 || v.end < 0 || known.role.onDevice() && (v.device < 0 || v.stream < 0) || !known.role.onDevice() && v.tid < 0 {
			return nil, fault.New(fault.Format, "table %s has none of the columns that say when and where an event was", t.Name).WithPath(src.Path()).
				WithHint("export it again: nsys export --type sqlite REPORT.nsys-rep")
		}
		if v.grid+2 >= len(t.Columns) || v.block+2 >= len(t.Columns) {
			v.grid, v.block = -1, -1
		}
		b.views = append(b.views, v)
	}
	if len(b.views) == 0 {
		return nil, fault.New(fault.Format, "the database has no table of kernels, calls or NVTX ranges").WithPath(src.Path()).
			WithHint("record with nsys profile --trace=cuda,nvtx")
	}
	return b, nil
}

// each visits the rows of a small table, if there is one.
func (b *book) each(ctx context.Context, table string, visit func(r *sqlite.Row, col func(string) int)) error {
	t := b.db.Table(table)
	if t == nil {
		return nil
	}
	return b.db.Read(ctx, t, func(r *sqlite.Row) error {
		visit(r, t.Column)
		return nil
	})
}

// holds reports whether a table has a row.
func (b *book) holds(ctx context.Context, t *sqlite.Table) bool {
	return t != nil && errors.Is(b.db.Read(ctx, t, func(*sqlite.Row) error { return io.EOF }), io.EOF)
}

// unused names tables with times that hold rows and are not read.
func (b *book) unused(ctx context.Context) (out []string) {
	for _, t := range b.db.Tables() {
		used := t.Column("start") < 0
		for _, v := range b.views {
			used = used || v.table == t
		}
		if !used && b.holds(ctx, t) {
			out = append(out, t.Name)
		}
	}
	return out
}

// rank is what the environment of the first process says, where no other process used a GPU: nsys keeps it as PROCESS_0:ENVIRONMENT_VARIABLE with NAME="value".
func (b *book) rank(ctx context.Context) (rank *int64, err error) {
	launchers := []string{"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}
	best := len(launchers)
	err = b.each(ctx, "META_DATA_CAPTURE", func(r *sqlite.Row, col func(string) int) {
		if string(r.Text(col("name"))) != "PROCESS_0:ENVIRONMENT_VARIABLE" {
			return
		}
		name, value, _ := strings.Cut(string(r.Text(col("value"))), "=")
		for i, known := range launchers[:best] {
			if n, bad := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); known == name && bad == nil && n >= 0 {
				best, rank = i, &n
				return
			}
		}
	})
	return rank, err
}

// process is the pid in a serialised id: bits 24 to 47, above the thread.
func process(id int64) int64 { return id >> 24 & (1<<24 - 1) }

// lane is where a row belongs.
func (v *view) lane(r *sqlite.Row) lane {
	if v.role.onDevice() {
		return lane{PID: process(r.Int(v.pid)), Device: max(r.Int(v.device), 0), Context: r.Int(v.context), Number: r.Int(v.stream)}
	}
	id := r.Int(v.tid)
	return lane{PID: process(id), Device: -1, Number: id & (1<<24 - 1)}
}

// mostNS is how far a time may lie from the start of its session: 100 days.
const mostNS = 100 * 24 * 3600 * 1_000_000_000

// time is when a row begins, in ps after the start of the session, and how long it lasts. A range that was not ended, and a mark, last 0.
func (v *view) time(r *sqlite.Row) (atPS, durPS int64, ok bool) {
	start := r.Int(v.start)
	end := start
	if !r.Null(v.end) {
		end = r.Int(v.end)
	}
	if r.Null(v.start) || start < -mostNS || start > mostNS || end > mostNS || end < start {
		return 0, 0, false
	}
	return start * 1000, (end - start) * 1000, true
}

// names are the texts that rows refer to.
type names struct {
	strings   map[int64]string
	processes map[int64]string
	threads   map[int64]string // by pid<<24 | tid
	gpus      map[int64]string
}

// maxTextBytes bounds the texts of a database.
const maxTextBytes = 256 << 20

// names reads the texts.
func (b *book) names(ctx context.Context) (*names, error) {
	n := &names{strings: map[int64]string{}, processes: map[int64]string{}, threads: map[int64]string{}, gpus: map[int64]string{}}
	size := 0
	err := b.each(ctx, "StringIds", func(r *sqlite.Row, col func(string) int) {
		if text := r.Text(col("value")); size < maxTextBytes {
			size += len(text) + 64
			n.strings[r.Int(col("id"))] = string(text)
		}
	})
	if err != nil {
		return nil, err
	}
	if size >= maxTextBytes {
		return nil, fault.New(fault.Limit, "the names of the database take more than %d bytes", maxTextBytes).WithPath(b.path)
	}
	for table, keep := range map[string]func(r *sqlite.Row, col func(string) int){
		"PROCESSES": func(r *sqlite.Row, col func(string) int) {
			n.processes[process(r.Int(col("globalPid")))] = string(r.Text(col("name")))
		},
		"ThreadNames": func(r *sqlite.Row, col func(string) int) {
			n.threads[r.Int(col("globalTid"))&(1<<48-1)] = n.strings[r.Int(col("nameId"))]
		},
		"TARGET_INFO_GPU": func(r *sqlite.Row, col func(string) int) {
			if id := col("id"); id >= 0 {
				n.gpus[r.Int(id)] = string(r.Text(col("name")))
			}
		},
	} {
		if err := b.each(ctx, table, keep); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// line is what a person calls a line.
func (n *names) line(k lane) string {
	number := strconv.FormatInt(k.Number, 10)
	if k.Device >= 0 {
		return "stream " + number
	}
	if name := n.threads[k.PID<<24|k.Number]; name != "" {
		return "thread " + number + " " + name
	}
	return "thread " + number
}

// The words of Kineto for kinds of copies and of memory.
var (
	copyWords   = []string{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"}
	memoryWords = []string{"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"}
)

func wordOf(words []string, r *sqlite.Row, column int) string {
	if at := r.Int(column); !r.Null(column) && at >= 0 && at < int64(len(words)) {
		return words[at]
	}
	return "Unknown"
}

// name is what the event of a row is called, as Kineto calls it.
func (v *view) name(r *sqlite.Row, n *names) string {
	switch v.role {
	case kernelRow:
		for _, column := range []int{v.demangled, v.short, v.mangled} {
			if text := n.strings[r.Int(column)]; column >= 0 && text != "" {
				return text
			}
		}
		return "a kernel without a name"
	case copyRow:
		return "Memcpy " + wordOf(copyWords, r, v.copyKind) + " (" + wordOf(memoryWords, r, v.sourceKind) + " -> " + wordOf(memoryWords, r, v.targetKind) + ")"
	case fillRow:
		return "Memset (" + wordOf(memoryWords, r, v.memory) + ")"
	case graphRow:
		return "CUDA graph " + strconv.FormatInt(r.Int(v.graph), 10)
	case callRow:
		return withoutVersion(n.strings[r.Int(v.called)])
	}
	if text := r.Text(v.text); len(text) > 0 {
		return string(text)
	}
	return n.strings[r.Int(v.textID)]
}

// withoutVersion cuts the version that nsys appends to calls: cudaLaunchKernel_v7000. That of the driver, as in cuMemcpyDtoH_v2, is part of the name.
func withoutVersion(call string) string {
	at := strings.LastIndex(call, "_v")
	if at < 0 || len(call)-at-2 < 4 || strings.Trim(call[at+2:], "0123456789") != "" {
		return call
	}
	return call[:at]
}

// event reads a row.
func (v *view) event(r *sqlite.Row, n *names, e *visited) {
	e.role, e.toHost, e.pageable = v.role, false, false
	e.event = source.Event{Name: v.name(r, n), Count: 1}
	e.event.OffsetPS, e.event.DurationPS, e.event.Timed = v.time(r)
	pid := process(r.Int(max(v.pid, v.tid)))
	e.correlation = correlationOf(pid, r.Int(v.correlation))
	if v.role == copyRow {
		e.toHost = strings.HasPrefix(e.event.Name, "Memcpy DtoH")
		e.pageable = strings.HasSuffix(e.event.Name, "-> Pageable)")
	}
	e.rows.of(v, r)
	e.event.Args = &e.rows
}

// arguments are what a row says beside name, place and time, under the names that Kineto uses.
type arguments struct {
	list [10]argument
	n    int
}

type argument struct {
	name string
	x    [3]int64
	many bool
}

func (a *arguments) add(name string, r *sqlite.Row, column int) {
	if !r.Null(column) {
		a.list[a.n] = argument{name: name, x: [3]int64{r.Int(column)}}
		a.n++
	}
}

// three adds three columns that stand one behind the other.
func (a *arguments) three(name string, r *sqlite.Row, first int) {
	if first >= 0 {
		a.list[a.n] = argument{name: name, x: [3]int64{r.Int(first), r.Int(first + 1), r.Int(first + 2)}, many: true}
		a.n++
	}
}

// of takes the arguments of a row.
func (a *arguments) of(v *view, r *sqlite.Row) {
	a.n = 0
	if v.role.onDevice() {
		a.add("device", r, v.device)
		a.add("context", r, v.context)
		a.add("stream", r, v.stream)
	}
	a.add("correlation", r, v.correlation)
	a.add("bytes", r, v.bytes)
	a.add("registers per thread", r, v.registers)
	if v.static >= 0 && v.dynamic >= 0 {
		a.list[a.n] = argument{name: "shared memory", x: [3]int64{r.Int(v.static) + r.Int(v.dynamic)}}
		a.n++
	}
	a.three("grid", r, v.grid)
	a.three("block", r, v.block)
	if v.role == rangeRow && r.Int(v.domain) != 0 {
		a.add("domain", r, v.domain)
	}
}

// AppendArgs appends them as members of a JSON object.
func (a *arguments) AppendArgs(dst []byte, open int, _ *source.Lost) []byte {
	for _, one := range a.list[:a.n] {
		dst = source.OpenArg(dst, open, one.name)
		if !one.many {
			dst = strconv.AppendInt(dst, one.x[0], 10)
			continue
		}
		for i, x := range one.x {
			dst = strconv.AppendInt(append(dst, `[,,`[i]), x, 10)
		}
		dst = append(dst, ']')
	}
	return dst
}

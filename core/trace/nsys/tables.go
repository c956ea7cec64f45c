package nsys

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// tables are those that are read, in this order.
var tables = []struct {
	name string
	role rows.Role
}{
	{"CUPTI_ACTIVITY_KIND_KERNEL", rows.Kernel},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", rows.Copy},
	{"CUPTI_ACTIVITY_KIND_MEMSET", rows.Fill},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", rows.Graph},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", rows.Call},
	{"NVTX_EVENTS", rows.Range},
}

// book is an open database with the tables that hold events.
type book struct {
	db    *sqlite.Database
	path  string
	views []*view
	clock *rows.Clock
	texts *names
}

func onDevice(r rows.Role) bool { return r <= rows.Graph }

// view is a table that holds events, with the places of its columns, -1 where it has none of the name.
type view struct {
	table                                                      *sqlite.Table
	role                                                       rows.Role
	start, end, device, context, stream, pid, tid, correlation int
	demangled, short, mangled, called, text, textID, kind      int // what names an event
	copyKind, sourceKind, targetKind, memory, graph            int
	bytes, grid, block, registers, static, dynamic, domain     int // grid and block: the first of three
}

// open opens a database and finds its tables. One without any is refused.
func open(ctx context.Context, src *file.Source, clock *rows.Clock) (rows.Book, error) {
	db, err := sqlite.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	clock.Begin(0) // times count from the start of the session
	b := &book{db: db, path: src.Path(), clock: clock}
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
		if v.start < 0 || v.end < 0 || onDevice(known.role) && (v.device < 0 || v.stream < 0) || !onDevice(known.role) && v.tid < 0 {
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

// Read visits the rows of all tables, table by table.
func (b *book) Read(ctx context.Context, ask rows.Ask, visit func(r *rows.Row) error) error {
	if b.texts == nil {
		texts, err := b.names(ctx)
		if err != nil {
			return err
		}
		b.texts = texts
	}
	one := &rows.Row{}
	args := &rows.Args{}
	for _, v := range b.views {
		if !ask.Wants(v.role) {
			continue
		}
		err := b.db.Read(ctx, v.table, func(r *sqlite.Row) error {
			v.row(r, b, one)
			if one.Args = nil; ask.Args {
				v.arguments(args, r)
				one.Args = args
			}
			return visit(one)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lane is where a row belongs.
func (v *view) lane(r *sqlite.Row) rows.Lane {
	if onDevice(v.role) {
		return rows.Lane{PID: process(r.Int(v.pid)), Device: max(r.Int(v.device), 0), Context: r.Int(v.context), Number: r.Int(v.stream)}
	}
	id := r.Int(v.tid)
	return rows.Lane{PID: process(id), Device: -1, Number: id & (1<<24 - 1)}
}

// row reads a row. A range that was not ended, and a mark, last 0.
func (v *view) row(r *sqlite.Row, b *book, one *rows.Row) {
	*one = rows.Row{Role: v.role, Lane: v.lane(r), Name: v.name(r, b.texts), Correlation: uint64(max(0, r.Int(v.correlation)))}
	if start := r.Int(v.start); !r.Null(v.start) {
		end := start
		if !r.Null(v.end) {
			end = r.Int(v.end)
		}
		b.clock.Place(one, start, end)
	}
	switch v.role {
	case rows.Kernel:
		if v.demangled >= 0 && !r.Null(v.demangled) {
			one.Key = uint64(r.Int(v.demangled)) + 1
		}
		if v.grid >= 0 {
			one.Blocks = rows.BlocksOf(r.Int(v.grid), r.Int(v.grid+1), r.Int(v.grid+2))
		}
	case rows.Copy:
		one.ToHost = strings.HasPrefix(one.Name, "Memcpy DtoH")
		one.Pageable = strings.HasSuffix(one.Name, "-> Pageable)")
	case rows.Call:
		one.Graphs = strings.Contains(one.Name, "GraphLaunch")
	}
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

// Names are those of processes, GPUs and threads.
func (b *book) Names() rows.Names {
	n := b.texts
	return rows.Names{Processes: n.processes, Devices: n.gpus, Line: func(l rows.Lane) string {
		if name := n.threads[l.PID<<24|l.Number]; name != "" && l.Device < 0 {
			return "thread " + strconv.FormatInt(l.Number, 10) + " " + name
		}
		return ""
	}}
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
	case rows.Kernel:
		for _, column := range []int{v.demangled, v.short, v.mangled} {
			if text := n.strings[r.Int(column)]; column >= 0 && text != "" {
				return text
			}
		}
		return "a kernel without a name"
	case rows.Copy:
		return "Memcpy " + wordOf(copyWords, r, v.copyKind) + " (" + wordOf(memoryWords, r, v.sourceKind) + " -> " + wordOf(memoryWords, r, v.targetKind) + ")"
	case rows.Fill:
		return "Memset (" + wordOf(memoryWords, r, v.memory) + ")"
	case rows.Graph:
		return "CUDA graph " + strconv.FormatInt(r.Int(v.graph), 10)
	case rows.Call:
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

// arguments puts what a row says beside name, place and time into args, under the names that Kineto uses.
func (v *view) arguments(a *rows.Args, r *sqlite.Row) {
	add := func(name string, column int) {
		if !r.Null(column) {
			a.Int(name, r.Int(column))
		}
	}
	three := func(name string, first int) {
		if first >= 0 {
			a.Three(name, r.Int(first), r.Int(first+1), r.Int(first+2))
		}
	}
	a.Reset()
	if onDevice(v.role) {
		add("device", v.device)
		add("context", v.context)
		add("stream", v.stream)
	}
	add("correlation", v.correlation)
	add("bytes", v.bytes)
	add("registers per thread", v.registers)
	if v.static >= 0 && v.dynamic >= 0 {
		a.Int("shared memory", r.Int(v.static)+r.Int(v.dynamic))
	}
	three("grid", v.grid)
	three("block", v.block)
	if v.role == rows.Range && r.Int(v.domain) != 0 {
		add("domain", v.domain)
	}
}

package rocprof

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// A recording is several tables, a file each: PREFIX_kernel_trace.csv is the trace, those beside it of the same prefix are read with it.
var beside = []struct {
	ending string
	role   rows.Role
}{
	{"_memory_copy_trace.csv", rows.Copy},
	{"_hip_api_trace.csv", rows.Call},
	{"_hip_trace.csv", rows.Call},
	{"_hsa_api_trace.csv", rows.Call},
	{"_hsa_trace.csv", rows.Call},
	{"_rccl_api_trace.csv", rows.Call},
	{"_rccl_trace.csv", rows.Call},
	{"_marker_api_trace.csv", rows.Range},
	{"_marker_trace.csv", rows.Range},
	{"_memory_allocation_trace.csv", rows.Other},
	{"_scratch_memory_trace.csv", rows.Other},
}

const (
	kernelEnding = "_kernel_trace.csv"
	agentEnding  = "_agent_info.csv"
)

// tables is an open recording.
type tables struct {
	path   string
	files  []part
	clock  *rows.Clock
	facts  source.Facts
	names  rows.Names
	pid    int64
	agents map[int64]agent // by node; nil: numbers are what the table says
	args   rows.Args
}

// part is one file of it.
type part struct {
	src  *file.Source
	role rows.Role
	name string
}

func openTable(ctx context.Context, src *file.Source, clock *rows.Clock) (rows.Book, error) {
	t := &tables{path: src.Path(), files: []part{{src, rows.Kernel, ""}}, clock: clock, names: rows.Names{Devices: map[int64]string{}, Line: lineName}}
	t.facts.Undated = undated
	prefix, ok := strings.CutSuffix(src.Path(), kernelEnding)
	if !ok {
		return t, nil
	}
	t.pid = leading(filepath.Base(prefix))
	for _, b := range beside {
		if _, err := os.Stat(prefix + b.ending); err != nil {
			continue
		}
		other, err := file.Open(ctx, prefix+b.ending) // closed when the book is gone
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, part{other, b.role, filepath.Base(prefix + b.ending)})
	}
	return t, t.agentsOf(ctx, prefix+agentEnding)
}

// leading is the number that a name begins with, as rocprofv3 names files after a process; 0 none.
func leading(name string) int64 {
	end := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(name)
	}
	n, _ := strconv.ParseInt(name[:end], 10, 63)
	return n
}

// Facts is what the tables say of the whole.
func (t *tables) Facts(context.Context) (*source.Facts, error) {
	f := t.facts
	var with []string
	for _, p := range t.files[1:] {
		with = append(with, p.name)
	}
	if len(with) > 0 {
		f.Warnings = append(f.Warnings, "read with it: "+strings.Join(with, ", "))
	}
	return &f, nil
}

// Names are those of GPUs.
func (t *tables) Names() rows.Names { return t.names }

// table is one file, with the places of its columns.
type table struct {
	path   string
	in     *rationed
	csv    *csv.Reader
	column map[string]int
	values []string
}

// open reads the names of the columns.
func open(ctx context.Context, src *file.Source) (*table, error) {
	t := &table{path: src.Path(), in: &rationed{r: io.NewSectionReader(src, 0, src.Size()), left: maxValue, ctx: ctx}, column: map[string]int{}}
	t.csv = csv.NewReader(t.in)
	t.csv.ReuseRecord, t.csv.FieldsPerRecord = true, 0 // as many as in the first row
	t.csv.LazyQuotes = true
	ok, err := t.next()
	if err != nil || !ok {
		return nil, cmp.Or(err, error(fault.Formatf(src.Path(), 0, "the table has no first row with the names of its columns")))
	}
	for i, name := range t.values {
		name = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "\xef\xbb\xbf"), "_", ""))
		if alias := older[name]; alias != "" {
			name = alias
		}
		t.column[name] = i
	}
	return t, nil
}

// older are the names of columns in the tables of rocprof before version 3.
var older = map[string]string{"beginns": "starttimestamp", "endns": "endtimestamp", "gpu-id": "agentid", "queue-id": "queueid", "pid": "processid", "tid": "threadid", "grd": "gridsize", "wgr": "workgroupsize"}

// next reads a row.
func (t *table) next() (bool, error) {
	t.in.left = maxValue
	values, err := t.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case errors.Is(err, errLong):
		return false, fault.New(fault.Limit, "%v", err).WithPath(t.path)
	case t.in.ctx.Err() != nil:
		return false, fault.FromIO(t.path, t.in.ctx.Err())
	case err != nil:
		return false, fault.Formatf(t.path, t.csv.InputOffset(), "the table is damaged: %v", err)
	}
	t.values = values
	return true, nil
}

// text is the value of a column, "" where there is none.
func (t *table) text(name string) string {
	if i, ok := t.column[name]; ok && i < len(t.values) {
		return t.values[i]
	}
	return ""
}

// number is the value of a column, which may stand behind a word: "Agent 4". ok: it is one.
func (t *table) number(name string) (n int64, ok bool) {
	text := t.text(name)
	n, err := strconv.ParseInt(text[strings.LastIndexByte(text, ' ')+1:], 10, 64)
	return n, err == nil
}

func (t *table) int(name string) int64 {
	n, _ := t.number(name)
	return n
}

func (t *table) three(name string) [3]int64 {
	return [3]int64{t.int(name + "x"), t.int(name + "y"), t.int(name + "z")}
}

// agentsOf reads which processors are GPUs, if the table of them is there.
func (t *tables) agentsOf(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	src, err := file.Open(ctx, path)
	if err != nil {
		return err
	}
	defer src.Close()
	in, err := open(ctx, src)
	if err != nil {
		return err
	}
	products := map[int64]string{}
	var nodes []int64
	for {
		ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if node, ok := in.number("nodeid"); ok && in.text("agenttype") == "GPU" && len(nodes) < 1<<16 {
			nodes = append(nodes, node)
			products[node] = strings.Clone(in.text("productname"))
		}
	}
	slices.Sort(nodes)
	t.agents = map[int64]agent{}
	for i, node := range nodes {
		t.agents[node] = agent{gpu: int64(i), product: products[node]}
		t.names.Devices[int64(i)] = products[node]
	}
	return nil
}

// Read visits the rows of all files.
func (t *tables) Read(ctx context.Context, ask rows.Ask, visit func(r *rows.Row) error) error {
	names := map[string]string{} // of kernels: a name stands in every row
	for _, p := range t.files {
		in, err := open(ctx, p.src)
		if err != nil {
			return err
		}
		if err := in.suits(p.role); err != nil {
			return err
		}
		one := &rows.Row{}
		for {
			ok, err := in.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			t.row(in, p.role, one, names)
			if one.Args = nil; ask.Args {
				one.Args = &t.args
			}
			if ask.Wants(p.role) {
				if err := visit(one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// suits refuses tables that have no times, and those in which a kernel stands several times.
func (t *table) suits(role rows.Role) error {
	for _, name := range []string{"starttimestamp", "endtimestamp"} {
		if _, ok := t.column[name]; !ok {
			return fault.Formatf(t.path, 0, "the table has no column %s", map[string]string{"starttimestamp": "Start_Timestamp", "endtimestamp": "End_Timestamp"}[name])
		}
	}
	if _, ok := t.column["countername"]; ok && role == rows.Kernel {
		return fault.Formatf(t.path, 0, "the table lists counters, in which a kernel stands once for each").WithHint("record with rocprofv3 --kernel-trace, and name the kernel_trace.csv")
	}
	return nil
}

// shared gives equal names one memory.
func shared(names map[string]string, name string) string {
	if known, ok := names[name]; ok {
		return known
	}
	name = strings.Clone(name)
	if len(names) < 1<<20 {
		names[name] = name
	}
	return name
}

// row makes a row of a line.
func (t *tables) row(in *table, role rows.Role, one *rows.Row, names map[string]string) {
	*one = rows.Row{Role: role, Correlation: uint64(max(0, in.int("correlationid")))}
	start, began := in.number("starttimestamp")
	end, ended := in.number("endtimestamp")
	if began && ended {
		t.clock.Place(one, start, end)
	}
	pid, ok := in.number("processid")
	if !ok {
		pid = t.pid
	}
	if t.pid == 0 {
		t.pid = pid // of the tables that name none
	}
	tid := in.int("threadid")
	t.args.Reset()
	if n, ok := in.number("correlationid"); ok {
		t.args.Int("correlation", n)
	}
	switch role {
	case rows.Kernel:
		a, known := t.agent(in, "agentid")
		one.Lane = place(a, known, pid, tid, in.int("queueid"), in.int("streamid"))
		one.Name = shared(names, in.text("kernelname"))
		grid, group := in.three("gridsize"), in.three("workgroupsize")
		one.Blocks = blocks(grid, group)
		t.args.Int("dispatch", in.int("dispatchid"))
		t.args.Three("grid", grid[0], grid[1], grid[2])
		t.args.Three("block", group[0], group[1], group[2])
	case rows.Copy:
		a, known := t.agent(in, "destinationagentid")
		if !known || a.gpu < 0 {
			a, known = t.agent(in, "sourceagentid")
		}
		one.Lane = place(a, known, pid, tid, copies, in.int("streamid"))
		one.Name = shared(names, cmp.Or(in.text("direction"), in.text("kind")))
		one.ToHost = toHost(one.Name)
	default:
		one.Lane = rows.Lane{PID: pid, Device: -1, Number: tid}
		one.Name = shared(names, cmp.Or(in.text("function"), in.text("operation"), in.text("kind")))
		one.Graphs = graphs(one.Name)
		one.Category = shared(names, strings.ToLower(cmp.Or(in.text("domain"), in.text("kind"))))
	}
}

// agent finds a processor. Without a table of them every number is that of a GPU, but 0, which is a CPU wherever rocprofv3 runs.
func (t *tables) agent(in *table, column string) (agent, bool) {
	n, ok := in.number(column)
	switch {
	case !ok:
		return agent{gpu: -1}, false
	case t.agents != nil:
		a, ok := t.agents[n]
		return a, ok
	case strings.HasPrefix(in.text(column), "GPU "):
		return agent{gpu: n}, true
	case strings.HasPrefix(in.text(column), "CPU ") || n <= 0 && column != "agentid":
		return agent{gpu: -1}, true
	}
	return agent{gpu: max(n, 0)}, true
}

package rocprof

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// database is an open rocpd. Its tables have names with the id of a recording behind them, of which a merged database has several.
type database struct {
	db    *sqlite.Database
	path  string
	clock *rows.Clock
	sets  []*set
	facts source.Facts
	names rows.Names
	texts int
}

// set is the tables of one recording.
type set struct {
	d         *database
	suffix    string
	strings   map[int64]string
	kernels   map[int64]string
	processes map[int64]int64 // pids
	threads   map[int64]int64 // tids
	agents    map[int64]agent
	events    []int64          // stack ids, which connect calls and work, by event
	messages  map[int64]string // of markers, by event
	nth       int
}

// tableRoles are the tables that hold events, in the order in which they are read.
var tableRoles = []struct {
	name string
	role rows.Role
}{{"rocpd_kernel_dispatch", rows.Kernel}, {"rocpd_memory_copy", rows.Copy}, {"rocpd_region", rows.Call}, {"rocpd_memory_allocate", rows.Other}}

// maxEvents bounds what is kept of events, 8 bytes each.
const maxEvents = 1 << 27

func openDatabase(ctx context.Context, src *file.Source, clock *rows.Clock) (rows.Book, error) {
	db, err := sqlite.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	d := &database{db: db, path: src.Path(), clock: clock, names: rows.Names{Processes: map[int64]string{}, Devices: map[int64]string{}, Line: lineName}}
	d.facts.Undated = undated
	for _, t := range db.Tables() {
		suffix, ok := strings.CutPrefix(t.Name, "rocpd_kernel_dispatch")
		if !ok {
			continue
		}
		if t.Column("start") < 0 || t.Column("end") < 0 {
			return nil, fault.New(fault.Format, "table %s has no times of its own, as the schemas 3.0 of rocpd have", t.Name).WithPath(d.path).
				WithHint("write it in another form: rocpd convert -f csv -i %s", base(d.path))
		}
		s := &set{d: d, suffix: suffix, nth: len(d.sets) + 1}
		if err := s.load(ctx); err != nil {
			return nil, err
		}
		d.sets = append(d.sets, s)
	}
	if len(d.sets) == 0 {
		return nil, fault.New(fault.Format, "the database has no table rocpd_kernel_dispatch").WithPath(d.path).WithHint("record with rocprofv3 --kernel-trace --output-format rocpd")
	}
	d.facts.Warnings = d.unused(ctx)
	return d, nil
}

// unused names tables of events that hold rows and are not read.
func (d *database) unused(ctx context.Context) []string {
	var out []string
	for _, t := range d.db.Tables() {
		for _, name := range []string{"rocpd_sample", "rocpd_pmc_event", "rocpd_graph_launch", "rocpd_event_operation"} {
			rest, ok := strings.CutPrefix(t.Name, name)
			if !ok || rest != "" && rest[0] != '_' || slices.Contains(out, name) {
				continue
			}
			if errors.Is(d.db.Read(ctx, t, func(*sqlite.Row) error { return io.EOF }), io.EOF) {
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return []string{"prlx does not use these tables of the database: " + strings.Join(out, ", ")}
}

// Facts is what the database says of the whole.
func (d *database) Facts(context.Context) (*source.Facts, error) {
	f := d.facts
	return &f, nil
}

// Names are those of processes and GPUs.
func (d *database) Names() rows.Names { return d.names }

// keep bounds what is kept of texts.
func (d *database) keep(bytes int) error {
	if d.texts += bytes + 64; d.texts > maxTexts {
		return fault.New(fault.Limit, "the names of the database take more than %d bytes", maxTexts).WithPath(d.path)
	}
	return nil
}

// each visits the rows of a table of the set, if there is one.
func (s *set) each(ctx context.Context, name string, visit func(r *sqlite.Row, col func(string) int) error) error {
	t := s.d.db.Table(name + s.suffix)
	if t == nil {
		return nil
	}
	return s.d.db.Read(ctx, t, func(r *sqlite.Row) error { return visit(r, t.Column) })
}

// load reads what rows refer to.
func (s *set) load(ctx context.Context) error {
	s.strings, s.kernels, s.messages = map[int64]string{}, map[int64]string{}, map[int64]string{}
	s.processes, s.threads, s.agents = map[int64]int64{}, map[int64]int64{}, map[int64]agent{}
	d := s.d
	for _, one := range []struct {
		table string
		visit func(r *sqlite.Row, col func(string) int) error
	}{
		{"rocpd_string", func(r *sqlite.Row, col func(string) int) error {
			s.strings[r.Int(col("id"))] = string(r.Text(col("string")))
			return d.keep(len(r.Text(col("string"))))
		}},
		{"rocpd_info_node", func(r *sqlite.Row, col func(string) int) error {
			if host := string(r.Text(col("hostname"))); host != "" && !slices.Contains(d.facts.Hosts, host) {
				d.facts.Hosts = append(d.facts.Hosts, host)
			}
			return d.keep(64)
		}},
		{"rocpd_info_process", func(r *sqlite.Row, col func(string) int) error {
			pid := r.Int(col("pid"))
			s.processes[r.Int(col("id"))] = pid
			command, _, _ := strings.Cut(string(r.Text(col("command"))), " ")
			d.names.Processes[pid] = base(command)
			return d.keep(len(command))
		}},
		{"rocpd_info_thread", func(r *sqlite.Row, col func(string) int) error {
			s.threads[r.Int(col("id"))] = r.Int(col("tid"))
			return d.keep(16)
		}},
		{"rocpd_info_agent", func(r *sqlite.Row, col func(string) int) error {
			a := agent{gpu: -1, product: string(r.Text(col("product_name")))}
			if string(r.Text(col("type"))) == "GPU" {
				a.gpu = max(0, r.Int(col("type_index")))
				d.names.Devices[a.gpu] = a.product
			}
			s.agents[r.Int(col("id"))] = a
			return d.keep(len(a.product))
		}},
		{"rocpd_info_kernel_symbol", func(r *sqlite.Row, col func(string) int) error {
			name := cmp.Or(string(r.Text(col("display_name"))), string(r.Text(col("kernel_name"))))
			s.kernels[r.Int(col("id"))] = name
			return d.keep(len(name))
		}},
		{"rocpd_event", s.event},
	} {
		if err := s.each(ctx, one.table, one.visit); err != nil {
			return err
		}
	}
	return nil
}

// event keeps what connects a call with its work, and the text of a marker.
func (s *set) event(r *sqlite.Row, col func(string) int) error {
	id := r.Int(col("id"))
	if id < 0 || id >= maxEvents {
		return fault.New(fault.Limit, "more than %d events", maxEvents).WithPath(s.d.path)
	}
	if id > int64(len(s.events))+1<<20 { // ids are given one after the other: so large a gap is no recording
		return fault.New(fault.Format, "event %d follows event %d", id, len(s.events)-1).WithPath(s.d.path)
	}
	for int64(len(s.events)) <= id {
		s.events = append(s.events, 0)
	}
	s.events[id] = r.Int(col("stack_id"))
	if !strings.HasPrefix(s.strings[r.Int(col("category_id"))], "MARKER") {
		return nil
	}
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(r.Text(col("extdata")), &said) == nil && said.Message != "" {
		s.messages[id] = said.Message
	}
	return s.d.keep(len(said.Message))
}

// stack is what connects the work of an event with its call, 0 nothing.
func (s *set) stack(event int64) int64 {
	if event < 0 || event >= int64(len(s.events)) {
		return 0
	}
	return s.events[event]
}

// Read visits the rows of all sets, table by table.
func (d *database) Read(ctx context.Context, ask rows.Ask, visit func(r *rows.Row) error) error {
	for _, s := range d.sets {
		for _, known := range tableRoles {
			t := d.db.Table(known.name + s.suffix)
			if t == nil {
				continue
			}
			in := columnsOf(s, t, known.role)
			err := d.db.Read(ctx, t, func(r *sqlite.Row) error {
				in.of(r, ask.Args)
				if !ask.Wants(in.row.Role) {
					return nil
				}
				return visit(&in.row)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// columns is a table of events, with the places of its columns, -1 where it has none of the name.
type columns struct {
	s                                                              *set
	role                                                           rows.Role
	start, end, pid, tid, event, queue, stream, agent              int
	kernel, name, dispatch, grid, group, lds, scratch, size, typed int
	target, source                                                 int
	row                                                            rows.Row
	args                                                           rows.Args
}

func columnsOf(s *set, t *sqlite.Table, role rows.Role) *columns {
	c := &columns{s: s, role: role}
	for name, at := range map[string]*int{
		"start": &c.start, "end": &c.end, "pid": &c.pid, "tid": &c.tid, "event_id": &c.event, "queue_id": &c.queue, "stream_id": &c.stream, "agent_id": &c.agent,
		"kernel_id": &c.kernel, "name_id": &c.name, "dispatch_id": &c.dispatch, "grid_size_x": &c.grid, "workgroup_size_x": &c.group, "group_segment_size": &c.lds,
		"private_segment_size": &c.scratch, "size": &c.size, "type": &c.typed, "dst_agent_id": &c.target, "src_agent_id": &c.source,
	} {
		*at = t.Column(name)
	}
	if c.grid+2 >= len(t.Columns) || c.group+2 >= len(t.Columns) {
		c.grid, c.group = -1, -1
	}
	return c
}

func three(r *sqlite.Row, first int) [3]int64 {
	if first < 0 {
		return [3]int64{}
	}
	return [3]int64{r.Int(first), r.Int(first + 1), r.Int(first + 2)}
}

// of makes a row of a row of the table.
func (c *columns) of(r *sqlite.Row, withArgs bool) {
	s, one := c.s, &c.row
	pid, tid := s.processes[r.Int(c.pid)], s.threads[r.Int(c.tid)]
	stack := s.stack(r.Int(c.event))
	*one = rows.Row{Role: c.role, Lane: rows.Lane{PID: pid, Device: -1, Number: tid}, Correlation: uint64(max(0, stack))}
	if !r.Null(c.start) && !r.Null(c.end) {
		s.d.clock.Place(one, r.Int(c.start), r.Int(c.end))
	}
	c.args.Reset()
	if withArgs {
		one.Args = &c.args
		c.args.Int("correlation", stack)
	}
	switch c.role {
	case rows.Kernel:
		a, ok := s.agents[r.Int(c.agent)]
		one.Lane = place(a, ok, pid, tid, r.Int(c.queue), r.Int(c.stream))
		id := r.Int(c.kernel)
		one.Name = cmp.Or(s.kernels[id], "kernel "+decimal(id))
		if id >= 0 && id < 1<<40 {
			one.Key = uint64(s.nth)<<40 + uint64(id) + 1
		}
		grid, group := three(r, c.grid), three(r, c.group)
		one.Blocks = blocks(grid, group)
		c.args.Int("dispatch", r.Int(c.dispatch))
		c.args.Int("LDS", r.Int(c.lds))
		c.args.Int("scratch", r.Int(c.scratch))
		c.args.Three("grid", grid[0], grid[1], grid[2])
		c.args.Three("block", group[0], group[1], group[2])
	case rows.Copy:
		a, ok := s.agents[r.Int(c.target)]
		if !ok || a.gpu < 0 {
			a, ok = s.agents[r.Int(c.source)]
		}
		one.Lane = place(a, ok, pid, tid, copies, r.Int(c.stream))
		one.Name = s.strings[r.Int(c.name)]
		one.ToHost = toHost(strings.TrimPrefix(one.Name, "MEMORY_COPY_"))
		c.args.Int("bytes", r.Int(c.size))
	case rows.Call:
		one.Name = s.strings[r.Int(c.name)]
		if message := s.messages[r.Int(c.event)]; message != "" || strings.HasPrefix(one.Name, "roctx") {
			one.Role, one.Name = rows.Range, cmp.Or(message, one.Name)
		}
		one.Graphs = graphs(one.Name)
	default:
		one.Name, one.Category = string(r.Text(c.typed)), "memory_allocation"
		c.args.Int("bytes", r.Int(c.size))
	}
}

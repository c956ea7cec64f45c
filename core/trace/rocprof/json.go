package rocprof

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// decimal prints an integer.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

const (
	maxValue = 16 << 20  // bytes of a record, or of a part of what precedes records
	maxTexts = 256 << 20 // bytes of names
)

// rationed reads a file on behalf of a decoder, as many bytes as one value may have.
type rationed struct {
	r    io.Reader
	left int64
	ctx  context.Context
}

var errLong = errors.New("a value is longer than 16 MiB")

// Read reads.
func (r *rationed) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.left <= 0 {
		return 0, errLong
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// document is an open JSON.
type document struct {
	src   *file.Source
	clock *rows.Clock
	facts source.Facts
	names rows.Names

	// of the process that is read
	in      *rationed
	dec     *json.Decoder
	pid     int64
	nth     int // of the processes
	agents  map[int64]agent
	kernels map[int64]string
	kinds   map[int64]kind
	markers map[int64]string // messages by correlation id
	texts   int
	unused  map[string]bool
}

// kind is a kind of records.
type kind struct {
	Kind       string   `json:"kind"`
	Operations []string `json:"operations"`
}

func openJSON(ctx context.Context, src *file.Source, clock *rows.Clock) (rows.Book, error) {
	d := &document{src: src, clock: clock, names: rows.Names{Processes: map[int64]string{}, Devices: map[int64]string{}, Line: lineName}, unused: map[string]bool{}}
	d.facts.Undated = undated
	return d, nil
}

// Facts is what precedes the records; of a job of several processes in one file, of the first.
func (d *document) Facts(ctx context.Context) (*source.Facts, error) {
	if err := d.walk(ctx, nil); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := d.facts
	return &f, nil
}

// Names is what records referred to.
func (d *document) Names() rows.Names {
	n := d.names
	if len(d.unused) > 0 {
		keys := make([]string, 0, len(d.unused))
		for k := range d.unused {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		text := "prlx does not use these records of the document: "
		for i, k := range keys {
			if i > 0 {
				text += ", "
			}
			text += k
		}
		n.Warnings = []string{text}
	}
	return n
}

// Read visits the records.
func (d *document) Read(ctx context.Context, ask rows.Ask, visit func(r *rows.Row) error) error {
	return d.walk(ctx, &reading{d: d, ask: ask, visit: visit})
}

// walk goes through the document. Without a reading it ends where the first records begin, with io.EOF.
func (d *document) walk(ctx context.Context, r *reading) error {
	d.in = &rationed{r: io.NewSectionReader(d.src, 0, d.src.Size()), left: maxValue, ctx: ctx}
	d.dec, d.nth, d.texts = json.NewDecoder(d.in), 0, 0
	err := d.object(func(key string) error {
		if key != "rocprofiler-sdk-tool" {
			return d.skip()
		}
		return d.list(func() error { return d.process(r) })
	})
	var typed *fault.Error
	switch {
	case err == nil, errors.As(err, &typed), errors.Is(err, io.EOF) && r == nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.Is(err, errLong):
		return fault.New(fault.Limit, "%v", err).WithPath(d.src.Path())
	case ctx.Err() != nil:
		return fault.FromIO(d.src.Path(), ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Formatf(d.src.Path(), d.src.Size(), "the JSON of rocprofv3 ends early").WithHint("copy it again, or let the program end by itself: rocprofv3 writes at its end")
	}
	return fault.Formatf(d.src.Path(), d.dec.InputOffset(), "the JSON of rocprofv3 is damaged: %v", err)
}

// token reads one token with a ration of its own.
func (d *document) token() (json.Token, error) {
	d.in.left = maxValue
	return d.dec.Token()
}

// value decodes one value.
func (d *document) value(into any) error {
	d.in.left = maxValue
	return d.dec.Decode(into)
}

// expect reads a delimiter. A null stands for an empty list or object: entered is false.
func (d *document) expect(want json.Delim) (entered bool, err error) {
	t, err := d.token()
	if err != nil || t == nil {
		return false, err
	}
	if t != want {
		return false, errors.New("a " + want.String() + " is missing")
	}
	return true, nil
}

// object reads the members of an object.
func (d *document) object(member func(key string) error) error {
	if ok, err := d.expect('{'); err != nil || !ok {
		return err
	}
	for d.more() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// list reads the elements of a list.
func (d *document) list(element func() error) error {
	if ok, err := d.expect('['); err != nil || !ok {
		return err
	}
	for d.more() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

func (d *document) more() bool {
	d.in.left = maxValue
	return d.dec.More()
}

// skip passes a value, however long it is.
func (d *document) skip() error {
	for depth := 0; ; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// process reads what one process recorded.
func (d *document) process(r *reading) error {
	d.nth++
	d.agents, d.kernels, d.kinds, d.markers = map[int64]agent{}, map[int64]string{}, map[int64]kind{}, map[int64]string{}
	return d.object(func(key string) error {
		switch key {
		case "metadata":
			return d.metadata()
		case "agents":
			return d.list(d.agent)
		case "strings":
			return d.object(d.strings)
		case "kernel_symbols":
			return d.list(d.kernel)
		case "buffer_records", "callback_records":
			if r == nil {
				return io.EOF
			}
			return d.object(r.records)
		}
		return d.skip()
	})
}

func (d *document) metadata() error {
	var m struct {
		Node struct {
			Hostname string `json:"hostname"`
		} `json:"node"`
		PID     int64    `json:"pid"`
		Init    int64    `json:"init_time"`
		Command []string `json:"command"`
	}
	if err := d.value(&m); err != nil {
		return err
	}
	if d.pid = m.PID; len(m.Command) > 0 {
		d.names.Processes[m.PID] = base(m.Command[0])
	}
	if m.Node.Hostname != "" && len(d.facts.Hosts) == 0 {
		d.facts.Hosts = []string{m.Node.Hostname}
	}
	if m.Init > 0 {
		d.clock.Begin(m.Init)
	}
	return nil
}

// base is the last part of a path.
func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

type handle struct {
	Handle int64 `json:"handle"`
}

func (d *document) agent() error {
	var a struct {
		ID      handle `json:"id"`
		Type    int    `json:"type"` // 1 CPU, 2 GPU
		Number  int64  `json:"logical_node_type_id"`
		Product string `json:"product_name"`
	}
	if err := d.value(&a); err != nil {
		return err
	}
	one := agent{gpu: -1, product: a.Product}
	if a.Type == 2 && a.Number >= 0 {
		one.gpu = a.Number
		d.names.Devices[a.Number] = a.Product
	}
	return d.keep(len(a.Product), func() { d.agents[a.ID.Handle] = one })
}

// keep bounds what is kept of names.
func (d *document) keep(bytes int, add func()) error {
	if d.texts += bytes + 64; d.texts > maxTexts {
		return fault.New(fault.Limit, "the names of the document take more than %d bytes", maxTexts).WithPath(d.src.Path())
	}
	add()
	return nil
}

func (d *document) kernel() error {
	var k struct {
		ID        int64  `json:"kernel_id"`
		Name      string `json:"kernel_name"`
		Formatted string `json:"formatted_kernel_name"`
	}
	if err := d.value(&k); err != nil {
		return err
	}
	if k.Formatted != "" {
		k.Name = k.Formatted
	}
	return d.keep(len(k.Name), func() { d.kernels[k.ID] = k.Name })
}

// strings reads names of kinds and operations, and what the program marked.
func (d *document) strings(key string) error {
	switch key {
	case "buffer_records":
		n := int64(-1)
		return d.list(func() error {
			var k kind
			if err := d.value(&k); err != nil {
				return err
			}
			n++
			bytes := len(k.Kind)
			for _, o := range k.Operations {
				bytes += len(o) + 16
			}
			return d.keep(bytes, func() { d.kinds[n] = k })
		})
	case "marker_api":
		return d.list(func() error {
			var m struct {
				Key   int64  `json:"key"`
				Value string `json:"value"`
			}
			if err := d.value(&m); err != nil {
				return err
			}
			return d.keep(len(m.Value), func() { d.markers[m.Key] = m.Value })
		})
	}
	return d.skip()
}

// Package debugmode reads the logs of PyTorch's DebugMode (torch.utils._debug_mode, a private module of torch) as a tape of one step. It
// reads what DebugMode.save_logs writes, of the one version that is known; another is refused, and so is the text that debug_string prints.
//
// A log has no steps, no phases and no state of random numbers. Its hashes are norms, or all words of a tensor combined by exclusive or: neither
// sees where an element stands, so that a comparison of logs never comes to "same".
package debugmode

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/tape"
)

// The format and the version that are read.
const (
	logFormat  = "torch.utils._debug_mode.DebugMode.logs"
	logVersion = 1
)

// headBytes is within how many bytes the format of a log is named.
const headBytes = 256

// maxCalls is how many calls of a log are read.
const maxCalls = 1 << 22

// anyPhase is the phase of every operator: a log does not say it.
const anyPhase = tape.Phase(255)

// IsLog reports whether a file that begins with head is a log.
func IsLog(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), headBytes)], " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"`+logFormat+`"`))
}

// Log is a log that was read.
type Log struct {
	path   string
	run    tape.Run
	step   *tape.Step
	given  bool
	limits []tape.Limit
}

// Open reads a log.
func Open(ctx context.Context, path string) (*Log, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return readLog(ctx, src)
}

// readLog reads a log from a source.
func readLog(ctx context.Context, src *file.Source) (*Log, error) {
	l := &Log{path: src.Path(), run: tape.Run{Level: "operators", Every: 1, Ranks: 1}, step: &tape.Step{}}
	d := json.NewDecoder(io.NewSectionReader(src, 0, src.Size()))
	d.UseNumber()
	r := &reader{log: l, kinds: map[string]int64{}}
	if err := r.document(ctx, d); err != nil {
		already, ok := err.(*fault.Error)
		if !ok {
			already = fault.Formatf(l.path, d.InputOffset(), "is damaged: %v", err)
		}
		return nil, already.WithPath(l.path)
	}
	r.limit()
	return l, nil
}

// Path names the log.
func (l *Log) Path() string { return l.path }

// About says what is known of the run.
func (l *Log) About() *tape.Run { return &l.run }

// Exact reports whether equal hashes mean equal tensors.
func (l *Log) Exact() bool { return false }

// Limits are what of the run the log does not tell.
func (l *Log) Limits() []tape.Limit { return l.limits }

// Next returns the operators as one step, once.
func (l *Log) Next(context.Context) (*tape.Step, error) {
	if l.given {
		return nil, nil
	}
	l.given = true
	return l.step, nil
}

// reader is what is known while a log is read.
type reader struct {
	log     *Log
	modules []module
	kinds   map[string]int64 // entries other than operators, by their type
	blind   int64            // operators without hashes of what they got
}

type module struct {
	name  string
	depth int64
}

// call is an entry of a log.
type call struct {
	Type   string     `json:"type"`
	Depth  int64      `json:"call_depth"`
	Log    *debugNode `json:"log"`
	Output *string    `json:"output_str"`
	Name   string     `json:"op_name"`
	Args   string     `json:"args_str"`
	Kwargs string     `json:"kwargs_str"`
	Tag    string     `json:"tag"`
	Header string     `json:"header"`
}

// debugNode is a value as save_logs writes it.
type debugNode struct {
	Type  string            `json:"type"`
	Value any               `json:"value"`
	Items []json.RawMessage `json:"items"`
}

// document reads the whole file: format and version come before the logs.
func (r *reader) document(ctx context.Context, d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return notLog()
	}
	format, version, logs := "", "", false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "format":
			err = d.Decode(&format)
		case "version":
			var n any
			err = d.Decode(&n)
			text, _ := json.Marshal(n)
			version = string(text)
		case "logs":
			if format != logFormat {
				return notLog()
			}
			if version != strconv.Itoa(logVersion) {
				return fault.Formatf("", d.InputOffset(), "is a log of DebugMode of version %.20s, expected %d", version, logVersion).
					WithHint("this version of torch writes another format, which prlx does not know")
			}
			logs, err = true, r.calls(ctx, d)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if !logs {
		return notLog()
	}
	_, err := d.Token()
	return err
}

func notLog() error {
	return fault.Formatf("", 0, "is not a log of DebugMode").WithHint("DebugMode.save_logs(debug_mode.logs, path) writes one; the text of debug_string cannot be compared")
}

// calls reads the entries.
func (r *reader) calls(ctx context.Context, d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fault.Formatf("", d.InputOffset(), "its logs are not a list")
	}
	for n := 0; d.More(); n++ {
		if err := ctx.Err(); err != nil {
			return fault.FromIO("", err)
		}
		if n >= maxCalls {
			return fault.New(fault.Limit, "has more than %d entries", maxCalls)
		}
		var c call
		if err := d.Decode(&c); err != nil {
			return err
		}
		if err := r.take(&c); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// take takes one entry. An entry stands in the modules that were entered above it and less deep.
func (r *reader) take(c *call) error {
	for len(r.modules) > 0 && r.modules[len(r.modules)-1].depth >= c.Depth {
		r.modules = r.modules[:len(r.modules)-1]
	}
	switch c.Type {
	case "annotate":
		if c.Header == "nn.Mod" {
			r.modules = append(r.modules, module{c.Tag, c.Depth})
		}
		return nil
	case "op":
		return r.operator(c)
	}
	r.kinds[c.Type]++
	return nil
}

// tensors are how a log writes a tensor: "t: f32[4, 4]", with a number where tensors have some: "t$3: f32[]".
var tensors = lazyregexp.New(`\bd?t(?:\$\d+)?: (\w+)\[([\d, ]*)\]`)

// writesOnly are operators that do not read what they write: what was there before can be anything.
var writesOnly = map[string]bool{
	"copy_": true, "fill_": true, "zero_": true, "normal_": true, "uniform_": true, "bernoulli_": true, "random_": true, "exponential_": true,
	"geometric_": true, "cauchy_": true, "log_normal_": true,
}

// operator makes a record of an entry.
func (r *reader) operator(c *call) error {
	p := &tape.Place{Phase: anyPhase, Operator: strings.Replace(c.Name, "::", ".", 1)}
	if n := len(r.modules); n > 0 {
		p.Module = r.modules[n-1].name
	}
	o := &tape.Operator{Place: p, Scalars: tensors.ReplaceAllString(c.Args+c.Kwargs, "t")}
	inputs, outputs, err := hashesOf(c.Log)
	if err != nil {
		return err
	}
	_, short, _ := strings.Cut(c.Name, "::")
	short, _, _ = strings.Cut(short, ".")
	got := tensors.FindAllStringSubmatch(c.Args+c.Kwargs, -1)
	if len(inputs) != len(got) {
		r.blind++
	}
	for i, found := range got {
		v := valueOf(inputs, i, len(got))
		if writesOnly[short] && i == 0 || strings.HasPrefix(short, "empty") {
			v.State = tape.Uninitialized
		}
		add(o, tape.Input, i, found, v)
	}
	if c.Output != nil {
		made := tensors.FindAllStringSubmatch(*c.Output, -1)
		for i, found := range made {
			v := valueOf(outputs, i, len(made))
			if v.State == tape.Unreadable && (strings.Contains(short, "empty") || len(outputs) == 0) {
				v.State = tape.Uninitialized // DebugMode itself leaves these out
			}
			add(o, tape.Output, i, found, v)
		}
	}
	r.log.step.Operators = append(r.log.step.Operators, o)
	return nil
}

// add adds a tensor to a record.
func add(o *tape.Operator, role tape.Role, number int, found []string, v tape.Value) {
	slot := tape.Slot{Role: role, Name: strconv.Itoa(number), Type: found[1]}
	if role == tape.Input {
		slot.Name = "tensor " + slot.Name
	}
	for _, n := range strings.FieldsFunc(found[2], func(c rune) bool { return c == ',' || c == ' ' }) {
		size, _ := strconv.ParseInt(n, 10, 64)
		slot.Shape = append(slot.Shape, size)
	}
	o.Place.Slots = append(o.Place.Slots, slot)
	o.Values = append(o.Values, v)
}

// valueOf is what a hash says of a tensor. Where there is not one hash a tensor, nobody knows which is whose.
func valueOf(hashes []string, i, of int) tape.Value {
	v := tape.Value{State: tape.Unreadable, Max: math.NaN()}
	if len(hashes) == of {
		h := fnv.New64a()
		h.Write([]byte(hashes[i]))
		v.State, v.Digest = tape.Taken, h.Sum64()
		if hashes[i] == "nan" {
			v.NaN = 1
		}
	}
	return v
}

// hashesOf are the hashes of what an operator got and made, as text.
func hashesOf(n *debugNode) (inputs, outputs []string, err error) {
	if n == nil {
		return nil, nil, nil
	}
	for _, item := range n.Items {
		var pair [2]json.RawMessage
		var name string
		if err := json.Unmarshal(item, &pair); err != nil || json.Unmarshal(pair[0], &name) != nil {
			return nil, nil, fault.Formatf("", fault.Unknown, "an entry's log is not a dictionary")
		}
		into := map[string]*[]string{"input_hash": &inputs, "hash": &outputs}[name]
		if into == nil {
			continue
		}
		if err := flatten(pair[1], into, 0); err != nil {
			return nil, nil, err
		}
	}
	return inputs, outputs, nil
}

// maxDepth is how deep hashes may be nested.
const maxDepth = 100

// flatten lists the scalars in a value; null stands for what has no hash.
func flatten(text json.RawMessage, into *[]string, depth int) error {
	var n debugNode
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&n); err != nil || depth > maxDepth {
		return fault.Formatf("", fault.Unknown, "a hash is not a value of DebugMode")
	}
	switch n.Type {
	case "scalar", "nonfinite_float":
		if n.Value != nil {
			said, _ := json.Marshal(n.Value)
			*into = append(*into, strings.Trim(string(said), `"`))
		}
		return nil
	}
	for _, item := range n.Items {
		if n.Type == "dict" {
			var pair [2]json.RawMessage
			if err := json.Unmarshal(item, &pair); err != nil {
				return fault.Formatf("", fault.Unknown, "a hash is not a value of DebugMode")
			}
			item = pair[1]
		}
		if err := flatten(item, into, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// limit says what the log does not tell.
func (r *reader) limit() {
	l := r.log
	l.limits = append(l.limits, tape.Limit{What: "places of elements", Count: -1, Why: "hashes of DebugMode do not see them: two elements that change places have the same"})
	if r.blind > 0 {
		l.limits = append(l.limits, tape.Limit{What: "inputs of operators", Count: r.blind, Why: "their hashes were not logged (hash_inputs=True logs them)"})
	}
	for kind, n := range r.kinds {
		l.limits = append(l.limits, tape.Limit{What: "entries of type " + strconv.Quote(kind), Count: n, Why: "they are no operators"})
	}
	sort.Slice(l.limits, func(i, j int) bool { return l.limits[i].What < l.limits[j].What })
}

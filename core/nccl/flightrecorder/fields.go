package flightrecorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/unpickle"
)

// deepest is how deep JSON may nest.
const deepest = 64

// fromJSON reads JSON into the values that unpickle makes.
func fromJSON(path string, b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := jsonValue(dec, 0)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			return nil, fault.Formatf(path, dec.InputOffset(), "something follows the end of the dump")
		}
		return v, nil
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return nil, f.WithPath(path)
	}
	return nil, fault.Formatf(path, dec.InputOffset(), "the dump is no JSON here: %v", err)
}

func jsonValue(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	case json.Delim:
		if depth >= deepest {
			return nil, fault.Formatf("", dec.InputOffset(), "more than %d levels of JSON", deepest)
		}
		if t == '[' {
			return jsonList(dec, depth)
		}
		return jsonDict(dec, depth)
	}
	return t, nil
}

func jsonList(dec *json.Decoder, depth int) (any, error) {
	l := &unpickle.List{}
	for dec.More() {
		v, err := jsonValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	_, err := dec.Token()
	return l, err
}

func jsonDict(dec *json.Decoder, depth int) (any, error) {
	d := &unpickle.Dict{}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := jsonValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		d.Keys, d.Values = append(d.Keys, k), append(d.Values, v)
	}
	_, err := dec.Token()
	return d, err
}

func get[T any](d *unpickle.Dict, key string) (out T, ok bool) {
	v, _ := d.Get(key)
	out, ok = v.(T)
	return out, ok
}

func text(d *unpickle.Dict, key string) string {
	v, _ := get[string](d, key)
	return v
}

// whole is an integer, or a text that is one, as some versions write it.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

func number(d *unpickle.Dict, key string) int64 {
	v, _ := d.Get(key)
	n, _ := whole(v)
	return n
}

// mostNumber is beyond what anybody counts up to: 2^53, which JSON keeps exactly.
const mostNumber = 1 << 53

// mostItems bounds what is copied from a dump: values may stand in it many times, which costs a file two bytes each.
const mostItems = 32 << 20

// reader turns the values of a dump into entries.
type reader struct {
	path   string
	left   int // of mostItems
	frames map[*unpickle.List][]frame
	failed error // the first thing that cannot be
}

// counts refuses a number that cannot be one of those that PyTorch counts up.
func (r *reader) counts(key string, n int64) {
	if (n < 0 || n > mostNumber) && r.failed == nil {
		r.failed = fault.Formatf(r.path, fault.Unknown, "an entry has %d as its %s, which counts up from 0", n, key).WithHint("the dump is damaged: it is not to be believed")
	}
}

// spend takes n of what may be copied.
func (r *reader) spend(n int) bool {
	r.left -= n
	return r.left >= 0
}

func (r *reader) err() error {
	if r.failed != nil {
		return r.failed
	}
	if r.left < 0 {
		return fault.Formatf(r.path, 0, "the dump has more than %d sizes, types, ranks and entries", mostItems)
	}
	return nil
}

// groups reads pg_config: {name: {name, desc, ranks: "[0, 1]"}}.
func (r *reader) groups(top *unpickle.Dict) map[string]processGroup {
	out := map[string]processGroup{}
	all, ok := get[*unpickle.Dict](top, "pg_config")
	if !ok {
		return out
	}
	for i, v := range all.Values {
		d, ok := v.(*unpickle.Dict)
		name, named := all.Keys[i].(string)
		if !ok || !named || name == "" {
			continue // gloo writes the members of one group under no name
		}
		g := processGroup{Name: name, Description: text(d, "desc")}
		ranks, _ := d.Get("ranks")
		g.Ranks = r.ranksOf(ranks)
		out[name] = g
	}
	return out
}

// ranksOf reads "[0, 1]", or a list.
func (r *reader) ranksOf(v any) (out []int) {
	switch v := v.(type) {
	case string:
		if !r.spend(len(v)) {
			return nil
		}
		for _, word := range strings.FieldsFunc(v, func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.ParseInt(word, 10, 32); err == nil {
				out = append(out, int(n))
			}
		}
	case *unpickle.List:
		if !r.spend(len(v.Items)) {
			return nil
		}
		for _, item := range v.Items {
			if n, ok := whole(item); ok && n >= 0 && n < 1<<31 {
				out = append(out, int(n))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// entry reads one operation; false where it does not say what of which group it is.
func (r *reader) entry(v any) (entry, bool) {
	d, ok := v.(*unpickle.Dict)
	if !ok || !r.spend(16) {
		return entry{}, false
	}
	e := entry{
		Record: number(d, "record_id"), Sequence: number(d, "collective_seq_id"), P2PSequence: number(d, "p2p_seq_id"), Op: number(d, "op_id"),
		CreatedNS: number(d, "time_created_ns"), StartedNS: number(d, "time_discovered_started_ns"), EndedNS: number(d, "time_discovered_completed_ns"),
		TimeoutMS: number(d, "timeout_ms"), InputTypes: r.texts(d, "input_dtypes"), OutputTypes: r.texts(d, "output_dtypes"),
		InputSizes: r.sizes(d, "input_sizes"), OutputSizes: r.sizes(d, "output_sizes"), Source: -1, Target: -1,
	}
	r.counts("record_id", e.Record)
	r.counts("collective_seq_id", e.Sequence)
	r.counts("p2p_seq_id", e.P2PSequence)
	r.counts("op_id", e.Op)
	e.P2P, _ = get[bool](d, "is_p2p")
	if pair, ok := get[*unpickle.List](d, "process_group"); ok && len(pair.Items) >= 2 {
		e.Group, _ = pair.Items[0].(string)
		e.Description, _ = pair.Items[1].(string)
	}
	switch retired, _ := get[bool](d, "retired"); {
	case text(d, "state") == "completed" || retired: // gloo leaves the state as it was, and retires what is done
		e.State = completed
	case text(d, "state") == "started":
		e.State = started
	}
	e.name(text(d, "profiling_name"))
	if l, ok := get[*unpickle.List](d, "frames"); ok {
		e.Frames = r.framesOf(l)
	}
	return e, e.Name != "" && e.Group != ""
}

// name reads "nccl:all_reduce", "nccl:send 1->2", "nccl:recv 2<-1", "gloo:recv 2<-?".
func (e *entry) name(profiling string) {
	at := strings.LastIndexByte(profiling, ':')
	e.Backend, e.Name = profiling[:max(at, 0)], profiling[at+1:]
	name, ends, _ := strings.Cut(e.Name, " ")
	if name != "send" && name != "recv" {
		return
	}
	e.Name, e.P2P = name, true
	from, to, ok := strings.Cut(ends, "->")
	if name == "recv" {
		to, from, ok = strings.Cut(ends, "<-")
	}
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(from, 10, 32); err == nil {
		e.Source = int(n)
	}
	if n, err := strconv.ParseInt(to, 10, 32); err == nil {
		e.Target = int(n)
	}
}

func (r *reader) texts(d *unpickle.Dict, key string) (out []string) {
	v, _ := d.Get(key)
	switch v := v.(type) {
	case string:
		if v != "" {
			out = []string{v}
		}
	case *unpickle.List:
		if !r.spend(len(v.Items)) {
			return nil
		}
		for _, item := range v.Items {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// sizes reads the shapes of arrays, a list of lists.
func (r *reader) sizes(d *unpickle.Dict, key string) (out [][]int64) {
	l, ok := get[*unpickle.List](d, key)
	if !ok || !r.spend(len(l.Items)) {
		return nil
	}
	for _, item := range l.Items {
		shape, ok := item.(*unpickle.List)
		if !ok || !r.spend(len(shape.Items)) {
			continue
		}
		one := make([]int64, 0, len(shape.Items))
		for _, n := range shape.Items {
			if n, ok := whole(n); ok {
				one = append(one, n)
			}
		}
		out = append(out, one)
	}
	return out
}

// framesOf reads a stack. Entries share those that are alike.
func (r *reader) framesOf(l *unpickle.List) []frame {
	if f, ok := r.frames[l]; ok || !r.spend(len(l.Items)) {
		return f
	}
	var out []frame
	for _, item := range l.Items {
		if d, ok := item.(*unpickle.Dict); ok {
			out = append(out, frame{text(d, "name"), text(d, "filename"), number(d, "line")})
		}
	}
	r.frames[l] = out
	return out
}

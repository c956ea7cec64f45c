package kernels

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// What a kernel belongs to is read in a pass of its own, on request: ranges of the host nest by time on their thread, the call that launched a
// kernel lies in some of them, and call and kernel share a number. Gradients are computed on another thread, in operators that name the
// number of the operator they belong to.

// hostRange is a range of a thread of the host.
type hostRange struct {
	start, end int64 // absolute ns, the end rounded up
	thread     int32
	name       uint32
	kind       rangeKind
	sequence   int64 // 0 none
	backward   bool
}

type rangeKind uint8

const (
	operatorRange rangeKind = iota
	moduleRange             // of PyTorch
	namedRange              // by the user
)

// launchCall is a call that launched something.
type launchCall struct {
	start  int64
	thread int32
	number uint64
}

// launched is a kernel with the number of its call.
type launched struct {
	start  int64
	name   uint32
	number uint64
}

// ownerReader gathers what is needed to say what kernels belong to.
type ownerReader struct {
	texts   map[string]uint32
	names   []string
	threads map[[2]int32]int32
	ranges  []hostRange
	calls   []launchCall
	work    []launched
	lost    int64

	owners   *owners
	siblings map[string][]uint32 // names of modules that stand in one, by its path of instances and the name of their class
	ofNumber map[uint64]uint32   // owner, by number of a call
	twice    map[uint64]bool     // numbers that calls of several threads have: of several ranks in one file
	forward  map[int64][]Part    // path, by number of an operator
	comm     map[launchedKey]string
}

type launchedKey struct {
	start int64
	name  uint32
}

const modulePrefix = "nn.Module: "

// own reads what the kernels of a trace belong to.
func (t *Trace) own(j *job.Job, salvage bool) error {
	ctx := j.Context()
	src, _, err := formats.Open(ctx, t.Path, salvage || t.Format == "chrome")
	if err != nil {
		return err
	}
	defer src.Close()
	j.Progress().SetStage("reading modules")
	trace, _, err := formats.Scan(ctx, src, source.ScanOptions{})
	if err != nil {
		return err
	}
	active, ok := trace.(source.Active)
	if !ok {
		t.Warnings = append(t.Warnings, "traces of this format do not say what launched a kernel")
		return nil
	}
	r := &ownerReader{texts: map[string]uint32{}, threads: map[[2]int32]int32{}, owners: newOwners()}
	if err := active.Activities(ctx, src, r.visit); err != nil {
		return err
	}
	if recorded, ok := trace.(source.Recorded); ok {
		if err := r.collectives(ctx, recorded, src); err != nil {
			return err
		}
	}
	r.nest()
	t.take(r)
	return nil
}

func (r *ownerReader) text(b []byte) uint32 {
	if n, ok := r.texts[string(b)]; ok {
		return n
	}
	n := uint32(len(r.names))
	r.names = append(r.names, string(b))
	r.texts[r.names[n]] = n
	return n
}

func (r *ownerReader) visit(a *source.Activity) {
	if a.Role == source.ActiveKernel {
		if len(r.work) < maxOwned {
			r.work = append(r.work, launched{a.Start.NS, r.text(a.Name), a.Number})
		} else {
			r.lost++
		}
		return
	}
	if a.Role != source.ActiveHost || a.Process < 0 || a.Line < 0 {
		return
	}
	thread, known := r.threads[[2]int32{a.Process, a.Line}]
	if !known {
		thread = int32(len(r.threads))
		r.threads[[2]int32{a.Process, a.Line}] = thread
	}
	if a.Number != 0 {
		r.calls = append(r.calls, launchCall{a.Start.NS, thread, a.Number})
		return
	}
	x := hostRange{start: a.Start.NS, end: a.EndNS, thread: thread}
	name := a.Name
	switch operator, sequence, ok := emitted(a.Name); {
	case ok && a.Named:
		name, x.sequence, x.backward = operator, sequence, bytes.Contains(operator, []byte("Backward"))
	case bytes.HasPrefix(a.Name, []byte(modulePrefix)):
		x.kind = moduleRange
	case a.Named:
		if read(string(a.Name)).Kind != NVTX { // a step: what it encloses says so itself
			return
		}
		x.kind = namedRange
	case ofPython(a.Name):
		return
	case a.Sequence != nil:
		x.sequence, x.backward = a.Sequence()
	}
	if len(r.ranges) >= maxOwned {
		r.lost++
		return
	}
	x.name = r.text(name)
	r.ranges = append(r.ranges, x)
}

// emitted reads the ranges that PyTorch puts around operators under emit_nvtx: "aten::mm, seq = 12, op_id = 40, sizes = [[2, 3]]".
func emitted(name []byte) (operator []byte, sequence int64, ok bool) {
	operator, rest, _ := bytes.Cut(name, []byte(", "))
	number := func(key string) (int64, bool) {
		_, text, found := bytes.Cut(rest, []byte(key))
		if !found {
			return 0, false
		}
		n, err := strconv.ParseInt(string(text[:work.LeadingDigits(string(text[:min(len(text), longestNumber)]))]), 10, 64)
		return n, err == nil
	}
	sequence, numbered := number("seq = ")
	_, called := number("op_id = ")
	return operator, sequence, numbered || called
}

// ofPython reports whether a range is a function of Python: "torch/nn/modules/linear.py(116): forward".
func ofPython(name []byte) bool {
	return bytes.Contains(name, []byte("): ")) || bytes.HasPrefix(name, []byte("<built-in"))
}

// collectives reads what recorders wrote beside kernels of communication.
func (r *ownerReader) collectives(ctx context.Context, trace source.Recorded, src *file.Source) error {
	r.comm = map[launchedKey]string{}
	_, err := trace.Communication(ctx, src, func(k *source.Communication) {
		if !k.HasCollective {
			return
		}
		text := k.Collective
		if k.GroupSize > 0 {
			text += fmt.Sprintf(" of %d ranks", k.GroupSize)
		}
		if name := cmp.Or(k.Description, k.Group); name != "" {
			text += " (" + name + ")"
		}
		if size := k.Elements * int64(k.ElementBytes); size > 0 {
			text += ", " + sizeText(size)
		}
		r.comm[launchedKey{k.Start.NS, r.text([]byte(k.Name))}] = text
	})
	return err
}

// sizeText writes a size in bytes.
func sizeText(n int64) string {
	unit := 0
	size := float64(n)
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for size >= kibi && unit < len(units)-1 {
		size /= kibi
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// nest puts calls into ranges.
func (r *ownerReader) nest() {
	slices.SortFunc(r.ranges, func(a, b hostRange) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(b.kind, a.kind), cmp.Compare(a.name, b.name))
	})
	slices.SortFunc(r.calls, func(a, b launchCall) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(a.number, b.number))
	})
	r.siblings, r.forward = map[string][]uint32{}, map[int64][]Part{}
	r.eachStack(func(stack []int32, opened int32) { // modules are numbered among their siblings when all are known
		if r.ranges[opened].kind == moduleRange {
			r.family(stack[:len(stack)-1], opened)
		}
	}, nil)
	for key, list := range r.siblings {
		slices.SortFunc(list, func(a, b uint32) int { return cmp.Compare(instance(r.names[a]), instance(r.names[b])) })
		r.siblings[key] = list
	}
	r.eachStack(func(stack []int32, opened int32) {
		if x := &r.ranges[opened]; x.sequence > 0 && !x.backward {
			r.forward[x.sequence] = r.path(stack)
		}
	}, nil)
	r.ofNumber, r.twice = make(map[uint64]uint32, len(r.calls)), map[uint64]bool{}
	threadOf := make(map[uint64]int32, len(r.calls))
	r.eachStack(nil, func(stack []int32, c *launchCall) {
		if thread, seen := threadOf[c.number]; seen {
			if thread != c.thread {
				r.twice[c.number] = true
			}
			return
		}
		threadOf[c.number] = c.thread
		r.ofNumber[c.number] = r.owners.number(r.ownerOf(stack))
	})
}

// eachStack goes through ranges and calls in order of thread and time, with the ranges around each.
func (r *ownerReader) eachStack(opens func(stack []int32, opened int32), calls func(stack []int32, c *launchCall)) {
	var stack []int32
	thread, next := int32(-1), 0
	closed := func(at int64) {
		for len(stack) > 0 && r.ranges[stack[len(stack)-1]].end <= at && r.ranges[stack[len(stack)-1]].start < at {
			stack = stack[:len(stack)-1]
		}
	}
	callsUntil := func(of int32, at int64) {
		for ; next < len(r.calls) && (r.calls[next].thread < of || r.calls[next].thread == of && r.calls[next].start < at); next++ {
			c := &r.calls[next]
			if c.thread != thread {
				stack = stack[:0]
			}
			closed(c.start)
			if calls != nil {
				calls(stack, c)
			}
		}
	}
	for i := range r.ranges {
		x := &r.ranges[i]
		callsUntil(x.thread, x.start)
		if x.thread != thread {
			stack, thread = stack[:0], x.thread
		}
		closed(x.start)
		stack = append(stack, int32(i))
		if opens != nil {
			opens(stack, int32(i))
		}
	}
	if len(r.calls) > 0 {
		last := &r.calls[len(r.calls)-1]
		callsUntil(last.thread, last.start+1)
	}
}

// around is the path of instances of the modules in a stack.
func (r *ownerReader) around(stack []int32) string {
	var b strings.Builder
	for _, i := range stack {
		if x := &r.ranges[i]; x.kind == moduleRange {
			b.WriteString(r.names[x.name])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// family notes a module among those of its class in the module around it.
func (r *ownerReader) family(outside []int32, opened int32) {
	name := r.ranges[opened].name
	key := r.around(outside) + "\x00" + className(r.names[name])
	if list := r.siblings[key]; !slices.Contains(list, name) {
		r.siblings[key] = append(list, name)
	}
}

// className is the class of a module: "Linear" of "nn.Module: Linear_14".
func className(name string) string {
	name = strings.TrimPrefix(name, modulePrefix)
	if i := strings.LastIndexByte(name, '_'); i > 0 && numeric(name[i+1:]) {
		return name[:i]
	}
	return name
}

// instance is the number at the end of a name, -1 where there is none.
func instance(name string) int {
	i := len(name)
	for i > 0 && '0' <= name[i-1] && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil {
		return -1
	}
	return n
}

func numeric(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// path are the modules and named ranges of a stack.
func (r *ownerReader) path(stack []int32) []Part {
	var out []Part
	var key strings.Builder
	for _, i := range stack {
		x := &r.ranges[i]
		name := r.names[x.name]
		switch x.kind {
		case moduleRange:
			class := className(name)
			family := r.siblings[key.String()+"\x00"+class]
			index := int32(-1)
			if len(family) > 1 {
				index = int32(slices.Index(family, x.name))
			}
			out = append(out, Part{class, index})
			key.WriteString(name)
			key.WriteByte(0)
		case namedRange:
			out = append(out, rangePart(name))
		}
	}
	return out
}

// rangePart takes the number from the end of the name of a range: "layer 3" is layer[3].
func rangePart(name string) Part {
	n := instance(name)
	plain := strings.TrimRight(strings.TrimRight(name, "0123456789"), " _.:#-")
	if n < 0 || plain == "" || n > maxRangeNumber {
		return Part{name, -1}
	}
	return Part{plain, int32(n)}
}

// ownerOf is what a call in the innermost of these ranges belongs to.
func (r *ownerReader) ownerOf(stack []int32) Owner {
	out := Owner{Path: r.path(stack)}
	for k := len(stack) - 1; k >= 0; k-- {
		x := &r.ranges[stack[k]]
		if x.kind == operatorRange && out.Operator == "" {
			out.Operator = r.names[x.name]
		}
		if path := r.forward[x.sequence]; x.backward && x.sequence > 0 && path != nil {
			out.Path, out.Backward = path, true
			break
		}
	}
	return out
}

// take gives kernels their owners: those of the same name that start in the same nanosecond.
func (t *Trace) take(r *ownerReader) {
	of := map[launchedKey]uint32{}
	unclear := int64(0)
	for _, w := range r.work {
		owner := r.ofNumber[w.number]
		if r.twice[w.number] {
			owner = 0
			unclear++
		}
		key := launchedKey{w.start, w.name}
		if text, ok := r.comm[key]; ok {
			x := r.owners.all[owner]
			x.Collective = text
			owner = r.owners.number(x)
		}
		if other, seen := of[key]; seen && other != owner {
			owner = 0
		}
		of[key] = owner
	}
	number := make([]int64, len(t.Names))
	for i, name := range t.Names {
		number[i] = -1
		if n, ok := r.texts[name]; ok {
			number[i] = int64(n)
		}
	}
	for i := range t.Sequences {
		s := &t.Sequences[i]
		s.Owner = make([]uint32, s.Len())
		for k := range s.Owner {
			if n := number[s.Name[k]]; n >= 0 {
				s.Owner[k] = of[launchedKey{s.StartNS[k], uint32(n)}]
			}
		}
	}
	t.Owners = r.owners.all
	if r.lost > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d ranges and kernels are more than are kept to tell what kernels belong to", r.lost))
	}
	if unclear > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d kernels share the number of their launch with others, so that what they belong to is not known", unclear))
	}
}

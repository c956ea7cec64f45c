package llir

import (
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/runtime/device"
)

// Options say what of a module is recorded.
type Options struct {
	Filter   observe.Filter
	Stores   bool // an event for each store to global memory, beside the sums
	Atomics  bool // likewise for each atomic
	Barriers bool // and for each barrier of a block
	Values   bool // the operands of every lane beside each event that has some
	Digest   bool // counts and hashes of events alone are kept
}

// Result is a module that records.
type Result struct {
	Text      string
	Sites     []site.Site           // of all its functions, in the order of the text; nil: nothing was inserted
	Types     []warptrace.ValueType // of the value that an event of each site has
	Sums      []observe.Sum         // what stores and atomics add to, of arrays that are known
	Sought    []observe.Sum         // likewise, of arrays that are looked for while the kernel runs
	Unseen    int                   // instructions that write global memory from no registers, or in a way that is not known
	Functions int                   // that record
	Warning   string                // why the text is what it was, or what is not recorded; "" nothing to say
}

// ours begins all names that are inserted.
const ours = "prlx_"

// conversion is the instruction that makes 64 bits of a type.
func conversion(ty string) (steps []string, ok bool) {
	switch ty {
	case "i64":
		return nil, true
	case "i1", "i8", "i16", "i32":
		return []string{"zext " + ty + " $ to i64"}, true
	case "half", "bfloat":
		return []string{"bitcast " + ty + " $ to i16", "zext i16 $ to i64"}, true
	case "float":
		return []string{"bitcast float $ to i32", "zext i32 $ to i64"}, true
	case "double":
		return []string{"bitcast double $ to i64"}, true
	}
	if strings.HasPrefix(ty, "ptr") {
		return []string{"ptrtoint " + ty + " $ to i64"}, true
	}
	if n, isInt := decimal(strings.TrimPrefix(ty, "i")); isInt && strings.HasPrefix(ty, "i") && n < 64 && ty == "i"+itoa(n) {
		return []string{"zext " + ty + " $ to i64"}, true
	}
	return nil, false
}

// edit replaces a piece of the text.
type edit struct {
	at   span
	text string
}

// Instrument inserts calls of the recorder. What it does not understand leaves the text as it is, with a warning that says what it was.
func Instrument(text string, o Options) *Result {
	same := &Result{Text: text}
	m, err := read(text)
	if err != nil {
		same.Warning = "not recorded: " + err.Error()
		return same
	}
	r, err := m.instrument(o)
	if err != nil {
		same.Warning = "not recorded: " + err.Error()
		return same
	}
	return r
}

func (m *module) instrument(o Options) (*Result, error) {
	if strings.Contains(m.text, "@"+ours) {
		return nil, fault.New(fault.Format, "the module has names that begin with @%s", ours)
	}
	recorder, err := m.recorder()
	if err != nil {
		return nil, err
	}
	s := &found{m: m, options: o, loads: map[*function]map[int32]int{}}
	r := &Result{}
	var edits []edit
	left, crowded := []string{}, 0
	var sums slots
	var recording []recorded
	for _, f := range m.Functions {
		if !o.Filter.Kernel(f.Name) && f.Kernel {
			continue
		}
		scratch := f.scratch()
		if scratch == "" {
			left = append(left, f.Name)
			continue
		}
		before := len(s.points)
		s.function(f)
		s.keep(before, o.Filter)
		crowded += s.roomy(before, f)
		if len(s.points) == before {
			continue
		}
		r.Functions++
		s.slots(before, &sums)
		recording = append(recording, recorded{f, scratch, before, len(s.points)})
	}
	for _, one := range recording {
		edits = m.open(edits, one.f)
		edits = append(edits, one.f.enter(m, one.scratch, sums.needed(), o.Digest))
		edits = m.calls(edits, s.points[one.from:one.to], one.from, caller{one.scratch, o.Digest})
	}
	if len(left) > 0 {
		r.Warning = "not recorded, for they have no scratch parameter: " + strings.Join(left, ", ")
	}
	if crowded > 0 {
		r.Warning = joined(r.Warning, "not recorded: "+itoa(int32(crowded))+" sites of warps that have fewer than "+itoa(leastRegisters)+" registers left")
	}
	if r.Text = m.text; len(s.points) == 0 {
		return r, nil
	}
	site.AssignKeys(s.sites)
	for i := range s.sites {
		observe.Resolve(s.sites[i].Operands, func(int) site.Key { return 0 })
	}
	r.Sites, r.Types, r.Sums, r.Sought, r.Unseen = s.sites, s.types, sums.known, sums.sought, s.unseen
	r.Text = apply(m.text, edits) + recorder.text(m, s.points, o.Digest)
	return r, m.verify(r.Text)
}

// keep leaves out what a filter does not want.
func (s *found) keep(from int, filter observe.Filter) {
	n := from
	for i := from; i < len(s.points); i++ {
		if s.points[i].access != nil || filter.Site(&s.sites[i]) { // what is stored is summed of all lines
			s.sites[n], s.points[n], s.types[n] = s.sites[i], s.points[i], s.types[i]
			n++
		}
	}
	s.sites, s.points, s.types = s.sites[:n], s.points[:n], s.types[:n]
}

// slots gives the accesses from a site on the sums that they add to.
func (s *found) slots(from int, sums *slots) {
	for i := from; i < len(s.points); i++ {
		if a := s.points[i].access; a != nil {
			a.slot = sums.of(uint32(i), &s.sites[i], int32(s.points[i].f.argumentOf(a.pointer.name)), a.operation == operations["cas"])
			a.pairs = s.points[i].f.paired(a)
		}
	}
}

// joined puts two warnings together.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// scratch is the parameter that Triton adds for profilers: the last one, after another scratch; "" where there is none.
func (f *function) scratch() string {
	n := len(f.Params)
	if n < 2 || f.Params[n-1].Type != "ptr addrspace(1)" || f.Params[n-2].Type != "ptr addrspace(1)" {
		return ""
	}
	return f.Params[n-1].Name
}

// open takes back what the compiler concluded of a parameter that nobody used: that nothing is written through it.
func (m *module) open(edits []edit, f *function) []edit {
	p := f.Params[len(f.Params)-1]
	list := m.at(f.params)
	all := parts(list)
	last := all[len(all)-1]
	at := f.params.from + strings.LastIndex(list, last)
	kept := p.Type + " "
	if slices.Contains(strings.Fields(p.Attrs), "inreg") {
		kept += "inreg "
	}
	edits = append(edits, edit{span{at, at + len(last)}, kept + p.Name})
	if number, ok := m.attributes[f.Group]; ok && f.Kernel {
		if before, after := m.at(m.lines[number]), openGroup(m.at(m.lines[number])); before != after {
			edits = append(edits, edit{m.lines[number], after})
		}
	}
	return edits
}

// concluded are attributes that a kernel loses when it records: on AMD GPUs a kernel is not told what it never asks.
var concluded = []string{
	`"amdgpu-no-implicitarg-ptr" `, `"amdgpu-no-workgroup-id-x" `, `"amdgpu-no-workgroup-id-y" `, `"amdgpu-no-workgroup-id-z" `,
	`"amdgpu-no-workitem-id-x" `, "nofree ", "nosync ",
}

// openGroup takes them out of a line of attributes.
func openGroup(line string) string {
	for _, word := range concluded {
		line = strings.Replace(line, " "+word, " ", 1)
	}
	if i := strings.Index(line, " memory("); i >= 0 {
		if n := strings.Index(line[i:], ") "); n >= 0 {
			line = line[:i] + line[i+n+1:]
		}
	}
	return line
}

// recorded is a function that records: the points from one number to another are in it.
type recorded struct {
	f        *function
	scratch  string
	from, to int
}

// The names that a kernel has for what it asks where it begins: the entry of its warp, and for digests which lanes are below.
const (
	entryName = "%" + ours + "entry"
	lowerName = "%" + ours + "lower"
)

// enter asks who the warp is, behind what the function allocates.
func (f *function) enter(m *module, scratch string, needed int, digest bool) edit {
	first := 0
	for first+1 < len(f.Insts) && f.Insts[first].Op == "alloca" {
		first++
	}
	at := m.lines[f.Insts[first].line].from
	debug := ""
	for i := range f.Insts {
		if n := f.Insts[i].Debug; n >= 0 {
			debug = ", !dbg !" + itoa(n)
			break
		}
	}
	text := "  " + entryName + " = call ptr addrspace(1) @prlx_enter(ptr addrspace(1) " + scratch + ", i32 " + itoa(int32(needed)) + ")" + debug + "\n"
	if digest {
		text += "  " + lowerName + " = call i32 @prlx_lower(ptr addrspace(1) " + entryName + ")" + debug + "\n"
	}
	return edit{span{at, at}, text}
}

// caller writes what calls of the recorder have in common.
type caller struct {
	scratch string
	digest  bool
}

// begin is what a call of an event begins with.
func (c caller) begin(number string) string {
	if c.digest {
		return "ptr addrspace(1) " + entryName + ", i32 " + lowerName + ", i32 " + number
	}
	return "ptr addrspace(1) " + entryName + ", i32 " + number
}

// end is what it ends with.
func (c caller) end() string {
	if c.digest {
		return ")"
	}
	return ", ptr addrspace(1) " + c.scratch + ")"
}

// name is that of a function of the recorder.
func (c caller) name(what string) string {
	if c.digest {
		return ours + "digest_" + what
	}
	return ours + "record_" + what
}

// calls inserts a call at each point of a function, and what adds to sums.
func (m *module) calls(edits []edit, points []point, first int, c caller) []edit {
	groups := grouped(points)
	for i := range points {
		p := &points[i]
		at := m.lines[p.f.Insts[p.at].line].from
		text := ""
		if p.access != nil {
			text = p.accessCalls(int32(first+i), c)
			if len(groups[i]) > 0 {
				text += sumCalls(points, groups[i], first, c)
			}
		} else {
			text = p.decisionCalls(itoa(int32(first+i)), c)
		}
		edits = append(edits, edit{span{at, at}, text})
	}
	return edits
}

// debugging is the attachment that says where a point is.
func (p *point) debugging() string {
	if p.debug < 0 {
		return ""
	}
	return ", !dbg !" + itoa(p.debug)
}

// decisionCalls are those at a branch, a switch or a predicate.
func (p *point) decisionCalls(number string, c caller) string {
	l := &lines{number: number, debug: p.debugging(), caller: c}
	value := "0"
	if p.value != "" {
		value = p.operandBits(l, p.value)
	}
	begin, end := c.begin(number), c.end()
	switch {
	case p.operands && p.kind == site.Switch:
		along := l.value("call i1 @prlx_goes_along(i64 " + value + ")")
		l.operands(begin, l.value("call i64 @prlx_record_opening("+begin+", i1 "+along+", i64 "+value+end), value, "0")
	case p.operands:
		other := p.operandBits(l, p.other)
		l.operands(begin, l.value("call i64 @prlx_record_opening("+begin+", i1 "+p.condition+", i64 "+value+end), value, other)
	case p.kind == site.Switch && c.digest:
		along := l.value("call i1 @prlx_goes_along(i64 " + value + ")")
		l.call(c.name("decision") + "(" + begin + ", i1 " + along + ", i64 " + value + end)
	case p.kind == site.Switch:
		l.call(c.name("choice") + "(" + begin + ", i64 " + value + end)
	default:
		l.call(c.name("decision") + "(" + begin + ", i1 " + p.condition + ", i64 " + value + end)
	}
	return l.b.String()
}

// operandBits makes 64 bits of an operand of a compare, of one element where it is a vector.
func (p *point) operandBits(l *lines, name string) string {
	if p.vector != "" {
		name = l.value("extractelement " + p.vector + " " + name + ", " + p.lane)
	}
	steps, _ := conversion(p.ty)
	for _, step := range steps {
		name = l.value(strings.Replace(step, "$", name, 1))
	}
	return name
}

// apply makes edits, which do not overlap.
func apply(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at.from - b.at.from })
	n := len(text)
	for i := range edits {
		n += len(edits[i].text)
	}
	var b strings.Builder
	b.Grow(n + 16<<10)
	from := 0
	for i := range edits {
		b.WriteString(text[from:edits[i].at.from])
		b.WriteString(edits[i].text)
		from = edits[i].at.to
	}
	b.WriteString(text[from:])
	return b.String()
}

// recorder is the recorder of one kind of GPU in pieces: a module gets those that it needs.
type recorder struct {
	m        *module
	declares map[string]string // line by name
}

var (
	nvptx  = sync.OnceValues(func() (*recorder, error) { return newRecorder(device.NVPTX()) })
	amdgcn = sync.OnceValues(func() (*recorder, error) { return newRecorder(device.AMDGCN()) })
)

func newRecorder(text string) (*recorder, error) {
	m, err := read(text)
	if err != nil {
		return nil, err
	}
	r := &recorder{m: m, declares: map[string]string{}}
	for _, l := range m.lines {
		if line := m.at(l); strings.HasPrefix(line, "declare ") {
			r.declares[symbol(line)] = line
		}
	}
	return r, nil
}

// recorder is the one that fits a module.
func (m *module) recorder() (*recorder, error) {
	for _, f := range m.Functions {
		if line := m.at(m.lines[f.head]); f.Kernel && strings.Contains(line, "ptx_kernel ") {
			return nvptx()
		} else if f.Kernel {
			return amdgcn()
		}
	}
	return nil, fault.New(fault.Format, "the module has no kernel of a kind that is known")
}

// need adds a function and all that it calls.
func (r *recorder) need(needed map[string]bool, name string) {
	if needed[name] {
		return
	}
	for _, f := range r.m.Functions {
		if f.Name != name {
			continue
		}
		needed[name] = true
		for i := range f.Insts {
			if called := callee(&f.Insts[i]); f.Insts[i].Op == "call" && strings.HasPrefix(called, ours) {
				r.need(needed, called)
			}
		}
	}
}

// text is what a module gets at its end: the functions that its calls need, and declarations that it does not have.
func (r *recorder) text(m *module, points []point, digest bool) string {
	c := caller{digest: digest}
	needed := map[string]bool{}
	r.need(needed, "prlx_enter")
	if digest {
		r.need(needed, "prlx_lower")
	}
	for i := range points {
		p := &points[i]
		if p.access != nil {
			for _, name := range p.access.recorders() {
				r.need(needed, name)
			}
		}
		switch {
		case p.operands:
			r.need(needed, "prlx_record_operands")
			if r.need(needed, "prlx_record_opening"); p.access != nil {
				r.need(needed, "prlx_record_opening_access")
			} else if p.kind == site.Switch {
				r.need(needed, "prlx_goes_along")
			}
		case p.access != nil && p.event:
			r.need(needed, c.name("access"))
		case p.access != nil:
		case p.kind == site.Switch && digest:
			r.need(needed, "prlx_goes_along")
			r.need(needed, c.name("decision"))
		case p.kind == site.Switch:
			r.need(needed, c.name("choice"))
		default:
			r.need(needed, c.name("decision"))
		}
	}
	var b strings.Builder
	var declared []string
	for _, f := range r.m.Functions {
		if !needed[f.Name] {
			continue
		}
		b.WriteByte('\n')
		b.WriteString(r.m.text[r.m.lines[f.head].from : r.m.lines[f.end].to+1])
		for i := range f.Insts {
			name := callee(&f.Insts[i])
			if line, ok := r.declares[name]; ok && f.Insts[i].Op == "call" && !m.declared[name] && !slices.Contains(declared, line) {
				declared = append(declared, line)
			}
		}
	}
	for _, line := range declared {
		b.WriteByte('\n')
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

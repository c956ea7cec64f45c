package kernels

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
)

// rankStep is the distance of the pids of two ranks in files that merge ranks. No pid of an operating system is as large.
const rankStep = 100_000_000

var (
	rankText = regexp.MustCompile(`(?i)\brank[ _-]?(\d+)\b`)
	gpuText  = regexp.MustCompile(`\bGPU \d+$`)
)

// describe says of every process which rank and device it is. Processes of one rank share correlation ids.
func (g *gather) describe(res *chrometrace.WalkResult) error {
	base := int64(0) // of a document that was cut before it said so: that of another one
	for d := len(res.Documents) - 1; d >= 0; d-- {
		if res.Documents[d].HasBase {
			base = res.Documents[d].BaseNS
		}
	}
	for d := range res.Documents {
		for len(g.origins) <= d {
			g.origins = append(g.origins, origin{})
		}
		if g.origins[d].baseNS = base; res.Documents[d].HasBase {
			g.origins[d].baseNS = res.Documents[d].BaseNS
		}
	}
	merged := map[int]bool{} // documents with pids of several ranks
	for i := range g.procs {
		if n, ok := pidNumber(g.procs[i].pid); ok && n >= rankStep {
			merged[g.procs[i].document] = true
		}
	}
	groups := map[string]uint16{}
	for i := range g.procs {
		p := &g.procs[i]
		p.rank = -1
		doc := &res.Documents[p.document]
		if doc.Distributed != nil {
			p.rank = doc.Distributed.Rank
		}
		p.host = doc.Host
		n, numeric := pidNumber(p.pid)
		part := ""
		if merged[p.document] && numeric {
			p.rank = n / rankStep
			n %= rankStep
			part = strconv.Itoa(p.rank)
		}
		tag := p.combined()
		p.device = g.deviceName(p, n, numeric)
		key := fmt.Sprintf("%d/%s/%s", p.document, part, tag)
		id, ok := groups[key]
		if !ok {
			id = uint16(len(groups))
			groups[key] = id
		}
		p.group = id
	}
	g.nameStreams()
	return g.alignDocuments()
}

// combined reads the names that prlx itself gives to processes of combined files, "node1 rank 3 · host · GPU 0", and returns the first
// part: one recording.
func (p *process) combined() string {
	parts := strings.Split(p.name, " · ")
	if len(parts) < 2 {
		return ""
	}
	if m := rankText.FindStringSubmatch(parts[0]); m != nil {
		p.rank = number(m[1])
	}
	if last := parts[len(parts)-1]; gpuText.MatchString(last) || strings.HasPrefix(last, "/device:") {
		p.labels = last
	}
	if len(parts) > 2 {
		p.host = parts[1]
	}
	return parts[0]
}

// deviceName is what a person calls the device of a process.
func (g *gather) deviceName(p *process, pid int, numeric bool) string {
	switch {
	case strings.HasPrefix(p.labels, "GPU "):
		return p.labels
	case strings.HasPrefix(p.labels, "/device:"):
		return deviceOf(p.labels)
	case strings.HasPrefix(p.name, "/device:"):
		return deviceOf(p.name)
	case numeric && pid < 1<<10 && !g.plain:
		return "GPU " + strconv.Itoa(pid)
	case numeric:
		return "process " + strconv.Itoa(pid)
	case len(p.pid) > 1 && p.pid[0] == '"':
		return strings.Trim(p.pid, `"`)
	case p.pid == "":
		return "unknown"
	}
	return p.pid
}

// deviceOf shortens "/device:GPU:0 (host)" to "GPU 0", and "/device:TPU:0" to "TPU 0".
func deviceOf(name string) string {
	name = strings.TrimPrefix(name, "/device:")
	if i := strings.IndexByte(name, ' '); i > 0 {
		name = name[:i]
	}
	if kind, n, ok := strings.Cut(name, ":"); ok && n != "" && leadingDigits(n) == len(n) {
		return kind + " " + n
	}
	return name
}

// pidNumber reads a pid that is a number, or a string that holds one.
func pidNumber(pid string) (int, bool) {
	n, err := strconv.Atoi(strings.Trim(pid, `"`))
	return n, err == nil && n >= 0
}

// rankedThread is the name of a thread that stands for one queue of one of several ranks in a process: "PP rank 0, TP rank 1, compute".
var rankedThread = regexp.MustCompile(`^([A-Z]{2} rank \d+(?:, [A-Z]{2} rank \d+)*), (.+)$`)

// nameStreams gives lanes their names.
func (g *gather) nameStreams() {
	for i := range g.lanes {
		l := &g.lanes[i]
		if m := rankedThread.FindStringSubmatch(g.procs[l.proc].threads[l.thread]); m != nil && g.plain {
			l.device = g.procs[l.proc].device + ", " + m[1]
			l.stream = m[2]
			continue
		}
		l.stream = strings.Trim(l.thread, `"`)
		if n := g.procs[l.proc].threads[l.thread]; n != "" && (leadingDigits(l.stream) < len(l.stream) || strings.Contains(n, l.stream)) {
			l.stream = strings.TrimSpace(n)
		}
		if n, ok := strings.CutPrefix(l.stream, "stream "); ok {
			l.stream = strings.TrimSpace(n)
			if k := leadingDigits(l.stream); k > 0 { // "stream 7 7"
				l.stream = l.stream[:k]
			}
		}
	}
}

// choose takes the events of unknown categories for kernels: other programs write traces too.
func (c *chromeReader) choose() *gather {
	g := c.other
	g.losses.Unusable += c.g.losses.Unusable
	devices := 0
	for i := range g.procs {
		if n := g.procs[i].name; strings.Contains(n, "/device:") || strings.HasPrefix(n, "/host:") {
			devices++
		}
	}
	if devices == 0 {
		g.plain = true
		g.warn(fmt.Sprintf("no event is of a kernel: the %d events of the categories that the file has were taken instead, a process for a device", g.rows.len()))
		return g
	}
	for i := range g.lanes { // the profiler of JAX and TensorFlow
		l := &g.lanes[i]
		p := &g.procs[l.proc]
		l.skip = !strings.Contains(p.name, "/device:")
		if !l.skip {
			switch lineRole(p.threads[l.thread]) {
			case ignoredLine:
				l.skip = true
			case moduleLine:
				l.skip, l.marks = true, XLAModule
			case stepLine:
				l.skip, l.marks = true, XLAStep
			}
		}
	}
	return g
}

// role is what a line of an XSpace, or a thread of a trace made of one, holds.
type role uint8

const (
	kernelLine role = iota
	ignoredLine
	moduleLine
	stepLine
)

// lineRole tells the lines that hold work from those that say what the work belongs to.
func lineRole(name string) role {
	switch name {
	case "XLA Modules":
		return moduleLine
	case "Steps":
		return stepLine
	case "Async XLA Ops", "XLA TraceMe", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "TensorFlow Name Scope", "TF Name Scope", "TF Ops",
		"Source code", "Source Code", "Launch Stats", "SparseCore Steps", "SparseCore Modules", "Step Names", "XLA Flops", "Name Scope", "Host Offload Ops", "TC Overlay", "Overlay":
		return ignoredLine
	}
	return kernelLine
}

// alignDocuments puts the times of all documents on the axis of the first one that has any.
func (g *gather) alignDocuments() error {
	first := -1
	for d := range g.origins {
		o := &g.origins[d]
		if !o.set {
			continue
		}
		ns, ok := o.ns()
		if !ok {
			return fault.New(fault.Format, "times lie beyond 292 years from the base of the trace").WithPath(g.path)
		}
		o.absolute = ns
		if first < 0 {
			first = d
			continue
		}
		diff := ns - g.origins[first].absolute
		const most = 1 << 52 // ns; in ps it still leaves half the axis
		if diff > most || diff < -most {
			return fault.New(fault.Incompatible, "the file holds documents of times too far apart").WithPath(g.path)
		}
		o.shiftPS = diff * 1000
	}
	g.shift()
	return nil
}

// ns is the origin in absolute ns.
func (o *origin) ns() (int64, bool) {
	if o.us > 1<<53 || o.us < -1<<53 {
		return 0, false
	}
	ns := o.us*1000 + o.baseNS
	return ns, (o.baseNS >= 0) == (ns >= o.us*1000)
}

// shift moves what was read by the shifts of the documents.
func (g *gather) shift() {
	any := false
	by := make([]int64, len(g.procs))
	for i := range g.procs {
		if d := g.procs[i].document; d < len(g.origins) {
			by[i] = g.origins[d].shiftPS
			any = any || by[i] != 0
		}
	}
	if !any {
		return
	}
	for b, block := range g.rows.start.blocks {
		for i := range block {
			block[i] += by[g.lanes[g.rows.lane.blocks[b][i]].proc]
		}
	}
	for b, block := range g.launches.at.blocks {
		for i := range block {
			block[i] += by[g.launches.proc.blocks[b][i]]
		}
	}
	for i := range g.marks {
		g.marks[i].start += by[g.marks[i].proc]
		g.marks[i].end += by[g.marks[i].proc]
	}
}

package chrometrace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// rankStep is the distance of the pids of two ranks in files that merge ranks. No pid of an operating system is as large.
const rankStep = 100_000_000

var gpuText = lazyregexp.New(`\bGPU \d+$`)

// describe says of every process which rank and device it is. Processes of one rank share correlation ids.
func (g *worked) describe(res *walkResult) error {
	base := int64(0) // of a document that was cut before it said so: that of another one
	for d := len(res.Documents) - 1; d >= 0; d-- {
		if res.Documents[d].HasBase {
			base = res.Documents[d].BaseNS
		}
	}
	for d := range res.Documents {
		for len(g.Origins) <= d {
			g.Origins = append(g.Origins, work.Origin{})
		}
		if g.Origins[d].BaseNS = base; res.Documents[d].HasBase {
			g.Origins[d].BaseNS = res.Documents[d].BaseNS
		}
	}
	merged := map[int]bool{} // documents with pids of several ranks
	for i := range g.Processes {
		if n, ok := pidNumber(g.Processes[i].PID); ok && n >= rankStep {
			merged[g.Processes[i].Document] = true
		}
	}
	ranks := g.mergedRanks()
	groups := map[string]uint16{}
	for i := range g.Processes {
		p := &g.Processes[i]
		p.Rank = -1
		doc := &res.Documents[p.Document]
		if doc.Distributed != nil {
			p.Rank = doc.Distributed.Rank
			g.World = max(g.World, doc.Distributed.WorldSize)
		}
		p.Host = doc.Host
		n, numeric := pidNumber(p.PID)
		part := ""
		if merged[p.Document] && numeric {
			p.Rank = n / rankStep
			n %= rankStep
			part = strconv.Itoa(p.Rank)
		} else if ranks != nil && ranks.RankOf[i] >= 0 {
			of := ranks.Ranks[ranks.RankOf[i]]
			if p.Rank = -1; of.Rank != nil {
				p.Rank = int(*of.Rank)
			}
			part = of.ID
		}
		tag := combined(p)
		p.Device = g.deviceName(p, n, numeric)
		key := fmt.Sprintf("%d/%s/%s", p.Document, part, tag)
		id, ok := groups[key]
		if !ok {
			id = uint16(len(groups))
			groups[key] = id
		}
		p.Group = id
	}
	g.nameStreams()
	return g.alignDocuments()
}

// mergedRanks tells apart the ranks that another tool merged into one document by the names or labels of processes, nil where it did not.
func (g *worked) mergedRanks() *source.Merged {
	layout := make([]*source.Process, len(g.Processes))
	for i := range g.Processes {
		if g.Processes[i].Document > 0 {
			return nil
		}
		layout[i] = &source.Process{TextID: g.Processes[i].PID, Name: g.Processes[i].Name}
	}
	return source.MergedRanks(layout)
}

// combined reads the names that prlx itself gives to processes of combined files, "node1 rank 3 · host · GPU 0", and returns the first
// part: one recording.
func combined(p *work.Process) string {
	parts := strings.Split(p.Name, " · ")
	if len(parts) < 2 {
		return ""
	}
	if m := work.RankText.FindStringSubmatch(parts[0]); m != nil {
		p.Rank = work.Number(m[1])
	}
	if last := parts[len(parts)-1]; gpuText.MatchString(last) || strings.HasPrefix(last, "/device:") {
		p.Labels = last
	}
	if len(parts) > 2 {
		p.Host = parts[1]
	}
	return parts[0]
}

// deviceName is what a person calls the device of a process.
func (g *worked) deviceName(p *work.Process, pid int, numeric bool) string {
	switch {
	case strings.HasPrefix(p.Labels, "GPU "):
		return p.Labels
	case strings.HasPrefix(p.Labels, "/device:"):
		return work.DeviceOf(p.Labels)
	case strings.HasPrefix(p.Name, "/device:"):
		return work.DeviceOf(p.Name)
	case numeric && pid < 1<<10 && !g.Plain:
		return "GPU " + strconv.Itoa(pid)
	case numeric:
		return "process " + strconv.Itoa(pid)
	case len(p.PID) > 1 && p.PID[0] == '"':
		return strings.Trim(p.PID, `"`)
	case p.PID == "":
		return "unknown"
	}
	return p.PID
}

// pidNumber reads a pid that is a number, or a string that holds one.
func pidNumber(pid string) (int, bool) {
	n, err := strconv.Atoi(strings.Trim(pid, `"`))
	return n, err == nil && n >= 0
}

// rankedThread is the name of a thread that stands for one queue of one of several ranks in a process: "PP rank 0, TP rank 1, compute".
var rankedThread = lazyregexp.New(`^([A-Z]{2} rank \d+(?:, [A-Z]{2} rank \d+)*), (.+)$`)

// nameStreams gives lanes their names.
func (g *worked) nameStreams() {
	for i := range g.Lanes {
		l := &g.Lanes[i]
		if m := rankedThread.FindStringSubmatch(g.Processes[l.Process].Threads[l.Thread]); m != nil && g.Plain {
			l.Device = g.Processes[l.Process].Device + ", " + m[1]
			l.Stream = m[2]
			continue
		}
		l.Stream = strings.Trim(l.Thread, `"`)
		if n := g.Processes[l.Process].Threads[l.Thread]; n != "" && (work.LeadingDigits(l.Stream) < len(l.Stream) || strings.Contains(n, l.Stream)) {
			l.Stream = strings.TrimSpace(n)
		}
		if n, ok := strings.CutPrefix(l.Stream, "stream "); ok {
			l.Stream = strings.TrimSpace(n)
			if k := work.LeadingDigits(l.Stream); k > 0 { // "stream 7 7"
				l.Stream = l.Stream[:k]
			}
		}
	}
}

// choose takes the events of unknown categories for kernels: other programs write traces too.
func (c *workReader) choose() *work.Found {
	g := c.other
	g.Losses.Unusable += c.g.Losses.Unusable
	devices := 0
	for i := range g.Processes {
		if n := g.Processes[i].Name; strings.Contains(n, "/device:") || strings.HasPrefix(n, "/host:") {
			devices++
		}
	}
	if devices == 0 {
		g.Plain = true
		g.Warn(fmt.Sprintf("no event is of a kernel: the %d events of the categories that the file has were taken instead, a process for a device", g.Rows.Len()))
		return g
	}
	for i := range g.Lanes { // the profiler of JAX and TensorFlow
		l := &g.Lanes[i]
		p := &g.Processes[l.Process]
		l.Skip = !strings.Contains(p.Name, "/device:")
		if !l.Skip {
			switch work.RoleOf(p.Threads[l.Thread]) {
			case work.IgnoredLine:
				l.Skip = true
			case work.ModuleLine:
				l.Skip, l.Marks = true, work.XLAModule
			case work.StepLine:
				l.Skip, l.Marks = true, work.XLAStep
			}
		}
	}
	return g
}

// alignDocuments puts the times of all documents on the axis of the first one that has any.
func (g *worked) alignDocuments() error {
	first := -1
	for d := range g.Origins {
		o := &g.Origins[d]
		if !o.Set {
			continue
		}
		ns, ok := originNS(o)
		if !ok {
			return fault.New(fault.Format, "times lie beyond 292 years from the base of the trace").WithPath(g.Path)
		}
		o.AbsoluteNS = ns
		if first < 0 {
			first = d
			continue
		}
		diff := ns - g.Origins[first].AbsoluteNS
		const most = 1 << 52 // ns; in ps it still leaves half the axis
		if diff > most || diff < -most {
			return fault.New(fault.Incompatible, "the file holds documents of times too far apart").WithPath(g.Path)
		}
		o.ShiftPS = diff * 1000
	}
	g.shift()
	return nil
}

// originNS is the origin in absolute ns.
func originNS(o *work.Origin) (int64, bool) {
	if o.US > 1<<53 || o.US < -1<<53 {
		return 0, false
	}
	ns := o.US*1000 + o.BaseNS
	return ns, (o.BaseNS >= 0) == (ns >= o.US*1000)
}

// shift moves what was read by the shifts of the documents.
func (g *worked) shift() {
	any := false
	by := make([]int64, len(g.Processes))
	for i := range g.Processes {
		if d := g.Processes[i].Document; d < len(g.Origins) {
			by[i] = g.Origins[d].ShiftPS
			any = any || by[i] != 0
		}
	}
	if !any {
		return
	}
	for b, block := range g.Rows.Start.Blocks {
		for i := range block {
			block[i] += by[g.Lanes[g.Rows.Lane.Blocks[b][i]].Process]
		}
	}
	for b, block := range g.Launches.At.Blocks {
		for i := range block {
			block[i] += by[g.Launches.Process.Blocks[b][i]]
		}
	}
	for i := range g.Marks {
		g.Marks[i].Start += by[g.Marks[i].Process]
		g.Marks[i].End += by[g.Marks[i].Process]
	}
}

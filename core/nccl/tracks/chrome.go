package tracks

import (
	"bufio"
	"context"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/source"
)

// WriteChrome writes Chrome / Perfetto JSON. Instants count from baseTimeNanoseconds, as Kineto's do.
func (t *Tracks) WriteChrome(ctx context.Context, w io.Writer) error {
	c := &chrome{t: t, w: bufio.NewWriterSize(w, 1<<20)}
	c.text(`{"displayTimeUnit":"ns","baseTimeNanoseconds":` + strconv.FormatInt(t.ZeroNS, 10) + `,"traceEvents":[`)
	for pi := range t.Processes {
		if err := ctx.Err(); err != nil {
			return fault.FromIO("", err)
		}
		c.process(pi, &t.Processes[pi])
	}
	for i := range t.Flows {
		c.flow(i, &t.Flows[i])
	}
	c.text("\n]}\n")
	if c.err == nil {
		c.err = c.w.Flush()
	}
	if c.err != nil {
		return fault.FromIO("", c.err)
	}
	return nil
}

type chrome struct {
	t    *Tracks
	w    *bufio.Writer
	buf  []byte
	args []Arg
	some bool
	err  error
}

func (c *chrome) text(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

// begin starts an event, end writes it.
func (c *chrome) begin(ph string, pid, tid int) {
	c.buf = c.buf[:0]
	if c.some {
		c.buf = append(c.buf, ',')
	}
	c.some = true
	c.buf = append(append(append(c.buf, "\n{\"ph\":\""...), ph...), `","pid":`...)
	c.buf = strconv.AppendInt(c.buf, int64(pid), 10)
	c.buf = strconv.AppendInt(append(c.buf, `,"tid":`...), int64(tid), 10)
}

func (c *chrome) end() {
	c.buf = append(c.buf, '}')
	if c.err == nil {
		_, c.err = c.w.Write(c.buf)
	}
}

func (c *chrome) string(key, value string) {
	c.buf = append(append(append(c.buf, `,"`...), key...), `":`...)
	c.buf = source.AppendString(c.buf, value)
}

// micros appends ns since the zero, as a decimal of microseconds.
func (c *chrome) micros(key string, ns int64) {
	c.buf = append(append(append(c.buf, `,"`...), key...), `":`...)
	c.buf = strconv.AppendInt(c.buf, ns/1000, 10)
	if rest := ns % 1000; rest != 0 {
		c.buf = append(c.buf, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
}

func (c *chrome) meta(name string, pid, tid int, key, value string, number int64) {
	c.begin("M", pid, tid)
	c.string("name", name)
	c.buf = append(append(append(c.buf, `,"args":{"`...), key...), `":`...)
	if value != "" {
		c.buf = source.AppendString(c.buf, value)
	} else {
		c.buf = strconv.AppendInt(c.buf, number, 10)
	}
	c.buf = append(c.buf, '}')
	c.end()
}

func (c *chrome) process(pi int, p *Process) {
	pid := pi + 1
	c.meta("process_name", pid, 0, "name", p.Name, 0)
	c.meta("process_sort_index", pid, 0, "sort_index", "", int64(pi))
	if p.Host != "" {
		c.meta("process_labels", pid, 0, "labels", p.Host, 0)
	}
	for li := range p.Lines {
		l := &p.Lines[li]
		c.meta("thread_name", pid, li+1, "name", l.Name, 0)
		c.meta("thread_sort_index", pid, li+1, "sort_index", "", int64(li))
		for si := range l.Slices {
			c.slice(pid, li+1, p, &l.Slices[si])
		}
	}
}

// Categories are those of slices by kind.
var Categories = [kinds]string{"nccl_group", "nccl_api", "nccl_launch", "nccl_operation", "nccl_kernel", "nccl_proxy", "nccl_step"}

func (c *chrome) slice(pid, tid int, p *Process, s *Slice) {
	c.begin("X", pid, tid)
	c.string("name", s.Name)
	c.string("cat", Categories[s.Kind])
	c.micros("ts", s.StartNS-c.t.ZeroNS)
	c.micros("dur", s.StopNS-s.StartNS)
	c.args = c.t.Args(p, s, c.args[:0])
	open := len(c.buf) + len(`,"args":{`)
	c.buf = append(c.buf, `,"args":{`...)
	for _, a := range c.args {
		c.buf = source.OpenArg(c.buf, open, a.Key)
		c.buf = a.Append(c.buf)
	}
	c.buf = append(c.buf, '}')
	c.end()
}

// Append appends the value of an arg. Viewers read numbers as float64: larger ones are texts.
func (a *Arg) Append(dst []byte) []byte {
	switch {
	case a.IsText:
		return source.AppendString(dst, a.Text)
	case a.Number > source.MaxExactInt || a.Number < -source.MaxExactInt:
		return append(strconv.AppendInt(append(dst, '"'), a.Number, 10), '"')
	}
	return strconv.AppendInt(dst, a.Number, 10)
}

func (c *chrome) flow(i int, f *Flow) {
	for _, end := range []struct {
		ph string
		at Place
		ns int64
	}{{"s", f.From, f.FromNS}, {"f", f.To, f.ToNS}} {
		c.begin(end.ph, int(end.at.Process)+1, int(end.at.Line)+1)
		c.string("name", "nccl")
		c.string("cat", "nccl_flow")
		c.buf = strconv.AppendInt(append(c.buf, `,"id":`...), int64(i)+1, 10)
		c.micros("ts", end.ns-c.t.ZeroNS)
		if end.ph == "f" {
			c.string("bp", "e")
		}
		c.end()
	}
}

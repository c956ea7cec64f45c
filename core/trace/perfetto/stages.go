package perfetto

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// stageFields is a GpuRenderStageEvent.
type stageFields struct {
	duration, queue, stage, context, name, kernel uint64
	gpu                                           int64
	oldQueue, oldStage                            int64 // before queues and stages were interned; -1 none
	text                                          string
	grid, block                                   [3]int64
	launched                                      bool
}

// stage takes a GpuRenderStageEvent: what a GPU executed.
func (b *book) stage(data []byte, s *sequence, ns int64, timed bool) error {
	g := stageFields{oldQueue: -1, oldStage: -1}
	one := slice{ns: ns, timed: timed, device: -1}
	for rest := data; len(rest) > 0; {
		f, r, ok := next(rest)
		if !ok {
			return errDamaged
		}
		rest = r
		switch f.num {
		case 2:
			g.duration = f.v
		case 3:
			g.oldQueue = int64(int32(f.v))
		case 4:
			g.oldStage = int64(int32(f.v))
		case 5:
			g.context = f.v
		case 6:
			b.extra(f.b, &one)
		case 11:
			g.gpu = int64(int32(f.v))
		case 13:
			g.queue = f.v
		case 14:
			g.stage = f.v
		case 17:
			g.text = b.text(f.b)
		case 19:
			g.kernel = f.v
		case 20:
			g.name = f.v
		case 21:
			g.launched = true
			if err := b.launch(f.b, &g, &one, s); err != nil {
				return err
			}
		}
	}
	if !timed {
		b.lost.untimed++
	}
	return b.emitStage(&g, &one, s)
}

// emitStage visits a stage as a row.
func (b *book) emitStage(g *stageFields, one *slice, s *sequence) error {
	r := &b.row
	stage, queue := s.specs[g.stage], s.specs[g.queue]
	*r = rows.Row{Role: roleOfStage(stage, g), Correlation: one.correlation}
	r.Name = cmp.Or(s.names[g.name], s.kernels[g.kernel], g.text, stage.name)
	if r.Name == "" && g.oldStage >= 0 {
		r.Name = "stage " + strconv.FormatInt(g.oldStage, 10)
	}
	r.Lane = rows.Lane{PID: s.contexts[g.context], Device: max(g.gpu, 0), Context: 2, Number: int64(g.queue)}
	if g.queue == 0 && g.oldQueue >= 0 {
		r.Lane.Number = g.oldQueue
	}
	if b.lineNames[r.Lane] == "" {
		b.lineNames[r.Lane] = cmp.Or(queue.name, "queue "+strconv.FormatInt(r.Lane.Number, 10))
	}
	if g.launched {
		r.Blocks = rows.BlocksOf(g.grid[0], g.grid[1], g.grid[2])
	}
	if one.timed && g.duration <= 1<<62 {
		b.clock.Place(r, one.ns, one.ns+int64(g.duration))
	}
	if !b.ask.Wants(r.Role) {
		return nil
	}
	if b.ask.Args {
		r.Args = &one.args
	}
	return b.visit(r)
}

// roleOfStage tells kernels from copies, fills and ranges by the stage.
func roleOfStage(stage spec, g *stageFields) rows.Role {
	name := strings.ToLower(stage.name)
	switch {
	case stage.category != 0 || g.launched || g.kernel != 0:
		return rows.Kernel
	case strings.Contains(name, "memcpy"), strings.Contains(name, "copy"):
		return rows.Copy
	case strings.Contains(name, "memset"):
		return rows.Fill
	case strings.Contains(name, "annotation"):
		return rows.Range
	}
	return rows.Other
}

// extra takes a name and a value, both texts.
func (b *book) extra(data []byte, one *slice) {
	var name, value []byte
	_ = each(data, func(f field) {
		switch f.num {
		case 1:
			name = f.b
		case 2:
			value = f.b
		}
	})
	if string(name) == "correlation" {
		if n, err := strconv.ParseUint(string(value), 10, 64); err == nil {
			one.correlation = n
		}
	}
	if b.ask.Args {
		one.args = source.OpenArg(one.args, 0, string(name))
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n < source.MaxExactInt && n > -source.MaxExactInt {
			one.args = strconv.AppendInt(one.args, n, 10)
		} else {
			one.args = source.AppendString(one.args, string(value))
		}
	}
}

// launch takes a ComputeKernelLaunch.
func (b *book) launch(data []byte, g *stageFields, one *slice, s *sequence) error {
	err := each(data, func(f field) {
		switch f.num {
		case 1, 2:
			three := [3]int64{1, 1, 1}
			_ = each(f.b, func(h field) {
				if h.num >= 1 && h.num <= 3 {
					three[h.num-1] = int64(h.v)
				}
			})
			if f.num == 1 {
				g.grid = three
			} else {
				g.block = three
			}
		case 3:
			b.launchArg(f.b, one, s)
		}
	})
	if err != nil || !b.ask.Args {
		return err
	}
	for i, three := range [][3]int64{g.grid, g.block} {
		one.args = source.OpenArg(one.args, 0, [...]string{"grid", "block"}[i])
		for k, x := range three {
			one.args = strconv.AppendInt(append(one.args, `[,,`[k]), x, 10)
		}
		one.args = append(one.args, ']')
	}
	return nil
}

// launchArg takes an ExtraComputeArg.
func (b *book) launchArg(data []byte, one *slice, s *sequence) {
	if !b.ask.Args {
		return
	}
	var name string
	var value int64
	known := false
	_ = each(data, func(f field) {
		switch f.num {
		case 1:
			name = s.arguments[f.v]
		case 2:
			name = b.text(f.b)
		case 3, 4:
			value, known = int64(f.v), true
		}
	})
	if known && name != "" {
		one.args = strconv.AppendInt(source.OpenArg(one.args, 0, name), value, 10)
	}
}

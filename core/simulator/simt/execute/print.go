package execute

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

const (
	maxOutput = 1 << 20 // bytes of vprintf that a launch keeps
	maxString = 4096    // bytes of one string or format
)

// output is what the blocks of a launch printed.
type output struct {
	blocks map[uint64][]string // by block, then warp
	bytes  int
}

// print is vprintf(format, arguments): the arguments stand packed in local memory, each aligned to its size.
func (b *Block) print(w *Warp, in *code.Inst, at int32, lanes uint32) {
	c := &b.kernel.Calls[in.Detail]
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := first(rest)
		format := b.readString(w, at, l, w.word64(c.Params[0], l))
		text := b.format(w, at, l, format, w.word64(c.Params[1], l))
		b.write(w, text)
		if c.Result.First >= 0 && c.Result.Bytes >= 4 {
			w.Regs.R32[c.Result.First][l] = uint32(strings.Count(format, "%"))
		}
	}
}

// write keeps printed text until there is more than a launch may keep.
func (b *Block) write(w *Warp, text string) {
	texts := b.output.blocks[b.Linear]
	if texts == nil {
		texts = make([]string, len(b.warps))
		b.output.blocks[b.Linear] = texts
	}
	if len(texts[w.Index]) <= maxOutput {
		texts[w.Index] += text
		if b.output.bytes += len(text); b.output.bytes > 8*maxOutput {
			b.output.prune()
		}
	}
}

// prune forgets the blocks behind those that fill the output already.
func (o *output) prune() {
	o.bytes = 0
	for _, b := range slices.Sorted(maps.Keys(o.blocks)) {
		if o.bytes > maxOutput {
			delete(o.blocks, b)
			continue
		}
		for _, t := range o.blocks[b] {
			o.bytes += len(t)
		}
	}
}

// word64 is a value of 8 bytes of parameter memory in one lane.
func (w *Warp) word64(p code.Words, l int) uint64 {
	return uint64(w.Regs.R32[p.First][l]) | uint64(w.Regs.R32[p.First+1][l])<<32
}

// peek reads bytes for one lane through a generic address. It reports a fault as a load of the instruction would.
func (b *Block) peek(w *Warp, at int32, l int, address uint64, bytes int) (uint64, bool) {
	v, fault := b.mem.Peek(address, bytes, w.Index, l)
	if fault != nil {
		fault.Lane, fault.Lanes = l, 1<<l
		b.fault(w, at, fault)
		return 0, false
	}
	return v, true
}

// readString reads a string that ends with a zero.
func (b *Block) readString(w *Warp, at int32, l int, address uint64) string {
	var s []byte
	for len(s) < maxString {
		c, ok := b.peek(w, at, l, address+uint64(len(s)), 1)
		if !ok || c == 0 {
			break
		}
		s = append(s, byte(c))
	}
	return strings.ToValidUTF8(string(s), string(utf8.RuneError))
}

// format does what printf does with a format and packed arguments.
func (b *Block) format(w *Warp, at int32, l int, format string, arguments uint64) string {
	var s strings.Builder
	next := func(size uint64) uint64 {
		arguments = (arguments + size - 1) &^ (size - 1)
		v, _ := b.peek(w, at, l, arguments, int(size))
		arguments += size
		return v
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			s.WriteByte(format[i])
			continue
		}
		spec, verb, long, end := directive(format, i+1, func() int { return int(int32(next(4))) })
		if end < 0 {
			s.WriteString(format[i:])
			break
		}
		i = end
		size := uint64(4)
		if long {
			size = 8
		}
		switch verb {
		case '%':
			s.WriteByte('%')
		case 'd', 'i':
			v := int64(next(size))
			if size == 4 {
				v = int64(int32(v))
			}
			fmt.Fprintf(&s, spec+"d", v)
		case 'u':
			fmt.Fprintf(&s, spec+"d", next(size))
		case 'x', 'X', 'o':
			fmt.Fprintf(&s, spec+string(verb), next(size))
		case 'c':
			fmt.Fprintf(&s, spec+"c", rune(byte(next(4))))
		case 'p':
			fmt.Fprintf(&s, spec+"s", fmt.Sprintf("0x%x", next(8)))
		case 's':
			fmt.Fprintf(&s, spec+"s", b.readString(w, at, l, next(8)))
		case 'f', 'F', 'e', 'E', 'g', 'G':
			s.WriteString(printFloat(spec, verb, math.Float64frombits(next(8))))
		case 'a', 'A':
			fmt.Fprintf(&s, spec+string(verb+'x'-'a'), math.Float64frombits(next(8)))
		default:
			s.WriteString(format[i:])
			return s.String()
		}
	}
	return s.String()
}

// printFloat spells infinities and NaN as C does; %g keeps six digits unless the format says otherwise.
func printFloat(spec string, verb byte, v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		text := "nan"
		if math.IsInf(v, 1) {
			text = "inf"
		} else if math.IsInf(v, -1) {
			text = "-inf"
		}
		width, _, _ := strings.Cut(strings.ReplaceAll(spec, "0", ""), ".")
		return fmt.Sprintf(width+"s", text)
	}
	if (verb == 'g' || verb == 'G') && !strings.Contains(spec, ".") {
		spec += ".6"
	}
	return fmt.Sprintf(spec+string(verb), v)
}

// directive reads what follows a %: flags, width and precision as Go spells them, the verb, whether the value has 64 bits, and
// where the verb is; -1 when the format ends before.
func directive(format string, i int, star func() int) (spec string, verb byte, long bool, end int) {
	var s strings.Builder
	s.WriteByte('%')
	longs := 0
	for ; i < len(format); i++ {
		switch c := format[i]; {
		case strings.IndexByte("-+ #0.", c) >= 0 || c >= '1' && c <= '9':
			if s.Len() > 16 {
				return "", 0, false, -1
			}
			s.WriteByte(c)
		case c == '*':
			fmt.Fprintf(&s, "%d", max(min(star(), 1000), -1000))
		case c == 'l' || c == 'j' || c == 'z' || c == 't':
			longs++
		case c == 'h' || c == 'L':
		default:
			return clampWidth(s.String()), c, longs > 0, i
		}
	}
	return "", 0, false, -1
}

// clampWidth keeps a hostile format from asking for gigabytes of blanks.
func clampWidth(spec string) string {
	run := 0
	for i := range len(spec) {
		if spec[i] < '0' || spec[i] > '9' {
			run = 0
		} else if run++; run > 4 {
			return "%"
		}
	}
	return spec
}

// assert is __assertfail(message, file, line, function, size of a character).
func (b *Block) assert(w *Warp, in *code.Inst, at int32, lanes uint32) {
	c := &b.kernel.Calls[in.Detail]
	l := first(lanes)
	b.note(checkAssert, w, at, lanes, nil, func() string {
		message := b.readString(w, at, l, w.word64(c.Params[0], l))
		file := b.readString(w, at, l, w.word64(c.Params[1], l))
		function := b.readString(w, at, l, w.word64(c.Params[3], l))
		line := w.Regs.R32[c.Params[2].First][l]
		if function == "" || function == "unknown" {
			return fmt.Sprintf("%s:%d: assertion failed: %s", file, line, message)
		}
		return fmt.Sprintf("%s:%d: %s: assertion failed: %s", file, line, function, message)
	})
}

// text joins what the blocks printed, by block and warp, up to the limit.
func (o *output) text() (text string, cut bool) {
	var s strings.Builder
	for _, b := range slices.Sorted(maps.Keys(o.blocks)) {
		for _, t := range o.blocks[b] {
			if room := maxOutput - s.Len(); len(t) > room {
				s.WriteString(strings.ToValidUTF8(t[:room], ""))
				return s.String(), true
			}
			s.WriteString(t)
		}
	}
	return s.String(), false
}

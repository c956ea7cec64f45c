package execute

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// float says how a register holds floating-point numbers.
type float uint8

const (
	noFloat float = iota
	float16
	bfloat16
	float16x2
	bfloat16x2
	float32x1
	float64x1
)

// makesNaN are the families of instructions that can make a NaN of numbers.
var makesNaN = map[string]bool{
	"add": true, "sub": true, "mul": true, "fma": true, "mad": true, "div": true, "sqrt": true, "rsqrt": true, "rcp": true, "lg2": true,
	"sin": true, "cos": true, "ex2": true, "tanh": true, "mma": true, "min": true, "max": true, "cvt": true,
}

// floatOf is how a type is held in registers.
func floatOf(t string) float {
	switch t {
	case "f16":
		return float16
	case "bf16":
		return bfloat16
	case "f16x2":
		return float16x2
	case "bf16x2":
		return bfloat16x2
	case "f32", "tf32":
		return float32x1
	case "f64":
		return float64x1
	}
	return noFloat
}

// floatsOf says what the results and the inputs of an instruction are, noFloat where they hold no numbers.
func floatsOf(name string, mods []string) (out, in float) {
	if !makesNaN[name] {
		return noFloat, noFloat
	}
	var types []string
	for _, mod := range mods {
		if code.WidthOf(mod) > 1 {
			types = append(types, mod)
		}
	}
	if len(types) == 0 {
		return noFloat, noFloat
	}
	out, in = floatOf(types[0]), floatOf(types[len(types)-1])
	if name == "mma" && out == float16 {
		out, in = float16x2, float16x2
	}
	return out, in
}

// lookForNaN makes an instruction that can make a NaN one that is looked at.
func lookForNaN(k *code.Kernel, in *code.Inst) {
	text := k.Origins[in.Origin].PTX()
	if in.Kind != code.KindLane && in.Kind != code.KindWarp || text == nil {
		return
	}
	op := &text.Op
	if out, _ := floatsOf(op.Name, op.Mods); out == noFloat {
		return
	}
	if in.Kind == code.KindLane {
		in.Kind = code.KindLaneNaN
	} else {
		in.Kind = code.KindWarpNaN
	}
}

// executeNaN executes an instruction and reports lanes whose result is NaN though no input is. Of matrix products, a NaN that
// any lane brings in explains those that come out.
func (b *Block) executeNaN(w *Warp, in *code.Inst, at int32, lanes uint32) {
	op := &b.kernel.Origins[in.Origin].PTX().Op
	out, from := floatsOf(op.Name, op.Mods)
	var before uint32
	for i, s := range in.Ins {
		f := from
		if op.Name == "mma" {
			f = matrixInput(op.Mods, s.Bank, i)
		}
		before |= nanLanes(&w.Regs, s, f)
	}
	if in.Kind == code.KindLaneNaN {
		w.masked(in, lanes)
	} else {
		if before&lanes != 0 {
			before = lanes
		}
		if err := in.Warp(&w.Regs, &in.Ops, lanes); err != nil {
			b.misuse(w, at, lanes, err)
		}
	}
	var after uint32
	for _, s := range in.Outs {
		after |= nanLanes(&w.Regs, s, out)
	}
	if made := after & lanes &^ before; made != 0 {
		b.note(checkNaN, w, at, made, nil, func() string {
			return fmt.Sprintf("%s makes a NaN of numbers in lane %d", op.Full, first(made))
		})
	}
}

// matrixInput is how an operand of mma holds numbers: the accumulator, which comes last, has the type of the result.
func matrixInput(mods []string, bank lane.Bank, _ int) float {
	text := strings.Join(mods, ".")
	switch {
	case bank == lane.R64:
		return float64x1
	case strings.Contains(text, "tf32"):
		return float32x1
	case strings.Contains(text, "bf16"):
		return bfloat16x2
	}
	return float16x2
}

// nanLanes are the lanes in which a register holds a NaN.
func nanLanes(r *lane.Regs, s code.Register, f float) uint32 {
	if f == noFloat || s.Bank == lane.P || (f == float64x1) != (s.Bank == lane.R64) {
		return 0
	}
	var set uint32
	for l := range lane.Lanes {
		var is bool
		switch f {
		case float64x1:
			is = r.R64[s.Index][l]<<1 > 0x7ff<<53
		case float32x1:
			is = r.R32[s.Index][l]<<1 > 0xff<<24
		default:
			is = halfNaN(r.R32[s.Index][l], f)
		}
		if is {
			set |= 1 << l
		}
	}
	return set
}

func halfNaN(v uint32, f float) bool {
	limit := uint32(0x7c00)
	if f == bfloat16 || f == bfloat16x2 {
		limit = 0x7f80
	}
	if v&0x7fff > limit {
		return true
	}
	return (f == float16x2 || f == bfloat16x2) && v>>16&0x7fff > limit
}

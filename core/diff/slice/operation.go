package slice

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// operation is what an instruction does, as far as comparing builds needs it.
type operation struct {
	memory  memoryKind
	space   ptx.Space
	copies  bool // mov and cvta: a name for the same value
	rounds  bool // converts between floats
	float   bool // computes with floats
	narrow  bool // with floats of 16 bits or fewer, or rounds to such; products of matrices that add up in such, or are of tf32
	product bool // multiplies matrices
	toWhole bool // converts a float to a whole number, or rounds it to one
	barrier bool
	branch  bool
	name    string // without types and rounding
}

type memoryKind uint8

const (
	noMemory memoryKind = iota
	loads
	stores
	updates // atomics
	copying // from global to shared memory
)

// floatTypes are the types of floats, with their bits.
var floatTypes = map[string]int{
	"f64": 64, "f32": 32, "tf32": 19, "f16": 16, "f16x2": 16, "bf16": 16, "bf16x2": 16, "e4m3": 8, "e5m2": 8, "e4m3x2": 8, "e5m2x2": 8,
}

func operationOf(in *ptx.Inst) operation {
	op := operation{name: in.Op.Name}
	var types []string
	for _, mod := range in.Op.Mods {
		if _, is := floatTypes[mod]; is {
			types = append(types, mod)
		}
		switch mod {
		case "global":
			op.space = ptx.Global
		case "shared", "shared::cta", "shared::cluster":
			op.space = ptx.Shared
		case "local":
			op.space = ptx.Local
		case "param", "param::entry", "param::func":
			op.space = ptx.Param
		case "const":
			op.space = ptx.Const
		}
	}
	op.float = len(types) > 0
	for _, t := range types {
		op.narrow = op.narrow || floatTypes[t] <= 16
	}
	switch in.Op.Name {
	case "mma", "wgmma", "tcgen05": // the type of the sum, then those of the factors
		op.product = len(types) > 0
		op.narrow = op.product && (floatTypes[types[0]] <= 16 || slices.Contains(types, "tf32"))
	case "ld", "ldu", "ldmatrix":
		op.memory, op.float, op.narrow = loads, false, false
		if in.Op.Name == "ldmatrix" {
			op.space = ptx.Shared
		}
	case "st", "stmatrix":
		op.memory, op.float, op.narrow = stores, false, false
		if in.Op.Name == "stmatrix" {
			op.space = ptx.Shared
		}
	case "atom", "red":
		op.memory = updates
		op.name = "atomic " + atomicName(in)
	case "cp":
		if slices.Contains(in.Op.Mods, "async") && len(in.Operands) > 1 {
			op.memory, op.space = copying, ptx.Shared
		}
	case "mov", "cvta":
		inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
		op.copies = len(inputs) == 1 && inputs[0].Kind != ptx.Vector && in.Guard < 0 && (len(in.Operands) == 0 || in.Operands[0].Kind != ptx.Vector)
		op.float, op.narrow = false, false
	case "cvt":
		op.conversion(in, types)
	case "bar", "barrier", "membar", "fence":
		op.barrier = in.Op.Name != "bar" && in.Op.Name != "barrier" || !slices.Contains(in.Op.Mods, "warp")
	case "bra", "brx", "ret", "exit":
		op.branch = in.Guard >= 0 || in.Op.Name == "brx"
	}
	return op
}

func atomicName(in *ptx.Inst) string {
	for _, mod := range in.Op.Mods {
		switch mod {
		case "add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas":
			return mod
		}
	}
	return "update"
}

// conversion says between what a cvt converts: cvt.rn.f16.f32 goes from f32 to f16.
func (op *operation) conversion(in *ptx.Inst, floats []string) {
	mods := in.Op.Mods
	if len(mods) < 2 {
		return
	}
	to, from := mods[len(mods)-2], mods[len(mods)-1]
	_, toFloat := floatTypes[to]
	_, fromFloat := floatTypes[from]
	op.rounds = toFloat && fromFloat
	whole := slices.ContainsFunc(mods, func(m string) bool { return strings.HasPrefix(m, "r") && strings.HasSuffix(m, "i") })
	op.toWhole = fromFloat && (!toFloat || whole)
	op.rounds = op.rounds && !op.toWhole
	op.narrow = toFloat && floatTypes[to] <= 16
	op.float = len(floats) > 0
}

package ptx

// writesNothing are the instructions whose operands are all read, by name.
var writesNothing = map[string]bool{
	"st": true, "red": true, "bra": true, "brx": true, "ret": true, "exit": true, "trap": true, "brkpt": true, "membar": true,
	"fence": true, "prefetch": true, "prefetchu": true, "nanosleep": true, "pmevent": true, "discard": true, "applypriority": true,
	"cp": true, "stmatrix": true, "sust": true, "sured": true, "tensormap": true, "setmaxnreg": true, "griddepcontrol": true,
	"stackrestore": true, "st_async": true, "clusterlaunchcontrol": true,
}

// outputs says how many of the leading operands an instruction writes.
func outputs(op *Opcode, operands []Operand) int {
	if len(operands) == 0 || writesNothing[op.Name] {
		return 0
	}
	switch op.Name {
	case "call": // call (results), f, (arguments)
		if operands[0].Kind == Arguments {
			return 1
		}
		return 0
	case "bar", "barrier":
		if has(op, "red") {
			return 1
		}
		return 0
	case "wmma":
		if has(op, "store") {
			return 0
		}
	case "wgmma":
		if !has(op, "mma_async") {
			return 0
		}
	case "mbarrier":
		if has(op, "init") || has(op, "inval") || has(op, "expect_tx") && !has(op, "arrive") || has(op, "complete_tx") {
			return 0
		}
		if operands[0].Kind == Address { // an arrival whose state nobody wants
			return 0
		}
	case "multimem":
		if !has(op, "ld_reduce") {
			return 0
		}
	case "tcgen05":
		if !has(op, "ld") {
			return 0
		}
	}
	return 1
}

func has(op *Opcode, mod string) bool {
	for _, m := range op.Mods {
		if m == mod {
			return true
		}
	}
	return false
}

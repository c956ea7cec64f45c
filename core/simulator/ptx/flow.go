package ptx

// finish finds the blocks of a function once all its labels are resolved.
func (f *Function) finish() {
	n := int32(len(f.Insts))
	begins := make([]bool, n+1)
	if n > 0 {
		begins[0] = true
	}
	for i := range f.Insts {
		in := &f.Insts[i]
		eachTarget(in, func(t int32) { begins[t] = true })
		if endsBlock(in) {
			begins[i+1] = true
		}
	}
	blockOf := make([]int32, n+1)
	for i := int32(0); i < n; i++ {
		if begins[i] {
			f.Blocks = append(f.Blocks, Block{First: i})
		}
		blockOf[i] = int32(len(f.Blocks) - 1)
		f.Blocks[len(f.Blocks)-1].End = i + 1
	}
	blockOf[n] = -1 // a label at the end: the exit
	for i := range f.Blocks {
		f.connect(&f.Blocks[i], blockOf)
	}
}

// eachTarget calls f with the targets of a branch.
func eachTarget(in *Inst, f func(int32)) {
	if in.Op.Name != "bra" && in.Op.Name != "brx" {
		return
	}
	for i := range in.Operands {
		o := &in.Operands[i]
		if o.Kind == Label {
			f(o.Target)
		}
		for k := range o.Elems {
			if o.Elems[k].Kind == Label {
				f(o.Elems[k].Target)
			}
		}
	}
}

// endsBlock reports whether control may go elsewhere than to the next instruction.
func endsBlock(in *Inst) bool {
	switch in.Op.Name {
	case "bra", "brx", "ret", "exit", "trap":
		return true
	}
	return false
}

// connect finds where control goes from a block.
func (f *Function) connect(b *Block, blockOf []int32) {
	last := &f.Insts[b.End-1]
	add := func(to int32) {
		if to < 0 {
			b.Leaves = true
			return
		}
		for _, known := range b.Succ {
			if known == to {
				return
			}
		}
		b.Succ = append(b.Succ, to)
	}
	branches := last.Op.Name == "bra" || last.Op.Name == "brx"
	eachTarget(last, func(t int32) { add(blockOf[t]) })
	if endsBlock(last) && !branches {
		b.Leaves = true
	}
	if !endsBlock(last) || last.Guard >= 0 {
		add(blockOf[b.End])
	}
}

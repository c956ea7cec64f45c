package ptx

// StaticBytes is how much memory of a space the variables take that a function and those which it calls by name declare or name, each
// aligned as it asks.
func (m *Module) StaticBytes(f *Function, space Space) (bytes uint64) {
	byName := make(map[string]*Variable, len(m.Variables))
	for i := range m.Variables {
		byName[m.Variables[i].Name] = &m.Variables[i]
	}
	functions := make(map[string]*Function, len(m.Functions))
	for _, g := range m.Functions {
		if !g.Extern {
			functions[g.Name] = g
		}
	}
	add := func(v *Variable) {
		if v != nil && v.Space == space {
			align := uint64(max(v.Align, 1))
			bytes = (bytes+align-1)/align*align + v.Bytes
		}
	}
	seen := map[string]bool{f.Name: true}
	for queue := []*Function{f}; len(queue) > 0; queue = queue[1:] {
		for i := range queue[0].Variables {
			add(&queue[0].Variables[i])
		}
		named(queue[0], func(name string) {
			if seen[name] {
				return
			}
			seen[name] = true
			add(byName[name])
			if g := functions[name]; g != nil {
				queue = append(queue, g)
			}
		})
	}
	return bytes
}

// named visits the names of the module that the instructions of a function have.
func named(f *Function, visit func(name string)) {
	var each func(list []Operand)
	each = func(list []Operand) {
		for i := range list {
			if list[i].Symbol != "" {
				visit(list[i].Symbol)
			}
			each(list[i].Elems)
		}
	}
	for i := range f.Insts {
		each(f.Insts[i].Operands)
	}
}

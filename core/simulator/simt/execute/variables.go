package execute

import (
	"encoding/binary"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Variables are the .global and .const variables of a module, with the memory that all of its kernels reach, and the heap that malloc takes
// from. It lives as long as the module does, as on a GPU.
type Variables struct {
	list []variable
	heap memory.Heap
}

// variable is one of them.
type variable struct {
	name     string
	number   int // in the module
	bytes    []byte
	init     []byte
	constant bool
}

// maxVariables bounds the .global variables of a module together.
const maxVariables = 1 << 30

// NewVariables makes the memory of a module. The name is what errors call it.
func NewVariables(name string, m *ptx.Module) (*Variables, error) {
	variables := &Variables{}
	total := uint64(0)
	for i := range m.Variables {
		v := &m.Variables[i]
		if v.Space != ptx.Global && v.Space != ptx.Const || v.Extern && v.Bytes == 0 {
			continue
		}
		if total += v.Bytes; v.Bytes > maxVariables || total > maxVariables {
			return nil, fault.New(fault.Limit, "the variables of the module have more than %d bytes", maxVariables).WithPath(name)
		}
		data := make([]byte, v.Bytes)
		first := withPointers(m, v)
		copy(data, first)
		variables.list = append(variables.list, variable{name: v.Name, number: i, bytes: data, init: first, constant: v.Space == ptx.Const})
	}
	return variables, nil
}

// withPointers is the initial value of a variable with the addresses of the functions that it names.
func withPointers(m *ptx.Module, v *ptx.Variable) []byte {
	if len(v.Pointers) == 0 {
		return v.Init
	}
	first := slices.Clone(v.Init)
	for _, at := range v.Pointers {
		if number := m.FunctionNamed(at.Name); number >= 0 && at.At+8 <= uint64(len(first)) {
			binary.LittleEndian.PutUint64(first[at.At:], ptx.FunctionAddress(number))
		}
	}
	return first
}

// Names are those of the variables, in the order of their allocations.
func (v *Variables) Names() []string {
	names := make([]string, len(v.list))
	for i := range v.list {
		names[i] = v.list[i].name
	}
	return names
}

// Bytes are those of a variable, which kernels read and write; false where there is none of that name.
func (v *Variables) Bytes(name string) ([]byte, bool) {
	for i := range v.list {
		if v.list[i].name == name {
			return v.list[i].bytes, true
		}
	}
	return nil, false
}

// Reset gives the variables their initial values again, and frees all of the heap.
func (v *Variables) Reset() {
	v.heap.Reset()
	for i := range v.list {
		clear(v.list[i].bytes)
		copy(v.list[i].bytes, v.list[i].init)
	}
}

// All are the variables as memory; known is false where the heap was used, which is not among them.
func (v *Variables) All() (list []memory.Allocation, known bool) {
	return v.allocations(), !v.heap.Used()
}

// allocations are the variables as memory that kernels reach.
func (v *Variables) allocations() []memory.Allocation {
	list := make([]memory.Allocation, len(v.list))
	for i := range v.list {
		list[i] = memory.Allocation{Name: v.list[i].name, Bytes: v.list[i].bytes, ReadOnly: v.list[i].constant, Variable: true}
	}
	return list
}

// allocationOf is the place of a variable of the module among the allocations, by its number; -1 none.
func (v *Variables) allocationOf(number int) int {
	for i := range v.list {
		if v.list[i].number == number {
			return i
		}
	}
	return -1
}

package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// arrays are all that a launch could write, by where an address is or which argument it derives from.
type arrays struct {
	global    *memory.Global
	arguments []*writtenArray   // by parameter, nil of numbers
	into      [][]*writtenArray // by allocation: the arguments that point there, ascending by place; else the allocation itself
	all       []*writtenArray   // ascending by ID
	low, high uint64            // addresses of the process that lie in some array are between these
	machine   [2]uint64         // likewise of the simulator
}

// maxTableEntries bounds how much of a table of pointers is looked through for the arrays that it names.
const maxTableEntries = 1 << 16

// newArrays lists the arrays of a launch. Registered memory is numbered as tables of pointers name it, because the process finds it
// in any order.
func newArrays(r *execute.Running, keep uint64) *arrays {
	s := &arrays{global: r.Global, into: make([][]*writtenArray, len(r.Request.Memory)+len(r.Variables.Names())), low: ^uint64(0)}
	s.machine[0], s.machine[1] = r.Global.Addresses()
	for i := range r.Request.Params {
		p := &r.Request.Params[i]
		if p.Allocation < 0 {
			s.arguments = append(s.arguments, nil)
			continue
		}
		a := s.add(p.Allocation, uint32(i), int64(p.Bits-r.Request.Memory[p.Allocation].Host))
		a.Name, a.Type, a.ElementBytes = clipped(p.Name), clipped(p.Type), warptrace.ElementBytes(p.Type)
		if p.Name == "global_scratch" || p.Name == "profile_scratch" {
			a.Kind = warptrace.ArrayScratch
		}
		s.arguments = append(s.arguments, a)
	}
	for i := range s.into {
		slices.SortStableFunc(s.into[i], func(a, b *writtenArray) int { return cmp.Compare(a.base, b.base) })
	}
	s.register(r)
	for i, name := range r.Variables.Names() {
		a := s.add(r.FirstVariable+i, warptrace.FirstVariable+uint32(i), 0)
		a.Kind, a.Name, a.ElementBytes = warptrace.ArrayVariable, clipped(name), 1
	}
	for _, a := range s.all {
		a.shift = -a.base & (mostChunk - 1)
		a.size = int64(len(r.Global.Bytes(a.allocation)))
		if keep > 0 {
			a.writersTo = writersOf(a, keep)
		}
	}
	return s
}

// Place is an array of a launch, as kernels have it: what its offsets count from, and the memory that belongs to it.
type Place struct {
	ID   uint32
	Base uint64
	At   [2]uint64 // where its memory begins, and where the same memory does as the process has it, 0 nowhere
	Size uint64    // of that memory

	ElementBytes uint32 // 1 where that is not known
}

// places are the arrays but scratch memory; where several hold an address, the last one does.
func (s *arrays) places() []Place {
	var list []Place
	for _, into := range s.into {
		for i, a := range into {
			if a.Kind == warptrace.ArrayScratch || a.size == 0 {
				continue
			}
			kernel, process := s.global.Place(a.allocation)
			from := int64(0)
			if i > 0 {
				from = min(max(a.base, 0), a.size)
			}
			p := Place{ElementBytes: a.ElementBytes, ID: a.ID, Base: kernel + uint64(a.base), Size: uint64(a.size - from), At: [2]uint64{kernel + uint64(from)}}
			if process != 0 {
				p.At[1] = process + uint64(from)
			}
			list = append(list, p)
		}
	}
	return list
}

// writersReach is how many times the bytes that are kept the part of an array is for which writers are remembered.
const writersReach = 4

func writersOf(a *writtenArray, keep uint64) int64 {
	reach := int64(min(keep, 1<<40)) * writersReach
	return max(a.shift+a.base, 0) + reach
}

// add adds an array of an allocation; base is where its offsets count from.
func (s *arrays) add(allocation int, id uint32, base int64) *writtenArray {
	a := &writtenArray{allocation: allocation, base: base}
	a.ID = id
	s.all = append(s.all, a)
	s.into[allocation] = append(s.into[allocation], a)
	return a
}

// register adds the allocations that no argument points into.
func (s *arrays) register(r *execute.Running) {
	rank := uint32(0)
	add := func(allocation int, name string) {
		a := s.add(allocation, warptrace.FirstRegistered+rank, 0)
		a.Kind, a.Name, a.ElementBytes = warptrace.ArrayRegistered, clipped(name), 1
		rank++
	}
	for i := range r.Request.Memory {
		m := &r.Request.Memory[i]
		if end := m.Host + uint64(len(m.Bytes)); len(m.Bytes) > 0 {
			s.low, s.high = min(s.low, m.Host), max(s.high, end)
		}
	}
	for _, table := range s.arguments {
		if table == nil || !isTable(table.Type) {
			continue
		}
		entries := r.Request.Memory[table.allocation].Bytes
		entries = entries[min(max(table.base, 0), int64(len(entries))):]
		for k := 0; k < maxTableEntries && len(entries) >= 8; k, entries = k+1, entries[8:] {
			n, ok := s.inside(binary.LittleEndian.Uint64(entries))
			if ok && n < r.FirstVariable && len(s.into[n]) == 0 {
				add(n, fmt.Sprintf("%s[%d]", table.Name, k))
			}
		}
	}
	for n := range r.Request.Memory {
		if len(s.into[n]) == 0 {
			add(n, r.Request.Memory[n].Name)
		}
	}
}

// isTable reports whether an argument of a type can be a table of pointers.
func isTable(ty string) bool { return ty == "*i64" || ty == "*u64" || strings.HasPrefix(ty, "**") }

// inside finds the allocation that an address, of the simulator or of the process, lies in.
func (s *arrays) inside(address uint64) (allocation int, ok bool) {
	if !s.plausible(address) {
		return 0, false
	}
	n, _ := s.global.Host(address)
	return n, n >= 0
}

// plausible reports whether a value may be an address inside of an array; of most numbers it says no at once.
func (s *arrays) plausible(value uint64) bool {
	return value-s.low < s.high-s.low || value-s.machine[0] < s.machine[1]-s.machine[0]
}

// at is the array that a place of an allocation belongs to: that of the last argument that does not point beyond it.
func (s *arrays) at(allocation int, offset int64) *writtenArray {
	list := s.into[allocation]
	best := list[0]
	for _, a := range list[1:] {
		if a.base <= offset {
			best = a
		}
	}
	return best
}

// fixed is the array that accesses which derive from one argument belong to, nil where that is not told by the argument.
func (s *arrays) fixed(legal uint64) *writtenArray {
	if i := bits.TrailingZeros64(legal); bits.OnesCount64(legal) == 1 && i < min(63, len(s.arguments)) {
		return s.arguments[i]
	}
	return nil
}

// nameOf gives an address its name.
func (s *arrays) nameOf(value uint64) (name uint64, ok bool) {
	if !s.plausible(value) {
		return 0, false
	}
	n, offset := s.global.Host(value)
	if n < 0 {
		return 0, false
	}
	a := s.at(n, int64(offset))
	return uint64(a.ID)<<warptrace.PointerOffsetBits | uint64(int64(offset)-a.base)&(1<<warptrace.PointerOffsetBits-1), true
}

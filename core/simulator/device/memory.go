package device

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Memory is a piece of the caller's memory.
type Memory struct {
	Name     string `json:"name"`
	Address  uint64 `json:"address"`
	Bytes    int    `json:"bytes"`
	ReadOnly bool   `json:"read_only"`

	Unwritten bool `json:"unwritten"` // nobody wrote it before the launch
}

// MaxMemory bounds the pieces of memory of one launch.
const MaxMemory = 1 << 16

// Pieces are pieces of the caller's memory.
func (d *Device) Pieces(list []Memory) ([]memory.Allocation, error) {
	found := make([]memory.Allocation, 0, len(list))
	for i := range list {
		a := &list[i]
		if a.Bytes < 0 || (a.Bytes > 0 && (a.Address == 0 || a.Address+uint64(a.Bytes) < a.Address)) {
			return nil, fault.Usagef("%s: %d bytes at address %#x are not a piece of memory", a.Name, a.Bytes, a.Address)
		}
		if d.view == nil {
			return nil, fault.New(fault.Internal, "this core sees no memory of its process")
		}
		bytes := d.view(a.Address, a.Bytes)
		if len(bytes) != a.Bytes {
			return nil, fault.Usagef("%s: %d bytes at address %#x are not within the memory of the device", a.Name, a.Bytes, a.Address)
		}
		found = append(found, memory.Allocation{Name: a.Name, Host: a.Address, Bytes: bytes, ReadOnly: a.ReadOnly, Unwritten: a.Unwritten})
	}
	return found, nil
}

// Map changes a table of arrays that kernels may reach through pointers, whoever passes or loads them: some come, and those that begin at some
// addresses go; nobody has written those that are unwritten until somebody says so. Table 0 is a new one. It returns the table and how many arrays are in it: a launch costs the same with any number of them.
func (d *Device) Map(table int64, add []Memory, remove, written []uint64) (id int64, arrays int, err error) {
	pieces, err := d.Pieces(add)
	if err != nil {
		return 0, 0, err
	}
	t := new(memory.Standing)
	if table == 0 {
		table = d.tables.add(t)
	} else if t, err = d.table(table); err != nil {
		return 0, 0, err
	}
	t.Written(written...)
	return table, t.Change(pieces, remove), nil
}

// Forget forgets a table of arrays; a launch that still runs is not disturbed.
func (d *Device) Forget(table int64) bool { return d.tables.remove(table) }

func (d *Device) table(id int64) (*memory.Standing, error) {
	if t, ok := d.tables.find(id); ok {
		return t, nil
	}
	return nil, fault.Usagef("there is no table of arrays %d: it was forgotten, or the id is wrong", id)
}

// Variable moves bytes between a .global or .const variable of a module and memory of the caller: out of the variable, or into it where write says
// so. Of 0 bytes it says how many the variable has.
func (d *Device) Variable(module int64, name string, offset uint64, m Memory, write bool) (bytes uint64, err error) {
	p, err := d.Module(module)
	if err != nil {
		return 0, err
	}
	pieces, err := d.Pieces([]Memory{m})
	if err != nil {
		return 0, err
	}
	return p.Variable(name, offset, pieces[0].Bytes, write)
}

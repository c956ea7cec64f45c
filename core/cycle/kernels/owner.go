package kernels

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Owner is what a kernel belongs to, as the host called it. What the trace does not say is empty.
type Owner struct {
	Path       []Part // modules of PyTorch and named ranges, from the outside in
	Backward   bool   // the path is that of the operator whose gradient the kernel computes
	Operator   string // the innermost operator that launched it: "aten::mm"
	Collective string // "allreduce of 8 ranks, 4.0 MiB"
}

// Part is one module or range.
type Part struct {
	Name  string
	Index int32 // among those of its name in the same module, -1 where it is the only one
}

// PathText writes a path: "DecoderLayer[3] / Attention / Linear[0]".
func PathText(path []Part, backward bool) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 {
			b.WriteString(" / ")
		}
		b.WriteString(p.Name)
		if p.Index >= 0 {
			b.WriteString("[" + strconv.Itoa(int(p.Index)) + "]")
		}
	}
	if backward && len(path) > 0 {
		b.WriteString(" (backward)")
	}
	return b.String()
}

// scopePath reads the list of ranges that Proton writes beside a kernel, with its root in front and the kernel at the end.
func scopePath(text string) []Part {
	var list []string
	if json.Unmarshal([]byte(text), &list) != nil || len(list) == 0 {
		return nil
	}
	list = list[:len(list)-1]
	if len(list) > 0 && list[0] == "ROOT" {
		list = list[1:]
	}
	var path []Part
	for _, name := range list {
		path = append(path, rangePart(name))
	}
	return path
}

// owners numbers owners.
type owners struct {
	all []Owner
	at  map[string]uint32
}

// newOwners begins with the owner of which nothing is known.
func newOwners() *owners { return &owners{all: []Owner{{}}, at: map[string]uint32{"\x00\x00": 0}} }

func (o *owners) number(x Owner) uint32 {
	key := PathText(x.Path, x.Backward) + "\x00" + x.Operator + "\x00" + x.Collective
	n, ok := o.at[key]
	if !ok {
		n = uint32(len(o.all))
		o.at[key] = n
		o.all = append(o.all, x)
	}
	return n
}

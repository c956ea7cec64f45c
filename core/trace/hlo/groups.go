package hlo

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/trace/event"
)

// maxMembers bounds the ids of one expanded group list, and twice that all lists of a module together.
const maxMembers = 1 << 22

// ErrTooMany is returned for a group list of more members than any machine has devices.
var ErrTooMany = errors.New("the replica groups have more members than any machine has devices")

// Groups is the list of replica groups of an instruction in one of its three written forms: an explicit list, an iota
// (reshape and transpose of 0, 1, 2, ...), or axes of a mesh. It is expanded when first asked for.
type Groups struct {
	explicit [][]int64
	iota     *iotaList
	mesh     *meshList

	once     sync.Once
	expanded [][]int64
	err      error
	left     *atomic.Int64 // ids that the module may still expand
}

type iotaList struct {
	groups, perGroup int64
	dims             []int64
	perm             []int64
}

type meshList struct {
	sizes   []int64
	devices []int64 // nil: 0, 1, 2, ...
	axes    []axisRef
}

// axisRef names a whole axis of the mesh (size 0) or, within it, the sub-axis of the given size behind pre.
type axisRef struct{ index, pre, size int64 }

// Lists returns the groups as lists of ids. The result is shared and must not be changed.
func (g *Groups) Lists() ([][]int64, error) {
	if g == nil {
		return nil, nil
	}
	g.once.Do(func() {
		var n int64
		switch {
		case g.err != nil:
			return
		case g.iota != nil:
			n, g.err = product(g.iota.dims)
		case g.mesh != nil:
			n, g.err = product(g.mesh.sizes)
		}
		if g.err == nil && g.left != nil && g.left.Add(-n) < 0 {
			g.err = ErrTooMany
		}
		switch {
		case g.err != nil:
		case g.iota != nil:
			g.expanded, g.err = g.iota.expand()
		case g.mesh != nil:
			g.expanded, g.err = g.mesh.expand()
		default:
			g.expanded = g.explicit
		}
	})
	return g.expanded, g.err
}

func parseGroups(form protowire.Number, b []byte) (*Groups, error) {
	switch form {
	case instrIotaList:
		l, err := parseIota(b)
		return &Groups{iota: l}, err
	case instrMeshList:
		l, err := parseMesh(b)
		return &Groups{mesh: l}, err
	}
	g := &Groups{}
	err := eachField(b, func(num protowire.Number, typ protowire.Type, _ uint64, body []byte) error {
		switch {
		case num == 1 && typ == protowire.BytesType:
			ids, err := repeatedInts(body, 1)
			if err != nil {
				return err
			}
			g.explicit = append(g.explicit, ids)
		case num == 2 && typ == protowire.BytesType:
			l, err := parseIota(body)
			g.iota = l
			return err
		}
		return nil
	})
	return g, err
}

func parseIota(b []byte) (*iotaList, error) {
	l := &iotaList{}
	err := eachField(b, func(num protowire.Number, typ protowire.Type, val uint64, body []byte) (err error) {
		switch {
		case num == 1 && typ == protowire.VarintType:
			l.groups = int64(val)
		case num == 2 && typ == protowire.VarintType:
			l.perGroup = int64(val)
		case num == 3:
			l.dims, err = oneOrMany(l.dims, typ, val, body)
		case num == 4:
			l.perm, err = oneOrMany(l.perm, typ, val, body)
		}
		return err
	})
	return l, err
}

func oneOrMany(out []int64, typ protowire.Type, val uint64, body []byte) ([]int64, error) {
	if typ == protowire.VarintType {
		return append(out, int64(val)), nil
	}
	return appendInts(out, body)
}

func parseMesh(b []byte) (*meshList, error) {
	l := &meshList{}
	err := eachField(b, func(num protowire.Number, typ protowire.Type, _ uint64, body []byte) (err error) {
		switch {
		case num == 1 && typ == protowire.BytesType:
			err = l.parseShape(body)
		case num == 2 && typ == protowire.BytesType:
			var ref axisRef
			err = eachField(body, func(num protowire.Number, typ protowire.Type, val uint64, body []byte) error {
				if num == 1 && typ == protowire.VarintType {
					ref.index = int64(val)
				} else if num == 2 && typ == protowire.BytesType {
					p := pairOf(body) // pre_size = 1, size = 2
					ref.pre, ref.size = p.Source, p.Target
				}
				return nil
			})
			l.axes = append(l.axes, ref)
		}
		return err
	})
	return l, err
}

func (l *meshList) parseShape(b []byte) error {
	return eachField(b, func(num protowire.Number, typ protowire.Type, val uint64, body []byte) (err error) {
		switch {
		case num == 1 && typ == protowire.BytesType:
			size := int64(0)
			err = eachField(body, func(num protowire.Number, typ protowire.Type, val uint64, _ []byte) error {
				if num == 2 && typ == protowire.VarintType {
					size = int64(val)
				}
				return nil
			})
			l.sizes = append(l.sizes, size)
		case num == 2:
			l.devices, err = oneOrMany(l.devices, typ, val, body)
		}
		return err
	})
}

// product multiplies sizes, each of which must be positive, within maxMembers.
func product(sizes []int64) (int64, error) {
	n := int64(1)
	for _, s := range sizes {
		if s <= 0 {
			return 0, fmt.Errorf("a dimension of the replica groups is %d", s)
		}
		if s > maxMembers || n > maxMembers/s {
			return 0, ErrTooMany
		}
		n *= s
	}
	return n, nil
}

func (l *iotaList) expand() ([][]int64, error) {
	n, err := product(l.dims)
	if err != nil {
		return nil, err
	}
	m, err := product([]int64{l.groups, l.perGroup})
	if err != nil {
		return nil, err
	}
	if m != n {
		return nil, fmt.Errorf("iota replica groups: %d groups of %d are not the %d ids of the reshape", l.groups, l.perGroup, n)
	}
	perm := l.perm
	if len(perm) == 0 {
		perm = make([]int64, len(l.dims))
		for i := range perm {
			perm[i] = int64(i)
		}
	}
	if !isPermutation(perm, len(l.dims)) {
		return nil, fmt.Errorf("iota replica groups: %v is not a permutation of %d dimensions", l.perm, len(l.dims))
	}
	return chunk(transpose(l.dims, perm, n), l.perGroup), nil
}

func isPermutation(perm []int64, n int) bool {
	if len(perm) != n {
		return false
	}
	seen := make([]bool, n)
	for _, p := range perm {
		if p < 0 || int(p) >= n || seen[p] {
			return false
		}
		seen[p] = true
	}
	return true
}

// transpose returns the elements of iota(n) reshaped to dims, in row-major order of the permuted dimensions.
func transpose(dims, perm []int64, n int64) []int64 {
	stride := make([]int64, len(dims))
	s := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		stride[i] = s
		s *= dims[i]
	}
	out := make([]int64, 0, n)
	index := make([]int64, len(dims))
	at := int64(0)
	for int64(len(out)) < n {
		out = append(out, at)
		for k := len(perm) - 1; k >= 0; k-- {
			d := perm[k]
			index[d]++
			at += stride[d]
			if index[d] < dims[d] {
				break
			}
			at -= stride[d] * dims[d]
			index[d] = 0
		}
	}
	return out
}

func chunk(ids []int64, size int64) [][]int64 {
	out := make([][]int64, 0, int64(len(ids))/size)
	for i := int64(0); i < int64(len(ids)); i += size {
		out = append(out, ids[i:i+size:i+size])
	}
	return out
}

// expand splits the mesh's axes where sub-axes begin and end, moves the named pieces last and reads off the groups.
func (l *meshList) expand() ([][]int64, error) {
	n, err := product(l.sizes)
	if err != nil {
		return nil, err
	}
	if l.devices != nil && int64(len(l.devices)) != n {
		return nil, fmt.Errorf("mesh replica groups: %d device ids for a mesh of %d", len(l.devices), n)
	}
	cuts := make([][]int64, len(l.sizes)) // by axis: products of sizes at which a piece begins, 1 and the full size included
	for i, s := range l.sizes {
		cuts[i] = []int64{1, s}
	}
	refs := slices.Clone(l.axes)
	for i := range refs {
		r := &refs[i]
		if r.index < 0 || r.index >= int64(len(l.sizes)) {
			return nil, fmt.Errorf("mesh replica groups: axis %d of %d", r.index, len(l.sizes))
		}
		full := l.sizes[r.index]
		if r.size == 0 {
			r.pre, r.size = 1, full
		}
		if r.pre < 1 || r.size < 1 || r.pre > full || r.size > full || full%(r.pre*r.size) != 0 {
			return nil, fmt.Errorf("mesh replica groups: sub-axis (%d)%d of an axis of %d", r.pre, r.size, full)
		}
		cuts[r.index] = append(cuts[r.index], r.pre, r.pre*r.size)
	}
	var dims []int64
	first := make([]int, len(cuts)) // index in dims of an axis's first piece
	for i := range cuts {
		slices.Sort(cuts[i])
		cuts[i] = slices.Compact(cuts[i])
		first[i] = len(dims)
		for k := 1; k < len(cuts[i]); k++ {
			if cuts[i][k]%cuts[i][k-1] != 0 {
				return nil, fmt.Errorf("mesh replica groups: the sub-axes of axis %d overlap", i)
			}
			dims = append(dims, cuts[i][k]/cuts[i][k-1])
		}
	}
	grouped := make([]bool, len(dims))
	var inner []int64
	size := int64(1)
	for _, r := range refs {
		for k := 1; k < len(cuts[r.index]); k++ {
			if c := cuts[r.index][k-1]; c >= r.pre && c < r.pre*r.size {
				d := first[r.index] + k - 1
				if grouped[d] {
					return nil, fmt.Errorf("mesh replica groups: axis %d is named twice", r.index)
				}
				grouped[d] = true
				inner = append(inner, int64(d))
				size *= dims[d]
			}
		}
	}
	perm := make([]int64, 0, len(dims))
	for d := range dims {
		if !grouped[d] {
			perm = append(perm, int64(d))
		}
	}
	ids := transpose(dims, append(perm, inner...), n)
	if l.devices != nil {
		for i, id := range ids {
			ids[i] = l.devices[id]
		}
	}
	return chunk(ids, size), nil
}

// Members returns who takes part in an op: groups of participants (replica*Partitions+partition). What the written ids mean
// depends on the op's channel and on use_global_device_ids. nil means one group of everyone. For a permute or a send-recv,
// whose partners Transfers tells, it is one group of everyone in each replica or partition. The result is shared.
func (m *Module) Members(o *Op) ([][]int64, error) {
	key := spreadKey{groups: o.Groups, mode: o.mode()}
	if o.Kind.Paired() {
		key.groups = nil
	}
	if out, ok := m.spread[key]; ok {
		return out, nil
	}
	out, err := m.members(key)
	if err != nil {
		return nil, err
	}
	if !m.budget.Take(idsIn(out)) {
		return nil, ErrTooMany
	}
	if m.spread == nil {
		m.spread = map[spreadKey][][]int64{}
	}
	m.spread[key] = out
	return out, nil
}

func idsIn(lists [][]int64) int64 {
	n := int64(0)
	for _, l := range lists {
		n += int64(len(l))
	}
	return n
}

func (m *Module) members(key spreadKey) ([][]int64, error) {
	lists, err := key.groups.Lists()
	if err != nil {
		return nil, err
	}
	replicas, partitions := int64(m.Replicas), int64(m.Partitions)
	if replicas == 0 {
		return lists, nil
	}
	limit := replicas
	switch key.mode {
	case flattened:
		limit = replicas * partitions
	case acrossPartitions:
		limit = partitions
	}
	if len(lists) == 0 {
		if key.mode == replicasAndPartitions || limit == replicas*partitions {
			return nil, nil
		}
		all := make([]int64, limit)
		for i := range all {
			all[i] = int64(i)
		}
		lists = [][]int64{all}
	}
	total := int64(0)
	for _, l := range lists {
		total += int64(len(l))
		for _, id := range l {
			if id < 0 || id >= limit {
				return nil, fmt.Errorf("replica groups name id %d of %d", id, limit)
			}
		}
	}
	if times := replicas * partitions / limit; total > maxMembers/times {
		return nil, ErrTooMany
	}
	return spread(lists, key.mode, replicas, partitions), nil
}

// idMode is the meaning of an id in a group list.
type idMode uint8

const (
	acrossReplicas        idMode = iota // a replica; the same op runs separately in every partition
	acrossPartitions                    // a partition; the same op runs separately in every replica
	replicasAndPartitions               // a replica, with all of its partitions
	flattened                           // a participant
)

func (o *Op) mode() idMode {
	switch {
	case o.ChannelID <= 0:
		return acrossReplicas
	case o.UseGlobalIDs:
		return flattened
	case o.Kind == event.AllReduce || o.Kind == event.AllGather || o.Kind == event.ReduceScatter:
		return replicasAndPartitions
	}
	return acrossPartitions
}

func spread(lists [][]int64, mode idMode, replicas, partitions int64) [][]int64 {
	var out [][]int64
	switch mode {
	case flattened:
		return lists
	case replicasAndPartitions:
		for _, l := range lists {
			var g []int64
			for _, r := range l {
				for p := int64(0); p < partitions; p++ {
					g = append(g, r*partitions+p)
				}
			}
			out = append(out, g)
		}
	case acrossPartitions:
		for r := int64(0); r < replicas; r++ {
			for _, l := range lists {
				g := make([]int64, len(l))
				for i, p := range l {
					g[i] = r*partitions + p
				}
				out = append(out, g)
			}
		}
	default:
		for p := int64(0); p < partitions; p++ {
			for _, l := range lists {
				g := make([]int64, len(l))
				for i, r := range l {
					g[i] = r*partitions + p
				}
				out = append(out, g)
			}
		}
	}
	return out
}

// Transfers returns the transfers of a permute or send-recv between participants.
func (m *Module) Transfers(o *Op) ([]Pair, error) {
	replicas, partitions := int64(m.Replicas), int64(m.Partitions)
	mode := o.mode()
	if m.Replicas == 0 || mode == flattened {
		return o.Pairs, nil
	}
	limit, times := replicas, partitions
	if mode == acrossPartitions {
		limit, times = partitions, replicas
	}
	if n := int64(len(o.Pairs)); n > maxMembers/times || !m.budget.Take(n*times) {
		return nil, ErrTooMany
	}
	out := make([]Pair, 0, int64(len(o.Pairs))*times)
	for k := int64(0); k < times; k++ {
		for _, p := range o.Pairs {
			if p.Source < 0 || p.Source >= limit || p.Target < 0 || p.Target >= limit {
				return nil, fmt.Errorf("a transfer names %d -> %d of %d", p.Source, p.Target, limit)
			}
			if mode == acrossPartitions {
				out = append(out, Pair{k*partitions + p.Source, k*partitions + p.Target})
			} else {
				out = append(out, Pair{p.Source*partitions + k, p.Target*partitions + k})
			}
		}
	}
	return out, nil
}

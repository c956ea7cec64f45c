package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/trace/event"
)

// identity says which participant of an operation each device is, and in which replica group.
type identity struct {
	op      *Op
	of      map[Slot]int64  // participant by device; nil when nothing is known, or needs to be
	group   map[int64]int32 // replica group by participant
	out     map[Slot]bool   // devices that are not known to be members: two traces say their rank, or none
	local   bool            // every node is a job of its own: participants repeat on each node
	assumed string          // what had to be assumed; "" nothing
	reason  string          // why it is impossible; "" when it is not
}

// identify finds out who is who. slots are the devices that executed the operation, everyone those that executed any.
//
// A trace seldom says which global device a local one is. The device assignment of the program lists the global ids of all
// participants; nodes take theirs in order. So when as many devices took part as the assignment lists, they are the same in
// order of node and ordinal; when each node alone has that many, every node is a job of its own; and when whole nodes are
// missing, the rank of a node says where it begins.
func identify(part *Part, op *Op, slots, everyone []Slot) identity {
	id := identity{op: op}
	if op.Groups != nil {
		id.group = map[int64]int32{}
		for g, members := range op.Groups {
			for _, p := range members {
				id.group[p] = int32(g)
			}
		}
	}
	devices := op.devices(len(slots))
	switch {
	case op.Ranked:
		id.byRank(part, slots)
	case len(op.Devices) > 0 && known(part, slots) && id.byDeviceID(part, slots):
	case len(devices) > 0:
		id.byPosition(part, devices, slots, everyone)
	}
	matters := len(op.Groups) > 1 || !op.Kind.Symmetric()
	if id.of == nil && id.reason == "" && len(op.Groups) > 1 {
		id.reason = reasonWho
	}
	if id.of == nil && id.out == nil && len(slots) > id.size(0) && id.size(0) > 0 {
		id.reason = reasonWho // more devices than the one group has members: it is not one group
	}
	if id.assumed != "" && !matters {
		id.assumed = ""
	}
	if id.reason == "" && id.size(0) == 0 && len(devices) == 0 && op.Kind != event.SendRecv {
		id.assumed = "nothing says who takes part in some collectives; every device that executed them is taken as a member"
	}
	return id
}

// devices returns the global device ids of an op's participants. Where the program does not carry its device assignment, a
// list of groups that names everyone stands for it, and so do pairs that name nobody beyond the n devices that were seen.
func (o *Op) devices(n int) []int64 {
	if o.Devices != nil || o.Ranked {
		return o.Devices
	}
	total := 0
	for _, g := range o.Groups {
		total += len(g)
	}
	if total == 0 && len(o.Pairs) > 0 {
		total = n
		for _, p := range o.Pairs {
			if p.Source < 0 || p.Target < 0 || p.Source >= int64(n) || p.Target >= int64(n) {
				return nil
			}
		}
	}
	seen := make([]bool, total)
	out := make([]int64, total)
	for i := range out {
		out[i] = int64(i)
	}
	for _, g := range o.Groups {
		for _, p := range g {
			if p < 0 || p >= int64(total) || seen[p] {
				return nil
			}
			seen[p] = true
		}
	}
	return out
}

// known reports whether the trace records the id of every device, each one different: where two nodes both have a device 0,
// the ids are local and say nothing.
func known(part *Part, slots []Slot) bool {
	taken := make(map[int64]bool, len(slots))
	for _, s := range slots {
		id, ok := part.DeviceIDs[s]
		if !ok || taken[id] {
			return false
		}
		taken[id] = true
	}
	return true
}

// byDeviceID uses recorded ids; false when one of them is none of the program's.
func (id *identity) byDeviceID(part *Part, slots []Slot) bool {
	participant := make(map[int64]int64, len(id.op.Devices))
	for p, d := range id.op.Devices {
		participant[d] = int64(p)
	}
	of := make(map[Slot]int64, len(slots))
	for _, s := range slots {
		p, ok := participant[part.DeviceIDs[s]]
		if !ok {
			return false
		}
		of[s] = p
	}
	id.of = of
	return true
}

// byRank takes devices for the ranks of their nodes. Where a trace does not say its rank it is a member of a group that has room for it, for who is
// who does not matter among equals. Else it is left out, and so are those that say one rank: one trace does not cost the others their partners.
func (id *identity) byRank(part *Part, slots []Slot) {
	id.of = map[Slot]int64{}
	nodes := map[int]int32{}
	twice := map[int]bool{}
	for _, s := range slots {
		if r, ok := part.Ranks[s.Node]; ok {
			was, taken := nodes[r]
			if taken && was != s.Node {
				twice[r] = true
			}
			nodes[r] = s.Node
		}
	}
	var unknown []Slot
	for _, s := range slots {
		if r, ok := part.Ranks[s.Node]; ok && !twice[r] {
			id.of[s] = int64(r)
		} else {
			unknown = append(unknown, s)
		}
	}
	switch {
	case len(unknown) == 0:
	case len(id.op.Groups) == 0:
		id.of = nil
	case len(twice) == 0 && id.op.Kind.Symmetric() && len(countByNode(slots)) <= id.size(0):
	case len(countByNode(slots))-len(countByNode(unknown)) < 2:
		id.of, id.reason = nil, reasonWho
	default:
		id.out = make(map[Slot]bool, len(unknown))
		for _, s := range unknown {
			id.out[s] = true
		}
	}
}

// byPosition gives the sorted global ids to nodes and devices in order.
func (id *identity) byPosition(part *Part, ids []int64, slots, everyone []Slot) {
	order := make([]int, len(ids)) // participants by global id
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	n := len(order)
	assign := func(list []Slot, at func(int) int) {
		id.of = make(map[Slot]int64, len(list))
		for i, s := range list {
			id.of[s] = int64(order[at(i)])
		}
	}
	for _, list := range [][]Slot{slots, everyone} {
		perNode := countByNode(list)
		same := true
		for _, c := range perNode {
			same = same && c.n == n
		}
		switch {
		case len(list) == n:
			assign(byRankOrder(part, list), func(i int) int { return i })
			if len(perNode) > 1 {
				id.assumed = "participants of compiled programs are taken from the order of nodes and devices"
			}
			return
		case same && n > 0:
			id.local = true
			assign(list, func(i int) int { return i % n })
			return
		}
	}
	id.byRankOfNode(part, everyone, n, assign)
}

// byRankOfNode places nodes by their rank, for traces in which some nodes are missing.
func (id *identity) byRankOfNode(part *Part, everyone []Slot, n int, assign func([]Slot, func(int) int)) {
	perNode := countByNode(everyone)
	each := 0
	taken := map[int]bool{}
	for _, c := range perNode {
		r, ok := part.Ranks[c.node]
		if !ok || r < 0 || taken[r] || each != 0 && each != c.n {
			return
		}
		each, taken[r] = c.n, true
	}
	for r := range taken {
		if each == 0 || n%each != 0 || r >= n/each {
			return
		}
	}
	k := 0
	place := make([]int, len(everyone))
	for i, s := range everyone {
		if i > 0 && everyone[i-1].Node != s.Node {
			k = 0
		}
		place[i] = part.Ranks[s.Node]*each + k
		k++
	}
	assign(everyone, func(i int) int { return place[i] })
	id.assumed = fmt.Sprintf("participants of compiled programs are taken from the ranks of nodes, %d devices each", each)
}

type nodeCount struct {
	node int32
	n    int
}

func countByNode(slots []Slot) []nodeCount {
	var out []nodeCount
	for _, s := range slots {
		if len(out) == 0 || out[len(out)-1].node != s.Node {
			out = append(out, nodeCount{node: s.Node})
		}
		out[len(out)-1].n++
	}
	return out
}

// byRankOrder orders devices by the rank of their node where every node has one of its own, else leaves them in node order.
func byRankOrder(part *Part, slots []Slot) []Slot {
	taken := map[int]int32{}
	for _, s := range slots {
		r, ok := part.Ranks[s.Node]
		if was, twice := taken[r]; !ok || twice && was != s.Node {
			return slots
		}
		taken[r] = s.Node
	}
	out := slices.Clone(slots)
	slices.SortStableFunc(out, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(part.Ranks[a.Node], part.Ranks[b.Node]), cmp.Compare(a.Device, b.Device))
	})
	return out
}

// participant returns who a device is, -1 when that is not known.
func (id *identity) participant(s Slot) int64 {
	if p, ok := id.of[s]; ok {
		return p
	}
	return -1
}

// groupOf returns a number for the replica group of a device; ok is false when there is nobody to compare it with.
func (id *identity) groupOf(s Slot) (int32, bool) {
	g := int32(0)
	if len(id.op.Groups) > 0 {
		p, known := id.of[s]
		if known {
			in, member := id.group[p]
			if !member {
				return 0, false
			}
			g = in
		}
		if len(id.op.Groups[g]) < 2 {
			return 0, false
		}
	}
	if id.local {
		g += s.Node * int32(max(len(id.op.Groups), 1))
	}
	return g, true
}

// size returns how many members a group has, 0 when that is not known.
func (id *identity) size(group int32) int {
	if n := len(id.op.Groups); n > 0 {
		return len(id.op.Groups[int(group)%n])
	}
	if id.op.Size > 0 {
		return id.op.Size
	}
	if id.op.Kind == event.SendRecv {
		return 0 // a program's sends and receives need not run everywhere
	}
	return len(id.op.Devices)
}

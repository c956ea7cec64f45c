package collective

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// Compiled is what a mark says of a node whose XSpace crossed into a Chrome JSON: its programs, and which events are executions.
type Compiled struct {
	programs *Programs
	planes   []aligned.Plane
}

var phaseNames = [...]string{hlo.Whole: "", hlo.Start: "start", hlo.Done: "done"}

// Mark adds the programs to the table of a mark, and returns the id and the place in the table of each.
func (x *Programs) Mark(table *aligned.ProgramTable) ([][2]int64, error) {
	out := make([][2]int64, 0, len(x.list))
	for _, p := range x.list {
		at, err := table.Add(describe(p.Module))
		if err != nil {
			return nil, err
		}
		out = append(out, [2]int64{p.ID, int64(at)})
	}
	return out, nil
}

// describe says of a program what a mark keeps.
func describe(m *hlo.Module) aligned.Program {
	p := aligned.Program{Name: m.Name, Fingerprint: m.Fingerprint}
	if len(m.Ops) > 0 {
		p.Replicas, p.Partitions = m.Replicas, m.Partitions
	}
	if m.Devices != nil {
		p.Devices = string(hlo.AppendLists(nil, [][]int64{m.Devices}))
	}
	groups := map[*hlo.Groups]string{}
	for i := range m.Ops {
		o := &m.Ops[i]
		c := aligned.Collective{
			Op: o.Name, Kind: o.Kind.String(), Phase: phaseNames[o.Phase], Start: o.Start, Sends: o.Sends, Channel: o.ChannelID,
			Global: o.UseGlobalIDs, Host: o.HostTransfer,
		}
		lists, err := o.Groups.Lists()
		if c.Damaged = err != nil; !c.Damaged {
			text, ok := groups[o.Groups]
			if !ok {
				text = string(hlo.AppendLists(nil, lists))
				groups[o.Groups] = text
			}
			c.Groups = text
		}
		pairs := make([][]int64, len(o.Pairs))
		for k, pair := range o.Pairs {
			pairs[k] = []int64{pair.Source, pair.Target}
		}
		c.Pairs = string(hlo.AppendLists(nil, pairs))
		p.Collectives = append(p.Collectives, c)
	}
	return p
}

// ReadCompiled reads what a mark says of each of its nodes; nil where it says nothing.
func ReadCompiled(m *aligned.Mark) ([]*Compiled, error) {
	r := markReader{mark: m, budget: hlo.NewBudget(), groups: map[string]*hlo.Groups{}, made: map[int64]*hlo.Module{}, lists: map[string][]int64{}, sets: map[string]*Programs{}, names: map[string]map[string]bool{}}
	out := make([]*Compiled, len(m.Nodes))
	for i := range m.Nodes {
		said := m.Nodes[i].Compiled
		if said == nil {
			continue
		}
		programs, err := r.programs(said.Programs)
		if err != nil {
			return nil, fault.New(fault.Format, "its mark of an alignment by prlx is damaged: %v", err).WithHint("combine the traces as recorded")
		}
		out[i] = &Compiled{programs: programs, planes: said.Planes}
	}
	return out, nil
}

// markReader makes modules of what a mark says of programs. Nodes share them: a job runs the same programs everywhere.
type markReader struct {
	mark   *aligned.Mark
	budget *hlo.Budget
	groups map[string]*hlo.Groups     // by text: programs repeat the same list many times
	made   map[int64]*hlo.Module      // by place in the mark
	lists  map[string][]int64         // lists of devices, by text
	sets   map[string]*Programs       // by ids and places
	names  map[string]map[string]bool // of collectives, by places
}

func (r *markReader) programs(list [][2]int64) (*Programs, error) {
	key := fmt.Sprint(list)
	if x, ok := r.sets[key]; ok {
		return x, nil
	}
	x := newPrograms()
	for _, p := range list {
		m := r.made[p[1]]
		if m == nil {
			said := &r.mark.Programs[p[1]]
			var err error
			if m, err = r.module(said); err != nil {
				return nil, fmt.Errorf("program %.80q: %w", said.Name, err)
			}
			r.made[p[1]] = m
		}
		if !r.budget.Take(1) {
			return nil, hlo.ErrTooMany
		}
		x.add(p[0], m)
	}
	var err error
	x.names, err = r.namesOf(list)
	r.sets[key] = x
	return x, err
}

// namesOf returns the names of the collectives of programs, which nodes share even where the ids of their programs differ.
func (r *markReader) namesOf(list [][2]int64) (map[string]bool, error) {
	places := make([]int64, len(list))
	for i := range list {
		places[i] = list[i][1]
	}
	slices.Sort(places)
	places = slices.Compact(places)
	key := fmt.Sprint(places)
	if out, ok := r.names[key]; ok {
		return out, nil
	}
	out := map[string]bool{}
	for _, at := range places {
		m := r.made[at]
		if !r.budget.Take(int64(len(m.Ops))) {
			return nil, hlo.ErrTooMany
		}
		for k := range m.Ops {
			out[m.Ops[k].Name] = true
		}
	}
	r.names[key] = out
	return out, nil
}

// devices reads the device ids of a program.
func (r *markReader) devices(text string) ([]int64, error) {
	if ids, ok := r.lists[text]; ok {
		return ids, nil
	}
	lists, err := hlo.ParseLists(text, r.budget)
	if err != nil {
		return nil, err
	}
	var ids []int64
	switch len(lists) {
	case 0:
	case 1:
		ids = lists[0]
	default:
		return nil, fmt.Errorf("it has %d lists of devices, expected 1", len(lists))
	}
	r.lists[text] = ids
	return ids, nil
}

func (r *markReader) module(p *aligned.Program) (*hlo.Module, error) {
	m := hlo.Module{Name: p.Name, Fingerprint: p.Fingerprint, Replicas: p.Replicas, Partitions: p.Partitions, Ops: make([]hlo.Op, len(p.Collectives))}
	var err error
	if m.Devices, err = r.devices(p.Devices); err != nil {
		return nil, err
	}
	for i := range p.Collectives {
		if err := r.op(&p.Collectives[i], &m.Ops[i]); err != nil {
			return nil, fmt.Errorf("%.80q: %w", p.Collectives[i].Op, err)
		}
	}
	return hlo.NewModule(m, r.budget)
}

func (r *markReader) op(c *aligned.Collective, o *hlo.Op) error {
	*o = hlo.Op{Name: c.Op, Start: c.Start, Sends: c.Sends, ChannelID: c.Channel, UseGlobalIDs: c.Global, HostTransfer: c.Host}
	for k := event.AllReduce; k <= event.SendRecv; k++ {
		if k.String() == c.Kind {
			o.Kind = k
		}
	}
	if o.Kind == event.Unknown {
		return fmt.Errorf("the kind is %.40q", c.Kind)
	}
	switch c.Phase {
	case phaseNames[hlo.Whole]:
	case phaseNames[hlo.Start]:
		o.Phase = hlo.Start
	case phaseNames[hlo.Done]:
		o.Phase = hlo.Done
	default:
		return fmt.Errorf("the phase is %.40q", c.Phase)
	}
	var err error
	if o.Groups, err = r.groupsOf(c); err != nil {
		return err
	}
	pairs, err := hlo.ParseLists(c.Pairs, r.budget)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		if len(pair) != 2 {
			return fmt.Errorf("a pair of %d", len(pair))
		}
		o.Pairs = append(o.Pairs, hlo.Pair{Source: pair[0], Target: pair[1]})
	}
	return nil
}

func (r *markReader) groupsOf(c *aligned.Collective) (*hlo.Groups, error) {
	key := c.Groups
	if c.Damaged {
		key = "damaged"
	}
	if g, ok := r.groups[key]; ok {
		return g, nil
	}
	g := hlo.NewGroups(nil, hlo.ErrDamaged)
	if !c.Damaged {
		lists, err := hlo.ParseLists(c.Groups, r.budget)
		if err != nil {
			return nil, err
		}
		g = hlo.NewGroups(lists, nil)
	}
	r.groups[key] = g
	return g, nil
}

package aligned

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Limits of what a mark may say of compiled programs, far above what compilers emit.
const (
	MaxPrograms     = 1 << 16
	MaxCollectives  = 1 << 18 // of all programs together
	MaxProgramBytes = 16 << 20
	maxPlanes       = 1 << 16 // of a node
)

// Program is what a compiled program says about its collectives. An XSpace holds the programs themselves; in a Chrome JSON this is
// what is left of them. Lists of ids are written as HLO writes replica groups, see hlo.AppendLists.
type Program struct {
	Name        string       `json:"name"`
	Fingerprint uint64       `json:"fingerprint"`          // of its instructions: tells programs of one name apart
	Replicas    int          `json:"replicas,omitempty"`   // of the device assignment; absent: it has none
	Partitions  int          `json:"partitions,omitempty"` // of the device assignment
	Devices     string       `json:"devices,omitempty"`    // global device id of each participant: one list
	Collectives []Collective `json:"collectives,omitempty"`
}

// Collective is one collective instruction of a program.
type Collective struct {
	Op      string `json:"op"`                   // the instruction's name, as hlo_op of an event has it
	Kind    string `json:"kind"`                 // all-reduce, permute, ...: event.Kind
	Phase   string `json:"phase,omitempty"`      // "start" or "done" of an asynchronous one
	Start   string `json:"start,omitempty"`      // of a done: the instruction that began it
	Sends   bool   `json:"sends,omitempty"`      // the sending side of a send-recv
	Channel int64  `json:"channel,omitempty"`    // channel_id; absent: none
	Global  bool   `json:"global_ids,omitempty"` // use_global_device_ids
	Groups  string `json:"groups,omitempty"`     // replica groups: lists; absent: one group of everyone
	Pairs   string `json:"pairs,omitempty"`      // source-target pairs: lists of two
	Host    bool   `json:"host,omitempty"`       // a transfer between device and host
	Damaged bool   `json:"damaged,omitempty"`    // its replica groups could not be read
}

// Compiled is what a Chrome JSON keeps of a node whose trace was an XSpace: its programs, and which of its events are executions.
type Compiled struct {
	Programs [][2]int64 `json:"programs"` // program id, and place in the mark's programs
	Planes   []Plane    `json:"planes"`
}

// Plane is a plane of an XSpace that holds executions.
type Plane struct {
	Process  int64  `json:"process"`             // pid
	Kind     string `json:"kind"`                // PlaneHost, PlaneKernels, PlaneOperations
	Device   int32  `json:"device"`              // its number within the node, -1 for the host
	DeviceID *int64 `json:"device_id,omitempty"` // its number among all devices of the job, where recorded
	Threads  []int  `json:"threads,omitempty"`   // tids with executions; absent: all
}

// The values of Plane.Kind.
const (
	PlaneHost       = "host"       // operations of compiled programs on host threads
	PlaneKernels    = "kernels"    // kernels on streams
	PlaneOperations = "operations" // operations themselves, in a line of their own
)

// ProgramTable gathers the programs of several nodes, equal ones once.
type ProgramTable struct {
	List []Program
	Full bool // one was left out: then the table says nothing that can be relied on

	places      map[[sha256.Size]byte]int
	collectives int
	bytes       int
}

// Add returns the place of a program, which it adds where it is new.
func (t *ProgramTable) Add(p Program) (int, error) {
	text, err := json.Marshal(&p)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(text)
	if at, ok := t.places[sum]; ok {
		return at, nil
	}
	if len(t.List) >= MaxPrograms || t.collectives+len(p.Collectives) > MaxCollectives || t.bytes+len(text) > MaxProgramBytes {
		t.Full = true
		return 0, nil
	}
	if t.places == nil {
		t.places = map[[sha256.Size]byte]int{}
	}
	t.places[sum] = len(t.List)
	t.List = append(t.List, p)
	t.collectives, t.bytes = t.collectives+len(p.Collectives), t.bytes+len(text)
	return len(t.List) - 1, nil
}

// Adopt adds the programs of a node of another mark, and returns what the node says in terms of the table; nil where it says nothing.
func (t *ProgramTable) Adopt(from *Mark, node int) (*Compiled, error) {
	was := from.Nodes[node].Compiled
	if was == nil {
		return nil, nil
	}
	out := &Compiled{Programs: make([][2]int64, len(was.Programs)), Planes: was.Planes}
	for i, p := range was.Programs {
		at, err := t.Add(from.Programs[p[1]])
		if err != nil {
			return nil, err
		}
		out.Programs[i] = [2]int64{p[0], int64(at)}
	}
	return out, nil
}

// readLists reads the lists of a mark whose elements are large in memory and may be two bytes in the text.
func (m *Mark) readLists(nodes, programs json.RawMessage) (err error) {
	if m.Nodes, err = elements[Node](nodes, MaxNodes, "nodes"); err != nil {
		return err
	}
	if len(m.Nodes) == 0 {
		return fmt.Errorf("it speaks of 0 nodes, expected 1 to %d", MaxNodes)
	}
	left := MaxCollectives
	list, err := elements[struct {
		Program
		Collectives json.RawMessage `json:"collectives"`
	}](programs, MaxPrograms, "programs")
	if err != nil {
		return err
	}
	for i := range list {
		p := list[i].Program
		if p.Collectives, err = elements[Collective](list[i].Collectives, left, "collectives of programs"); err != nil {
			return err
		}
		left -= len(p.Collectives)
		m.Programs = append(m.Programs, p)
	}
	for i := range m.Nodes {
		if err := m.checkCompiled(m.Nodes[i].Compiled); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mark) checkCompiled(c *Compiled) error {
	if c == nil {
		return nil
	}
	if len(c.Programs) > MaxPrograms {
		return fmt.Errorf("a node has %d programs, more than %d", len(c.Programs), MaxPrograms)
	}
	for i := range c.Planes {
		switch k := c.Planes[i].Kind; k {
		case PlaneHost, PlaneKernels, PlaneOperations:
		default:
			return fmt.Errorf("a plane is of kind %.40q", k)
		}
	}
	for _, p := range c.Programs {
		if p[1] < 0 || p[1] >= int64(len(m.Programs)) {
			return fmt.Errorf("a node has program %d of %d", p[1], len(m.Programs))
		}
	}
	return nil
}

// UnmarshalJSON bounds the planes.
func (c *Compiled) UnmarshalJSON(text []byte) error {
	var raw struct {
		Programs [][2]int64      `json:"programs"`
		Planes   json.RawMessage `json:"planes"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	planes, err := elements[Plane](raw.Planes, maxPlanes, "planes")
	*c = Compiled{Programs: raw.Programs, Planes: planes}
	return err
}

// elements reads a list of at most limit elements one by one.
func elements[T any](text json.RawMessage, limit int, what string) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	open, err := d.Token()
	if len(text) == 0 || err == nil && open == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if open != json.Delim('[') {
		return nil, fmt.Errorf("its %s are not a list", what)
	}
	var out []T
	for d.More() {
		if len(out) >= limit {
			return nil, fmt.Errorf("it speaks of more than %d %s", limit, what)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

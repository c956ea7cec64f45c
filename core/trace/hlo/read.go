package hlo

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Limits for hostile or absurd modules; each is far above anything a compiler emits.
const (
	maxBytes   = 4 << 30 // of one HloProto
	maxOps     = 1 << 18 // collectives and wrappers of one module
	maxName    = 1 << 16 // bytes of a name or opcode
	maxField   = 1 << 24 // bytes of one list of groups or of device ids
	maxDevices = 1 << 20 // participants of one module
	window     = 1 << 16 // bytes read at once
)

// Field numbers of the messages that are read; docs/formats/hlo.md lists the same.
const (
	protoModule = 1

	moduleName             = 1
	moduleComputations     = 3
	moduleID               = 5
	moduleDeviceAssignment = 15

	computationInstructions = 2
	computationID           = 5

	instrName             = 1
	instrOpcode           = 2
	instrChannelID        = 26
	instrID               = 35
	instrOperands         = 36
	instrCalled           = 38
	instrAllReduceID      = 45
	instrHostTransfer     = 47
	instrReplicaGroups    = 49
	instrPairs            = 52
	instrFrontend         = 68
	instrUseGlobalIDs     = 71
	instrDeviceList       = 87
	instrIotaList         = 92
	instrMeshList         = 93
	assignmentReplicas    = 1
	assignmentPartitions  = 2
	assignmentComputation = 3
)

// sendRecvPairs is the frontend attribute in which XLA keeps the transfers of a send or recv.
const sendRecvPairs = "_xla_send_recv_source_target_pairs"

// Read reads bytes [off, end) of src as an HloProto.
func Read(ctx context.Context, src *file.Source, off, end int64) (*Module, error) {
	if end-off > maxBytes {
		return nil, &fault.Error{Kind: fault.Limit, Path: src.Path(), Offset: off, Msg: "hlo: a module of " +
			strconv.FormatInt(end-off, 10) + " bytes; the limit is 4 GiB"}
	}
	r := &reader{cursor: cursor{w: file.NewWindow(ctx, src, off, end, window), path: src.Path()}, hash: fnv.New64a()}
	r.module.byName = map[string]int{}
	r.left.Store(2 * maxMembers)
	err := r.each(end, func(f field) error {
		if f.num == protoModule && f.typ == protowire.BytesType {
			return r.readModule(r.w.Offset() + int64(f.val))
		}
		return r.skip(f)
	})
	if err != nil {
		return nil, err
	}
	r.resolve()
	r.module.Fingerprint = r.hash.Sum64()
	return &r.module, nil
}

type hasher interface {
	Write([]byte) (int, error)
	Sum64() uint64
}

// reader gathers the collectives of a module and the instructions that may wrap one, which are resolved at the end.
type reader struct {
	cursor
	module   Module
	hash     hasher
	wrappers []wrapper
	groups   map[string]*Groups // by wire form: modules repeat the same list many times
	inside   map[int64][]int    // computation id -> indices of its collectives in module.Ops
	byID     map[int64]int      // instruction id -> index in module.Ops, for Start
	started  map[int64]int      // instruction id of an async-start or -update -> index in wrappers
	operands []int64            // first operand of each op, by index; 0 when none
	left     atomic.Int64       // ids that group lists may still expand to
}

type wrapper struct {
	name, opcode string
	operand      int64
	called       []int64
}

// instruction is one HloInstructionProto while it is read.
type instruction struct {
	name, opcode string
	id, operand  int64
	channel      int64
	called       []int64
	global, host bool
	groups       []byte // wire form of the group list, by the field it came in
	groupsField  protowire.Number
	pairs        []Pair
}

func (r *reader) readModule(end int64) error {
	return r.each(end, func(f field) (err error) {
		switch {
		case f.num == moduleName && f.typ == protowire.BytesType:
			r.module.Name, err = r.text(f)
		case f.num == moduleID && f.typ == protowire.VarintType:
			r.module.ID = int64(f.val)
		case f.num == moduleComputations && f.typ == protowire.BytesType:
			err = r.readComputation(r.w.Offset() + int64(f.val))
		case f.num == moduleDeviceAssignment && f.typ == protowire.BytesType:
			var b []byte
			if b, err = r.bytes(f, maxField); err == nil {
				r.readAssignment(b)
			}
		default:
			err = r.skip(f)
		}
		return err
	})
}

// readComputation reads the instructions of a computation; its id may come after them.
func (r *reader) readComputation(end int64) error {
	var id int64
	first := len(r.module.Ops)
	err := r.each(end, func(f field) error {
		switch {
		case f.num == computationID && f.typ == protowire.VarintType:
			id = int64(f.val)
			return nil
		case f.num == computationInstructions && f.typ == protowire.BytesType:
			return r.readInstruction(r.w.Offset() + int64(f.val))
		}
		return r.skip(f)
	})
	if len(r.module.Ops) > first {
		if r.inside == nil {
			r.inside = map[int64][]int{}
		}
		for i := first; i < len(r.module.Ops); i++ {
			r.inside[id] = append(r.inside[id], i)
		}
	}
	return err
}

func (r *reader) readInstruction(end int64) error {
	var in instruction
	if err := r.each(end, func(f field) error { return r.instructionField(f, &in) }); err != nil {
		return err
	}
	for _, s := range [...]string{in.name, "\x00", in.opcode, "\x00"} {
		r.hash.Write([]byte(s))
	}
	switch in.opcode {
	case "fusion", "async-start", "async-update", "async-done":
		return r.keepWrapper(&in)
	}
	o, ok := opcodes[in.opcode]
	if !ok {
		return nil
	}
	if len(r.module.Ops)+len(r.wrappers) >= maxOps {
		return r.tooMany()
	}
	if r.byID == nil {
		r.byID = map[int64]int{}
	}
	r.byID[in.id] = len(r.module.Ops)
	r.operands = append(r.operands, in.operand)
	r.add(Op{
		Name: in.name, Opcode: in.opcode, Kind: o.kind, Phase: o.phase, Sends: o.sends, ChannelID: in.channel,
		UseGlobalIDs: in.global, Groups: r.internGroups(&in), Pairs: in.pairs, HostTransfer: in.host,
	})
	return nil
}

func (r *reader) add(o Op) {
	if _, taken := r.module.byName[o.Name]; !taken {
		r.module.byName[o.Name] = len(r.module.Ops)
	}
	r.module.Ops = append(r.module.Ops, o)
}

func (r *reader) keepWrapper(in *instruction) error {
	if in.opcode == "fusion" && len(in.called) == 0 {
		return nil
	}
	if len(r.module.Ops)+len(r.wrappers) >= maxOps {
		return r.tooMany()
	}
	if in.opcode != "fusion" {
		if r.started == nil {
			r.started = map[int64]int{}
		}
		r.started[in.id] = len(r.wrappers)
	}
	r.wrappers = append(r.wrappers, wrapper{name: in.name, opcode: in.opcode, operand: in.operand, called: in.called})
	return nil
}

func (r *reader) tooMany() error {
	return &fault.Error{
		Kind: fault.Limit, Path: r.path, Offset: r.w.Offset(),
		Msg: "hlo: more than " + strconv.Itoa(maxOps) + " collectives and fusions in one module",
	}
}

func (r *reader) instructionField(f field, in *instruction) (err error) {
	if f.typ == protowire.VarintType {
		switch f.num {
		case instrChannelID:
			in.channel = int64(f.val)
		case instrAllReduceID:
			if in.channel == 0 {
				in.channel = int64(f.val)
			}
		case instrID:
			in.id = int64(f.val)
		case instrOperands:
			if in.operand == 0 {
				in.operand = int64(f.val)
			}
		case instrCalled:
			in.called = append(in.called, int64(f.val))
		case instrHostTransfer:
			in.host = f.val != 0
		case instrUseGlobalIDs:
			in.global = f.val != 0
		}
		return nil
	}
	if f.typ != protowire.BytesType {
		return r.skip(f)
	}
	var b []byte
	switch f.num {
	case instrName:
		in.name, err = r.text(f)
	case instrOpcode:
		in.opcode, err = r.text(f)
	case instrOperands:
		if b, err = r.bytes(f, maxField); err == nil && in.operand == 0 {
			if v, n := protowire.ConsumeVarint(b); n > 0 {
				in.operand = int64(v)
			}
		}
	case instrCalled:
		if b, err = r.bytes(f, maxName); err == nil {
			in.called, err = appendInts(in.called, b)
		}
	case instrReplicaGroups:
		if b, err = r.bytes(f, maxField); err == nil {
			if len(in.groups)+len(b) > maxField {
				return r.tooMany()
			}
			// Rebuilt as the replica_groups of a CollectiveDeviceListProto, which is what newer writers emit.
			in.groups = protowire.AppendBytes(protowire.AppendTag(in.groups, 1, protowire.BytesType), b)
			in.groupsField = instrDeviceList
		}
	case instrDeviceList, instrIotaList, instrMeshList:
		if b, err = r.bytes(f, maxField); err == nil && len(b) > 0 {
			in.groups, in.groupsField = append([]byte(nil), b...), f.num
		}
	case instrPairs:
		if b, err = r.bytes(f, maxName); err == nil {
			if len(in.pairs) >= maxDevices {
				return r.tooMany()
			}
			in.pairs = append(in.pairs, pairOf(b))
		}
	case instrFrontend:
		if int64(f.val) > maxField {
			return r.skip(f)
		}
		if b, err = r.bytes(f, maxField); err == nil {
			in.pairs = append(in.pairs, frontendPairs(b)...)
		}
	default:
		return r.skip(f)
	}
	if err == errMalformed {
		return fault.Formatf(r.path, r.w.Offset(), "hlo: field %d of instruction %q is malformed", f.num, in.name)
	}
	return err
}

// resolve turns fusions and async pairs into the collective that they wrap, and links each Done to its Start.
func (r *reader) resolve() {
	m := &r.module
	direct := len(m.Ops)
	for i := 0; i < direct; i++ {
		if m.Ops[i].Phase == Done {
			if s, ok := r.byID[r.operands[i]]; ok && s < direct && m.Ops[s].Phase == Start {
				m.Ops[i].Start = m.Ops[s].Name
				m.Ops[i].inherit(&m.Ops[s])
			}
		}
	}
	for i := range r.wrappers {
		w := &r.wrappers[i]
		source := w
		for hops := 0; source.opcode == "async-update" || source.opcode == "async-done"; hops++ {
			s, ok := r.started[source.operand]
			if !ok || hops == 8 {
				break
			}
			source = &r.wrappers[s]
		}
		inner, ok := r.single(source.called)
		if !ok || w.opcode == "async-update" {
			continue
		}
		o := m.Ops[inner]
		o.Name, o.Opcode, o.Via = w.name, w.opcode, m.Ops[inner].Name
		switch w.opcode {
		case "async-start":
			o.Phase = Start
		case "async-done":
			o.Phase, o.Start = Done, source.name
		}
		r.add(o)
	}
}

// inherit gives a Done what only its Start says.
func (o *Op) inherit(s *Op) {
	if o.Groups == nil {
		o.Groups = s.Groups
	}
	if len(o.Pairs) == 0 {
		o.Pairs = s.Pairs
	}
	if o.ChannelID <= 0 {
		o.ChannelID = s.ChannelID
	}
	o.UseGlobalIDs = o.UseGlobalIDs || s.UseGlobalIDs
	o.HostTransfer = o.HostTransfer || s.HostTransfer
}

// single returns the one collective inside the called computations; a wrapper of several has no one meaning.
func (r *reader) single(called []int64) (int, bool) {
	found, n := 0, 0
	for _, c := range called {
		for _, i := range r.inside[c] {
			found = i
			n++
		}
	}
	return found, n == 1
}

// readAssignment reads a DeviceAssignmentProto; one that contradicts itself is left out with a warning.
func (r *reader) readAssignment(b []byte) {
	var replicas, partitions uint64
	var lists [][]int64
	total := 0
	bad := eachField(b, func(num protowire.Number, typ protowire.Type, val uint64, body []byte) error {
		switch {
		case num == assignmentReplicas && typ == protowire.VarintType:
			replicas = val
		case num == assignmentPartitions && typ == protowire.VarintType:
			partitions = val
		case num == assignmentComputation && typ == protowire.BytesType:
			ids, err := repeatedInts(body, 1)
			if err != nil {
				return err
			}
			lists = append(lists, ids)
			if total += len(ids); total > maxDevices {
				return errMalformed
			}
		}
		return nil
	}) != nil
	if replicas == 0 && partitions == 0 && len(lists) == 0 && !bad {
		return
	}
	bad = bad || replicas == 0 || partitions == 0 || replicas > maxDevices || partitions > maxDevices ||
		replicas*partitions > maxDevices || uint64(len(lists)) != partitions
	for _, l := range lists {
		bad = bad || uint64(len(l)) != replicas
	}
	if bad {
		r.module.Warnings = append(r.module.Warnings, "the device assignment contradicts itself and is left out")
		return
	}
	r.module.Replicas, r.module.Partitions = int(replicas), int(partitions)
	r.module.Devices = make([]int64, replicas*partitions)
	for c, l := range lists {
		for k, id := range l {
			r.module.Devices[k*int(partitions)+c] = id
		}
	}
}

// internGroups returns the group list of an instruction, shared between instructions with the same one; nil for none.
func (r *reader) internGroups(in *instruction) *Groups {
	if len(in.groups) == 0 {
		return nil
	}
	key := strconv.Itoa(int(in.groupsField)) + ":" + string(in.groups)
	if g, ok := r.groups[key]; ok {
		return g
	}
	g, err := parseGroups(in.groupsField, in.groups)
	g.left = &r.left
	if err != nil {
		r.module.Warnings = append(r.module.Warnings, "instruction "+strconv.Quote(in.name)+": "+err.Error())
		g.err = err
	}
	if r.groups == nil {
		r.groups = map[string]*Groups{}
	}
	r.groups[key] = g
	return g
}

func pairOf(b []byte) Pair {
	var p Pair
	_ = eachField(b, func(num protowire.Number, typ protowire.Type, val uint64, _ []byte) error {
		if typ == protowire.VarintType {
			switch num {
			case 1:
				p.Source = int64(val)
			case 2:
				p.Target = int64(val)
			}
		}
		return nil
	})
	return p
}

// frontendPairs reads the transfers that XLA writes as text, "{{0,1},{1,2}}", into the frontend attributes of send and recv.
func frontendPairs(b []byte) []Pair {
	var out []Pair
	_ = eachField(b, func(num protowire.Number, typ protowire.Type, _ uint64, entry []byte) error {
		if num != 1 || typ != protowire.BytesType {
			return nil
		}
		var key, value string
		_ = eachField(entry, func(num protowire.Number, typ protowire.Type, _ uint64, s []byte) error {
			if num == 1 && typ == protowire.BytesType {
				key = string(s)
			} else if num == 2 && typ == protowire.BytesType {
				value = string(s)
			}
			return nil
		})
		if key == sendRecvPairs {
			out = pairsText(value)
		}
		return nil
	})
	return out
}

func pairsText(s string) []Pair {
	var nums []int64
	for _, t := range strings.FieldsFunc(s, func(c rune) bool { return c == '{' || c == '}' || c == ',' || c == ' ' }) {
		v, err := strconv.ParseInt(t, 10, 64)
		if err != nil || len(nums) >= 2*maxDevices {
			return nil
		}
		nums = append(nums, v)
	}
	if len(nums)%2 != 0 {
		return nil
	}
	out := make([]Pair, len(nums)/2)
	for i := range out {
		out[i] = Pair{nums[2*i], nums[2*i+1]}
	}
	return out
}

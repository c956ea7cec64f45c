// Package hlo reads the few fields of a serialised XLA HloProto that say which instructions are collectives and who takes
// part in them. Profilers store one such message per compiled module beside the events, in the /host:metadata plane.
//
// It is not an HLO library: everything else in the message is skipped unread, whatever its size. The field numbers are those
// of openxla/xla's hlo.proto and xla_data.proto, checked against recordings; docs/formats/hlo.md lists them.
package hlo

import (
	"strings"

	"github.com/prlx-go/prlx/core/trace/event"
)

// Phase says which part of a collective an instruction is.
type Phase uint8

// The phases. A collective is one Whole instruction, or a Start and a Done with other work between them.
const (
	Whole Phase = iota
	Start
	Done
)

// Module is what an HloProto says about the collectives of one compiled program. It is for one goroutine at a time.
type Module struct {
	Name        string
	ID          int64
	Replicas    int      // replica count of the device assignment; 0 when the module carries none
	Partitions  int      // partition count of the device assignment; 0 when the module carries none
	Devices     []int64  // global device id by participant (replica*Partitions+partition); nil without a device assignment
	Fingerprint uint64   // of all instruction names and opcodes, in order: equal for the same program on every node
	Ops         []Op     // the collectives, in file order
	Warnings    []string // what was malformed and therefore left out

	byName map[string]int
	spread map[spreadKey][][]int64 // results of Members, shared by the instructions that have the same
	budget *Budget                 // of what its group lists spread to; nil: of a file's own programs
}

// spreadKey is what Members depends on.
type spreadKey struct {
	groups *Groups
	mode   idMode
}

// Op is one collective instruction.
type Op struct {
	Name         string
	Opcode       string // as written in the module: all-reduce, collective-permute-start, fusion, ...
	Via          string // name of the wrapped collective, for fusions and async pairs; "" otherwise
	Kind         event.Kind
	Phase        Phase
	Start        string // name of the Start instruction, for Done
	Sends        bool   // for send-recv: the sending side
	ChannelID    int64  // <= 0: none
	UseGlobalIDs bool   // ids in Groups are participants, not replicas
	Groups       *Groups
	Pairs        []Pair // as written: ids of replicas, partitions or participants; see Module.Transfers
	HostTransfer bool   // a send or recv between device and host, not between devices
}

// Pair is one transfer of a permute or send-recv.
type Pair struct{ Source, Target int64 }

// Op finds a collective by the exact name of its instruction; nil when the module has none of that name.
func (m *Module) Op(name string) *Op {
	i, ok := m.byName[strings.TrimPrefix(name, "%")]
	if !ok {
		return nil
	}
	return &m.Ops[i]
}

// opcodes maps the spelling of an HLO opcode to what it does. Async wrappers and fusions are resolved by what they call.
var opcodes = map[string]struct {
	kind  event.Kind
	phase Phase
	sends bool
}{
	"all-reduce":               {event.AllReduce, Whole, false},
	"all-reduce-start":         {event.AllReduce, Start, false},
	"all-reduce-done":          {event.AllReduce, Done, false},
	"all-gather":               {event.AllGather, Whole, false},
	"all-gather-start":         {event.AllGather, Start, false},
	"all-gather-done":          {event.AllGather, Done, false},
	"reduce-scatter":           {event.ReduceScatter, Whole, false},
	"all-to-all":               {event.AllToAll, Whole, false},
	"ragged-all-to-all":        {event.AllToAll, Whole, false},
	"collective-permute":       {event.Permute, Whole, false},
	"collective-permute-start": {event.Permute, Start, false},
	"collective-permute-done":  {event.Permute, Done, false},
	"collective-broadcast":     {event.Broadcast, Whole, false},
	"send":                     {event.SendRecv, Start, true},
	"send-done":                {event.SendRecv, Done, true},
	"recv":                     {event.SendRecv, Start, false},
	"recv-done":                {event.SendRecv, Done, false},
}

// OpcodeOf returns the kind and phase of an opcode; ok is false for one that is not a collective.
func OpcodeOf(opcode string) (kind event.Kind, phase Phase, ok bool) {
	o, ok := opcodes[opcode]
	return o.kind, o.phase, ok
}

// OpcodeInName returns the opcode that XLA's own default naming puts in front of an instruction's name: "all-reduce" for
// "all-reduce.17". Only exact opcodes count, so "all-reduce-fusion.3" and "reduce.5" give nothing. It is for traces without
// their modules; a name says less than a module, and callers say so in their result.
func OpcodeInName(name string) (opcode string, ok bool) {
	name = strings.TrimPrefix(name, "%")
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !allDigits(name[dot+1:]) && name[dot+1:] != "clone" && name[dot+1:] != "remat" {
			break
		}
		name = name[:dot]
	}
	_, ok = opcodes[name]
	return name, ok
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

package main

import "strings"

// A group is what one row of the report is about: one package, or the rooms that were once one.
type group struct {
	name  string
	rooms []room
	all   bool // it has fewer than fewestMutants, and all of them are drawn
}

// A room is a package that is mutated, how many of its mutants are drawn, and the packages whose tests may kill them, in the order in
// which they are asked.
type room struct {
	path  string
	draw  int
	tests []string
}

// plan says what is mutated. Rooms without tests of their own are tested where several of them are put together.
var plan = []group{
	{name: "clock", rooms: []room{{"core/trace/clock", 60, []string{"core/trace/clock"}}}},
	{name: "script", rooms: []room{{"core/recording/script", 60, []string{"core/recording/script"}}}},
	{name: "align", rooms: []room{{"core/clocks/align", 60, []string{"core/clocks/align"}}}},
	{name: "offsets", rooms: []room{{"core/clocks/offsets", 60, []string{"core/clocks/offsets"}}}},
	{name: "memory", rooms: []room{{"core/simulator/simt/memory", 60, []string{"core/simulator/simt/memory", "core/simulator/simt"}}}},
	{name: "diff", rooms: []room{{"core/diff", 60, []string{"core/diff"}}}},
	{name: "collective", rooms: []room{{"core/clocks/collective", 60, []string{"core/clocks/collective"}}}},
	{name: "simt", rooms: []room{
		simt("execute", 18), simt("compile", 15), simt("record", 11), simt("sites", 7), simt("lane", 5), simt("code", 2),
		{"core/simulator/simt", 2, []string{"core/simulator/simt"}},
	}},
	{name: "cycle", rooms: []room{
		cycle("finding", 11), cycle("repeat", 8), cycle("measuring", 7), cycle("structure", 6), cycle("kernels", 6),
		cycle("comparing", 6), cycle("pairs", 4), cycle("naming", 3), cycle("naming/phase", 3), cycle("naming/signature", 2),
		cycle("rendering", 2), cycle("sample", 2),
	}},
	{name: "precedence", rooms: []room{{"core/clocks/precedence", 60, []string{"core/clocks/precedence"}}}, all: true},
	{name: "launches", rooms: []room{{"core/clocks/launches", 60, []string{"core/clocks/launches"}}}},
	{name: "straggler", rooms: []room{{"core/straggler", 60, []string{"core/straggler"}}}},
	{name: "probe", rooms: []room{{"core/clocks/probe", 60, []string{"core/clocks/probe"}}}},
	{name: "nccl", rooms: []room{
		nccl("diagnosing", 12), nccl("dividing", 9), nccl("joining", 8), nccl("reading", 6), nccl("flightrecorder", 5), nccl("segment", 4),
		nccl("clocks", 4),
		{"core/nccl/operation", 3, []string{"core/nccl/operation", "core/nccl/diagnosing", "core/nccl/joining"}},
		nccl("otherplugins", 3), nccl("unpickle", 2), nccl("gathering", 2), nccl("tracks", 2),
	}},
	{name: "llir", rooms: []room{{"core/recording/llir", 60, []string{"core/recording/llir"}}}},
	{name: "observe", rooms: []room{
		{"core/recording/observe", 40, []string{"core/recording/observe", "core/recording/llir"}},
		{"core/recording/observe/arena", 20, []string{"core/recording/observe/arena", "core/simulator/simulation", "core/recording/llir"}},
	}},
	{name: "slice", rooms: []room{{"core/diff/slice", 60, []string{"core/diff/slice"}}}},
}

func nccl(name string, draw int) room {
	path := "core/nccl/" + name
	return room{path, draw, []string{path}}
}

func simt(name string, draw int) room { return within("core/simulator/simt", name, draw) }

func cycle(name string, draw int) room { return within("core/cycle", name, draw) }

// within is a room of a house: its own tests are asked first, then those of the house.
func within(house, name string, draw int) room {
	return room{house + "/" + name, draw, []string{house + "/" + name, house}}
}

// moves are the places that rooms have, and those from which their mutants were first drawn: a move draws no others.
var moves = [][2]string{
	{"core/trace/", "core/timeline/"},
	{"core/clocks/", "core/timeline/"},
	{"core/straggler", "core/timeline/straggler"},
	{"core/nccl/", "core/timeline/nccl/"},
	{"core/cycle", "core/timeline/cycle"},
	{"core/recording/script", "core/kernel/diff/script"},
	{"core/recording/", "core/kernel/"},
	{"core/simulator/", "core/kernel/"},
	{"core/diff/slice", "core/kernel/slice"},
	{"core/diff", "core/kernel/diff"},
}

// drawnAs is the room by whose name mutants are drawn.
func drawnAs(room string) string {
	for _, m := range moves {
		if rest, ok := strings.CutPrefix(room, m[0]); ok {
			return m[1] + rest
		}
	}
	return room
}

// What a group must show.
const (
	fewestMutants  = 60
	mostEquivalent = 0.10 // of the mutants
	leastKilled    = 0.85 // of the mutants that are not equivalent
)

package main

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

const (
	timeline = "core/timeline/"
	kernel   = "core/kernel/"
)

// plan says what is mutated. Rooms without tests of their own are tested where several of them are put together.
var plan = []group{
	{name: "clock", rooms: []room{{timeline + "clock", 60, []string{timeline + "clock"}}}},
	{name: "script", rooms: []room{{kernel + "diff/script", 60, []string{kernel + "diff/script"}}}},
	{name: "align", rooms: []room{{timeline + "align", 60, []string{timeline + "align"}}}},
	{name: "offsets", rooms: []room{{timeline + "offsets", 60, []string{timeline + "offsets"}}}},
	{name: "memory", rooms: []room{{kernel + "simt/memory", 60, []string{kernel + "simt/memory", kernel + "simt"}}}},
	{name: "diff", rooms: []room{{kernel + "diff", 60, []string{kernel + "diff"}}}},
	{name: "collective", rooms: []room{{timeline + "collective", 60, []string{timeline + "collective"}}}},
	{name: "simt", rooms: []room{
		simt("execute", 18), simt("compile", 15), simt("record", 11), simt("sites", 7), simt("lane", 5), simt("code", 2),
		{kernel + "simt", 2, []string{kernel + "simt"}},
	}},
	{name: "cycle", rooms: []room{
		cycle("finding", 11), cycle("repeat", 8), cycle("measuring", 7), cycle("structure", 6), cycle("kernels", 6),
		cycle("comparing", 6), cycle("pairs", 4), cycle("naming", 3), cycle("naming/phase", 3), cycle("naming/signature", 2),
		cycle("rendering", 2), cycle("sample", 2),
	}},
	{name: "precedence", rooms: []room{{timeline + "precedence", 60, []string{timeline + "precedence"}}}, all: true},
	{name: "launches", rooms: []room{{timeline + "launches", 60, []string{timeline + "launches"}}}},
	{name: "straggler", rooms: []room{{timeline + "straggler", 60, []string{timeline + "straggler"}}}},
	{name: "probe", rooms: []room{{timeline + "probe", 60, []string{timeline + "probe"}}}},
	{name: "nccl", rooms: []room{
		nccl("diagnosing", 12), nccl("dividing", 9), nccl("joining", 8), nccl("reading", 6), nccl("flightrecorder", 5), nccl("segment", 4),
		nccl("clocks", 4),
		{timeline + "nccl/operation", 3, []string{timeline + "nccl/diagnosing", timeline + "nccl/joining"}},
		nccl("otherplugins", 3), nccl("unpickle", 2), nccl("gathering", 2), nccl("tracks", 2),
	}},
	{name: "llir", rooms: []room{{kernel + "llir", 60, []string{kernel + "llir"}}}},
	{name: "observe", rooms: []room{
		{kernel + "observe", 40, []string{kernel + "observe", kernel + "llir"}},
		{kernel + "observe/arena", 20, []string{kernel + "observe/arena", kernel + "simulation", kernel + "llir"}},
	}},
	{name: "slice", rooms: []room{{kernel + "slice", 60, []string{kernel + "slice"}}}},
}

func nccl(name string, draw int) room {
	path := timeline + "nccl/" + name
	return room{path, draw, []string{path}}
}

func simt(name string, draw int) room { return within(kernel+"simt", name, draw) }

func cycle(name string, draw int) room { return within(timeline+"cycle", name, draw) }

// within is a room of a house: its own tests are asked first, then those of the house.
func within(house, name string, draw int) room {
	return room{house + "/" + name, draw, []string{house + "/" + name, house}}
}

// What a group must show.
const (
	fewestMutants  = 60
	mostEquivalent = 0.10 // of the mutants
	leastKilled    = 0.85 // of the mutants that are not equivalent
)

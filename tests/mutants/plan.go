package main

// A group is what one row of the report is about: one package, or the rooms that were once one.
type group struct {
	name  string
	rooms []room
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
	{"clock", []room{{timeline + "clock", 60, []string{timeline + "clock"}}}},
	{"script", []room{{kernel + "diff/script", 60, []string{kernel + "diff/script"}}}},
	{"align", []room{{timeline + "align", 60, []string{timeline + "align"}}}},
	{"offsets", []room{{timeline + "offsets", 60, []string{timeline + "offsets"}}}},
	{"memory", []room{{kernel + "simt/memory", 60, []string{kernel + "simt/memory", kernel + "simt"}}}},
	{"diff", []room{{kernel + "diff", 60, []string{kernel + "diff"}}}},
	{"collective", []room{{timeline + "collective", 60, []string{timeline + "collective"}}}},
	{"simt", []room{
		simt("execute", 18), simt("compile", 15), simt("record", 11), simt("sites", 7), simt("lane", 5), simt("code", 2),
		{kernel + "simt", 2, []string{kernel + "simt"}},
	}},
	{"cycle", []room{
		cycle("finding", 11), cycle("repeat", 8), cycle("measuring", 7), cycle("structure", 6), cycle("kernels", 6),
		cycle("comparing", 6), cycle("pairs", 4), cycle("naming", 3), cycle("naming/phase", 3), cycle("naming/signature", 2),
		cycle("rendering", 2), cycle("sample", 2),
	}},
	{"precedence", []room{{timeline + "precedence", 60, []string{timeline + "precedence"}}}},
	{"launches", []room{{timeline + "launches", 60, []string{timeline + "launches"}}}},
	{"straggler", []room{{timeline + "straggler", 60, []string{timeline + "straggler"}}}},
	{"probe", []room{{timeline + "probe", 60, []string{timeline + "probe"}}}},
	{"nccl", []room{
		nccl("diagnosing", 12), nccl("dividing", 9), nccl("joining", 8), nccl("reading", 6), nccl("flightrecorder", 5), nccl("segment", 4),
		nccl("clocks", 4),
		{timeline + "nccl/operation", 3, []string{timeline + "nccl/diagnosing", timeline + "nccl/joining"}},
		nccl("otherplugins", 3), nccl("unpickle", 2), nccl("gathering", 2), nccl("tracks", 2),
	}},
	{"llir", []room{{kernel + "llir", 60, []string{kernel + "llir"}}}},
	{"observe", []room{
		{kernel + "observe", 40, []string{kernel + "observe", kernel + "llir"}},
		{kernel + "observe/arena", 20, []string{kernel + "observe/arena", kernel + "simulation", kernel + "llir"}},
	}},
	{"slice", []room{{kernel + "slice", 60, []string{kernel + "slice"}}}},
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

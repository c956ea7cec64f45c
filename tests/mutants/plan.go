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
	{"clock", []room{{timeline + "clock", 66, []string{timeline + "clock"}}}},
	{"script", []room{{kernel + "diff/script", 66, []string{kernel + "diff/script"}}}},
	{"align", []room{{timeline + "align", 66, []string{timeline + "align", timeline + "combine"}}}},
	{"offsets", []room{{timeline + "offsets", 66, []string{timeline + "offsets"}}}},
	{"memory", []room{{kernel + "simt/memory", 66, []string{kernel + "simt/memory", kernel + "simt"}}}},
	{"diff", []room{{kernel + "diff", 66, []string{kernel + "diff"}}}},
	{"collective", []room{{timeline + "collective", 66, []string{timeline + "collective"}}}},
	{"simt", []room{
		simt("execute", 19), simt("compile", 17), simt("record", 12), simt("sites", 8), simt("lane", 6), simt("code", 2),
		{kernel + "simt", 3, []string{kernel + "simt"}},
	}},
	{"cycle", []room{
		cycle("finding", 12), cycle("repeat", 9), cycle("measuring", 8), cycle("structure", 7), cycle("kernels", 7),
		cycle("comparing", 7), cycle("pairs", 5), cycle("naming", 3), cycle("naming/phase", 3), cycle("naming/signature", 2),
		cycle("rendering", 3), cycle("sample", 2),
	}},
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

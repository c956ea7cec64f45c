// Command gentrace writes recordings of made-up kernels whose truth is known; see package warptracetest.
//
//	gentrace pair     two recordings, the second edited or of a kernel with a bug
//	gentrace noise    equal runs that vary in known sites, and one of a kernel with a bug
//	gentrace sparse   two recordings of very many warps of which few recorded anything
//	gentrace session  two sessions of launches, some inserted, missing or different
//	gentrace many     hundreds of small files of format v1, right and damaged, and random pairs
//
// Each lists its flags with -h. The same flags give the same bytes.
//
// The truth of a pair (-truth FILE) is one JSON object:
//
//	first          where the lowest warp that differs differs first, null when no warp differs: warp; event (how many events are equal
//	               before); site and site_b (position in the site table, -1 where the recording has ended); site_id (its key);
//	               kinds (what differs there; both Path and ExtraEvents where only the shortest script can tell)
//	first_control  the same when values do not count
//	warps          the same for every warp that differs, ascending
//	edits          what was done, by warp and event: warp, kind (insert, delete, replace, branch, mask, value), at and at_b (events of A
//	               and B), count and count_b (how many of each)
//	cost           events inserted and deleted: a shortest edit script costs at most that
//	bug            name, class (as an explanation names it), what, location (of the line that is wrong), sites, site_ids and shown (of the
//	               sites where it shows first, and their location)
//
// noise adds a list "noise": site, site_id, location and kind of every place whose outcome varies from run to run. session writes pairs
// (a, b, differs, first, bug), only_a and only_b: positions in the manifests. many writes index.json, see manyFile and manyPair.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// commands are the subcommands: each reads its flags and writes its files.
var commands = []struct {
	name, about string
	run         func(f *flag.FlagSet, args []string) error
}{
	{"pair", "two recordings, the second edited or of a kernel with a bug", pair},
	{"noise", "equal runs that vary in known sites, and one of a kernel with a bug", noise},
	{"sparse", "two recordings of very many warps of which few recorded anything", sparse},
	{"session", "two sessions of launches, some inserted, missing or different", sessions},
	{"many", "hundreds of small files of format v1, right and damaged, and random pairs", many},
}

func main() {
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "gentrace:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(flag.NewFlagSet("gentrace "+c.name, flag.ContinueOnError), args[1:])
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: gentrace COMMAND [flags]; gentrace COMMAND -h lists the flags")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-8s %s\n", c.name, c.about)
	}
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help" || args[0] == "help") {
		return nil
	}
	return errors.New("expected a command")
}

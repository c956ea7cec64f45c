package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// noise writes equal runs a.prlx, a2.prlx, ... and runs of the kernel with a bug b.prlx, b2.prlx, ...
func noise(set *flag.FlagSet, args []string) error {
	var k kernel
	var f form
	var b beside
	k.flags(set)
	f.flags(set)
	b.flags(set)
	out := set.String("out", "", "directory to write to")
	places := set.Int("places", 3, "places of the kernel whose outcome varies from run to run")
	runsA, runsB := set.Int("runs", 4, "equal runs of the kernel"), set.Int("runs-b", 1, "runs of the kernel with the bug")
	bug := set.String("bug", "bound", "the bug: "+strings.Join(warptracetest.BugNames(), ", ")+"; none: there is none")
	if err := set.Parse(args); err != nil {
		return err
	}
	if k.config.Noise = *places; k.shape != "random" {
		return errors.New("noise needs -shape random: warps that are full end at another event when they vary")
	}
	name, err := directory(*out)
	if err != nil {
		return err
	}
	k.config.Race = *bug == "race"
	p := warptracetest.NewProgram(k.config)
	buggy := p
	if *bug != "none" {
		if buggy, err = p.WithBug(*bug); err != nil {
			return err
		}
	}
	truth := noiseTruth{Truth: &warptracetest.Truth{Bug: buggy.Bug}, Places: []warptracetest.Place{}}
	var recordings []*warptracetest.Recording
	for i := range *runsA + *runsB {
		of := p
		if i >= *runsA {
			of = buggy
		}
		k.launch.Run = uint64(i) + 1
		recordings = append(recordings, of.Run(k.launch))
	}
	sameCapacity(&f, recordings)
	for i, r := range recordings {
		side, n := "a", i
		if i >= *runsA {
			side, n = "b", i-*runsA
		}
		if n > 0 {
			side = fmt.Sprint(side, n+1)
		}
		if err := f.write(name(side+".prlx"), r); err != nil {
			return err
		}
	}
	if len(recordings) > *runsA {
		truth.Judge(recordings[0], recordings[*runsA])
	}
	for _, i := range p.Noise() {
		truth.Places = append(truth.Places, p.Place(i))
	}
	return b.write(buggy, truth)
}

// noiseTruth is the truth of noise: that of a.prlx and b.prlx, and where equal runs vary.
type noiseTruth struct {
	*warptracetest.Truth
	Places []warptracetest.Place `json:"noise"`
}

// sameCapacity gives recordings that are to be compared as v1 buffers of one size.
func sameCapacity(f *form, recordings []*warptracetest.Recording) {
	if f.format != "v1" {
		return
	}
	longest := uint32(1)
	for _, r := range recordings {
		longest = max(longest, r.Header.EventsPerWarp)
		for i := range r.Warps {
			longest = max(longest, uint32(r.Warps[i].Len()))
		}
	}
	for _, r := range recordings {
		r.Header.EventsPerWarp = longest
	}
}

// sparse writes very many warps of which few recorded anything; a few of those are edited.
func sparse(set *flag.FlagSet, args []string) error {
	var f form
	var b beside
	f.flags(set)
	b.flags(set)
	warps := set.Int("warps", 100_000, "warps of the launch")
	recorded := set.Float64("recorded", 0.05, "share of the warps that recorded anything")
	edited := set.Float64("warps-edited", 0.1, "share of those that are edited")
	seed := set.Uint64("seed", 1, "seed of everything random")
	outA, outB := set.String("out-a", "a.prlx", "the first recording"), set.String("out-b", "b.prlx", "the second")
	if err := set.Parse(args); err != nil {
		return err
	}
	k := kernel{config: warptracetest.Config{Seed: *seed, Size: 2, Depth: 2}}
	k.launch = warptracetest.Launch{Warps: *warps, WarpsPerBlock: 8, Share: *recorded}
	e := warptracetest.Edits{Seed: *seed, Count: 2, MaxRun: 4, Share: *edited}
	return pairEdited(&k, &f, &b, e, true, *outA, *outB)
}

// sessions writes two directories of launches with manifests.
func sessions(set *flag.FlagSet, args []string) error {
	var f form
	var s warptracetest.Sessions
	f.flags(set)
	set.Uint64Var(&s.Seed, "seed", 1, "seed of everything random")
	set.IntVar(&s.Launches, "launches", 12, "launches of the first session")
	set.IntVar(&s.Inserted, "inserted", 1, "launches that only the second has")
	set.IntVar(&s.Missing, "missing", 1, "launches that only the first has")
	set.IntVar(&s.Changed, "changed", 1, "launches of the second whose kernel has a bug")
	set.IntVar(&s.Warps, "warps", 8, "warps of a launch")
	outA, outB := set.String("out-a", "", "directory of the first session"), set.String("out-b", "", "directory of the second")
	truthPath := set.String("truth", "", "write the truth to this JSON file")
	manifest := set.String("manifest", "v1", "v1: a list as other tools write it; prlx: prlx.session/1")
	if err := set.Parse(args); err != nil {
		return err
	}
	a, b, truth := s.Make()
	sameCapacity(&f, append(a[:len(a):len(a)], b...))
	for _, side := range []struct {
		path       string
		recordings []*warptracetest.Recording
	}{{*outA, a}, {*outB, b}} {
		if err := writeSession(&f, side.path, *manifest, side.recordings); err != nil {
			return err
		}
	}
	if *truthPath == "" {
		return nil
	}
	return writeJSON(*truthPath, truth)
}

// launch is one entry of a session's manifest.
type launch struct {
	Launch uint64    `json:"launch"`
	Kernel string    `json:"kernel"`
	File   string    `json:"file"`
	Grid   [3]uint32 `json:"grid"`
	Block  [3]uint32 `json:"block"`
	Digest string    `json:"argument_digest,omitempty"`
}

func writeSession(f *form, path, manifest string, recordings []*warptracetest.Recording) error {
	name, err := directory(path)
	if err != nil {
		return errors.New("-out-a or -out-b is missing")
	}
	var list []launch
	for i, r := range recordings {
		h := &r.Header
		l := launch{Launch: uint64(i), Kernel: h.Kernel, File: fmt.Sprintf("%s_%d.prlx", h.Kernel, i), Grid: h.Grid, Block: h.Block}
		if manifest == "prlx" {
			l.Digest = fmt.Sprintf("0x%016x", h.ArgumentDigest)
		}
		list = append(list, l)
		if err := f.write(name(l.File), r); err != nil {
			return err
		}
	}
	if manifest != "prlx" {
		return writeJSON(name("session.json"), list)
	}
	return writeJSON(name("session.json"), struct {
		Schema   string   `json:"schema"`
		Status   string   `json:"status"`
		Launches []launch `json:"launches"`
	}{"prlx.session/1", "complete", list})
}

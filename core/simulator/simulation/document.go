// Package simulation runs one launch on the simulator, records it where that is wanted, and says in a document what it did and what the
// checks found. It executes nothing itself: that is package simt's.
package simulation

import (
	"fmt"
	"path"

	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/watch"
	"github.com/prlx-go/prlx/core/verdict"
)

// Document is prlx.simulation/1: one launch on the simulator, what it did and what the checks found.
type Document struct {
	Schema           string             `json:"schema"`
	Status           string             `json:"status"` // "clean" | "findings"
	Verdict          string             `json:"verdict"`
	Conclusion       verdict.Verdict    `json:"conclusion"`
	Kernel           string             `json:"kernel"`
	Launch           uint64             `json:"launch"` // counted from 0 in what was recorded or enabled
	Grid             [3]uint32          `json:"grid"`
	Block            [3]uint32          `json:"block"`
	Cluster          [3]uint32          `json:"cluster"` // zeros: none
	SharedBytes      uint64             `json:"shared_bytes"`
	Blocks           uint64             `json:"blocks"` // that ran
	Warps            uint64             `json:"warps"`
	Instructions     uint64             `json:"instructions"`      // of warps
	LaneInstructions uint64             `json:"lane_instructions"` // of active lanes
	Totals           Counts             `json:"totals"`
	Lines            []Line             `json:"lines"` // by file and line; empty where nothing was counted
	Findings         []Finding          `json:"findings"`
	MoreFindings     int64              `json:"more_findings"` // beyond those listed
	Output           string             `json:"output"`        // what the kernel printed
	OutputCut        bool               `json:"output_cut"`
	Recording        *recorder.Recorded `json:"recording"`         // null: nothing was recorded
	Origin           *origin.Origin     `json:"origin,omitempty"`  // where a compiler of graphs made the kernel
	Planned          *Planned           `json:"planned,omitempty"` // what a recording would take; nobody asked: not there
	Options          Options            `json:"options"`
	Fidelity         Fidelity           `json:"fidelity"` // what was approximated, and what it decided

	Touched *watch.Touched `json:"touched"` // which blocks touched which elements; null: nobody asked
	Stopped *watch.Stops   `json:"stopped"` // what lanes held at lines of the source; null: nobody asked
}

// Options are what decided how the launch ran.
type Options struct {
	Seed   uint64 `json:"seed"`
	Stop   bool   `json:"stop"`
	NaN    bool   `json:"nan"`
	Races  bool   `json:"races"`
	Global bool   `json:"global_races"` // races between blocks were looked for, too
	Warp   bool   `json:"warp_races"`   // races between lanes of a warp were
	Views  bool   `json:"views"`        // accesses outside of the view that was passed were
	Whole  bool   `json:"convergence"`  // convergent instructions were looked at
	Counts bool   `json:"counts"`
}

// Counts counts what a line, or the whole launch, did.
type Counts struct {
	Branches        uint64 `json:"branches"`        // conditional branches of warps
	Divergent       uint64 `json:"divergent"`       // those that split their warp
	GlobalLoads     uint64 `json:"global_loads"`    // of warps
	GlobalStores    uint64 `json:"global_stores"`   // of warps
	GlobalBytes     uint64 `json:"global_bytes"`    // of active lanes
	GlobalSectors   uint64 `json:"global_sectors"`  // distinct aligned pieces of 32 bytes, by access
	SharedAccesses  uint64 `json:"shared_accesses"` // of warps
	BankConflicts   uint64 `json:"bank_conflicts"`  // further passes that 32 banks of 4 bytes need
	AtomicsExecuted uint64 `json:"atomics"`         // of warps
	Barriers        uint64 `json:"barriers"`        // of warps
}

// Line is one source line.
type Line struct {
	File             string `json:"file"` // "" where the PTX says none
	Line             uint32 `json:"line"`
	Instructions     uint64 `json:"instructions"`
	LaneInstructions uint64 `json:"lane_instructions"`
	Counts
}

// Frame is one source location.
type Frame struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Column   uint32 `json:"column,omitempty"`
}

// Finding is what a check found, once for each instruction and check.
type Finding struct {
	Check       string         `json:"check"`
	Message     string         `json:"message"`
	Kernel      string         `json:"kernel"`
	File        string         `json:"file,omitempty"` // in the user's code
	Line        uint32         `json:"line,omitempty"`
	Where       []Frame        `json:"where"` // innermost first, then the calls into which it was inlined
	Instruction string         `json:"instruction"`
	Block       [3]uint32      `json:"block"` // of the first time
	Warp        int            `json:"warp"`  // in the block
	Lane        int            `json:"lane"`  // the first
	Lanes       []int          `json:"lanes"`
	Count       int64          `json:"count"` // times that it was found
	Access      *Access        `json:"access,omitempty"`
	Origin      *origin.Origin `json:"origin,omitempty"` // of the kernel, where a compiler of graphs made it
}

// Access is the access of memory that a finding is about.
type Access struct {
	Address  string `json:"address"` // in the simulator, of the first lane
	Bytes    int    `json:"bytes"`
	Store    bool   `json:"store"`
	Atomic   bool   `json:"atomic,omitempty"`   // loads and stores
	Nearest  string `json:"nearest,omitempty"`  // allocation
	Distance int64  `json:"distance,omitempty"` // bytes that it reaches beyond its end, or (negative) begins before its start; 0 inside
	Size     uint64 `json:"size,omitempty"`     // of that allocation
	Inside   string `json:"inside,omitempty"`   // another allocation, into which it falls
}

// schema names the document.
const schema = "prlx.simulation/1"

// The values of Document.Status.
const (
	clean    = "clean"
	findings = "findings"
)

// describe makes the document of a launch that ran.
func describe(l *simt.Launch, about *About, result *simt.Result) *Document {
	o := &l.Options
	doc := &Document{
		Schema: schema, Status: clean, Kernel: about.name(l), Launch: about.Number, Grid: l.Grid, Block: l.Block, Cluster: l.Cluster,
		SharedBytes: l.SharedBytes, Blocks: result.Blocks, Warps: result.Warps, Instructions: result.Instructions,
		LaneInstructions: result.LaneInstructions, Lines: make([]Line, len(result.Lines)),
		Findings: make([]Finding, len(result.Findings)), MoreFindings: result.MoreFindings, Output: result.Output,
		OutputCut: result.OutputCut, Fidelity: fidelity(&result.Fidelity),
		Options: Options{Seed: o.ScheduleSeed, Stop: o.StopAtFirst, NaN: o.NaN, Races: !o.NoRaces, Global: o.GlobalRaces, Warp: o.WarpRaces, Views: o.Views, Whole: !o.NoConvergence, Counts: !o.NoCounts},
	}
	for i := range result.Lines {
		doc.Lines[i] = line(&result.Lines[i])
		doc.Totals.add(&doc.Lines[i].Counts)
	}
	for i := range result.Findings {
		doc.Findings[i] = finding(&result.Findings[i])
		doc.Findings[i].Kernel = doc.Kernel
	}
	if len(doc.Findings) > 0 {
		doc.Status = findings
	}
	doc.Verdict = doc.verdict()
	doc.Conclusion = doc.conclude()
	return doc
}

// conclude says whether the launch passed its checks. Those that look further than usual are asked for; one that was switched off could
// have found something.
func (doc *Document) conclude() verdict.Verdict {
	var e verdict.Evidence
	e.Looked("warps", int64(doc.Warps))
	if !doc.Options.Races {
		e.Lacks("races and reads of what nobody wrote", "their check was switched off")
	}
	if !doc.Options.Whole {
		e.Lacks("instructions that need the whole warp", "their check was switched off")
	}
	return e.Check(doc.Status == findings, doc.Verdict)
}

// of says of the launch, and of everything that was found in it, what the kernel computes.
func (d *Document) of(o *origin.Origin) {
	d.Origin = o
	for i := range d.Findings {
		d.Findings[i].Origin = o
	}
}

func line(l *simt.LineCount) Line {
	return Line{
		File: l.File, Line: l.Line, Instructions: l.Instructions, LaneInstructions: l.LaneInstructions,
		Counts: Counts{
			Branches: l.Branches, Divergent: l.Divergent, GlobalLoads: l.GlobalLoads, GlobalStores: l.GlobalStores,
			GlobalBytes: l.GlobalBytes, GlobalSectors: l.GlobalSectors, SharedAccesses: l.SharedAccesses,
			BankConflicts: l.BankConflicts, AtomicsExecuted: l.Atomics, Barriers: l.Barriers,
		},
	}
}

func (c *Counts) add(more *Counts) {
	c.Branches += more.Branches
	c.Divergent += more.Divergent
	c.GlobalLoads += more.GlobalLoads
	c.GlobalStores += more.GlobalStores
	c.GlobalBytes += more.GlobalBytes
	c.GlobalSectors += more.GlobalSectors
	c.SharedAccesses += more.SharedAccesses
	c.BankConflicts += more.BankConflicts
	c.AtomicsExecuted += more.AtomicsExecuted
	c.Barriers += more.Barriers
}

func finding(f *simt.Finding) Finding {
	doc := Finding{
		Check: string(f.Check), Message: f.Message, Where: []Frame{}, Instruction: f.Text, Block: f.Block,
		Warp: f.Warp, Lane: f.Lane, Lanes: lanesOf(f.Lanes), Count: f.Count,
	}
	for _, frame := range f.Where {
		doc.Where = append(doc.Where, Frame(frame))
	}
	if at := site.User(f.Where); at != nil {
		doc.File, doc.Line = at.File, at.Line
	}
	if f.Fault != nil {
		doc.Access = access(f.Fault)
	}
	return doc
}

func access(f *memory.Fault) *Access {
	return &Access{
		Address: fmt.Sprintf("%#x", f.Address), Bytes: f.Bytes, Store: f.Store, Atomic: f.Atomic, Nearest: f.Nearest, Distance: f.Distance,
		Size: f.Size, Inside: f.Inside,
	}
}

// lanesOf lists the lanes of a mask.
func lanesOf(mask uint32) []int {
	lanes := []int{}
	for lane := range 32 {
		if mask>>lane&1 == 1 {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// verdict is one sentence.
func (doc *Document) verdict() string {
	if doc.Status == clean {
		return fmt.Sprintf("%s: no finding", doc.Kernel)
	}
	first := &doc.Findings[0]
	at := ""
	if first.Line > 0 {
		at = fmt.Sprintf(" at %s:%d", path.Base(first.File), first.Line)
	}
	more := int64(len(doc.Findings)-1) + doc.MoreFindings
	switch more {
	case 0:
		return fmt.Sprintf("%s: %s%s", doc.Kernel, first.Check, at)
	case 1:
		return fmt.Sprintf("%s: %s%s, and one more finding", doc.Kernel, first.Check, at)
	}
	return fmt.Sprintf("%s: %s%s, and %d more findings", doc.Kernel, first.Check, at, more)
}

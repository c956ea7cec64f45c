// Package warptracetest makes recordings of kernels whose truth is known: for tests, fuzzing, benchmarks and the demonstration.
//
// A Program is a made-up kernel: structured code with branches, nested loops, early exits, switches, predicates, loads, stores,
// atomics, reductions and barriers, some of it in functions that are inlined. It has source text with consistent lines, and
// executes lane by lane: every value, mask and decision in its recordings comes from running it over data of a seed.
//
//	p := warptracetest.NewProgram(warptracetest.Config{Seed: 1})
//	a := p.Run(warptracetest.Launch{Warps: 64})           // equal seeds give equal recordings
//	b, truth := warptracetest.Edit(a, warptracetest.Edits{Seed: 2, Count: 10})
//
// A second recording with known differences comes from one of three: Edit changes the events of a recording and returns the script;
// Program.WithBug changes the program and says where; a Launch with another Run seed lets those sites vary that Config.Noise asked
// for. Compare is the slow obvious comparison that all of them are held against.
package warptracetest

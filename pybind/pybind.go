// Package pybind is the input of gopy: the functions that Python can call, and nothing else. Only whole numbers, flags and
// operation names cross as arguments; requests and replies are bytes in memory that Python owns, passed as address and size.
// Nothing here keeps such an address after it returns, and nothing here panics: what goes wrong outside an operation is a
// return value that no call otherwise has. python/prlx/_core.py is the only caller.
//
// A reply is a status byte and a JSON text. Where a function returns one, it copies it to out when it fits and returns its
// length; otherwise it keeps it, writes its length as 8 little-endian bytes to out and returns the negated id for Fetch. It
// returns 0 when the boundary itself failed, which is a bug. out must have room for at least 8 bytes.
package pybind

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/api"
	"github.com/prlx-go/prlx/pybind/arrow"
)

var core = newCore()

// newCore returns a Core that sees the memory of this process.
func newCore() *api.Core {
	c := api.New()
	c.SeeMemory(view)
	return c
}

// Version is the version that the core was built for; the Python package refuses another one.
func Version() string { return api.Version }

// Call runs a short operation on the request at address in and returns its reply.
func Call(op string, in uint64, n int, out uint64, room int) int64 {
	return fence(func() int64 { return deliver(core.Call(op, view(in, n)), out, room) })
}

// Start runs an operation in the background and returns the id of its job, or 0 when the boundary failed. The request is
// copied.
func Start(op string, in uint64, n int) int64 {
	return fence(func() int64 { return core.Start(op, clone(view(in, n))) })
}

// Wait waits at most ms milliseconds and returns 1 when the job has finished, else 0. An unknown job has finished.
func Wait(id int64, ms int) int64 {
	return fence(func() int64 { return flag(core.Wait(id, ms)) })
}

// Progress returns the state of a job as a reply.
func Progress(id int64, out uint64, room int) int64 {
	return fence(func() int64 { return deliver(core.Progress(id), out, room) })
}

// Cancel asks a job to stop; with forget, nobody will collect its result. It returns 1, or 0 when the job is unknown.
func Cancel(id int64, forget bool) int64 {
	return fence(func() int64 { return flag(core.Cancel(id, forget)) })
}

// Result waits for the end of a job and returns its reply, once.
func Result(id int64, out uint64, room int) int64 {
	return fence(func() int64 { return deliver(core.Result(id), out, room) })
}

// Fetch copies a kept reply to the n bytes at address out, drops it and returns its length; 0 when there is no such reply or
// n is not its length.
func Fetch(id int64, out uint64, n int) int64 {
	return fence(func() int64 { return fetch(id, view(out, n)) })
}

// Fill copies a part of a table's column to the n bytes at address out and returns n, or a negative code of core/api.
func Fill(table int64, column int, part int, out uint64, n int) int64 {
	return fence(func() int64 { return core.Fill(table, column, part, view(out, n)) })
}

// Release drops a table and returns 1, or 0 when it is unknown.
func Release(table int64) int64 {
	return fence(func() int64 { return flag(core.Release(table)) })
}

// Arrow reads the addresses of the functions of Python that arrow.Setup wants (8 little-endian bytes each) at address in,
// writes those of the releases to out and returns 1.
func Arrow(in uint64, out uint64) int64 {
	return fence(func() int64 {
		var python [arrow.PythonFunctions]uint64
		for i, p := 0, view(in, 8*len(python)); i < len(python); i++ {
			python[i] = binary.LittleEndian.Uint64(p[8*i:])
		}
		releases := arrow.Setup(python)
		for i, p := 0, view(out, 8*len(releases)); i < len(releases); i++ {
			binary.LittleEndian.PutUint64(p[8*i:], releases[i])
		}
		return 1
	})
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

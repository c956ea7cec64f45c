// Package safe runs code so that a panic becomes an error. prlx lives inside other people's Python processes, where a Go panic
// that nobody recovers kills the training job around it, so every goroutine of the core is started through a Group and every
// exported function of the boundary through Call. It does not hide panics: each one arrives as a *PanicError that carries the
// value and the stack. Fatal runtime errors (concurrent map writes, out of memory) cannot be caught by anyone.
package safe

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// PanicError is a panic that was caught. It never unwraps: whatever the panic's value was, a panic is a bug of prlx and must
// not be mistaken for the error that the value happens to be.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the stack of the goroutine at the panic, as debug.Stack prints it
}

// Error names the value, not the stack.
func (e *PanicError) Error() string {
	if address, ok := e.Address(); ok {
		return fmt.Sprintf("panic: the memory at %#x cannot be accessed", address)
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Address returns where in memory the fault was that caused the panic, if one did.
func (e *PanicError) Address() (uint64, bool) {
	if at, ok := e.Value.(interface{ Addr() uintptr }); ok {
		return uint64(at.Addr()), true
	}
	return 0, false
}

// catch, when deferred, turns a panic of the surrounding function into a *PanicError in *err. Without a panic *err stays.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

// Call runs f and returns its error, or the panic it died of as a *PanicError. Memory that cannot be accessed, such as a mapped
// file that has become shorter, is such a panic too and does not end the process.
func Call(f func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer catch(&err)
	return f()
}

// Group is an errgroup whose panics are errors: the first function that fails or panics cancels the group's context.
type Group struct{ group *errgroup.Group }

// NewGroup returns a Group and the context that its functions should watch.
func NewGroup(ctx context.Context) (*Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	return &Group{group: g}, ctx
}

// SetLimit bounds how many functions run at once; Go blocks while the group is full. n < 0 means no bound. It must be called
// before the first Go.
func (g *Group) SetLimit(n int) { g.group.SetLimit(n) }

// Go runs f in a goroutine of its own.
func (g *Group) Go(f func() error) {
	g.group.Go(func() error { return Call(f) })
}

// Wait waits for every function and returns the first error.
func (g *Group) Wait() error { return g.group.Wait() }

package safe_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/prlx-go/prlx/core/safe"
)

func TestCallReturnsTheErrorOfItsFunction(t *testing.T) {
	want := errors.New("broken")
	if got := safe.Call(func() error { return want }); got != want {
		t.Errorf("Call = %v, want %v", got, want)
	}
	if got := safe.Call(func() error { return nil }); got != nil {
		t.Errorf("Call = %v, want nil", got)
	}
}

func TestCallTurnsEveryKindOfPanicIntoAnError(t *testing.T) {
	var nilMap map[string]int
	var nilPointer *struct{ x int }
	tests := []struct {
		name string
		run  func()
		want string
	}{
		{"value", func() { panic("boom") }, "panic: boom"},
		{"error", func() { panic(context.Canceled) }, "panic: context canceled"},
		{"nil map", func() { nilMap["a"] = 1 }, "assignment to entry in nil map"},
		{"nil pointer", func() { nilPointer.x = 1 }, "nil pointer dereference"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := safe.Call(func() error { test.run(); return nil })
			var caught *safe.PanicError
			if !errors.As(err, &caught) {
				t.Fatalf("error is %T (%v), want *safe.PanicError", err, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not contain %q", err, test.want)
			}
			if !strings.Contains(string(caught.Stack), "safe_test.go") {
				t.Errorf("stack does not name the place of the panic:\n%s", caught.Stack)
			}
		})
	}
}

func TestPanicIsNeverMistakenForItsValue(t *testing.T) {
	err := safe.Call(func() error { panic(context.Canceled) })
	if errors.Is(err, context.Canceled) {
		t.Error("a panic with context.Canceled looks like a cancellation")
	}
}

func TestPanicInOneFunctionCancelsTheGroup(t *testing.T) {
	g, ctx := safe.NewGroup(context.Background())
	g.Go(func() error { panic("boom") })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Minute):
			return errors.New("the group was not cancelled")
		}
	})
	var caught *safe.PanicError
	if err := g.Wait(); !errors.As(err, &caught) || caught.Value != "boom" {
		t.Errorf("Wait = %v, want the panic", err)
	}
}

func TestGroupRunsNoMoreThanItsLimit(t *testing.T) {
	g, _ := safe.NewGroup(context.Background())
	g.SetLimit(1)
	running := 0 // unguarded on purpose: the limit of one is what protects it (checked by -race)
	for range 50 {
		g.Go(func() error {
			running++
			defer func() { running-- }()
			if running != 1 {
				return errors.New("two functions ran at once")
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMemoryThatIsNotThereIsAPanicThatKnowsItsAddress(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	at := uint64(uintptr(unsafe.Pointer(&page[8])))
	g, _ := safe.NewGroup(context.Background())
	g.Go(func() error { page[8] = 1; return nil })
	for name, err := range map[string]error{"Call": safe.Call(func() error { page[8] = 1; return nil }), "Group": g.Wait()} {
		var caught *safe.PanicError
		if !errors.As(err, &caught) {
			t.Fatalf("%s: error is %v, want a panic", name, err)
		}
		if address, ok := caught.Address(); !ok || address != at {
			t.Errorf("%s: the address is %#x, %v; want %#x", name, address, ok, at)
		}
	}
	var other *safe.PanicError
	if errors.As(safe.Call(func() error { panic("boom") }), &other) {
		if _, ok := other.Address(); ok {
			t.Error("a panic of no memory has an address")
		}
	}
}

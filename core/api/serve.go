package api

import (
	"context"
	"os"
	"slices"
	"syscall"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/device"
)

// served are the operations that a process without Python may ask for, beside those of the machine.
var served = []string{"instrument", "recorder_digest"}

type serveDeviceRequest struct {
	Pipe   int    `json:"pipe"`   // a descriptor of this process: a socket or a pipe that is read and written
	Memory int    `json:"memory"` // likewise, of the memory that both share
	Base   uint64 `json:"base"`   // at which address the other has that memory
	Bytes  int    `json:"bytes"`

	Run *servedRun `json:"run"` // what launches are part of; null: of nothing
}

type serveDeviceDocument struct {
	Requests int64 `json:"requests"` // that were answered
}

// mostShared bounds the memory of a device: what is not written takes none.
const mostShared = 1 << 40

// serveDevice is a device for another process, which has no extension: it answers operations over a pipe until that is closed. Addresses in them are
// those of the other process.
func (c *Core) serveDevice(j *job.Job, r *serveDeviceRequest) (*serveDeviceDocument, error) {
	if r.Bytes <= 0 || r.Bytes > mostShared || r.Base+uint64(r.Bytes) < r.Base || r.Base == 0 {
		return nil, fault.Usagef("%d bytes at address %#x are no memory of a device", r.Bytes, r.Base)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(r.Memory, &st); err != nil {
		return nil, fault.FromIO("the shared memory", err)
	}
	if st.Size < int64(r.Bytes) { // what is behind the end of a file kills who reads it
		return nil, fault.Usagef("the shared memory has %d bytes, %d were named", st.Size, r.Bytes)
	}
	shared, err := syscall.Mmap(r.Memory, 0, r.Bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fault.FromIO("the shared memory", err)
	}
	defer func() { _ = syscall.Munmap(shared) }()
	pipe := os.NewFile(uintptr(r.Pipe), "the pipe")
	if pipe == nil {
		return nil, fault.Usagef("this process has no descriptor %d", r.Pipe)
	}
	defer pipe.Close()
	group, ctx := safe.NewGroup(j.Context())
	ended := make(chan struct{})
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return pipe.Close() // ends the conversation
		case <-ended:
			return nil
		}
	})
	inner := New()
	inner.SeeMemory(device.Window(r.Base, shared))
	doc := &serveDeviceDocument{}
	err = device.Serve(j.Context(), pipe, func(ctx context.Context, op string, request []byte) []byte {
		doc.Requests++
		if op == "run_note" && r.Run != nil {
			return r.Run.note(request)
		}
		if _, ours := inner.machineOperations(op); !ours && !slices.Contains(served, op) || op == "serve_device" {
			return reply(nil, fault.Usagef("there is no operation %q of a device", op))
		}
		if op == "simulate_launch" && r.Run != nil {
			return r.Run.launch(&inner.device, request, func(request []byte) []byte { return inner.callUnder(ctx, op, request) })
		}
		return inner.callUnder(ctx, op, request)
	})
	close(ended)
	_ = group.Wait()
	if j.Context().Err() != nil {
		return nil, j.Context().Err()
	}
	return doc, err
}

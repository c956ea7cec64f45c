//go:build !linux

package probe

import (
	"errors"
	"net/netip"
	"time"
)

// batch is of Linux: elsewhere the process's own stamps have to do, and Go's poller.
type batch struct{}

func newBatch(int, bool) *batch { return nil }

func (*batch) give() {}

func (*batch) kernel() bool { return false }

func (*batch) unstamped() {}

func (*batch) send(netip.AddrPort, []byte) (uint64, error) { return 0, errors.ErrUnsupported }

func (*batch) receive(*UDP, *Prober, time.Duration, func() int64) error { return errors.ErrUnsupported }

func bindToDevice(int, string) error { return errors.New("interfaces can be chosen on Linux only") }

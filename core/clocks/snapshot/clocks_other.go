//go:build !linux

package snapshot

import (
	"errors"
	"time"
)

// System is the system clock.
func System() Clock {
	return Clock{Name: "CLOCK_REALTIME", Now: func() (int64, error) { return time.Now().UnixNano(), nil }}
}

var errOnlyLinux = errors.New("the core reads clocks by their names on Linux only: use the C library runtime/snapshot")

// ClockNamed knows no clocks here.
func ClockNamed(string) (Clock, error) { return Clock{}, errOnlyLinux }

// ReadDiscipline cannot ask here.
func ReadDiscipline() (Discipline, error) { return Discipline{}, errOnlyLinux }

package snapshot

import (
	"fmt"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// System is CLOCK_REALTIME, which Go reads without a system call.
func System() Clock {
	return Clock{Name: "CLOCK_REALTIME", Now: func() (int64, error) { return time.Now().UnixNano(), nil }}
}

// Clocks of Linux by their names, with the numbers of <linux/time.h>.
var kernelClocks = map[string]uintptr{
	"CLOCK_REALTIME": 0, "CLOCK_MONOTONIC": 1, "CLOCK_MONOTONIC_RAW": 4, "CLOCK_BOOTTIME": 7, "CLOCK_TAI": 11,
}

// ClockNamed returns a clock of the system by its name, with or without "CLOCK_" and in any case: "monotonic_raw", "TSC".
func ClockNamed(name string) (Clock, error) {
	short := strings.TrimPrefix(strings.ToUpper(name), "CLOCK_")
	if short == "TSC" {
		return tsc()
	}
	long := "CLOCK_" + short
	id, ok := kernelClocks[long]
	if !ok {
		return Clock{}, fmt.Errorf("%q is not a clock of this system: expected monotonic, monotonic_raw, boottime, tai or tsc", name)
	}
	if short == "TAI" {
		if err := knowsTAI(); err != nil {
			return Clock{}, err
		}
	}
	c := Clock{Name: long, Now: func() (int64, error) { return kernelTime(id) }}
	_, err := c.Now()
	return c, err
}

// kernelTime reads a clock of the kernel.
func kernelTime(id uintptr) (int64, error) {
	var t syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0, e
	}
	return t.Nano(), nil
}

// knowsTAI reports as an error that the kernel was never told how far TAI is from UTC: CLOCK_TAI is CLOCK_REALTIME then.
func knowsTAI() error {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return err
	}
	if t.Tai == 0 {
		return fmt.Errorf("CLOCK_TAI is of no use here: nobody has told the kernel how far TAI is from UTC")
	}
	return nil
}

// Bits of struct timex.
const (
	statusUnsync = 0x40
	stateError   = 5 // TIME_ERROR: the clock is not synchronized
)

// ReadDiscipline asks the kernel how well the system clock is kept.
func ReadDiscipline() (Discipline, error) {
	var t syscall.Timex
	state, err := syscall.Adjtimex(&t)
	if err != nil {
		return Discipline{}, err
	}
	return Discipline{
		SysNS: time.Now().UnixNano(), Synchronized: state != stateError && t.Status&statusUnsync == 0,
		MaxErrorNS: t.Maxerror * 1000, EstErrorNS: t.Esterror * 1000, DriftPPB: t.Freq * 1000 / 65536, Source: "adjtimex",
		GrowthPPB: kernelGrowthPPB, Reference: "UTC",
	}, nil
}

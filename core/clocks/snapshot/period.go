package snapshot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cadences.
const (
	DefaultPeriod = 4 * time.Second
	MinPeriod     = 10 * time.Millisecond
	MaxPeriod     = time.Hour
)

// Where a cadence is asked for, the first that says one wins: an argument, the profiler's advanced_configuration, our variable, that of
// ROCm's XLA.
const (
	OptionPeriod   = "snapshot_pair_period_ms" // of ProfileOptions.advanced_configuration
	VariablePeriod = "PRLX_SNAPSHOT_PERIOD_MS"
	VariableOfROCm = "XLA_ROCM_SNAPSHOT_PERIOD_MS"
)

// PeriodOf decides the cadence, and says where it stands. argument and option are "" where nothing was asked.
func PeriodOf(argument, option string, environment func(string) string) (time.Duration, string, error) {
	for _, asked := range []struct{ where, text string }{
		{"the argument", argument},
		{OptionPeriod, option},
		{VariablePeriod, environment(VariablePeriod)},
		{VariableOfROCm, environment(VariableOfROCm)},
	} {
		if strings.TrimSpace(asked.text) == "" {
			continue
		}
		d, err := parsePeriod(asked.text)
		if err != nil {
			return 0, asked.where, fmt.Errorf("%s: %w", asked.where, err)
		}
		return d, asked.where, nil
	}
	return DefaultPeriod, "the default", nil
}

// parsePeriod reads a cadence in ms.
func parsePeriod(text string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(ms) || math.IsInf(ms, 0) {
		return 0, fmt.Errorf("%q is not a number of milliseconds", text)
	}
	if ms < float64(MinPeriod/time.Millisecond) || ms > float64(MaxPeriod/time.Millisecond) {
		return 0, fmt.Errorf("%s ms is not between %d and %d ms", strings.TrimSpace(text), MinPeriod/time.Millisecond, MaxPeriod/time.Millisecond)
	}
	return time.Duration(math.Round(ms * float64(time.Millisecond))), nil
}

// taskCounts are variables in which launchers say how many processes a job has.
var taskCounts = []string{"WORLD_SIZE", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "JAX_NUM_PROCESSES"}

// Distributed reports whether the environment says that this process is one of several: then clocks are read without being asked.
func Distributed(environment func(string) string) bool {
	for _, name := range taskCounts {
		if n, err := strconv.Atoi(environment(name)); err == nil && n > 1 {
			return true
		}
	}
	return false
}

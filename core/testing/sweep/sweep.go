// Package sweep says how much of its proof a test gives: a sample of its cases, which takes a second, or all of them, as make nightly asks
// with PRLX_FULL_SWEEP=1. Samples are the first seeds of the sweep, so that a failure of either is found again by its seed.
package sweep

import "os"

// Full reports whether tests look at all of their cases.
func Full() bool { return os.Getenv("PRLX_FULL_SWEEP") != "" }

// Of is how many cases a test looks at, or how large one is: the sample, or all.
func Of[T any](sample, all T) T {
	if Full() {
		return all
	}
	return sample
}

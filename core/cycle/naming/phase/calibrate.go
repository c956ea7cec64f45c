package phase

import "math"

// What makes a score of odds.
const (
	steepness = 1.0  // of the odds that are added up
	surest    = 0.97 // no inference is surer
)

// calibrated is the share of classes with such odds that are prefill.
func calibrated(odds float64) float64 {
	p := 1 / (1 + math.Exp(-steepness*odds))
	return max(1-surest, min(surest, p))
}

// Package compat is original prlx 0.5, bit for bit and quirks included: greedy resynchronisation within a window of events. It
// exists so that documents of its users stay reproducible and as the baseline that package diff is measured against.
package compat

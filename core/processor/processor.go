// Package processor says what the processor of this machine can do: loops that cost much are also written in assembly for those that have wide
// vectors. Their results are the same bits with and without.
package processor

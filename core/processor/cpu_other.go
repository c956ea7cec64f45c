//go:build !amd64

package processor

// HasAVX2 is false: another processor has none.
func HasAVX2() bool { return false }

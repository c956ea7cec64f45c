//go:build !amd64

package snapshot

func readTSC() int64 { return 0 }

const hasTSC = false

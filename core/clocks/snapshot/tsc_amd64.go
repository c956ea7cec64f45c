package snapshot

func readTSC() int64

const hasTSC = true

//go:build !amd64

package tape

// wide says that there are loops in assembly: not for this processor.
var wide = false

func (k kind) blocks(b []byte, first uint64) tally { return k.blocksInGo(b, first) }

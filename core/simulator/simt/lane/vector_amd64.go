package lane

import "github.com/prlx-go/prlx/core/processor"

// wide says that the processor has the vectors of 256 bits that some loops and products are also written for. Results are the same bits with and
// without them. Tests switch it off.
var wide = processor.HasAVX2()

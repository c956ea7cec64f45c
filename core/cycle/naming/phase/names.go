package phase

import (
	"strconv"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// optimizerName is in the names of kernels that change weights, and in the keys of their signatures.
var optimizerName = lazyregexp.New(`(?i)adam|optimizer|fused_sgd|lamb`)

// OfOptimizer reports whether a kernel, or its signature, is one of an optimizer.
func OfOptimizer(name string) bool { return optimizerName.MatchString(name) }

// choosingName is in the names of kernels by which a pass ends in tokens; samplingName asks for more, and tells sampling from routing to experts.
var choosingName = lazyregexp.New(`(?i)argmax|top_?k|sampl|multinomial`)

// ChoosesTokens reports whether a kernel may choose tokens.
func ChoosesTokens(name string) bool { return choosingName.MatchString(name) }

// tile finds the rows of the tile of a matrix product in the name of its kernel, as generators write it.
var tile = lazyregexp.New(`(?i)(?:MT|tilesize|tile|nvjet_[a-z]+_|gemm_[a-z0-9_]*?)([0-9]{1,4})x([0-9]{1,4})(?:x[0-9]{1,4})?`)

// TileRows is the shorter side of a tile: libraries swap both where there are few rows.
func TileRows(name string) int64 {
	m := tile.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	a, err1 := strconv.ParseInt(m[1], 10, 32)
	b, err2 := strconv.ParseInt(m[2], 10, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return min(a, b)
}

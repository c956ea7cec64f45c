package kernelreport

import (
	"cmp"
	"slices"
)

func sortKinds(list []string) {
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(kindRank(a), kindRank(b)), cmp.Compare(a, b))
	})
}

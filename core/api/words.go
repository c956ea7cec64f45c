package api

import (
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
)

// plural writes a count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

var errNoPlan = fault.Usagef("the request has no plan")

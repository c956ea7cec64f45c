package rendering

import (
	"fmt"
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
)

// kernelsText counts kernels.
func kernelsText(n int) string { return counted(n, "kernel", "kernels") }

// counted is a number with the word for one or for several.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// durationText writes a time with three digits.
func durationText(ns float64) string {
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.ns {
			v := ns / u.ns
			switch {
			case v >= 100:
				return fmt.Sprintf("%.0f %s", v, u.unit)
			case v >= 10:
				return fmt.Sprintf("%.1f %s", v, u.unit)
			}
			return fmt.Sprintf("%.2f %s", v, u.unit)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// sentence says an account in words, in one unit.
func sentence(a *cycledoc.Account) string {
	most := max(a.ANS, a.BNS)
	unit, size := "µs", 1e3
	if most >= 10_000_000 {
		unit, size = "ms", 1e6
	}
	write := func(ns int64) string { return fmt.Sprintf("%+.2f %s", float64(ns)/size, unit) }
	var list []string
	for _, p := range a.Parts {
		if math.Abs(float64(p.DeltaNS)) >= size/200 { // the least that two decimals show
			list = append(list, fmt.Sprintf("%s %s", p.Text, write(p.DeltaNS)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" Of %s a %s: %s.", write(a.DeltaNS), a.Of, strings.Join(list, ", "))
}

// percentText writes a share; it says 100.0 % only of a whole.
func percentText(share float64) string {
	if share < 1 {
		share = math.Floor(1000*share) / 1000
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

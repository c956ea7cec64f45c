package rendering

import "fmt"

// kernelsText counts kernels.
func kernelsText(n int) string {
	if n == 1 {
		return "1 kernel"
	}
	return fmt.Sprintf("%d kernels", n)
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

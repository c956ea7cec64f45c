package kernelreport

import (
	"strings"

	"github.com/prlx-go/prlx/core/diff"
)

// A role is what a divergence is to the verdict. Those from noise on do not count against it.
type role int

const (
	cause role = iota
	follower
	noise
	accepted
	reordered
)

// roles says of every role how reports name it, and what it means.
var roles = [...]struct{ name, title, hint string }{
	cause:     {"cause", "Can be a cause", "Nothing before it in its warp differs."},
	follower:  {"follows", "Follows", "An earlier divergence can be its cause."},
	noise:     {"noise", "Noise", "Runs that should be equal differ here too."},
	accepted:  {"accepted", "Accepted", "A file of accepted differences has it."},
	reordered: {"reordered", "Another order", "Every lane did the same; the order among paths is another one."},
}

func (r role) String() string { return roles[r].name }

// quiet reports whether the role takes a divergence out of the count.
func (r role) quiet() bool { return r >= noise }

// why says in a clause why the role does not count.
func (r role) why() string {
	hint := roles[r].hint
	return r.String() + ": " + strings.ToLower(hint[:1]) + strings.TrimSuffix(hint[1:], ".")
}

func roleOf(d *diff.Divergence) role { return ranked(d.Noise, d.Accepted, d.Reordered, d.Follows) }

func roleOfCluster(c *diff.Cluster) role { return ranked(c.Noise, c.Accepted, c.Reordered, c.Follows) }

// ranked picks the role that says most: each of the marks outweighs those behind it.
func ranked(isNoise, isAccepted, isReordered, follows bool) role {
	switch {
	case isNoise:
		return noise
	case isAccepted:
		return accepted
	case isReordered:
		return reordered
	case follows:
		return follower
	}
	return cause
}

package probe

import "slices"

// maxLinks is how many peers a node exchanges probes with.
const maxLinks = 8

// links returns the peers of every node, ascending: all others where they are few, else its two neighbours on a ring over all nodes and
// those on three more rings whose order is random, so that any two nodes are a few links apart and no handful of dead ones divides the
// rest. Every node finds the same graph from the same number and seed.
func links(nodes int, seed uint64) [][]int {
	links := make([][]int, nodes)
	if nodes <= maxLinks+1 {
		for a := range links {
			for b := range nodes {
				if b != a {
					links[a] = append(links[a], b)
				}
			}
		}
		return links
	}
	order := make([]int, nodes)
	for i := range order {
		order[i] = i
	}
	r := random(seed)
	for ring := range maxLinks / 2 {
		if ring > 0 {
			for i := nodes - 1; i > 0; i-- {
				k := int(r.next() % uint64(i+1))
				order[i], order[k] = order[k], order[i]
			}
		}
		for i, a := range order {
			b := order[(i+1)%nodes]
			if !slices.Contains(links[a], b) {
				links[a], links[b] = append(links[a], b), append(links[b], a)
			}
		}
	}
	for _, l := range links {
		slices.Sort(l)
	}
	return links
}

// random is a small generator (splitmix64) whose numbers are the same in every version of Go.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit returns a number in [0, 1).
func (r *random) unit() float64 { return float64(r.next()>>11) / (1 << 53) }

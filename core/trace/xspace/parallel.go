package xspace

import "sync/atomic"

// ticket hands out indexes to goroutines.
type ticket struct {
	taken atomic.Int64
	n     int64
}

func (t *ticket) next() (int, bool) {
	i := t.taken.Add(1) - 1
	return int(i), i < t.n
}

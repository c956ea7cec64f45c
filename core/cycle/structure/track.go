package structure

import (
	"github.com/prlx-go/prlx/core/cycle/kernels"
)

// Track is kernels of one device that are searched as one sequence.
type Track struct {
	Seq     int
	Streams []uint16
	Index   []uint32 // places in the sequence; nil: all of it
	N       int
	Main    bool // steps of the device come from here
	Number  int  // place in Result.tracks
}

// NewTrack makes one sequence of the kernels of some streams of a device.
func NewTrack(s *kernels.Sequence, seq int, streams []uint16, main bool) *Track {
	t := &Track{Seq: seq, Streams: streams, Main: main}
	in := make([]bool, len(s.Streams))
	for _, st := range streams {
		in[st] = true
		t.N += s.Streams[st].Kernels
	}
	if t.N == s.Len() {
		return t
	}
	t.Index = make([]uint32, 0, t.N)
	for i, st := range s.Stream {
		if in[st] {
			t.Index = append(t.Index, uint32(i))
		}
	}
	t.N = len(t.Index)
	return t
}

// At is the place in the sequence of kernel i of the track.
func (t *Track) At(i int) int {
	if t.Index == nil {
		return i
	}
	return int(t.Index[i])
}

// Has reports whether a stream is a part of the track.
func (t *Track) Has(stream uint16) bool {
	for _, s := range t.Streams {
		if s == stream {
			return true
		}
	}
	return false
}

// Seq is the device that a track is of.
func (r *Run) Seq(t *Track) *kernels.Sequence { return &r.Trace.Sequences[t.Seq] }

// Symbols are the symbols of kernels [from, to) of a track.
func (r *Run) Symbols(t *Track, from, to int) []uint32 {
	out := make([]uint32, to-from)
	s, table := r.Seq(t), r.Words.Table(r.Keys)
	for i := range out {
		out[i] = table[s.Name[t.At(from+i)]]
	}
	return out
}

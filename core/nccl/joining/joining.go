// Package joining ties the recordings of a job's processes together: who is which rank of which communicator, which operations are the
// same, and one clock.
//
// The same collective is that of one communicator, function, sequence number and occurrence; the k-th send to a peer is the k-th receive that
// this one has from it. Clocks of hosts are related by probes where there are any, else by what operations say: nobody left one before those
// had entered whom it needed. `offsets` solves both. It judges nothing.
package joining

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
)

// Options are what is asked for.
type Options struct {
	Clocks []*clockfile.File // stamps of probes, whose files name their hosts

	workers int
}

// Join ties recordings together. It changes their instants to those of the job's clock.
func Join(j *job.Job, recordings []*operation.Recording, opt Options) (*operation.Job, error) {
	j.Progress().SetStage("join")
	out := &operation.Job{Recordings: recordings}
	b := &builder{out: out, byID: map[uint64]int32{}}
	told := slices.ContainsFunc(recordings, func(r *operation.Recording) bool { return len(r.Kernels) > 0 })
	for _, r := range recordings {
		r.KernelsTold = told
	}
	b.hosts()
	b.seats()
	if err := b.gpus(j.Context(), j.Workers()); err != nil {
		return nil, err
	}
	b.comms()
	b.ranks()
	b.match()
	opt.workers = j.Workers()
	if err := b.align(j.Context(), opt); err != nil {
		return nil, err
	}
	b.order()
	b.limits()
	return out, nil
}

// limits says what the writers of recordings do not write down, each once.
func (b *builder) limits() {
	for _, r := range b.out.Recordings {
		for _, l := range r.Limits {
			if !slices.Contains(b.out.Warnings, l) {
				b.warn("%s", l)
			}
		}
	}
}

type builder struct {
	out    *operation.Job
	byID   map[uint64]int32
	hostOf []int32 // by recording: place in Job.Clocks
	places map[seatKey]int32
}

// seatKey is one GPU of a process.
type seatKey struct{ recording, seat int32 }

func (b *builder) warn(format string, args ...any) {
	b.out.Warnings = append(b.out.Warnings, fmt.Sprintf(format, args...))
}

// hosts puts recordings of one machine on one clock. Each counts its instants from what CLOCK_REALTIME was when it began; where that was set
// while one of them recorded, CLOCK_MONOTONIC relates them.
func (b *builder) hosts() {
	byBoot := map[string]int32{}
	b.hostOf = make([]int32, len(b.out.Recordings))
	stepped := map[int32]bool{}
	first := map[int32]*operation.Recording{}
	for i, r := range b.out.Recordings {
		id := r.BootID
		if id == "" {
			id = "\x00" + strconv.Itoa(i)
		}
		n, ok := byBoot[id]
		if !ok {
			n = int32(len(b.out.Clocks))
			byBoot[id] = n
			b.out.Clocks = append(b.out.Clocks, operation.HostClock{Host: r.Host, BootID: r.BootID, BoundNS: -1})
			first[n] = r
		}
		b.hostOf[i] = n
		stepped[n] = stepped[n] || r.RealtimeStepNS > 0
	}
	for i, r := range b.out.Recordings {
		n := b.hostOf[i]
		if d := first[n].WallOffsetNS - r.WallOffsetNS; stepped[n] && d != 0 {
			r.Shift(func(ns int64) int64 { return ns + d })
		}
	}
	for n := range b.out.Clocks {
		if stepped[int32(n)] {
			b.warn("the wall clock of %s was set while the job ran; its processes are related by CLOCK_MONOTONIC", b.out.Clocks[n].Host)
		}
	}
}

// seats tells the GPUs of each process apart: members of one communicator are different ones, in the order of their ranks.
func (b *builder) seats() {
	for _, r := range b.out.Recordings {
		byID := map[uint64][]int32{}
		for i := range r.Members {
			if m := &r.Members[i]; m.ID != 0 && m.Rank >= 0 {
				byID[m.ID] = append(byID[m.ID], int32(i))
			}
		}
		for _, list := range byID {
			slices.SortFunc(list, func(x, y int32) int { return cmp.Compare(r.Members[x].Rank, r.Members[y].Rank) })
			for k, m := range list {
				r.Members[m].Seat = int32(k)
			}
		}
	}
}

// comms finds communicators by NCCL's numbers.
func (b *builder) comms() {
	for ri, r := range b.out.Recordings {
		for mi := range r.Members {
			m := &r.Members[mi]
			if m.ID == 0 || m.Rank < 0 || m.Rank >= mostRanks {
				continue
			}
			n, ok := b.byID[m.ID]
			if !ok {
				n = int32(len(b.out.Comms))
				b.byID[m.ID] = n
				b.out.Comms = append(b.out.Comms, operation.Comm{ID: m.ID, Name: m.Name})
			}
			m.Comm = n
			b.sit(&b.out.Comms[n], m, operation.Seat{Recording: int32(ri), Member: int32(mi), Rank: operation.None})
		}
	}
	for i := range b.out.Comms {
		if c := &b.out.Comms[i]; c.Name == "" {
			c.Name = fmt.Sprintf("%#x", c.ID)
		}
	}
	b.sameNames()
}

// mostRanks bounds what a file may claim.
const mostRanks = 1 << 20

// sit gives a member its seat in a communicator.
func (b *builder) sit(c *operation.Comm, m *operation.Member, s operation.Seat) {
	if m.Ranks > 0 && m.Ranks <= mostRanks {
		c.Ranks, c.Told = max(c.Ranks, m.Ranks), true
	}
	c.Ranks = max(c.Ranks, m.Rank+1)
	if c.Name == "" {
		c.Name = m.Name
	}
	for int32(len(c.Seats)) <= m.Rank {
		c.Seats = append(c.Seats, operation.Seat{Recording: operation.None, Member: operation.None, Rank: operation.None})
	}
	had := &c.Seats[m.Rank]
	if had.Recording >= 0 {
		other := b.out.Recordings[had.Recording]
		b.warn("rank %d of communicator %#x is in %s and in %s: the one that was made later counts", m.Rank, c.ID, other.Path, b.out.Recordings[s.Recording].Path)
		if other.StartedNS >= b.out.Recordings[s.Recording].StartedNS {
			m.Comm = operation.None
			return
		}
		other.Members[had.Member].Comm = operation.None
	}
	*had = s
}

// sameNames tells communicators apart that have one name.
func (b *builder) sameNames() {
	many := map[string]int{}
	for i := range b.out.Comms {
		many[b.out.Comms[i].Name]++
	}
	for i := range b.out.Comms {
		if c := &b.out.Comms[i]; many[c.Name] > 1 {
			c.Name = fmt.Sprintf("%s (%#x)", c.Name, c.ID)
		}
	}
}

// ranks names everybody: by the communicator that all are in where there is one, else by host and process.
func (b *builder) ranks() {
	b.places = map[seatKey]int32{}
	for ri, r := range b.out.Recordings {
		seats := int32(1)
		for mi := range r.Members {
			seats = max(seats, r.Members[mi].Seat+1)
		}
		for k := range seats {
			id := fmt.Sprintf("%s/%d", r.Host, r.PID)
			if seats > 1 {
				id += fmt.Sprintf("/%d", k)
			}
			b.places[seatKey{int32(ri), k}] = int32(len(b.out.Ranks))
			b.out.Ranks = append(b.out.Ranks, operation.Rank{ID: id, World: -1, Recording: int32(ri), Seat: k, Host: r.Host, Clock: b.hostOf[ri]})
		}
	}
	for i := range b.out.Comms {
		c := &b.out.Comms[i]
		for len(c.Seats) < int(c.Ranks) {
			c.Seats = append(c.Seats, operation.Seat{Recording: operation.None, Member: operation.None, Rank: operation.None})
		}
		for k := range c.Seats {
			if s := &c.Seats[k]; s.Recording >= 0 {
				s.Rank = b.places[seatKey{s.Recording, b.out.Recordings[s.Recording].Members[s.Member].Seat}]
			}
		}
	}
	b.world()
}

// world finds the communicator of all and numbers ranks by it. Those of its ranks that nobody recorded are ranks too.
func (b *builder) world() {
	best := -1
	for i := range b.out.Comms {
		c := &b.out.Comms[i]
		in := map[int32]bool{}
		for k := range c.Seats {
			if c.Seats[k].Rank >= 0 {
				in[c.Seats[k].Rank] = true
			}
		}
		active := 0 // ranks that are in any communicator at all
		for _, r := range b.out.Ranks {
			if b.member(r) {
				active++
			}
		}
		if len(in) == active && active > 0 && (best < 0 || c.Ranks > b.out.Comms[best].Ranks) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	c := &b.out.Comms[best]
	c.World = true
	for k := range c.Seats {
		s := &c.Seats[k]
		if s.Rank < 0 {
			s.Rank = int32(len(b.out.Ranks))
			b.out.Ranks = append(b.out.Ranks, operation.Rank{Recording: operation.None, Clock: operation.None})
		}
		r := &b.out.Ranks[s.Rank]
		r.World, r.ID = int32(k), strconv.Itoa(k)
	}
}

// member reports whether a rank is in a communicator.
func (b *builder) member(r operation.Rank) bool {
	return slices.ContainsFunc(b.out.Recordings[r.Recording].Members, func(m operation.Member) bool { return m.Comm >= 0 && m.Seat == r.Seat })
}

package snapshot

// Ring holds the last pairs of a recording. Pairs that have no room any more are counted, not lost in silence.
type Ring struct {
	pairs   []Pair
	room    int
	next    int // where the next one goes once the ring is full
	Dropped int64
}

// Room for pairs beyond what a recording of the duration that was announced takes, for recordings that end late.
const (
	headroomPairs   = 16
	headroomPercent = 10
	// unannounced is the room of recordings that do not say how long they take: 3 days at 4 s, 11 minutes at 10 ms.
	unannounced = 1 << 16
	maxRoom     = 1 << 22 // as many as readers take
)

// RoomFor is how many pairs a recording of a duration needs at a cadence: duration / cadence and headroom. A duration of 0 is unknown.
func RoomFor(durationNS, periodNS int64) int {
	if durationNS <= 0 || periodNS <= 0 {
		return unannounced
	}
	n := durationNS/periodNS + 1
	if n >= maxRoom {
		return maxRoom
	}
	return int(min(maxRoom, n+n*headroomPercent/100+headroomPairs))
}

// NewRing makes a ring with room for a number of pairs. Memory is taken as pairs come.
func NewRing(room int) *Ring { return &Ring{room: max(1, room)} }

// Add adds a pair, instead of the oldest where there is no room.
func (r *Ring) Add(p Pair) {
	if len(r.pairs) < r.room {
		r.pairs = append(r.pairs, p)
		return
	}
	r.pairs[r.next] = p
	r.next = (r.next + 1) % r.room
	r.Dropped++
}

// Len is how many pairs the ring holds.
func (r *Ring) Len() int { return len(r.pairs) }

// Pairs returns what the ring holds, the oldest first.
func (r *Ring) Pairs() []Pair {
	out := make([]Pair, 0, len(r.pairs))
	return append(append(out, r.pairs[r.next:]...), r.pairs[:r.next]...)
}

package snapshot

// Discipline is what the system says of its own clock: how far it can be from UTC. A host whose clock is kept by chrony, ntpd or ptp4l
// with a stated error needs no probe to be compared with another such host, only less narrowly.
type Discipline struct {
	SysNS        int64  // when, on the system clock
	Synchronized bool   // something keeps the clock
	MaxErrorNS   int64  // how far it can be from UTC; says nothing unless Synchronized
	EstErrorNS   int64  // how far it probably is
	DriftPPB     int64  // the correction of its rate that is applied
	Source       string // who says so: "adjtimex"
}

package snapshot

// Discipline is what the system says of its own clock: how far it can be from what it is kept to. A host whose clock is kept by chrony, ntpd
// or ptp4l with a stated error needs no probe to be compared with another such host, only less narrowly. It is a claim.
type Discipline struct {
	SysNS        int64  // when, on the system clock
	Synchronized bool   // something keeps the clock
	MaxErrorNS   int64  // how far it can be from the reference; says nothing unless Synchronized; 0: not stated
	EstErrorNS   int64  // how far it probably is
	DriftPPB     int64  // the correction of its rate that is applied
	Source       string // who says so: "adjtimex"; the C sampler also asks chronyd, ptp4l and the hypervisor
	GrowthPPB    int64  // by how much the error grows until the next statement; 0: not stated
	Reference    string // "UTC", "PTP <grandmaster>", "hypervisor"; "" is UTC
}

// kernelGrowthPPB is by how much the kernel lets its maximum error grow.
const kernelGrowthPPB = 500_000

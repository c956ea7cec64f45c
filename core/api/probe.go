package api

import (
	"strconv"
	"time"

	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// probeRequest is the request of probe.
type probeRequest struct {
	requestLimits
	Peers       []string          `json:"peers"`
	Node        *string           `json:"node"`
	Output      string            `json:"output"`
	Duration    int64             `json:"duration"` // ns; 0: until it is cancelled
	Keep        int64             `json:"keep"`     // ns; 0: everything
	Rate        float64           `json:"rate"`     // 0: the default
	Interface   string            `json:"interface"`
	JobFile     string            `json:"job_file"`
	Ranks       [][]int           `json:"ranks"` // by peer: the processes of the job that are on its host
	Environment map[string]string `json:"environment"`
	KnownClock  *knownClock       `json:"known_clock"` // instead of the machine's, for tests
}

// knownClock is a clock of known error, in a host of its own: at the true instant t it shows t + offset + drift * (t - anchor).
type knownClock struct {
	Host     string `json:"host"`
	OffsetNS int64  `json:"offset_ns"`
	DriftPPB int64  `json:"drift_ppb"`
	AnchorNS int64  `json:"anchor_ns"`
}

func (k *knownClock) shown(ns int64) int64 {
	since := ns - k.AnchorNS
	return ns + k.OffsetNS + since/1e9*k.DriftPPB + since%1e9*k.DriftPPB/1e9
}

// probeClocks measures the clocks of other hosts until its time is over. A job that is cancelled has measured too: what it found is in its
// file, so the counts come back as those of one that has ended.
func probeClocks(j *job.Job, r *probeRequest) (*probe.Document, error) {
	asked := probe.Request{
		Peers: r.Peers, Output: r.Output, Duration: time.Duration(r.Duration), Keep: time.Duration(r.Keep), Rate: r.Rate, Device: r.Interface,
		JobFile: r.JobFile, Environment: r.Environment, Version: "prlx " + Version, Ranks: r.Ranks,
	}
	if k := r.KnownClock; k != nil {
		asked.HostClock, asked.Shown = k.Host, k.shown
	}
	if r.Node != nil {
		n, err := strconv.Atoi(*r.Node)
		if err != nil {
			return nil, fault.Usagef("node %q is not a number", *r.Node).WithHint("a node is numbered by its place in the list of peers, from 0")
		}
		asked.Node = &n
	}
	return probe.Run(j, asked)
}

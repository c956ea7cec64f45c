package ncclreport

import (
	"strconv"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// part is a part of the time of operations.
type part struct {
	Name    string
	Class   string // of its colour
	NS      int64
	Meaning string
}

// partsOf are the parts of a time in the order in which they happen; they add up.
func partsOf(p *dividing.Parts) []part {
	return []part{
		{"launch", "p1", p.LaunchNS, "the host, until the kernel was launched"},
		{"scheduling", "p2", p.SchedulingNS, "the launched kernel waited on the GPU for what was before it"},
		{"waiting", "p3", p.WaitingNS, "the kernel had begun, that of the last rank had not"},
		{"kernel", "p4", p.KernelNS, "all had begun, and the GPU worked, or nothing else is known to have"},
		{"proxy", "p5", p.ProxyNS, "the proxy thread had work and did none of the following"},
		{"credit", "p6", p.CreditNS, "the receiver gave no buffer"},
		{"network", "p7", p.NetworkNS, "data was in the network"},
		{"flush", "p8", p.FlushNS, "what came was flushed to the GPU"},
	}
}

// rankName is what a page calls a rank: those of jobs are numbers.
func rankName(id string) string {
	if _, err := strconv.Atoi(id); err == nil {
		return "rank " + id
	}
	return foreign.Clean(id, maxName)
}

// percent writes a share with one decimal.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + "\u00a0%"
}

// number writes a number that is there, and nothing for -1.
func number(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// size writes a number of bytes, in powers of 1,000 as bandwidths have them.
func size(bytes int64) string {
	v := float64(bytes)
	for _, u := range []struct {
		bytes float64
		unit  string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.bytes {
			return strconv.FormatFloat(v/u.bytes, 'g', 3, 64) + "\u00a0" + u.unit
		}
	}
	return strconv.FormatInt(bytes, 10) + "\u00a0B"
}

// rate writes bytes per second; a dash where there are none.
func rate(bytes int64) string {
	if bytes <= 0 {
		return "–"
	}
	return size(bytes) + "/s"
}

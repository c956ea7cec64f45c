package probe_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/verdict"
)

var keyed = map[string]string{"PRLX_JOB_KEY": "a key of the test's job"}

// untilRecorded runs a prober until it has recorded some exchanges, and ends it as a job is ended.
func untilRecorded(t *testing.T, r probe.Request, others *sync.WaitGroup) *probe.Document {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j := job.New(ctx, job.Options{})
	go func() {
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if stage, done, _ := j.Progress().Read(); stage == "probing" && done >= 20 {
				break
			}
		}
		others.Done()
		others.Wait() // who ends first answers no more
		cancel()
	}()
	d, err := probe.Run(j, r)
	if err != nil {
		t.Error(err)
		return &probe.Document{}
	}
	return d
}

// TestTwoHostsMeasureUntilTheirJobEnds: one is known by its name, the other by its address, and both by what started the job. A second process of a host leaves the
// measuring to the first.
func TestTwoHostsMeasureUntilTheirJobEnds(t *testing.T) {
	var ports []int
	for range 2 {
		conn := loopback(t, "udp4")
		ports = append(ports, conn.LocalAddr().(*net.UDPAddr).Port)
		conn.Close()
	}
	hosts := fmt.Sprintf("localhost:%d,127.0.0.1:%d", ports[0], ports[1])
	id := fmt.Sprint(t.TempDir())
	request := func(node int) probe.Request {
		return probe.Request{
			Output: t.TempDir(), Rate: 1000, HostClock: fmt.Sprint(id, node), Version: "test",
			Environment: map[string]string{"PRLX_JOB_KEY": keyed["PRLX_JOB_KEY"], "TPU_WORKER_HOSTNAMES": hosts, "TPU_WORKER_ID": fmt.Sprint(node)},
		}
	}
	var others, ended sync.WaitGroup
	others.Add(2)
	documents := make([]*probe.Document, 2)
	requests := []probe.Request{request(0), request(1)}
	for node := range documents {
		ended.Go(func() { documents[node] = untilRecorded(t, requests[node], &others) })
	}
	ended.Wait()
	for node, d := range documents {
		if d.Status != "measured" || d.Node != node || d.Peers != 2 || d.PeersBy != "TPU_WORKER_HOSTNAMES" || d.Name != strings.Split(hosts, ",")[node] || d.Conclusion.Outcome != verdict.Passed ||
			len(d.Links) != 1 || d.Links[0].Node != 1-node || d.Links[0].Answered < 20 || d.Links[0].MinRTTNS <= 0 || d.Written < 20 || d.Lost != 0 {
			t.Errorf("node %d: %+v", node, d)
		}
		if text, err := os.ReadFile(d.Output); err != nil || strings.Count(string(text), "\n") < 20 {
			t.Errorf("node %d: %d bytes, %v", node, len(text), err)
		}
	}
}

// TestOfOneHostOneProcessMeasures: while one does, another waits for its turn, and says so when its time is over.
// TestAPeerThatNeverAnswersIsNamed in the document of the run.
func TestAPeerThatNeverAnswersIsNamed(t *testing.T) {
	own, silent := loopback(t, "udp4"), loopback(t, "udp4")
	peers := []string{own.LocalAddr().String(), silent.LocalAddr().String()}
	own.Close()
	ctx, cancel := context.WithCancel(context.Background())
	j := job.New(ctx, job.Options{})
	go func() {
		buffer := make([]byte, probe.PacketSize)
		_, _, _ = silent.ReadFrom(buffer) // it is asked, and says nothing
		cancel()
	}()
	node := 0
	d, err := probe.Run(j, probe.Request{Output: t.TempDir(), Rate: 1000, Peers: peers, Node: &node, HostClock: t.Name(), Environment: keyed})
	if err != nil || !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "1 of 1 peers never answered: "+peers[1]) }) {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestOfOneHostOneProcessMeasures(t *testing.T) {
	conn := loopback(t, "udp4")
	peers := []string{conn.LocalAddr().String(), "127.0.0.1:9"}
	conn.Close()
	request := probe.Request{Peers: peers, Output: t.TempDir(), HostClock: t.TempDir(), Environment: keyed, Rate: 100}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := job.New(ctx, job.Options{})
	done := make(chan *probe.Document)
	go func() {
		d, err := probe.Run(first, request)
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	for stage := ""; stage != "probing"; stage, _, _ = first.Progress().Read() {
		time.Sleep(time.Millisecond)
	}
	request.Duration = 10 * time.Millisecond
	d, err := probe.Run(job.New(context.Background(), job.Options{}), request)
	if err != nil || d.Status != "elsewhere" || d.Conclusion.Outcome != verdict.Inconclusive || len(d.Links) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	cancel()
	if d := <-done; d != nil && (d.Status != "inconclusive" || d.Conclusion.Outcome != verdict.Inconclusive || d.Links[0].Answered != 0) { // nobody answers on that port
		t.Errorf("%+v", d)
	}
}

// TestWhatIsAskedForWronglyIsSaid before anything is sent.
func TestWhatIsAskedForWronglyIsSaid(t *testing.T) {
	two, out := []string{"127.0.0.1:1", "127.0.0.1:2"}, t.TempDir()
	over, cancel := context.WithCancel(context.Background())
	cancel() // what is not refused ends at once
	node := func(n int) *int { return &n }
	list := filepath.Join(t.TempDir(), "peers")
	if err := os.WriteFile(list, []byte("127.0.0.1:7 # this one alone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]probe.Request{
		"no directory to write to":            {Peers: two},
		"is not negative":                     {Peers: two, Output: "x", Duration: -1},
		"keep is not negative":                {Peers: two, Output: "x", Keep: -1},
		"no list of peers":                    {Output: "x"},
		"names 1 host, expected 2 or more":    {Peers: []string{list}, Output: "x", Node: node(0)},
		"node is 2, expected 0 to 1":          {Peers: two, Output: "x", Node: node(2)},
		"node is -1, expected 0 to 1":         {Peers: two, Output: "x", Node: node(-1)},
		"rate is 10001, expected 1 to 10000":  {Peers: two, Output: "x", Node: node(0), Rate: 10001},
		"rate is -1, expected":                {Peers: two, Output: "x", Node: node(0), Rate: -1},
		"the ranks of 3 hosts beside 2 peers": {Peers: two, Output: "x", Node: node(0), Ranks: make([][]int, 3)},
		"no such file":                        {Peers: []string{"/not/there"}, Output: "x"},
		"none of the 2 peers is this machine": {Peers: []string{"one.invalid:1", "two.invalid:1"}, Output: "x"},
		"is listed twice":                     {Peers: []string{two[0], two[0]}, Output: "x"},
	} {
		r.Environment = keyed
		if r.Output != "" {
			r.Output = out
		}
		if _, err := probe.Run(job.New(over, job.Options{}), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := probe.Run(job.New(over, job.Options{}), probe.Request{Peers: two, Output: out, Node: node(0)})
	if err == nil || !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), "no job key") {
		t.Errorf("without a key: %v", err)
	}
}

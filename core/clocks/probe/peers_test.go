package probe_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/fault"
)

func TestListsOfHostsAsSlurmWritesThem(t *testing.T) {
	for list, want := range map[string]string{
		"node1":                       "node1",
		"node[1-3]":                   "node1 node2 node3",
		"node[01-03,07],login":        "node01 node02 node03 node07 login",
		"a[9-11]":                     "a9 a10 a11",
		"rack[1-2]-n[0-1]":            "rack1-n0 rack1-n1 rack2-n0 rack2-n1",
		"x[1].cluster,y[2-3].cluster": "x1.cluster y2.cluster y3.cluster",
		"n[65530-65531]":              "n65530 n65531",
	} {
		got, err := probe.ExpandHosts(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"n[1-", "n]1[", "n[[1]]", "n[3-1]", "n[a-b]", ",", "a,,b", "n[1-9999999999]", "n[0-4000000000]", "n[]", "n[1-70000]"} {
		if got, err := probe.ExpandHosts(list); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %d hosts, %v", list, len(got), err)
		}
	}
}

func TestPeersAreCompletedAndKeptInOrder(t *testing.T) {
	got, err := probe.ParsePeers("b:7, a  # the second\n[fd00::1]:9\r\nfd00::2,10.0.0.1\n# nothing\nc:65535,d:1\n", 47474)
	want := []string{"b:7", "a:47474", "[fd00::1]:9", "[fd00::2]:47474", "10.0.0.1:47474", "c:65535", "d:1"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"a:0", "a:65536", "a:x", "a,a", "a:1:2", ":5", "a=b:1", "/x:1"} {
		if got, err := probe.ParsePeers(text, 1); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestTheListOfTheProgramThatStartedTheJob(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("n1 slots=8\nn1 slots=8\n# all\nn2:8\nfd00::1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environment map[string]string
		hosts       string
		node        int
	}{
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NODEID": "1"}, "n1 n2", 1},
		{map[string]string{"TPU_WORKER_HOSTNAMES": "a,b,c", "TPU_WORKER_ID": "2"}, "a b c", 2},
		{map[string]string{"PBS_NODEFILE": hosts}, "n1 n2 fd00::1", -1},
		{map[string]string{"LSB_MCPU_HOSTS": "n1 4 n2 4"}, "n1 n2", -1},
		{map[string]string{"OMPI_MCA_orte_default_hostfile": hosts}, "n1 n2 fd00::1", -1},
	} {
		l, err := probe.FromLauncher(func(name string) string { return c.environment[name] })
		if err != nil || strings.Join(l.Hosts, " ") != c.hosts || l.Node != c.node || c.environment[l.By] == "" {
			t.Errorf("%v: %+v, %v", c.environment, l, err)
		}
	}
}

// TestAnEnvironmentWithoutAListIsRefused, and what it holds is named where that might have been taken for one.
func TestAnEnvironmentWithoutAListIsRefused(t *testing.T) {
	for set, want := range map[string]string{"": "the environment of the job holds none", "MASTER_ADDR": "MASTER_ADDR is set", "JOB_COMPLETION_INDEX": "JOB_COMPLETION_INDEX is set"} {
		l, err := probe.FromLauncher(func(name string) string {
			if name == set {
				return "x"
			}
			return ""
		})
		if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", set, l, err, want)
		}
	}
}

func TestAMachineFindsItselfByNameThenByAddress(t *testing.T) {
	m := probe.Machine{Hostname: "n2.cluster", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("::1")}}
	for list, want := range map[string]int{
		"n1.cluster:1 n2.cluster:1": 1, "n1:1 N2:1": 1, "10.0.0.7:1 n2:1": 1, "10.0.0.6:1 10.0.0.7:1": 1, "[::1]:1 10.0.0.7:2": 0, "n1:1 n3:1": -1,
	} {
		got, ok := m.Find(strings.Fields(list))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", list, got, want)
		}
	}
}

func TestTheSessionIsThatOfTheKeyAndTheList(t *testing.T) {
	key, peers := []byte("0123456789abcdef"), []string{"a:1", "b:1"}
	s := probe.SessionOf(key, peers)
	if s != probe.SessionOf(key, peers) {
		t.Error("not the same twice")
	}
	if s == probe.SessionOf([]byte("0123456789abcdeF"), peers) || s == probe.SessionOf(key, []string{"b:1", "a:1"}) {
		t.Error("another key or order has the same session")
	}
}

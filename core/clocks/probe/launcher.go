package probe

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// launched is what the program that started a job says of its hosts.
type launched struct {
	Hosts []string
	Node  int    // which of them this one is; -1: it does not say
	By    string // the variable that says it
}

// kubeflowHosts is where Kubeflow's MPI operator leaves the list of its pods.
const kubeflowHosts = "/etc/mpi/hostfile"

// fromLauncher finds the list of hosts in the environment of a job: SLURM, PBS, LSF, Open MPI, Kubeflow's MPI operator and TPU pods
// leave one. torchrun and indexed jobs of Kubernetes tell each process its number and nothing of the others.
func fromLauncher(get func(string) string) (*launched, error) {
	l := &launched{Node: -1}
	number := func(name string) {
		if n, err := strconv.Atoi(get(name)); err == nil && n >= 0 {
			l.Node = n
		}
	}
	fromFile := func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return fault.FromIO(path, err)
		}
		l.Hosts = hostLines(string(text))
		return nil
	}
	switch {
	case get("SLURM_JOB_NODELIST") != "":
		l.By = "SLURM_JOB_NODELIST"
		hosts, err := expandHosts(get(l.By))
		if err != nil {
			return nil, err
		}
		l.Hosts = hosts
		number("SLURM_NODEID")
	case get("TPU_WORKER_HOSTNAMES") != "":
		l.By = "TPU_WORKER_HOSTNAMES"
		l.Hosts = strings.Split(get(l.By), ",")
		number("TPU_WORKER_ID")
	case get("PBS_NODEFILE") != "":
		l.By = "PBS_NODEFILE"
		if err := fromFile(get(l.By)); err != nil {
			return nil, err
		}
	case get("LSB_MCPU_HOSTS") != "": // host1 4 host2 4
		l.By = "LSB_MCPU_HOSTS"
		for i, w := range strings.Fields(get(l.By)) {
			if i%2 == 0 {
				l.Hosts = append(l.Hosts, w)
			}
		}
	case get("OMPI_MCA_orte_default_hostfile") != "":
		l.By = "OMPI_MCA_orte_default_hostfile"
		if err := fromFile(get(l.By)); err != nil {
			return nil, err
		}
	default:
		if _, err := os.Stat(kubeflowHosts); err == nil {
			l.By = kubeflowHosts
			return l, fromFile(kubeflowHosts)
		}
		e := fault.Usagef("no list of peers, and the environment of the job holds none").WithHint("give one: --peers FILE, or --peers host1:%d,host2:%d", defaultPort, defaultPort)
		for _, v := range []string{"MASTER_ADDR", "JOB_COMPLETION_INDEX"} {
			if get(v) != "" {
				return nil, fault.Usagef("no list of peers: %s is set, but it tells nothing of the other hosts", v).WithHint("%s", e.Hint)
			}
		}
		return nil, e
	}
	return l, nil
}

// hostLines are the hosts of a host file: the first word of each line, each once, without "slots=8" and ":8".
func hostLines(text string) []string {
	var hosts []string
	seen := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		host := words[0]
		if name, slots, ok := strings.Cut(host, ":"); ok && !strings.Contains(slots, ":") { // Hydra's host:8, not an IPv6 address
			host = name
		}
		if !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// expandHosts expands a list of hosts as SLURM writes it: "node[01-03,07],login" is node01, node02, node03, node07, login.
func expandHosts(list string) ([]string, error) {
	wrong := func() error {
		return fault.Usagef("%q is not a list of hosts as SLURM writes it", list).WithHint("give the peers: --peers host1,host2")
	}
	var hosts []string
	for len(list) > 0 {
		// one item ends at a comma outside of brackets
		depth, end := 0, len(list)
		for i, c := range list {
			switch {
			case c == '[':
				depth++
			case c == ']':
				depth--
			case c == ',' && depth == 0:
				end = i
			}
			if depth < 0 || depth > 1 {
				return nil, wrong()
			}
			if end < len(list) {
				break
			}
		}
		if depth != 0 {
			return nil, wrong()
		}
		item := list[:end]
		list = strings.TrimPrefix(list[end:], ",")
		found, err := expand(item, maxPeers-len(hosts))
		if err != nil || len(found) == 0 {
			return nil, wrong()
		}
		hosts = append(hosts, found...)
	}
	return hosts, nil
}

// expand expands the brackets of one item, from the left; at most n hosts.
func expand(item string, n int) ([]string, error) {
	head, rest, ok := strings.Cut(item, "[")
	if !ok {
		if item == "" || n < 1 {
			return nil, fmt.Errorf("empty or too many")
		}
		return []string{item}, nil
	}
	ranges, tail, _ := strings.Cut(rest, "]")
	tails := []string{""}
	if tail != "" {
		var err error
		if tails, err = expand(tail, n); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, r := range strings.Split(ranges, ",") {
		first, last, isRange := strings.Cut(r, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 32)
		b, err2 := strconv.ParseUint(last, 10, 32)
		if err != nil || err2 != nil || b < a || int(b-a) >= n {
			return nil, fmt.Errorf("no range: %q", r)
		}
		for v := a; v <= b; v++ {
			for _, t := range tails {
				if len(out) >= n {
					return nil, fmt.Errorf("too many hosts")
				}
				out = append(out, fmt.Sprintf("%s%0*d%s", head, len(first), v, t))
			}
		}
	}
	return out, nil
}

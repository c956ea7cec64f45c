package probe

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// defaultPort is the udp port of peers that name none.
const defaultPort = 47474

// maxList is how large a file of peers may be.
const maxList = 4 << 20

// parsePeers reads a list of peers: "host:port", "[address]:port" or "host" each, between commas, white space or lines; # begins a comment.
// The order counts: it numbers the nodes.
func parsePeers(text string, port int) ([]string, error) {
	var peers []string
	seen := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, p := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' }) {
			name, err := peerName(p, port)
			if err != nil {
				return nil, err
			}
			if seen[name] {
				return nil, fault.Usagef("peer %s is listed twice", name)
			}
			seen[name] = true
			peers = append(peers, name)
			if len(peers) > maxPeers {
				return nil, fault.Usagef("more than %d peers", maxPeers)
			}
		}
	}
	return peers, nil
}

// peerName completes a peer to host:port.
func peerName(p string, port int) (string, error) {
	if addr, err := netip.ParseAddr(p); err == nil { // an IPv6 address has colons of its own
		return net.JoinHostPort(addr.String(), strconv.Itoa(port)), nil
	}
	if !strings.Contains(p, ":") {
		p = net.JoinHostPort(p, strconv.Itoa(port))
	}
	host, at, err := net.SplitHostPort(p)
	if err != nil || host == "" || strings.ContainsAny(host, "/=") {
		return "", fault.Usagef("%q is not a peer: expected host:port", p).WithHint("an IPv6 address stands in brackets: [fd00::1]:%d", defaultPort)
	}
	if n, err := strconv.Atoi(at); err != nil || n < 1 || n > 65535 {
		return "", fault.Usagef("%q is not a peer: its port is not within 1 and 65535", p)
	}
	return net.JoinHostPort(host, at), nil
}

// readPeers reads peers from what a user gives: a file with one per line, or the peers themselves.
func readPeers(given []string, port int) ([]string, error) {
	if len(given) == 1 {
		if st, err := os.Stat(given[0]); err == nil {
			if st.Size() > maxList {
				return nil, fault.New(fault.Limit, "a list of peers of %d bytes, at most %d", st.Size(), maxList).WithPath(given[0])
			}
			text, err := os.ReadFile(given[0])
			if err != nil {
				return nil, fault.FromIO(given[0], err)
			}
			return parsePeers(string(text), port)
		} else if strings.ContainsAny(given[0], "/\\") {
			return nil, fault.FromIO(given[0], err)
		}
	}
	return parsePeers(strings.Join(given, "\n"), port)
}

// sessionOf is the session of a job: of its key and its list of peers.
func sessionOf(key []byte, peers []string) sessionID {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "prlx probe session 1\n")
	for _, p := range peers {
		fmt.Fprintf(mac, "%s\n", p)
	}
	return sessionID(mac.Sum(nil)[:8])
}

// machine is what tells which of the peers this machine is.
type machine struct {
	Hostname  string
	Addresses []netip.Addr
}

// thisMachine asks the system.
func thisMachine() machine {
	var m machine
	m.Hostname, _ = os.Hostname()
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			m.Addresses = append(m.Addresses, p.Addr().Unmap())
		}
	}
	return m
}

// Find returns the first peer that is this machine: by its name, with or without a domain, else by the address in the list.
func (m machine) Find(peers []string) (int, bool) {
	short := func(name string) string { s, _, _ := strings.Cut(name, "."); return s }
	hosts := make([]string, len(peers))
	for i, p := range peers {
		hosts[i], _, _ = net.SplitHostPort(p)
	}
	for _, same := range []func(host string) bool{
		func(host string) bool { return strings.EqualFold(host, m.Hostname) },
		func(host string) bool {
			_, err := netip.ParseAddr(host)
			return err != nil && m.Hostname != "" && strings.EqualFold(short(host), short(m.Hostname))
		},
		func(host string) bool {
			a, err := netip.ParseAddr(host)
			return err == nil && slices.Contains(m.Addresses, a.Unmap())
		},
	} {
		if i := slices.IndexFunc(hosts, same); i >= 0 {
			return i, true
		}
	}
	return 0, false
}

package probe

// What the tests of package probe_test see of this package.

type (
	Config   = config
	Exchange = exchange
	Machine  = machine
	Prober   = prober
	Session  = sessionID
	Sink     = sink
	Stamp    = stamp
	UDP      = udp
)

const (
	DefaultRate = defaultRate
	MaxLinks    = maxLinks
	PacketSize  = packetSize
)

var (
	ExpandHosts  = expandHosts
	FromLauncher = fromLauncher
	Links        = links
	Listen       = listen
	New          = newProber
	NewUDP       = newUDP
	ParsePeers   = parsePeers
	SessionOf    = sessionOf
)

package observe

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Table is what a kernel that was made to record says of its sites. It travels with the kernel, through the cache of its compiler.
type Table struct {
	Version  int                   // 5
	Sites    []site.Site           // by the numbers that events have
	Types    []warptrace.ValueType // of the values of events
	Sums     []Sum                 // what stores and atomics add to, of arrays that are known; by their slots
	Sought   []Sum                 // likewise, of arrays that are looked for while the kernel runs
	Stores   bool                  // stores have events, too
	Atomics  bool                  // and so have atomics
	Barriers bool                  // and barriers
	Values   bool                  // the operands of all lanes are there, where they are asked for
	Digest   bool                  // counts and hashes of events alone are kept
	Unseen   int                   // instructions that write what is not looked at
	Warning  string                // what is not recorded, "" nothing
}

// Sum is what one statement stores.
type Sum struct {
	Site  uint32 // the first of the statement
	Array int32  // parameter of the kernel, -1 not known
	Swaps bool   // a compare-and-swap
}

const (
	tableVersion = 5
	maxTable     = 64 << 20 // bytes of its JSON
	maxSites     = 1 << 20
)

// TableVersion is that of the tables that are made now. A kernel in a cache has one of the version that made it, so the key of the cache names it.
func TableVersion() int { return tableVersion }

// Encode makes a text of it: JSON, zlib, base64.
func (t *Table) Encode() (string, error) {
	t.Version = tableVersion
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	if len(text) > maxTable {
		return "", fault.New(fault.Limit, "the table of %d sites takes %d bytes, at most %d are kept", len(t.Sites), len(text), maxTable)
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// DecodeTable reads what Encode made. Caches hold what anybody wrote there, so nothing of it is believed.
func DecodeTable(text string) (*Table, error) {
	broken := func(what string) error {
		return fault.New(fault.Format, "the table of sites of a kernel is broken: %s", what).WithHint("remove the kernel from Triton's cache")
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, broken(err.Error())
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, broken(err.Error())
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxTable+1))
	if err != nil {
		return nil, broken(err.Error())
	}
	if len(plain) > maxTable {
		return nil, broken("it is too long")
	}
	t := &Table{}
	if err := json.Unmarshal(plain, t); err != nil {
		return nil, broken(err.Error())
	}
	if t.Version != tableVersion || len(t.Types) != len(t.Sites) || len(t.Sites) > maxSites {
		return nil, broken("another version made it")
	}
	for _, s := range slices.Concat(t.Sums, t.Sought) {
		if int(s.Site) >= len(t.Sites) {
			return nil, broken("a sum of no site")
		}
	}
	return t, nil
}

// NameArguments gives operands that are arguments their names. Until then they are called by their position: "%3".
func (t *Table) NameArguments(names []string) {
	for i := range t.Sites {
		nameArguments(t.Sites[i].Operands, names)
	}
}

func nameArguments(operands []site.Operand, names []string) {
	for i := range operands {
		o := &operands[i]
		if rest, ok := strings.CutPrefix(o.Name, "%"); ok && o.Origin == site.FromArgument {
			if n, err := strconv.Atoi(rest); err == nil && n >= 0 && n < len(names) && names[n] != "" {
				o.Name = names[n]
			}
		}
		nameArguments(o.Inputs, names)
	}
}

package xspace

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
)

// metadataWith is an XSpace whose metadata has one stat.
func metadataWith(stat, text string) []byte {
	bytes := func(b []byte, field protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	one := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	plane := bytes(nil, 2, []byte(planeMetadata))
	plane = bytes(plane, 5, bytes(append([]byte{}, one...), 2, bytes(append([]byte{}, one...), 2, []byte(stat))))
	plane = bytes(plane, 6, bytes(append([]byte{}, one...), 5, []byte(text)))
	return bytes(nil, 1, plane)
}

// TestReadingsAmongTheMetadataAreRead: where no plane can be added to a session, prlx.jax leaves them there.
func TestReadingsAmongTheMetadataAreRead(t *testing.T) {
	row := `{"sys_clock_ns":1760000000000000040,"tracer_clock_ns":3000000000,"bracket_ns":40}`
	many := row + strings.Repeat(","+row, 400)
	for _, c := range []struct {
		stat, text, clock string
		pairs, lost       int
		finds             string
	}{
		{"prlx_snapshots", `{"tracer_clock_name":"TSC","pairs":[` + many + `]}`, "TSC", 401, 0, ""},
		{"prlx_snapshots", `{"tracer_clock_name":"ROCm","pairs":[` + row + `,{"sys_clock_ns":5,"tracer_clock_ns":7}]}`, "ROCm", 1, 1, "1 readings of stat prlx_snapshots have no date"},
		{"prlx_snapshots", `{"pairs":[` + row + `]}`, "", 0, 0, "holds no readings of clocks"},
		{"prlx_snapshots", `readings`, "", 0, 0, "holds no readings of clocks"},
		{"others", row, "", 0, 0, ""},
	} {
		src, err := file.FromBytes("t.xplane.pb", metadataWith(c.stat, c.text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Scan(context.Background(), src, ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(s.Findings, "; ")
		if len(s.Snapshots) != c.pairs || s.SnapshotsClock != c.clock || int(s.SnapshotsLost) != c.lost || !strings.Contains(found, c.finds) || (c.finds == "") != (found == "") {
			t.Errorf("%.60s: %d pairs of %q, %d lost, %q", c.text, len(s.Snapshots), s.SnapshotsClock, s.SnapshotsLost, found)
		}
		if c.pairs > 0 && (s.Snapshots[0].X != 3000000000 || s.Snapshots[0].Y != 1760000000000000040) {
			t.Errorf("%.60s: %+v", c.text, s.Snapshots[0])
		}
	}
}

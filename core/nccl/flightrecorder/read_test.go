package flightrecorder

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// pickled and written are one dump: by CPython's pickle, protocol 2, with the fields that PyTorch 2.15 writes, and as JSON.
const pickled = "80027d710028580700000076657273696f6e71015804000000322e31307102580900000070675f636f6e66696771037d71042858010000003071057d71062858040000006e616d657107680558040000" +
	"00646573637108580a00000064656661756c745f70677109580500000072616e6b73710a58090000005b302c20312c20325d710b755800000000710c7d710d286807680c6808680c680a58060000005b" +
	"302c20315d710e75755810000000636f6d6d5f6c69625f76657273696f6e710f680c580900000070675f73746174757371107d71115807000000656e747269657371125d7113287d7114285806000000" +
	"6672616d657371155d7116287d7117286807580a000000616c6c5f7265647563657118580800000066696c656e616d65711958170000002f782f746f7263682f64697374726962757465642e7079711a" +
	"58040000006c696e65711b4d4e10757d711c286807580400000073746570711d68195808000000747261696e2e7079711e681b4b07756558090000007265636f72645f6964711f4b0158050000007067" +
	"5f696471204b00580d00000070726f636573735f67726f75707121680568098671225811000000636f6c6c6563746976655f7365715f696471234b02580a0000007032705f7365715f696471244b0058" +
	"050000006f705f696471254b02580e00000070726f66696c696e675f6e616d657126580f0000006e63636c3a616c6c5f7265647563657127580f00000074696d655f637265617465645f6e7371288a08" +
	"bb66fc8117b3ea18580b000000696e7075745f73697a657371295d712a5d712b284b804b026561580c000000696e7075745f647479706573712c5d712d5805000000466c6f6174712e61580c0000006f" +
	"75747075745f73697a6573712f5d71305d7131284b804b026561580d0000006f75747075745f64747970657371325d7133682e615805000000737461746571345807000000737461727465647135581a" +
	"00000074696d655f646973636f76657265645f737461727465645f6e7371368a080f67fc8117b3ea18581c00000074696d655f646973636f76657265645f636f6d706c657465645f6e7371374e580700" +
	"000072657469726564713889580a00000074696d656f75745f6d7371394a40771b00580600000069735f703270713a89757d713b2868156816681f4b0068204b00682168226823580100000031713c68" +
	"24680568254b016826580e000000676c6f6f3a73656e6420312d3e32713d68284b0568295d713e5d713f4b046161682c5807000000666c6f617433327140682f5d71415d71424b046161683268406834" +
	"58090000007363686564756c65647143683888683a88757d7144681f4b037365752e"

const written = `{"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2]"},"":{"name":"","desc":"","ranks":"[0, 1]"}},"comm_lib_version":"","pg_status":{},"entries":[{"frames":[{"name":"all_reduce","filename":"/x/torch/distributed.py","line":4174},{"name":"step","filename":"train.py","line":7}],"record_id":1,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":2,"p2p_seq_id":0,"op_id":2,"profiling_name":"nccl:all_reduce","time_created_ns":1795444315006985915,"input_sizes":[[128,2]],"input_dtypes":["Float"],"output_sizes":[[128,2]],"output_dtypes":["Float"],"state":"started","time_discovered_started_ns":1795444315006985999,"time_discovered_completed_ns":null,"retired":false,"timeout_ms":1800000,"is_p2p":false},{"frames":[{"name":"all_reduce","filename":"/x/torch/distributed.py","line":4174},{"name":"step","filename":"train.py","line":7}],"record_id":0,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":"1","p2p_seq_id":"0","op_id":1,"profiling_name":"gloo:send 1->2","time_created_ns":5,"input_sizes":[[4]],"input_dtypes":"float32","output_sizes":[[4]],"output_dtypes":"float32","state":"scheduled","retired":true,"is_p2p":true},{"record_id":3}]}`

func TestADumpIsReadAlikeFromBothForms(t *testing.T) {
	b, err := hex.DecodeString(pickled)
	if err != nil {
		t.Fatal(err)
	}
	frames := []frame{{"all_reduce", "/x/torch/distributed.py", 4174}, {"step", "train.py", 7}}
	want := &dump{
		Path: "trace_1", Rank: 1, Version: "2.10", Groups: map[string]processGroup{"0": {"0", "default_pg", []int{0, 1, 2}}}, Skipped: 1,
		Entries: []entry{
			{
				Sequence: 1, Op: 1, Group: "0", Description: "default_pg", Name: "send", Backend: "gloo", P2P: true, Source: 1, Target: 2, State: completed, CreatedNS: 5,
				InputSizes: [][]int64{{4}}, OutputSizes: [][]int64{{4}}, InputTypes: []string{"float32"}, OutputTypes: []string{"float32"}, Frames: frames,
			},
			{
				Record: 1, Sequence: 2, Op: 2, Group: "0", Description: "default_pg", Name: "all_reduce", Backend: "nccl", Source: -1, Target: -1, State: started,
				CreatedNS: 1795444315006985915, StartedNS: 1795444315006985999, TimeoutMS: 1800000,
				InputSizes: [][]int64{{128, 2}}, OutputSizes: [][]int64{{128, 2}}, InputTypes: []string{"Float"}, OutputTypes: []string{"Float"}, Frames: frames,
			},
		},
	}
	for name, b := range map[string][]byte{"pickle": b, "JSON": []byte(written)} {
		if !looks(b) {
			t.Errorf("%s: does not look like a dump", name)
		}
		if got, err := parse("trace_1", 1, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestWhoWroteADumpIsToldByItsName(t *testing.T) {
	for name, want := range map[string]int{"nccl_trace_rank_12": 12, "/a/b/trace_0": 0, "7": 7, "dump-3.json": 3, "trace_4.pickle.gz": 4, "trace": -1, "rank_1_old": -1} {
		if got, ok := rankOf(name); ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: got %d, %v", name, got, ok)
		}
	}
}

func TestWhatIsNoDumpIsRefused(t *testing.T) {
	for _, text := range []string{
		"[]", "{}", `{"entries": 3}`, `{"entries": []} x`, `{"entries": [}`, "", "\x80\x02N.", "\x80\x02cos\nsystem\n.", strings.Repeat("[", 100000),
	} {
		if d, err := parse("trace_0", 0, []byte(text)); !fault.Is(err, fault.Format) {
			t.Errorf("%.40q: got %+v, %v", text, d, err)
		}
	}
}

// TestWhatStandsInADumpManyTimesIsNotCopiedWithoutBound: a shape of 65536 numbers, 65536 times in one entry.
func TestWhatStandsInADumpManyTimesIsNotCopiedWithoutBound(t *testing.T) {
	var b strings.Builder
	b.WriteString("\x80\x02}X\x07\x00\x00\x00entries]}X\x0b\x00\x00\x00input_sizes](](" + strings.Repeat("K\x01", 65536) + "eq\x00")
	b.WriteString(strings.Repeat("h\x00", 65535) + "esas.")
	if _, err := parse("trace_0", 0, []byte(b.String())); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %.200v", err)
	}
}

func FuzzParse(f *testing.F) {
	b, _ := hex.DecodeString(pickled)
	f.Add(b)
	f.Add([]byte(written))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parse("trace_0", 0, b)
		if err != nil {
			if fault.Of(err).Kind != fault.Format {
				t.Fatalf("%v", err)
			}
			return
		}
		other := *d
		other.Rank = 1
		if _, err := Analyze([]*dump{d, &other}); err != nil {
			t.Fatalf("%v", err)
		}
	})
}

package hlo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// page is the document that specifies the fields; the descriptors of these tests are made from its table.
const page = "../../../docs/formats/hlo.md"

var rowRE = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(\\w+)` \\| (\\d+) \\| (repeated )?`?(\\w+)`? \\|")

// descriptors builds the file descriptor that the table in the format's page describes.
func descriptors(t testing.TB) protoreflect.FileDescriptor {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Fatal(err)
	}
	fd := &descriptorpb.FileDescriptorProto{Name: proto.String("hlo.proto"), Package: proto.String("x"), Syntax: proto.String("proto3")}
	byName := map[string]*descriptorpb.DescriptorProto{}
	scalar := map[string]descriptorpb.FieldDescriptorProto_Type{
		"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
		"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL,
		"bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	}
	for _, row := range rowRE.FindAllStringSubmatch(string(text), -1) {
		m := byName[row[1]]
		if m == nil {
			m = &descriptorpb.DescriptorProto{Name: proto.String(row[1])}
			byName[row[1]] = m
			fd.MessageType = append(fd.MessageType, m)
		}
		num, _ := strconv.Atoi(row[3])
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(row[2]), Number: proto.Int32(int32(num)),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if row[4] != "" {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if typ, ok := scalar[row[5]]; ok {
			f.Type = typ.Enum()
		} else {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = proto.String(".x." + row[5])
		}
		m.Field = append(m.Field, f)
	}
	out, err := protodesc.NewFile(fd, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// encode turns the JSON form of an HloProto into bytes with the descriptors of the page.
func encode(t testing.TB, json string) []byte {
	t.Helper()
	msg := dynamicpb.NewMessage(descriptors(t).Messages().ByName("HloProto"))
	if err := protojson.Unmarshal([]byte(json), msg); err != nil {
		t.Fatalf("%v in %s", err, json)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sample() string {
	return `{"hloModule": {"name": "jit_step", "id": 7,
	  "deviceAssignment": {"replicaCount": 1, "computationCount": 4, "computationDevices": [
	    {"replicaDeviceIds": [10]}, {"replicaDeviceIds": [11]}, {"replicaDeviceIds": [12]}, {"replicaDeviceIds": [13]}]},
	  "computations": [
	    {"id": 1, "instructions": [{"name": "rs.inner", "opcode": "reduce-scatter", "id": 1, "channelId": 3, "useGlobalDeviceIds": true,
	      "iotaCollectiveDeviceList": {"numReplicaGroups": 2, "numDevicesPerGroup": 2, "iotaReshapeDims": [2, 2], "iotaTransposePerm": [1, 0]}}]},
	    {"id": 2, "instructions": [{"name": "add", "opcode": "add", "id": 2}]},
	    {"id": 3, "instructions": [
	      {"name": "big", "opcode": "constant", "id": 3},
	      {"name": "loop_reduce_fusion", "opcode": "fusion", "id": 4, "calledComputationIds": [2]},
	      {"name": "ars", "opcode": "all-reduce-start", "id": 5, "channelId": 1, "useGlobalDeviceIds": true,
	        "replicaGroups": [{"replicaIds": [0, 1]}, {"replicaIds": [2, 3]}]},
	      {"name": "ard", "opcode": "all-reduce-done", "id": 6, "operandIds": [5]},
	      {"name": "async", "opcode": "async-start", "id": 7, "calledComputationIds": [1]},
	      {"name": "upd", "opcode": "async-update", "id": 8, "operandIds": [7]},
	      {"name": "done", "opcode": "async-done", "id": 9, "operandIds": [8]},
	      {"name": "fused", "opcode": "fusion", "id": 10, "calledComputationIds": [1]},
	      {"name": "send.1", "opcode": "send", "id": 11, "channelId": 5, "frontendAttributes": {"map": [
	        {"key": "_xla_send_recv_source_target_pairs", "value": "{{0,1},{1,2}}"}]}},
	      {"name": "send-done.1", "opcode": "send-done", "id": 12, "channelId": 5, "operandIds": [11]},
	      {"name": "hostsend", "opcode": "send", "id": 13, "channelId": 6, "isHostTransfer": true},
	      {"name": "mesh", "opcode": "all-gather", "id": 14, "channelId": 2, "useGlobalDeviceIds": true, "meshAxesReplicaGroupList":
	        {"mesh": {"axes": [{"name": "a", "size": 2}, {"name": "b", "size": 2}]}, "axes": [{}]}},
	      {"name": "list", "opcode": "collective-broadcast", "id": 15, "channelId": 2,
	        "collectiveDeviceList": {"replicaGroups": [{"replicaIds": [3, 0, 1, 2]}]}},
	      {"name": "v2", "opcode": "all-to-all", "id": 16, "channelId": 2,
	        "collectiveDeviceList": {"iotaReplicaGroupList": {"numReplicaGroups": 1, "numDevicesPerGroup": 4, "iotaReshapeDims": [4]}}}
	    ]}]}}`
}

func TestEveryFormOfGroupsAndEveryWrapper(t *testing.T) {
	m := mustRead(t, encode(t, sample()))
	want := `rs.inner reduce-scatter reduce-scatter phase 0 channel 3 members [[0 2] [1 3]] <nil> transfers [] <nil>
ars all-reduce-start all-reduce phase 1 channel 1 members [[0 1] [2 3]] <nil> transfers [] <nil>
ard all-reduce-done all-reduce phase 2 channel 1 members [[0 1] [2 3]] <nil> transfers [] <nil>
send.1 send send-recv phase 1 channel 5 members [] <nil> transfers [{0 1} {1 2}] <nil>
send-done.1 send-done send-recv phase 2 channel 5 members [] <nil> transfers [{0 1} {1 2}] <nil>
hostsend send send-recv phase 1 channel 6 members [] <nil> transfers [] <nil>
mesh all-gather all-gather phase 0 channel 2 members [[0 2] [1 3]] <nil> transfers [] <nil>
list collective-broadcast broadcast phase 0 channel 2 members [[3 0 1 2]] <nil> transfers [] <nil>
v2 all-to-all all-to-all phase 0 channel 2 members [[0 1 2 3]] <nil> transfers [] <nil>
async async-start reduce-scatter phase 1 channel 3 members [[0 2] [1 3]] <nil> transfers [] <nil>
done async-done reduce-scatter phase 2 channel 3 members [[0 2] [1 3]] <nil> transfers [] <nil>
fused fusion reduce-scatter phase 0 channel 3 members [[0 2] [1 3]] <nil> transfers [] <nil>
`
	if got := describe(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if m.Op("ard").Start != "ars" || m.Op("done").Start != "async" || m.Op("%fused").Via != "rs.inner" || m.Op("loop_reduce_fusion") != nil {
		t.Errorf("links: %+v", m.Ops)
	}
	if !m.Op("hostsend").HostTransfer || !m.Op("send.1").Sends {
		t.Error("send flags")
	}
	if m.Name != "jit_step" || m.ID != 7 || fmt.Sprint(m.Devices) != "[10 11 12 13]" {
		t.Errorf("module %q %d %v", m.Name, m.ID, m.Devices)
	}
}

// TestUnreadFieldsOfAnySizeAreSkipped puts a constant of 3 MiB, far above the window, between what is read.
func TestUnreadFieldsOfAnySizeAreSkipped(t *testing.T) {
	var instr []byte
	instr = protowire.AppendBytes(protowire.AppendTag(instr, 8, protowire.BytesType), make([]byte, 3<<20))
	instr = protowire.AppendFixed64(protowire.AppendTag(instr, 900, protowire.Fixed64Type), 5)
	instr = protowire.AppendFixed32(protowire.AppendTag(instr, 901, protowire.Fixed32Type), 5)
	instr = protowire.AppendString(protowire.AppendTag(instr, instrName, protowire.BytesType), "ar")
	instr = protowire.AppendString(protowire.AppendTag(instr, instrOpcode, protowire.BytesType), "all-reduce")
	wrap := func(num protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
	}
	m := mustRead(t, wrap(1, wrap(3, wrap(2, instr))))
	if len(m.Ops) != 1 || m.Op("ar") == nil {
		t.Errorf("ops %+v", m.Ops)
	}
	tooLong := protowire.AppendBytes(protowire.AppendTag(nil, instrName, protowire.BytesType), make([]byte, maxName+1))
	if _, err := read(t, wrap(1, wrap(3, wrap(2, tooLong)))); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a name of %d bytes: got %v", maxName+1, err)
	}
}

// TestRandomExplicitGroupsComeBack writes random modules with dynamicpb and reads them.
func TestRandomExplicitGroupsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n := 1 + r.IntN(40)
		perm := r.Perm(n)
		var groups []string
		var want [][]int64
		for len(perm) > 0 {
			k := 1 + r.IntN(len(perm))
			var ids []string
			var w []int64
			for _, id := range perm[:k] {
				ids = append(ids, strconv.Itoa(id))
				w = append(w, int64(id))
			}
			perm = perm[k:]
			groups = append(groups, `{"replicaIds":[`+strings.Join(ids, ",")+`]}`)
			want = append(want, w)
		}
		m := mustRead(t, encode(t, fmt.Sprintf(`{"hloModule":{"computations":[{"instructions":[{"name":"a","opcode":"all-gather",
			"channelId":1,"useGlobalDeviceIds":true,"collectiveDeviceList":{"replicaGroups":[%s]}}]}]}}`, strings.Join(groups, ","))))
		got, err := m.Members(m.Op("a"))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v %v, want %v", got, err, want)
		}
	}
}

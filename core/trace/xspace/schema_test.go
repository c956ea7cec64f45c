package xspace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema reads docs/formats/xplane.proto: enough of the language for that file.
func schema(t testing.TB) protoreflect.FileDescriptor {
	t.Helper()
	schemaOnce.Do(func() { schemaFile = readSchema(t) })
	return schemaFile
}

var (
	schemaOnce sync.Once
	schemaFile protoreflect.FileDescriptor
)

func readSchema(t testing.TB) protoreflect.FileDescriptor {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats", "xplane.proto"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := protodesc.NewFile(parseSchema(t, string(text)), nil)
	if err != nil {
		t.Fatalf("docs/formats/xplane.proto is not a valid schema: %v", err)
	}
	return f
}

var (
	messageLine = regexp.MustCompile(`^message (\w+) \{$`)
	oneofLine   = regexp.MustCompile(`^oneof (\w+) \{$`)
	mapLine     = regexp.MustCompile(`^map<int64, (\w+)> (\w+) = (\d+);$`)
	fieldLine   = regexp.MustCompile(`^(repeated )?(\w+) (\w+) = (\d+);$`)
)

var scalarTypes = map[string]descriptorpb.FieldDescriptorProto_Type{
	"int64":  descriptorpb.FieldDescriptorProto_TYPE_INT64,
	"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	"string": descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"bytes":  descriptorpb.FieldDescriptorProto_TYPE_BYTES,
}

func parseSchema(t testing.TB, text string) *descriptorpb.FileDescriptorProto {
	f := &descriptorpb.FileDescriptorProto{Name: proto.String("xplane.proto"), Package: proto.String("prlx.xplane"), Syntax: proto.String("proto3")}
	var m *descriptorpb.DescriptorProto
	inOneof := false
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "syntax ") || strings.HasPrefix(line, "package "):
		case messageLine.MatchString(line):
			m = &descriptorpb.DescriptorProto{Name: proto.String(messageLine.FindStringSubmatch(line)[1])}
			f.MessageType = append(f.MessageType, m)
		case oneofLine.MatchString(line):
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(oneofLine.FindStringSubmatch(line)[1])})
			inOneof = true
		case line == "}":
			inOneof = false
		case mapLine.MatchString(line):
			g := mapLine.FindStringSubmatch(line)
			addMap(m, g[1], g[2], g[3])
		case fieldLine.MatchString(line):
			g := fieldLine.FindStringSubmatch(line)
			fd := newField(g[3], g[4], g[2], g[1] != "")
			if inOneof {
				fd.OneofIndex = proto.Int32(int32(len(m.OneofDecl) - 1))
			}
			m.Field = append(m.Field, fd)
		default:
			t.Fatalf("xplane.proto:%d: cannot read %q", n+1, line)
		}
	}
	return f
}

func newField(name, number, typ string, repeated bool) *descriptorpb.FieldDescriptorProto {
	n, _ := strconv.Atoi(number)
	fd := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(int32(n)), JsonName: proto.String(name)}
	fd.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
	if repeated {
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if s, ok := scalarTypes[typ]; ok {
		fd.Type = s.Enum()
		return fd
	}
	fd.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	fd.TypeName = proto.String(".prlx.xplane." + typ)
	return fd
}

func addMap(m *descriptorpb.DescriptorProto, value, name, number string) {
	entry := ""
	for _, part := range strings.Split(name, "_") {
		entry += strings.ToUpper(part[:1]) + part[1:]
	}
	entry += "Entry"
	m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
		Name:    proto.String(entry),
		Field:   []*descriptorpb.FieldDescriptorProto{newField("key", "1", "int64", false), newField("value", "2", value, false)},
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	})
	m.Field = append(m.Field, newField(name, number, m.GetName()+"."+entry, true))
}

// node is a message decoded by the schema: the slow and obvious reader that the codec is compared with.
type node struct{ protoreflect.Message }

func decode(t testing.TB, b []byte) node {
	t.Helper()
	m := dynamicpb.NewMessage(schema(t).Messages().ByName("XSpace"))
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("the protobuf library does not read it: %v", err)
	}
	return node{m}
}

func (n node) fd(name string) protoreflect.FieldDescriptor {
	return n.Descriptor().Fields().ByName(protoreflect.Name(name))
}
func (n node) get(name string) protoreflect.Value { return n.Get(n.fd(name)) }
func (n node) int(name string) int64              { return n.get(name).Int() }
func (n node) str(name string) string             { return n.get(name).String() }
func (n node) has(name string) bool               { return n.Has(n.fd(name)) }
func (n node) setInt(name string, v int64)        { n.Set(n.fd(name), protoreflect.ValueOfInt64(v)) }

func (n node) setStr(name, v string) { n.Set(n.fd(name), protoreflect.ValueOfString(v)) }

// list returns the messages of a repeated field.
func (n node) list(name string) []node {
	l := n.get(name).List()
	out := make([]node, l.Len())
	for i := range out {
		out[i] = node{l.Get(i).Message()}
	}
	return out
}

// setList replaces the messages of a repeated field.
func (n node) setList(name string, items []node) {
	n.Clear(n.fd(name))
	l := n.Mutable(n.fd(name)).List()
	for _, it := range items {
		l.Append(protoreflect.ValueOfMessage(it.Message))
	}
}

// add appends an empty message to a repeated field and returns it.
func (n node) add(name string) node {
	return node{n.Mutable(n.fd(name)).List().AppendMutable().Message()}
}

// names returns a table of metadata names by id.
func (n node) names(table string) map[int64]string {
	out := map[int64]string{}
	n.get(table).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		out[k.Int()] = node{v.Message()}.str("name")
		return true
	})
	return out
}

// difference names the first place in which two messages differ, "" when they are equal.
func difference(want, got node) string {
	if proto.Equal(want.Interface(), got.Interface()) {
		return ""
	}
	fields := want.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		w, g := want.Get(fd), got.Get(fd)
		if want.Has(fd) == got.Has(fd) && w.Equal(g) {
			continue
		}
		if !fd.IsList() || fd.Message() == nil {
			return fmt.Sprintf("%s: got %v (%v), want %v (%v)", fd.Name(), g, got.Has(fd), w, want.Has(fd))
		}
		if w.List().Len() != g.List().Len() {
			return fmt.Sprintf("%s: got %d, want %d", fd.Name(), g.List().Len(), w.List().Len())
		}
		for k := range w.List().Len() {
			if d := difference(node{w.List().Get(k).Message()}, node{g.List().Get(k).Message()}); d != "" {
				return fmt.Sprintf("%s[%d].%s", fd.Name(), k, d)
			}
		}
	}
	return fmt.Sprintf("unknown fields: got %x, want %x", got.GetUnknown(), want.GetUnknown())
}

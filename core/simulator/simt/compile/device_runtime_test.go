package compile

import (
	"context"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

func TestLaunchesFromTheDeviceAreRefusedByName(t *testing.T) {
	m, err := ptx.Read(context.Background(), "k.ptx", []byte(".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) cudaDeviceSynchronize();\n"+
		".visible .entry k()\n{\n\t.param .b32 r0;\n\tcall (r0), cudaDeviceSynchronize, ();\n\tret;\n}\n"))
	if err == nil {
		_, err = Kernel(target.SM80, "k.ptx", m, m.Functions[1])
	}
	if err == nil || !strings.Contains(err.Error(), "launches from the device are not simulated (cudaDeviceSynchronize)") {
		t.Errorf("%v", err)
	}
}

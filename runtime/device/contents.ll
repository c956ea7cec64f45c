; Digests of what memory holds, for AMD GPUs: contents.ptx as LLVM IR, which Triton's last stages make machine code of. Block (x, y) adds up
; pieces of the memory of row y, 8 bytes each. Every lane adds what it found; LLVM adds up a wave's lanes first.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @prlx_contents(ptr addrspace(1) %rows, i32 %into) #0 {
begin:
  %cx = call i32 @llvm.amdgcn.workgroup.id.x()
  %cy = call i32 @llvm.amdgcn.workgroup.id.y()
  %tx = call i32 @llvm.amdgcn.workitem.id.x()
  %told = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %gx = load i32, ptr addrspace(4) %told, align 4
  %cy64 = zext i32 %cy to i64
  %down = mul i64 %cy64, 64
  %row = getelementptr i8, ptr addrspace(1) %rows, i64 %down
  %at = load i64, ptr addrspace(1) %row, align 8
  %psize = getelementptr i8, ptr addrspace(1) %row, i64 8
  %size = load i64, ptr addrspace(1) %psize, align 8
  %pcounted = getelementptr i8, ptr addrspace(1) %row, i64 16
  %counted = load i64, ptr addrspace(1) %pcounted, align 8
  %counts = icmp ne i64 %counted, 0
  %low = and i64 %at, 7
  %aligned = icmp eq i64 %low, 0
  %cx64 = zext i32 %cx to i64
  %tx64 = zext i32 %tx to i64
  %gx64 = zext i32 %gx to i64
  %b0 = mul i64 %cx64, 256
  %b1 = add i64 %b0, %tx64
  %first = mul i64 %b1, 8
  %stride = mul i64 %gx64, 2048
  %memory = inttoptr i64 %at to ptr addrspace(1)
  br label %piece

piece:
  %offset = phi i64 [ %first, %begin ], [ %further, %hash ]
  %digest = phi i64 [ 0, %begin ], [ %digested, %hash ]
  %addresses = phi i64 [ 0, %begin ], [ %addressed, %hash ]
  %done = icmp uge i64 %offset, %size
  br i1 %done, label %sum, label %some

some:
  %p = getelementptr i8, ptr addrspace(1) %memory, i64 %offset
  %left = sub i64 %size, %offset
  %short = icmp ult i64 %left, 8
  %n = select i1 %short, i64 %left, i64 8
  %whole = icmp eq i64 %n, 8
  %easy = and i1 %whole, %aligned
  br i1 %easy, label %word, label %byte

word:
  %w8 = load i64, ptr addrspace(1) %p, align 8
  br label %hash

byte:
  %k = phi i64 [ %n, %some ], [ %k1, %byte ]
  %got = phi i64 [ 0, %some ], [ %got2, %byte ]
  %k1 = sub i64 %k, 1
  %pb = getelementptr i8, ptr addrspace(1) %p, i64 %k1
  %b = load i8, ptr addrspace(1) %pb, align 1
  %b64 = zext i8 %b to i64
  %got1 = shl i64 %got, 8
  %got2 = or i64 %got1, %b64
  %more = icmp ne i64 %k1, 0
  br i1 %more, label %byte, label %hash

hash:
  %w = phi i64 [ %w8, %word ], [ %got2, %byte ]
  %bit = shl i64 1, %n
  %bits = sub i64 %bit, 1
  %m0 = mul i64 %offset, -7046029288634856825
  %m1 = mul i64 %w, -4417276706812531889
  %m2 = mul i64 %bits, -8796714831421723037
  %h0 = add i64 %m0, %m1
  %h1 = add i64 %h0, %m2
  %s1 = lshr i64 %h1, 32
  %h2 = xor i64 %h1, %s1
  %h3 = mul i64 %h2, 1609587929392839161
  %s2 = lshr i64 %h3, 29
  %h4 = xor i64 %h3, %s2
  %digested = add i64 %digest, %h4
  %upper = lshr i64 %w, 32
  %u0 = icmp ne i64 %upper, 0
  %u1 = icmp ult i64 %upper, 65536
  %u2 = and i1 %u0, %u1
  %u3 = and i1 %u2, %whole
  %u4 = and i1 %u3, %counts
  %one = select i1 %u4, i64 1, i64 0
  %addressed = add i64 %addresses, %one
  %further = add i64 %offset, %stride
  br label %piece

sum:
  %into64 = zext i32 %into to i64
  %result = getelementptr i8, ptr addrspace(1) %row, i64 %into64
  %seconds = getelementptr i8, ptr addrspace(1) %result, i64 8
  %old0 = atomicrmw add ptr addrspace(1) %result, i64 %digest syncscope("agent") monotonic, align 8
  %old1 = atomicrmw add ptr addrspace(1) %seconds, i64 %addresses syncscope("agent") monotonic, align 8
  ret void
}

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "uniform-work-group-size"="true" }

!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}

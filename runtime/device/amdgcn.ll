; The recorder for AMD GPUs, waves of 32 and of 64 lanes, appended to a module by core/kernel/llir together with event.ll.
;
; Masks are taken before anything is decided, and the lowest lane that is there writes. What a kernel is told implicitly (the size of its
; grid and of its blocks) stands behind its arguments, as code objects of version 5 have it.

; The number of this warp in the launch: warps of a block follow each other, and blocks follow each other by x, y, z.
define internal i64 @prlx_warp_number() nounwind noinline {
prlx_begin:
  %prlx_cx = call i32 @llvm.amdgcn.workgroup.id.x()
  %prlx_cy = call i32 @llvm.amdgcn.workgroup.id.y()
  %prlx_cz = call i32 @llvm.amdgcn.workgroup.id.z()
  %prlx_tx = call i32 @llvm.amdgcn.workitem.id.x()
  %prlx_lanes = call i32 @llvm.amdgcn.wavefrontsize()
  %prlx_told = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %prlx_gx = load i32, ptr addrspace(4) %prlx_told, align 4
  %prlx_pgy = getelementptr i8, ptr addrspace(4) %prlx_told, i64 4
  %prlx_gy = load i32, ptr addrspace(4) %prlx_pgy, align 4
  %prlx_pnx = getelementptr i8, ptr addrspace(4) %prlx_told, i64 12
  %prlx_nx = load i16, ptr addrspace(4) %prlx_pnx, align 2
  %prlx_nx32 = zext i16 %prlx_nx to i32
  %prlx_t0 = udiv i32 %prlx_tx, %prlx_lanes
  %prlx_inblock = zext i32 %prlx_t0 to i64
  %prlx_n0 = add i32 %prlx_nx32, %prlx_lanes
  %prlx_n1 = sub i32 %prlx_n0, 1
  %prlx_n2 = udiv i32 %prlx_n1, %prlx_lanes
  %prlx_perblock = zext i32 %prlx_n2 to i64
  %prlx_cx64 = zext i32 %prlx_cx to i64
  %prlx_cy64 = zext i32 %prlx_cy to i64
  %prlx_cz64 = zext i32 %prlx_cz to i64
  %prlx_gx64 = zext i32 %prlx_gx to i64
  %prlx_gy64 = zext i32 %prlx_gy to i64
  %prlx_c0 = mul i64 %prlx_cz64, %prlx_gy64
  %prlx_c1 = add i64 %prlx_c0, %prlx_cy64
  %prlx_c2 = mul i64 %prlx_c1, %prlx_gx64
  %prlx_c3 = add i64 %prlx_c2, %prlx_cx64
  %prlx_c4 = mul i64 %prlx_c3, %prlx_perblock
  %prlx_warp = add i64 %prlx_c4, %prlx_inblock
  ret i64 %prlx_warp
}

define internal void @prlx_record_decision(ptr addrspace(1) %prlx_arena, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value) convergent nounwind noinline {
prlx_begin:
  %prlx_active = call i64 @llvm.amdgcn.ballot.i64(i1 true) convergent
  %prlx_taken = call i64 @llvm.amdgcn.ballot.i64(i1 %prlx_holds) convergent
  %prlx_a0 = trunc i64 %prlx_active to i32
  %prlx_a1 = lshr i64 %prlx_active, 32
  %prlx_a2 = trunc i64 %prlx_a1 to i32
  %prlx_b0 = call i32 @llvm.amdgcn.mbcnt.lo(i32 %prlx_a0, i32 0)
  %prlx_below = call i32 @llvm.amdgcn.mbcnt.hi(i32 %prlx_a2, i32 %prlx_b0)
  %prlx_first = icmp eq i32 %prlx_below, 0
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  %prlx_leads = and i1 %prlx_first, %prlx_there
  br i1 %prlx_leads, label %prlx_lead, label %prlx_end

prlx_lead:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_warp = call i64 @prlx_warp_number() nounwind
  call void @prlx_record_event(ptr addrspace(1) %prlx_arena, i64 %prlx_warp, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; Of a switch, the lanes that go where the lowest goes are those that it takes.
define internal void @prlx_record_choice(ptr addrspace(1) %prlx_arena, i32 %prlx_site, i64 %prlx_value) convergent nounwind noinline {
prlx_begin:
  %prlx_low = trunc i64 %prlx_value to i32
  %prlx_shifted = lshr i64 %prlx_value, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_low) convergent
  %prlx_high0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_high) convergent
  %prlx_samelow = icmp eq i32 %prlx_low, %prlx_low0
  %prlx_samehigh = icmp eq i32 %prlx_high, %prlx_high0
  %prlx_same = and i1 %prlx_samelow, %prlx_samehigh
  call void @prlx_record_decision(ptr addrspace(1) %prlx_arena, i32 %prlx_site, i1 %prlx_same, i64 %prlx_value) convergent nounwind
  ret void
}

declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.wavefrontsize()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

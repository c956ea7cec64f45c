; The recorder for AMD GPUs, waves of 32 and of 64 lanes, appended to a module by core/recording/llir together with event.ll.
;
; Masks are taken before anything is decided, and the lowest lane that is there writes. What a kernel is told implicitly (the size of its
; grid and of its blocks) stands behind its arguments, as code objects of version 5 have it.

; The number of this warp in the launch: warps of a block follow each other, and blocks follow each other by x, y, z.
define internal i64 @prlx_warp_number() nounwind {
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

; How many of some lanes are below this one.
define internal i32 @prlx_below(i64 %prlx_lanes) alwaysinline nounwind {
prlx_begin:
  %prlx_a0 = trunc i64 %prlx_lanes to i32
  %prlx_a1 = lshr i64 %prlx_lanes, 32
  %prlx_a2 = trunc i64 %prlx_a1 to i32
  %prlx_b0 = call i32 @llvm.amdgcn.mbcnt.lo(i32 %prlx_a0, i32 0)
  %prlx_b1 = call i32 @llvm.amdgcn.mbcnt.hi(i32 %prlx_a2, i32 %prlx_b0)
  ret i32 %prlx_b1
}

; 0 where something is recorded; else all bits are set, so that no lane leads.
define internal i32 @prlx_lower(ptr addrspace(1) %prlx_entry) alwaysinline nounwind {
prlx_begin:
  %prlx_none = icmp eq ptr addrspace(1) %prlx_entry, null
  %prlx_lower = select i1 %prlx_none, i32 -1, i32 0
  ret i32 %prlx_lower
}

define internal void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  %prlx_active = call i64 @llvm.amdgcn.ballot.i64(i1 true) convergent
  %prlx_taken = call i64 @llvm.amdgcn.ballot.i64(i1 %prlx_holds) convergent
  %prlx_below = call i32 @prlx_below(i64 %prlx_active) nounwind
  %prlx_lower = call i32 @prlx_lower(ptr addrspace(1) %prlx_entry) nounwind
  %prlx_before = or i32 %prlx_below, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_before, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_end

prlx_lead:
  call void @prlx_keep_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; An event of a kernel that keeps counts and hashes alone.
define internal void @prlx_digest_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_lower, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value) alwaysinline convergent nounwind {
prlx_begin:
  %prlx_active = call i64 @llvm.amdgcn.ballot.i64(i1 true) convergent
  %prlx_taken = call i64 @llvm.amdgcn.ballot.i64(i1 %prlx_holds) convergent
  %prlx_below = call i32 @prlx_below(i64 %prlx_active) nounwind
  %prlx_before = or i32 %prlx_below, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_before, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_end

prlx_lead:
  %prlx_m0 = mul i64 %prlx_taken, 1609587929392839161
  %prlx_masks = add i64 %prlx_m0, %prlx_active
  call void @prlx_digest_event(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_masks, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; Of a switch, the lanes that go where the lowest goes are those that it takes.
define internal void @prlx_record_choice(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  %prlx_same = call i1 @prlx_goes_along(i64 %prlx_value) convergent nounwind
  call void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_same, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind
  ret void
}

; An event like that of prlx_record_decision. Every lane learns what its operands are kept under, 0 where they are not.
define internal i64 @prlx_record_opening(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  %prlx_active = call i64 @llvm.amdgcn.ballot.i64(i1 true) convergent
  %prlx_taken = call i64 @llvm.amdgcn.ballot.i64(i1 %prlx_holds) convergent
  %prlx_below = call i32 @prlx_below(i64 %prlx_active) nounwind
  %prlx_lower = call i32 @prlx_lower(ptr addrspace(1) %prlx_entry) nounwind
  %prlx_before = or i32 %prlx_below, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_before, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_share

prlx_lead:
  %prlx_opened = call i64 @prlx_open_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  br label %prlx_share

prlx_share:
  %prlx_token = phi i64 [ 0, %prlx_begin ], [ %prlx_opened, %prlx_lead ]
  %prlx_low = trunc i64 %prlx_token to i32
  %prlx_shifted = lshr i64 %prlx_token, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_low) convergent
  %prlx_high0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_high) convergent
  %prlx_low64 = zext i32 %prlx_low0 to i64
  %prlx_high64 = zext i32 %prlx_high0 to i64
  %prlx_up = shl i64 %prlx_high64, 32
  %prlx_shared = or i64 %prlx_up, %prlx_low64
  ret i64 %prlx_shared
}

; The operands of every lane at an event that was opened.
define internal void @prlx_record_operands(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_token, i64 %prlx_lhs, i64 %prlx_rhs, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  %prlx_opened = icmp ne i64 %prlx_token, 0
  br i1 %prlx_opened, label %prlx_go, label %prlx_end

prlx_go:
  %prlx_active = call i64 @llvm.amdgcn.ballot.i64(i1 true) convergent
  %prlx_below = call i32 @prlx_below(i64 %prlx_active) nounwind
  %prlx_first = icmp eq i32 %prlx_below, 0
  br i1 %prlx_first, label %prlx_lead, label %prlx_share

prlx_lead:
  %prlx_claimed = call i64 @prlx_claim_operands(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_token, i64 %prlx_active) nounwind
  br label %prlx_share

prlx_share:
  %prlx_place = phi i64 [ 0, %prlx_go ], [ %prlx_claimed, %prlx_lead ]
  %prlx_low = trunc i64 %prlx_place to i32
  %prlx_shifted = lshr i64 %prlx_place, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_low) convergent
  %prlx_high0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_high) convergent
  %prlx_low64 = zext i32 %prlx_low0 to i64
  %prlx_high64 = zext i32 %prlx_high0 to i64
  %prlx_up = shl i64 %prlx_high64, 32
  %prlx_at = or i64 %prlx_up, %prlx_low64
  %prlx_has = icmp ne i64 %prlx_at, 0
  br i1 %prlx_has, label %prlx_write, label %prlx_end

prlx_write:
  %prlx_l0 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %prlx_lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %prlx_l0)
  %prlx_lane64 = zext i32 %prlx_lane to i64
  %prlx_o0 = shl i64 %prlx_lane64, 4
  %prlx_o1 = add i64 %prlx_o0, %prlx_at
  %prlx_own = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_o1
  %prlx_v0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_lhs, i32 0
  %prlx_v1 = insertelement <2 x i64> %prlx_v0, i64 %prlx_rhs, i32 1
  store <2 x i64> %prlx_v1, ptr addrspace(1) %prlx_own, align 16
  br label %prlx_end

prlx_end:
  ret void
}

; Whether a lane goes where the lowest goes.
define internal i1 @prlx_goes_along(i64 %prlx_value) alwaysinline convergent nounwind {
prlx_begin:
  %prlx_low = trunc i64 %prlx_value to i32
  %prlx_shifted = lshr i64 %prlx_value, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_low) convergent
  %prlx_high0 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %prlx_high) convergent
  %prlx_samelow = icmp eq i32 %prlx_low, %prlx_low0
  %prlx_samehigh = icmp eq i32 %prlx_high, %prlx_high0
  %prlx_same = and i1 %prlx_samelow, %prlx_samehigh
  ret i1 %prlx_same
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

; The recorder for NVIDIA GPUs, appended to a module by core/recording/llir together with event.ll.
;
; Masks are taken before anything is decided, and the lowest lane that is there writes.

; The number of this warp in the launch: warps of a block follow each other, and blocks follow each other by x, y, z. A grid has less than
; 2^16 blocks by y and by z, so that those count in 32 bits; the threads of a block of Triton lie along x.
define internal i64 @prlx_warp_number() nounwind {
prlx_begin:
  %prlx_cx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %prlx_cy = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %prlx_cz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %prlx_gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %prlx_gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %prlx_tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %prlx_nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %prlx_t0 = lshr i32 %prlx_tx, 5
  %prlx_inblock = zext i32 %prlx_t0 to i64
  %prlx_n0 = add i32 %prlx_nx, 31
  %prlx_n1 = lshr i32 %prlx_n0, 5
  %prlx_perblock = zext i32 %prlx_n1 to i64
  %prlx_cx64 = zext i32 %prlx_cx to i64
  %prlx_gx64 = zext i32 %prlx_gx to i64
  %prlx_b0 = mul i32 %prlx_cz, %prlx_gy
  %prlx_b1 = add i32 %prlx_b0, %prlx_cy
  %prlx_b1w = zext i32 %prlx_b1 to i64
  %prlx_b2 = mul i64 %prlx_b1w, %prlx_gx64
  %prlx_b3 = add i64 %prlx_b2, %prlx_cx64
  %prlx_b4 = mul i64 %prlx_b3, %prlx_perblock
  %prlx_warp = add i64 %prlx_b4, %prlx_inblock
  ret i64 %prlx_warp
}

; Which lanes of a warp are below this one; all where nothing is recorded, so that none leads.
define internal i32 @prlx_lower(ptr addrspace(1) %prlx_entry) alwaysinline nounwind {
prlx_begin:
  %prlx_mask = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %prlx_none = icmp eq ptr addrspace(1) %prlx_entry, null
  %prlx_lower = select i1 %prlx_none, i32 -1, i32 %prlx_mask
  ret i32 %prlx_lower
}

define internal void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  %prlx_active = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  %prlx_taken = call i32 @llvm.nvvm.vote.ballot.sync(i32 %prlx_active, i1 %prlx_holds)
  %prlx_lower = call i32 @prlx_lower(ptr addrspace(1) %prlx_entry) nounwind
  %prlx_below = and i32 %prlx_active, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_below, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_end

prlx_lead:
  %prlx_active64 = zext i32 %prlx_active to i64
  %prlx_taken64 = zext i32 %prlx_taken to i64
  call void @prlx_keep_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active64, i64 %prlx_taken64, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; An event of a kernel that keeps counts and hashes alone.
define internal void @prlx_digest_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_lower, i32 %prlx_site, i1 %prlx_holds, i64 %prlx_value) alwaysinline convergent nounwind {
prlx_begin:
  %prlx_active = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  %prlx_taken = call i32 @llvm.nvvm.vote.ballot.sync(i32 %prlx_active, i1 %prlx_holds)
  %prlx_below = and i32 %prlx_active, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_below, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_end

prlx_lead:
  %prlx_masks = call i64 asm "mov.b64 $0, {$1, $2};", "=l,r,r"(i32 %prlx_active, i32 %prlx_taken) nounwind
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
  %prlx_active = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  %prlx_taken = call i32 @llvm.nvvm.vote.ballot.sync(i32 %prlx_active, i1 %prlx_holds)
  %prlx_lower = call i32 @prlx_lower(ptr addrspace(1) %prlx_entry) nounwind
  %prlx_below = and i32 %prlx_active, %prlx_lower
  %prlx_leads = icmp eq i32 %prlx_below, 0
  br i1 %prlx_leads, label %prlx_lead, label %prlx_share

prlx_lead:
  %prlx_active64 = zext i32 %prlx_active to i64
  %prlx_taken64 = zext i32 %prlx_taken to i64
  %prlx_opened = call i64 @prlx_open_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active64, i64 %prlx_taken64, i64 %prlx_value) nounwind
  br label %prlx_share

prlx_share:
  %prlx_token = phi i64 [ 0, %prlx_begin ], [ %prlx_opened, %prlx_lead ]
  %prlx_leader = call i32 @llvm.cttz.i32(i32 %prlx_active, i1 false)
  %prlx_low = trunc i64 %prlx_token to i32
  %prlx_shifted = lshr i64 %prlx_token, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_low, i32 %prlx_leader, i32 31)
  %prlx_high0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_high, i32 %prlx_leader, i32 31)
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
  %prlx_active = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  %prlx_lower = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %prlx_below = and i32 %prlx_active, %prlx_lower
  %prlx_first = icmp eq i32 %prlx_below, 0
  br i1 %prlx_first, label %prlx_lead, label %prlx_share

prlx_lead:
  %prlx_active64 = zext i32 %prlx_active to i64
  %prlx_claimed = call i64 @prlx_claim_operands(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_token, i64 %prlx_active64) nounwind
  br label %prlx_share

prlx_share:
  %prlx_place = phi i64 [ 0, %prlx_go ], [ %prlx_claimed, %prlx_lead ]
  %prlx_leader = call i32 @llvm.cttz.i32(i32 %prlx_active, i1 false)
  %prlx_low = trunc i64 %prlx_place to i32
  %prlx_shifted = lshr i64 %prlx_place, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_low, i32 %prlx_leader, i32 31)
  %prlx_high0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_high, i32 %prlx_leader, i32 31)
  %prlx_low64 = zext i32 %prlx_low0 to i64
  %prlx_high64 = zext i32 %prlx_high0 to i64
  %prlx_up = shl i64 %prlx_high64, 32
  %prlx_at = or i64 %prlx_up, %prlx_low64
  %prlx_has = icmp ne i64 %prlx_at, 0
  br i1 %prlx_has, label %prlx_write, label %prlx_end

prlx_write:
  %prlx_lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
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
  %prlx_active = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  %prlx_leader = call i32 @llvm.cttz.i32(i32 %prlx_active, i1 false)
  %prlx_low = trunc i64 %prlx_value to i32
  %prlx_shifted = lshr i64 %prlx_value, 32
  %prlx_high = trunc i64 %prlx_shifted to i32
  %prlx_low0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_low, i32 %prlx_leader, i32 31)
  %prlx_high0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %prlx_active, i32 %prlx_high, i32 %prlx_leader, i32 31)
  %prlx_samelow = icmp eq i32 %prlx_low, %prlx_low0
  %prlx_samehigh = icmp eq i32 %prlx_high, %prlx_high0
  %prlx_same = and i1 %prlx_samelow, %prlx_samehigh
  ret i1 %prlx_same
}

declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()

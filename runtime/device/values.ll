; Operands of every lane at events that are kept: which events have them, and where they lie. docs/formats/arena.md has the layout.

; What the operands of an event are kept under: the number that it is kept as, 0 where they are not kept. Where a depth is asked for, a warp
; keeps them at the first visits of each site.
define internal i64 @prlx_open_operands(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_kept_as) nounwind noinline {
prlx_begin:
  %prlx_proom = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 232
  %prlx_room = load i64, ptr addrspace(1) %prlx_proom, align 8
  %prlx_asked = icmp ne i64 %prlx_room, 0
  %prlx_kept = icmp ne i64 %prlx_kept_as, 0
  %prlx_may = and i1 %prlx_asked, %prlx_kept
  br i1 %prlx_may, label %prlx_deep, label %prlx_none

prlx_deep:
  %prlx_pdepth = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 248
  %prlx_depth = load i32, ptr addrspace(1) %prlx_pdepth, align 4
  %prlx_every = icmp eq i32 %prlx_depth, 0
  br i1 %prlx_every, label %prlx_all, label %prlx_listed

prlx_all:
  ret i64 %prlx_kept_as

prlx_listed:
  %prlx_psites = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 200
  %prlx_sites = load i32, ptr addrspace(1) %prlx_psites, align 4
  %prlx_known = icmp ult i32 %prlx_site, %prlx_sites
  br i1 %prlx_known, label %prlx_count, label %prlx_none

prlx_count:
  %prlx_pvisits = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 240
  %prlx_visits = load i64, ptr addrspace(1) %prlx_pvisits, align 8
  %prlx_index = call i64 @prlx_index(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry) nounwind
  %prlx_sites64 = zext i32 %prlx_sites to i64
  %prlx_site64 = zext i32 %prlx_site to i64
  %prlx_n0 = mul i64 %prlx_index, %prlx_sites64
  %prlx_n1 = add i64 %prlx_n0, %prlx_site64
  %prlx_n2 = shl i64 %prlx_n1, 2
  %prlx_n3 = add i64 %prlx_n2, %prlx_visits
  %prlx_pvisit = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_n3
  %prlx_visit = atomicrmw add ptr addrspace(1) %prlx_pvisit, i32 1 syncscope("agent") monotonic
  %prlx_early = icmp ult i32 %prlx_visit, %prlx_depth
  br i1 %prlx_early, label %prlx_all, label %prlx_none

prlx_none:
  ret i64 0
}

; Where the lanes of an event write their operands, 0 nowhere: the next place of all warps, or of rings that of the warp.
define internal i64 @prlx_claim_operands(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_token, i64 %prlx_active) nounwind noinline {
prlx_begin:
  %prlx_index = call i64 @prlx_index(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry) nounwind
  %prlx_proom = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 232
  %prlx_room = load i64, ptr addrspace(1) %prlx_proom, align 8
  %prlx_some = icmp ne i64 %prlx_room, 0
  br i1 %prlx_some, label %prlx_how, label %prlx_none

prlx_how:
  %prlx_pmode = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 80
  %prlx_mode = load i32, ptr addrspace(1) %prlx_pmode, align 4
  %prlx_m0 = and i32 %prlx_mode, 2
  %prlx_turns = icmp ne i32 %prlx_m0, 0
  br i1 %prlx_turns, label %prlx_ring, label %prlx_next

prlx_ring:
  %prlx_pturns = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 48
  %prlx_turn = atomicrmw add ptr addrspace(1) %prlx_pturns, i64 1 syncscope("agent") monotonic
  %prlx_turn32 = trunc i64 %prlx_turn to i32
  %prlx_room32 = trunc i64 %prlx_room to i32
  %prlx_r00 = urem i32 %prlx_turn32, %prlx_room32
  %prlx_r0 = zext i32 %prlx_r00 to i64
  %prlx_r1 = mul i64 %prlx_index, %prlx_room
  %prlx_r2 = add i64 %prlx_r1, %prlx_r0
  br label %prlx_head

prlx_next:
  %prlx_pcursor = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 168
  %prlx_claimed = atomicrmw add ptr addrspace(1) %prlx_pcursor, i64 1 syncscope("agent") monotonic
  %prlx_fits = icmp ult i64 %prlx_claimed, %prlx_room
  br i1 %prlx_fits, label %prlx_head, label %prlx_none

prlx_head:
  %prlx_number = phi i64 [ %prlx_turn, %prlx_ring ], [ %prlx_claimed, %prlx_next ]
  %prlx_slot = phi i64 [ %prlx_r2, %prlx_ring ], [ %prlx_claimed, %prlx_next ]
  %prlx_plane = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 252
  %prlx_lanes = load i32, ptr addrspace(1) %prlx_plane, align 4
  %prlx_pbase = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 224
  %prlx_base = load i64, ptr addrspace(1) %prlx_pbase, align 8
  %prlx_l0 = add i32 %prlx_lanes, 2
  %prlx_l1 = zext i32 %prlx_l0 to i64
  %prlx_l2 = shl i64 %prlx_l1, 4
  %prlx_l3 = mul i64 %prlx_l2, %prlx_slot
  %prlx_at = add i64 %prlx_l3, %prlx_base
  %prlx_phead = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_at
  %prlx_h0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_token, i32 0
  %prlx_h1 = insertelement <2 x i64> %prlx_h0, i64 %prlx_active, i32 1
  store <2 x i64> %prlx_h1, ptr addrspace(1) %prlx_phead, align 16
  %prlx_phead16 = getelementptr i8, ptr addrspace(1) %prlx_phead, i64 16
  %prlx_site64 = zext i32 %prlx_site to i64
  %prlx_n0 = add i64 %prlx_number, 1
  %prlx_n1 = shl i64 %prlx_n0, 32
  %prlx_n2 = or i64 %prlx_n1, %prlx_site64
  %prlx_h2 = insertelement <2 x i64> zeroinitializer, i64 %prlx_index, i32 0
  %prlx_h3 = insertelement <2 x i64> %prlx_h2, i64 %prlx_n2, i32 1
  store <2 x i64> %prlx_h3, ptr addrspace(1) %prlx_phead16, align 16
  %prlx_lanes_at = add i64 %prlx_at, 32
  ret i64 %prlx_lanes_at

prlx_none:
  ret i64 0
}

; An event that is opened for operands: its number among those that are kept, where its operands are, too.
define internal i64 @prlx_open_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_pmode = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 80
  %prlx_mode = load i32, ptr addrspace(1) %prlx_pmode, align 4
  %prlx_m0 = and i32 %prlx_mode, 8
  %prlx_every = icmp ne i32 %prlx_m0, 0
  br i1 %prlx_every, label %prlx_plain, label %prlx_number

prlx_plain:
  call void @prlx_keep_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  ret i64 0

prlx_number:
  %prlx_kept_as = call i64 @prlx_record_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  %prlx_opened = call i64 @prlx_open_operands(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_kept_as) nounwind
  ret i64 %prlx_opened
}

; An event of the lanes that store, which is opened for their operands; 0 for the others.
define internal i64 @prlx_record_opening_access(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_does, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  br i1 %prlx_does, label %prlx_do, label %prlx_none

prlx_do:
  %prlx_token = call i64 @prlx_record_opening(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 true, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind
  ret i64 %prlx_token

prlx_none:
  ret i64 0
}

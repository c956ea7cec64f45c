; The part of the recorder that all GPUs share: who a warp is, and how one lane writes one event of its warp. docs/formats/arena.md says what
; lies where.
;
; Lanes of one warp may come here apart from each other and at the same time: a warp's events are counted, placed and chained by atomics
; alone, and nobody waits for anybody.

; The entry of this warp, which a kernel asks for once, where it begins: null where nothing is recorded, that of the header where there is none.
; It learns where the sums of the warp begin, null where there are fewer than the kernel has statements.
define internal ptr addrspace(1) @prlx_enter(ptr addrspace(1) %prlx_arena, i32 %prlx_needed) alwaysinline nounwind {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_warp = call i64 @prlx_warp_number() nounwind
  %prlx_pfirst = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 64
  %prlx_first = load i64, ptr addrspace(1) %prlx_pfirst, align 8
  %prlx_pwanted = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 72
  %prlx_wanted = load i64, ptr addrspace(1) %prlx_pwanted, align 8
  %prlx_index = sub i64 %prlx_warp, %prlx_first
  %prlx_asked = icmp ult i64 %prlx_index, %prlx_wanted
  br i1 %prlx_asked, label %prlx_find, label %prlx_end

prlx_find:
  %prlx_poutside = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 256
  %prlx_pwarps = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 32
  %prlx_warps = load i64, ptr addrspace(1) %prlx_pwarps, align 8
  %prlx_inside = icmp ult i64 %prlx_index, %prlx_warps
  br i1 %prlx_inside, label %prlx_own, label %prlx_end

prlx_own:
  %prlx_pdirectory = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 24
  %prlx_directory = load i64, ptr addrspace(1) %prlx_pdirectory, align 8
  %prlx_e0 = shl i64 %prlx_index, 6
  %prlx_e1 = add i64 %prlx_e0, %prlx_directory
  %prlx_entry = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_e1
  %prlx_sums_wanted = icmp ne i32 %prlx_needed, 0
  br i1 %prlx_sums_wanted, label %prlx_sums, label %prlx_end

prlx_sums:
  %prlx_pslots = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 104
  %prlx_slots = load i32, ptr addrspace(1) %prlx_pslots, align 4
  %prlx_psums = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 96
  %prlx_sums0 = load i64, ptr addrspace(1) %prlx_psums, align 8
  %prlx_enough = icmp uge i32 %prlx_slots, %prlx_needed
  %prlx_slots64 = zext i32 %prlx_slots to i64
  %prlx_q0 = mul i64 %prlx_index, %prlx_slots64
  %prlx_q1 = mul i64 %prlx_q0, 40
  %prlx_q2 = add i64 %prlx_q1, %prlx_sums0
  %prlx_row0 = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_q2
  %prlx_row = select i1 %prlx_enough, ptr addrspace(1) %prlx_row0, ptr addrspace(1) null
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  store ptr addrspace(1) %prlx_row, ptr addrspace(1) %prlx_prow, align 8
  br label %prlx_end

prlx_end:
  %prlx_found = phi ptr addrspace(1) [ null, %prlx_begin ], [ null, %prlx_look ], [ null, %prlx_which ], [ %prlx_poutside, %prlx_find ], [ %prlx_entry, %prlx_own ], [ %prlx_entry, %prlx_sums ]
  ret ptr addrspace(1) %prlx_found
}

; An event of a kernel that keeps counts and hashes alone. The hash is that of what is stored, over what an event says and its number.
define internal void @prlx_digest_event(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_masks, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_ptotal = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 8
  %prlx_number = atomicrmw add ptr addrspace(1) %prlx_ptotal, i64 1 syncscope("agent") monotonic
  %prlx_site64 = zext i32 %prlx_site to i64
  %prlx_h0 = mul i64 %prlx_site64, -8796714831421723037
  %prlx_h1 = mul i64 %prlx_masks, -4417276706812531889
  %prlx_h2 = add i64 %prlx_h1, %prlx_h0
  %prlx_h3 = mul i64 %prlx_value, -7046029288634856825
  %prlx_h4 = add i64 %prlx_h3, %prlx_h2
  %prlx_h5 = mul i64 %prlx_number, -4658895280553007687
  %prlx_h6 = add i64 %prlx_h5, %prlx_h4
  %prlx_h7 = call i64 @prlx_fold(i64 %prlx_h6) nounwind
  %prlx_phash = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 16
  %prlx_hash0 = atomicrmw add ptr addrspace(1) %prlx_phash, i64 %prlx_h7 syncscope("agent") monotonic
  ret void
}

; The end of every hash.
define internal i64 @prlx_fold(i64 %prlx_x) alwaysinline nounwind {
prlx_begin:
  %prlx_a = lshr i64 %prlx_x, 32
  %prlx_b = xor i64 %prlx_x, %prlx_a
  %prlx_c = mul i64 %prlx_b, 1609587929392839161
  %prlx_d = lshr i64 %prlx_c, 29
  %prlx_e = xor i64 %prlx_c, %prlx_d
  ret i64 %prlx_e
}

; An event that is kept. Most find a place in the chunk that their warp has: the state of its entry says how many there are left, times 2^40,
; and where the next one is. One atomic takes it.
define internal void @prlx_keep_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_pplace = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 16
  %prlx_state = atomicrmw add ptr addrspace(1) %prlx_pplace, i64 -1099511627744 syncscope("agent") monotonic
  %prlx_fits = icmp sgt i64 %prlx_state, 1099511627775
  br i1 %prlx_fits, label %prlx_has, label %prlx_slow

prlx_has:
  %prlx_at = and i64 %prlx_state, 1099511627775
  call void @prlx_write_event(ptr addrspace(1) %prlx_arena, i64 %prlx_at, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_slow:
  call void @prlx_place_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

define internal void @prlx_write_event(ptr addrspace(1) %prlx_arena, i64 %prlx_at, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_pevent = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_at
  %prlx_v0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_active, i32 0
  %prlx_v1 = insertelement <2 x i64> %prlx_v0, i64 %prlx_taken, i32 1
  store <2 x i64> %prlx_v1, ptr addrspace(1) %prlx_pevent, align 16
  %prlx_pvalue = getelementptr i8, ptr addrspace(1) %prlx_pevent, i64 16
  %prlx_site64 = zext i32 %prlx_site to i64
  %prlx_mark = or i64 %prlx_site64, 4294967296
  %prlx_v2 = insertelement <2 x i64> zeroinitializer, i64 %prlx_value, i32 0
  %prlx_v3 = insertelement <2 x i64> %prlx_v2, i64 %prlx_mark, i32 1
  store <2 x i64> %prlx_v3, ptr addrspace(1) %prlx_pvalue, align 16
  ret void
}

; An event that found no place: where every event is kept it claims a chunk, else it is counted and may be kept.
define internal void @prlx_place_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_pmode = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 80
  %prlx_mode = load i32, ptr addrspace(1) %prlx_pmode, align 4
  %prlx_m0 = and i32 %prlx_mode, 8
  %prlx_every = icmp ne i32 %prlx_m0, 0
  br i1 %prlx_every, label %prlx_own, label %prlx_choose

prlx_choose:
  %prlx_kept_as = call i64 @prlx_record_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  ret void

prlx_own:
  %prlx_poutside = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 256
  %prlx_inside = icmp ne ptr addrspace(1) %prlx_entry, %prlx_poutside
  br i1 %prlx_inside, label %prlx_claim, label %prlx_count

prlx_claim:
  %prlx_pchunks = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 48
  %prlx_chunks = load i64, ptr addrspace(1) %prlx_pchunks, align 8
  %prlx_pmost = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 88
  %prlx_most = load i64, ptr addrspace(1) %prlx_pmost, align 8
  %prlx_pmine = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 40
  %prlx_mine = atomicrmw add ptr addrspace(1) %prlx_pmine, i64 32 syncscope("agent") monotonic
  %prlx_within = icmp ult i64 %prlx_mine, %prlx_most
  br i1 %prlx_within, label %prlx_seek, label %prlx_count

prlx_seek:
  %prlx_pcursor = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 128
  %prlx_seen = load atomic i64, ptr addrspace(1) %prlx_pcursor syncscope("agent") monotonic, align 8
  %prlx_left = icmp ult i64 %prlx_seen, %prlx_chunks
  br i1 %prlx_left, label %prlx_take, label %prlx_full

prlx_take:
  %prlx_chunk = atomicrmw add ptr addrspace(1) %prlx_pcursor, i64 1 syncscope("agent") monotonic
  %prlx_got = icmp ult i64 %prlx_chunk, %prlx_chunks
  br i1 %prlx_got, label %prlx_chain, label %prlx_full

prlx_full:
  %prlx_pfull = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 144
  %prlx_lost = atomicrmw add ptr addrspace(1) %prlx_pfull, i64 1 syncscope("agent") monotonic
  br label %prlx_count

prlx_count:
  %prlx_ptotal = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 8
  %prlx_number = atomicrmw add ptr addrspace(1) %prlx_ptotal, i64 1 syncscope("agent") monotonic
  ret void

prlx_chain:
  %prlx_pbase = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 40
  %prlx_base = load i64, ptr addrspace(1) %prlx_pbase, align 8
  %prlx_c0 = shl i64 %prlx_chunk, 10
  %prlx_c1 = add i64 %prlx_c0, %prlx_base
  %prlx_at = add i64 %prlx_c1, 32
  %prlx_c2 = add i64 %prlx_c1, 32985348833344
  %prlx_pplace = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 16
  %prlx_before = atomicrmw xchg ptr addrspace(1) %prlx_pplace, i64 %prlx_c2 syncscope("agent") monotonic
  %prlx_index = call i64 @prlx_index(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry) nounwind
  %prlx_pchunk = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_c1
  %prlx_w0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_before, i32 0
  %prlx_w1 = insertelement <2 x i64> %prlx_w0, i64 %prlx_index, i32 1
  store <2 x i64> %prlx_w1, ptr addrspace(1) %prlx_pchunk, align 16
  call void @prlx_write_event(ptr addrspace(1) %prlx_arena, i64 %prlx_at, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) nounwind
  ret void
}

; Which entry of the directory one is.
define internal i64 @prlx_index(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry) alwaysinline nounwind {
prlx_begin:
  %prlx_pdirectory = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 24
  %prlx_directory = load i64, ptr addrspace(1) %prlx_pdirectory, align 8
  %prlx_a = ptrtoint ptr addrspace(1) %prlx_arena to i64
  %prlx_b = ptrtoint ptr addrspace(1) %prlx_entry to i64
  %prlx_i0 = sub i64 %prlx_b, %prlx_a
  %prlx_i1 = sub i64 %prlx_i0, %prlx_directory
  %prlx_index = lshr i64 %prlx_i1, 6
  ret i64 %prlx_index
}

; An event where not all are kept: a budget, rings, sampling, operands. What comes back is 0 for an event that is not kept, else one more than its
; number among those that are.
define internal i64 @prlx_record_event(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_site, i64 %prlx_active, i64 %prlx_taken, i64 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_ptotal = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 8
  %prlx_number = atomicrmw add ptr addrspace(1) %prlx_ptotal, i64 1 syncscope("agent") monotonic
  %prlx_poutside = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 256
  %prlx_inside = icmp ne ptr addrspace(1) %prlx_entry, %prlx_poutside
  br i1 %prlx_inside, label %prlx_count, label %prlx_end

prlx_count:
  %prlx_index = call i64 @prlx_index(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry) nounwind
  %prlx_site64 = zext i32 %prlx_site to i64
  %prlx_pmode = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 80
  %prlx_mode = load i32, ptr addrspace(1) %prlx_pmode, align 4
  %prlx_m0 = and i32 %prlx_mode, 1
  %prlx_events = icmp ne i32 %prlx_m0, 0
  br i1 %prlx_events, label %prlx_budget, label %prlx_end

prlx_budget:
  %prlx_m1 = and i32 %prlx_mode, 4
  %prlx_plain = icmp eq i32 %prlx_m1, 0
  br i1 %prlx_plain, label %prlx_keep, label %prlx_occurs

prlx_occurs:
  %prlx_psites = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 200
  %prlx_sites = load i32, ptr addrspace(1) %prlx_psites, align 4
  %prlx_listed = icmp ult i32 %prlx_site, %prlx_sites
  br i1 %prlx_listed, label %prlx_number_it, label %prlx_full

prlx_number_it:
  %prlx_poccurrences = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 192
  %prlx_occurrences = load i64, ptr addrspace(1) %prlx_poccurrences, align 8
  %prlx_prate = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 204
  %prlx_rate = load i32, ptr addrspace(1) %prlx_prate, align 4
  %prlx_pchosen = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 208
  %prlx_chosen = load i32, ptr addrspace(1) %prlx_pchosen, align 4
  %prlx_pwhich = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 212
  %prlx_which = load i32, ptr addrspace(1) %prlx_pwhich, align 4
  %prlx_pafter = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 216
  %prlx_after = load i64, ptr addrspace(1) %prlx_pafter, align 8
  %prlx_sites64 = zext i32 %prlx_sites to i64
  %prlx_n0 = mul i64 %prlx_index, %prlx_sites64
  %prlx_n1 = add i64 %prlx_n0, %prlx_site64
  %prlx_n2 = shl i64 %prlx_n1, 2
  %prlx_n3 = add i64 %prlx_n2, %prlx_occurrences
  %prlx_poccurrence = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_n3
  %prlx_occurrence = atomicrmw add ptr addrspace(1) %prlx_poccurrence, i32 1 syncscope("agent") monotonic
  %prlx_there0 = icmp eq i32 %prlx_site, %prlx_chosen
  %prlx_then0 = icmp eq i32 %prlx_occurrence, %prlx_which
  %prlx_hit = and i1 %prlx_there0, %prlx_then0
  br i1 %prlx_hit, label %prlx_found, label %prlx_sample

prlx_found:
  %prlx_pstop = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 24
  %prlx_last = add i64 %prlx_number, %prlx_after
  store i64 %prlx_last, ptr addrspace(1) %prlx_pstop, align 8
  br label %prlx_sample

prlx_sample:
  %prlx_rate0 = icmp eq i32 %prlx_rate, 0
  %prlx_rate1 = select i1 %prlx_rate0, i32 1, i32 %prlx_rate
  %prlx_rest = urem i32 %prlx_occurrence, %prlx_rate1
  %prlx_sampled = icmp eq i32 %prlx_rest, 0
  br i1 %prlx_sampled, label %prlx_counted, label %prlx_left_out

prlx_left_out:
  %prlx_pskipped = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 32
  %prlx_skipped0 = atomicrmw add ptr addrspace(1) %prlx_pskipped, i64 1 syncscope("agent") monotonic
  br label %prlx_end

prlx_counted:
  %prlx_pkept = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 40
  %prlx_kept1 = atomicrmw add ptr addrspace(1) %prlx_pkept, i64 1 syncscope("agent") monotonic
  br label %prlx_keep

prlx_keep:
  %prlx_kept = phi i64 [ %prlx_number, %prlx_budget ], [ %prlx_kept1, %prlx_counted ]
  %prlx_m2 = and i32 %prlx_mode, 2
  %prlx_firsts = icmp eq i32 %prlx_m2, 0
  br i1 %prlx_firsts, label %prlx_limit, label %prlx_ring

prlx_ring:
  %prlx_pstop1 = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 24
  %prlx_stop = load i64, ptr addrspace(1) %prlx_pstop1, align 8
  %prlx_plength = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 88
  %prlx_length = load i64, ptr addrspace(1) %prlx_plength, align 8
  %prlx_before_stop = icmp ule i64 %prlx_number, %prlx_stop
  %prlx_length32 = trunc i64 %prlx_length to i32
  %prlx_long = icmp ne i32 %prlx_length32, 0
  %prlx_turns = and i1 %prlx_before_stop, %prlx_long
  br i1 %prlx_turns, label %prlx_turn, label %prlx_end

prlx_turn:
  %prlx_prings = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 40
  %prlx_rings = load i64, ptr addrspace(1) %prlx_prings, align 8
  %prlx_kept32 = trunc i64 %prlx_kept to i32
  %prlx_r00 = urem i32 %prlx_kept32, %prlx_length32
  %prlx_r0 = zext i32 %prlx_r00 to i64
  %prlx_r1 = mul i64 %prlx_index, %prlx_length
  %prlx_r2 = add i64 %prlx_r1, %prlx_r0
  %prlx_r3 = shl i64 %prlx_r2, 5
  %prlx_r4 = add i64 %prlx_r3, %prlx_rings
  %prlx_pturn = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_r4
  %prlx_r5 = insertelement <2 x i64> zeroinitializer, i64 %prlx_active, i32 0
  %prlx_r6 = insertelement <2 x i64> %prlx_r5, i64 %prlx_taken, i32 1
  store <2 x i64> %prlx_r6, ptr addrspace(1) %prlx_pturn, align 16
  %prlx_pturn16 = getelementptr i8, ptr addrspace(1) %prlx_pturn, i64 16
  %prlx_r7 = add i64 %prlx_kept, 1
  %prlx_r8 = shl i64 %prlx_r7, 32
  %prlx_r9 = or i64 %prlx_r8, %prlx_site64
  %prlx_r10 = insertelement <2 x i64> zeroinitializer, i64 %prlx_value, i32 0
  %prlx_r11 = insertelement <2 x i64> %prlx_r10, i64 %prlx_r9, i32 1
  store <2 x i64> %prlx_r11, ptr addrspace(1) %prlx_pturn16, align 16
  br label %prlx_end

prlx_limit:
  %prlx_pbudget = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 88
  %prlx_most = load i64, ptr addrspace(1) %prlx_pbudget, align 8
  %prlx_within = icmp ult i64 %prlx_kept, %prlx_most
  br i1 %prlx_within, label %prlx_place, label %prlx_end

prlx_place:
  %prlx_perchunk0 = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 56
  %prlx_perchunk = load i32, ptr addrspace(1) %prlx_perchunk0, align 4
  %prlx_pchunks = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 48
  %prlx_chunks = load i64, ptr addrspace(1) %prlx_pchunks, align 8
  %prlx_state = atomicrmw add ptr addrspace(1) %prlx_entry, i64 1 syncscope("agent") monotonic
  %prlx_slot0 = trunc i64 %prlx_state to i32
  %prlx_held = lshr i64 %prlx_state, 32
  %prlx_hasroom = icmp ult i32 %prlx_slot0, %prlx_perchunk
  %prlx_haschunk = icmp ne i64 %prlx_held, 0
  %prlx_fits = and i1 %prlx_hasroom, %prlx_haschunk
  %prlx_chunk0 = sub i64 %prlx_held, 1
  br i1 %prlx_fits, label %prlx_write, label %prlx_claim

prlx_claim:
  %prlx_pcursor = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 128
  %prlx_seen = load atomic i64, ptr addrspace(1) %prlx_pcursor syncscope("agent") monotonic, align 8
  %prlx_left = icmp ult i64 %prlx_seen, %prlx_chunks
  br i1 %prlx_left, label %prlx_take, label %prlx_full

prlx_take:
  %prlx_claimed = atomicrmw add ptr addrspace(1) %prlx_pcursor, i64 1 syncscope("agent") monotonic
  %prlx_got = icmp ult i64 %prlx_claimed, %prlx_chunks
  br i1 %prlx_got, label %prlx_chain, label %prlx_full

prlx_full:
  %prlx_pfull = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 144
  %prlx_lost1 = atomicrmw add ptr addrspace(1) %prlx_pfull, i64 1 syncscope("agent") monotonic
  br label %prlx_end

prlx_chain:
  %prlx_c0 = add i64 %prlx_claimed, 1
  %prlx_c1 = shl i64 %prlx_c0, 32
  %prlx_c2 = or i64 %prlx_c1, 1
  %prlx_before = atomicrmw xchg ptr addrspace(1) %prlx_entry, i64 %prlx_c2 syncscope("agent") monotonic
  br label %prlx_write

prlx_write:
  %prlx_chunk = phi i64 [ %prlx_chunk0, %prlx_place ], [ %prlx_claimed, %prlx_chain ]
  %prlx_slot = phi i32 [ %prlx_slot0, %prlx_place ], [ 0, %prlx_chain ]
  %prlx_link = phi i64 [ 0, %prlx_place ], [ %prlx_before, %prlx_chain ]
  %prlx_known = icmp ult i64 %prlx_chunk, %prlx_chunks
  br i1 %prlx_known, label %prlx_store, label %prlx_end

prlx_store:
  %prlx_pbase = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 40
  %prlx_base = load i64, ptr addrspace(1) %prlx_pbase, align 8
  %prlx_s0 = add i32 %prlx_perchunk, 1
  %prlx_s1 = zext i32 %prlx_s0 to i64
  %prlx_s2 = mul i64 %prlx_s1, %prlx_chunk
  %prlx_s3 = shl i64 %prlx_s2, 5
  %prlx_s4 = add i64 %prlx_s3, %prlx_base
  %prlx_pchunk = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_s4
  %prlx_z0 = zext i32 %prlx_slot to i64
  %prlx_z1 = add i64 %prlx_z0, 1
  %prlx_z2 = shl i64 %prlx_z1, 5
  %prlx_pevent = getelementptr i8, ptr addrspace(1) %prlx_pchunk, i64 %prlx_z2
  %prlx_v0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_active, i32 0
  %prlx_v1 = insertelement <2 x i64> %prlx_v0, i64 %prlx_taken, i32 1
  store <2 x i64> %prlx_v1, ptr addrspace(1) %prlx_pevent, align 16
  %prlx_pvalue = getelementptr i8, ptr addrspace(1) %prlx_pevent, i64 16
  %prlx_mark = add i64 %prlx_site64, 4294967296
  %prlx_v2 = insertelement <2 x i64> zeroinitializer, i64 %prlx_value, i32 0
  %prlx_v3 = insertelement <2 x i64> %prlx_v2, i64 %prlx_mark, i32 1
  store <2 x i64> %prlx_v3, ptr addrspace(1) %prlx_pvalue, align 16
  %prlx_token = add i64 %prlx_kept, 1
  %prlx_opens = icmp eq i32 %prlx_slot, 0
  br i1 %prlx_opens, label %prlx_open, label %prlx_end

prlx_open:
  %prlx_w0 = insertelement <2 x i64> zeroinitializer, i64 %prlx_link, i32 0
  %prlx_w1 = insertelement <2 x i64> %prlx_w0, i64 %prlx_index, i32 1
  store <2 x i64> %prlx_w1, ptr addrspace(1) %prlx_pchunk, align 16
  br label %prlx_end

prlx_end:
  %prlx_kept_as = phi i64 [ 0, %prlx_begin ], [ 0, %prlx_count ], [ 0, %prlx_left_out ], [ 0, %prlx_ring ], [ %prlx_r7, %prlx_turn ], [ 0, %prlx_limit ], [ 0, %prlx_full ], [ 0, %prlx_write ], [ %prlx_token, %prlx_store ], [ %prlx_token, %prlx_open ]
  ret i64 %prlx_kept_as
}

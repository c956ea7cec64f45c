; What warps store: of each statement and array the sum of a hash of every element with its place, and how many there were. Every lane adds
; for itself, so it does not matter which lanes come together. docs/formats/prlx-v2.md has the hash.

; The entry of the table of arrays that an address is in: the last one that holds it, -1 none.
define internal i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_address) nounwind noinline {
prlx_begin:
  %prlx_plow = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 176
  %prlx_low = load i64, ptr addrspace(1) %prlx_plow, align 8
  %prlx_pspan = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 184
  %prlx_span = load i64, ptr addrspace(1) %prlx_pspan, align 8
  %prlx_pentries = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 112
  %prlx_entries = load i32, ptr addrspace(1) %prlx_pentries, align 4
  %prlx_ptable = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 120
  %prlx_table = load i64, ptr addrspace(1) %prlx_ptable, align 8
  %prlx_above = sub i64 %prlx_address, %prlx_low
  %prlx_may = icmp ult i64 %prlx_above, %prlx_span
  br i1 %prlx_may, label %prlx_loop, label %prlx_none

prlx_loop:
  %prlx_k = phi i32 [ 0, %prlx_begin ], [ %prlx_next, %prlx_test ]
  %prlx_best = phi i32 [ -1, %prlx_begin ], [ %prlx_better, %prlx_test ]
  %prlx_more = icmp ult i32 %prlx_k, %prlx_entries
  br i1 %prlx_more, label %prlx_test, label %prlx_end

prlx_test:
  %prlx_k64 = zext i32 %prlx_k to i64
  %prlx_t0 = shl i64 %prlx_k64, 5
  %prlx_t1 = add i64 %prlx_t0, %prlx_table
  %prlx_entry = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_t1
  %prlx_from = load i64, ptr addrspace(1) %prlx_entry, align 8
  %prlx_psize = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 8
  %prlx_size = load i64, ptr addrspace(1) %prlx_psize, align 8
  %prlx_offset = sub i64 %prlx_address, %prlx_from
  %prlx_in = icmp ult i64 %prlx_offset, %prlx_size
  %prlx_better = select i1 %prlx_in, i32 %prlx_k, i32 %prlx_best
  %prlx_next = add i32 %prlx_k, 1
  br label %prlx_loop

prlx_none:
  ret i32 -1

prlx_end:
  ret i32 %prlx_best
}

; The hash of one element. 8 bytes that are an address inside of an array count as its name.
define internal i64 @prlx_hash_element(ptr addrspace(1) %prlx_arena, i64 %prlx_place, i64 %prlx_value, i64 %prlx_shape) nounwind noinline {
prlx_begin:
  %prlx_bytes = and i64 %prlx_shape, 255
  %prlx_wide = icmp eq i64 %prlx_bytes, 8
  br i1 %prlx_wide, label %prlx_look, label %prlx_hash

prlx_look:
  %prlx_found = call i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_value) nounwind
  %prlx_named = icmp sge i32 %prlx_found, 0
  br i1 %prlx_named, label %prlx_name, label %prlx_hash

prlx_name:
  %prlx_ptable = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 120
  %prlx_table = load i64, ptr addrspace(1) %prlx_ptable, align 8
  %prlx_f0 = zext i32 %prlx_found to i64
  %prlx_f1 = shl i64 %prlx_f0, 5
  %prlx_f2 = add i64 %prlx_f1, %prlx_table
  %prlx_entry = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_f2
  %prlx_pbase = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 16
  %prlx_base = load i64, ptr addrspace(1) %prlx_pbase, align 8
  %prlx_pid = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 24
  %prlx_id = load i32, ptr addrspace(1) %prlx_pid, align 4
  %prlx_id64 = zext i32 %prlx_id to i64
  %prlx_n0 = shl i64 %prlx_id64, 40
  %prlx_n1 = sub i64 %prlx_value, %prlx_base
  %prlx_n2 = and i64 %prlx_n1, 1099511627775
  %prlx_n3 = or i64 %prlx_n0, %prlx_n2
  %prlx_n4 = add i64 %prlx_place, -1456219851395800320
  br label %prlx_hash

prlx_hash:
  %prlx_word = phi i64 [ %prlx_value, %prlx_begin ], [ %prlx_value, %prlx_look ], [ %prlx_n3, %prlx_name ]
  %prlx_where = phi i64 [ %prlx_place, %prlx_begin ], [ %prlx_place, %prlx_look ], [ %prlx_n4, %prlx_name ]
  %prlx_h0 = mul i64 %prlx_word, -4417276706812531889
  %prlx_h1 = add i64 %prlx_h0, %prlx_where
  %prlx_h2 = lshr i64 %prlx_h1, 32
  %prlx_h3 = xor i64 %prlx_h1, %prlx_h2
  %prlx_h4 = mul i64 %prlx_h3, 1609587929392839161
  %prlx_h5 = lshr i64 %prlx_h4, 29
  %prlx_h6 = xor i64 %prlx_h4, %prlx_h5
  ret i64 %prlx_h6
}

; One lane stores up to four elements one after another. A slot of 0 and up is that of a statement and an array whose first byte the base
; is; of a slot below, the statement is known and the array is looked for.
define internal void @prlx_record_store(ptr addrspace(1) %prlx_arena, i32 %prlx_slot, i1 %prlx_does, i64 %prlx_base, i64 %prlx_address, i64 %prlx_shape, i32 %prlx_count, i64 %prlx_v0, i64 %prlx_v1, i64 %prlx_v2, i64 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  %prlx_go = and i1 %prlx_there, %prlx_does
  br i1 %prlx_go, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_pfirst = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 64
  %prlx_first = load i64, ptr addrspace(1) %prlx_pfirst, align 8
  %prlx_pwanted = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 72
  %prlx_wanted = load i64, ptr addrspace(1) %prlx_pwanted, align 8
  %prlx_warp = call i64 @prlx_warp_number() nounwind
  %prlx_index = sub i64 %prlx_warp, %prlx_first
  %prlx_asked = icmp ult i64 %prlx_index, %prlx_wanted
  br i1 %prlx_asked, label %prlx_find, label %prlx_end

prlx_find:
  %prlx_pwarps = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 32
  %prlx_warps = load i64, ptr addrspace(1) %prlx_pwarps, align 8
  %prlx_pslots = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 104
  %prlx_slots = load i32, ptr addrspace(1) %prlx_pslots, align 4
  %prlx_inside = icmp ult i64 %prlx_index, %prlx_warps
  br i1 %prlx_inside, label %prlx_array, label %prlx_outside

prlx_outside:
  %prlx_poutside = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 160
  %prlx_lost0 = atomicrmw add ptr addrspace(1) %prlx_poutside, i64 1 syncscope("agent") monotonic
  br label %prlx_end

prlx_array:
  %prlx_known = icmp sge i32 %prlx_slot, 0
  br i1 %prlx_known, label %prlx_check, label %prlx_search

prlx_search:
  %prlx_found = call i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_address) nounwind
  %prlx_held = icmp sge i32 %prlx_found, 0
  br i1 %prlx_held, label %prlx_taken, label %prlx_elsewhere

prlx_elsewhere:
  %prlx_pelsewhere = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 152
  %prlx_lost1 = atomicrmw add ptr addrspace(1) %prlx_pelsewhere, i64 1 syncscope("agent") monotonic
  br label %prlx_end

prlx_taken:
  %prlx_ptable = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 120
  %prlx_table = load i64, ptr addrspace(1) %prlx_ptable, align 8
  %prlx_f0 = zext i32 %prlx_found to i64
  %prlx_f1 = shl i64 %prlx_f0, 5
  %prlx_f2 = add i64 %prlx_f1, %prlx_table
  %prlx_entry = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_f2
  %prlx_pitsbase = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 16
  %prlx_itsbase = load i64, ptr addrspace(1) %prlx_pitsbase, align 8
  %prlx_pitsslot = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 28
  %prlx_itsslot = load i32, ptr addrspace(1) %prlx_pitsslot, align 4
  %prlx_pfixed = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 108
  %prlx_fixed = load i32, ptr addrspace(1) %prlx_pfixed, align 4
  %prlx_parrays = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 116
  %prlx_arrays = load i32, ptr addrspace(1) %prlx_parrays, align 4
  %prlx_s0 = sub i32 -1, %prlx_slot
  %prlx_s1 = mul i32 %prlx_s0, %prlx_arrays
  %prlx_s2 = add i32 %prlx_s1, %prlx_fixed
  %prlx_s3 = add i32 %prlx_s2, %prlx_itsslot
  br label %prlx_check

prlx_check:
  %prlx_from = phi i64 [ %prlx_base, %prlx_array ], [ %prlx_itsbase, %prlx_taken ]
  %prlx_sum = phi i32 [ %prlx_slot, %prlx_array ], [ %prlx_s3, %prlx_taken ]
  %prlx_valid = icmp ult i32 %prlx_sum, %prlx_slots
  br i1 %prlx_valid, label %prlx_one, label %prlx_elsewhere

prlx_one:
  %prlx_offset = sub i64 %prlx_address, %prlx_from
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_o1 = mul i64 %prlx_shape, -8796714831421723037
  %prlx_place0 = add i64 %prlx_o0, %prlx_o1
  %prlx_bytes = and i64 %prlx_shape, 255
  %prlx_step = mul i64 %prlx_bytes, -7046029288634856825
  %prlx_h0 = call i64 @prlx_hash_element(ptr addrspace(1) %prlx_arena, i64 %prlx_place0, i64 %prlx_v0, i64 %prlx_shape) nounwind
  %prlx_m1 = icmp ugt i32 %prlx_count, 1
  br i1 %prlx_m1, label %prlx_two, label %prlx_add

prlx_two:
  %prlx_place1 = add i64 %prlx_place0, %prlx_step
  %prlx_h1 = call i64 @prlx_hash_element(ptr addrspace(1) %prlx_arena, i64 %prlx_place1, i64 %prlx_v1, i64 %prlx_shape) nounwind
  %prlx_h01 = add i64 %prlx_h0, %prlx_h1
  %prlx_m2 = icmp ugt i32 %prlx_count, 2
  br i1 %prlx_m2, label %prlx_three, label %prlx_add

prlx_three:
  %prlx_place2 = add i64 %prlx_place1, %prlx_step
  %prlx_h2 = call i64 @prlx_hash_element(ptr addrspace(1) %prlx_arena, i64 %prlx_place2, i64 %prlx_v2, i64 %prlx_shape) nounwind
  %prlx_h012 = add i64 %prlx_h01, %prlx_h2
  %prlx_m3 = icmp ugt i32 %prlx_count, 3
  br i1 %prlx_m3, label %prlx_four, label %prlx_add

prlx_four:
  %prlx_place3 = add i64 %prlx_place2, %prlx_step
  %prlx_h3 = call i64 @prlx_hash_element(ptr addrspace(1) %prlx_arena, i64 %prlx_place3, i64 %prlx_v3, i64 %prlx_shape) nounwind
  %prlx_h0123 = add i64 %prlx_h012, %prlx_h3
  br label %prlx_add

prlx_add:
  %prlx_hash = phi i64 [ %prlx_h0, %prlx_one ], [ %prlx_h01, %prlx_two ], [ %prlx_h012, %prlx_three ], [ %prlx_h0123, %prlx_four ]
  %prlx_psums = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 96
  %prlx_sums = load i64, ptr addrspace(1) %prlx_psums, align 8
  %prlx_slots64 = zext i32 %prlx_slots to i64
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_q0 = mul i64 %prlx_index, %prlx_slots64
  %prlx_q1 = add i64 %prlx_q0, %prlx_sum64
  %prlx_q2 = shl i64 %prlx_q1, 4
  %prlx_q3 = add i64 %prlx_q2, %prlx_sums
  %prlx_pcount = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_q3
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before0 = atomicrmw add ptr addrspace(1) %prlx_pcount, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_phash = getelementptr i8, ptr addrspace(1) %prlx_pcount, i64 8
  %prlx_before1 = atomicrmw add ptr addrspace(1) %prlx_phash, i64 %prlx_hash syncscope("agent") monotonic
  br label %prlx_end

prlx_end:
  ret void
}

; As prlx_record_store, of elements of up to 4 bytes whose array is known: most stores are such. None of them is an address, so that they are
; hashed before anything else is looked up, and little has to wait in registers meanwhile.
define internal void @prlx_record_narrow(ptr addrspace(1) %prlx_arena, i32 %prlx_sum, i1 %prlx_does, i64 %prlx_base, i64 %prlx_address, i32 %prlx_shape, i32 %prlx_count, i32 %prlx_v0, i32 %prlx_v1, i32 %prlx_v2, i32 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  %prlx_go = and i1 %prlx_there, %prlx_does
  br i1 %prlx_go, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_offset = sub i64 %prlx_address, %prlx_base
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_shape64 = zext i32 %prlx_shape to i64
  %prlx_o1 = mul i64 %prlx_shape64, -8796714831421723037
  %prlx_place0 = add i64 %prlx_o0, %prlx_o1
  %prlx_bytes = and i64 %prlx_shape64, 255
  %prlx_step = mul i64 %prlx_bytes, -7046029288634856825
  %prlx_w0 = zext i32 %prlx_v0 to i64
  %prlx_a0 = mul i64 %prlx_w0, -4417276706812531889
  %prlx_b0 = add i64 %prlx_a0, %prlx_place0
  %prlx_c0 = lshr i64 %prlx_b0, 32
  %prlx_d0 = xor i64 %prlx_b0, %prlx_c0
  %prlx_e0 = mul i64 %prlx_d0, 1609587929392839161
  %prlx_f0 = lshr i64 %prlx_e0, 29
  %prlx_g0 = xor i64 %prlx_e0, %prlx_f0
  %prlx_m1 = icmp ugt i32 %prlx_count, 1
  br i1 %prlx_m1, label %prlx_two, label %prlx_which

prlx_two:
  %prlx_place1 = add i64 %prlx_place0, %prlx_step
  %prlx_w1 = zext i32 %prlx_v1 to i64
  %prlx_a1 = mul i64 %prlx_w1, -4417276706812531889
  %prlx_b1 = add i64 %prlx_a1, %prlx_place1
  %prlx_c1 = lshr i64 %prlx_b1, 32
  %prlx_d1 = xor i64 %prlx_b1, %prlx_c1
  %prlx_e1 = mul i64 %prlx_d1, 1609587929392839161
  %prlx_f1 = lshr i64 %prlx_e1, 29
  %prlx_g1 = xor i64 %prlx_e1, %prlx_f1
  %prlx_h01 = add i64 %prlx_g0, %prlx_g1
  %prlx_m2 = icmp ugt i32 %prlx_count, 2
  br i1 %prlx_m2, label %prlx_three, label %prlx_which

prlx_three:
  %prlx_place2 = add i64 %prlx_place1, %prlx_step
  %prlx_w2 = zext i32 %prlx_v2 to i64
  %prlx_a2 = mul i64 %prlx_w2, -4417276706812531889
  %prlx_b2 = add i64 %prlx_a2, %prlx_place2
  %prlx_c2 = lshr i64 %prlx_b2, 32
  %prlx_d2 = xor i64 %prlx_b2, %prlx_c2
  %prlx_e2 = mul i64 %prlx_d2, 1609587929392839161
  %prlx_f2 = lshr i64 %prlx_e2, 29
  %prlx_g2 = xor i64 %prlx_e2, %prlx_f2
  %prlx_h012 = add i64 %prlx_h01, %prlx_g2
  %prlx_m3 = icmp ugt i32 %prlx_count, 3
  br i1 %prlx_m3, label %prlx_four, label %prlx_which

prlx_four:
  %prlx_place3 = add i64 %prlx_place2, %prlx_step
  %prlx_w3 = zext i32 %prlx_v3 to i64
  %prlx_a3 = mul i64 %prlx_w3, -4417276706812531889
  %prlx_b3 = add i64 %prlx_a3, %prlx_place3
  %prlx_c3 = lshr i64 %prlx_b3, 32
  %prlx_d3 = xor i64 %prlx_b3, %prlx_c3
  %prlx_e3 = mul i64 %prlx_d3, 1609587929392839161
  %prlx_f3 = lshr i64 %prlx_e3, 29
  %prlx_g3 = xor i64 %prlx_e3, %prlx_f3
  %prlx_h0123 = add i64 %prlx_h012, %prlx_g3
  br label %prlx_which

prlx_which:
  %prlx_hash = phi i64 [ %prlx_g0, %prlx_one ], [ %prlx_h01, %prlx_two ], [ %prlx_h012, %prlx_three ], [ %prlx_h0123, %prlx_four ]
  %prlx_warp = call i64 @prlx_warp_number() nounwind
  %prlx_pfirst = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 64
  %prlx_first = load i64, ptr addrspace(1) %prlx_pfirst, align 8
  %prlx_index = sub i64 %prlx_warp, %prlx_first
  %prlx_pwanted = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 72
  %prlx_wanted = load i64, ptr addrspace(1) %prlx_pwanted, align 8
  %prlx_asked = icmp ult i64 %prlx_index, %prlx_wanted
  br i1 %prlx_asked, label %prlx_find, label %prlx_end

prlx_find:
  %prlx_pwarps = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 32
  %prlx_warps = load i64, ptr addrspace(1) %prlx_pwarps, align 8
  %prlx_inside = icmp ult i64 %prlx_index, %prlx_warps
  br i1 %prlx_inside, label %prlx_check, label %prlx_lost

prlx_check:
  %prlx_pslots = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 104
  %prlx_slots = load i32, ptr addrspace(1) %prlx_pslots, align 4
  %prlx_valid = icmp ult i32 %prlx_sum, %prlx_slots
  br i1 %prlx_valid, label %prlx_add, label %prlx_lost

prlx_lost:
  %prlx_lost_at = phi i64 [ 160, %prlx_find ], [ 152, %prlx_check ]
  %prlx_plost = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_lost_at
  %prlx_lost0 = atomicrmw add ptr addrspace(1) %prlx_plost, i64 1 syncscope("agent") monotonic
  br label %prlx_end

prlx_add:
  %prlx_psums = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 96
  %prlx_sums = load i64, ptr addrspace(1) %prlx_psums, align 8
  %prlx_slots64 = zext i32 %prlx_slots to i64
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_q0 = mul i64 %prlx_index, %prlx_slots64
  %prlx_q1 = add i64 %prlx_q0, %prlx_sum64
  %prlx_q2 = shl i64 %prlx_q1, 4
  %prlx_q3 = add i64 %prlx_q2, %prlx_sums
  %prlx_pcount = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_q3
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before0 = atomicrmw add ptr addrspace(1) %prlx_pcount, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_phash = getelementptr i8, ptr addrspace(1) %prlx_pcount, i64 8
  %prlx_before1 = atomicrmw add ptr addrspace(1) %prlx_phash, i64 %prlx_hash syncscope("agent") monotonic
  br label %prlx_end

prlx_end:
  ret void
}

; An event of the lanes that store.
define internal void @prlx_record_access(ptr addrspace(1) %prlx_arena, i32 %prlx_site, i1 %prlx_does, i64 %prlx_value) convergent nounwind noinline {
prlx_begin:
  br i1 %prlx_does, label %prlx_do, label %prlx_end

prlx_do:
  call void @prlx_record_decision(ptr addrspace(1) %prlx_arena, i32 %prlx_site, i1 true, i64 %prlx_value) convergent nounwind
  br label %prlx_end

prlx_end:
  ret void
}

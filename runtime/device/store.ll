; What warps store: of each statement and array how many elements, the sum of a hash of every element with its place, and sums over the
; elements without their places. Every lane adds for itself, so it does not matter which lanes come together. docs/formats/prlx-v2.md has the
; hash and the sums, docs/formats/arena.md where they lie.

; The entry of the table of arrays that an address is in: the last one that holds it, -1 none.
define internal i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_address) nounwind {
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

; Where a sum of this warp is, null: there is none, and it is counted where it was wanted.
define internal ptr addrspace(1) @prlx_find_sum(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_sum) nounwind {
prlx_begin:
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  %prlx_row = load ptr addrspace(1), ptr addrspace(1) %prlx_prow, align 8
  %prlx_pslots = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 104
  %prlx_slots = load i32, ptr addrspace(1) %prlx_pslots, align 4
  %prlx_valid = icmp ult i32 %prlx_sum, %prlx_slots
  %prlx_has = icmp ne ptr addrspace(1) %prlx_row, null
  %prlx_may = and i1 %prlx_valid, %prlx_has
  br i1 %prlx_may, label %prlx_found, label %prlx_none

prlx_found:
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_far = mul i64 %prlx_sum64, 40
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_row, i64 %prlx_far
  ret ptr addrspace(1) %prlx_at

prlx_none:
  call void @prlx_lose(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 1) nounwind
  ret ptr addrspace(1) null
}

; Counts what is stored and in no sum: of warps without an entry, and of the others.
define internal void @prlx_lose(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_count) nounwind noinline {
prlx_begin:
  %prlx_poutside = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 256
  %prlx_outside = icmp eq ptr addrspace(1) %prlx_entry, %prlx_poutside
  %prlx_at = select i1 %prlx_outside, i64 160, i64 152
  %prlx_plost = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_at
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_lost = atomicrmw add ptr addrspace(1) %prlx_plost, i64 %prlx_count64 syncscope("agent") monotonic
  ret void
}

; How many bytes the elements of the array of a sum have, 255 where that is not known.
define internal i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind {
prlx_begin:
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_w0 = shl i64 %prlx_sum64, 2
  %prlx_w1 = add i64 %prlx_w0, 320
  %prlx_pwidth = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_w1
  %prlx_width = load i32, ptr addrspace(1) %prlx_pwidth, align 4
  ret i32 %prlx_width
}

; Adds what a lane found to a sum: a hash of elements with their places, one without, bits, and how many have their top bit set and, times
; 2^32, how many are special.
define internal void @prlx_add(ptr addrspace(1) %prlx_at, i64 %prlx_hash, i64 %prlx_values, i64 %prlx_bits, i64 %prlx_marks) nounwind {
prlx_begin:
  %prlx_p1 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 8
  %prlx_before1 = atomicrmw add ptr addrspace(1) %prlx_p1, i64 %prlx_hash syncscope("agent") monotonic
  %prlx_p2 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 16
  %prlx_before2 = atomicrmw add ptr addrspace(1) %prlx_p2, i64 %prlx_values syncscope("agent") monotonic
  %prlx_p3 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 24
  %prlx_before3 = atomicrmw add ptr addrspace(1) %prlx_p3, i64 %prlx_bits syncscope("agent") monotonic
  %prlx_p4 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 32
  %prlx_before4 = atomicrmw add ptr addrspace(1) %prlx_p4, i64 %prlx_marks syncscope("agent") monotonic
  ret void
}

; Adds one element of any size. 8 bytes that are an address inside of an array count as its name.
define internal void @prlx_add_element(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_at, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_width, i64 %prlx_value) nounwind {
prlx_begin:
  %prlx_bytes64 = and i64 %prlx_shape, 255
  %prlx_bytes = trunc i64 %prlx_bytes64 to i32
  %prlx_wide = icmp eq i32 %prlx_bytes, 8
  %prlx_s0 = sub i32 %prlx_width, 1
  %prlx_s1 = sub i32 %prlx_bytes, 1
  %prlx_parted = icmp ult i32 %prlx_s0, %prlx_s1
  %prlx_size = select i1 %prlx_parted, i32 %prlx_width, i32 %prlx_bytes
  br i1 %prlx_wide, label %prlx_look, label %prlx_plain

prlx_look:
  %prlx_found = call i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_value) nounwind
  %prlx_named = icmp sge i32 %prlx_found, 0
  br i1 %prlx_named, label %prlx_name, label %prlx_plain

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
  %prlx_n4 = mul i64 %prlx_n3, -4417276706812531889
  %prlx_n5 = add i64 %prlx_place, -1456219851395800320
  %prlx_n6 = add i64 %prlx_n4, %prlx_n5
  %prlx_named_hash = call i64 @prlx_fold(i64 %prlx_n6) nounwind
  %prlx_n7 = mul i64 %prlx_shape, -8796714831421723037
  %prlx_n8 = add i64 %prlx_n7, -1456219851395800320
  %prlx_n9 = add i64 %prlx_n4, %prlx_n8
  %prlx_named_value = call i64 @prlx_fold(i64 %prlx_n9) nounwind
  br i1 %prlx_parted, label %prlx_measure, label %prlx_end

prlx_plain:
  %prlx_h0 = mul i64 %prlx_value, -4417276706812531889
  %prlx_h1 = add i64 %prlx_h0, %prlx_place
  %prlx_plain_hash = call i64 @prlx_fold(i64 %prlx_h1) nounwind
  br label %prlx_measure

prlx_measure:
  %prlx_hash = phi i64 [ %prlx_named_hash, %prlx_name ], [ %prlx_plain_hash, %prlx_plain ]
  %prlx_size64 = zext i32 %prlx_size to i64
  %prlx_t0 = shl i64 %prlx_size64, 3
  %prlx_top = sub i64 %prlx_t0, 1
  %prlx_over = sub i64 64, %prlx_t0
  %prlx_full = lshr i64 -1, %prlx_over
  %prlx_lows = lshr i64 %prlx_full, 1
  %prlx_is8 = icmp eq i32 %prlx_size, 8
  %prlx_is4 = icmp eq i32 %prlx_size, 4
  %prlx_is2 = icmp eq i32 %prlx_size, 2
  %prlx_l0 = select i1 %prlx_is2, i64 31744, i64 -1
  %prlx_l1 = select i1 %prlx_is4, i64 2139095040, i64 %prlx_l0
  %prlx_least = select i1 %prlx_is8, i64 9218868437227405312, i64 %prlx_l1
  %prlx_down = select i1 %prlx_is8, i64 32, i64 0
  %prlx_g0 = sub i64 %prlx_shape, %prlx_bytes64
  %prlx_g1 = add i64 %prlx_g0, %prlx_size64
  %prlx_kind = mul i64 %prlx_g1, -8796714831421723037
  br label %prlx_piece

prlx_piece:
  %prlx_done = phi i64 [ 0, %prlx_measure ], [ %prlx_next, %prlx_piece ]
  %prlx_rest = phi i64 [ %prlx_value, %prlx_measure ], [ %prlx_r1, %prlx_piece ]
  %prlx_values = phi i64 [ 0, %prlx_measure ], [ %prlx_values1, %prlx_piece ]
  %prlx_bits = phi i64 [ 0, %prlx_measure ], [ %prlx_bits1, %prlx_piece ]
  %prlx_marks = phi i64 [ 0, %prlx_measure ], [ %prlx_marks2, %prlx_piece ]
  %prlx_p = and i64 %prlx_rest, %prlx_full
  %prlx_low = and i64 %prlx_rest, %prlx_lows
  %prlx_v0 = mul i64 %prlx_p, -4417276706812531889
  %prlx_v1 = add i64 %prlx_v0, %prlx_kind
  %prlx_v2 = call i64 @prlx_fold(i64 %prlx_v1) nounwind
  %prlx_values1 = add i64 %prlx_values, %prlx_v2
  %prlx_b0 = lshr i64 %prlx_low, %prlx_down
  %prlx_bits1 = add i64 %prlx_bits, %prlx_b0
  %prlx_r0 = lshr i64 %prlx_rest, %prlx_top
  %prlx_m0 = and i64 %prlx_r0, 1
  %prlx_marks1 = add i64 %prlx_marks, %prlx_m0
  %prlx_special = icmp uge i64 %prlx_low, %prlx_least
  %prlx_m1 = select i1 %prlx_special, i64 4294967296, i64 0
  %prlx_marks2 = add i64 %prlx_marks1, %prlx_m1
  %prlx_r1 = lshr i64 %prlx_r0, 1
  %prlx_next = add i64 %prlx_done, %prlx_size64
  %prlx_more = icmp ult i64 %prlx_next, %prlx_bytes64
  br i1 %prlx_more, label %prlx_piece, label %prlx_end

prlx_end:
  %prlx_hash_all = phi i64 [ %prlx_named_hash, %prlx_name ], [ %prlx_hash, %prlx_piece ]
  %prlx_values_all = phi i64 [ %prlx_named_value, %prlx_name ], [ %prlx_values1, %prlx_piece ]
  %prlx_bits_all = phi i64 [ 0, %prlx_name ], [ %prlx_bits1, %prlx_piece ]
  %prlx_marks_all = phi i64 [ 0, %prlx_name ], [ %prlx_marks2, %prlx_piece ]
  call void @prlx_add(ptr addrspace(1) %prlx_at, i64 %prlx_hash_all, i64 %prlx_values_all, i64 %prlx_bits_all, i64 %prlx_marks_all) nounwind
  ret void
}

; One lane stores up to four elements one after another. A slot of 0 and up is that of a statement and an array whose first byte the base
; is; of a slot below, the statement is known and the array is looked for.
define internal void @prlx_record_store(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i1 %prlx_does, i64 %prlx_base, i64 %prlx_address, i64 %prlx_shape, i32 %prlx_count, i64 %prlx_v0, i64 %prlx_v1, i64 %prlx_v2, i64 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_entry, null
  %prlx_go = and i1 %prlx_there, %prlx_does
  br i1 %prlx_go, label %prlx_array, label %prlx_end

prlx_array:
  %prlx_known = icmp sge i32 %prlx_slot, 0
  br i1 %prlx_known, label %prlx_check, label %prlx_search

prlx_search:
  %prlx_found = call i32 @prlx_find_array(ptr addrspace(1) %prlx_arena, i64 %prlx_address) nounwind
  %prlx_held = icmp sge i32 %prlx_found, 0
  br i1 %prlx_held, label %prlx_taken, label %prlx_check

prlx_taken:
  %prlx_ptable = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 120
  %prlx_table = load i64, ptr addrspace(1) %prlx_ptable, align 8
  %prlx_f0 = zext i32 %prlx_found to i64
  %prlx_f1 = shl i64 %prlx_f0, 5
  %prlx_f2 = add i64 %prlx_f1, %prlx_table
  %prlx_place_of = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_f2
  %prlx_pitsbase = getelementptr i8, ptr addrspace(1) %prlx_place_of, i64 16
  %prlx_itsbase = load i64, ptr addrspace(1) %prlx_pitsbase, align 8
  %prlx_pitsslot = getelementptr i8, ptr addrspace(1) %prlx_place_of, i64 28
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
  %prlx_from = phi i64 [ %prlx_base, %prlx_array ], [ 0, %prlx_search ], [ %prlx_itsbase, %prlx_taken ]
  %prlx_sum = phi i32 [ %prlx_slot, %prlx_array ], [ -1, %prlx_search ], [ %prlx_s3, %prlx_taken ]
  %prlx_at = call ptr addrspace(1) @prlx_find_sum(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_sum) nounwind
  %prlx_has = icmp ne ptr addrspace(1) %prlx_at, null
  br i1 %prlx_has, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before = atomicrmw add ptr addrspace(1) %prlx_at, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_offset = sub i64 %prlx_address, %prlx_from
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_o1 = mul i64 %prlx_shape, -8796714831421723037
  %prlx_place0 = add i64 %prlx_o0, %prlx_o1
  %prlx_bytes = and i64 %prlx_shape, 255
  %prlx_step = mul i64 %prlx_bytes, -7046029288634856825
  br label %prlx_loop

prlx_loop:
  %prlx_left = phi i32 [ %prlx_count, %prlx_one ], [ %prlx_left1, %prlx_loop ]
  %prlx_place = phi i64 [ %prlx_place0, %prlx_one ], [ %prlx_place1, %prlx_loop ]
  %prlx_a = phi i64 [ %prlx_v0, %prlx_one ], [ %prlx_b, %prlx_loop ]
  %prlx_b = phi i64 [ %prlx_v1, %prlx_one ], [ %prlx_c, %prlx_loop ]
  %prlx_c = phi i64 [ %prlx_v2, %prlx_one ], [ %prlx_v3, %prlx_loop ]
  call void @prlx_add_element(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_at, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_width, i64 %prlx_a) nounwind
  %prlx_place1 = add i64 %prlx_place, %prlx_step
  %prlx_left1 = sub i32 %prlx_left, 1
  %prlx_more = icmp ne i32 %prlx_left1, 0
  br i1 %prlx_more, label %prlx_loop, label %prlx_end

prlx_end:
  ret void
}

; An event of the lanes that store.
define internal void @prlx_record_access(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 %prlx_does, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind noinline {
prlx_begin:
  br i1 %prlx_does, label %prlx_do, label %prlx_end

prlx_do:
  call void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_site, i1 true, i64 %prlx_value, ptr addrspace(1) %prlx_arena) convergent nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; And of a kernel that keeps counts and hashes alone.
define internal void @prlx_digest_access(ptr addrspace(1) %prlx_entry, i32 %prlx_lower, i32 %prlx_site, i1 %prlx_does, i64 %prlx_value) alwaysinline convergent nounwind {
prlx_begin:
  br i1 %prlx_does, label %prlx_do, label %prlx_end

prlx_do:
  call void @prlx_digest_decision(ptr addrspace(1) %prlx_entry, i32 %prlx_lower, i32 %prlx_site, i1 true, i64 %prlx_value) convergent nounwind
  br label %prlx_end

prlx_end:
  ret void
}

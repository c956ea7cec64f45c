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

; The end of every hash.
define internal i64 @prlx_fold(i64 %prlx_x) nounwind {
prlx_begin:
  %prlx_a = lshr i64 %prlx_x, 32
  %prlx_b = xor i64 %prlx_x, %prlx_a
  %prlx_c = mul i64 %prlx_b, 1609587929392839161
  %prlx_d = lshr i64 %prlx_c, 29
  %prlx_e = xor i64 %prlx_c, %prlx_d
  ret i64 %prlx_e
}

; How far in the arena a sum of this warp is, 0: there is none, and it is counted where it was wanted.
define internal i64 @prlx_find_sum(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind {
prlx_begin:
  %prlx_warp = call i64 @prlx_warp_number() nounwind
  %prlx_pfirst = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 64
  %prlx_first = load i64, ptr addrspace(1) %prlx_pfirst, align 8
  %prlx_index = sub i64 %prlx_warp, %prlx_first
  %prlx_pwarps = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 32
  %prlx_warps = load i64, ptr addrspace(1) %prlx_pwarps, align 8
  %prlx_inside = icmp ult i64 %prlx_index, %prlx_warps
  br i1 %prlx_inside, label %prlx_check, label %prlx_outside

prlx_check:
  %prlx_pslots = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 104
  %prlx_slots = load i32, ptr addrspace(1) %prlx_pslots, align 4
  %prlx_valid = icmp ult i32 %prlx_sum, %prlx_slots
  br i1 %prlx_valid, label %prlx_found, label %prlx_lost

prlx_found:
  %prlx_psums = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 96
  %prlx_sums = load i64, ptr addrspace(1) %prlx_psums, align 8
  %prlx_slots64 = zext i32 %prlx_slots to i64
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_q0 = mul i64 %prlx_index, %prlx_slots64
  %prlx_q1 = add i64 %prlx_q0, %prlx_sum64
  %prlx_q2 = mul i64 %prlx_q1, 40
  %prlx_q3 = add i64 %prlx_q2, %prlx_sums
  ret i64 %prlx_q3

prlx_outside:
  %prlx_pwanted = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 72
  %prlx_wanted = load i64, ptr addrspace(1) %prlx_pwanted, align 8
  %prlx_asked = icmp ult i64 %prlx_index, %prlx_wanted
  br i1 %prlx_asked, label %prlx_lost, label %prlx_none

prlx_lost:
  %prlx_lost_at = phi i64 [ 152, %prlx_check ], [ 160, %prlx_outside ]
  %prlx_plost = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_lost_at
  %prlx_lost0 = atomicrmw add ptr addrspace(1) %prlx_plost, i64 1 syncscope("agent") monotonic
  br label %prlx_none

prlx_none:
  ret i64 0
}

; How many bytes the elements of the array of a sum have, 255 where that is not known.
define internal i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind {
prlx_begin:
  %prlx_sum64 = zext i32 %prlx_sum to i64
  %prlx_w0 = shl i64 %prlx_sum64, 2
  %prlx_w1 = add i64 %prlx_w0, 256
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
define internal void @prlx_record_store(ptr addrspace(1) %prlx_arena, i32 %prlx_slot, i1 %prlx_does, i64 %prlx_base, i64 %prlx_address, i64 %prlx_shape, i32 %prlx_count, i64 %prlx_v0, i64 %prlx_v1, i64 %prlx_v2, i64 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  %prlx_go = and i1 %prlx_there, %prlx_does
  br i1 %prlx_go, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_array, label %prlx_end

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
  %prlx_from = phi i64 [ %prlx_base, %prlx_array ], [ 0, %prlx_search ], [ %prlx_itsbase, %prlx_taken ]
  %prlx_sum = phi i32 [ %prlx_slot, %prlx_array ], [ -1, %prlx_search ], [ %prlx_s3, %prlx_taken ]
  %prlx_far = call i64 @prlx_find_sum(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_has = icmp ne i64 %prlx_far, 0
  br i1 %prlx_has, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_far
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

; What a value of 4 or 2 bytes adds to the marks of a sum: 1 where its top bit is set, 2^32 where it is special.
define internal i64 @prlx_marks_of_4(i32 %prlx_value) nounwind {
prlx_begin:
  %prlx_top = lshr i32 %prlx_value, 31
  %prlx_top64 = zext i32 %prlx_top to i64
  %prlx_low = and i32 %prlx_value, 2147483647
  %prlx_special = icmp uge i32 %prlx_low, 2139095040
  %prlx_special64 = select i1 %prlx_special, i64 4294967296, i64 0
  %prlx_marks = or i64 %prlx_top64, %prlx_special64
  ret i64 %prlx_marks
}

define internal i64 @prlx_marks_of_2(i32 %prlx_value) nounwind {
prlx_begin:
  %prlx_top = lshr i32 %prlx_value, 15
  %prlx_top64 = zext i32 %prlx_top to i64
  %prlx_low = and i32 %prlx_value, 32767
  %prlx_special = icmp uge i32 %prlx_low, 31744
  %prlx_special64 = select i1 %prlx_special, i64 4294967296, i64 0
  %prlx_marks = or i64 %prlx_top64, %prlx_special64
  ret i64 %prlx_marks
}

; The hash of a value without its place; the kind is what its shape adds.
define internal i64 @prlx_hash_value(i32 %prlx_value, i64 %prlx_kind) nounwind {
prlx_begin:
  %prlx_word = zext i32 %prlx_value to i64
  %prlx_a = mul i64 %prlx_word, -4417276706812531889
  %prlx_b = add i64 %prlx_a, %prlx_kind
  %prlx_c = call i64 @prlx_fold(i64 %prlx_b) nounwind
  ret i64 %prlx_c
}

; As prlx_record_store, of one element of 4 bytes whose array is known: most stores are such. It is no address. The arena is null of lanes that
; store nothing; the offset is that in the array.
define internal void @prlx_record_word(ptr addrspace(1) %prlx_arena, i32 %prlx_sum, i64 %prlx_offset, i32 %prlx_shape, i32 %prlx_value) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_far = call i64 @prlx_find_sum(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_has = icmp ne i64 %prlx_far, 0
  br i1 %prlx_has, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_far
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_halves = icmp eq i32 %prlx_width, 2
  %prlx_before = atomicrmw add ptr addrspace(1) %prlx_at, i64 1 syncscope("agent") monotonic
  %prlx_shape64 = zext i32 %prlx_shape to i64
  %prlx_kind = mul i64 %prlx_shape64, -8796714831421723037
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_place = add i64 %prlx_o0, %prlx_kind
  %prlx_hash = call i64 @prlx_hash_value(i32 %prlx_value, i64 %prlx_place) nounwind
  br i1 %prlx_halves, label %prlx_parted, label %prlx_whole

prlx_whole:
  %prlx_values = call i64 @prlx_hash_value(i32 %prlx_value, i64 %prlx_kind) nounwind
  %prlx_low = and i32 %prlx_value, 2147483647
  %prlx_bits = zext i32 %prlx_low to i64
  %prlx_marks = call i64 @prlx_marks_of_4(i32 %prlx_value) nounwind
  br label %prlx_add

prlx_parted:
  %prlx_kind2 = sub i64 %prlx_kind, 853314410866105542
  %prlx_a = and i32 %prlx_value, 65535
  %prlx_b = lshr i32 %prlx_value, 16
  %prlx_va = call i64 @prlx_hash_value(i32 %prlx_a, i64 %prlx_kind2) nounwind
  %prlx_vb = call i64 @prlx_hash_value(i32 %prlx_b, i64 %prlx_kind2) nounwind
  %prlx_values2 = add i64 %prlx_va, %prlx_vb
  %prlx_la = and i32 %prlx_value, 32767
  %prlx_lb = and i32 %prlx_b, 32767
  %prlx_l2 = add i32 %prlx_la, %prlx_lb
  %prlx_bits2 = zext i32 %prlx_l2 to i64
  %prlx_ma = call i64 @prlx_marks_of_2(i32 %prlx_a) nounwind
  %prlx_mb = call i64 @prlx_marks_of_2(i32 %prlx_b) nounwind
  %prlx_marks2 = add i64 %prlx_ma, %prlx_mb
  br label %prlx_add

prlx_add:
  %prlx_values_all = phi i64 [ %prlx_values, %prlx_whole ], [ %prlx_values2, %prlx_parted ]
  %prlx_bits_all = phi i64 [ %prlx_bits, %prlx_whole ], [ %prlx_bits2, %prlx_parted ]
  %prlx_marks_all = phi i64 [ %prlx_marks, %prlx_whole ], [ %prlx_marks2, %prlx_parted ]
  call void @prlx_add(ptr addrspace(1) %prlx_at, i64 %prlx_hash, i64 %prlx_values_all, i64 %prlx_bits_all, i64 %prlx_marks_all) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; As prlx_record_word, of two to four elements; the shape holds how many there are, times 2^16.
define internal void @prlx_record_words(ptr addrspace(1) %prlx_arena, i32 %prlx_sum, i64 %prlx_offset, i32 %prlx_shapes, i32 %prlx_v0, i32 %prlx_v1, i32 %prlx_v2, i32 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_far = call i64 @prlx_find_sum(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_has = icmp ne i64 %prlx_far, 0
  br i1 %prlx_has, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_far
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_halves = icmp eq i32 %prlx_width, 2
  %prlx_count = lshr i32 %prlx_shapes, 16
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before = atomicrmw add ptr addrspace(1) %prlx_at, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_shape = and i32 %prlx_shapes, 65535
  %prlx_shape64 = zext i32 %prlx_shape to i64
  %prlx_kind = mul i64 %prlx_shape64, -8796714831421723037
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_place0 = add i64 %prlx_o0, %prlx_kind
  br label %prlx_loop

prlx_loop:
  %prlx_left = phi i32 [ %prlx_count, %prlx_one ], [ %prlx_left1, %prlx_next ]
  %prlx_place = phi i64 [ %prlx_place0, %prlx_one ], [ %prlx_place1, %prlx_next ]
  %prlx_v = phi i32 [ %prlx_v0, %prlx_one ], [ %prlx_w1, %prlx_next ]
  %prlx_w1 = phi i32 [ %prlx_v1, %prlx_one ], [ %prlx_w2, %prlx_next ]
  %prlx_w2 = phi i32 [ %prlx_v2, %prlx_one ], [ %prlx_v3, %prlx_next ]
  %prlx_hash = phi i64 [ 0, %prlx_one ], [ %prlx_hash1, %prlx_next ]
  %prlx_values = phi i64 [ 0, %prlx_one ], [ %prlx_values1, %prlx_next ]
  %prlx_bits = phi i64 [ 0, %prlx_one ], [ %prlx_bits1, %prlx_next ]
  %prlx_marks = phi i64 [ 0, %prlx_one ], [ %prlx_marks1, %prlx_next ]
  %prlx_h = call i64 @prlx_hash_value(i32 %prlx_v, i64 %prlx_place) nounwind
  %prlx_hash1 = add i64 %prlx_hash, %prlx_h
  br i1 %prlx_halves, label %prlx_parted, label %prlx_whole

prlx_whole:
  %prlx_vw = call i64 @prlx_hash_value(i32 %prlx_v, i64 %prlx_kind) nounwind
  %prlx_lw = and i32 %prlx_v, 2147483647
  %prlx_mw = call i64 @prlx_marks_of_4(i32 %prlx_v) nounwind
  br label %prlx_next

prlx_parted:
  %prlx_kind2 = sub i64 %prlx_kind, 853314410866105542
  %prlx_a = and i32 %prlx_v, 65535
  %prlx_b = lshr i32 %prlx_v, 16
  %prlx_va = call i64 @prlx_hash_value(i32 %prlx_a, i64 %prlx_kind2) nounwind
  %prlx_vb = call i64 @prlx_hash_value(i32 %prlx_b, i64 %prlx_kind2) nounwind
  %prlx_vab = add i64 %prlx_va, %prlx_vb
  %prlx_la = and i32 %prlx_v, 32767
  %prlx_lb = and i32 %prlx_b, 32767
  %prlx_lab = add i32 %prlx_la, %prlx_lb
  %prlx_ma = call i64 @prlx_marks_of_2(i32 %prlx_a) nounwind
  %prlx_mb = call i64 @prlx_marks_of_2(i32 %prlx_b) nounwind
  %prlx_mab = add i64 %prlx_ma, %prlx_mb
  br label %prlx_next

prlx_next:
  %prlx_value1 = phi i64 [ %prlx_vw, %prlx_whole ], [ %prlx_vab, %prlx_parted ]
  %prlx_low1 = phi i32 [ %prlx_lw, %prlx_whole ], [ %prlx_lab, %prlx_parted ]
  %prlx_mark1 = phi i64 [ %prlx_mw, %prlx_whole ], [ %prlx_mab, %prlx_parted ]
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_low64 = zext i32 %prlx_low1 to i64
  %prlx_bits1 = add i64 %prlx_bits, %prlx_low64
  %prlx_marks1 = add i64 %prlx_marks, %prlx_mark1
  %prlx_place1 = add i64 %prlx_place, 8709370992879675932
  %prlx_left1 = sub i32 %prlx_left, 1
  %prlx_more = icmp ne i32 %prlx_left1, 0
  br i1 %prlx_more, label %prlx_loop, label %prlx_add

prlx_add:
  call void @prlx_add(ptr addrspace(1) %prlx_at, i64 %prlx_hash1, i64 %prlx_values1, i64 %prlx_bits1, i64 %prlx_marks1) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

; As prlx_record_words, of one to four elements of 1 or 2 bytes.
define internal void @prlx_record_narrow(ptr addrspace(1) %prlx_arena, i32 %prlx_sum, i64 %prlx_offset, i32 %prlx_shapes, i32 %prlx_v0, i32 %prlx_v1, i32 %prlx_v2, i32 %prlx_v3) nounwind noinline {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_arena, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_magic = load i64, ptr addrspace(1) %prlx_arena, align 8
  %prlx_ours = icmp eq i64 %prlx_magic, 3550334321859252816
  br i1 %prlx_ours, label %prlx_which, label %prlx_end

prlx_which:
  %prlx_far = call i64 @prlx_find_sum(ptr addrspace(1) %prlx_arena, i32 %prlx_sum) nounwind
  %prlx_has = icmp ne i64 %prlx_far, 0
  br i1 %prlx_has, label %prlx_one, label %prlx_end

prlx_one:
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 %prlx_far
  %prlx_count = lshr i32 %prlx_shapes, 16
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before = atomicrmw add ptr addrspace(1) %prlx_at, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_shape = and i32 %prlx_shapes, 65535
  %prlx_bytes = and i32 %prlx_shapes, 255
  %prlx_bytes64 = zext i32 %prlx_bytes to i64
  %prlx_step = mul i64 %prlx_bytes64, -7046029288634856825
  %prlx_shape64 = zext i32 %prlx_shape to i64
  %prlx_kind = mul i64 %prlx_shape64, -8796714831421723037
  %prlx_o0 = mul i64 %prlx_offset, -7046029288634856825
  %prlx_place0 = add i64 %prlx_o0, %prlx_kind
  %prlx_is2 = icmp eq i32 %prlx_bytes, 2
  br label %prlx_loop

prlx_loop:
  %prlx_left = phi i32 [ %prlx_count, %prlx_one ], [ %prlx_left1, %prlx_next ]
  %prlx_place = phi i64 [ %prlx_place0, %prlx_one ], [ %prlx_place1, %prlx_next ]
  %prlx_v = phi i32 [ %prlx_v0, %prlx_one ], [ %prlx_w1, %prlx_next ]
  %prlx_w1 = phi i32 [ %prlx_v1, %prlx_one ], [ %prlx_w2, %prlx_next ]
  %prlx_w2 = phi i32 [ %prlx_v2, %prlx_one ], [ %prlx_v3, %prlx_next ]
  %prlx_hash = phi i64 [ 0, %prlx_one ], [ %prlx_hash1, %prlx_next ]
  %prlx_values = phi i64 [ 0, %prlx_one ], [ %prlx_values1, %prlx_next ]
  %prlx_bits = phi i64 [ 0, %prlx_one ], [ %prlx_bits1, %prlx_next ]
  %prlx_marks = phi i64 [ 0, %prlx_one ], [ %prlx_marks1, %prlx_next ]
  %prlx_h = call i64 @prlx_hash_value(i32 %prlx_v, i64 %prlx_place) nounwind
  %prlx_hash1 = add i64 %prlx_hash, %prlx_h
  %prlx_value1 = call i64 @prlx_hash_value(i32 %prlx_v, i64 %prlx_kind) nounwind
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  br i1 %prlx_is2, label %prlx_of_2, label %prlx_of_1

prlx_of_2:
  %prlx_low2 = and i32 %prlx_v, 32767
  %prlx_mark2 = call i64 @prlx_marks_of_2(i32 %prlx_v) nounwind
  br label %prlx_next

prlx_of_1:
  %prlx_low1 = and i32 %prlx_v, 127
  %prlx_top1 = lshr i32 %prlx_v, 7
  %prlx_mark1 = zext i32 %prlx_top1 to i64
  br label %prlx_next

prlx_next:
  %prlx_low = phi i32 [ %prlx_low2, %prlx_of_2 ], [ %prlx_low1, %prlx_of_1 ]
  %prlx_mark = phi i64 [ %prlx_mark2, %prlx_of_2 ], [ %prlx_mark1, %prlx_of_1 ]
  %prlx_low64 = zext i32 %prlx_low to i64
  %prlx_bits1 = add i64 %prlx_bits, %prlx_low64
  %prlx_marks1 = add i64 %prlx_marks, %prlx_mark
  %prlx_place1 = add i64 %prlx_place, %prlx_step
  %prlx_left1 = sub i32 %prlx_left, 1
  %prlx_more = icmp ne i32 %prlx_left1, 0
  br i1 %prlx_more, label %prlx_loop, label %prlx_add

prlx_add:
  call void @prlx_add(ptr addrspace(1) %prlx_at, i64 %prlx_hash1, i64 %prlx_values1, i64 %prlx_bits1, i64 %prlx_marks1) nounwind
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

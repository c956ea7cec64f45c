; What a lane adds up of what it stores at a statement, before it adds to the sum of its warp.

; What a lane that stores adds to sums, which it keeps to itself meanwhile: hash and values, the sum of its bits with the top ones, how many have
; these set, how many are special, how many there are. The place is what its offset and its shape add to the hash. This is an element of 4 bytes of
; an array whose elements are not half as wide; of another, it goes the long way.
define internal { i64, i64, i64, i32, i32, i32 } @prlx_word({ i64, i64, i64, i32, i32, i32 } %prlx_sum, i1 %prlx_does, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value, ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i1 %prlx_halves) alwaysinline nounwind {
prlx_begin:
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  %prlx_word = zext i32 %prlx_value to i64
  br i1 %prlx_does, label %prlx_go, label %prlx_end

prlx_go:
  br i1 %prlx_halves, label %prlx_slow, label %prlx_fast

prlx_slow:
  call void @prlx_record_pair(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) nounwind
  br label %prlx_end

prlx_fast:
  %prlx_m = mul i64 %prlx_word, -4417276706812531889
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_x = add i64 %prlx_m, %prlx_place
  %prlx_placed = call i64 @prlx_fold(i64 %prlx_x) nounwind
  %prlx_y = add i64 %prlx_m, %prlx_kind
  %prlx_value1 = call i64 @prlx_fold(i64 %prlx_y) nounwind
  %prlx_top = lshr i32 %prlx_value, 31
  %prlx_low = and i32 %prlx_value, 2147483647
  %prlx_over = add i32 %prlx_low, 8388608
  %prlx_special = lshr i32 %prlx_over, 31
  %prlx_hash1 = add i64 %prlx_hash, %prlx_placed
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_bits1 = add i64 %prlx_bits, %prlx_word
  %prlx_tops1 = add i32 %prlx_tops, %prlx_top
  %prlx_specials1 = add i32 %prlx_specials, %prlx_special
  %prlx_count1 = add i32 %prlx_count, 1
  br label %prlx_end

prlx_end:
  %prlx_hash2 = phi i64 [ %prlx_hash, %prlx_begin ], [ %prlx_hash, %prlx_slow ], [ %prlx_hash1, %prlx_fast ]
  %prlx_values2 = phi i64 [ %prlx_values, %prlx_begin ], [ %prlx_values, %prlx_slow ], [ %prlx_values1, %prlx_fast ]
  %prlx_bits2 = phi i64 [ %prlx_bits, %prlx_begin ], [ %prlx_bits, %prlx_slow ], [ %prlx_bits1, %prlx_fast ]
  %prlx_tops2 = phi i32 [ %prlx_tops, %prlx_begin ], [ %prlx_tops, %prlx_slow ], [ %prlx_tops1, %prlx_fast ]
  %prlx_specials2 = phi i32 [ %prlx_specials, %prlx_begin ], [ %prlx_specials, %prlx_slow ], [ %prlx_specials1, %prlx_fast ]
  %prlx_count2 = phi i32 [ %prlx_count, %prlx_begin ], [ %prlx_count, %prlx_slow ], [ %prlx_count1, %prlx_fast ]
  %prlx_s0 = insertvalue { i64, i64, i64, i32, i32, i32 } poison, i64 %prlx_hash2, 0
  %prlx_s1 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s0, i64 %prlx_values2, 1
  %prlx_s2 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s1, i64 %prlx_bits2, 2
  %prlx_s3 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s2, i32 %prlx_tops2, 3
  %prlx_s4 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s3, i32 %prlx_specials2, 4
  %prlx_s5 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s4, i32 %prlx_count2, 5
  ret { i64, i64, i64, i32, i32, i32 } %prlx_s5
}

; As prlx_word, of two elements of 2 bytes in one of 4.
define internal { i64, i64, i64, i32, i32, i32 } @prlx_pair({ i64, i64, i64, i32, i32, i32 } %prlx_sum, i1 %prlx_does, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value, ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i1 %prlx_halves) alwaysinline nounwind {
prlx_begin:
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  %prlx_word = zext i32 %prlx_value to i64
  br i1 %prlx_does, label %prlx_go, label %prlx_end

prlx_go:
  br i1 %prlx_halves, label %prlx_fast, label %prlx_slow

prlx_slow:
  call void @prlx_record_word(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) nounwind
  br label %prlx_end

prlx_fast:
  %prlx_m = mul i64 %prlx_word, -4417276706812531889
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_x = add i64 %prlx_m, %prlx_place
  %prlx_placed = call i64 @prlx_fold(i64 %prlx_x) nounwind
  %prlx_kind2 = sub i64 %prlx_kind, 853314410866105542
  %prlx_a = and i32 %prlx_value, 65535
  %prlx_b = lshr i32 %prlx_value, 16
  %prlx_a64 = zext i32 %prlx_a to i64
  %prlx_b64 = zext i32 %prlx_b to i64
  %prlx_ma = mul i64 %prlx_a64, -4417276706812531889
  %prlx_mb = mul i64 %prlx_b64, -4417276706812531889
  %prlx_ya = add i64 %prlx_ma, %prlx_kind2
  %prlx_yb = add i64 %prlx_mb, %prlx_kind2
  %prlx_va = call i64 @prlx_fold(i64 %prlx_ya) nounwind
  %prlx_vb = call i64 @prlx_fold(i64 %prlx_yb) nounwind
  %prlx_value1 = add i64 %prlx_va, %prlx_vb
  %prlx_bit = add i64 %prlx_a64, %prlx_b64
  %prlx_high = and i32 %prlx_value, -2147450880
  %prlx_top = call i32 @llvm.ctpop.i32(i32 %prlx_high)
  %prlx_low = and i32 %prlx_value, 2147450879
  %prlx_over = add i32 %prlx_low, 67109888
  %prlx_marked = and i32 %prlx_over, -2147450880
  %prlx_special = call i32 @llvm.ctpop.i32(i32 %prlx_marked)
  %prlx_hash1 = add i64 %prlx_hash, %prlx_placed
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_bits1 = add i64 %prlx_bits, %prlx_bit
  %prlx_tops1 = add i32 %prlx_tops, %prlx_top
  %prlx_specials1 = add i32 %prlx_specials, %prlx_special
  %prlx_count1 = add i32 %prlx_count, 1
  br label %prlx_end

prlx_end:
  %prlx_hash2 = phi i64 [ %prlx_hash, %prlx_begin ], [ %prlx_hash, %prlx_slow ], [ %prlx_hash1, %prlx_fast ]
  %prlx_values2 = phi i64 [ %prlx_values, %prlx_begin ], [ %prlx_values, %prlx_slow ], [ %prlx_values1, %prlx_fast ]
  %prlx_bits2 = phi i64 [ %prlx_bits, %prlx_begin ], [ %prlx_bits, %prlx_slow ], [ %prlx_bits1, %prlx_fast ]
  %prlx_tops2 = phi i32 [ %prlx_tops, %prlx_begin ], [ %prlx_tops, %prlx_slow ], [ %prlx_tops1, %prlx_fast ]
  %prlx_specials2 = phi i32 [ %prlx_specials, %prlx_begin ], [ %prlx_specials, %prlx_slow ], [ %prlx_specials1, %prlx_fast ]
  %prlx_count2 = phi i32 [ %prlx_count, %prlx_begin ], [ %prlx_count, %prlx_slow ], [ %prlx_count1, %prlx_fast ]
  %prlx_s0 = insertvalue { i64, i64, i64, i32, i32, i32 } poison, i64 %prlx_hash2, 0
  %prlx_s1 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s0, i64 %prlx_values2, 1
  %prlx_s2 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s1, i64 %prlx_bits2, 2
  %prlx_s3 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s2, i32 %prlx_tops2, 3
  %prlx_s4 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s3, i32 %prlx_specials2, 4
  %prlx_s5 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s4, i32 %prlx_count2, 5
  ret { i64, i64, i64, i32, i32, i32 } %prlx_s5
}

; As prlx_word, of an element of 2 bytes.
define internal { i64, i64, i64, i32, i32, i32 } @prlx_half({ i64, i64, i64, i32, i32, i32 } %prlx_sum, i1 %prlx_does, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  %prlx_word = zext i32 %prlx_value to i64
  br i1 %prlx_does, label %prlx_fast, label %prlx_end

prlx_fast:
  %prlx_m = mul i64 %prlx_word, -4417276706812531889
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_x = add i64 %prlx_m, %prlx_place
  %prlx_placed = call i64 @prlx_fold(i64 %prlx_x) nounwind
  %prlx_y = add i64 %prlx_m, %prlx_kind
  %prlx_value1 = call i64 @prlx_fold(i64 %prlx_y) nounwind
  %prlx_top = lshr i32 %prlx_value, 15
  %prlx_low = and i32 %prlx_value, 32767
  %prlx_over = add i32 %prlx_low, 1024
  %prlx_special = lshr i32 %prlx_over, 15
  %prlx_hash1 = add i64 %prlx_hash, %prlx_placed
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_bits1 = add i64 %prlx_bits, %prlx_word
  %prlx_tops1 = add i32 %prlx_tops, %prlx_top
  %prlx_specials1 = add i32 %prlx_specials, %prlx_special
  %prlx_count1 = add i32 %prlx_count, 1
  br label %prlx_end

prlx_end:
  %prlx_hash2 = phi i64 [ %prlx_hash, %prlx_begin ], [ %prlx_hash1, %prlx_fast ]
  %prlx_values2 = phi i64 [ %prlx_values, %prlx_begin ], [ %prlx_values1, %prlx_fast ]
  %prlx_bits2 = phi i64 [ %prlx_bits, %prlx_begin ], [ %prlx_bits1, %prlx_fast ]
  %prlx_tops2 = phi i32 [ %prlx_tops, %prlx_begin ], [ %prlx_tops1, %prlx_fast ]
  %prlx_specials2 = phi i32 [ %prlx_specials, %prlx_begin ], [ %prlx_specials1, %prlx_fast ]
  %prlx_count2 = phi i32 [ %prlx_count, %prlx_begin ], [ %prlx_count1, %prlx_fast ]
  %prlx_s0 = insertvalue { i64, i64, i64, i32, i32, i32 } poison, i64 %prlx_hash2, 0
  %prlx_s1 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s0, i64 %prlx_values2, 1
  %prlx_s2 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s1, i64 %prlx_bits2, 2
  %prlx_s3 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s2, i32 %prlx_tops2, 3
  %prlx_s4 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s3, i32 %prlx_specials2, 4
  %prlx_s5 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s4, i32 %prlx_count2, 5
  ret { i64, i64, i64, i32, i32, i32 } %prlx_s5
}

; As prlx_word, of an element of 1 byte.
define internal { i64, i64, i64, i32, i32, i32 } @prlx_byte({ i64, i64, i64, i32, i32, i32 } %prlx_sum, i1 %prlx_does, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) alwaysinline nounwind {
prlx_begin:
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  %prlx_word = zext i32 %prlx_value to i64
  br i1 %prlx_does, label %prlx_fast, label %prlx_end

prlx_fast:
  %prlx_m = mul i64 %prlx_word, -4417276706812531889
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_x = add i64 %prlx_m, %prlx_place
  %prlx_placed = call i64 @prlx_fold(i64 %prlx_x) nounwind
  %prlx_y = add i64 %prlx_m, %prlx_kind
  %prlx_value1 = call i64 @prlx_fold(i64 %prlx_y) nounwind
  %prlx_top = lshr i32 %prlx_value, 7
  %prlx_hash1 = add i64 %prlx_hash, %prlx_placed
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_bits1 = add i64 %prlx_bits, %prlx_word
  %prlx_tops1 = add i32 %prlx_tops, %prlx_top
  %prlx_specials1 = add i32 %prlx_specials, 0
  %prlx_count1 = add i32 %prlx_count, 1
  br label %prlx_end

prlx_end:
  %prlx_hash2 = phi i64 [ %prlx_hash, %prlx_begin ], [ %prlx_hash1, %prlx_fast ]
  %prlx_values2 = phi i64 [ %prlx_values, %prlx_begin ], [ %prlx_values1, %prlx_fast ]
  %prlx_bits2 = phi i64 [ %prlx_bits, %prlx_begin ], [ %prlx_bits1, %prlx_fast ]
  %prlx_tops2 = phi i32 [ %prlx_tops, %prlx_begin ], [ %prlx_tops1, %prlx_fast ]
  %prlx_specials2 = phi i32 [ %prlx_specials, %prlx_begin ], [ %prlx_specials1, %prlx_fast ]
  %prlx_count2 = phi i32 [ %prlx_count, %prlx_begin ], [ %prlx_count1, %prlx_fast ]
  %prlx_s0 = insertvalue { i64, i64, i64, i32, i32, i32 } poison, i64 %prlx_hash2, 0
  %prlx_s1 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s0, i64 %prlx_values2, 1
  %prlx_s2 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s1, i64 %prlx_bits2, 2
  %prlx_s3 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s2, i32 %prlx_tops2, 3
  %prlx_s4 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s3, i32 %prlx_specials2, 4
  %prlx_s5 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s4, i32 %prlx_count2, 5
  ret { i64, i64, i64, i32, i32, i32 } %prlx_s5
}

; As prlx_word, of an element of 8 bytes. What may be an address, or belongs to an array whose elements are not as wide, goes the long way.
define internal { i64, i64, i64, i32, i32, i32 } @prlx_wide({ i64, i64, i64, i32, i32, i32 } %prlx_sum, i1 %prlx_does, i64 %prlx_place, i64 %prlx_shape, i64 %prlx_word, ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, { i64, i64, i1 } %prlx_range) alwaysinline nounwind {
prlx_begin:
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  br i1 %prlx_does, label %prlx_go, label %prlx_end

prlx_go:
  %prlx_low = extractvalue { i64, i64, i1 } %prlx_range, 0
  %prlx_span = extractvalue { i64, i64, i1 } %prlx_range, 1
  %prlx_above = sub i64 %prlx_word, %prlx_low
  %prlx_narrow = extractvalue { i64, i64, i1 } %prlx_range, 2
  %prlx_may = icmp ult i64 %prlx_above, %prlx_span
  %prlx_long = or i1 %prlx_may, %prlx_narrow
  br i1 %prlx_long, label %prlx_slow, label %prlx_fast

prlx_slow:
  call void @prlx_record_wide(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i64 %prlx_word) nounwind
  br label %prlx_end

prlx_fast:
  %prlx_m = mul i64 %prlx_word, -4417276706812531889
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_x = add i64 %prlx_m, %prlx_place
  %prlx_placed = call i64 @prlx_fold(i64 %prlx_x) nounwind
  %prlx_y = add i64 %prlx_m, %prlx_kind
  %prlx_value1 = call i64 @prlx_fold(i64 %prlx_y) nounwind
  %prlx_upper = lshr i64 %prlx_word, 32
  %prlx_high = trunc i64 %prlx_upper to i32
  %prlx_top = lshr i32 %prlx_high, 31
  %prlx_lows = and i32 %prlx_high, 2147483647
  %prlx_over = add i32 %prlx_lows, 1048576
  %prlx_special = lshr i32 %prlx_over, 31
  %prlx_hash1 = add i64 %prlx_hash, %prlx_placed
  %prlx_values1 = add i64 %prlx_values, %prlx_value1
  %prlx_bits1 = add i64 %prlx_bits, %prlx_upper
  %prlx_tops1 = add i32 %prlx_tops, %prlx_top
  %prlx_specials1 = add i32 %prlx_specials, %prlx_special
  %prlx_count1 = add i32 %prlx_count, 1
  br label %prlx_end

prlx_end:
  %prlx_hash2 = phi i64 [ %prlx_hash, %prlx_begin ], [ %prlx_hash, %prlx_slow ], [ %prlx_hash1, %prlx_fast ]
  %prlx_values2 = phi i64 [ %prlx_values, %prlx_begin ], [ %prlx_values, %prlx_slow ], [ %prlx_values1, %prlx_fast ]
  %prlx_bits2 = phi i64 [ %prlx_bits, %prlx_begin ], [ %prlx_bits, %prlx_slow ], [ %prlx_bits1, %prlx_fast ]
  %prlx_tops2 = phi i32 [ %prlx_tops, %prlx_begin ], [ %prlx_tops, %prlx_slow ], [ %prlx_tops1, %prlx_fast ]
  %prlx_specials2 = phi i32 [ %prlx_specials, %prlx_begin ], [ %prlx_specials, %prlx_slow ], [ %prlx_specials1, %prlx_fast ]
  %prlx_count2 = phi i32 [ %prlx_count, %prlx_begin ], [ %prlx_count, %prlx_slow ], [ %prlx_count1, %prlx_fast ]
  %prlx_s0 = insertvalue { i64, i64, i64, i32, i32, i32 } poison, i64 %prlx_hash2, 0
  %prlx_s1 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s0, i64 %prlx_values2, 1
  %prlx_s2 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s1, i64 %prlx_bits2, 2
  %prlx_s3 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s2, i32 %prlx_tops2, 3
  %prlx_s4 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s3, i32 %prlx_specials2, 4
  %prlx_s5 = insertvalue { i64, i64, i64, i32, i32, i32 } %prlx_s4, i32 %prlx_count2, 5
  ret { i64, i64, i64, i32, i32, i32 } %prlx_s5
}

; An element of 4 bytes that is added at once, for kernels that did not expect it.
define internal void @prlx_record_word(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) nounwind noinline {
prlx_begin:
  %prlx_sum = call { i64, i64, i64, i32, i32, i32 } @prlx_word({ i64, i64, i64, i32, i32, i32 } zeroinitializer, i1 true, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value, ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i1 false) nounwind
  call void @prlx_add_sums(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, { i64, i64, i64, i32, i32, i32 } %prlx_sum, i64 2147483648) nounwind
  ret void
}

; Likewise two of 2 bytes.
define internal void @prlx_record_pair(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value) nounwind noinline {
prlx_begin:
  %prlx_sum = call { i64, i64, i64, i32, i32, i32 } @prlx_pair({ i64, i64, i64, i32, i32, i32 } zeroinitializer, i1 true, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_value, ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i1 true) nounwind
  call void @prlx_add_sums(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, { i64, i64, i64, i32, i32, i32 } %prlx_sum, i64 32768) nounwind
  ret void
}

; What the place of an element adds to its hash.
define internal i64 @prlx_place(i64 %prlx_offset, i64 %prlx_shape) alwaysinline nounwind {
prlx_begin:
  %prlx_o = mul i64 %prlx_offset, -7046029288634856825
  %prlx_kind = mul i64 %prlx_shape, -8796714831421723037
  %prlx_place = add i64 %prlx_o, %prlx_kind
  ret i64 %prlx_place
}

; Whether the elements of the array of a sum have 2 bytes.
define internal i1 @prlx_halves(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot) alwaysinline nounwind {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_entry, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  %prlx_row = load ptr addrspace(1), ptr addrspace(1) %prlx_prow, align 8
  %prlx_has = icmp ne ptr addrspace(1) %prlx_row, null
  br i1 %prlx_has, label %prlx_measure, label %prlx_end

prlx_measure:
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_slot) nounwind
  br label %prlx_end

prlx_end:
  %prlx_bytes = phi i32 [ 0, %prlx_begin ], [ 0, %prlx_look ], [ %prlx_width, %prlx_measure ]
  %prlx_halves = icmp eq i32 %prlx_bytes, 2
  ret i1 %prlx_halves
}

; The long way of an element of 8 bytes, of a warp that has sums.
define internal void @prlx_record_wide(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, i64 %prlx_place, i64 %prlx_shape, i64 %prlx_word) nounwind noinline {
prlx_begin:
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  %prlx_row = load ptr addrspace(1), ptr addrspace(1) %prlx_prow, align 8
  %prlx_slot64 = zext i32 %prlx_slot to i64
  %prlx_far = mul i64 %prlx_slot64, 40
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_row, i64 %prlx_far
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_slot) nounwind
  %prlx_before = atomicrmw add ptr addrspace(1) %prlx_at, i64 1 syncscope("agent") monotonic
  call void @prlx_add_element(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_at, i64 %prlx_place, i64 %prlx_shape, i32 %prlx_width, i64 %prlx_word) nounwind
  ret void
}

; Of elements of 8 bytes of a sum, those that go the long way: from where on, how far, and whether all do.
define internal { i64, i64, i1 } @prlx_range(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot) alwaysinline nounwind {
prlx_begin:
  %prlx_there = icmp ne ptr addrspace(1) %prlx_entry, null
  br i1 %prlx_there, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  %prlx_row = load ptr addrspace(1), ptr addrspace(1) %prlx_prow, align 8
  %prlx_has = icmp ne ptr addrspace(1) %prlx_row, null
  br i1 %prlx_has, label %prlx_measure, label %prlx_end

prlx_measure:
  %prlx_width = call i32 @prlx_width(ptr addrspace(1) %prlx_arena, i32 %prlx_slot) nounwind
  %prlx_narrow = icmp ult i32 %prlx_width, 8
  %prlx_plow = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 176
  %prlx_low0 = load i64, ptr addrspace(1) %prlx_plow, align 8
  %prlx_pspan = getelementptr i8, ptr addrspace(1) %prlx_arena, i64 184
  %prlx_span0 = load i64, ptr addrspace(1) %prlx_pspan, align 8
  br label %prlx_end

prlx_end:
  %prlx_low = phi i64 [ 0, %prlx_begin ], [ 0, %prlx_look ], [ %prlx_low0, %prlx_measure ]
  %prlx_span = phi i64 [ 0, %prlx_begin ], [ 0, %prlx_look ], [ %prlx_span0, %prlx_measure ]
  %prlx_parts = phi i1 [ false, %prlx_begin ], [ false, %prlx_look ], [ %prlx_narrow, %prlx_measure ]
  %prlx_r0 = insertvalue { i64, i64, i1 } poison, i64 %prlx_low, 0
  %prlx_r1 = insertvalue { i64, i64, i1 } %prlx_r0, i64 %prlx_span, 1
  %prlx_r2 = insertvalue { i64, i64, i1 } %prlx_r1, i1 %prlx_parts, 2
  ret { i64, i64, i1 } %prlx_r2
}

; Adds what a lane kept to itself to a sum of its warp: one atomic for each number. Each top bit is worth so much, as a power of 2.
define internal void @prlx_add_sums(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_slot, { i64, i64, i64, i32, i32, i32 } %prlx_sum, i64 %prlx_worth) alwaysinline nounwind {
prlx_begin:
  %prlx_count = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 5
  %prlx_some = icmp ne i32 %prlx_count, 0
  %prlx_there = icmp ne ptr addrspace(1) %prlx_entry, null
  %prlx_go = and i1 %prlx_some, %prlx_there
  br i1 %prlx_go, label %prlx_look, label %prlx_end

prlx_look:
  %prlx_prow = getelementptr i8, ptr addrspace(1) %prlx_entry, i64 56
  %prlx_row = load ptr addrspace(1), ptr addrspace(1) %prlx_prow, align 8
  %prlx_has = icmp ne ptr addrspace(1) %prlx_row, null
  br i1 %prlx_has, label %prlx_add, label %prlx_lost

prlx_add:
  %prlx_slot64 = zext i32 %prlx_slot to i64
  %prlx_far = mul i64 %prlx_slot64, 40
  %prlx_at = getelementptr i8, ptr addrspace(1) %prlx_row, i64 %prlx_far
  %prlx_hash = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 0
  %prlx_values = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 1
  %prlx_bits = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 2
  %prlx_tops = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 3
  %prlx_specials = extractvalue { i64, i64, i64, i32, i32, i32 } %prlx_sum, 4
  %prlx_count64 = zext i32 %prlx_count to i64
  %prlx_before0 = atomicrmw add ptr addrspace(1) %prlx_at, i64 %prlx_count64 syncscope("agent") monotonic
  %prlx_p1 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 8
  %prlx_before1 = atomicrmw add ptr addrspace(1) %prlx_p1, i64 %prlx_hash syncscope("agent") monotonic
  %prlx_p2 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 16
  %prlx_before2 = atomicrmw add ptr addrspace(1) %prlx_p2, i64 %prlx_values syncscope("agent") monotonic
  %prlx_tops64 = zext i32 %prlx_tops to i64
  %prlx_above = mul i64 %prlx_tops64, %prlx_worth
  %prlx_lows = sub i64 %prlx_bits, %prlx_above
  %prlx_p3 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 24
  %prlx_before3 = atomicrmw add ptr addrspace(1) %prlx_p3, i64 %prlx_lows syncscope("agent") monotonic
  %prlx_p4 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 32
  %prlx_before4 = atomicrmw add ptr addrspace(1) %prlx_p4, i32 %prlx_tops syncscope("agent") monotonic
  %prlx_p5 = getelementptr i8, ptr addrspace(1) %prlx_at, i64 36
  %prlx_before5 = atomicrmw add ptr addrspace(1) %prlx_p5, i32 %prlx_specials syncscope("agent") monotonic
  br label %prlx_end

prlx_lost:
  call void @prlx_lose(ptr addrspace(1) %prlx_arena, ptr addrspace(1) %prlx_entry, i32 %prlx_count) nounwind
  br label %prlx_end

prlx_end:
  ret void
}

declare i32 @llvm.ctpop.i32(i32)

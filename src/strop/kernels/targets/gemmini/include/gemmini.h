// Gemmini's commands for candidates: the public gemmini_* names and the short ones, without libc.
//
// A command is an instruction of opcode custom-3 with two 64-bit registers. A local operand packs its address (bits 0 to
// 31), its columns (32 to 47) and its rows (48 to 63). The geometry's sizes come from gemmini_params.h.
#ifndef STROP_GEMMINI_H
#define STROP_GEMMINI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gemmini_params.h"

#define ADDR_LEN 32
#define GARBAGE_ADDR ((uint32_t)(-1))
#define OUTPUT_STATIONARY 0
#define WEIGHT_STATIONARY 1

#define NO_ACTIVATION 0
#define RELU 1
#define LAYERNORM 2
#define IGELU 3
#define SOFTMAX 4

#define CONFIG_EX 0
#define CONFIG_LD 1
#define CONFIG_ST 2
#define CONFIG_BERT 3

#define k_CONFIG 0
#define k_MVIN2 1
#define k_MVIN 2
#define k_MVOUT 3
#define k_COMPUTE_PRELOADED 4
#define k_COMPUTE_ACCUMULATE 5
#define k_PRELOAD 6
#define k_FLUSH 7
#define k_LOOP_WS 8
#define k_LOOP_WS_CONFIG_BOUNDS 9
#define k_LOOP_WS_CONFIG_ADDRS_AB 10
#define k_LOOP_WS_CONFIG_ADDRS_DC 11
#define k_LOOP_WS_CONFIG_STRIDES_AB 12
#define k_LOOP_WS_CONFIG_STRIDES_DC 13
#define k_MVIN3 14
#define k_LOOP_CONV_WS 15
#define k_LOOP_CONV_WS_CONFIG_1 16
#define k_LOOP_CONV_WS_CONFIG_2 17
#define k_LOOP_CONV_WS_CONFIG_3 18
#define k_LOOP_CONV_WS_CONFIG_4 19
#define k_LOOP_CONV_WS_CONFIG_5 20
#define k_LOOP_CONV_WS_CONFIG_6 21
#define k_COUNTER 126

#define GEMMINI_INLINE static inline __attribute__((always_inline, unused))

#define ROCC_INSTRUCTION_RS1_RS2(x, rs1, rs2, funct) \
  __asm__ volatile(".insn r 0x7b, 3, %2, x0, %0, %1" ::"r"((uint64_t)(rs1)), "r"((uint64_t)(rs2)), "i"(funct) : "memory")

// --- packing --------------------------------------------------------------------------------------------------------

GEMMINI_INLINE uint64_t gemmini_local(uint64_t address, uint64_t cols, uint64_t rows) {
  return rows << 48 | cols << 32 | (uint32_t)address;
}

GEMMINI_INLINE uint64_t gemmini_float_bits(float value) {
  union {
    float number;
    uint32_t bits;
  } both = {value};
  return both.bits;
}

// --- moves ----------------------------------------------------------------------------------------------------------

#define STROP_MOVE(funct, dram, local, cols, rows) \
  ROCC_INSTRUCTION_RS1_RS2(3, dram, gemmini_local(local, cols, rows), funct)

#define gemmini_extended_mvin(dram_addr, spad_addr, cols, rows) STROP_MOVE(k_MVIN, dram_addr, spad_addr, cols, rows)
#define gemmini_extended_mvin2(dram_addr, spad_addr, cols, rows) STROP_MOVE(k_MVIN2, dram_addr, spad_addr, cols, rows)
#define gemmini_extended_mvin3(dram_addr, spad_addr, cols, rows) STROP_MOVE(k_MVIN3, dram_addr, spad_addr, cols, rows)
#define gemmini_extended_mvout(dram_addr, spad_addr, cols, rows) STROP_MOVE(k_MVOUT, dram_addr, spad_addr, cols, rows)
#define gemmini_block_mvin(dram_addr, spad_addr, len) gemmini_extended_mvin(dram_addr, spad_addr, (len) * DIM, DIM)
#define gemmini_mvin(dram_addr, spad_addr) gemmini_extended_mvin(dram_addr, spad_addr, DIM, DIM)
#define gemmini_mvout(dram_addr, spad_addr) gemmini_extended_mvout(dram_addr, spad_addr, DIM, DIM)

// --- the array ------------------------------------------------------------------------------------------------------

#define STROP_ARRAY(funct, first, first_cols, first_rows, second, second_cols, second_rows)               \
  ROCC_INSTRUCTION_RS1_RS2(3, gemmini_local(first, first_cols, first_rows),                               \
                           gemmini_local(second, second_cols, second_rows), funct)

#define gemmini_extended_preload(BD, C, BD_cols, BD_rows, C_cols, C_rows) \
  STROP_ARRAY(k_PRELOAD, BD, BD_cols, BD_rows, C, C_cols, C_rows)
#define gemmini_extended_compute_preloaded(A, BD, A_cols, A_rows, BD_cols, BD_rows) \
  STROP_ARRAY(k_COMPUTE_PRELOADED, A, A_cols, A_rows, BD, BD_cols, BD_rows)
#define gemmini_extended_compute_accumulated(A, BD, A_cols, A_rows, BD_cols, BD_rows) \
  STROP_ARRAY(k_COMPUTE_ACCUMULATE, A, A_cols, A_rows, BD, BD_cols, BD_rows)
#define gemmini_preload(BD, C) gemmini_extended_preload(BD, C, DIM, DIM, DIM, DIM)
#define gemmini_preload_zeros(C) gemmini_preload(GARBAGE_ADDR, C)
#define gemmini_compute_preloaded(A, BD) gemmini_extended_compute_preloaded(A, BD, DIM, DIM, DIM, DIM)
#define gemmini_compute_accumulated(A, BD) gemmini_extended_compute_accumulated(A, BD, DIM, DIM, DIM, DIM)

// --- configs --------------------------------------------------------------------------------------------------------

#define gemmini_extended3_config_ex(dataflow, sys_act, sys_shift, sys_acc_scale, C_stride, A_stride, A_transpose,     \
                                    B_transpose, set_only_strides)                                                    \
  ROCC_INSTRUCTION_RS1_RS2(3,                                                                                         \
                           gemmini_float_bits(sys_acc_scale) << 32 | (uint64_t)(A_stride) << 16 |                     \
                               (uint64_t)(B_transpose) << 9 | (uint64_t)(A_transpose) << 8 |                          \
                               (uint64_t)(set_only_strides) << 7 | (uint64_t)(sys_act) << 3 |                         \
                               (uint64_t)(dataflow) << 2 | CONFIG_EX,                                                 \
                           (uint64_t)(C_stride) << 48 | (uint32_t)(sys_shift), k_CONFIG)
#define gemmini_extended2_config_ex(dataflow, sys_act, sys_shift, A_stride, A_transpose, B_transpose) \
  gemmini_extended3_config_ex(dataflow, sys_act, sys_shift, 1.0f, 1, A_stride, A_transpose, B_transpose, 0)
#define gemmini_extended_config_ex(dataflow, sys_act, sys_shift, A_stride, A_transpose, B_transpose) \
  gemmini_extended2_config_ex(dataflow, sys_act, sys_shift, A_stride, A_transpose, B_transpose)
#define gemmini_config_ex(dataflow, sys_act, sys_shift) \
  gemmini_extended_config_ex(dataflow, sys_act, sys_shift, 1, 0, 0)

#define gemmini_extended5_config_ld(stride, scale, shrunk, block_mvin_stride, pixel_repeats, id)                      \
  ROCC_INSTRUCTION_RS1_RS2(3,                                                                                         \
                           gemmini_float_bits(scale) << 32 | (uint64_t)(block_mvin_stride) << 16 |                    \
                               (uint64_t)(pixel_repeats) << 8 | (uint64_t)(id) << 3 | (uint64_t)(shrunk) << 2 |       \
                               CONFIG_LD,                                                                             \
                           stride, k_CONFIG)
#define gemmini_extended4_config_ld(stride, scale, shrunk, block_mvin_stride, id) \
  gemmini_extended5_config_ld(stride, scale, shrunk, block_mvin_stride, 1, id)
#define gemmini_extended3_config_ld(stride, scale, shrunk, id) gemmini_extended4_config_ld(stride, scale, shrunk, DIM, id)
#define gemmini_extended2_config_ld(stride, scale, shrunk) gemmini_extended3_config_ld(stride, scale, shrunk, 0)
#define gemmini_extended_config_ld(stride, scale) gemmini_extended2_config_ld(stride, scale, 0)
#define gemmini_config_ld(stride) gemmini_extended_config_ld(stride, 1.0f)

#define gemmini_extended2_config_st(stride, acc_act, acc_scale, pool_stride, pool_size, pool_out_dim, porows, pocols, \
                                    orows, ocols, upad, lpad)                                                         \
  ROCC_INSTRUCTION_RS1_RS2(3,                                                                                         \
                           (uint64_t)(ocols) << 56 | (uint64_t)(orows) << 48 | (uint64_t)(pocols) << 40 |             \
                               (uint64_t)(porows) << 32 | (uint64_t)(pool_out_dim) << 24 | (uint64_t)(lpad) << 10 |   \
                               (uint64_t)(upad) << 8 | (uint64_t)(pool_size) << 6 | (uint64_t)(pool_stride) << 4 |    \
                               (uint64_t)(acc_act) << 2 | CONFIG_ST,                                                  \
                           gemmini_float_bits(acc_scale) << 32 | (uint32_t)(stride), k_CONFIG)
#define gemmini_extended_config_st(stride, acc_act, acc_scale) \
  gemmini_extended2_config_st(stride, acc_act, acc_scale, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define gemmini_config_st(stride) gemmini_extended_config_st(stride, NO_ACTIVATION, 1.0f)

#define gemmini_config_norm(q_const, q_const_type, set_stats_id_only, act_msb, stat_id, igelu_qb, igelu_qc)           \
  ROCC_INSTRUCTION_RS1_RS2(3,                                                                                         \
                           (uint64_t)(uint32_t)(q_const) << 32 | (uint64_t)((q_const_type)&1) << 18 |                 \
                               (uint64_t)((set_stats_id_only)&1) << 17 | (uint64_t)((act_msb)&1) << 16 |              \
                               (uint64_t)(stat_id) << 8 | CONFIG_BERT,                                                \
                           (uint64_t)(uint32_t)(igelu_qc) << 32 | (uint32_t)(igelu_qb), k_CONFIG)

#define STROP_WORDS(third, second, first, zeroth) \
  ((uint64_t)(third) << 48 | (uint64_t)(second) << 32 | (uint64_t)(first) << 16 | (uint64_t)(zeroth))

// --- the loop unrollers: only for problems whose id ends in +fsm ---------------------------------------------------

#define gemmini_loop_ws(I, J, K, pad_I, pad_J, pad_K, A, B, D, C, A_stride, B_stride, D_stride, C_stride, A_transpose, \
                        B_transpose, full_C, low_D, ex_accumulate, act, a_spad_id, b_spad_id, is_resadd)              \
  do {                                                                                                                \
    ROCC_INSTRUCTION_RS1_RS2(3, (uint64_t)(pad_K) << 32 | (uint64_t)(pad_J) << 16 | (uint64_t)(pad_I),                \
                             (uint64_t)(K) << 32 | (uint64_t)(J) << 16 | (uint64_t)(I), k_LOOP_WS_CONFIG_BOUNDS);     \
    ROCC_INSTRUCTION_RS1_RS2(3, A, B, k_LOOP_WS_CONFIG_ADDRS_AB);                                                     \
    ROCC_INSTRUCTION_RS1_RS2(3, D, C, k_LOOP_WS_CONFIG_ADDRS_DC);                                                     \
    ROCC_INSTRUCTION_RS1_RS2(3, A_stride, B_stride, k_LOOP_WS_CONFIG_STRIDES_AB);                                     \
    ROCC_INSTRUCTION_RS1_RS2(3, D_stride, C_stride, k_LOOP_WS_CONFIG_STRIDES_DC);                                     \
    ROCC_INSTRUCTION_RS1_RS2(3,                                                                                       \
                             (uint64_t)(a_spad_id) << 18 | (uint64_t)(b_spad_id) << 16 | (uint64_t)(act) << 8 |       \
                                 (uint64_t)(low_D) << 2 | (uint64_t)(full_C) << 1 | (uint64_t)(ex_accumulate),        \
                             (uint64_t)(is_resadd) << 2 | (uint64_t)(B_transpose) << 1 | (uint64_t)(A_transpose),     \
                             k_LOOP_WS);                                                                              \
  } while (0)

#define gemmini_loop_conv_ws(batch_size, in_row_dim, in_col_dim, in_channels, out_channels, out_row_dim, out_col_dim, \
                             pool_out_row_dim, pool_out_col_dim, stride, padding, kernel_dim, kernel_dilation,        \
                             pool_size, pool_stride, pool_padding, batches, porows, pocols, pochs, krows, kcols,      \
                             kchs, lpad, rpad, upad, dpad, plpad, prpad, pupad, pdpad, orows, ocols, weights, output, \
                             bias, input, no_bias, no_pool, downsample, wrot180, input_dilated, activation,           \
                             trans_output_1203, trans_weight_1203, trans_weight_0132, trans_input_3120,               \
                             max_pixels_per_row, in_stride, weight_stride, out_stride, dw, a_spad_id, b_spad_id)      \
  do {                                                                                                                \
    ROCC_INSTRUCTION_RS1_RS2(3, STROP_WORDS(out_channels, in_channels, in_row_dim, batch_size),                       \
                             (uint64_t)(padding) << 56 | (uint64_t)(stride) << 48 |                                   \
                                 STROP_WORDS(0, out_col_dim, pool_out_row_dim, out_row_dim),                          \
                             k_LOOP_CONV_WS_CONFIG_1);                                                                \
    ROCC_INSTRUCTION_RS1_RS2(3,                                                                                       \
                             STROP_WORDS(kernel_dim, pool_out_col_dim, pool_size, 0) |                                \
                                 (uint64_t)(pool_stride) << 8 | (uint64_t)(pool_padding),                             \
                             STROP_WORDS(batches, porows, pocols, pochs), k_LOOP_CONV_WS_CONFIG_2);                   \
    ROCC_INSTRUCTION_RS1_RS2(3, STROP_WORDS(krows, kcols, kchs, lpad),                                                \
                             STROP_WORDS(rpad, upad, 0, in_col_dim) | (uint64_t)(dpad) << 24 |                        \
                                 (uint64_t)(plpad) << 16,                                                             \
                             k_LOOP_CONV_WS_CONFIG_3);                                                                \
    ROCC_INSTRUCTION_RS1_RS2(3,                                                                                       \
                             STROP_WORDS(orows, prpad, 0, kernel_dilation) | (uint64_t)(pupad) << 21 |                \
                                 (uint64_t)(pdpad) << 10,                                                             \
                             STROP_WORDS(in_stride, weight_stride, out_stride, ocols), k_LOOP_CONV_WS_CONFIG_4);      \
    ROCC_INSTRUCTION_RS1_RS2(3, weights, output, k_LOOP_CONV_WS_CONFIG_5);                                            \
    ROCC_INSTRUCTION_RS1_RS2(3, bias, input, k_LOOP_CONV_WS_CONFIG_6);                                                \
    ROCC_INSTRUCTION_RS1_RS2(3,                                                                                       \
                             (uint64_t)(a_spad_id) << 18 | (uint64_t)(b_spad_id) << 16 |                              \
                                 (uint64_t)(max_pixels_per_row) << 8 | (uint64_t)(dw) << 6 |                          \
                                 (uint64_t)(trans_input_3120) << 5 | (uint64_t)(trans_weight_0132) << 4 |             \
                                 (uint64_t)(trans_weight_1203) << 3 | (uint64_t)(trans_output_1203) << 2 |            \
                                 (uint64_t)(wrot180) << 1 | (uint64_t)(no_bias),                                      \
                             (uint64_t)(activation) << 3 | (uint64_t)(input_dilated) << 2 |                           \
                                 (uint64_t)(downsample) << 1 | (uint64_t)(no_pool),                                   \
                             k_LOOP_CONV_WS);                                                                         \
  } while (0)

// --- flush, fence, counters -----------------------------------------------------------------------------------------

// Counters: bits 0 to 2 reset, snapshot reset, snapshot; 3 configure; 4 to 6 which; 12 to 17 the event; 31 external.
#define gemmini_counter_access(rd, config_reg)                                                                        \
  __asm__ volatile(".insn r 0x7b, 6, %2, %0, %1, x0" : "=r"(rd) : "r"((uint64_t)(config_reg)), "i"(k_COUNTER))

#define gemmini_flush(skip) ROCC_INSTRUCTION_RS1_RS2(3, skip, 0, k_FLUSH)
#define gemmini_fence() __asm__ volatile("fence" ::: "memory")

// --- the short names: config_st takes a row of DRAM in elements, or (stride in bytes, scale) -----------------------

#define config_ex(dataflow, act, A_stride, A_transpose, B_transpose) \
  gemmini_extended_config_ex(dataflow, act, 0, A_stride, A_transpose, B_transpose)
#define config_ld(dram_stride, scale_factor, spad_block_stride, id) \
  gemmini_extended4_config_ld(dram_stride, scale_factor, 0, spad_block_stride, id)
#define STROP_CONFIG_ST_1(cols) gemmini_extended_config_st((cols) * sizeof(elem_t), NO_ACTIVATION, 1.0f)
#define STROP_CONFIG_ST_2(stride, scale) gemmini_extended_config_st(stride, NO_ACTIVATION, scale)
#define STROP_CONFIG_ST(one, two, chosen, ...) chosen
#define config_st(...) STROP_CONFIG_ST(__VA_ARGS__, STROP_CONFIG_ST_2, STROP_CONFIG_ST_1, 0)(__VA_ARGS__)
#define mvin(...) gemmini_extended_mvin(__VA_ARGS__)
#define mvin2(...) gemmini_extended_mvin2(__VA_ARGS__)
#define mvin3(...) gemmini_extended_mvin3(__VA_ARGS__)
#define mvout(...) gemmini_extended_mvout(__VA_ARGS__)
#define preload(...) gemmini_extended_preload(__VA_ARGS__)
#define compute_preloaded(...) gemmini_extended_compute_preloaded(__VA_ARGS__)
#define compute_accumulated(...) gemmini_extended_compute_accumulated(__VA_ARGS__)
#define fence() gemmini_fence()

#endif  // STROP_GEMMINI_H

# Start-up of a bare-metal program: registers, zeroed data, main; what main returns goes to the host.
    .section .text.start, "ax"
    .globl _start
_start:
    li t0, 0x0001e000          # mstatus: floating point (FS) and the accelerator (XS) on
    csrs mstatus, t0
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_top
    la t0, __bss_start
    la t1, __bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  li a0, 0
    li a1, 0
    call main
    slli a0, a0, 32            # exit code n: 2n + 1, in 32 bits
    srli a0, a0, 31
    ori a0, a0, 1
    la t0, tohost
    sd a0, 0(t0)
3:  j 3b

    .section .tohost, "aw", @progbits
    .align 6
    .globl tohost
tohost: .dword 0
    .align 6
    .globl fromhost
fromhost: .dword 0

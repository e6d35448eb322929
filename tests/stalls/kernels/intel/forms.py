"""Hand-made code: every pattern of the scoreboard field, and instructions that our OpenCL kernels don't bring about."""

from __future__ import annotations

# One instruction for each kind that the field's combined forms tell apart.
TEMPLATES = {
    "xehpc": {
        "other": "(W) mov (16|M0) r1.0<1>:d r2.0<1;1,0>:d",
        "send": "(W) send.ugm (16|M0) r10 r20 null:0 0x0 0x08401580",
        "math": "(W) math.inv (8|M0) r1.0<1>:f r2.0<1;1,0>:f {M@1}",
        "dpas": "(W) dpas.8x8 (16|M0) r10:f r20:f r30:bf r40.0:bf",
    },
    "xehpg": {
        "other": "(W) mov (16|M0) r1.0<1>:d r2.0<1;1,0>:d",
        "send": "(W) send.ugm (16|M0) r10 r20 null:0 0x0 0x08401580",
        "math": "(W) math.inv (8|M0) r1.0<1>:f r2.0<1;1,0>:f",
        "dpas": "(W) dpas.8x8 (8|M0) r10:f r20:f r30:bf r40.0:bf",
    },
}
BITS = {"xehpc": 10, "xehpg": 8}
FIRST_BIT = 8

# Structured control flow, selection, atomics, 2D blocks, parts of registers. 20 is a message's size in bytes.
PROGRAM = """
START:
(W)      mov (16|M0)       r10.0<1>:d    0x0:d
         cmp (16|M0) (lt)f0.1 null<1>:d  r10.0<1;1,0>:d  r11.0<1;1,0>:d  {I@1}
(f0.1)   if (16|M0)        ELSE          END
         add (16|M0)       r12.0<1>:hf   r13.0<1;1,0>:hf r14.0<1;1,0>:hf
         mov (16|M16)      r15.1<2>:uw   r16.0<1;1,0>:uw
ELSE:
         else (16|M0)      END           END
         csel (16|M0) (ge)f1.0 r17.0<1>:f r18.0<1;0>:f r19.0<1;0>:f r20.0<1>:f
END:
         endif (16|M0)     LOOP
LOOP:
         add (16|M0)       r10.0<1>:d    r10.0<1;1,0>:d  1:w
         cmp (16|M0) (eq)f0.0 null<1>:d  r10.0<1;1,0>:d  7:w  {I@1}
(f0.0)   break (16|M0)     LAST          LAST
(f0.1)   cont (16|M0)      LAST          LAST
         mul (16|M0)       r21.0<1>:f    r21.0<1;1,0>:f  r22.0<1;1,0>:f
LAST:
(~f0.0)  while (16|M0)     LOOP
(f0.0)   sel (16|M0)       r23.0<1>:f    r24.0<1;1,0>:f  r25.0<1;1,0>:f
         sel (16|M0) (lt)f0.0 r26.0<1>:f r24.0<1;1,0>:f  r25.0<1;1,0>:f
(W)      mov (1|M0)        a0.0<1>:uw    0x40:uw
         mov (16|M0)       r27.0<1>:d    r[a0.0]<1,0>:d  {A@1}
         send.ugm (16|M0)  r30      r32  r34:1  0x0  0x0410058C  {$1}
         send.slm (16|M0)  r30      r36  null:0 0x0  0x04100500  {$1}
         sync.allrd        ($0,$1)
         sync.allwr        null
(W)      send.gtwy (1|M0)  null     r40  null:0 0x0  0x02000004  {$2}
(W)      sync.bar          null
(W)      send.gtwy (8|M0)  null     r112 null:0 0x0  0x02000010  {EOT,A@1}
"""

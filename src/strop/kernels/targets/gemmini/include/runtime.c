// What compilers call without being asked: copies and fills.
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  unsigned char *out = to;
  const unsigned char *in = from;
  if ((((uintptr_t)out | (uintptr_t)in) & 7) == 0)
    for (; n >= 8; n -= 8, out += 8, in += 8) *(uint64_t *)out = *(const uint64_t *)in;
  while (n--) *out++ = *in++;
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  unsigned char *out = to;
  const unsigned char *in = from;
  if (out <= in || out >= in + n)
    while (n--) *out++ = *in++;
  else
    while (n--) out[n] = in[n];
  return to;
}

void *memset(void *to, int byte, size_t n) {
  unsigned char *out = to;
  for (; n && ((uintptr_t)out & 7); n--) *out++ = (unsigned char)byte;
  for (uint64_t word = 0x0101010101010101u * (unsigned char)byte; n >= 8; n -= 8, out += 8) *(uint64_t *)out = word;
  while (n--) *out++ = (unsigned char)byte;
  return to;
}

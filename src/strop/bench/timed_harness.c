// Calls a kernel in batches, for a parent that keeps the clock, the reference and all that is believed.
//
// The parent starts this program, waits until it has stopped itself, lays the operands into the shared memory, lets it
// go on and waits until it has stopped again. A stopped process writes nothing: what the parent then finds is what the
// batch's time paid for. Nothing here is believed, so a kernel that overwrites all of it gains nothing.
//
// Built with STROP_BUFFERS, STROP_PARAMETERS and STROP_ARGUMENTS (timed_foreign.harness); without the C library's own
// start, so that no function of the kernel's can stand in for one that runs before the filter is on.

typedef unsigned long strop_word;

void solution(STROP_PARAMETERS);

enum {  // words of the control page; timed_foreign.py has the same
  STROP_CALLS = 0,
  STROP_POISON = 1,
  STROP_FILTER = 2,
  STROP_REFUSED = 3,
  STROP_CODE = 64,
  STROP_TABLE = 512,
};

#if defined(__x86_64__)
enum { strop_mmap = 9, strop_close = 3, strop_lseek = 8, strop_getpid = 39, strop_kill = 62, strop_prctl = 157 };
enum { strop_sigaction = 13, strop_exit = 231 };

__asm__(".globl _start\n.hidden _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call strop_begin\n");

static inline long strop_call(long number, long a, long b, long c, long d, long e) {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = 0;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

static void strop_flush_denormals(void) {  // what the start-up code that -ffast-math asks for would do
  unsigned control;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  control |= 0x8040;
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
}
#elif defined(__aarch64__)
enum { strop_mmap = 222, strop_close = 57, strop_lseek = 62, strop_getpid = 172, strop_kill = 129, strop_prctl = 167 };
enum { strop_sigaction = 134, strop_exit = 94 };

__asm__(".globl _start\n.hidden _start\n_start:\n  mov x29, #0\n  mov x0, sp\n  bl strop_begin\n");

static inline long strop_call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = 0;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

static void strop_flush_denormals(void) {
  unsigned long control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= 1ul << 24;
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#else
#error "no harness for this architecture"
#endif

struct strop_filter {
  unsigned short length;
  void *code;
};

struct strop_action {
  void (*handler)(int, void *, void *);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static volatile strop_word *strop_control;

static void strop_refused(int signal, void *information, void *context) {
  (void)signal;
  (void)context;
  strop_control[STROP_REFUSED] = 1 + *(unsigned *)((char *)information + 24);  // si_syscall
  for (;;) strop_call(strop_exit, 159, 0, 0, 0, 0);
}

static void strop_never(void) {}

// What a kernel finds on its stack is the parent's byte, not zeros.
static __attribute__((noinline)) void strop_dirty(strop_word poison) {
  volatile strop_word stack[8192];
  for (int i = 0; i < 8192; ++i) stack[i] = poison;
  (void)stack[0];
}

__attribute__((used, noreturn, visibility("hidden"))) void strop_begin(long *stack) {
  long descriptor = 0;
  for (const char *digit = (const char *)stack[2]; *digit; ++digit) descriptor = 10 * descriptor + (*digit - '0');
  const long self = strop_call(strop_getpid, 0, 0, 0, 0, 0);
  const long size = strop_call(strop_lseek, descriptor, 0, 2, 0, 0);
  // Shared, and present from the start: no page is missing when the clock runs.
  char *const region = (char *)strop_call(strop_mmap, 0, size, 3, 0x8001, descriptor);
  if ((unsigned long)region > -4096ul) strop_call(strop_exit, 121, 0, 0, 0, 0);
  strop_control = (volatile strop_word *)region;
  for (int each = 0; each < 256; ++each) strop_call(strop_close, each, 0, 0, 0, 0);
  strop_flush_denormals();
  strop_call(strop_prctl, 1, 9, 0, 0, 0);  // end with the parent: nobody else would let a stopped process go on
  strop_call(strop_kill, self, 19, 0, 0, 0);  // the parent now writes the filter, which names this process

  struct strop_action action = {strop_refused, 0x04000004ul, strop_never, 0};  // SA_RESTORER, SA_SIGINFO
  strop_call(strop_sigaction, 31, (long)&action, 0, 8, 0);
  if (strop_control[STROP_FILTER]) {
    struct strop_filter filter = {(unsigned short)strop_control[STROP_FILTER], region + 8 * STROP_CODE};
    if (strop_call(strop_prctl, 22, 2, (long)&filter, 0, 0)) strop_call(strop_exit, 122, 0, 0, 0, 0);
  }
  for (;;) {
    strop_call(strop_kill, self, 19, 0, 0, 0);  // stopped: the batch has ended, the next one is laid
    const strop_word calls = strop_control[STROP_CALLS], poison = strop_control[STROP_POISON];
    const strop_word *table = (const strop_word *)region + STROP_TABLE;
    for (strop_word each = 0; each < calls; ++each, table += STROP_BUFFERS) {
      if (poison) strop_dirty(poison);
      solution(STROP_ARGUMENTS);
    }
  }
}

/*
 * llhttp's state machine is compiled twice on x86-64: as it is, and with the SSE 4.2 instructions that it uses
 * to skip over header values. Which of the two runs is decided by the processor, once.
 */

#include <cpuid.h>

#include "llhttp.h"

typedef int execute_t(llhttp__internal_t *, const char *, const char *);

execute_t llhttp__plain_execute, llhttp_sse42__internal_execute;

int llhttp__internal_execute(llhttp__internal_t *parser, const char *data, const char *end) {
  /* Two threads that come first at once write the same. */
  static execute_t *chosen;
  execute_t *execute = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (!execute) {
    unsigned eax, ebx, ecx, edx;
    int has_sse42 = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
    execute = has_sse42 ? llhttp_sse42__internal_execute : llhttp__plain_execute;
    __atomic_store_n(&chosen, execute, __ATOMIC_RELAXED);
  }
  return execute(parser, data, end);
}

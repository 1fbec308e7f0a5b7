#include "CBuild.h"

/* `make release` gives the linker these symbols (scripts/commit.sh): the first one has the number as its address, the second one 0. So
 * another commit links the program again, and compiles nothing again. Some linkers treat the addresses as absolute, others add the
 * place at which the program is loaded, so only the difference counts. An instruction may have only 31 bits for it. */
extern const char batchproc_commit __attribute__((weak));
extern const char batchproc_commit_start __attribute__((weak));

uint32_t cbuild_commit(void) { return (uint32_t)((uintptr_t)&batchproc_commit - (uintptr_t)&batchproc_commit_start); }

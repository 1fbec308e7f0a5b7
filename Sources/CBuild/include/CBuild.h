#ifndef CBUILD_H
#define CBUILD_H

#include <stdint.h>

/* The commit from which the program was built: its first 28 bits, and below them a bit that is set if the files were changed after it,
 * and a bit that is always set. 0 if the build did not say the commit. */
uint32_t cbuild_commit(void);

#endif

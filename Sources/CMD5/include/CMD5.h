#pragma once

#include <stddef.h>
#include <stdint.h>

/// The states of eight computations: the words A, B, C, D of each.
typedef struct {
  uint32_t words[4][8];
} cmd5_states;

/// Whether the processor has vectors of eight words.
int cmd5_is_offered(void);

/// May be called only if ``cmd5_is_offered()``, as the other functions.
void cmd5_begin(cmd5_states *states);

/// Adds blocks of 64 bytes to each computation.
///
/// - Parameter stride: the distance in bytes from the bytes of one computation to those of the next one.
void cmd5_add(cmd5_states *states, const void *contents, size_t stride, size_t blocks);

/// Adds the last bytes of each computation, fewer than 64, and writes the digests, 16 bytes each.
///
/// - Parameter count: the bytes of each content, these ones included.
void cmd5_finish(cmd5_states *states, const void *rests, size_t stride, uint64_t count, uint8_t *digests);

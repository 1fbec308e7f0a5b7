#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const void *start;
  size_t count;
} csha256_content;

/// Whether the processor has the instructions for SHA-256.
int csha256_is_offered(void);

/// Writes the SHA-256 of each content, 32 bytes, in the given order. Two contents are computed at once.
///
/// May be called only if ``csha256_is_offered()``.
void csha256_compute(const csha256_content *contents, size_t count, uint8_t *digests);

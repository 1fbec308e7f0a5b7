#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const void *start;
  size_t count;
} csha256_content;

/// Whether the processor has the instructions for SHA-256.
int csha256_is_offered(void);

/// Writes the SHA-256 of each content, 32 bytes; two contents are computed at once, in the order in which they are given.
///
/// To be called where ``csha256_is_offered()``.
void csha256_compute(const csha256_content *contents, size_t count, uint8_t *digests);

#include <blake3.h>
#include <stdbool.h>

// Functions for parts of the tree, which the library has but its header does not declare. They select the
// instructions of the processor.

void blake3_compress_in_place(
    uint32_t cv[8], const uint8_t block[BLAKE3_BLOCK_LEN], uint8_t block_len, uint64_t counter, uint8_t flags);

void blake3_hash_many(
    const uint8_t *const *inputs, size_t num_inputs, size_t blocks, const uint32_t key[8], uint64_t counter,
    bool increment_counter, uint8_t flags, uint8_t flags_start, uint8_t flags_end, uint8_t *out);

// The library is opened at run time and not linked. The addresses of its functions come from dlsym(3).
#if defined(__x86_64__)
#include <stdbool.h>
#include <stddef.h>
#include <isa-l/igzip_lib.h>

// The state of inflate is too large for Swift to import as a structure, so these functions access it.
static const size_t cisal_state_size = sizeof(struct inflate_state);

// Sets the input and the output of one call.
static inline void cisal_lend(void *state, const void *input, uint32_t input_size, void *output, uint32_t output_size) {
  struct inflate_state *s = (struct inflate_state *)state;
  s->next_in = (uint8_t *)input;
  s->avail_in = input_size;
  s->next_out = (uint8_t *)output;
  s->avail_out = output_size;
}

static inline uint32_t cisal_unused_input(const void *state) { return ((const struct inflate_state *)state)->avail_in; }

static inline uint32_t cisal_unused_output(const void *state) { return ((const struct inflate_state *)state)->avail_out; }

// Whether the last block has ended and all content was written.
static inline bool cisal_is_finished(const void *state) {
  return ((const struct inflate_state *)state)->block_state == ISAL_BLOCK_FINISH;
}

// Whether the next input bit is the first of a block's header, so that no bit is buffered.
static inline bool cisal_is_between_blocks(const void *state) {
  const struct inflate_state *s = (const struct inflate_state *)state;
  return (s->block_state == ISAL_BLOCK_NEW_HDR || s->block_state == ISAL_BLOCK_HDR) && s->read_in_length == 0 && s->tmp_in_size == 0 && s->bfinal == 0 &&
         s->tmp_out_valid == s->tmp_out_processed;
}

// Copies the bytes that were read after the end of the last block, at most 8, and returns their number.
static inline size_t cisal_take_rest(void *state, uint8_t *bytes) {
  struct inflate_state *s = (struct inflate_state *)state;
  uint64_t rest = s->read_in_length > 0 ? s->read_in >> (s->read_in_length & 7) : 0;
  size_t count = s->read_in_length > 0 ? (size_t)(s->read_in_length >> 3) : 0;
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(rest >> (8 * i));
  s->read_in_length = 0;
  return count;
}
#else
// The library exists only for x86-64. Swift calls nothing of it elsewhere.
#endif

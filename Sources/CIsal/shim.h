// The library is opened at run time, so that nothing is linked: what is declared here has its address from dlsym(3).
#if defined(__x86_64__)
#include <stdbool.h>
#include <stddef.h>
#include <isa-l/igzip_lib.h>

// A state of inflate is larger than a structure that Swift knows can be: it is used through these functions.
static const size_t cisal_state_size = sizeof(struct inflate_state);

// Lends input and output for one call.
static inline void cisal_lend(void *state, const void *input, uint32_t input_size, void *output, uint32_t output_size) {
  struct inflate_state *s = (struct inflate_state *)state;
  s->next_in = (uint8_t *)input;
  s->avail_in = input_size;
  s->next_out = (uint8_t *)output;
  s->avail_out = output_size;
}

static inline uint32_t cisal_unused_input(const void *state) { return ((const struct inflate_state *)state)->avail_in; }

static inline uint32_t cisal_unused_output(const void *state) { return ((const struct inflate_state *)state)->avail_out; }

// Whether the end of the last block was passed and all content handed out.
static inline bool cisal_is_finished(const void *state) {
  return ((const struct inflate_state *)state)->block_state == ISAL_BLOCK_FINISH;
}

// Whether the next bit is the first one of a block's header, with no bit before it that was read and not used.
static inline bool cisal_is_between_blocks(const void *state) {
  const struct inflate_state *s = (const struct inflate_state *)state;
  return (s->block_state == ISAL_BLOCK_NEW_HDR || s->block_state == ISAL_BLOCK_HDR) && s->read_in_length == 0 && s->tmp_in_size == 0 && s->bfinal == 0 &&
         s->tmp_out_valid == s->tmp_out_processed;
}

// Takes bytes that were read behind the end of the last block and not used, at most 8.
static inline size_t cisal_take_rest(void *state, uint8_t *bytes) {
  struct inflate_state *s = (struct inflate_state *)state;
  uint64_t rest = s->read_in_length > 0 ? s->read_in >> (s->read_in_length & 7) : 0;
  size_t count = s->read_in_length > 0 ? (size_t)(s->read_in_length >> 3) : 0;
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(rest >> (8 * i));
  s->read_in_length = 0;
  return count;
}
#endif

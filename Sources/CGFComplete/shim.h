// The library is opened at run time and not linked. The addresses of its functions come from dlsym(3).
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <gf_complete.h>

// The structure has unions of functions that Swift does not import, so this function calls them.
static const size_t cgf_size = sizeof(gf_t);

// Arranges the elements of a region: of each 16 elements first the high bytes, then the low ones.
static inline void cgf_arrange(void *region, size_t count) {
  for (uint8_t *bytes = (uint8_t *)region, *end = bytes + count; bytes < end; bytes += 32) {
    uint8_t high[16], low[16];
    for (int i = 0; i < 16; i++) low[i] = bytes[2 * i], high[i] = bytes[2 * i + 1];
    memcpy(bytes, high, 16);
    memcpy(bytes + 16, low, 16);
  }
}

// Undoes cgf_arrange.
static inline void cgf_restore(void *region, size_t count) {
  for (uint8_t *bytes = (uint8_t *)region, *end = bytes + count; bytes < end; bytes += 32) {
    uint8_t elements[32];
    for (int i = 0; i < 16; i++) elements[2 * i] = bytes[16 + i], elements[2 * i + 1] = bytes[i];
    memcpy(bytes, elements, 32);
  }
}

// Adds the product of an arranged region and a factor to another one. Both begin at a multiple of 32.
static inline void cgf_add_product(void *field, const void *source, void *target, uint32_t factor, int count) {
  gf_t *gf = (gf_t *)field;
  gf->multiply_region.w32(gf, (void *)source, target, factor, count, 1);
}

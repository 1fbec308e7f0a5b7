// The library is opened at run time and not linked. The addresses of its functions come from dlsym(3).
#include <stddef.h>
#include <stdint.h>
#include <gf_complete.h>

// The structure has unions of functions that Swift does not import, so this function calls them.
static const size_t cgf_size = sizeof(gf_t);

// Adds the product of a region and a factor to another region. Both addresses must have the same remainder by 16.
static inline void cgf_add_product(void *field, const void *source, void *target, uint32_t factor, int count) {
  gf_t *gf = (gf_t *)field;
  gf->multiply_region.w32(gf, (void *)source, target, factor, count, 1);
}

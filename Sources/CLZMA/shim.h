#include <lzma.h>

/* Swift does not import macros with a cast. */
static const lzma_vli batch_lzma_filter_lzma2 = LZMA_FILTER_LZMA2;
static const lzma_vli batch_lzma_vli_unknown = LZMA_VLI_UNKNOWN;

#include <lzma.h>

/* Macros with a cast do not reach Swift. */
static const lzma_vli batch_lzma_filter_lzma2 = LZMA_FILTER_LZMA2;
static const lzma_vli batch_lzma_vli_unknown = LZMA_VLI_UNKNOWN;

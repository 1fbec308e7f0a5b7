// The library is opened at run time and not linked. The addresses of its functions come from dlsym(3).
#if defined(__x86_64__)
#include <intel-ipsec-mb.h>

static const uint64_t cipsecmb_version = IMB_VERSION_NUM;
static const uint64_t cipsecmb_without_sha = IMB_FLAG_SHANI_OFF;
// The processor features that each method needs.
static const uint64_t cipsecmb_sse_features = IMB_CPUFLAGS_SSE_T2;
static const uint64_t cipsecmb_avx512_features = IMB_CPUFLAGS_AVX512;
static const uint64_t cipsecmb_avx2_features = IMB_CPUFLAGS_AVX2;

typedef struct {
  const void *start;
  uint64_t count;
} cipsecmb_message;

// Writes the SHA-256 of each message, 32 bytes, and returns how many were computed. The function is in C,
// because the library is called through pointers in a structure of a thousand members.
static inline size_t cipsecmb_sha256(void *manager, const cipsecmb_message *messages, size_t count, uint8_t *digests) {
  IMB_MGR *m = (IMB_MGR *)manager;
  size_t done = 0;
  IMB_JOB *job;
  for (size_t i = 0; i < count; i++) {
    job = IMB_GET_NEXT_JOB(m);
    job->cipher_mode = IMB_CIPHER_NULL;
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->chain_order = IMB_ORDER_HASH_CIPHER;
    job->hash_alg = IMB_AUTH_SHA_256;
    job->src = (const uint8_t *)messages[i].start;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = messages[i].count;
    job->auth_tag_output = digests + 32 * i;
    job->auth_tag_output_len_in_bytes = 32;
    job = IMB_SUBMIT_JOB(m);
    if (job != NULL && job->status == IMB_STATUS_COMPLETED) done++;
  }
  while ((job = IMB_FLUSH_JOB(m)) != NULL)
    if (job->status == IMB_STATUS_COMPLETED) done++;
  return done;
}
#else
// The library is used only on x86-64. Swift calls nothing of it elsewhere.
#endif

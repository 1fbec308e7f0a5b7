#include "CSHA256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// FIPS 180-4, 4.2.2.
static const uint32_t constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The state in the form that the instructions use: A, B, E, F and C, D, G, H, with the first word in the
// highest place.
typedef struct {
  __m128i abef, cdgh;
} state;

#define TARGET __attribute__((target("sha,sse4.1,ssse3")))

TARGET static inline __attribute__((always_inline)) void load(const uint8_t *block, __m128i words[4]) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
  for (int i = 0; i < 4; i++)
    words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), order);
}

// Computes four rounds, and replaces the used words by those of four later rounds.
TARGET static inline __attribute__((always_inline)) void step(state *s, __m128i words[4], int i) {
  __m128i sum = _mm_add_epi32(words[i & 3], _mm_load_si128((const __m128i *)(constants + 4 * i)));
  s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
  s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
  if (i < 12) {
    __m128i last = words[(i + 3) & 3];
    __m128i next = _mm_add_epi32(
        _mm_sha256msg1_epu32(words[i & 3], words[(i + 1) & 3]), _mm_alignr_epi8(last, words[(i + 2) & 3], 4));
    words[i & 3] = _mm_sha256msg2_epu32(next, last);
  }
}

TARGET static inline __attribute__((always_inline)) void add(state *s, state before) {
  s->abef = _mm_add_epi32(s->abef, before.abef);
  s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

// The rounds of one content depend on each other. Rounds of a second content use the waiting time.
TARGET static void compress_two(state *s, const uint8_t *p, state *t, const uint8_t *q, size_t blocks) {
  state a = *s, b = *t;
  for (; blocks > 0; blocks--, p += 64, q += 64) {
    state before_a = a, before_b = b;
    __m128i v[4], w[4];
    load(p, v);
    load(q, w);
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
      step(&a, v, i);
      step(&b, w, i);
    }
    add(&a, before_a);
    add(&b, before_b);
  }
  *s = a;
  *t = b;
}

TARGET static void compress_one(state *s, const uint8_t *p, size_t blocks) {
  state a = *s;
  for (; blocks > 0; blocks--, p += 64) {
    state before = a;
    __m128i v[4];
    load(p, v);
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) step(&a, v, i);
    add(&a, before);
  }
  *s = a;
}

// A content in progress: its whole blocks, then the one or two blocks of the padding.
typedef struct {
  state s;
  const uint8_t *next;
  size_t blocks;
  uint8_t *digest;
  int is_at_end;
  size_t end_blocks;
  uint8_t end[128];
} lane;

static void begin(lane *l, const csha256_content *content, uint8_t *digest) {
  // FIPS 180-4, 5.3.3.
  l->s.abef = _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c);
  l->s.cdgh = _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19);
  size_t rest = content->count % 64;
  l->next = content->start;
  l->blocks = content->count / 64;
  l->digest = digest;
  l->is_at_end = 0;
  l->end_blocks = rest < 56 ? 1 : 2;
  memset(l->end, 0, sizeof l->end);
  if (rest > 0) memcpy(l->end, (const uint8_t *)content->start + (content->count - rest), rest);
  l->end[rest] = 0x80;
  uint64_t bits = (uint64_t)content->count * 8;
  for (int i = 0; i < 8; i++) l->end[l->end_blocks * 64 - 1 - i] = (uint8_t)(bits >> (8 * i));
}

TARGET static void finish(lane *l) {
  // A, B, C, D and E, F, G, H, with the first word in the highest place.
  __m128i front = _mm_unpackhi_epi64(l->s.cdgh, l->s.abef);
  __m128i back = _mm_unpacklo_epi64(l->s.cdgh, l->s.abef);
  const __m128i reverse = _mm_set_epi64x(0x0001020304050607ULL, 0x08090a0b0c0d0e0fULL);
  _mm_storeu_si128((__m128i *)l->digest, _mm_shuffle_epi8(front, reverse));
  _mm_storeu_si128((__m128i *)(l->digest + 16), _mm_shuffle_epi8(back, reverse));
}

// Returns whether the content has more blocks; at the end it writes the digest.
static int refill(lane *l) {
  if (l->blocks > 0) return 1;
  if (l->is_at_end) {
    finish(l);
    return 0;
  }
  l->is_at_end = 1;
  l->next = l->end;
  l->blocks = l->end_blocks;
  return 1;
}

int csha256_is_offered(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 9)) || !(c & (1u << 19))) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}

void csha256_compute(const csha256_content *contents, size_t count, uint8_t *digests) {
  lane lanes[2];
  int is_busy[2] = {0, 0};
  size_t taken = 0;
  for (;;) {
    for (int i = 0; i < 2; i++) {
      if (is_busy[i]) is_busy[i] = refill(&lanes[i]);
      if (!is_busy[i] && taken < count) {
        begin(&lanes[i], &contents[taken], digests + 32 * taken);
        taken++;
        is_busy[i] = refill(&lanes[i]);
      }
    }
    lane *l = &lanes[0], *m = &lanes[1];
    if (is_busy[0] && is_busy[1]) {
      size_t blocks = l->blocks < m->blocks ? l->blocks : m->blocks;
      compress_two(&l->s, l->next, &m->s, m->next, blocks);
      for (int i = 0; i < 2; i++) {
        lanes[i].next += 64 * blocks;
        lanes[i].blocks -= blocks;
      }
    } else if (is_busy[0] || is_busy[1]) {
      if (is_busy[1]) l = m;
      compress_one(&l->s, l->next, l->blocks);
      l->blocks = 0;
    } else {
      return;
    }
  }
}

#else

int csha256_is_offered(void) { return 0; }

void csha256_compute(const csha256_content *contents, size_t count, uint8_t *digests) {
  (void)contents;
  (void)count;
  (void)digests;
}

#endif

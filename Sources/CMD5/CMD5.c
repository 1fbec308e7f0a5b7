#include "CMD5.h"

#include <string.h>

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2")))

// A word of each of the eight computations.
typedef uint32_t words __attribute__((vector_size(32)));

// RFC 1321, 3.4: the integer part of 2^32 times the absolute value of the sine of 1 to 64.
static const uint32_t constants[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// Reads eight words of each content, and arranges them by their position.
TARGET static inline __attribute__((always_inline)) void load(
    const uint8_t *contents, size_t stride, words turned[8]) {
  words rows[8], pairs[8], fours[8];
  for (int i = 0; i < 8; i++) memcpy(&rows[i], contents + stride * (size_t)i, 32);
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; j++) {
      words a = pairs[i + j], b = pairs[i + 2 + j];
      fours[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int j = 0; j < 4; j++) {
    turned[j] = __builtin_shufflevector(fours[j], fours[4 + j], 0, 1, 2, 3, 8, 9, 10, 11);
    turned[4 + j] = __builtin_shufflevector(fours[j], fours[4 + j], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

TARGET static void compress(words state[4], const uint8_t *contents, size_t stride, size_t blocks) {
  for (; blocks > 0; blocks--, contents += 64) {
    words block[16];
    load(contents, stride, block);
    load(contents + 32, stride, block + 8);
    words a = state[0], b = state[1], c = state[2], d = state[3];
#pragma clang loop unroll(full)
    for (int i = 0; i < 64; i++) {
      words mixed;
      int word;
      switch (i / 16) {
        case 0: mixed = d ^ (b & (c ^ d)), word = i; break;
        case 1: mixed = c ^ (d & (b ^ c)), word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d), word = 7 * i % 16;
      }
      mixed += a + block[word] + constants[i];
      int shift = shifts[i / 16][i % 4];
      a = d, d = c, c = b;
      b += (mixed << shift) | (mixed >> (32 - shift));
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  }
}

int cmd5_is_offered(void) { return __builtin_cpu_supports("avx2") != 0; }

void cmd5_begin(cmd5_states *states) {
  // RFC 1321, 3.3.
  static const uint32_t first[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (int word = 0; word < 4; word++)
    for (int i = 0; i < 8; i++) states->words[word][i] = first[word];
}

TARGET void cmd5_add(cmd5_states *states, const void *contents, size_t stride, size_t blocks) {
  words state[4];
  memcpy(state, states->words, sizeof state);
  compress(state, contents, stride, blocks);
  memcpy(states->words, state, sizeof state);
}

void cmd5_finish(cmd5_states *states, const void *rests, size_t stride, uint64_t count, uint8_t *digests) {
  uint8_t ends[8][128];
  size_t rest = count % 64, size = rest < 56 ? 64 : 128;
  memset(ends, 0, sizeof ends);
  for (size_t i = 0; i < 8; i++) {
    if (rest > 0) memcpy(ends[i], (const uint8_t *)rests + stride * i, rest);
    ends[i][rest] = 0x80;
    for (size_t byte = 0; byte < 8; byte++) ends[i][size - 8 + byte] = (uint8_t)(count * 8 >> (8 * byte));
  }
  cmd5_add(states, ends, sizeof ends[0], size / 64);
  for (size_t i = 0; i < 8; i++)
    for (size_t word = 0; word < 4; word++) memcpy(digests + 16 * i + 4 * word, &states->words[word][i], 4);
}

#else

int cmd5_is_offered(void) { return 0; }

void cmd5_begin(cmd5_states *states) { (void)states; }

void cmd5_add(cmd5_states *states, const void *contents, size_t stride, size_t blocks) {
  (void)states, (void)contents, (void)stride, (void)blocks;
}

void cmd5_finish(cmd5_states *states, const void *rests, size_t stride, uint64_t count, uint8_t *digests) {
  (void)states, (void)rests, (void)stride, (void)count, (void)digests;
}

#endif

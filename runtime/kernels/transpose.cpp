#include "kernels/transpose.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace pellucid {
namespace {

const float* floats(const char* from) { return reinterpret_cast<const float*>(from); }
float* floats(char* to) { return reinterpret_cast<float*>(to); }
const double* doubles(const char* from) { return reinterpret_cast<const double*>(from); }
double* doubles(char* to) { return reinterpret_cast<double*>(to); }

// Rows i and i + 8 are interleaved byte by byte, four times: then row i holds the former bytes i.
struct Block1 {
  static constexpr int kSide = 16;
  static constexpr size_t kItem = 1;
  static void run(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    __m128i v[16], merged[16];
    for (int i = 0; i < 16; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_stride));
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 8; ++i) {
        merged[2 * i] = _mm_unpacklo_epi8(v[i], v[i + 8]);
        merged[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + 8]);
      }
      std::copy_n(merged, 16, v);
    }
    for (int i = 0; i < 16; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_stride), v[i]);
  }
};

// A butterfly over 8 vectors: exchanges single elements, pairs, then halves.
struct Block4 {
  static constexpr int kSide = 8;
  static constexpr size_t kItem = 4;
  static void run(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    __m256 v[8], pairs[8], quads[8];
    for (int i = 0; i < 8; ++i) v[i] = _mm256_loadu_ps(floats(from + i * from_stride));
    for (int i = 0; i < 8; i += 2) {
      pairs[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
      quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
      quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
      quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
      _mm256_storeu_ps(floats(to + i * to_stride), _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
      _mm256_storeu_ps(floats(to + (i + 4) * to_stride), _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
    }
  }
};

struct Block8 {
  static constexpr int kSide = 4;
  static constexpr size_t kItem = 8;
  static void run(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    __m256d v[4], pairs[4];
    for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_pd(doubles(from + i * from_stride));
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm256_unpacklo_pd(v[i], v[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_pd(v[i], v[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      _mm256_storeu_pd(doubles(to + i * to_stride), _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x20));
      _mm256_storeu_pd(doubles(to + (i + 2) * to_stride), _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x31));
    }
  }
};

template <class Block>
void run_blocks(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kItem = Block::kItem;
  const int64_t whole_rows = rows - rows % Block::kSide, whole_columns = columns - columns % Block::kSide;
  for (int64_t row = 0; row < whole_rows; row += Block::kSide)
    for (int64_t column = 0; column < whole_columns; column += Block::kSide)
      Block::run(to + row * to_stride + column * kItem, to_stride, from + column * from_stride + row * kItem,
                 from_stride);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column)
      std::memcpy(to + row * to_stride + column * kItem, from + column * from_stride + row * kItem, kItem);
}

}  // namespace

void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows, int64_t columns,
               size_t item) {
  if (item == Block1::kItem) run_blocks<Block1>(to, to_stride, from, from_stride, rows, columns);
  else if (item == Block4::kItem) run_blocks<Block4>(to, to_stride, from, from_stride, rows, columns);
  else run_blocks<Block8>(to, to_stride, from, from_stride, rows, columns);
}

}  // namespace pellucid

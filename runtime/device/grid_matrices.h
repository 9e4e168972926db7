#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "abi/codes.h"

// What the lanes of an emulated warp multiply: rows of 32 bytes (pellucid_compiler/gpu/builder.py, multiply_matrices).
namespace pellucid {

union MatrixRow {
  uint32_t words[8];
  int8_t int8[32];
  uint8_t uint8[32];
  uint16_t bits[16];
};

inline float matrix_float(uint16_t bits, GridMatrix kind) {
  return kind == GridMatrix::BFloat16 ? std::bit_cast<float>(uint32_t{bits} << 16)
                                      : static_cast<float>(std::bit_cast<_Float16>(bits));
}

// One element of the sums, in ascending order; products of 16-bit floats are exact.
inline uint32_t matrix_sum(uint32_t sum, const MatrixRow& row, const MatrixRow& column, GridMatrix kind) {
  if (kind == GridMatrix::Int8 || kind == GridMatrix::UInt8) {
    const bool has_sign = kind == GridMatrix::Int8;
    for (int k = 0; k < 32; ++k)
      sum += static_cast<uint32_t>(has_sign ? row.int8[k] * column.int8[k] : row.uint8[k] * column.uint8[k]);
    return sum;
  }
  float total = std::bit_cast<float>(sum);
  for (int k = 0; k < 16; ++k) total += matrix_float(row.bits[k], kind) * matrix_float(column.bits[k], kind);
  return std::bit_cast<uint32_t>(total);
}

// Words of one lane: of each of four matrices, whose 32 rows of 16 bytes are given.
inline void matrix_words(const uint64_t* rows, int64_t lane, bool transposed, uint32_t* words) {
  const int64_t line = lane / 4, place = lane % 4;
  for (int64_t j = 0; j < 4; ++j) {
    uint16_t halves[2];
    for (int64_t k = 0; k < 2; ++k) {
      const int64_t from = transposed ? 2 * place + k : line, at = transposed ? line : 2 * place + k;
      std::memcpy(&halves[k], reinterpret_cast<const char*>(rows[8 * j + from]) + 2 * at, 2);
    }
    words[j] = uint32_t{halves[1]} << 16 | halves[0];
  }
}

// The four sums of one lane; `words` are the addresses of all lanes' words.
inline void matrix_sums(const uint64_t* words, int64_t lane, GridMatrix kind, uint32_t* sums) {
  const auto words_of = [&](int64_t k) { return reinterpret_cast<const uint32_t*>(words[k]); };
  // Words `first` and `first + step` of four lanes are a row of 32 bytes.
  const auto row_of = [&](int64_t line, int first, int step) {
    MatrixRow row;
    for (int64_t k = 0; k < 4; ++k) {
      row.words[k] = words_of(4 * line + k)[first];
      row.words[4 + k] = words_of(4 * line + k)[first + step];
    }
    return row;
  };
  for (int down = 0; down < 2; ++down)
    for (int across = 0; across < 2; ++across)
      sums[2 * down + across] = matrix_sum(words_of(lane)[6 + 2 * down + across], row_of(lane / 4, down, 2),
                                           row_of(2 * (lane % 4) + across, 4, 1), kind);
}

}  // namespace pellucid

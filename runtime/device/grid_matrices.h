#pragma once

#include <bit>
#include <cstdint>

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

}  // namespace pellucid

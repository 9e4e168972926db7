// The parts of a matrix product's kernel.
//
// Generated from src/pellucid_compiler/abi/parts.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>

namespace pellucid {
// A mode of the kernel; its arguments are listed at its definition.
enum Part : uint64_t {
  kProduct,  // the whole product of two matrices
  kDescribe,  // writes the fields of DESCRIBED
  kMultiply,  // a tile of C from panels
  kPackColumns,
  kPackDepth,
  kFinish,  // C from its slices of sums
  kPackMatrix,
  kTaps,  // one row of C, along the columns
  kDots,  // one row of C, along k
  kPackWindows,
  kMultiplyRuns,
  kLanes,
  kWinogradFilter,
  kWinogradImage,
  kWinogradGradient,
  kWinogradResult,
  kWinogradWeight,
  kPackPlaces,
};

// What kDescribe writes.
struct Described {
  int64_t rows, lanes, vectors, vectors_of_a, element_bytes, depth, is_narrow, offset, word;
};

// Winograd's algorithm, in each of two dims.
constexpr int64_t kWindowTaps = 3;  // of a window
constexpr int64_t kTileStep = 2;  // elements of C in a tile
constexpr int64_t kTileExtent = 4;  // of the image
}  // namespace pellucid

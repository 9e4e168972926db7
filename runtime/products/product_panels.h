// Panels: packed copies of blocks of A and B that register tiles read efficiently.
//
// An operand is read through lists of offsets, so that im2col is never materialised as a matrix; if it is a matrix, the
// kernel packs it by itself. The layout is that of codegen/schedules/gemm_pack.py; the calls are those of gemm_parts.py
// and gemm_runs.py. Used by packed_product.cpp, weight_gradient_panels.cpp and padded_image.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "abi/parts.h"
#include "kernels/axes.h"
#include "kernels/cut.h"
#include "kernels/kernel_ref.h"
#include "products/window_lanes.h"

namespace pellucid {

constexpr int64_t kLine = 64;  // bytes of a cache line

// What a driver must know to arrange panels.
struct Tiling : Described {
  int64_t width() const { return lanes * vectors; }
  int64_t vector_bytes() const { return lanes * element_bytes; }
  // The number of panel rows for `k` elements.
  int64_t panel_rows(int64_t k) const { return ceil_div(k, word); }
  int64_t a_row_bytes() const { return vectors_of_a * vector_bytes(); }
  // The height of panels for `m` rows, made equal: a short last panel has too few sums to keep the processor busy.
  int64_t panel_height(int64_t m) const { return ceil_div(m, ceil_div(m, rows)); }
};

// A read-only array as a kernel argument.
inline char* bytes(const void* array) { return static_cast<char*>(const_cast<void*>(array)); }

// Runs one part of the kernel. The part's arguments are listed at its definition.
int64_t run_part(KernelRef& kernel, Part part, char* const* data, const int64_t* sizes,
                 const int64_t* strides = nullptr, bool accumulates = false);
Tiling describe(KernelRef& kernel);

struct Range {
  int64_t begin, size;
};

// The depth as one operand sees it, shared by all panels of the operand: the offset of every k and, if the
// operand is zero-padded, the index of its mask. Empty if the operand is a matrix.
struct DepthPlaces {
  DepthPlaces(std::span<const Axis> outer, std::span<const Axis> depth, int operand, bool has_masks);

  std::vector<int64_t> places;
  std::vector<std::array<int64_t, 2>> windows;  // offset of k, index of its mask
};

// Packs blocks of one operand into panels of `vectors` vectors, of which `width` columns are used: of B, or of A
// transposed.
class Packer {
 public:
  Packer(KernelRef& kernel, const Tiling& tiling, int operand, std::span<const Axis> outer, std::span<const Axis> depth,
         const DepthPlaces& places, int64_t item, int64_t vectors, int64_t width);

  // The padding is zero: `lanes` knows the columns that `pack` will receive.
  void mask(WindowLanes lanes) { lanes_ = std::move(lanes); }
  // Sets the block of depth of the next panels.
  void start(Range block);
  // Packs all panels of the columns at `columns`.
  void pack(char* to, char* from, std::span<const int64_t> columns);

 private:
  bool is_matrix() const { return row_ && column_ && !lanes_; }
  void pack_matrix(char* to, char* from, int64_t columns, int64_t width);
  void pack_panel(char* to, char* from, std::span<const int64_t> columns);
  void pack_vector(char* to, int64_t step, char* from, const int64_t* columns, int64_t count);
  void pack_windows(char* to, int64_t step, char* from, const int64_t* columns, int64_t count);
  int cut_segments(const int64_t* columns, int64_t count, int* ends) const;
  bool cuts_words() const;
  void pack_depth(char* to, int64_t step, char* from, const int64_t* columns, int64_t count);

  KernelRef& kernel_;
  const Tiling& tiling_;
  const int64_t item_, vectors_, width_;
  const std::optional<int64_t> column_, row_;  // strides, if there is one
  const bool along_depth_;
  Range block_{};
  const DepthPlaces& depth_;
  std::vector<std::array<int64_t, 2>> runs_;  // contiguous k of the block: offset, length
  std::optional<WindowLanes> lanes_;
  const int64_t* first_column_ = nullptr;  // of those being packed
};

}  // namespace pellucid

// How a packed product is divided: slices and blocks of the depth, rounds of packing, pieces of C, and which panels
// the pieces share.
//
// Everything depends on extents, strides and the kernel's tiles alone, never on the number of threads. Used by
// packed_product.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cut.h"
#include "products/gemm.h"
#include "products/packed_product.h"
#include "products/product_panels.h"

namespace pellucid {

constexpr int64_t kPackedElements = 1 << 22;  // the most elements of one operand that are packed at a time

struct PackedDivision {
  // Sorts the depth axes of the product.
  explicit PackedDivision(PackedProduct& product);

  struct Block {
    Range depth;
    int64_t place;           // of its first row in the panels of its round
    bool is_first, is_last;  // in its slice
  };

  // Runs `body(block)` for the blocks of a slice that belong to a round.
  template <class Body>
  int64_t each_block(int64_t round, int64_t slice, Body&& body) const {
    const Cut parts = slice_cut(), blocks = block_cut(parts.size(slice));
    const Range range = blocks_of_round(blocks.count, round);
    for (int64_t b = range.begin; b < range.begin + range.size; ++b) {
      const int64_t place =
          slice * tiling.panel_rows(round_depth) + tiling.panel_rows(blocks.begin(b) - blocks.begin(range.begin));
      const Block block{{parts.begin(slice) + blocks.begin(b), blocks.size(b)}, place, b == 0, b + 1 == blocks.count};
      if (const int64_t status = body(block)) return status;
    }
    return 0;
  }

  std::span<const Axis> rows() const { return product.groups[kRows]; }
  std::span<const Axis> columns() const { return product.groups[kColumns]; }
  std::span<const Axis> depth() const { return product.groups[kDepth]; }
  int64_t a_lanes() const { return tiling.vectors_of_a * tiling.lanes; }
  bool is_large() const {
    return static_cast<double>(own * sharing * m * n) * static_cast<double>(k) >= kParallelProducts;
  }

  int64_t copied_rows() const { return slices * tiling.panel_rows(round_depth); }  // rows of panels
  int64_t b_row_bytes() const { return ceil_div(n, tiling.width()) * tiling.width() * tiling.element_bytes; }

  PackedProduct& product;
  const Tiling tiling;
  const int64_t item, m, n, k;
  int64_t height;        // of panels
  int64_t own, sharing;  // points of the batch with an A of their own, and points that share it
  int64_t slices;
  int64_t together;         // contiguous columns of C
  bool needs_sums;          // C itself cannot hold the sums of a piece
  int64_t rounds = 1;       // of packing
  int64_t round_depth = 0;  // the most k of one slice that are packed in a round
  Cut wide{1, 1, 1}, tall{1, 1, 1};
  bool shares_a, shares_b;  // packed once; otherwise every piece packs what it needs
  int64_t row_of_a;         // its stride if A is read in place, else 0
  int64_t copies_of_b;      // 1: the whole batch shares it

 private:
  void order_depth();
  int64_t count_slices() const;
  Cut slice_cut() const { return {k, slices, 1}; }
  Cut block_cut(int64_t size) const { return {size, ceil_div(size, tiling.depth), 16}; }
  Range blocks_of_round(int64_t count, int64_t round) const;
  int64_t count_rounds() const;
  int64_t longest_round() const;
  void choose_pieces();
  bool reads_a() const;
};

}  // namespace pellucid

#include "products/packed_product.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "products/gemm.h"
#include "products/packed_division.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kPanelsPerTask = 8;       // panels of A packed by one task
constexpr int64_t kPanelsTogether = 4;      // panels of A that a piece packs before it uses them
constexpr int64_t kColumnsPerTask = 128;    // columns of B packed by one task
constexpr int64_t kParallelCopy = 1 << 16;  // elements whose copy is worth a second thread
constexpr int64_t kLeastRun = 5;            // of contiguous columns of B, so that a vector consists of few runs

class Packed {
 public:
  explicit Packed(PackedProduct& product)
      : division_(product), depth_of_a_(division_.rows(), division_.depth(), kA, false),
        depth_of_b_(division_.columns(), division_.depth(), kB, product.beyond.operand == kB) {}

  int64_t run() {
    if (division_.slices > 1) {
      const int64_t elements[] = {division_.slices * division_.own * division_.sharing * division_.m * division_.n *
                                  division_.tiling.element_bytes};
      partial_ = empty(elements, DType::UInt8);
    }
    for (round_ = 0; round_ < division_.rounds; ++round_)
      if (const int64_t status = run_round()) return status;
    return division_.slices > 1 ? finish_slices() : 0;
  }

 private:
  using Block = PackedDivision::Block;

  // The copies of one operand, as tasks.
  struct Copies {
    int64_t count = 0, elements = 0;
    std::function<void(int64_t)> make;
  };

  // Copies run on all threads if there is enough to copy.
  static void make_copies(const Copies& first, const Copies& second) {
    const int64_t count = first.count + second.count;
    const auto make = [&](int64_t number) {
      if (number < first.count) first.make(number);
      else second.make(number - first.count);
    };
    if (first.elements + second.elements >= kParallelCopy) return static_cast<void>(parallel_blocks(count, make));
    for (int64_t number = 0; number < count; ++number) make(number);
  }

  // ------------------------------------------------------------ panels of A

  int64_t run_round() {
    const Copies of_b = division_.shares_b ? take_b() : Copies{};
    const int64_t item_elements =
        ceil_div(division_.m, division_.height) * division_.a_lanes() * division_.copied_rows();
    if (division_.shares_a && !division_.row_of_a && division_.own * item_elements <= kPackedElements)
      return run_band({0, division_.own}, {0, division_.m}, of_b);
    make_copies(of_b, {});
    if (!division_.shares_a || division_.row_of_a) return run_pieces({0, division_.own}, {0, division_.m}, nullptr);
    const Cut bands(division_.m, ceil_div(item_elements, kPackedElements), division_.height);
    for (int64_t item = 0; item < division_.own; ++item)
      for (int64_t band = 0; band < bands.count; ++band)
        if (const int64_t status = run_band({item, 1}, {bands.begin(band), bands.size(band)}, {})) return status;
    return 0;
  }

  // Packs the rows `band` of the items `items` of A, and runs all products with them.
  int64_t run_band(Range items, Range band, const Copies& of_b) {
    const int64_t panels = ceil_div(band.size, division_.height);
    const int64_t item_bytes = panels * division_.copied_rows() * division_.tiling.a_row_bytes(),
                  elements[] = {items.size * item_bytes};
    const Tensor copy = empty(elements, DType::UInt8);
    char* const packed = copy->host();
    const int64_t tasks = ceil_div(panels, kPanelsPerTask);
    make_copies({items.size * tasks * division_.slices, items.size * band.size * division_.copied_rows(),
                 [&](int64_t number) {
                   const int64_t slice = number % division_.slices, rest = number / division_.slices;
                   const int64_t item = rest / tasks, first = rest % tasks * kPanelsPerTask * division_.height;
                   const Range rows{band.begin + first, std::min(kPanelsPerTask * division_.height, band.size - first)};
                   RowsOfA source(*this, items.begin + item, rows);
                   division_.each_block(round_, slice, [&](const Block& block) -> int64_t {
                     source.start(block.depth);
                     source.pack(panel_of(packed + item * item_bytes, block, panels, first / division_.height),
                                 {0, rows.size});
                     return 0;
                   });
                 }},
                of_b);
    return run_pieces(items, band, packed);
  }

  char* panel_of(char* packed, const Block& block, int64_t panels, int64_t panel) const {
    return packed + (block.place * panels + panel * division_.tiling.panel_rows(block.depth.size)) *
                        division_.tiling.a_row_bytes();
  }

  // Packs rows of one item of A into panels.
  class RowsOfA {
   public:
    RowsOfA(const Packed& product, int64_t item, Range rows)
        : from_(product.division_.product.data[kA] +
                place_of(product.division_.product.groups[kBatch], kA, item * product.division_.sharing)),
          packer_(product.division_.product.kernel, product.division_.tiling, kA, product.division_.rows(),
                  product.division_.depth(), product.depth_of_a_, product.division_.item,
                  product.division_.tiling.vectors_of_a, product.division_.height),
          places_(static_cast<size_t>(rows.size)) {
      places_of(product.division_.rows(), kA, rows.begin, rows.size, places_.data());
    }

    // Sets the block of depth of the next panels.
    void start(Range block) { packer_.start(block); }

    // Packs the panels of some of the rows.
    void pack(char* to, Range rows) {
      packer_.pack(to, from_,
                   std::span(places_).subspan(static_cast<size_t>(rows.begin), static_cast<size_t>(rows.size)));
    }

   private:
    char* const from_;
    Packer packer_;
    std::vector<int64_t> places_;
  };

  // ------------------------------------------------------------ panels of B

  // Reuses the cached panels if they contain what this product reads of B in its own packed order.
  Copies take_b() {
    CachedPanels* const panel_cache = division_.copies_of_b == 1 ? division_.product.panel_cache : nullptr;
    blocks_.clear();
    for (int64_t slice = 0; slice < division_.slices; ++slice)
      division_.each_block(round_, slice, [&](const Block& block) -> int64_t { return blocks_.push_back(block), 0; });
    const auto blocks = static_cast<int64_t>(blocks_.size());
    if (panel_cache && panel_cache->from == division_.product.data[kB] && panel_cache->depth == division_.k &&
        panel_cache->slices == division_.slices && panel_cache->blocks == blocks)
      if (panel_cache->columns == division_.n || (panel_cache->columns > division_.n && blocks == 1))
        return packed_b_ = panel_cache->panels, Copies{};
    const int64_t elements[] = {division_.copies_of_b * division_.copied_rows() * division_.b_row_bytes()};
    if (!packed_b_) packed_b_ = empty(elements, DType::UInt8);
    if (panel_cache)
      *panel_cache = {packed_b_, division_.product.data[kB], division_.n, division_.k, division_.slices, blocks};
    return copies_of_b();
  }

  // All of B, one copy after the other, each block by block.
  Copies copies_of_b() const {
    const Cut columns_of_task(division_.n, ceil_div(division_.n, kColumnsPerTask), division_.tiling.width());
    const auto num_blocks = static_cast<int64_t>(blocks_.size());
    return {division_.copies_of_b * num_blocks * columns_of_task.count,
            division_.copies_of_b * division_.copied_rows() * division_.n, [=, this](int64_t number) {
              const int64_t task = number % columns_of_task.count, rest = number / columns_of_task.count;
              const int64_t copy = rest / num_blocks;
              const Block& block = blocks_[static_cast<size_t>(rest % num_blocks)];
              const Range n{columns_of_task.begin(task), columns_of_task.size(task)};
              ColumnsOfB source(*this,
                                division_.product.data[kB] + place_of(division_.product.groups[kBatch], kB, copy), n);
              source.pack(panel_of_b(copy, block, n.begin), block.depth);
            }};
  }

  char* panel_of_b(int64_t copy, const Block& block, int64_t column) const {
    return packed_b_->host() + (copy * division_.copied_rows() + block.place) * division_.b_row_bytes() +
           column * division_.tiling.panel_rows(block.depth.size) * division_.tiling.element_bytes;
  }

  // Packs columns of B into panels.
  class ColumnsOfB {
   public:
    ColumnsOfB(const Packed& product, char* from, Range columns)
        : from_(from), places_(static_cast<size_t>(columns.size)),
          packer_(product.division_.product.kernel, product.division_.tiling, kB, product.division_.columns(),
                  product.division_.depth(), product.depth_of_b_, product.division_.item,
                  product.division_.tiling.vectors, product.division_.tiling.width()) {
      places_of(product.division_.columns(), kB, columns.begin, columns.size, places_.data());
      if (product.division_.product.beyond.operand == kB)
        packer_.mask(WindowLanes(product.division_.product.beyond, product.division_.columns(),
                                 product.division_.depth(), columns.begin, columns.size));
    }

    void pack(char* to, Range block) {
      packer_.start(block);
      packer_.pack(to, from_, places_);
    }

   private:
    char* const from_;
    std::vector<int64_t> places_;
    Packer packer_;
  };

  // ------------------------------------------------------------ pieces of C

  // `packed` is null if pieces pack their own rows of A.
  int64_t run_pieces(Range items, Range band, char* packed) {
    const int64_t item_bytes =
        ceil_div(band.size, division_.height) * division_.copied_rows() * division_.tiling.a_row_bytes();
    const Cut tall(band.size, ceil_div(division_.tall.count * band.size, division_.m), division_.height);
    const int64_t count = items.size * division_.sharing * division_.slices * division_.wide.count * tall.count;
    const auto piece = [&](int64_t number) -> int64_t {
      const int64_t t = number % tall.count, w = number / tall.count % division_.wide.count;
      const int64_t rest = number / (tall.count * division_.wide.count), b = rest / division_.slices;
      char* const panels = packed ? packed + b / division_.sharing * item_bytes : nullptr;
      return run_piece({panels,
                        items.begin * division_.sharing + b,
                        rest % division_.slices,
                        band,
                        {tall.begin(t), tall.size(t)},
                        {division_.wide.begin(w), division_.wide.size(w)}});
    };
    if (division_.is_large()) return parallel_blocks(count, piece);
    for (int64_t number = 0; number < count; ++number)
      if (const int64_t status = piece(number)) return status;
    return 0;
  }

  // Rows `m` of those of `band`, columns `n`; `packed` contains the band's panels of A.
  struct Piece {
    char* packed;
    int64_t batch, slice;
    Range band, m, n;
  };

  // Where the sums of a piece are accumulated: in C itself, in its slice, or in memory of the thread.
  struct Sums {
    char* start;
    int64_t row;
  };

  int64_t run_piece(const Piece& piece) {
    char* data[kProductOperands];
    std::copy_n(division_.product.data, kProductOperands, data);
    move_to(data, division_.product.groups[kBatch], piece.batch);
    const Range m = piece.m, n = piece.n;
    const int64_t row = piece.band.begin + m.begin, bytes = division_.tiling.element_bytes;
    for (int operand : {kC, kBias})
      if (data[operand]) data[operand] += row * *joint_stride(division_.rows(), operand);
    char* const c = data[kC] + (division_.needs_sums ? 0 : n.begin * division_.item);
    const bool rounds = division_.needs_sums && division_.slices == 1;
    const Scratch own(rounds ? static_cast<size_t>(m.size * n.size * bytes) : 0);
    Sums sums{c, c_row()};
    if (rounds) sums = {own.data(), n.size * bytes};
    if (division_.slices > 1)
      sums = {partial_->host() +
                  ((piece.slice * division_.own * division_.sharing + piece.batch) * division_.m * division_.n +
                   row * division_.n + n.begin) *
                      bytes,
              division_.n * bytes};
    const bool in_place = division_.slices == 1 && !rounds;
    if (const int64_t status = sum_piece(piece, data, sums, in_place)) return status;
    return rounds ? finish(data, m.size, n, sums, 1, 0) : 0;
  }

  int64_t sum_piece(const Piece& piece, char* const* data, Sums sums, bool in_place) {
    const Range m = piece.m, n = piece.n;
    const int64_t panels = ceil_div(piece.band.size, division_.height),
                  deepest = division_.tiling.panel_rows(std::min(division_.tiling.depth + 16, division_.k));
    std::optional<ColumnsOfB> own_b;
    std::optional<RowsOfA> own_a;
    if (!division_.shares_b) own_b.emplace(*this, data[kB], n);
    if (!piece.packed && !division_.row_of_a)
      own_a.emplace(*this, piece.batch, Range{piece.band.begin + m.begin, m.size});
    const int64_t together = own_a ? std::min(m.size, kPanelsTogether * division_.height) : m.size;
    const int64_t columns =
        ceil_div(n.size, division_.tiling.width()) * division_.tiling.width() * division_.tiling.element_bytes;
    const Scratch block_of_b(own_b ? static_cast<size_t>(columns * deepest) : 0);
    const Scratch panels_of_a(
        own_a ? static_cast<size_t>(ceil_div(together, division_.height) * division_.tiling.a_row_bytes() * deepest)
              : 0);
    const int64_t copy = division_.copies_of_b == 1 ? 0 : piece.batch;
    return division_.each_block(round_, piece.slice, [&](const Block& block) -> int64_t {
      if (own_b) own_b->pack(block_of_b.data(), block.depth);
      if (own_a) own_a->start(block.depth);
      char* const b = own_b ? block_of_b.data() : panel_of_b(copy, block, n.begin);
      const bool accumulates = !block.is_first || (in_place && division_.product.accumulates);
      for (int64_t row = 0; row < m.size; row += together) {
        const int64_t count = std::min(together, m.size - row);
        if (own_a) own_a->pack(panels_of_a.data(), {row, count});
        char* const a = own_a                ? panels_of_a.data()
                        : division_.row_of_a ? data[kA] + (piece.band.begin + m.begin) * division_.row_of_a +
                                                   block.depth.begin * division_.item
                                             : panel_of(piece.packed, block, panels, m.begin / division_.height);
        char* const bias = block.is_last && in_place && data[kBias]
                               ? data[kBias] + row * *joint_stride(division_.rows(), kBias) +
                                     n.begin * *joint_stride(division_.columns(), kBias)
                               : nullptr;
        char* operands[] = {sums.start + row * sums.row, a, b, bias};
        const int64_t sizes[] = {count, n.size, block.depth.size, division_.height};
        const int64_t strides[] = {sums.row, *joint_stride(division_.rows(), kBias),
                                   *joint_stride(division_.columns(), kBias), division_.row_of_a, 0};
        if (const int64_t status = run_part(division_.product.kernel, kMultiply, operands, sizes, strides, accumulates))
          return status;
      }
      return 0;
    });
  }

  int64_t c_row() const { return *joint_stride(division_.rows(), kC); }

  // ------------------------------------------------------------ from sums to C

  // Stores the columns `n` of C, of which `division_.together` at a time are contiguous; `sums` starts with them.
  int64_t finish(char* const* data, int64_t m, Range n, Sums sums, int64_t slices, int64_t slice_step) {
    const int64_t bias_column = *joint_stride(division_.columns(), kBias);
    const int64_t strides[] = {c_row(), sums.row, *joint_stride(division_.rows(), kBias), bias_column, slice_step};
    for (int64_t done = 0; done < n.size;) {
      const int64_t column = n.begin + done,
                    run = std::min(division_.together - column % division_.together, n.size - done);
      char* operands[] = {data[kC] + place_of(division_.columns(), kC, column),
                          sums.start + done * division_.tiling.element_bytes,
                          data[kBias] ? data[kBias] + column * bias_column : nullptr};
      const int64_t sizes[] = {m, run, slices};
      if (const int64_t status =
              run_part(division_.product.kernel, kFinish, operands, sizes, strides, division_.product.accumulates))
        return status;
      done += run;
    }
    return 0;
  }

  int64_t finish_slices() {
    const int64_t bytes = division_.tiling.element_bytes;
    for (int64_t batch = 0; batch < division_.own * division_.sharing; ++batch) {
      char* data[kProductOperands];
      std::copy_n(division_.product.data, kProductOperands, data);
      move_to(data, division_.product.groups[kBatch], batch);
      const Sums sums{partial_->host() + batch * division_.m * division_.n * bytes, division_.n * bytes};
      if (const int64_t status = finish(data, division_.m, {0, division_.n}, sums, division_.slices,
                                        division_.own * division_.sharing * division_.m * division_.n * bytes))
        return status;
    }
    return 0;
  }

  const PackedDivision division_;
  const DepthPlaces depth_of_a_, depth_of_b_;
  int64_t round_ = 0;          // of packing
  std::vector<Block> blocks_;  // of B, packed in this round, slice by slice
  Tensor packed_b_;
  Tensor partial_;  // the sums of every slice
};

}  // namespace

bool reads_beyond(const PackedProduct& product) {
  const AxisList &columns = product.groups[kColumns], &depth = product.groups[kDepth];
  if (product.beyond.operand != kB || std::ranges::any_of(product.groups[kBatch], moves)) return false;
  const std::span<const Axis> run = std::span(columns).subspan(joint_suffix(columns, kB));
  return joint_stride(run, kB) == static_cast<int64_t>(item_size(product.dtype)) && points(run) >= kLeastRun &&
         WindowLanes::fits(depth);
}

int64_t run_packed_product(PackedProduct product) { return Packed(product).run(); }

}  // namespace pellucid

#include "products/packed_product.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "products/gemm.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kPackedElements = 1 << 22;  // the most elements of one operand that are packed at a time
constexpr int64_t kRoundElements = 1 << 18;   // elements of both operands that a deep product packs per round,
constexpr int64_t kRoundProducts =
    1 << 24;  // and the minimum of multiply-adds per round, since threads synchronise between rounds,
constexpr int64_t kDeepSums = 1 << 18;  // if its sums stay in the cache meanwhile
constexpr int64_t kBlockColumns = 512;  // of a block of B that stays in the L2 cache
constexpr int64_t kLeastColumns = 128;  // of a piece when C is split for more threads
constexpr int64_t kLeastWindows = 64;   // the same if packing B gathers
constexpr int64_t kLeastPanels = 2;     // of A, per piece
constexpr int64_t kSlicePanels = 5;     // the same if there are too few pieces, and the depth is sliced
constexpr int64_t kSumPanels = 20;      // of a piece whose sums are stored separately
constexpr int64_t kPieces = 16;         // the minimum for a large product
constexpr int64_t kRowPieces = 4;       // if there are fewer, each piece of rows gathers B again
constexpr int64_t kSliceDepth = 2048;
constexpr int64_t kPanelsPerTask = 8;       // panels of A packed by one task
constexpr int64_t kPanelsTogether = 4;      // panels of A that a piece packs before it uses them
constexpr int64_t kColumnsPerTask = 128;    // columns of B packed by one task
constexpr int64_t kParallelCopy = 1 << 16;  // elements whose copy is worth a second thread
constexpr int64_t kLeastRun = 5;            // of contiguous columns of B, so that a vector consists of few runs
constexpr int64_t kReadColumns = 448;       // the most columns for which A is read in place instead of packed
constexpr int64_t kAliasing = 2048;         // row distance in bytes at which rows compete for L1 cache sets

class Packed {
 public:
  explicit Packed(PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        m_(points(rows())), n_(points(columns())), k_(points(depth())) {
    order_depth();
    depth_of_a_.emplace(rows(), depth(), kA, false);
    depth_of_b_.emplace(columns(), depth(), kB, product.beyond.operand == kB);
    height_ = tiling_.panel_height(m_);
    AxisList& batch = product.groups[kBatch];
    const auto shared =
        std::stable_partition(batch.begin(), batch.end(), [](const Axis& axis) { return axis.strides[kA] != 0; });
    own_ = points({batch.begin(), shared});
    sharing_ = points({shared, batch.end()});
    slices_ = count_slices();
    together_ = points(columns().subspan(joint_suffix(columns(), kC)));
    needs_sums_ = tiling_.is_narrow || together_ < n_;
    choose_pieces();
    rounds_ = count_rounds();
    round_depth_ = longest_round();
  }

  int64_t run() {
    if (slices_ > 1) {
      const int64_t elements[] = {slices_ * own_ * sharing_ * m_ * n_ * tiling_.element_bytes};
      partial_ = empty(elements, DType::UInt8);
    }
    for (round_ = 0; round_ < rounds_; ++round_)
      if (const int64_t status = run_round()) return status;
    return slices_ > 1 ? finish_slices() : 0;
  }

 private:
  std::span<const Axis> rows() const { return product_.groups[kRows]; }
  std::span<const Axis> columns() const { return product_.groups[kColumns]; }
  std::span<const Axis> depth() const { return product_.groups[kDepth]; }
  int64_t a_lanes() const { return tiling_.vectors_of_a * tiling_.lanes; }
  bool is_large() const {
    return static_cast<double>(own_ * sharing_ * m_ * n_) * static_cast<double>(k_) >= kParallelProducts;
  }

  // Sums may be reordered: B's memory order makes the longest contiguous runs.
  void order_depth() {
    AxisList& axes = product_.groups[kDepth];
    std::ranges::stable_sort(axes, std::greater{}, [](const Axis& axis) { return std::abs(axis.strides[kB]); });
  }

  int64_t count_slices() const {
    const int64_t pieces = own_ * sharing_ * ceil_div(m_, kSlicePanels * height_) * ceil_div(n_, kLeastColumns);
    if (pieces >= kPieces) return 1;
    return std::clamp<int64_t>(k_ / kSliceDepth, 1, ceil_div(kPieces, pieces));
  }

  // ------------------------------------------------------------ depth: rounds of slices of blocks

  Cut slice_cut() const { return {k_, slices_, 1}; }
  Cut block_cut(int64_t size) const { return {size, ceil_div(size, tiling_.depth), 16}; }

  struct Block {
    Range depth;
    int64_t place;           // of its first row in the panels of its round
    bool is_first, is_last;  // in its slice
  };

  // Runs `body(block)` for the blocks of a slice that belong to the round.
  template <class Body>
  int64_t each_block(int64_t slice, Body&& body) const {
    const Cut slices = slice_cut(), blocks = block_cut(slices.size(slice));
    const Range round = blocks_of_round(blocks.count, round_);
    for (int64_t b = round.begin; b < round.begin + round.size; ++b) {
      const int64_t place =
          slice * tiling_.panel_rows(round_depth_) + tiling_.panel_rows(blocks.begin(b) - blocks.begin(round.begin));
      const Block block{{slices.begin(slice) + blocks.begin(b), blocks.size(b)}, place, b == 0, b + 1 == blocks.count};
      if (const int64_t status = body(block)) return status;
    }
    return 0;
  }

  Range blocks_of_round(int64_t count, int64_t round) const {
    const int64_t begin = round * count / rounds_;
    return {begin, (round + 1) * count / rounds_ - begin};
  }

  // A deep product packs only some blocks at a time, if its sums outlive a round and are few.
  int64_t count_rounds() const {
    const bool lasts = !needs_sums_ || slices_ > 1, caches_b = shares_b_ && product_.panel_cache;
    const int64_t sums = own_ * sharing_ * m_ * n_;
    if (!lasts || caches_b || sums > kDeepSums) return 1;
    const int64_t of_a = shares_a_ && !row_of_a_ ? own_ * ceil_div(m_, height_) * tiling_.a_row_bytes() : 0;
    const int64_t of_b = shares_b_ ? copies_of_b_ * b_row_bytes() : 0;
    const int64_t elements = (of_a + of_b) / tiling_.element_bytes * tiling_.panel_rows(k_);
    const int64_t wanted = std::min(elements / kRoundElements, sums * k_ / kRoundProducts);
    return std::clamp<int64_t>(wanted, 1, block_cut(k_ / slices_).count);
  }

  // The most k of one slice that are packed in a round.
  int64_t longest_round() const {
    const Cut slices = slice_cut();
    int64_t longest = 0;
    for (int64_t slice = 0; slice < slices_; ++slice) {
      const Cut blocks = block_cut(slices.size(slice));
      for (int64_t round = 0; round < rounds_; ++round) {
        const Range own = blocks_of_round(blocks.count, round);
        longest = std::max(longest, blocks.begin(own.begin + own.size) - blocks.begin(own.begin));
      }
    }
    return longest;
  }
  int64_t copied_rows() const { return slices_ * tiling_.panel_rows(round_depth_); }  // rows of panels

  // ------------------------------------------------------------ which panels are shared

  // Pieces of rows are preferred to pieces of columns, which reuse a panel of A less often. If B must be
  // gathered, few pieces of rows do it.
  void choose_pieces() {
    const bool gathers = !joint_stride(columns(), kB) || !joint_stride(depth(), kB);
    const int64_t products = own_ * sharing_ * slices_, panels = ceil_div(m_, height_);
    const auto left = [&](int64_t wanted, int64_t made) { return is_large() ? ceil_div(wanted, products * made) : 1; };
    const int64_t fine = gathers ? 1 : std::min(left(kPieces, 1), panels / kLeastPanels);
    const int64_t narrowest = n_ / (gathers ? kLeastWindows : kLeastColumns);
    const int64_t wide = std::min(left(kPieces, std::max<int64_t>(fine, 1)), narrowest);
    wide_ = Cut(n_, std::max(ceil_div(n_, kBlockColumns), wide), tiling_.width());
    const int64_t fewest = needs_sums_ ? ceil_div(panels, kSumPanels) : 1;
    const int64_t tall = std::min(left(gathers ? kRowPieces : kPieces, wide_.count), panels / kLeastPanels);
    tall_ = Cut(m_, std::max(fewest, tall), height_);
    // If one k of many rows of A is contiguous in memory, a piece would read little of it at a time.
    const bool rows_are_contiguous = joint_stride(rows(), kA) == item_;
    shares_a_ = wide_.count > 1 || sharing_ > 1 || rows_are_contiguous;
    row_of_a_ = reads_a() ? *joint_stride(rows(), kA) : 0;
    const bool is_broadcast =
        std::ranges::all_of(product_.groups[kBatch], [](const Axis& axis) { return axis.strides[kB] == 0; });
    copies_of_b_ = is_broadcast ? 1 : own_ * sharing_;
    const bool caches_b = product_.panel_cache && copies_of_b_ == 1;
    const bool is_reused = caches_b || tall_.count > 1 || copies_of_b_ < own_ * sharing_;
    shares_b_ =
        is_reused && copies_of_b_ * tiling_.panel_rows(k_) * b_row_bytes() <= kPackedElements * tiling_.element_bytes;
  }

  // Whether tiles read A in place: if few of them read a panel, and its rows do not compete for cache sets.
  bool reads_a() const {
    if (tiling_.is_narrow || tiling_.word > 1 || n_ > kReadColumns || joint_stride(depth(), kA) != item_) return false;
    const std::optional<int64_t> row = joint_stride(rows(), kA);
    return row && *row != 0 && *row != item_ && *row % kAliasing != 0;
  }

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
    const Copies of_b = shares_b_ ? take_b() : Copies{};
    const int64_t item_elements = ceil_div(m_, height_) * a_lanes() * copied_rows();
    if (shares_a_ && !row_of_a_ && own_ * item_elements <= kPackedElements) return run_band({0, own_}, {0, m_}, of_b);
    make_copies(of_b, {});
    if (!shares_a_ || row_of_a_) return run_pieces({0, own_}, {0, m_}, nullptr);
    const Cut bands(m_, ceil_div(item_elements, kPackedElements), height_);
    for (int64_t item = 0; item < own_; ++item)
      for (int64_t band = 0; band < bands.count; ++band)
        if (const int64_t status = run_band({item, 1}, {bands.begin(band), bands.size(band)}, {})) return status;
    return 0;
  }

  // Packs the rows `band` of the items `items` of A, and runs all products with them.
  int64_t run_band(Range items, Range band, const Copies& of_b) {
    const int64_t panels = ceil_div(band.size, height_);
    const int64_t item_bytes = panels * copied_rows() * tiling_.a_row_bytes(), elements[] = {items.size * item_bytes};
    const Tensor copy = empty(elements, DType::UInt8);
    char* const packed = copy->host();
    const int64_t tasks = ceil_div(panels, kPanelsPerTask);
    make_copies({items.size * tasks * slices_, items.size * band.size * copied_rows(),
                 [&](int64_t number) {
                   const int64_t slice = number % slices_, rest = number / slices_;
                   const int64_t item = rest / tasks, first = rest % tasks * kPanelsPerTask * height_;
                   const Range rows{band.begin + first, std::min(kPanelsPerTask * height_, band.size - first)};
                   RowsOfA source(*this, items.begin + item, rows);
                   each_block(slice, [&](const Block& block) -> int64_t {
                     source.start(block.depth);
                     source.pack(panel_of(packed + item * item_bytes, block, panels, first / height_), {0, rows.size});
                     return 0;
                   });
                 }},
                of_b);
    return run_pieces(items, band, packed);
  }

  char* panel_of(char* packed, const Block& block, int64_t panels, int64_t panel) const {
    return packed + (block.place * panels + panel * tiling_.panel_rows(block.depth.size)) * tiling_.a_row_bytes();
  }

  // Packs rows of one item of A into panels.
  class RowsOfA {
   public:
    RowsOfA(const Packed& product, int64_t item, Range rows)
        : from_(product.product_.data[kA] + place_of(product.product_.groups[kBatch], kA, item * product.sharing_)),
          packer_(product.product_.kernel, product.tiling_, kA, product.rows(), product.depth(), *product.depth_of_a_,
                  product.item_, product.tiling_.vectors_of_a, product.height_),
          places_(static_cast<size_t>(rows.size)) {
      places_of(product.rows(), kA, rows.begin, rows.size, places_.data());
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

  int64_t b_row_bytes() const { return ceil_div(n_, tiling_.width()) * tiling_.width() * tiling_.element_bytes; }

  // Reuses the cached panels if they contain what this product reads of B in its own packed order.
  Copies take_b() {
    CachedPanels* const panel_cache = copies_of_b_ == 1 ? product_.panel_cache : nullptr;
    blocks_.clear();
    for (int64_t slice = 0; slice < slices_; ++slice)
      each_block(slice, [&](const Block& block) -> int64_t { return blocks_.push_back(block), 0; });
    const auto blocks = static_cast<int64_t>(blocks_.size());
    if (panel_cache && panel_cache->from == product_.data[kB] && panel_cache->depth == k_ &&
        panel_cache->slices == slices_ && panel_cache->blocks == blocks)
      if (panel_cache->columns == n_ || (panel_cache->columns > n_ && blocks == 1))
        return packed_b_ = panel_cache->panels, Copies{};
    const int64_t elements[] = {copies_of_b_ * copied_rows() * b_row_bytes()};
    if (!packed_b_) packed_b_ = empty(elements, DType::UInt8);
    if (panel_cache) *panel_cache = {packed_b_, product_.data[kB], n_, k_, slices_, blocks};
    return copies_of_b();
  }

  // All of B, one copy after the other, each block by block.
  Copies copies_of_b() const {
    const Cut columns_of_task(n_, ceil_div(n_, kColumnsPerTask), tiling_.width());
    const auto num_blocks = static_cast<int64_t>(blocks_.size());
    return {copies_of_b_ * num_blocks * columns_of_task.count, copies_of_b_ * copied_rows() * n_,
            [=, this](int64_t number) {
              const int64_t task = number % columns_of_task.count, rest = number / columns_of_task.count;
              const int64_t copy = rest / num_blocks;
              const Block& block = blocks_[static_cast<size_t>(rest % num_blocks)];
              const Range n{columns_of_task.begin(task), columns_of_task.size(task)};
              ColumnsOfB source(*this, product_.data[kB] + place_of(product_.groups[kBatch], kB, copy), n);
              source.pack(panel_of_b(copy, block, n.begin), block.depth);
            }};
  }

  char* panel_of_b(int64_t copy, const Block& block, int64_t column) const {
    return packed_b_->host() + (copy * copied_rows() + block.place) * b_row_bytes() +
           column * tiling_.panel_rows(block.depth.size) * tiling_.element_bytes;
  }

  // Packs columns of B into panels.
  class ColumnsOfB {
   public:
    ColumnsOfB(const Packed& product, char* from, Range columns)
        : from_(from), places_(static_cast<size_t>(columns.size)),
          packer_(product.product_.kernel, product.tiling_, kB, product.columns(), product.depth(),
                  *product.depth_of_b_, product.item_, product.tiling_.vectors, product.tiling_.width()) {
      places_of(product.columns(), kB, columns.begin, columns.size, places_.data());
      if (product.product_.beyond.operand == kB)
        packer_.mask(
            WindowLanes(product.product_.beyond, product.columns(), product.depth(), columns.begin, columns.size));
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
    const int64_t item_bytes = ceil_div(band.size, height_) * copied_rows() * tiling_.a_row_bytes();
    const Cut tall(band.size, ceil_div(tall_.count * band.size, m_), height_);
    const int64_t count = items.size * sharing_ * slices_ * wide_.count * tall.count;
    const auto piece = [&](int64_t number) -> int64_t {
      const int64_t t = number % tall.count, w = number / tall.count % wide_.count;
      const int64_t rest = number / (tall.count * wide_.count), b = rest / slices_;
      char* const panels = packed ? packed + b / sharing_ * item_bytes : nullptr;
      return run_piece({panels,
                        items.begin * sharing_ + b,
                        rest % slices_,
                        band,
                        {tall.begin(t), tall.size(t)},
                        {wide_.begin(w), wide_.size(w)}});
    };
    if (is_large()) return parallel_blocks(count, piece);
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
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, product_.groups[kBatch], piece.batch);
    const Range m = piece.m, n = piece.n;
    const int64_t row = piece.band.begin + m.begin, bytes = tiling_.element_bytes;
    for (int operand : {kC, kBias})
      if (data[operand]) data[operand] += row * *joint_stride(rows(), operand);
    char* const c = data[kC] + (needs_sums_ ? 0 : n.begin * item_);
    const bool rounds = needs_sums_ && slices_ == 1;
    const Scratch own(rounds ? static_cast<size_t>(m.size * n.size * bytes) : 0);
    Sums sums{c, c_row()};
    if (rounds) sums = {own.data(), n.size * bytes};
    if (slices_ > 1)
      sums = {partial_->host() + ((piece.slice * own_ * sharing_ + piece.batch) * m_ * n_ + row * n_ + n.begin) * bytes,
              n_ * bytes};
    const bool in_place = slices_ == 1 && !rounds;
    if (const int64_t status = sum_piece(piece, data, sums, in_place)) return status;
    return rounds ? finish(data, m.size, n, sums, 1, 0) : 0;
  }

  int64_t sum_piece(const Piece& piece, char* const* data, Sums sums, bool in_place) {
    const Range m = piece.m, n = piece.n;
    const int64_t panels = ceil_div(piece.band.size, height_),
                  deepest = tiling_.panel_rows(std::min(tiling_.depth + 16, k_));
    std::optional<ColumnsOfB> own_b;
    std::optional<RowsOfA> own_a;
    if (!shares_b_) own_b.emplace(*this, data[kB], n);
    if (!piece.packed && !row_of_a_) own_a.emplace(*this, piece.batch, Range{piece.band.begin + m.begin, m.size});
    const int64_t together = own_a ? std::min(m.size, kPanelsTogether * height_) : m.size;
    const int64_t columns = ceil_div(n.size, tiling_.width()) * tiling_.width() * tiling_.element_bytes;
    const Scratch block_of_b(own_b ? static_cast<size_t>(columns * deepest) : 0);
    const Scratch panels_of_a(own_a ? static_cast<size_t>(ceil_div(together, height_) * tiling_.a_row_bytes() * deepest)
                                    : 0);
    const int64_t copy = copies_of_b_ == 1 ? 0 : piece.batch;
    return each_block(piece.slice, [&](const Block& block) -> int64_t {
      if (own_b) own_b->pack(block_of_b.data(), block.depth);
      if (own_a) own_a->start(block.depth);
      char* const b = own_b ? block_of_b.data() : panel_of_b(copy, block, n.begin);
      const bool accumulates = !block.is_first || (in_place && product_.accumulates);
      for (int64_t row = 0; row < m.size; row += together) {
        const int64_t count = std::min(together, m.size - row);
        if (own_a) own_a->pack(panels_of_a.data(), {row, count});
        char* const a = own_a       ? panels_of_a.data()
                        : row_of_a_ ? data[kA] + (piece.band.begin + m.begin) * row_of_a_ + block.depth.begin * item_
                                    : panel_of(piece.packed, block, panels, m.begin / height_);
        char* const bias =
            block.is_last && in_place && data[kBias]
                ? data[kBias] + row * *joint_stride(rows(), kBias) + n.begin * *joint_stride(this->columns(), kBias)
                : nullptr;
        char* operands[] = {sums.start + row * sums.row, a, b, bias};
        const int64_t sizes[] = {count, n.size, block.depth.size, height_};
        const int64_t strides[] = {sums.row, *joint_stride(rows(), kBias), *joint_stride(this->columns(), kBias),
                                   row_of_a_, 0};
        if (const int64_t status = run_part(product_.kernel, kMultiply, operands, sizes, strides, accumulates))
          return status;
      }
      return 0;
    });
  }

  int64_t c_row() const { return *joint_stride(rows(), kC); }

  // ------------------------------------------------------------ from sums to C

  // Stores the columns `n` of C, of which `together_` at a time are contiguous; `sums` starts with them.
  int64_t finish(char* const* data, int64_t m, Range n, Sums sums, int64_t slices, int64_t slice_step) {
    const int64_t bias_column = *joint_stride(columns(), kBias);
    const int64_t strides[] = {c_row(), sums.row, *joint_stride(rows(), kBias), bias_column, slice_step};
    for (int64_t done = 0; done < n.size;) {
      const int64_t column = n.begin + done, run = std::min(together_ - column % together_, n.size - done);
      char* operands[] = {data[kC] + place_of(columns(), kC, column), sums.start + done * tiling_.element_bytes,
                          data[kBias] ? data[kBias] + column * bias_column : nullptr};
      const int64_t sizes[] = {m, run, slices};
      if (const int64_t status = run_part(product_.kernel, kFinish, operands, sizes, strides, product_.accumulates))
        return status;
      done += run;
    }
    return 0;
  }

  int64_t finish_slices() {
    const int64_t bytes = tiling_.element_bytes;
    for (int64_t batch = 0; batch < own_ * sharing_; ++batch) {
      char* data[kProductOperands];
      std::copy_n(product_.data, kProductOperands, data);
      move_to(data, product_.groups[kBatch], batch);
      const Sums sums{partial_->host() + batch * m_ * n_ * bytes, n_ * bytes};
      if (const int64_t status = finish(data, m_, {0, n_}, sums, slices_, own_ * sharing_ * m_ * n_ * bytes))
        return status;
    }
    return 0;
  }

  PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_, n_, k_;
  int64_t height_;
  int64_t own_, sharing_;  // points of the batch with an A of their own, and points that share it
  int64_t slices_;
  int64_t together_;                // contiguous columns of C
  bool needs_sums_;                 // C itself cannot hold the sums of a piece
  int64_t rounds_ = 1, round_ = 0;  // of packing
  int64_t round_depth_ = 0;
  std::vector<Block> blocks_;  // of B, packed in this round, slice by slice
  Cut wide_{1, 1, 1}, tall_{1, 1, 1};
  bool shares_a_, shares_b_;  // packed once; otherwise every piece packs what it needs
  int64_t row_of_a_;          // its stride if A is read in place, else 0
  int64_t copies_of_b_;       // 1: the whole batch shares it
  std::optional<DepthPlaces> depth_of_a_, depth_of_b_;
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

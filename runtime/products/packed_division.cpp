#include "products/packed_division.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

namespace pellucid {
namespace {

constexpr int64_t kRoundElements = 1 << 18;  // at most, of both operands, that a deep product packs per round,
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
constexpr int64_t kReadColumns = 448;  // the most columns for which A is read in place instead of packed
constexpr int64_t kAliasing = 2048;    // row distance in bytes at which rows compete for L1 cache sets

}  // namespace

PackedDivision::PackedDivision(PackedProduct& product)
    : product(product), tiling(describe(product.kernel)), item(static_cast<int64_t>(item_size(product.dtype))),
      m(points(rows())), n(points(columns())), k(points(depth())) {
  order_depth();
  height = tiling.panel_height(m);
  AxisList& batch = product.groups[kBatch];
  const auto shared =
      std::stable_partition(batch.begin(), batch.end(), [](const Axis& axis) { return axis.strides[kA] != 0; });
  own = points({batch.begin(), shared});
  sharing = points({shared, batch.end()});
  slices = count_slices();
  together = points(columns().subspan(joint_suffix(columns(), kC)));
  needs_sums = tiling.is_narrow || together < n;
  choose_pieces();
  rounds = count_rounds();
  round_depth = longest_round();
}

// Sums may be reordered: B's memory order makes the longest contiguous runs.
void PackedDivision::order_depth() {
  AxisList& axes = product.groups[kDepth];
  std::ranges::stable_sort(axes, std::greater{}, [](const Axis& axis) { return std::abs(axis.strides[kB]); });
}

int64_t PackedDivision::count_slices() const {
  const int64_t pieces = own * sharing * ceil_div(m, kSlicePanels * height) * ceil_div(n, kLeastColumns);
  if (pieces >= kPieces) return 1;
  return std::clamp<int64_t>(k / kSliceDepth, 1, ceil_div(kPieces, pieces));
}

Range PackedDivision::blocks_of_round(int64_t count, int64_t round) const {
  const int64_t begin = round * count / rounds;
  return {begin, (round + 1) * count / rounds - begin};
}

// A deep product packs only some blocks at a time, if its sums outlive a round and are few.
int64_t PackedDivision::count_rounds() const {
  const bool lasts = !needs_sums || slices > 1, caches_b = shares_b && product.panel_cache;
  const int64_t sums = own * sharing * m * n;
  if (!lasts || caches_b || sums > kDeepSums) return 1;
  const int64_t of_a = shares_a && !row_of_a ? own * ceil_div(m, height) * tiling.a_row_bytes() : 0;
  const int64_t of_b = shares_b ? copies_of_b * b_row_bytes() : 0;
  const int64_t elements = (of_a + of_b) / tiling.element_bytes * tiling.panel_rows(k);
  const int64_t wanted = std::min(ceil_div(elements, kRoundElements), sums * k / kRoundProducts);
  return std::clamp<int64_t>(wanted, 1, block_cut(k / slices).count);
}

// The most k of one slice that are packed in a round.
int64_t PackedDivision::longest_round() const {
  const Cut parts = slice_cut();
  int64_t longest = 0;
  for (int64_t slice = 0; slice < slices; ++slice) {
    const Cut blocks = block_cut(parts.size(slice));
    for (int64_t round = 0; round < rounds; ++round) {
      const Range range = blocks_of_round(blocks.count, round);
      longest = std::max(longest, blocks.begin(range.begin + range.size) - blocks.begin(range.begin));
    }
  }
  return longest;
}

// Pieces of rows are preferred to pieces of columns, which reuse a panel of A less often. If B must be
// gathered, few pieces of rows do it.
void PackedDivision::choose_pieces() {
  const bool gathers = !joint_stride(columns(), kB) || !joint_stride(depth(), kB);
  const int64_t products = own * sharing * slices, panels = ceil_div(m, height);
  const auto left = [&](int64_t wanted, int64_t made) { return is_large() ? ceil_div(wanted, products * made) : 1; };
  const int64_t fine = gathers ? 1 : std::min(left(kPieces, 1), panels / kLeastPanels);
  const int64_t narrowest = n / (gathers ? kLeastWindows : kLeastColumns);
  const int64_t num_wide = std::min(left(kPieces, std::max<int64_t>(fine, 1)), narrowest);
  wide = Cut(n, std::max(ceil_div(n, kBlockColumns), num_wide), tiling.width());
  const int64_t fewest = needs_sums ? ceil_div(panels, kSumPanels) : 1;
  const int64_t num_tall = std::min(left(gathers ? kRowPieces : kPieces, wide.count), panels / kLeastPanels);
  tall = Cut(m, std::max(fewest, num_tall), height);
  // If one k of many rows of A is contiguous in memory, a piece would read little of it at a time.
  const bool rows_are_contiguous = joint_stride(rows(), kA) == item;
  shares_a = wide.count > 1 || sharing > 1 || rows_are_contiguous;
  row_of_a = reads_a() ? *joint_stride(rows(), kA) : 0;
  const bool is_broadcast =
      std::ranges::all_of(product.groups[kBatch], [](const Axis& axis) { return axis.strides[kB] == 0; });
  copies_of_b = is_broadcast ? 1 : own * sharing;
  const bool caches_b = product.panel_cache && copies_of_b == 1;
  const bool is_reused = caches_b || tall.count > 1 || copies_of_b < own * sharing;
  shares_b = is_reused && copies_of_b * tiling.panel_rows(k) * b_row_bytes() <= kPackedElements * tiling.element_bytes;
}

// Whether tiles read A in place: if few of them read a panel, and its rows do not compete for cache sets.
bool PackedDivision::reads_a() const {
  if (tiling.is_narrow || tiling.word > 1 || n > kReadColumns || joint_stride(depth(), kA) != item) return false;
  const std::optional<int64_t> row = joint_stride(rows(), kA);
  return row && *row != 0 && *row != item && *row % kAliasing != 0;
}

}  // namespace pellucid

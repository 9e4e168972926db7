#include "kernels/true_flags.h"

#include <algorithm>
#include <numeric>

#include "core/thread_pool.h"
#include "kernels/axes.h"

namespace pellucid {
namespace {

constexpr int64_t kBlock = 4096;

}  // namespace

TrueFlags::TrueFlags(TensorImpl& flags)
    : flags_(flags), data_(flags.host_as<uint8_t>()), starts_(static_cast<size_t>(ceil_div(flags.numel, kBlock)) + 1) {
  parallel_blocks(num_blocks(), [&](int64_t block) {
    int64_t count = 0;
    for (int64_t k = block * kBlock; k < end_of(block); ++k) count += data_[k];
    starts_[static_cast<size_t>(block) + 1] = count;
  });
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
}

int64_t TrueFlags::end_of(int64_t block) const { return std::min((block + 1) * kBlock, flags_.numel); }

void TrueFlags::write_places(int64_t* out) const {
  parallel_blocks(num_blocks(), [&](int64_t block) {
    int64_t places[kBlock], count = 0;  // the next candidate overwrites a place that was not taken
    for (int64_t k = block * kBlock; k < end_of(block); ++k) {
      places[count] = k;
      count += data_[k];
    }
    write({places, static_cast<size_t>(count)}, out + starts_[static_cast<size_t>(block)] * flags_.ndim);
  });
}

// Along the last dim the other coordinates are constant. A known rank writes them without a loop.
template <int kRank>
void TrueFlags::write_rows(std::span<const int64_t> places, int64_t* out) const {
  const int rank = kRank ? kRank : flags_.ndim;
  const int64_t length = flags_.sizes[rank - 1];
  int64_t coordinates[kMaxDims] = {}, row_begin = 0, row_end = 0;
  for (const int64_t place : places) {
    if (place >= row_end) {
      int64_t rest = place / length;
      row_begin = rest * length;
      row_end = row_begin + length;
      for (int d = rank - 2; d >= 0; rest /= flags_.sizes[d--]) coordinates[d] = rest % flags_.sizes[d];
    }
    for (int d = 0; d < rank - 1; ++d) out[d] = coordinates[d];
    out[rank - 1] = place - row_begin;
    out += rank;
  }
}

void TrueFlags::write(std::span<const int64_t> places, int64_t* out) const {
  switch (flags_.ndim) {
    case 0: return;
    case 1: return static_cast<void>(std::ranges::copy(places, out));
    case 2: return write_rows<2>(places, out);
    case 3: return write_rows<3>(places, out);
    default: return write_rows<0>(places, out);
  }
}

}  // namespace pellucid

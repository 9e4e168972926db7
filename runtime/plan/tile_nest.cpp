#include "plan/tile_nest.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "plan/tile_combine.h"

namespace pellucid::tile {

namespace {

class NestRun {
 public:
  explicit NestRun(const Call& call) : call_(call), program_(call.program) {
    const auto rank = static_cast<size_t>(std::max(program_.rank, 1));
    begin_ = call.sizes[0];
    extents_.push_back(call.sizes[1] - begin_);
    for (size_t a = 1; a < rank; ++a) extents_.push_back(call.sizes[1 + a]);
    const int64_t *sizes = call.sizes + 1 + rank, *strides = call.strides;
    for (int32_t operand_rank : program_.operand_ranks) {
      sizes_.push_back(sizes);
      strides_.push_back(strides);
      sizes += operand_rank;
      strides += operand_rank;
    }
  }

  int64_t run() {
    int64_t points = 1;
    for (int64_t extent : extents_) points *= extent;
    for (int64_t first = 0; first < points; first += kTile)
      if (const int64_t status = run_tile(first, std::min(kTile, points - first))) return status;
    return 0;
  }

 private:
  int64_t run_tile(int64_t first, int64_t count) {
    const size_t outputs = call_.num_outputs();
    const std::vector<Elements> axes = indices(first, count);
    evaluation_.count = count;
    evaluation_.first = first;
    evaluation_.params = call_.params;
    evaluation_.axes = axes.data();
    evaluation_.operands = call_.data + outputs;
    evaluation_.sizes = sizes_.data() + outputs;
    evaluation_.strides = strides_.data() + outputs;
    std::vector<Elements> scalars;  // inputs of rank 0 are loaded without an index
    for (size_t k = 0; k < program_.inputs.size(); ++k) scalars.push_back({call_.data[outputs + k], 0});
    evaluation_.inputs = scalars.data();
    if (const int64_t status = evaluation_.run(program_.program)) return status;
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t status = store(i)) return status;
    return 0;
  }

  std::vector<Elements> indices(int64_t first, int64_t count) {
    std::vector<Elements> out;
    buffers_.assign(extents_.size(), std::vector<int64_t>(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = first + i;
      for (size_t a = extents_.size(); a-- > 0;) {
        buffers_[a][static_cast<size_t>(i)] = rest % extents_[a] + (a == 0 ? begin_ : 0);
        rest /= extents_[a];
      }
    }
    for (auto& buffer : buffers_) out.push_back({reinterpret_cast<char*>(buffer.data()), 8});
    return out;
  }

  int64_t store(int64_t i) {
    size_t result = 0;
    for (const NestStore& target : program_.stores) {
      int64_t offset = 0;
      bool inside = true;
      for (int32_t d = 0; d < target.rank; ++d) {
        const Elements& index = evaluation_.values[program_.program.results[result++]];
        int64_t place;
        std::memcpy(&place, index.data + i * index.stride, sizeof place);
        inside &= place >= 0 && place < sizes_[0][d];
        offset += place * strides_[0][d];
      }
      const int32_t slot = program_.program.results[result++];
      const Elements& value = evaluation_.values[slot];
      const char* from = value.data + i * value.stride;
      if (is_indexed() && inside) {
        if (call_.num_outputs() > 1) store_value(target, i, result - static_cast<size_t>(target.rank) - 1, from);
        store_best(i, call_.data[0] + offset, from, program_.program.slots[slot].dtype);
      } else if (inside) combine_element(program_.combine, program_.outputs[0], call_.data[0] + offset, from);
      else if (!target.drop) return out_of_bounds(evaluation_.first + i);
    }
    return 0;
  }

  bool is_indexed() const { return program_.combine == Combine::ArgMax || program_.combine == Combine::ArgMin; }

  // Stores the best value so far in the second output, at the indices that start with result `first`.
  void store_value(const NestStore& target, int64_t i, size_t first, const char* value) {
    int64_t offset = 0, own = 0;
    for (int32_t d = 0; d < target.rank; ++d) {
      const Elements& index = evaluation_.values[program_.program.results[first + static_cast<size_t>(d)]];
      int64_t place;
      std::memcpy(&place, index.data + i * index.stride, sizeof place);
      own += place * strides_[0][d];
      offset += place * strides_[1][d];
    }
    const bool is_first = call_.data[0] + own != best_for_;
    const Combine better = program_.combine == Combine::ArgMax ? Combine::Max : Combine::Min;
    combine_element(is_first ? Combine::Assign : better, program_.outputs[1], call_.data[1] + offset, value);
  }

  // The points of one element are consecutive: the first one's payload is stored, and that of each better one.
  void store_best(int64_t i, char* place, const char* value, DType dtype) {
    if (place == best_for_ && !is_better(program_.combine, dtype, value, best_)) return;
    best_for_ = place;
    std::memcpy(best_, value, item_size(dtype));
    const Elements& payload = evaluation_.values[program_.program.results.back()];
    std::memcpy(place, payload.data + i * payload.stride, item_size(program_.outputs[0]));
  }

  const Call& call_;
  const TileProgram& program_;
  const char* best_for_ = nullptr;  // argmax: the element that `best_` is the best value of
  char best_[8] = {};
  int64_t begin_;
  std::vector<int64_t> extents_;
  std::vector<const int64_t*> sizes_, strides_;  // per operand, outputs first
  std::vector<std::vector<int64_t>> buffers_;
  Evaluation evaluation_;
};

}  // namespace

int64_t run_nest(const Call& call) { return NestRun(call).run(); }

}  // namespace pellucid::tile

#include "products/weight_gradient_panels.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/scratch.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kBlockDepth = 384;  // of a block whose copies stay in the L2 cache
constexpr int64_t kBandPanels = 10;   // of A, per task
constexpr int64_t kGroupPanels = 4;   // of channels, per task
constexpr int64_t kTasks = 16;        // the minimum for a product, if its depth allows
constexpr int64_t kLeastBlocks = 4;   // per task, since its sums are stored separately
constexpr int64_t kLeastRows = 16;
constexpr int64_t kLeastRun = 7, kMostRun = 1024;
constexpr int64_t kRowsTogether = 16;  // rows of C written by one task

class SharedWindows {
 public:
  explicit SharedWindows(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        depth_(product.groups[kDepth]), taps_(product.groups[kColumns]) {
    std::ranges::stable_sort(depth_, std::greater{}, [](const Axis& axis) { return axis.strides[kB]; });
    if (taps_.empty() || depth_.empty()) return;
    const auto lanes = find_channels();
    lanes_ = *lanes;
    taps_.erase(lanes);
    if (moves_forward()) place_image();
    cut_depth();
  }

  // A last panel of channels that is almost empty would cost as much as a full one.
  bool is_profitable() const {
    if (depth_.empty() || taps_.empty() || !moves_forward() || !has_positions() ||
        points(product_.groups[kRows]) < kLeastRows)
      return false;
    const int64_t depth = images_together_ * rows_together_ * run_, copied = images_together_ * span();
    return run_ >= kLeastRun && run_ <= kMostRun && blocks_ >= kLeastBlocks &&
           points(depth_) >= points(taps_) * lanes_.extent &&
           (lanes_.extent - 1) % tiling_.width() >= tiling_.width() / 2 && 2 * copied <= points(taps_) * depth;
  }

  int64_t run() {
    arrange();
    const int64_t elements[] = {slices_.count * m_ * row_bytes_};
    sums_ = empty(elements, DType::UInt8);
    const int64_t tasks = bands_.count * groups_ * slices_.count;
    const int64_t status = parallel_blocks(tasks, [&](int64_t task) {
      return run_task(task / (bands_.count * groups_), task / groups_ % bands_.count, task % groups_);
    });
    return status ? status : finish();
  }

 private:
  std::span<const Axis> rows() const { return product_.groups[kRows]; }
  int64_t width_bytes() const { return tiling_.width() * tiling_.element_bytes; }

  // ------------------------------------------------------------ positions: pixels of an image, and padding around it

  // The axis of the columns that is not a tap. Channels are contiguous if the depth steps over all of them, else
  // the images of a channel are.
  AxisList::iterator find_channels() {
    const auto stride = [](const Axis& axis) { return axis.strides[kB]; };
    const auto [least, greatest] = std::ranges::minmax_element(taps_, {}, stride);
    const bool steps_over = least->strides[kB] == item_ && depth_.back().strides[kB] >= least->extent * item_;
    if (!steps_over || least->extent < greatest->extent) return greatest;
    unit_ = 0;
    for (const AxisList* axes : {&depth_, &taps_})
      for (const Axis& axis : *axes)
        if (&axis != &*least) unit_ = std::gcd(unit_, axis.strides[kB]);
    return least;
  }

  // The zero-padded dims of the image, including their padding, outermost first.
  struct Dim {
    int64_t size, first;   // without padding; the index at position 0
    int64_t extent, step;  // with padding; positions to the next index
    int64_t stride;        // bytes to the next index in B
  };

  bool moves_forward() const {
    const auto fits = [&](const Axis& axis) { return axis.strides[kB] > 0 && axis.strides[kB] % item_ == 0; };
    return std::ranges::all_of(taps_, fits) && std::ranges::all_of(depth_, fits) && lanes_.strides[kB] > 0;
  }

  void place_image() {
    const Beyond& beyond = product_.beyond;
    for (int number = 0; number < beyond.dims; ++number) {
      Dim dim{beyond.sizes[number], beyond.firsts[number], 1, 1, 0};
      for (const AxisList* axes : {&taps_, &depth_})
        for (const Axis& axis : *axes) {
          if (axis.steps[number] == 0) continue;
          dim.extent += (axis.extent - 1) * axis.steps[number];
          dim.stride = axis.strides[kB] / axis.steps[number];
        }
      dims_.push_back(dim);
    }
    for (size_t d = dims_.size(); d-- > 1;) dims_[d - 1].step = dims_[d].step * dims_[d].extent;
  }

  // How many positions the axis moves per step; 0 if it leads to another image.
  int64_t positions(const Axis& axis) const {
    if (dims_.empty()) return axis.strides[kB] / unit_;
    int64_t moved = 0;
    for (size_t d = 0; d < dims_.size(); ++d) moved += axis.steps[d] * dims_[d].step;
    return moved;
  }

  // Whether the dims are those of the image, and one step of some axis moves along each of them.
  bool has_positions() const {
    const auto fits = [&](const Axis& axis) {
      return std::ranges::count_if(axis.steps, [](int64_t step) { return step != 0; }) <= 1 &&
             std::ranges::none_of(axis.steps, [](int64_t step) { return step < 0; });
    };
    const auto is_inside = [&](const Axis& axis) { return positions(axis) > 0; };
    return std::ranges::all_of(taps_, fits) && std::ranges::all_of(depth_, fits) &&
           std::ranges::all_of(taps_, is_inside) && is_inside(depth_.back()) &&
           (dims_.empty() || row_step_ % dims_.back().extent == 0) &&
           std::ranges::none_of(outer_, [&](const Axis& axis) { return !dims_.empty() && positions(axis) > 0; }) &&
           std::ranges::is_sorted(dims_, std::greater{}, &Dim::stride);
  }

  // ------------------------------------------------------------ depth: images, rows of them, runs in a row

  // Blocks are some rows of one image, or some small images.
  void cut_depth() {
    const Axis& run = depth_.back();
    run_step_ = positions(run);
    run_ = run.extent;
    const size_t rows = depth_.size() > 1 && positions(depth_[depth_.size() - 2]) > 0;
    height_of_image_ = rows ? depth_[depth_.size() - 2].extent : 1;
    row_step_ = rows ? positions(depth_[depth_.size() - 2]) : 0;
    outer_ = std::span(depth_).first(depth_.size() - 1 - rows);
    images_ = points(outer_);
    rows_together_ = std::clamp<int64_t>(kBlockDepth / run_, 1, height_of_image_);
    images_together_ = 1;
    if (rows_together_ == height_of_image_)
      images_together_ = std::clamp<int64_t>(kBlockDepth / (run_ * height_of_image_), 1, images_);
    else rows_together_ = Cut(height_of_image_, ceil_div(height_of_image_, rows_together_), 1).piece;
    blocks_of_image_ = ceil_div(height_of_image_, rows_together_);
    blocks_ = ceil_div(images_, images_together_) * blocks_of_image_;
  }

  // The number of positions from the first to the last that the runs of some rows of an image read.
  int64_t span(int64_t rows) const {
    int64_t last = (rows - 1) * row_step_ + (run_ - 1) * run_step_;
    for (const Axis& axis : taps_) last += (axis.extent - 1) * positions(axis);
    return last + 1;
  }
  int64_t span() const { return span(rows_together_); }

  struct Block {
    int64_t image, images, row, rows;
  };

  Block block(int64_t number) const {
    const int64_t image = number / blocks_of_image_ * images_together_,
                  row = number % blocks_of_image_ * rows_together_;
    return {image, std::min(images_together_, images_ - image), row, std::min(rows_together_, height_of_image_ - row)};
  }

  // ------------------------------------------------------------ tasks: rows, channels, a slice of the depth

  void arrange() {
    m_ = points(rows());
    height_ = tiling_.panel_height(m_);
    bands_ = Cut(m_, ceil_div(ceil_div(m_, height_), kBandPanels), height_);
    panels_ = ceil_div(lanes_.extent, tiling_.width());
    groups_ = ceil_div(panels_, kGroupPanels);
    slices_ = Cut(blocks_, std::clamp<int64_t>(blocks_ / kLeastBlocks, 1, ceil_div(kTasks, bands_.count * groups_)), 1);
    row_bytes_ = points(taps_) * panels_ * width_bytes();
    depth_of_a_.emplace(rows(), depth_, kA, false);
    tap_places_.resize(static_cast<size_t>(points(taps_)));
    for (size_t tap = 0; tap < tap_places_.size(); ++tap) {
      auto rest = static_cast<int64_t>(tap);
      for (size_t k = taps_.size(); k--; rest /= taps_[k].extent)
        tap_places_[tap] += rest % taps_[k].extent * positions(taps_[k]);
    }
  }

  int64_t run_task(int64_t slice, int64_t band, int64_t group) {
    const Range m{bands_.begin(band), bands_.size(band)};
    const int64_t first = group * kGroupPanels, last = std::min(panels_, first + kGroupPanels);
    std::vector<int64_t> places_of_a(static_cast<size_t>(m.size));
    places_of(rows(), kA, m.begin, m.size, places_of_a.data());
    Packer packer(product_.kernel, tiling_, kA, rows(), depth_, *depth_of_a_, item_, tiling_.vectors_of_a, height_);
    const int64_t deepest = images_together_ * rows_together_ * run_;
    const Scratch a(
        static_cast<size_t>(ceil_div(m.size, height_) * deepest * tiling_.vectors_of_a * tiling_.vector_bytes()));
    const Scratch b(static_cast<size_t>(images_together_ * span() * width_bytes()));
    std::vector<int64_t> runs;
    const int64_t start = slices_.begin(slice);
    for (int64_t number = start; number < start + slices_.size(slice); ++number) {
      const Block here = block(number);
      const int64_t begin = (here.image * height_of_image_ + here.row) * run_;
      packer.start({begin, here.images * here.rows * run_});
      packer.pack(a.data(), product_.data[kA], places_of_a);
      find_runs(here, runs);
      for (int64_t panel = first; panel < last; ++panel) {
        copy_channels(b.data(), here, panel);
        char* const sums = sums_->host() + (slice * m_ + m.begin) * row_bytes_ + panel * width_bytes();
        if (const int64_t status = add_taps(sums, m.size, a.data(), b.data(), runs, number != start)) return status;
      }
    }
    return 0;
  }

  // The starts of a block's runs in the copy.
  void find_runs(const Block& here, std::vector<int64_t>& runs) const {
    runs.clear();
    for (int64_t image = 0; image < here.images; ++image)
      for (int64_t row = 0; row < here.rows; ++row) runs.push_back((image * span() + row * row_step_) * width_bytes());
  }

  // Copies a vector of channels for every position that the block reads.
  void copy_channels(char* to, const Block& here, int64_t panel) const {
    const int64_t channel = panel * tiling_.width(), count = std::min(tiling_.width(), lanes_.extent - channel);
    for (int64_t image = 0; image < here.images; ++image, to += span() * width_bytes()) {
      char* const from = product_.data[kB] + place_of(outer_, kB, here.image + image) + channel * lanes_.strides[kB];
      if (dims_.empty()) copy_run(to, from + here.row * row_step_ * unit_, span(here.rows), count, unit_);
      else copy_lines(to, from, here.row * row_step_, span(here.rows), count);
    }
  }

  void copy_run(char* to, char* from, int64_t length, int64_t channels, int64_t step) const {
    char* data[] = {to, from};
    const int64_t sizes[] = {length, channels, tiling_.vectors, 0}, strides[] = {step, lanes_.strides[kB]};
    run_part(product_.kernel, kPackMatrix, data, sizes, strides);
  }

  // Copies `length` positions from number `begin` on, where a line of the innermost dim starts; `from` is position 0.
  void copy_lines(char* to, char* from, int64_t begin, int64_t length, int64_t channels) const {
    const Dim& line = dims_.back();
    const auto zero = [&](int64_t first, int64_t end) {
      if (first < end) std::memset(to + first * width_bytes(), 0, static_cast<size_t>((end - first) * width_bytes()));
    };
    for (int64_t done = 0; done < length; done += line.extent, to += line.extent * width_bytes()) {
      char* source = from;
      bool is_inside = true;
      for (size_t d = 0; d + 1 < dims_.size(); ++d) {
        const int64_t moved = (begin + done) / dims_[d].step % dims_[d].extent, index = dims_[d].first + moved;
        is_inside &= index >= 0 && index < dims_[d].size;
        source += moved * dims_[d].stride;
      }
      const int64_t count = std::min(line.extent, length - done);
      const int64_t first = std::clamp<int64_t>(-line.first, 0, count);
      const int64_t end = is_inside ? std::clamp(line.size - line.first, first, count) : first;
      zero(0, first);
      zero(end, count);
      if (first < end)
        copy_run(to + first * width_bytes(), source + first * line.stride, end - first, channels, line.stride);
    }
  }

  int64_t add_taps(char* sums, int64_t m, char* a, char* b, const std::vector<int64_t>& runs, bool accumulates) const {
    const int64_t sizes[] = {m, run_, static_cast<int64_t>(runs.size()), height_};
    const int64_t strides[] = {row_bytes_, run_step_ * width_bytes()};
    for (int64_t place : tap_places_) {
      char* data[] = {sums, a, b + place * width_bytes(), reinterpret_cast<char*>(const_cast<int64_t*>(runs.data()))};
      if (const int64_t status = run_part(product_.kernel, kMultiplyRuns, data, sizes, strides, accumulates))
        return status;
      sums += panels_ * width_bytes();
    }
    return 0;
  }

  // ------------------------------------------------------------ from sums to C

  // Adds the slices, then stores the channels of each tap in C.
  int64_t finish() const {
    return parallel_blocks(ceil_div(m_, kRowsTogether), [&](int64_t block) -> int64_t {
      const int64_t row = block * kRowsTogether, count = std::min(kRowsTogether, m_ - row);
      const int64_t columns = row_bytes_ / tiling_.element_bytes;
      const Scratch total(static_cast<size_t>(count * columns * item_));
      char* data[] = {total.data(), sums_->host() + row * row_bytes_, nullptr};
      const int64_t sizes[] = {1, count * columns, slices_.count}, strides[] = {0, 0, 0, 0, m_ * row_bytes_};
      if (const int64_t status = run_part(product_.kernel, kFinish, data, sizes, strides)) return status;
      const int64_t c_row = *joint_stride(rows(), kC), taps = points(taps_);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const Run run{{lanes_.extent, count}, {lanes_.strides[kC], c_row}, {item_, columns * item_}};
        convert(product_.dtype, product_.data[kC] + row * c_row + place_of(taps_, kC, tap), product_.dtype,
                total.data() + tap * panels_ * tiling_.width() * item_, run);
      }
      return 0;
    });
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_;
  AxisList depth_, taps_;
  std::span<const Axis> outer_;  // of the depth: the images
  std::vector<Dim> dims_;        // empty: positions are elements of B
  int64_t unit_ = item_;         // bytes between positions
  Axis lanes_{};                 // the channels
  int64_t run_step_ = 0, run_ = 1, row_step_ = 0, height_of_image_ = 1, images_ = 1;
  int64_t rows_together_ = 1, images_together_ = 1, blocks_of_image_ = 1, blocks_ = 0;
  int64_t m_ = 0, height_ = 1, panels_ = 0, groups_ = 0, row_bytes_ = 0;
  Cut bands_{1, 1, 1}, slices_{1, 1, 1};
  std::optional<DepthPlaces> depth_of_a_;
  std::vector<int64_t> tap_places_;
  Tensor sums_;  // of every slice: for each row and tap, all channels
};

}  // namespace

bool shares_windows(const PackedProduct& product) {
  const bool is_plain = !product.accumulates && !product.data[kBias] && points(product.groups[kBatch]) == 1;
  if (!is_plain || category(product.dtype) != DTypeCategory::Floating) return false;
  if (product.beyond.dims > 0 && product.beyond.operand != kB) return false;
  return product.groups[kColumns].size() > 1 && describe(product.kernel).word == 1 &&
         SharedWindows(product).is_profitable();
}

int64_t run_shared_windows(const PackedProduct& product) { return SharedWindows(product).run(); }

}  // namespace pellucid

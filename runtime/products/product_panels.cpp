#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int kMaxLanes = 16;
constexpr int kMaxSegments = 4;  // contiguous runs per vector of columns; with more it is transposed

// The number of contiguous elements along the innermost axis.
int64_t inner_run(std::span<const Axis> axes, int operand, int64_t item) {
  return !axes.empty() && axes.back().strides[operand] == item ? axes.back().extent : 1;
}

}  // namespace

int64_t run_part(KernelRef& kernel, Part part, char* const* data, const int64_t* sizes, const int64_t* strides,
                 bool accumulates) {
  const uint64_t params[] = {0, accumulates, part};
  return kernel.run(data, sizes, strides, params);
}

Tiling describe(KernelRef& kernel) {
  Tiling tiling;
  char* data[] = {reinterpret_cast<char*>(&tiling)};
  run_part(kernel, kDescribe, data, nullptr);
  return tiling;
}

DepthPlaces::DepthPlaces(std::span<const Axis> outer, std::span<const Axis> depth, int operand, bool has_masks) {
  if (joint_stride(outer, operand) && joint_stride(depth, operand) && !has_masks) return;
  places = all_places(depth, operand);
  if (!has_masks) return;
  std::vector<int64_t> kinds(places.size());
  WindowLanes::kinds_of(depth, kinds);
  windows.resize(places.size());
  for (size_t k = 0; k < kinds.size(); ++k) windows[k] = {places[k], kinds[k] * static_cast<int64_t>(sizeof(uint64_t))};
}

Packer::Packer(KernelRef& kernel, const Tiling& tiling, int operand, std::span<const Axis> outer,
               std::span<const Axis> depth, const DepthPlaces& places, int64_t item, int64_t vectors, int64_t width)
    : kernel_(kernel), tiling_(tiling), item_(item), vectors_(vectors), width_(width),
      column_(joint_stride(outer, operand)), row_(joint_stride(depth, operand)),
      along_depth_(inner_run(depth, operand, item) > inner_run(outer, operand, item)), depth_(places) {}

void Packer::start(Range block) {
  block_ = block;
  if (is_matrix() || lanes_) return;
  runs_.clear();
  const int64_t* const places = &depth_.places[static_cast<size_t>(block.begin)];
  for (int64_t k = 0; k < block.size; ++k) {
    if (k && places[k] == places[k - 1] + item_) ++runs_.back()[1];
    else runs_.push_back({places[k], 1});
  }
}

void Packer::pack(char* to, char* from, std::span<const int64_t> columns) {
  const auto count = static_cast<int64_t>(columns.size());
  first_column_ = columns.data();
  const bool is_full = width_ == vectors_ * tiling_.lanes;
  if (is_matrix() && (is_full || *column_ == item_))
    return pack_matrix(to, from + columns[0], count, is_full ? 0 : width_);
  const int64_t panel_bytes = tiling_.panel_rows(block_.size) * vectors_ * tiling_.vector_bytes();
  for (int64_t column = 0; column < count; column += width_, to += panel_bytes) {
    const auto first = static_cast<size_t>(column), used = static_cast<size_t>(std::min(width_, count - column));
    if (is_matrix()) pack_matrix(to, from + columns[first], static_cast<int64_t>(used), 0);
    else pack_panel(to, from, columns.subspan(first, used));
  }
}

void Packer::pack_matrix(char* to, char* from, int64_t columns, int64_t width) {
  char* data[] = {to, from + block_.begin * *row_};
  const int64_t sizes[] = {block_.size, columns, vectors_, width}, strides[] = {*row_, *column_};
  run_part(kernel_, kPackMatrix, data, sizes, strides);
}

void Packer::pack_panel(char* to, char* from, std::span<const int64_t> columns) {
  const auto count = static_cast<int64_t>(columns.size());
  for (int64_t column = 0; column < count; column += tiling_.lanes)
    pack_vector(to + column * tiling_.element_bytes, vectors_ * tiling_.vector_bytes(), from,
                &columns[static_cast<size_t>(column)], std::min(tiling_.lanes, count - column));
}

// Packs `count` columns at `columns`: a vector per k of the block, `step` bytes apart.
void Packer::pack_vector(char* to, int64_t step, char* from, const int64_t* columns, int64_t count) {
  if (lanes_) return pack_windows(to, step, from, columns, count);
  int ends[kMaxSegments];
  const int segments = along_depth_ ? 0 : cut_segments(columns, count, ends);
  if (segments == 0) return pack_depth(to, step, from, columns, count);
  for (int s = 0, first = 0; s < segments; first = ends[s++]) {
    char* data[] = {to, from + columns[first] - first * item_,
                    bytes(&depth_.places[static_cast<size_t>(block_.begin)])};
    const int64_t sizes[] = {block_.size, first, ends[s], step};
    run_part(kernel_, kPackColumns, data, sizes);
  }
}

void Packer::pack_windows(char* to, int64_t step, char* from, const int64_t* columns, int64_t count) {
  uint64_t masks[WindowLanes::kMaxKinds];
  lanes_->find(columns - first_column_, count, masks);
  int ends[kMaxSegments];
  const int segments = cut_segments(columns, count, ends);
  for (int s = 0, first = 0; s < segments; first = ends[s++]) {
    char* data[] = {to, from + columns[first] - first * item_,
                    bytes(&depth_.windows[static_cast<size_t>(block_.begin)]), bytes(masks)};
    const int64_t sizes[] = {block_.size, first, ends[s], step};
    run_part(kernel_, kPackWindows, data, sizes);
  }
}

// The ends of runs of contiguous columns; 0 if there are too many runs.
int Packer::cut_segments(const int64_t* columns, int64_t count, int* ends) const {
  int segments = 0;
  for (int64_t i = 1; i <= count; ++i) {
    if (i < count && columns[i] == columns[i - 1] + item_) continue;
    if (segments == kMaxSegments) return 0;
    ends[segments++] = static_cast<int>(i);
  }
  return segments;
}

// Whether a word of the block has elements of two runs.
bool Packer::cuts_words() const {
  return std::any_of(runs_.begin(), runs_.end() - 1, [&](const auto& run) { return run[1] % tiling_.word != 0; });
}

void Packer::pack_depth(char* to, int64_t step, char* from, const int64_t* columns, int64_t count) {
  int64_t places[kMaxLanes];
  for (int64_t i = 0; i < tiling_.lanes; ++i) places[i] = columns[std::min(i, count - 1)];
  if (cuts_words()) {
    char* data[] = {to, from, bytes(places), bytes(&depth_.places[static_cast<size_t>(block_.begin)])};
    const int64_t sizes[] = {block_.size, step};
    return static_cast<void>(run_part(kernel_, kPackPlaces, data, sizes));
  }
  char* data[] = {to, from, bytes(places), bytes(runs_.data())};
  const int64_t sizes[] = {static_cast<int64_t>(runs_.size()), step};
  run_part(kernel_, kPackDepth, data, sizes);
}

void places_of(std::span<const Axis> axes, int operand, int64_t begin, int64_t count, int64_t* places) {
  if (axes.empty()) return std::fill_n(places, count, 0), void();
  const Axis& inner = axes.back();
  const std::span<const Axis> outside = axes.first(axes.size() - 1);
  for (int64_t done = 0; done < count;) {
    const int64_t index = begin + done, at = index % inner.extent;
    const int64_t run = std::min(inner.extent - at, count - done), stride = inner.strides[operand];
    const int64_t first = place_of(outside, operand, index / inner.extent) + at * stride;
    for (int64_t i = 0; i < run; ++i) places[done + i] = first + i * stride;
    done += run;
  }
}

std::vector<int64_t> all_places(std::span<const Axis> axes, int operand) {
  std::vector<int64_t> places(static_cast<size_t>(points(axes)));
  places_of(axes, operand, 0, points(axes), places.data());
  return places;
}

}  // namespace pellucid

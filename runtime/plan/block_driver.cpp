#include "plan/block_driver.h"

#include <algorithm>
#include <vector>

#include "core/inline_vector.h"
#include "core/thread_pool.h"
#include "kernels/copy.h"
#include "kernels/cut.h"
#include "plan/steps.h"
#include "products/gemm.h"

namespace pellucid {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;  // of a block's local values, so that they stay in the L2 cache
constexpr int64_t kGroupBytes =
    1 << 17;                       // of the local values of a group of points, so that one call covers all of them
constexpr int64_t kFewRows = 112;  // a product with fewer rows would repack its other operand too often
constexpr int64_t kManyUnits = 8;  // more units gain little, and pack operands again
constexpr int64_t kFewUnits = 4;   // with fewer units, each step of a unit uses all threads instead
constexpr int64_t kAlignment = 64;
constexpr int64_t kSetBytes = 1024;  // rows at a multiple of this distance compete for few cache sets

// The start and length of a block along each class of axes.
struct Block {
  int64_t begin[kMaxAxes] = {};
  int64_t extent[kMaxAxes];
};

// One step placed over whole values; local values are at offsets from the start of a block's memory.
struct Member {
  Member(const Step& of, std::span<const uint8_t> of_axes) : step(of), classes(of_axes) {}

  const Step& step;
  std::span<const uint8_t> classes;
  Placement nest;
  int64_t local_offset[kMaxNestOperands];  // -1: the operand is not local
  uint64_t params[kMaxStepParams];
  bool is_cleared = false;     // its result was zero-filled before the first block
  bool reuses_factor = false;  // its second operand is the same for many blocks
};

// The byte strides of a local value's block per dim, and its total bytes.
struct LocalLayout {
  int64_t strides[kMaxDims];
  int64_t nbytes;
};

// The bytes of each slot of local values.
using SlotBytes = InlineVector<int64_t, 16>;

class BlockRun {
 public:
  BlockRun(Frame& frame, const Step& step) : frame_(frame), step_(step), body_(*step.block), cut_(body_.cut()) {
    extents_.reserve(step.extents.size());
    for (uint16_t extent : step.extents) extents_.push_back(frame.size(extent));
  }

  void run() {
    const auto walked = std::span(extents_).first(static_cast<size_t>(cut_) + 1);
    if (std::ranges::count(walked, 0) != 0) {  // results without elements, or empty sums
      for (const Operand& output : step_.outputs) clear(output.value);
      return;
    }
    choose_pieces();
    place_locals();
    group_points();
    members_.reserve(body_.steps.size());
    for (size_t k = 0; k < body_.steps.size(); ++k) add_member(body_.steps[k], body_.classes[k]);
    run_units();
  }

 private:
  void clear(uint16_t value) { fill_elements(*frame_.value(value), Value::of_int(0)); }

  // The number of elements of a local value's block along one dim; class -1: the dim has one element.
  int64_t local_extent(int dim_class) const {
    if (dim_class >= 0 && dim_class == body_.parallel - 1) return together_;
    if (dim_class < cut_) return 1;
    return dim_class == cut_ ? piece_ : extents_[static_cast<size_t>(dim_class)];
  }

  LocalLayout local_layout(uint16_t value) const {
    LocalLayout layout;
    layout.nbytes = static_cast<int64_t>(item_size(frame_.plan.values[value].dtype));
    for (size_t k = 0; k < body_.steps.size(); ++k)
      for (const Operand& output : body_.steps[k].outputs)
        if (output.value == value) {
          lay_out(output.axis_of_dim, body_.classes[k], layout);
          return layout;
        }
    return layout;
  }

  // Fills in the strides of the dims that have these axes; the layout is that of one element before.
  void lay_out(std::span<const int8_t> axis_of_dim, std::span<const uint8_t> classes, LocalLayout& layout) const {
    int64_t stride = layout.nbytes;
    for (size_t d = axis_of_dim.size(); d--;) {
      layout.strides[d] = stride;
      const int axis = axis_of_dim[d];
      stride *= local_extent(axis < 0 ? -1 : classes[static_cast<size_t>(axis)]);
      if (d + 1 == axis_of_dim.size() && stride % kSetBytes == 0) stride += kAlignment;
    }
    layout.nbytes = stride;
  }

  void measure_slots(SlotBytes& slots) const {
    for (LocalValue local : body_.locals) {
      while (slots.size() <= local.slot) slots.push_back(0);
      slots[local.slot] = local_layout(local.value).nbytes;
    }
  }

  void choose_pieces() {
    SlotBytes slots;  // with pieces of one row
    measure_slots(slots);
    int64_t row_bytes = 1;
    for (int64_t bytes : slots) row_bytes += bytes;
    const int64_t extent = extents_[static_cast<size_t>(cut_)];
    int64_t rows = std::max(kBlockBytes / row_bytes, kFewRows);
    if (body_.triangle >= 0) rows = std::min(rows, std::max<int64_t>(kTriangleRows, extent / kTrianglePieces));
    pieces_ = ceil_div(extent, rows);
    piece_ = ceil_div(extent, pieces_);
    pieces_ = ceil_div(extent, piece_);
  }

  // Groups points along the last parallel class when their blocks are small and not split into pieces: one block
  // covers as many points as one task would run in sequence, or as few as still leave enough units.
  void group_points() {
    if (body_.parallel == 0 || pieces_ > 1) return;
    const int64_t points = parallel_points(), extent = extents_[static_cast<size_t>(body_.parallel) - 1];
    const int64_t wanted =
        std::max(ceil_div(kGrainProducts, std::max<int64_t>(products() / points, 1)), points / kManyUnits);
    const int64_t most =
        std::clamp<int64_t>(std::min(kGroupBytes / std::max<int64_t>(memory_bytes_, 1), wanted), 1, extent);
    together_ = ceil_div(extent, ceil_div(extent, most));
    place_locals();
  }

  int64_t parallel_points() const {
    int64_t points = 1;
    for (int number = 0; number < body_.parallel; ++number) points *= extents_[static_cast<size_t>(number)];
    return points;
  }

  // The multiply-adds of all products.
  int64_t products() const {
    int64_t sum = 0;
    for (size_t k = 0; k < body_.steps.size(); ++k) {
      if (body_.steps[k].kind != StepKind::Gemm) continue;
      int64_t products = 1;
      for (uint8_t number : body_.classes[k]) products *= extents_[number];
      sum += products;
    }
    return sum;
  }

  void place_locals() {
    SlotBytes slots;
    measure_slots(slots);
    slot_offsets_.resize(slots.size());
    memory_bytes_ = 0;
    for (size_t k = 0; k < slots.size(); ++k) {
      slot_offsets_[k] = memory_bytes_;
      memory_bytes_ += (slots[k] / kAlignment + 1) * kAlignment;
    }
  }

  void add_member(const Step& step, std::span<const uint8_t> classes) {
    Member& member = members_.emplace_back(step, classes);
    Placement& nest = member.nest;
    nest.axes = static_cast<int>(classes.size());
    for (size_t axis = 0; axis < classes.size(); ++axis) nest.extents[axis] = extents_[classes[axis]];
    nest.operands = 0;
    for (const auto* operands : {&step.outputs, &step.inputs})
      for (const Operand& operand : *operands) place_one(member, operand, nest.operands++);
    if (std::ranges::count(extents_, 0) != 0) place_empty_inputs(frame_, step, nest);
    load_params(frame_, *step.kernel, member.params);
    step.kernel->kernel.get();  // here, not on the threads: it may run Python
    const bool is_partial = body_.triangle >= 0 && std::ranges::count(classes, body_.triangle) != 0;
    if (is_partial && adds(member, [](int) { return true; })) {
      clear(step.outputs[0].value);
      member.is_cleared = true;
    }
    member.reuses_factor = pieces_ > 1 && reuses_factor(member);
  }

  // Whether a product's second operand is a whole value that no step writes, and every piece reads the same of
  // it, or fewer columns than the piece before.
  bool reuses_factor(const Member& member) const {
    if (member.step.kind != StepKind::Gemm || member.local_offset[kB] >= 0) return false;
    const uint16_t factor = member.step.inputs[kB - 1].value;
    if (std::ranges::count(step_.outputs, factor, &Operand::value) != 0) return false;
    const int depth = member.nest.axes - member.step.groups[kDepth];
    for (int axis = 0; axis < member.nest.axes; ++axis) {
      if (member.nest.strides[kB][axis] == 0) continue;
      const int number = member.classes[static_cast<size_t>(axis)];
      if (number == cut_ || (number == body_.triangle && (axis >= depth || body_.cut_is_sequential))) return false;
    }
    return true;
  }

  void place_one(Member& member, const Operand& operand, int k) {
    const auto local = std::ranges::find(body_.locals, operand.value, &LocalValue::value);
    member.local_offset[k] = -1;
    if (local == body_.locals.end()) return place_operand(frame_, operand, member.nest, k);
    const DType dtype = frame_.plan.values[operand.value].dtype;
    member.local_offset[k] = slot_offsets_[local->slot];
    member.nest.dtypes[k] = dtype;
    member.nest.data[k] = nullptr;
    std::fill_n(member.nest.strides[k], member.nest.axes, 0);
    const LocalLayout layout = local_layout(operand.value);
    for (size_t d = 0; d < operand.axis_of_dim.size(); ++d)
      if (operand.axis_of_dim[d] >= 0) member.nest.strides[k][operand.axis_of_dim[d]] = layout.strides[d];
  }

  // Whether the product's depth includes a walked class that satisfies the test.
  template <class Test>
  bool adds(const Member& member, Test&& test) const {
    if (member.step.kind != StepKind::Gemm) return false;
    const auto depth = member.classes.last(member.step.groups[3]);
    return std::ranges::any_of(depth, [&](int number) { return number <= cut_ && test(number); });
  }

  // ------------------------------------------------------------ the walk

  void run_units() {
    int64_t units = 1;
    for (int number = 0; number < body_.parallel; ++number) units *= groups(number);
    runs_ = body_.cut_is_sequential ? 1 : std::min(pieces_, ceil_div(kManyUnits, units));
    units *= runs_;
    if (units < kFewUnits) {
      for (int64_t unit = 0; unit < units; ++unit) run_unit(unit);
      return;
    }
    const int64_t together = ceil_div(kGrainProducts, std::max<int64_t>(products() / units, 1));
    parallel_blocks(ceil_div(units, together), [&](int64_t number) {
      for (int64_t unit = number * together; unit < std::min(units, (number + 1) * together); ++unit) run_unit(unit);
    });
  }

  // The number of iterations of the walk along a class.
  int64_t groups(int number) const {
    const int64_t extent = extents_[static_cast<size_t>(number)];
    return number == body_.parallel - 1 ? ceil_div(extent, together_) : extent;
  }

  // Runs all blocks of one group of points of the parallel classes and, unless pieces are sequential, of one run
  // of pieces. Unordered pieces run from last to first, because the last one's triangle contains all columns of
  // the others.
  void run_unit(int64_t unit) {
    Block block;
    std::ranges::copy(extents_, block.extent);
    const int64_t run = unit % runs_, first = run * pieces_ / runs_, last = (run + 1) * pieces_ / runs_;
    take_points(block, 0, body_.parallel, unit / runs_);
    int64_t points = 1;
    for (int number = body_.parallel; number < cut_; ++number) points *= extents_[static_cast<size_t>(number)];
    const int64_t bytes[] = {memory_bytes_};
    const Tensor memory = empty(bytes, DType::UInt8);
    std::vector<CachedPanels> caches(members_.size());
    for (int64_t point = 0; point < points; ++point) {
      take_points(block, body_.parallel, cut_, point);
      for (int64_t number = first; number < last; ++number) {
        take_piece(block, body_.cut_is_sequential ? number : last - 1 - (number - first));
        for (size_t k = 0; k < members_.size(); ++k) run_member(members_[k], block, memory->host(), caches[k]);
      }
    }
  }

  void take_piece(Block& block, int64_t number) const {
    const int64_t begin = number * piece_, whole = extents_[static_cast<size_t>(cut_)];
    block.begin[cut_] = begin;
    block.extent[cut_] = std::min(piece_, whole - begin);
    if (body_.triangle >= 0)
      block.extent[body_.triangle] =
          std::min(extents_[static_cast<size_t>(body_.triangle)], begin + block.extent[cut_]);
  }

  void take_points(Block& block, int first, int last, int64_t index) const {
    for (int number = last; number-- > first; index /= groups(number)) {
      const int64_t extent = extents_[static_cast<size_t>(number)], step = number == body_.parallel - 1 ? together_ : 1;
      block.begin[number] = index % groups(number) * step;
      block.extent[number] = std::min(step, extent - block.begin[number]);
    }
  }

  void run_member(const Member& member, const Block& block, char* memory, CachedPanels& cache) const {
    const Placement& whole = member.nest;
    Placement nest;
    nest.axes = whole.axes;
    nest.operands = whole.operands;
    for (int axis = 0; axis < nest.axes; ++axis) nest.extents[axis] = block.extent[member.classes[axis]];
    for (int k = 0; k < nest.operands; ++k) {
      const bool is_local = member.local_offset[k] >= 0;
      nest.dtypes[k] = whole.dtypes[k];
      nest.data[k] = is_local ? memory + member.local_offset[k] : whole.data[k];
      for (int axis = 0; axis < nest.axes; ++axis) {
        nest.strides[k][axis] = whole.strides[k][axis];
        if (!is_local) nest.data[k] += block.begin[member.classes[axis]] * whole.strides[k][axis];
      }
    }
    const bool accumulates = member.is_cleared || adds(member, [&](int number) { return block.begin[number] != 0; });
    CachedPanels* const panels = member.reuses_factor ? &cache : nullptr;
    check_status(frame_.plan, frame_.call, member.step,
                 run_placed(member.step, nest, member.params, accumulates, panels));
  }

  Frame& frame_;
  const Step& step_;
  const BlockBody& body_;
  const int cut_;
  std::vector<int64_t> extents_;
  int64_t piece_ = 1, pieces_ = 1, runs_ = 1;  // rows per piece, pieces, runs of pieces
  int64_t together_ = 1;                       // points per group
  int64_t memory_bytes_ = 0;
  std::vector<int64_t> slot_offsets_;
  std::vector<Member> members_;
};

}  // namespace

void run_block_step(Frame& frame, const Step& step) {
  make_outputs(frame, step);
  if (!frame.meta) BlockRun(frame, step).run();
}

}  // namespace pellucid

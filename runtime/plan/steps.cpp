#include "plan/steps.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.h"
#include "core/geometry.h"
#include "core/thread_pool.h"
#include "kernels/copy.h"
#include "kernels/nest.h"
#include "kernels/reduce.h"
#include "kernels/true_flags.h"
#include "plan/block_driver.h"
#include "plan/host_step.h"
#include "plan/library.h"
#include "plan/product_driver.h"
#include "plan/recurrence.h"
#include "plan/reuse.h"
#include "plan/row_driver.h"

namespace pellucid {

void make_outputs(Frame& frame, const Step& step) {
  for (const Operand& output : step.outputs)
    if (!frame.value(output.value)) frame.make(output.value);
}

bool is_filled(const Step& step) { return step.has_identity && !(step.begins && step.kernel->kernel.get()); }

void place_empty_inputs(const Frame& frame, const Step& step, Placement& nest) {
  alignas(64) static constinit char zero[64] = {};
  int k = static_cast<int>(step.outputs.size());
  for (const Operand& input : step.inputs) {
    const TensorImpl* tensor = frame.value(input.value);  // null: local to a block, which has memory
    if (tensor && tensor->numel == 0) {
      nest.data[k] = zero;
      std::fill_n(nest.strides[k], nest.axes, 0);
    }
    ++k;
  }
}

namespace {

// Whether a dense copy of input `k` costs less than to read it: its rows are strided, and either the results' rows are
// contiguous, so that it alone keeps the kernel from contiguous vectors, or a row has so many cache lines that they are
// evicted before the neighbouring rows read them again.
bool should_make_dense(const Placement& nest, int num_stored, int num_outputs, int k) {
  constexpr int64_t kLeastElements = 1 << 14, kLeastRow = 16, kLine = 64, kFewLines = 256;
  int64_t elements = 1, row = 1;
  for (int a = 0; a < nest.axes; ++a) elements *= nest.extents[a];
  if (elements < kLeastElements) return false;
  for (int a = num_stored; a < nest.axes; ++a) row *= nest.extents[a];
  if (row < kLeastRow) return false;
  int inner = nest.axes - 1;
  while (nest.extents[inner] == 1) --inner;
  const auto item = [&](int operand) { return static_cast<int64_t>(item_size(nest.dtypes[operand])); };
  const auto step = [&](int axis) { return std::abs(nest.strides[k][axis]); };
  if (step(inner) <= item(k)) return false;
  const auto is_near = [&](int a) { return nest.extents[a] > 1 && step(a) > 0 && step(a) < kLine; };
  if (row > kFewLines && step(inner) >= kLine)
    for (int a = 0; a < num_stored; ++a)
      if (is_near(a)) return true;
  bool writes_rows = false;
  for (int output = 0; output < num_outputs; ++output) {
    const int64_t stride = nest.strides[output][inner];
    if (stride == item(output)) writes_rows = true;
    else if (stride != 0) return false;
  }
  return writes_rows;
}

// Places a dense copy of input `k` in the nest, to be read instead; returns it. The copy is broadcast along the same
// stored axes as the input.
Tensor place_dense(const Frame& frame, const Operand& operand, Placement& nest, int num_stored, int k) {
  TensorImpl& tensor = *frame.value(operand.value);
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
  const size_t axes = static_cast<size_t>(nest.axes);
  int64_t extents[kMaxAxes], strides[kMaxAxes];
  for (int a = 0; a < nest.axes; ++a) {
    extents[a] = a < num_stored && nest.strides[k][a] == 0 ? 1 : nest.extents[a];
    strides[a] = nest.strides[k][a] / item;
  }
  const int64_t offset = tensor.offset + (nest.data[k] - tensor.host()) / item;
  Tensor copy = row_major(*make_view(tensor, {extents, axes}, {strides, axes}, offset, true));
  nest.data[k] = copy->host();
  for (int a = 0; a < nest.axes; ++a) nest.strides[k][a] = extents[a] == 1 ? 0 : copy->strides[a] * item;
  return copy;
}

int64_t run_row_step(Frame& frame, const Step& step, int num_stored) {
  make_outputs(frame, step);
  if (frame.meta) return 0;
  Placement nest;
  place(frame, step, nest);
  if (std::find(nest.extents, nest.extents + nest.axes, 0) != nest.extents + nest.axes) [[unlikely]]
    place_empty_inputs(frame, step, nest);
  std::vector<Tensor> copies;
  const bool collapses = inner_axes_collapse(nest, num_stored);
  const int first = static_cast<int>(step.outputs.size());
  for (int k = first; k < nest.operands; ++k) {
    if (collapses && !should_make_dense(nest, num_stored, first, k)) [[likely]]
      continue;
    copies.push_back(place_dense(frame, step.inputs[k - first], nest, num_stored, k));
  }
  uint64_t params[kMaxStepParams];
  load_params(frame, *step.kernel, params);
  if (step.sums.empty()) return run_rows(step.kernel->kernel, nest, num_stored, params);
  int64_t strides[kMaxNestOperands], groups = 0;
  for (size_t k = 0; k < step.sums.size(); ++k) {
    TensorImpl& sums = *frame.value(step.outputs[step.sums[k]].value);
    fill_elements(sums, Value::of_int(0));
    groups = sums.sizes[0];
    strides[k] = sums.strides[0] * static_cast<int64_t>(item_size(sums.dtype));
  }
  return run_rows(step.kernel->kernel, nest, num_stored, params, {step.sums, {strides, step.sums.size()}, groups});
}

int64_t run_reduction(const Step& step, std::span<const int64_t> extents, std::span<const MapOperand> operands,
                      std::span<const uint64_t> params) {
  KernelRef& kernel = step.kernel->kernel;
  uint64_t reduced_axes = 0;
  for (size_t axis = step.num_stored; axis < extents.size(); ++axis) reduced_axes |= uint64_t{1} << axis;
  return run_reduce(
      {kernel, kernel, step.combine->kernel, step.accumulator, step.indexed, extents, reduced_axes, operands, params});
}

// A map whose stores accumulate along the axes beyond its own: these are walked sequentially over a part of its
// own axes at a time, small enough to stay in the cache.
class MapInTurn {
 public:
  MapInTurn(const MapCall& call, std::span<const int64_t> extents)
      : call_(call), met_(extents.subspan(call.extents.size())), axes_(call.extents.size()) {
    int64_t behind = 1;
    for (cut_ = axes_; cut_ > 0 && behind * call.extents[cut_ - 1] <= kPartElements; --cut_)
      behind *= call.extents[cut_ - 1];
    if (cut_ == 0) {  // all of it is one part
      if (axes_ > 0) piece_ = call.extents[0];
      return;
    }
    --cut_;
    piece_ = std::max<int64_t>(1, kPartElements / std::max<int64_t>(behind, 1));
    pieces_ = (call.extents[cut_] + piece_ - 1) / piece_;
    for (size_t axis = 0; axis < cut_; ++axis) parts_ *= call.extents[axis];
    parts_ *= pieces_;
  }

  int64_t run() {
    if (parts_ == 1) return run_part(0);
    call_.kernel.get();  // resolving may call Python: not from a thread that others wait for
    return parallel_blocks(parts_, [this](int64_t part) { return run_part(part); });
  }

 private:
  static constexpr int64_t kPartElements = 1 << 14;

  int64_t run_part(int64_t part) const {
    MapOperand operands[kMaxMapOperands];
    std::ranges::copy(call_.operands, operands);
    int64_t extents[kMaxAxes];
    std::ranges::copy(call_.extents, extents);
    const std::span<MapOperand> all(operands, call_.operands.size());
    if (axes_ > 0) {
      const int64_t first = part % pieces_ * piece_;
      move(all, cut_, first);
      extents[cut_] = std::min(piece_, extents[cut_] - first);
      int64_t rest = part / pieces_;
      for (size_t axis = cut_; axis-- > 0; rest /= call_.extents[axis]) {
        move(all, axis, rest % call_.extents[axis]);
        extents[axis] = 1;
      }
    }
    return walk(all, {extents, axes_});
  }

  int64_t walk(std::span<MapOperand> operands, std::span<const int64_t> extents) const {
    const MapCall call{call_.kernel, extents, operands, call_.num_outputs, call_.params};
    int64_t count = 1;
    for (int64_t extent : met_) count *= extent;
    for (int64_t number = 0; number < count; ++number) {
      const auto to_point = [&](int64_t direction) {
        int64_t rest = number;
        for (size_t axis = met_.size(); axis-- > 0; rest /= met_[axis])
          move(operands, axes_ + axis, direction * (rest % met_[axis]));
      };
      to_point(1);
      if (const int64_t status = run_map(call)) return status;
      to_point(-1);
    }
    return 0;
  }

  static void move(std::span<MapOperand> operands, size_t axis, int64_t count) {
    for (MapOperand& operand : operands) operand.data += count * operand.strides[axis];
  }

  const MapCall& call_;
  const std::span<const int64_t> met_;
  const size_t axes_;
  size_t cut_ = 0;  // the axis that is split into pieces; the axes before it are walked
  int64_t piece_ = 1, pieces_ = 1, parts_ = 1;
};

// Reorders the stored axes into the result's memory order.
void order_elements(Placement& nest, int num_stored) {
  int order[kMaxAxes];
  std::iota(order, order + nest.axes, 0);
  std::stable_sort(order, order + num_stored,
                   [&](int a, int b) { return std::abs(nest.strides[0][a]) > std::abs(nest.strides[0][b]); });
  const Placement given = nest;
  for (int a = 0; a < num_stored; ++a) {
    nest.extents[a] = given.extents[order[a]];
    for (int k = 0; k < nest.operands; ++k) nest.strides[k][a] = given.strides[k][order[a]];
  }
}

int64_t run_affine(const Step& step, Placement& nest, const uint64_t* params) {
  if (step.kind == StepKind::Map && step.num_stored < nest.axes) order_elements(nest, step.num_stored);
  MapOperand operands[kMaxNestOperands];
  for (int k = 0; k < nest.operands; ++k) operands[k] = {nest.data[k], nest.dtypes[k], nest.dtypes[k], nest.strides[k]};
  const std::span<const int64_t> extents(nest.extents, static_cast<size_t>(nest.axes));
  const std::span<const MapOperand> all(operands, static_cast<size_t>(nest.operands));
  if (step.kind == StepKind::Reduce) return run_reduction(step, extents, all, {params, step.kernel->params.size()});
  const MapCall call{step.kernel->kernel, extents.first(step.num_stored), all, static_cast<int>(step.outputs.size()),
                     params};
  if (step.num_stored == extents.size()) return run_map(call);
  return MapInTurn(call, extents).run();
}

int64_t run_affine_step(Frame& frame, const Step& step) {
  if (step.kind == StepKind::Map && !frame.meta) reuse_operands(frame, step);
  make_outputs(frame, step);
  if (frame.meta) return 0;
  Placement nest;
  place(frame, step, nest);
  uint64_t params[kMaxStepParams];
  load_params(frame, *step.kernel, params);
  return run_affine(step, nest, params);
}

// Whether a nest's result has its second dim innermost; the nest then vectorises along that dim instead of the
// last one.
bool has_channels_innermost(Frame& frame, const Step& step) {
  if (!step.channels_innermost) return false;
  const TensorImpl& result = *frame.value(step.outputs[0].value);
  return result.strides[1] == 1 && result.strides[result.ndim - 1] != 1;
}

// Whether to copy an operand first: it has a large stride in the vectorised dim (as channels-last images have in
// the last one), and the nest reads at least as many elements as the operand has.
bool should_copy(const TensorImpl& tensor, bool channels_innermost, int64_t points) {
  constexpr int64_t kLeastElements = 1 << 12, kLine = 64;
  if (tensor.ndim < (channels_innermost ? 3 : 1)) return false;
  const int dim = channels_innermost ? 1 : tensor.ndim - 1;
  if (tensor.numel < kLeastElements || points < tensor.numel || tensor.sizes[dim] == 1) return false;
  const int64_t step = tensor.strides[dim] * static_cast<int64_t>(item_size(tensor.dtype));
  return step >= kLine && std::ranges::count(tensor.stride(), 1) != 0;
}

// The arguments of a kernel that walks the whole nest. Sizes: {begin, end, other extents, every operand's sizes}.
struct NestArguments {
  static constexpr int kMaxStrides = kMaxNestOperands * kMaxDims;
  static constexpr int kMaxSizes = kMaxStrides + kMaxAxes + 1;
  char* data[kMaxNestOperands];
  int64_t sizes[kMaxSizes];
  int64_t strides[kMaxStrides];
  int64_t points = 1;
  size_t num_sizes;

  NestArguments(Frame& frame, const Step& step) {
    const size_t rank = std::max<size_t>(step.extents.size(), 1);
    sizes[0] = 0;
    sizes[1] = 1;
    for (size_t a = 0; a < step.extents.size(); ++a) points *= sizes[1 + a] = frame.size(step.extents[a]);
    int64_t* next_size = sizes + 1 + rank;
    int64_t* next_stride = strides;
    int count = 0;
    const bool channels_innermost = has_channels_innermost(frame, step);
    for (const auto* list : {&step.outputs, &step.inputs})
      for (const Operand& operand : *list) {
        TensorImpl* const whole = frame.value(operand.value);
        const bool copied = operand.value < frame.plan.num_inputs && should_copy(*whole, channels_innermost, points);
        TensorImpl& tensor = copied ? frame.copied_input(operand.value, channels_innermost) : *whole;
        const int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
        data[count++] = tensor.host();
        for (int d = 0; d < tensor.ndim; ++d) {
          *next_size++ = tensor.sizes[d];
          *next_stride++ = tensor.strides[d] * item;
        }
      }
    num_sizes = static_cast<size_t>(next_size - sizes);
  }
};

void fill_outputs(const Frame& frame, const Step& step) {
  for (const Operand& output : step.outputs) fill_elements(*frame.value(output.value), value_of(step.constant));
}

int64_t run_general_step(Frame& frame, const Step& step) {
  make_outputs(frame, step);
  if (frame.meta) return 0;
  NestArguments nest(frame, step);
  if (is_filled(step) || (step.has_identity && nest.points == 0)) fill_outputs(frame, step);
  uint64_t params[kMaxStepParams];
  load_params(frame, *step.kernel, params);
  if (nest.points == 0) return 0;
  if (!step.parallel || nest.points < kParallelGrain)
    return step.kernel->kernel.run(nest.data, nest.sizes, nest.strides, params);
  step.kernel->kernel.get();  // resolving may call Python: not from a thread that others wait for
  const int64_t first = nest.sizes[1];
  const int64_t block = std::max<int64_t>(1, kParallelGrain / 2 / (nest.points / first));
  return parallel_blocks((first + block - 1) / block, [&](int64_t number) {
    int64_t sizes[NestArguments::kMaxSizes];
    std::copy_n(nest.sizes, nest.num_sizes, sizes);
    sizes[0] = number * block;
    sizes[1] = std::min(first, sizes[0] + block);
    return step.kernel->kernel.run(nest.data, sizes, nest.strides, params);
  });
}

int64_t run_gemm_step(Frame& frame, const Step& step) {
  make_outputs(frame, step);
  if (frame.meta) return 0;
  Placement nest;
  place(frame, step, nest);
  if (std::ranges::any_of(step.inputs, &Operand::padded)) return run_padded_product(frame, step, nest);
  return run_product(step, nest, false);
}

void run_view_step(Frame& frame, const Step& step) {
  const Operand& source = step.inputs[0];
  TensorImpl& tensor = *frame.value(source.value);
  const PlanValue& out = frame.plan.values[step.outputs[0].value];
  int64_t sizes[kMaxDims], strides[kMaxDims] = {};
  const size_t rank = out.sizes.size();
  bool is_empty = false;
  for (size_t a = 0; a < rank; ++a) {
    sizes[a] = frame.size(out.sizes[a]);
    strides[a] = 0;
    if (sizes[a] < 0)
      raise(ErrorKind::Runtime, "%s(): the result would have the negative size %lld in dimension %zu",
            frame.call.op->schema.name.c_str(), static_cast<long long>(sizes[a]), a);
    is_empty |= sizes[a] == 0;
  }
  int64_t offset = tensor.offset;
  uint64_t moving = 0;  // the axes along which the view moves through its source
  for (size_t d = 0; d < source.dims.size(); ++d) {
    const DimMap& dim = source.dims[d];
    int64_t low = dim.offset == kNoRegister ? 0 : frame.size(dim.offset);
    offset += low * tensor.strides[d];
    int64_t high = low;
    for (DimTerm term : dim.terms) {
      const int64_t coefficient = term.coefficient == kNoRegister ? 1 : frame.size(term.coefficient);
      strides[term.axis] += coefficient * tensor.strides[d];
      moving |= uint64_t{1} << term.axis;
      const int64_t reach = coefficient * (sizes[term.axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
    if (!is_empty && (low < 0 || high >= tensor.sizes[d])) [[unlikely]]
      raise(ErrorKind::Index, "%s(): index %lld is out of bounds for dimension %zu with size %lld",
            frame.call.op->schema.name.c_str(), static_cast<long long>(low < 0 ? low : high), d,
            static_cast<long long>(tensor.sizes[d]));
  }
  for (size_t a = rank;
       a--;)  // a new dim of size 1 has the stride that PyTorch gives it, which spans the dims after it
    if (sizes[a] == 1 && !(moving >> a & 1)) strides[a] = a + 1 < rank ? sizes[a + 1] * strides[a + 1] : 1;
  const bool detached = frame.call.op->kind != OpKind::View;
  Tensor view = make_view(tensor, {sizes, rank}, {strides, rank}, offset, detached);
  frame.set(step.outputs[0].value, view.leak());
}

void run_reshape_step(Frame& frame, const Step& step) {
  TensorImpl& source = *frame.value(step.inputs[0].value);
  const PlanValue& out = frame.plan.values[step.outputs[0].value];
  int64_t sizes[kMaxDims], strides[kMaxDims];
  const size_t rank = out.sizes.size();
  for (size_t d = 0; d < rank; ++d) sizes[d] = frame.size(out.sizes[d]);
  const bool detached = frame.call.op->kind != OpKind::View;
  Tensor result;
  if (view_strides(source.shape(), source.stride(), {sizes, rank}, strides)) {
    result = make_view(source, {sizes, rank}, {strides, rank}, source.offset, detached);
  } else {
    if (!detached)
      raise(ErrorKind::Runtime,
            "%s(): view size is not compatible with the strides of this tensor: dimensions to be merged are not "
            "adjacent in memory; call reshape(), or contiguous() first",
            frame.call.op->schema.name.c_str());
    const int64_t* const wanted = frame.layout_of(step.outputs[0].value);
    int64_t from[kMaxDims];
    const bool has_view_strides = wanted && view_strides({sizes, rank}, {wanted, rank}, source.shape(), from);
    if (has_view_strides) std::copy_n(wanted, rank, strides);
    else row_major_strides({sizes, rank}, strides);
    Tensor packed = has_view_strides ? empty_strided(source.shape(), {from, source.ndim}, source.dtype, source.device)
                                     : row_major(source);
    if (has_view_strides && !frame.meta) copy_elements(*packed, source);
    result = make_view(*packed, {sizes, rank}, {strides, rank}, packed->offset, true);
  }
  frame.set(step.outputs[0].value, result.leak());
}

void run_nonzero_step(Frame& frame, const Step& step) {
  TensorImpl& source = *frame.value(step.inputs[0].value);
  if (frame.meta)
    raise(ErrorKind::NotImplemented, "%s(): the size of the result depends on the data, which a meta tensor lacks",
          frame.call.op->schema.name.c_str());
  const Tensor packed = row_major(source);
  const TrueFlags flags(*packed);
  frame.registers[step.count].integer = flags.count();
  const int64_t sizes[2] = {flags.count(), packed->ndim};
  Tensor result = empty({sizes, 2}, DType::Int64);
  flags.write_places(result->host_as<int64_t>());
  frame.set(step.outputs[0].value, result.leak());
}

}  // namespace

int64_t run_placed(const Step& step, Placement& nest, const uint64_t* params, bool accumulates,
                   CachedPanels* panel_cache) {
  switch (step.kind) {
    case StepKind::Gemm: return run_product(step, nest, accumulates, panel_cache);
    case StepKind::Rows: return run_rows(step.kernel->kernel, nest, step.num_stored, params);
    default: return run_affine(step, nest, params);
  }
}

void StepScope::open(const Step& step) {
  if (step.kind == StepKind::View || step.kind == StepKind::Reshape) return;
  const ThreadTimeline* timeline = thread_timeline();
  const bool is_nested =
      timeline && timeline->open != kNoEvent && timeline->events[timeline->open].kind == EventKind::Step;
  if (!is_nested) scope_.open(EventKind::Step, &step, 0, 0);
}

void run_step(Frame& frame, const Step& step) {
  const StepScope event(step);
  if (runs_on_device(frame)) [[unlikely]]
    return run_device_step(frame, step);
  run_step_here(frame, step);
}

void run_step_here(Frame& frame, const Step& step) {
  int64_t status = 0;
  switch (step.kind) {
    case StepKind::Map:
    case StepKind::Reduce: status = run_affine_step(frame, step); break;
    case StepKind::Rows: status = run_row_step(frame, step, step.num_stored); break;
    case StepKind::Scan: status = run_row_step(frame, step, static_cast<int>(step.extents.size()) - 1); break;
    case StepKind::Nest: status = run_general_step(frame, step); break;
    case StepKind::Gemm: status = run_gemm_step(frame, step); break;
    case StepKind::Fill:
      frame.make(step.outputs[0].value);
      if (!frame.meta) fill_elements(*frame.value(step.outputs[0].value), value_of(step.constant));
      break;
    case StepKind::View: run_view_step(frame, step); break;
    case StepKind::Reshape: run_reshape_step(frame, step); break;
    case StepKind::Copy: {
      TensorImpl* copy = frame.make(step.outputs[0].value);
      TensorImpl& source = *frame.value(step.inputs[0].value);
      if (!frame.meta && copy != &source) copy_elements(*copy, source);  // the same: offered for in-place update
      break;
    }
    case StepKind::Library: run_library_step(frame, step); break;
    case StepKind::Nonzero: run_nonzero_step(frame, step); break;
    case StepKind::Recurrence: run_recurrence_step(frame, step); break;
    case StepKind::Block: run_block_step(frame, step); break;
    case StepKind::Compute: break;
  }
  check_status(frame.plan, frame.call, step, status);
}

}  // namespace pellucid

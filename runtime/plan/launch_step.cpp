#include "plan/launch_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "kernels/copy.h"
#include "kernels/device_launch.h"
#include "plan/reach.h"
#include "plan/steps.h"

namespace pellucid {
namespace {

// The step kinds that are fully described by a kernel and its operands.
bool is_launchable(const Step& step) {
  switch (step.kind) {
    case StepKind::Map:
    case StepKind::Reduce:
    case StepKind::Scan:
    case StepKind::Nest:
    case StepKind::Rows:
    case StepKind::Gemm:
    case StepKind::Block: return true;
    default: return false;
  }
}

bool are_on_device(const Frame& frame, const Step& step) {
  return std::ranges::all_of(step.inputs, [&](const Operand& operand) {
    const TensorImpl* value = frame.value(operand.value);
    return value && value->device == frame.device;
  });
}

int stored_axes(const Step& step) {
  const int axes = static_cast<int>(step.extents.size());
  if (step.kind == StepKind::Scan) return axes - 1;
  if (step.kind == StepKind::Gemm) return axes - step.groups[3];
  return step.kind == StepKind::Nest ? axes : step.num_stored;
}

struct Operands {
  LaunchOperand list[kMaxNestOperands];
  size_t count = 0;
  int64_t dims[kMaxNestOperands][kMaxDims];  // nests: strides in bytes

  std::span<LaunchOperand> all() { return {list, count}; }

  void add_placed(const Placement& nest, int k) {
    const auto axes = static_cast<size_t>(nest.axes);
    list[count++] = {
        reinterpret_cast<uint64_t>(nest.data[k]), nest.dtypes[k], {nest.extents, axes}, {nest.strides[k], axes}};
  }

  void add_whole(TensorImpl& value) {
    int64_t* const strides = dims[count];
    for (int d = 0; d < value.ndim; ++d) strides[d] = value.strides[d] * static_cast<int64_t>(item_size(value.dtype));
    list[count++] = {value.address(), value.dtype, value.shape(), {strides, value.ndim}};
  }
};

// The part of the copy given by `reaches` that exists in the source, as a view; null if it is empty.
Tensor inside_part(TensorImpl& copy, TensorImpl& source, const Reaches& reaches, Tensor& source_part) {
  int64_t sizes[kMaxDims], to = copy.offset, from = source.offset;
  for (size_t d = 0; d < reaches.size(); ++d) {
    const int64_t start = reaches[d].start(), first = std::max<int64_t>(start, 0);
    sizes[d] = std::min(start + reaches[d].extent(), reaches[d].size) - first;
    if (sizes[d] <= 0) return {};
    to += (first - start) * copy.strides[d];
    from += first * source.strides[d];
  }
  source_part = make_view(source, {sizes, reaches.size()}, source.stride(), from, true);
  return make_view(copy, {sizes, reaches.size()}, copy.stride(), to, true);
}

// What a zero-padded product reads beyond the ends of its operands.
class BeyondEnds {
 public:
  BeyondEnds(const Frame& frame, const Step& step, const Placement& nest) {
    int k = static_cast<int>(step.outputs.size()) - 1;
    for (const Operand& input : step.inputs) {
      ++k;
      if (!input.padded) continue;
      TensorImpl& source = *frame.value(input.value);
      Reaches reaches;
      for (size_t d = 0; d < input.dims.size(); ++d) reaches.emplace_back(frame, input.dims[d], nest, source.sizes[d]);
      if (std::ranges::any_of(reaches, &Reach::leaves)) parts_.push_back({k, source, std::move(reaches), {}});
    }
  }

  size_t num_guards() const {
    size_t count = 0;
    for (const Part& part : parts_) count += static_cast<size_t>(std::ranges::count_if(part.reaches, &Reach::leaves));
    return count;
  }

  // Replaces the operands by copies on the device with the zeros in place.
  std::vector<Tensor> copy(Placement& nest) const {
    std::vector<Tensor> copies;
    for (const Part& part : parts_) {
      int64_t sizes[kMaxDims];
      std::ranges::transform(part.reaches, sizes, &Reach::extent);
      TensorImpl& copy =
          *copies.emplace_back(empty({sizes, part.reaches.size()}, part.source.dtype, part.source.device));
      fill_elements(copy, Value::of_int(0));
      Tensor source_part;
      if (const Tensor inside = inside_part(copy, part.source, part.reaches, source_part); inside.get())
        copy_elements(*inside, *source_part);
      place_copy(copy, reinterpret_cast<char*>(copy.address()), part.reaches, nest, part.operand);
    }
    return copies;
  }

  // Gives the operands guards, which live as long as this.
  void guard(const Placement& nest, std::span<LaunchOperand> operands) {
    for (Part& part : parts_) {
      for (const Reach& reach : part.reaches)
        if (reach.leaves())
          part.guards.push_back({reach.first, reach.size, {reach.steps, static_cast<size_t>(nest.axes)}});
      LaunchOperand& operand = operands[static_cast<size_t>(part.operand)];
      int64_t last = 0;
      for (int d = 0; d < part.source.ndim; ++d) last += (part.source.sizes[d] - 1) * part.source.strides[d];
      operand.address = part.source.address();
      operand.offset = nest.data[part.operand] - reinterpret_cast<char*>(operand.address);
      operand.num_bytes = (last + 1) * static_cast<int64_t>(item_size(part.source.dtype));
      operand.guards = part.guards;
    }
  }

 private:
  struct Part {
    int operand;
    TensorImpl& source;
    Reaches reaches;
    std::vector<Guard> guards;
  };
  std::vector<Part> parts_;
};

// Outputs that rows accumulate into are passed whole, with groups of rows along the first dim; nests index all
// operands.
void add_operands(const Frame& frame, const Step& step, const Placement& nest, Operands& operands) {
  int k = 0;
  for (const auto* list : {&step.outputs, &step.inputs})
    for (const Operand& operand : *list) {
      TensorImpl& value = *frame.value(operand.value);
      const bool is_sum = list == &step.outputs && std::ranges::count(step.sums, k) != 0;
      if (is_sum) fill_elements(value, Value::of_int(0));
      if (is_sum || step.kind == StepKind::Nest) operands.add_whole(value);
      else operands.add_placed(nest, k);
      ++k;
    }
}

// A map whose stores add to each other along the axes beyond its own: a launch for each point of these, in the CPU's
// order, in which no two points store to the same place.
std::optional<int64_t> launch_in_turn(Backend& backend, const Launch& whole, std::span<LaunchOperand> operands) {
  const auto stored = static_cast<size_t>(whole.num_stored);
  const std::span<const int64_t> turns = whole.extents.subspan(stored);
  Launch part = whole;
  part.extents = whole.extents.first(stored);
  std::vector<uint64_t> first;
  std::vector<std::span<const int64_t>> steps;
  for (LaunchOperand& operand : operands) {
    first.push_back(operand.address);
    steps.push_back(operand.strides.subspan(stored));
    operand.sizes = operand.sizes.first(stored);
    operand.strides = operand.strides.first(stored);
  }
  int64_t count = 1;
  for (const int64_t extent : turns) count *= extent;
  for (int64_t number = 0; number < count; ++number) {
    for (size_t k = 0; k < operands.size(); ++k) {
      int64_t rest = number, far = 0;
      for (size_t axis = turns.size(); axis-- > 0; rest /= turns[axis]) far += rest % turns[axis] * steps[k][axis];
      operands[k].address = first[k] + static_cast<uint64_t>(far);
    }
    const std::optional<int64_t> status = backend.launch(part);
    if (!status && number)
      raise(ErrorKind::Runtime, "%s: the device declined a launch of a kernel of which it has taken another", whole.op);
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace

bool launch_step(Frame& frame, const Step& step) {
  Backend& backend = backend_of(frame.device);
  if (!backend.launches_kernels() || !is_launchable(step) || !are_on_device(frame, step)) return false;
  make_outputs(frame, step);
  Placement nest;
  place(frame, step, nest);
  const std::span<const int64_t> extents(nest.extents, static_cast<size_t>(nest.axes));
  if (std::ranges::count(extents, 0)) return false;
  BeyondEnds beyond(frame, step, nest);
  if (step.kind == StepKind::Nest && step.has_identity)
    for (const Operand& output : step.outputs) fill_elements(*frame.value(output.value), value_of(step.constant));
  uint64_t params[kMaxStepParams];
  load_params(frame, *step.kernel, params);
  std::vector<Tensor> copies;
  const auto offer = [&](bool has_guards) {
    if (!has_guards) copies = beyond.copy(nest);
    Operands operands;
    add_operands(frame, step, nest, operands);
    if (has_guards) beyond.guard(nest, operands.all());
    const Launch launch{frame.call.op->qualified_name.c_str(),
                        step.kernel->kernel,
                        frame.device,
                        extents,
                        stored_axes(step),
                        operands.all(),
                        static_cast<int>(step.outputs.size()),
                        {params, step.kernel->params.size()}};
    const bool adds = step.kind == StepKind::Map && step.num_stored < nest.axes;
    return adds ? launch_in_turn(backend, launch, operands.all()) : backend.launch(launch);
  };
  const size_t guards = backend.takes_guards() ? beyond.num_guards() : 0;
  const bool may_guard = guards > 0 && guards <= kMaxGuards;
  std::optional<int64_t> status = offer(may_guard);
  if (!status && may_guard) status = offer(false);
  if (!status) return false;
  backend.launches.fetch_add(1, std::memory_order_relaxed);
  check_status(frame.plan, frame.call, step, *status);
  return true;
}

}  // namespace pellucid

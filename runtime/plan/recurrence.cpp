#include "plan/recurrence.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/geometry.h"
#include "core/thread_pool.h"
#include "kernels/copy.h"
#include "plan/prepared.h"
#include "plan/steps.h"

namespace pellucid {
namespace {

constexpr int64_t kFewElements = 4;  // with this many elements a copy of a constant, or a recorded list, is worthwhile
constexpr int64_t kBlockLanes = 8;   // the minimum per block: products with fewer rows are slow
constexpr int64_t kMaxBlocks =
    8;  // limits what each block prepares and reads again; fixed, so that the bits do not depend on threads
constexpr int64_t kSharedBytes = 1 << 20;  // constants that each thread may read on its own: the size of its L2 cache

// A view of some or all lanes of a value.
Tensor part_of(TensorImpl& value, int dim, int64_t begin, int64_t size) {
  if (dim < 0 || size == value.sizes[dim]) return Tensor::share(&value);
  int64_t sizes[kMaxDims];
  std::ranges::copy(value.shape(), sizes);
  sizes[dim] = size;
  const int64_t offset = value.offset + begin * value.strides[dim];
  return make_view(value, {sizes, value.shape().size()}, value.stride(), offset, true);
}

// One value of a recurrence along its first dim: a view that moves from element to element.
class MovingView {
 public:
  explicit MovingView(TensorImpl& stack)
      : stride_(stack.strides[0]), start_(stack.offset),
        view_(make_view(stack, stack.shape().subspan(1), stack.stride().subspan(1), stack.offset, true)) {}

  TensorImpl* at(int64_t t) const {
    view_->offset = start_ + t * stride_;
    return view_.get();
  }

 private:
  int64_t stride_, start_;
  Tensor view_;
};

// A sequence, possibly shifted by one; beyond its end is the edge.
class Sequence {
 public:
  Sequence(TensorImpl& stack, int64_t shift, Tensor edge)
      : view_(stack), length_(stack.sizes[0]), shift_(shift), edge_(std::move(edge)) {}

  bool is_edge(int64_t t) const { return t + shift_ < 0 || t + shift_ >= length_; }
  TensorImpl* at(int64_t t) const { return is_edge(t) ? edge_.get() : view_.at(t + shift_); }

 private:
  MovingView view_;
  int64_t length_, shift_;
  Tensor edge_;
};

// Where the step's results of one output are stored: in a stack, or, for a carry of which only the last value is
// returned, alternately in the result and in a second buffer, so that the last one is stored in the result. A
// launch prepared for one of the two also serves the other, so their layouts agree.
class Target {
 public:
  explicit Target(MovingView stack) : stack_(std::move(stack)) {}
  explicit Target(Tensor last)
      : last_(std::move(last)), other_(empty_strided(last_->shape(), last_->stride(), last_->dtype)) {}

  // `left`: the number of elements after the one at `t`.
  TensorImpl* at(int64_t t, int64_t left) const {
    if (stack_) return stack_->at(t);
    return (left % 2 == 0 ? last_ : other_).get();
  }

 private:
  std::optional<MovingView> stack_;
  Tensor last_, other_;
};

// `tensor` with its dims stored in the given order, outermost first.
Tensor in_order(TensorImpl& tensor, std::span<const uint16_t> order) {
  if (order.size() != static_cast<size_t>(tensor.ndim))
    raise(ErrorKind::Value, "a recurrence names dims that a constant lacks");
  if (order.empty() || tensor.strides[order.back()] == 1) return Tensor::share(&tensor);
  int64_t sizes[kMaxDims], dense[kMaxDims], strides[kMaxDims];
  for (size_t d = 0; d < order.size(); ++d) sizes[d] = tensor.sizes[order[d]];
  row_major_strides({sizes, order.size()}, dense);
  for (size_t d = 0; d < order.size(); ++d) strides[order[d]] = dense[d];
  Tensor memory = empty({sizes, order.size()}, tensor.dtype);
  Tensor result = make_view(*memory, tensor.shape(), {strides, order.size()}, 0, true);
  copy_elements(*result, tensor);
  return result;
}

// What all blocks of lanes share: whole values, and the inputs with their constants reordered.
struct Values {
  Values(Frame& frame, const Step& step) : frame(frame), body(*step.recurrence), length(frame.size(step.count)) {
    const size_t count = body.plan->num_inputs, end = count - body.num_constants;
    for (const Operand& input : step.inputs)
      (inputs.size() < count ? inputs : edges).push_back(frame.value(input.value));
    for (const Operand& output : step.outputs) outputs.push_back(frame.value(output.value));
    for (size_t k = 0; k < body.num_constants && length > kFewElements; ++k)
      if (!body.orders[k].empty())
        inputs[end + k] = ordered.emplace_back(in_order(*inputs[end + k], body.orders[k])).get();
  }

  bool is_carry(size_t input) const { return input < body.num_carries; }
  bool is_sequence(size_t input) const { return !is_carry(input) && input < inputs.size() - body.num_constants; }
  // The dim of a whole value's lanes, or -1.
  int lane_dim(size_t number, bool is_stack) const {
    return body.lanes.empty() || body.lanes[number] < 0 ? -1 : body.lanes[number] + is_stack;
  }
  int64_t lanes() const { return body.lanes.empty() ? 1 : inputs[0]->sizes[lane_dim(0, is_sequence(0))]; }
  int64_t time(int64_t n) const { return body.reverse ? length - 1 - n : n; }

  Frame& frame;
  const RecurrenceBody& body;
  const int64_t length;
  std::vector<TensorImpl*> inputs, edges, outputs;
  std::vector<Tensor> ordered;
};

// One block of lanes, which runs through all elements.
class LaneBlock {
 public:
  LaneBlock(const Values& whole, int64_t begin, int64_t size) : whole_(whole), body_(whole.body) {
    auto edge = whole.edges.begin();
    for (size_t k = 0; k < whole.inputs.size(); ++k) {
      parts_.push_back(part_of(*whole.inputs[k], whole.lane_dim(k, whole.is_sequence(k)), begin, size));
      inputs_.push_back(parts_.back().get());
      if (!whole.is_sequence(k)) continue;
      const int64_t shift = body_.shifts[k - body_.num_carries];
      sequences_.emplace_back(*inputs_[k], shift,
                              shift ? part_of(**edge++, whole.lane_dim(k, false), begin, size) : Tensor());
    }
    for (size_t k = 0; k < whole.outputs.size(); ++k) {
      const bool is_stack = body_.stacked[k];
      Tensor part = part_of(*whole.outputs[k], whole.lane_dim(inputs_.size() + k, is_stack), begin, size);
      if (is_stack) targets_.emplace_back(MovingView(*part));
      else targets_.emplace_back(part);
      if (k < body_.num_carries && is_stack) carried_.emplace_back(MovingView(*part));
      else if (k < body_.num_carries) carried_.push_back(targets_.back());
    }
  }

  void run() {
    move_to(0);
    Frame inner(*body_.plan, whole_.frame.call, inputs_);
    if (!inner.bind(whole_.frame, body_.bound))
      raise(ErrorKind::Runtime, "the step of a recurrence has a guard that fails");
    run_element(inner, 0);
    for (int64_t n = 1; n < whole_.length; ++n) {
      move_to(n);
      inner.restart(inputs_);
      const std::optional<PreparedActions> actions = run_element(inner, n);
      if (actions) n = repeat(*actions, n + 1);
    }
  }

 private:
  int64_t left(int64_t n) const { return whole_.length - 1 - n; }
  TensorImpl* place(const Target& target, int64_t n) const { return target.at(whole_.time(n), left(n)); }

  void move_to(int64_t n) {
    for (size_t k = 0; k < sequences_.size(); ++k) inputs_[body_.num_carries + k] = sequences_[k].at(whole_.time(n));
    if (n > 0)
      for (size_t k = 0; k < carried_.size(); ++k) inputs_[k] = place(carried_[k], n - 1);
  }

  // Runs one element; the launches of the second one are recorded if enough elements follow and they can be repeated.
  std::optional<PreparedActions> run_element(Frame& inner, int64_t n) {
    for (size_t k = 0; k < targets_.size(); ++k) inner.offer(body_.plan->outputs[k], *place(targets_[k], n));
    std::optional<PreparedActions> actions;
    if (n == 1 && left(n) > kFewElements) actions = run_and_record(inner);
    else inner.run();
    for (size_t k = 0; k < targets_.size(); ++k) {
      TensorImpl* const target = place(targets_[k], n);
      if (inner.output(k) == target) continue;
      copy_elements(*target, *inner.output(k));
      actions.reset();
    }
    return actions;
  }

  // Repeats the recorded launches for the elements from `first` on, except a last one that reads an edge, whose
  // layout may differ; returns the last one that ran. Temporaries of the step are allocated once.
  int64_t repeat(const PreparedActions& actions, int64_t first) {
    const Plan& plan = *body_.plan;
    std::vector<TensorImpl*> values(plan.values.size());
    std::vector<Tensor> own;
    for (const PreparedAction& action : actions)
      if (action.kind == PreparedAction::Kind::Make && std::ranges::count(plan.outputs, action.value) == 0)
        values[action.value] = own.emplace_back(made_by(action)).get();
    const bool ends_at_edge =
        std::ranges::any_of(sequences_, [&](const Sequence& s) { return s.is_edge(whole_.time(whole_.length - 1)); });
    const int64_t last = whole_.length - 1 - ends_at_edge;
    for (int64_t n = first; n <= last; ++n) {
      move_to(n);
      views_.clear();
      std::ranges::copy(inputs_, values.begin());
      for (size_t k = 0; k < targets_.size(); ++k) values[plan.outputs[k]] = place(targets_[k], n);
      for (const PreparedAction& action : actions) run_action(action, values);
    }
    return last;
  }

  void run_action(const PreparedAction& action, std::vector<TensorImpl*>& values) {
    switch (action.kind) {
      case PreparedAction::Kind::Make: break;
      case PreparedAction::Kind::Fill: fill_elements(*values[action.value], action.element); break;
      case PreparedAction::Kind::View:
        views_.emplace_back(view_by(action, *values[action.source], true));
        values[action.value] = views_.back().get();
        break;
      case PreparedAction::Kind::Launch:
        if (const int64_t status = launch(action, values.data())) [[unlikely]]
          check_status(*body_.plan, whole_.frame.call, *action.step, status);
    }
  }

  const Values& whole_;
  const RecurrenceBody& body_;
  std::vector<Tensor> parts_, views_;
  std::vector<TensorImpl*> inputs_;
  std::vector<Sequence> sequences_;
  std::vector<Target> targets_, carried_;
};

// The number of blocks of lanes that is worthwhile: each block reads all constants again.
int64_t count_blocks(const Values& values) {
  if (values.body.lanes.empty()) return 1;
  int64_t bytes = 0, made = 0;
  for (size_t k = values.inputs.size() - values.body.num_constants; k < values.inputs.size(); ++k)
    bytes += values.inputs[k]->numel * static_cast<int64_t>(item_size(values.inputs[k]->dtype));
  for (const TensorImpl* output : values.outputs) made += output->numel;
  if (bytes > kSharedBytes || made < kParallelGrain) return 1;
  return std::clamp<int64_t>(values.lanes() / kBlockLanes, 1, kMaxBlocks);
}

// Resolving a kernel may call Python, so it must not happen on a thread that others wait for.
void resolve_kernels(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (step.kernel) step.kernel->kernel.get();
    if (step.combine) step.combine->kernel.get();
  }
}

}  // namespace

void run_recurrence_step(Frame& frame, const Step& step) {
  make_outputs(frame, step);
  if (frame.meta || frame.size(step.count) == 0) return;
  const Values values(frame, step);
  const int64_t count = count_blocks(values);
  if (count == 1) return LaneBlock(values, 0, values.lanes()).run();
  resolve_kernels(*step.recurrence->plan);
  const int64_t lanes = values.lanes();
  parallel_blocks(count, [&](int64_t number) {
    const int64_t begin = number * lanes / count, end = (number + 1) * lanes / count;
    LaneBlock(values, begin, end - begin).run();
  });
}

}  // namespace pellucid

#include <algorithm>
#include <vector>

#include "core/call_facts.h"
#include "core/format.h"
#include "core/hooks.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/gather.h"
#include "kernels/host_shadow.h"
#include "kernels/prepared_action.h"

namespace pellucid {
namespace {

// One element of the lists, which the kernel reads without a copy.
struct Task {
  const ElementFunction* function;
  int64_t numel;
  int64_t first_block;
  int num_operands;
  uint8_t arguments[kMaxMapOutputs + kMaxMapInputs];  // of the operands
  char* pointers[kMaxMapOutputs + kMaxMapInputs];
  int64_t steps[kMaxMapOutputs + kMaxMapInputs];  // bytes between elements; 0 for 0-d operands
  uint64_t params[kMaxMapParams];

  int64_t run(int64_t block) const {
    const int64_t first = block * kParallelGrain;
    char* at[kMaxMapOutputs + kMaxMapInputs];
    int64_t strides[2 * (kMaxMapOutputs + kMaxMapInputs)];
    for (int k = 0; k < num_operands; ++k) {
      at[k] = pointers[k] + first * steps[k];
      strides[2 * k] = steps[k];
      strides[2 * k + 1] = 0;
    }
    const int64_t sizes[2] = {std::min(kParallelGrain, numel - first), 1};
    return function->kernel.run(at, sizes, strides, params);
  }
};

double number_in(TensorImpl& tensor, const OpCall& call) {
  if (tensor.numel != 1 || tensor.device.type == DeviceType::Meta)
    raise(ErrorKind::Runtime, "%s: a tensor in place of a number needs one element; got the shape %s",
          call.op->schema.name.c_str(), format_sizes(tensor.shape()).c_str());
  const Tensor readable = on_host(tensor);
  double number;
  convert(DType::Float64, reinterpret_cast<char*>(&number), tensor.dtype, readable->host(),
          Run{{1, 1}, {0, 0}, {0, 0}});
  return number;
}

class ForeachRun {
 public:
  explicit ForeachRun(OpCall& call) : call_(call), data_(pointwise_data(*call.op)) {}
  ~ForeachRun() {
    for (TensorImpl* tensor : results_) Tensor::adopt(tensor);
  }

  void run() {
    check_lengths();
    tasks_.reserve(length_);
    for (uint32_t element = 0; element < length_; ++element) add_element(element);
    run_tasks();
    return_lists();
  }

  // Its tasks, if they are all there is of the call and need nothing but other pointers and numbers to do another.
  std::vector<Task> repeatable_tasks() && {
    const bool is_all = call_.op->variant == Variant::InPlace && tasks_.size() == length_ && results_.empty();
    return is_all ? std::move(tasks_) : std::vector<Task>{};
  }

  // A call with the facts of the one that had these tasks. False: not by them, and nothing was done.
  bool run_again(const std::vector<Task>& known) {
    length_ = static_cast<uint32_t>(known.size());
    tasks_ = known;
    for (uint32_t element = 0; element < length_; ++element)
      if (!give_operands(tasks_[element], element)) return false;
    for (uint32_t element = 0; element < length_; ++element) {
      const Task& task = tasks_[element];
      for (int k = 0; k < task.function->num_outputs; ++k) operand(task.arguments[k], element).bump_version();
      num_blocks_ += (task.numel + kParallelGrain - 1) / kParallelGrain;
      total_ += task.numel;
    }
    run_tasks();
    return true;
  }

  bool has_numbers_in_tensors() const {
    for (int i = 0; i < data_.num_arguments; ++i)
      if (data_.roles[i] == PointwiseData::Role::Number && is_list(call_.args[i]) && call_.args[i].length) return true;
    return false;
  }

  static bool is_list(const Value& value) {
    return value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList;
  }

 private:
  TensorImpl& operand(int argument, uint32_t element) const {
    const Value& value = call_.args[argument];
    return is_list(value) ? *value.tensors[element] : *value.tensor;
  }

  bool give_operands(Task& task, uint32_t element) const {
    const int num_outputs = task.function->num_outputs;
    for (int k = 0; k < task.num_operands; ++k) {
      TensorImpl& tensor = operand(task.arguments[k], element);
      if (k < num_outputs) before_write(*tensor.storage);
      for (int result = 0; k >= num_outputs && result < num_outputs; ++result) {
        const TensorImpl& written = operand(task.arguments[result], element);
        if (&written != &tensor && written.storage == tensor.storage) return false;
      }
      task.pointers[k] = tensor.host();
    }
    if (!has_numbers_in_tensors()) return true;
    Value args[kMaxPointwiseArguments];
    element_arguments(element, args);
    const OpCall one{call_.op, args, nullptr, call_.num_args, call_.keys};
    for (int k = 0; k < task.function->num_params; ++k) task.params[k] = parameter_bits(one, task.function->params[k]);
    return true;
  }

  // Lists are zipped element by element; an empty list means that the argument is not given. Tracing refuses that
  // for lists that the op requires (`optional_lists` of declarations).
  void check_lengths() {
    for (int i = 0; i < data_.num_arguments; ++i)
      if (is_list(call_.args[i])) length_ = std::max(length_, call_.args[i].length);
    for (int i = 0; i < data_.num_arguments; ++i) {
      const Value& value = call_.args[i];
      const bool counts = is_list(value) || value.tag == Tag::ScalarList;
      if (counts && value.length != length_ && value.length != 0)
        raise(ErrorKind::Runtime, "%s: the lists must have one length, but '%s' has %u elements and another has %u",
              call_.op->schema.name.c_str(), call_.op->schema.arguments[static_cast<size_t>(i)].name.c_str(),
              value.length, length_);
    }
  }

  Value list_element(int argument, TensorImpl* tensor) const {
    const bool is_number = tensor && data_.roles[argument] == PointwiseData::Role::Number;
    return is_number ? Value::of_float(number_in(*tensor, call_)) : Value::of(tensor);
  }

  void element_arguments(uint32_t element, Value* out) const {
    for (int i = 0; i < data_.num_arguments; ++i) {
      const Value& value = call_.args[i];
      if (is_list(value)) out[i] = value.length ? list_element(i, value.tensors[element]) : Value();
      else if (value.tag == Tag::ScalarList) out[i] = value.length ? value.values[element] : Value();
      else out[i] = value;
    }
  }

  void add_element(uint32_t element) {
    Value args[kMaxPointwiseArguments], rets[kMaxReturns];
    element_arguments(element, args);
    OpCall one{call_.op, args, rets, call_.num_args, call_.keys};
    const Gathered gathered = Gatherer(one, data_).gather();
    const ElementFunction& function = data_.function_for(one, gathered.key);
    const bool in_place = call_.op->variant == Variant::InPlace;
    if (in_place && add_task(one, gathered, function)) return;
    run_general(one, data_, function);
    for (size_t k = 0; k < call_.op->schema.returns.size(); ++k) {
      if (in_place) Tensor::adopt(rets[k].tensor);
      else results_.push_back(rets[k].tensor);
    }
  }

  // False if this element needs the general path.
  bool add_task(const OpCall& one, const Gathered& gathered, const ElementFunction& function) {
    const TensorImpl* shaped = gathered.shaped;
    if (!gathered.regular || !shaped) return false;
    if (shaped->device.type != DeviceType::CPU || !function.is_plain) return false;
    Task task;
    task.function = &function;
    function.kernel.get();  // resolving may call Python: not from a thread that others wait for
    task.numel = shaped->numel;
    task.first_block = num_blocks_;
    task.num_operands = function.num_outputs + function.num_inputs;
    for (int k = 0; k < task.num_operands; ++k) {
      const bool output = k < function.num_outputs;
      const int argument =
          output ? data_.result_argument(one.args, k) : function.inputs[k - function.num_outputs].argument;
      const DType dtype = output ? function.outputs[k] : function.inputs[k - function.num_outputs].dtype;
      if (!one.args[argument].is_tensor()) return false;
      task.arguments[k] = static_cast<uint8_t>(argument);
      TensorImpl& tensor = *one.args[argument].tensor;
      if (output) before_write(*tensor.storage);
      const bool is_broadcast = shaped->ndim != 0 && gathered.broadcast_numbers >> argument & 1;
      if (tensor.dtype != dtype || (output && is_broadcast) || (!output && shares_a_result(one, function, tensor)))
        return false;
      task.pointers[k] = tensor.host();
      task.steps[k] = is_broadcast ? 0 : static_cast<int64_t>(item_size(dtype));
    }
    for (int k = 0; k < function.num_params; ++k) task.params[k] = parameter_bits(one, function.params[k]);
    for (int k = 0; k < function.num_outputs; ++k) one.args[data_.result_argument(one.args, k)].tensor->bump_version();
    if (task.numel == 0) return true;
    num_blocks_ += (task.numel + kParallelGrain - 1) / kParallelGrain;
    total_ += task.numel;
    tasks_.push_back(task);
    return true;
  }

  // Whether a result overlaps another tensor's memory: refused, or read from a copy.
  bool shares_a_result(const OpCall& one, const ElementFunction& function, const TensorImpl& input) const {
    for (int k = 0; k < function.num_outputs; ++k) {
      const TensorImpl& result = *one.args[data_.result_argument(one.args, k)].tensor;
      if (&input != &result && input.storage == result.storage) return true;
    }
    return false;
  }

  // Whether one element of the lists writes what another reads or writes: a tensor listed twice.
  bool elements_meet() const {
    struct Range {
      const char* begin;
      const char* end;
      bool is_written;
    };
    std::vector<Range> ranges;
    for (const Task& task : tasks_) {
      char* const* const results_end = task.pointers + task.function->num_outputs;
      for (int k = 0; k < task.num_operands; ++k) {
        const bool is_written = k < task.function->num_outputs;
        if (!is_written && std::find(task.pointers, results_end, task.pointers[k]) != results_end) continue;
        const char* const begin = task.pointers[k];
        ranges.push_back({begin, begin + std::max<int64_t>(1, task.numel * task.steps[k]), is_written});
      }
    }
    std::ranges::sort(ranges, {}, &Range::begin);
    const char *written_end = nullptr, *any_end = nullptr;
    for (const Range& range : ranges) {
      if (range.begin < written_end || (range.is_written && range.begin < any_end)) return true;
      any_end = std::max(any_end, range.end);
      if (range.is_written) written_end = std::max(written_end, range.end);
    }
    return false;
  }

  int64_t run_in_turn() const {
    for (const Task& task : tasks_) {
      const int64_t blocks = (task.numel + kParallelGrain - 1) / kParallelGrain;
      if (const int64_t status = parallel_blocks(blocks, [&](int64_t block) { return task.run(block); })) return status;
    }
    return 0;
  }

  int64_t run_block(int64_t block) const {
    const auto after = std::upper_bound(tasks_.begin(), tasks_.end(), block,
                                        [](int64_t wanted, const Task& task) { return wanted < task.first_block; });
    const Task& task = *std::prev(after);
    return task.run(block - task.first_block);
  }

  void run_tasks() {
    int64_t status = 0;
    if (total_ < kParallelGrain) {
      for (const Task& task : tasks_)
        if (!status) status = task.run(0);
    } else if (elements_meet()) {
      status = run_in_turn();
    } else {
      status = parallel_blocks(num_blocks_, [this](int64_t block) { return run_block(block); });
    }
    if (status) raise_status(*call_.op, status, {});
  }

  // Result r of the op is the list of result r of every element.
  void return_lists() {
    const size_t num_returns = call_.op->schema.returns.size();
    if (call_.op->variant == Variant::InPlace || num_returns == 0) return;
    for (size_t r = 0; r < num_returns; ++r) {
      auto* list = new TensorImpl*[length_];
      for (size_t element = 0; element < length_; ++element) list[element] = results_[element * num_returns + r];
      call_.rets[r] = Value::of(std::span<TensorImpl* const>(list, length_));
    }
    results_.clear();
  }

  OpCall& call_;
  PointwiseData& data_;
  uint32_t length_ = 0;
  std::vector<Task> tasks_;
  std::vector<TensorImpl*> results_;  // owned until they are returned
  int64_t num_blocks_ = 0, total_ = 0;
};

// A call in place, as optimizers repeat them.
struct PreparedForeach final : Prepared {
  PreparedForeach(const OpCall& call, std::vector<Task> made, bool are_fixed)
      : tasks(std::move(made)), params_are_fixed(are_fixed) {
    for (int k = 0; k < call.num_args; ++k) {
      first_tensors.push_back(num_tensors);
      is_list.push_back(ForeachRun::is_list(call.args[k]));
      num_tensors += is_list.back() ? call.args[k].length : call.args[k].is_tensor();
    }
  }
  bool run(OpCall& call, std::span<TensorImpl* const>) const override { return ForeachRun(call).run_again(tasks); }

  // One launch per element, if one thread runs all of them. `count` is smaller if a list lacks tensors.
  bool list(size_t count, PreparedList& into) const override {
    if (num_tensors >= kNullPointer) return false;
    int64_t total = 0;
    for (const Task& task : tasks) total += task.numel;
    if (total >= kParallelGrain || !params_are_fixed || count != num_tensors) return false;
    for (size_t element = 0; element < tasks.size(); ++element) {
      const Task& task = tasks[element];
      PreparedAction launch{.kind = PreparedAction::Kind::Launch, .kernel = &task.function->kernel};
      for (int k = 0; k < task.num_operands; ++k) {
        const uint8_t argument = task.arguments[k];
        const auto tensor = static_cast<uint16_t>(first_tensors[argument] + (is_list[argument] ? element : 0));
        launch.pointers.push_back({tensor, 0});
        launch.strides.insert(launch.strides.end(), {task.steps[k], 0});
        if (k < task.function->num_outputs) into.written.push_back(tensor);
      }
      launch.sizes = {task.numel, 1};
      launch.params.assign(task.params, task.params + task.function->num_params);
      into.actions.push_back(std::move(launch));
    }
    return true;
  }
  void fail(const OpRecord& op, const PreparedAction&, int64_t status) const override { raise_status(op, status, {}); }

  const std::vector<Task> tasks;  // one per element of the lists
  const bool params_are_fixed;    // no number is read from a tensor
  size_t num_tensors = 0;
  std::vector<size_t> first_tensors;  // per argument
  std::vector<bool> is_list;          // per argument
};

}  // namespace

void handle_foreach(OpCall& call, void*) {
  ForeachRun run(call);
  run.run();
  PreparationRequest* request = preparation_request_of(call);
  if (!request) return;
  const bool are_fixed = !run.has_numbers_in_tensors();
  std::vector<Task> tasks = std::move(run).repeatable_tasks();
  if (!tasks.empty()) request->made = std::make_unique<PreparedForeach>(call, std::move(tasks), are_fixed);
}

}  // namespace pellucid

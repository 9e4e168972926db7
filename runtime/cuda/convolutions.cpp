#include "cuda/convolutions.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/call_op.h"
#include "core/device_pool.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/named_ops.h"
#include "core/owned_results.h"
#include "core/thread_state.h"
#include "cuda/convolution_ops.h"
#include "cuda/cuda_device.h"
#include "cuda/library.h"
#include "kernels/copy.h"
#include "ops/graph_op.h"

namespace pellucid::cuda {
namespace {

constexpr uint64_t kAlignment = 16;  // bytes: of what every algorithm reads

bool is_taken(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Float16 || dtype == DType::BFloat16;
}

// The strides of a dense tensor, with the channels innermost or in row-major order.
std::vector<int64_t> dense_strides(std::span<const int64_t> sizes, bool channels_last) {
  std::vector<int64_t> strides(sizes.size());
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  int64_t step = 1;
  for (size_t k = order.size(); k--; step *= sizes[order[k]]) strides[order[k]] = step;
  return strides;
}

bool has_strides(const TensorImpl& tensor, std::span<const int64_t> strides) {
  for (size_t d = 0; d < strides.size(); ++d)
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  return true;
}

bool is_channels_last(const TensorImpl& tensor) {
  return tensor.ndim > 3 && !tensor.is_contiguous() && has_strides(tensor, dense_strides(tensor.shape(), true));
}

// The tensor itself, or a copy with these strides at an address that the library can read.
Tensor dense(TensorImpl& tensor, std::span<const int64_t> strides) {
  if (has_strides(tensor, strides) && tensor.address() % kAlignment == 0) return Tensor::share(&tensor);
  Tensor copy = empty_strided(tensor.shape(), strides, tensor.dtype, tensor.device);
  copy_elements(*copy, tensor);
  return copy;
}

// Sizes for the library, which has no convolutions over one dim: those are over rows of height 1.
bool put_sizes(std::span<const int64_t> given, int* sizes) {
  int64_t product = 1;
  size_t next = 0;
  for (size_t d = 0; d < given.size(); ++d) {
    if (d == 2 && given.size() == 3) sizes[next++] = 1;
    if (given[d] <= 0 || given[d] > INT_MAX || (product *= given[d]) > INT_MAX) return false;
    sizes[next++] = static_cast<int>(given[d]);
  }
  return true;
}

// Adds a bias of as many numbers as the tensor has channels.
void add_by_kernel(TensorImpl& tensor, TensorImpl& bias) {
  std::vector<int64_t> sizes(static_cast<size_t>(tensor.ndim), 1), strides(sizes.size(), 1);
  sizes[1] = tensor.sizes[1];
  const Tensor each = make_view(bias, sizes, strides, bias.offset, true);
  const ExcludeKeys below(KeySet::from_bits(~uint64_t{0}) - kBackends);
  call_op(NamedOp::AddInPlace, {Value::of(&tensor), Value::of(each.get())});
}

int64_t at(std::span<const int64_t> list, size_t d) { return list.size() == 1 ? list[0] : list[d]; }

}  // namespace

struct Convolutions::Read {
  const ConvolutionForm& form;
  OpCall& call;
  TensorImpl &input, &weight;
  bool transposed;
  size_t spatial;
  int64_t groups;

  Read(const ConvolutionForm& form, OpCall& call)
      : form(form), call(call), input(*call.args[form.input].tensor), weight(*call.args[form.weight].tensor),
        transposed(form.transposed < 0 ? form.is_transposed : call.args[form.transposed].integer != 0),
        spatial(static_cast<size_t>(std::max(weight.ndim - 2, 0))), groups(call.args[form.groups].integer) {}

  std::span<const int64_t> list(int argument) const { return call.args[argument].ints(); }
  TensorImpl* bias() const {
    return form.bias < 0 || !call.args[form.bias].is_tensor() ? nullptr : call.args[form.bias].tensor;
  }
  TensorImpl* gradient() const { return form.is_gradient ? call.args[0].tensor : nullptr; }

  // The tensors that the op was given are of the dtype, device and rank of a convolution.
  bool is_regular() const {
    const auto fits = [&](const TensorImpl* tensor, int rank) {
      return !tensor || (tensor->dtype == input.dtype && tensor->device == input.device && tensor->ndim == rank);
    };
    const auto has_lengths = [&](int argument) {
      return argument < 0 || list(argument).size() == 1 || list(argument).size() == spatial;
    };
    return is_taken(input.dtype) && spatial >= 1 && spatial <= ConvolutionFacts::kMaxSpatial &&
           fits(&input, weight.ndim) && fits(&weight, weight.ndim) && fits(gradient(), weight.ndim) &&
           fits(bias(), 1) && has_lengths(form.stride) && has_lengths(form.padding) && has_lengths(form.dilation) &&
           has_lengths(form.output_padding) && groups > 0;
  }

  // The sizes of what the forward op gives; some are not positive where it would raise.
  std::vector<int64_t> output_sizes() const {
    std::vector<int64_t> sizes{input.sizes[0], transposed ? weight.sizes[1] * groups : weight.sizes[0]};
    for (size_t d = 0; d < spatial; ++d) {
      const int64_t step = at(list(form.stride), d), border = 2 * at(list(form.padding), d);
      const int64_t reach = at(list(form.dilation), d) * (weight.sizes[2 + d] - 1), size = input.sizes[2 + d];
      if (step < 1) return {0};
      if (transposed) sizes.push_back((size - 1) * step - border + reach + at(list(form.output_padding), d) + 1);
      else sizes.push_back(size + border <= reach ? 0 : (size + border - reach - 1) / step + 1);
    }
    return sizes;
  }
};

struct Convolutions::Work {
  ConvolutionFacts facts;
  Tensor image, filter, result, bias;

  Tensor& computed() {
    return facts.computed == Computed::Result ? result : facts.computed == Computed::Image ? image : filter;
  }

  // nullopt: the library has no such convolution.
  static std::optional<Work> of(const Read& given, Computed computed) {
    const std::vector<int64_t> output = given.output_sizes();
    if (given.gradient() && !std::ranges::equal(given.gradient()->shape(), output)) return std::nullopt;
    if (given.bias() && (output.size() < 2 || given.bias()->numel != output[1])) return std::nullopt;
    const std::span<const int64_t> input = given.input.shape(), weight = given.weight.shape();
    const auto image_sizes = given.transposed ? std::span<const int64_t>(output) : input;
    const auto result_sizes = given.transposed ? input : std::span<const int64_t>(output);
    Work work;
    ConvolutionFacts& facts = work.facts;
    facts.computed = computed;
    facts.dtype = given.input.dtype;
    facts.allows_tf32 = cudnn_settings.allows_tf32.load(std::memory_order_relaxed);
    facts.spatial = std::max(static_cast<int>(given.spatial), 2);
    if (output.size() < 3 || !put_sizes(image_sizes, facts.image) || !put_sizes(weight, facts.filter) ||
        !put_sizes(result_sizes, facts.result) || !work.place_windows(given))
      return std::nullopt;
    work.place(given, output);
    return work;
  }

  ProblemKey key(bool is_deterministic, bool is_timed) const {
    ProblemKey key;
    for (const int number : {static_cast<int>(facts.computed), static_cast<int>(facts.dtype), int{facts.channels_last},
                             int{facts.allows_tf32}, facts.spatial, facts.groups, int{is_deterministic}, int{is_timed}})
      key.add(number);
    const auto add_all = [&](const auto& numbers) {
      for (const int number : numbers) key.add(number);
    };
    add_all(facts.image), add_all(facts.filter), add_all(facts.result);
    add_all(facts.padding), add_all(facts.stride), add_all(facts.dilation);
    return key;
  }

 private:
  // The borders and steps; false: the sizes are not those of a convolution with the same border at both ends.
  bool place_windows(const Read& given) {
    const int64_t groups = facts.groups = static_cast<int>(std::min<int64_t>(given.groups, INT_MAX));
    if (facts.image[1] != facts.filter[1] * groups || facts.result[1] != facts.filter[0]) return false;
    if (facts.filter[0] % groups || facts.image[0] != facts.result[0]) return false;
    const int first = facts.spatial - static_cast<int>(given.spatial);  // 1: over rows of height 1
    for (int d = 0; d < facts.spatial; ++d) {
      const bool is_given = d >= first;
      const auto number = [&](int argument, int otherwise) {
        return is_given ? at(given.list(argument), static_cast<size_t>(d - first)) : otherwise;
      };
      const int64_t border = number(given.form.padding, 0), step = number(given.form.stride, 1);
      const int64_t spread = number(given.form.dilation, 1);
      if (border < 0 || step < 1 || spread < 1 || std::max({border, step, spread}) > SHRT_MAX) return false;
      const int64_t span = facts.image[2 + d] + 2 * border - spread * (facts.filter[2 + d] - 1) - 1;
      if (span < 0 || span / step + 1 != facts.result[2 + d]) return false;
      facts.padding[d] = static_cast<int>(border);
      facts.stride[d] = static_cast<int>(step);
      facts.dilation[d] = static_cast<int>(spread);
    }
    return true;
  }

  // The tensors, in the memory order of those that are given.
  void place(const Read& given, std::span<const int64_t> output) {
    TensorImpl* const gradient = given.gradient();
    facts.channels_last = is_channels_last(given.input) || is_channels_last(given.weight);
    const auto put = [&](TensorImpl& tensor) {
      return dense(tensor, dense_strides(tensor.shape(), facts.channels_last));
    };
    const auto make = [&](std::span<const int64_t> sizes) {
      return empty_strided(sizes, dense_strides(sizes, facts.channels_last), facts.dtype, given.input.device);
    };
    const bool makes_input = facts.computed == (given.transposed ? Computed::Result : Computed::Image);
    const bool makes_output = !gradient;
    Tensor& in = given.transposed ? result : image;
    Tensor& out = given.transposed ? image : result;
    in = gradient && makes_input ? make(given.input.shape()) : put(given.input);
    out = makes_output ? make(output) : put(*gradient);
    filter = facts.computed == Computed::Filter ? make(given.weight.shape()) : put(given.weight);
    if (TensorImpl* const added = given.bias()) bias = row_major(*added);
  }
};

bool Convolutions::run(OpCall& call) {
  const Read given(*form_of(*call.op), call);
  if (!given.is_regular()) return false;
  return given.form.is_gradient ? run_gradients(call, given) : run_forward(call, given);
}

bool Convolutions::run_forward(OpCall& call, const Read& given) {
  const auto own = [&] {
    Value rets[1];
    OpCall copy{call.op, call.args, rets, call.num_args, call.keys};
    run_graph_op_on(copy, device_);
    OwnedResults(copy).take_each([](Tensor) {});
  };
  Tensor found = compute(given, given.transposed ? Computed::Image : Computed::Result, own);
  if (!found) return false;
  call.rets[0] = Value::of(found.leak());
  return true;
}

bool Convolutions::run_gradients(OpCall& call, const Read& given) {
  const int last = call.num_args - 1;
  const std::span<const int64_t> wanted = call.args[last].ints();
  Tensor found[kGradients];
  const auto by_plan = [&](std::span<const int64_t> mask, auto&& take) {
    Value args[kMaxArguments], rets[kGradients];
    std::copy_n(call.args, call.num_args, args);
    args[last].integers = mask.data();
    OpCall copy{call.op, args, rets, call.num_args, call.keys};
    const KernelEntry body = catch_all_of(*call.op);  // it derives the op of the gradients, which has a plan
    body.function(copy, body.context);
    int number = 0;
    OwnedResults(copy).take_each([&](Tensor gradient) { take(number++, std::move(gradient)); });
  };
  int64_t left[] = {wanted[kImage], wanted[kFilter], wanted[kBias]};
  for (const int part : {kImage, kFilter}) {
    if (!left[part]) continue;
    const int64_t alone[] = {part == kImage, part == kFilter, 0};
    const Computed of_image = given.transposed ? Computed::Result : Computed::Image;
    found[part] =
        compute(given, part == kImage ? of_image : Computed::Filter, [&] { by_plan(alone, [](int, Tensor) {}); });
    if (found[part]) left[part] = 0;
  }
  if (!found[kImage] && !found[kFilter]) return false;
  if (left[kImage] || left[kFilter] || left[kBias])
    by_plan(left, [&](int number, Tensor gradient) {
      if (left[number]) found[number] = std::move(gradient);
    });
  for (int part = 0; part < kGradients; ++part) call.rets[part] = found[part] ? Value::of(found[part].leak()) : Value();
  return true;
}

// Null: the library does not take it.
Tensor Convolutions::compute(const Read& given, Computed computed, const Own& own) {
  std::optional<Work> work = Work::of(given, computed);
  if (!work) return {};
  const std::shared_ptr<const Algorithms> algorithms = algorithms_for(*work, own);
  for (const ConvolutionAlgorithm& algorithm : *algorithms)
    if (attempt(*work, algorithm) == Attempt::Done) return std::move(work->computed());
  return {};
}

std::shared_ptr<const Convolutions::Algorithms> Convolutions::algorithms_for(Work& work, const Own& own) {
  const bool is_deterministic = cudnn_settings.is_deterministic.load(std::memory_order_relaxed) ||
                                must_be_deterministic.load(std::memory_order_relaxed);
  // A capture runs nothing that could be timed.
  const bool is_timed = cudnn_settings.times_candidates.load(std::memory_order_relaxed) &&
                        !gpus_.pool->capture_of(device_, current_stream(device_));
  const auto problem = problems_.add(work.key(is_deterministic, is_timed));
  if (auto known = problem->load()) return known;
  auto candidates = std::make_shared<Algorithms>(cudnn_.algorithms(work.facts));
  std::erase_if(*candidates, [&](const auto& one) { return is_deterministic && !one.is_deterministic; });
  if (!is_timed || keep_fastest(*candidates, work, own)) problem->store(candidates);
  return candidates;
}

// Those that are faster than the plan, the fastest first. False: there was no memory to time some of them.
bool Convolutions::keep_fastest(Algorithms& candidates, Work& work, const Own& own) {
  const auto most = static_cast<size_t>(cudnn_settings.most_candidates.load(std::memory_order_relaxed));
  if (most && candidates.size() > most) candidates.resize(most);
  bool is_complete = true;
  std::vector<std::pair<double, ConvolutionAlgorithm>> timed;
  for (const ConvolutionAlgorithm& one : candidates) {
    try {
      const Attempt first = attempt(work, one);
      is_complete &= first != Attempt::NoMemory;
      if (first == Attempt::Done) timed.emplace_back(milliseconds([&] { attempt(work, one); }), one);
    } catch (const ConvolutionError&) {}  // not a candidate
  }
  double limit = std::numeric_limits<double>::infinity();
  try {
    own();
    limit = milliseconds(own);
  } catch (const DeviceMemoryError&) { is_complete = false; }
  std::ranges::stable_sort(timed, {}, [](const auto& one) { return one.first; });
  candidates.clear();
  for (const auto& [time, one] : timed)
    if (time <= limit) candidates.push_back(one);
  return is_complete;
}

Convolutions::Attempt Convolutions::attempt(Work& work, const ConvolutionAlgorithm& algorithm) {
  Tensor workspace;
  const auto nbytes = static_cast<int64_t>(algorithm.workspace);
  try {
    if (nbytes) workspace = empty({&nbytes, 1}, DType::UInt8, device_);
  } catch (const DeviceMemoryError&) { return Attempt::NoMemory; }
  const Handle stream = stream_handle(device_.index, current_stream(device_));
  const ConvolutionTensors tensors{work.image->address(), work.filter->address(), work.result->address()};
  if (!cudnn_.run(work.facts, algorithm, tensors, workspace ? workspace->address() : 0, stream))
    return Attempt::NotSupported;
  Tensor& computed = work.computed();
  if (work.bias && !cudnn_.add_bias(work.facts, work.bias->address(), computed->address(), stream))
    add_by_kernel(*computed, *work.bias);
  return Attempt::Done;
}

// The time that the GPU takes for what `run` queues on the current stream.
double Convolutions::milliseconds(const Own& run) {
  struct Event {
    Backend& gpus;
    const Device device;
    const uint64_t number = gpus.record_timed(device, current_stream(device));
    ~Event() { gpus.drop_event(device, number); }
  };
  const Event first{gpus_, device_};
  run();
  const Event last{gpus_, device_};
  gpus_.finish(device_, last.number);
  return gpus_.elapsed(device_, first.number, last.number);
}

}  // namespace pellucid::cuda

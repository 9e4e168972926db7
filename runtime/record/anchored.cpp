#include "record/anchored.h"

#include <random>

#include "core/allocator.h"
#include "core/error.h"
#include "core/hooks.h"
#include "kernels/nest.h"
#include "ops/op_table.h"
#include "plan/decode.h"
#include "record/anchors.h"
#include "record/run.h"

namespace pellucid::record {

namespace {

std::span<const int64_t> sizes_of(const Segment& segment, const Operand& operand) {
  if (operand.is_value) return segment.spaces[segment.values[operand.number].space].shape();
  const Input& input = segment.inputs[operand.number];
  return {input.sizes, static_cast<size_t>(input.ndim)};
}

const int64_t* strides_of(const Segment& segment, const Operand& operand) {
  return operand.is_value ? segment.values[operand.number].strides : segment.inputs[operand.number].strides;
}

// The number of elements from the first to the last in memory.
int64_t extent_of(std::span<const int64_t> sizes, const int64_t* strides) {
  int64_t extent = 1;
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] == 0) return 0;
    extent += (sizes[k] - 1) * strides[k];
  }
  return extent;
}

const Node& anchor_of(const Segment& segment, const Group& group) {
  return segment.nodes[static_cast<size_t>(group.anchor)];
}

class Excerpt {
 public:
  Excerpt(const Segment& from, const Group& group) : from_(from), group_(group), numbers_(from, group) {}

  std::unique_ptr<Example> made() {
    Segment& to = example_->segment;
    to.spaces = from_.spaces;
    for (const Group::In& in : group_.inputs) add_input(in);
    for (const uint16_t n : group_.nodes) add_node(n);
    for (const uint16_t value : group_.outputs)
      example_->group.outputs.push_back(static_cast<uint16_t>(numbers_.of_value(value)));
    example_->group.space = group_.space;
    return std::move(example_);
  }

 private:
  // An operand that is read in two dtypes is one input.
  void add_input(const Group::In& in) {
    const auto same = std::ranges::find(group_.inputs, in.operand, &Group::In::operand);
    const auto number = static_cast<uint16_t>(same - group_.inputs.begin());
    example_->group.inputs.push_back({{false, number}, in.dtype});
    const std::span<const int64_t> sizes = sizes_of(from_, in.operand);
    Input& input = example_->segment.inputs.emplace_back();
    input.offset = 0;
    input.dtype = from_.dtype_of(in.operand);
    input.ndim = static_cast<int>(sizes.size());
    std::ranges::copy(sizes, input.sizes);
    std::copy_n(strides_of(from_, in.operand), sizes.size(), input.strides);
  }

  void add_node(uint16_t number) {
    Segment& to = example_->segment;
    if (number == group_.anchor) example_->group.anchor = static_cast<int>(to.nodes.size());
    const Node& given = from_.nodes[number];
    Node node = given;
    node.first_operand = static_cast<uint16_t>(to.operands.size());
    node.first_value = static_cast<uint16_t>(to.values.size());
    for (size_t k = 0; k < given.num_operands; ++k) {
      const uint64_t at = numbers_.of(from_.operands_of(given)[k], from_.dtype_read(given, k));
      if (at >= kFirstValue) to.operands.push_back({true, static_cast<uint16_t>(at - kFirstValue)});
      else to.operands.push_back(example_->group.inputs[at].operand);
    }
    if (given.anchor) {
      OpCall call{given.op,
                  const_cast<pellucid::Value*>(from_.arguments.data()) + given.first_param,
                  nullptr,
                  static_cast<uint8_t>(given.op->schema.arguments.size()),
                  {}};
      node.first_param = static_cast<uint16_t>(keep_arguments(to, call));
    } else {
      const auto params = from_.params.begin() + given.first_param;
      node.first_param = static_cast<uint16_t>(to.params.size());
      to.params.insert(to.params.end(), params, params + given.function->num_params);
    }
    example_->group.nodes.push_back(static_cast<uint16_t>(to.nodes.size()));
    to.nodes.push_back(node);
    for (size_t k = 0; k < given.num_values; ++k) {
      const Value& like = from_.values[given.first_value + k];
      Value& value = to.values.emplace_back();
      value.recorder = nullptr;
      value.number = static_cast<uint16_t>(to.values.size() - 1);
      value.node = example_->group.nodes.back();
      value.space = like.space;
      value.dtype = like.dtype;
      std::ranges::copy(like.strides, value.strides);
    }
  }

  const Segment& from_;
  const Group& group_;
  const Numbers numbers_;
  std::unique_ptr<Example> example_ = std::make_unique<Example>();
};

}  // namespace

std::unique_ptr<Example> excerpt(const Segment& segment, const Group& group) { return Excerpt(segment, group).made(); }

void add_classes(const Segment& segment, const Group& group, std::vector<uint64_t>& key) {
  for (const Group::In& in : group.inputs) {
    const std::span<const int64_t> sizes = sizes_of(segment, in.operand);
    const int64_t* strides = strides_of(segment, in.operand);
    uint64_t word = static_cast<uint64_t>(segment.dtype_of(in.operand)) << 32 | sizes.size();
    int64_t dense = 1;
    for (size_t k = sizes.size(); k-- > 0;) {
      const uint64_t kind = sizes[k] == 1 ? 0 : strides[k] == 0 ? 1 : strides[k] == dense ? 2 : strides[k] == 1 ? 3 : 4;
      word = word << 3 ^ word >> 61 ^ kind << 40;
      dense *= sizes[k];
    }
    key.push_back(word);
  }
}

bool is_comparable(const Segment& segment, const Group& group) {
  constexpr int64_t kMost = int64_t{1} << 27;
  int64_t bytes = 0;
  for (const Group::In& in : group.inputs)
    bytes += extent_of(sizes_of(segment, in.operand), strides_of(segment, in.operand)) *
             static_cast<int64_t>(item_size(segment.dtype_of(in.operand)));
  return bytes <= kMost;
}

// -------------------------------------------------------------------------------- descriptions for Python

namespace {

encoded::MemberOperand described(const Example& example, const Node& node, size_t k) {
  const Numbers numbers(example.segment, example.group);
  const Operand& operand = example.segment.operands_of(node)[k];
  const uint64_t place =
      operand.is_value ? kFirstValue + operand.number : numbers.of(operand, example.segment.dtype_read(node, k));
  return {node.anchor ? static_cast<int32_t>(node.anchor->tensors[k]) : node.function->inputs[k].argument,
          static_cast<int64_t>(place)};
}

}  // namespace

std::string describe_anchored(const Example& example,
                              const std::function<const std::string&(const ElementFunction*)>& request_of) {
  const Segment& segment = example.segment;
  encoded::GroupDescription made;
  NumberClass number = 0;
  for (const Node& node : segment.nodes) {
    const std::string& request = node.anchor ? node.anchor->request : request_of(node.function);
    encoded::Member& member = made.members.emplace_back(encoded::Member{.request = request});
    for (size_t k = 0; k < segment.operands_of(node).size(); ++k)
      member.operands.push_back(described(example, node, k));
    if (node.anchor) continue;
    member.numbers.emplace();
    for (size_t k = 0; k < node.function->num_params; ++k)
      member.numbers->push_back(described(node.function->params[k], number++));
  }
  made.outputs.assign(example.group.outputs.begin(), example.group.outputs.end());
  made.inputs.emplace();
  for (const Input& input : segment.inputs)
    made.inputs->push_back({input.dtype, {input.sizes, input.sizes + input.ndim}});
  return encoded_record(made);
}

// --------------------------------------------------------------------------------------------- running

void run_anchored(Segment& segment, const Group& group, const OpRecord& op) {
  std::vector<Tensor> tensors;
  std::vector<pellucid::Value> arguments, numbers;
  for (const Group::In& in : group.inputs) {
    tensors.push_back(segment.tensor_of(in.operand));
    arguments.push_back(pellucid::Value::of(tensors.back().get()));
  }
  for (const uint16_t n : group.nodes) {
    const Node& node = segment.nodes[n];
    for (size_t k = 0; node.function && k < node.function->num_params; ++k) {
      const uint64_t bits = segment.params[node.first_param + k];
      const bool is_integer = node.function->params[k].dtype == DType::Int64;
      numbers.push_back(is_integer ? pellucid::Value::of_int(static_cast<int64_t>(bits))
                                   : pellucid::Value::of_float(std::bit_cast<double>(bits)));
    }
  }
  pellucid::Value list;
  list.tag = Tag::ScalarList;
  list.length = static_cast<uint32_t>(numbers.size());
  list.values = numbers.data();
  if (!numbers.empty()) arguments.push_back(list);
  const Node& anchor = anchor_of(segment, group);
  for (size_t k = 0; k < anchor.op->schema.arguments.size(); ++k)
    if (std::ranges::find(anchor.anchor->tensors, k) == anchor.anchor->tensors.end())
      arguments.push_back(segment.arguments[anchor.first_param + k]);
  run_into_values(segment, op, arguments, group.outputs);
}

// ------------------------------------------------------------------------------------------ the comparison

namespace {

Ref<Storage> random_storage(const Input& input, std::mt19937& random) {
  const int64_t extent = extent_of({input.sizes, static_cast<size_t>(input.ndim)}, input.strides);
  const size_t item = item_size(input.dtype);
  Ref<Storage> storage = allocate_storage(static_cast<size_t>(std::max<int64_t>(extent, 0)) * item);
  if (extent > 0)
    fill_randomly({static_cast<char*>(storage->host), static_cast<size_t>(extent) * item}, input.dtype, random);
  return storage;
}

struct Output {
  Ref<Storage> storage;
  DType dtype;

  bool is_same(const Output& other) const {
    return storage->nbytes == other.storage->nbytes &&
           are_same(storage->host, other.storage->host, storage->nbytes, dtype);
  }
};

// Runs the group's ops and the composed op on the same random data, and compares results and times.
class Trial {
 public:
  Trial(const Example& example, const GroupFunction& function) : example_(example) {
    function_.function.store(&function);
  }

  // Why the composed op must not be used; null if it may.
  const char* verdict() {
    for (int round = 0; round < kRounds; ++round) {
      if (!run_both()) return kOtherBits;
    }
    return 100 * composed_ < 97 * estimate_of_parts() ? nullptr : "its kernel is not faster than its ops";
  }

 private:
  static constexpr int kRounds = 4;

  // Uses new data each time: two orders of summation often round to the same number.
  bool run_both() {
    memory_.clear();
    for (const Input& input : example_.segment.inputs) memory_.push_back(random_storage(input, random_));
    const Run expected(*this, nullptr), found(*this, &function_);
    times_.resize(expected.times.size(), INT64_MAX);
    for (size_t n = 0; n < times_.size(); ++n) times_[n] = std::min(times_[n], expected.times[n]);
    composed_ = std::min(composed_, found.times[0]);
    return std::ranges::equal(expected.outputs, found.outputs,
                              [](const Output& a, const Output& b) { return a.is_same(b); });
  }

  // A lower bound: without the anchor, the ops before it would run as one group, at least as slow as the slowest of
  // them, and so would the ops after it.
  int64_t estimate_of_parts() const {
    const auto anchor = times_.begin() + example_.group.anchor;
    const auto longest = [](auto first, auto last) { return first == last ? 0 : *std::max_element(first, last); };
    return longest(times_.begin(), anchor) + *anchor + longest(anchor + 1, times_.end());
  }

  struct Run {
    Run(const Trial& trial, GroupEntry* entry) {
      const std::unique_ptr<Example> copy = excerpt(trial.example_.segment, trial.example_.group);
      Segment& segment = copy->segment;
      for (size_t k = 0; k < trial.memory_.size(); ++k) segment.inputs[k].storage = trial.memory_[k];
      for (Value& value : segment.values) {
        const auto extent = static_cast<size_t>(extent_of(segment.spaces[value.space].shape(), value.strides));
        value.nbytes = extent * item_size(value.dtype);
        storage_to_fill(value);
      }
      SegmentPlan plan;
      plan.live.assign(segment.values.size(), true);
      plan.groups.push_back(copy->group);
      plan.entries.push_back(entry);
      if (entry) run_joined(segment, plan, trial.clock_);
      else times = run_and_time(segment, plan, trial.clock_);
      for (const uint16_t value : copy->group.outputs)
        outputs.push_back({segment.values[value].storage, segment.values[value].dtype});
    }

    void run_joined(Segment& segment, const SegmentPlan& plan, clockid_t clock) {
      Counts counts;
      std::vector<GroupEntry*> wanted;
      const int64_t start = nanoseconds_of(clock);
      run_segment(segment, plan, counts, wanted);
      times.push_back(nanoseconds_of(clock) - start);
    }

    std::vector<int64_t> times;  // of each op, or of all
    std::vector<Output> outputs;
  };

  const Example& example_;
  GroupEntry function_;
  const clockid_t clock_ = working_clock();
  std::mt19937 random_{20};
  std::vector<Ref<Storage>> memory_;
  std::vector<int64_t> times_;
  int64_t composed_ = INT64_MAX;
};

}  // namespace

void publish_anchored(GroupEntry& entry, std::string_view answer) {
  Decoder in({reinterpret_cast<const uint8_t*>(answer.data()), answer.size()});
  in.expect_list(2);
  const std::string schema(in.text());
  const auto origin = in.bytes();
  auto made = std::make_unique<GroupFunction>();
  made->op = derivative_op(schema, OpKind::Fused, 0, {origin.begin(), origin.end()}, ResultLayout::RowMajor, {});
  const char* refusal = nullptr;
  without_interpreter_lock([&] { refusal = Trial(*entry.example, *made).verdict(); });
  if (refusal) return refuse_group(entry.number, refusal);
  entry.function.store(made.release(), std::memory_order_release);  // never freed
}

}  // namespace pellucid::record

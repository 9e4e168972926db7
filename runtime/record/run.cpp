#include "record/run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>

#include "core/allocator.h"
#include "core/inline_storage.h"
#include "core/inline_vector.h"
#include "kernels/gather.h"
#include "kernels/nest.h"
#include "record/anchored.h"
#include "record/anchors.h"
#include "record/groups.h"

namespace pellucid::record {
namespace {

constexpr size_t kMaxOperands = kMaxMapOperands;
constexpr size_t kMaxAnchoredNodes = 64;  // lowering takes time

// Owns the memory for the results of one launch until the values take it: new blocks, or memory written in place.
class ResultBlocks {
 public:
  explicit ResultBlocks(Segment& segment) : segment_(segment) {}
  ~ResultBlocks() {
    for (const Block& block : blocks_)
      if (!block.former) free_block(block.start, class_of(block.value));
  }
  ResultBlocks(const ResultBlocks&) = delete;
  ResultBlocks& operator=(const ResultBlocks&) = delete;

  // `former`: the storage whose memory is reused; null for new memory.
  char* add(uint16_t value, Storage* former) {
    storage_to_fill(segment_.values[value]);
    void* start = former ? former->host : allocate_block(segment_.values[value].nbytes, class_of(value));
    blocks_.push_back({value, start, former});
    return static_cast<char*>(start);
  }
  void give() {
    for (; !blocks_.empty(); blocks_.pop_back()) {
      const Block& block = blocks_.back();
      Storage& storage = *segment_.values[block.value].storage;
      block.former ? static_cast<void>(move_memory(*block.former, storage)) : fill_storage(storage, block.start);
    }
  }

 private:
  int class_of(uint16_t value) const { return size_class(segment_.values[value].nbytes); }

  Segment& segment_;
  struct Block {
    uint16_t value;
    void* start;
    Storage* former;
  };
  InlineVector<Block, kMaxGroupOutputs> blocks_;
};

// Forms the groups of a segment.
class Planner {
 public:
  Planner(const Segment& segment, SegmentPlan& plan)
      : segment_(segment), plan_(plan), needed_(segment.nodes.size()), is_alone_(segment.nodes.size()),
        reach_(segment.nodes.size()) {
    for (size_t n = 0; n < segment.nodes.size(); ++n) is_alone_[n] = segment.nodes[n].is_alone;
  }

  void plan() {
    plan_.nodes = segment_.nodes;
    plan_.operands = segment_.operands;
    plan_.numbers = classes_of(segment_);
    find_needed();
    do form_groups();
    while (leave_refused_alone());
    find_positions();
  }

 private:
  void form_groups() {
    plan_.groups.clear();
    plan_.entries.clear();
    outputs_.clear();
    group_of_.assign(segment_.nodes.size(), -1);
    for (size_t n = 0; n < segment_.nodes.size(); ++n)
      if (needed_[n]) segment_.nodes[n].anchor ? place_anchor(n) : place(n);
    find_outputs();
    for (const Group& group : plan_.groups) {
      const bool fits = group.inputs.size() <= kMaxGroupInputs && group.outputs.size() <= kMaxGroupOutputs;
      plan_.entries.push_back(fits && group.nodes.size() > 1 ? &find_group(segment_, group, plan_.numbers) : nullptr);
    }
  }

  // Marks anchors whose groups cannot run as one op to run alone. Returns whether there are any.
  bool leave_refused_alone() {
    bool found = false;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const Group& group = plan_.groups[g];
      const bool fails =
          group.anchor >= 0 && group.nodes.size() > 1 && (!plan_.entries[g] || plan_.entries[g]->refusal.load());
      if (fails) found = is_alone_[static_cast<size_t>(group.anchor)] = true;
    }
    return found;
  }

  void find_needed() {
    for (size_t n = segment_.nodes.size(); n-- > 0;) {
      const Node& node = segment_.nodes[n];
      reach_[n] = std::max(reach_[n], segment_.spaces[node.space].numel);
      for (const Operand& operand : segment_.operands_of(node))
        if (operand.is_value) {
          int64_t& reach = reach_[segment_.values[operand.number].node];
          reach = std::max(reach, reach_[n]);
        }
      for (int k = 0; k < node.num_values; ++k)
        needed_[n] = needed_[n] || plan_.live[static_cast<size_t>(node.first_value + k)];
      if (!needed_[n]) continue;
      for (const Operand& operand : segment_.operands_of(node)) {
        if (operand.is_value) needed_[segment_.values[operand.number].node] = true;
      }
    }
  }

  // Positions follow the groups: a group may contain later nodes than the next group does.
  void find_positions() {
    plan_.position.assign(segment_.nodes.size(), -1);
    plan_.last_reader.assign(segment_.values.size(), -1);
    plan_.last_input_reader.assign(segment_.inputs.size(), -1);
    int next = 0;
    for (const Group& group : plan_.groups)
      for (const uint16_t n : group.nodes) {
        plan_.position[n] = next++;
        for (const Operand& operand : segment_.operands_of(segment_.nodes[n]))
          (operand.is_value ? plan_.last_reader : plan_.last_input_reader)[operand.number] = plan_.position[n];
      }
  }

  // Adds a node to the last possible group of its space, not before the groups that it reads. Groups run in order.
  void place(size_t n) {
    const Node& node = segment_.nodes[n];
    size_t first = 0, live = 0;
    for (const Operand& operand : segment_.operands_of(node)) {
      if (!operand.is_value) continue;
      const Value& value = segment_.values[operand.number];
      const auto made = static_cast<size_t>(group_of_[value.node]);
      const Group& group = plan_.groups[made];
      const bool may_join = group.anchor >= 0 ? takes(group, n) : value.space == node.space;
      first = std::max(first, may_join ? made : made + 1);
    }
    for (int k = 0; k < node.num_values; ++k) live += plan_.live[static_cast<size_t>(node.first_value + k)];
    size_t chosen = plan_.groups.size();
    for (size_t g = chosen; g-- > first;)
      if (reads(n, g) || (plan_.groups[g].anchor < 0 && plan_.groups[g].space == node.space)) {
        if (outputs_[g] + live <= kMaxGroupOutputs && inputs_with(node, g).size() <= kMaxGroupInputs) chosen = g;
        break;
      }
    add(n, chosen, live);
  }

  void add(size_t n, size_t chosen, size_t live) {
    const Node& node = segment_.nodes[n];
    if (chosen == plan_.groups.size()) {
      plan_.groups.push_back({.space = node.space});
      outputs_.push_back(0);
    }
    plan_.groups[chosen].inputs = inputs_with(node, chosen);
    plan_.groups[chosen].nodes.push_back(static_cast<uint16_t>(n));
    outputs_[chosen] += live;
    group_of_[n] = static_cast<int>(chosen);
  }

  // Adds an anchor to the last group that it reads, if that has no anchor.
  void place_anchor(size_t n) {
    const Node& node = segment_.nodes[n];
    size_t first = 0, live = 0, chosen = plan_.groups.size();
    bool reads_group = false;
    for (const Operand& operand : segment_.operands_of(node)) {
      if (!operand.is_value) continue;
      first = std::max(first, static_cast<size_t>(group_of_[segment_.values[operand.number].node]));
      reads_group = true;
    }
    for (int k = 0; k < node.num_values; ++k) live += plan_.live[static_cast<size_t>(node.first_value + k)];
    const bool joins = reads_group && !is_alone_[n] && plan_.groups[first].anchor < 0 &&
                       outputs_[first] + live <= kMaxGroupOutputs && inputs_with(node, first).size() <= kMaxGroupInputs;
    if (joins) chosen = first;
    add(n, chosen, live);
    plan_.groups[chosen].anchor = static_cast<int>(n);
  }

  // Whether the group's anchor may be grouped with the node. What follows from the anchor's sums alone, such as running
  // statistics, saves no pass over its elements.
  bool takes(const Group& group, size_t n) const {
    return !is_alone_[static_cast<size_t>(group.anchor)] && group.nodes.size() < kMaxAnchoredNodes &&
           reach_[n] >= numel_of_anchor(group);
  }
  int64_t numel_of_anchor(const Group& group) const {
    const Node& anchor = segment_.nodes[static_cast<size_t>(group.anchor)];
    int64_t numel = segment_.spaces[anchor.space].numel;
    for (const Operand& operand : segment_.operands_of(anchor)) numel = std::max(numel, numel_of(operand));
    return numel;
  }
  int64_t numel_of(const Operand& operand) const {
    if (operand.is_value) return segment_.spaces[segment_.values[operand.number].space].numel;
    const Input& input = segment_.inputs[operand.number];
    return std::accumulate(input.sizes, input.sizes + input.ndim, int64_t{1}, std::multiplies<>());
  }

  // Whether the group has an anchor that may be grouped with the node, which reads a value of it.
  bool reads(size_t n, size_t g) const {
    if (plan_.groups[g].anchor < 0 || !takes(plan_.groups[g], n)) return false;
    return std::ranges::any_of(segment_.operands_of(segment_.nodes[n]), [&](const Operand& operand) {
      return operand.is_value && group_of_[segment_.values[operand.number].node] == static_cast<int>(g);
    });
  }

  std::vector<Group::In> inputs_with(const Node& node, size_t group) const {
    std::vector<Group::In> inputs = plan_.groups[group].inputs;
    const std::span<const Operand> operands = segment_.operands_of(node);
    for (size_t k = 0; k < operands.size(); ++k) {
      const bool own = operands[k].is_value && group_of_[segment_.values[operands[k].number].node] == int(group);
      const Group::In in{operands[k], segment_.dtype_read(node, k)};
      if (!own && std::ranges::find(inputs, in) == inputs.end()) inputs.push_back(in);
    }
    return inputs;
  }

  void find_outputs() {
    std::vector<uint8_t> given = plan_.live;
    for (size_t n = 0; n < segment_.nodes.size(); ++n) {
      if (!needed_[n]) continue;
      for (const Operand& operand : segment_.operands_of(segment_.nodes[n]))
        if (operand.is_value && group_of_[segment_.values[operand.number].node] != group_of_[n])
          given[operand.number] = true;
    }
    for (Group& group : plan_.groups)
      for (const uint16_t n : group.nodes) {
        const Node& node = segment_.nodes[n];
        for (int k = 0; k < node.num_values; ++k)
          if (given[static_cast<size_t>(node.first_value + k)])
            group.outputs.push_back(static_cast<uint16_t>(node.first_value + k));
      }
  }

  const Segment& segment_;
  SegmentPlan& plan_;
  std::vector<bool> needed_, is_alone_;
  std::vector<int64_t> reach_;  // per node: the most elements of its space and those of what follows from it
  std::vector<int> group_of_;
  std::vector<size_t> outputs_;  // per group: the number of live values
};

class SegmentRun {
 public:
  SegmentRun(Segment& segment, const SegmentPlan& plan, Counts& counts, std::vector<GroupEntry*>& wanted)
      : segment_(segment), plan_(plan), counts_(counts), wanted_(wanted) {}

  // False if a signal handler ran the segment meanwhile.
  bool run() {
    if (segment_.done.any()) return run_rest();
    for (size_t g = 0; g < plan_.groups.size() && is_mine(); ++g) run_group(plan_.groups[g], plan_.entries[g]);
    return is_mine();
  }

  std::vector<int64_t> run_and_time(clockid_t clock) {
    std::vector<int64_t> times;
    for (size_t n = 0; n < segment_.nodes.size(); ++n) {
      const int64_t start = nanoseconds_of(clock);
      run_one(static_cast<uint16_t>(n));
      times.push_back(nanoseconds_of(clock) - start);
    }
    return times;
  }

 private:
  // After an interrupted run: runs the needed ops that have not run, one by one. Their inputs still exist: the program
  // holds them, or they were not freed because these ops had not read them yet.
  bool run_rest() {
    writes_in_place_ = false;
    const auto count = static_cast<uint16_t>(segment_.nodes.size());
    std::vector<bool> needed(count);
    for (uint16_t n = count; n-- > 0;) {
      const Node& node = segment_.nodes[n];
      for (int k = 0; k < node.num_values; ++k)
        needed[n] = needed[n] || plan_.live[static_cast<size_t>(node.first_value + k)];
      needed[n] = needed[n] && !segment_.done[n];
      if (!needed[n]) continue;
      for (const Operand& operand : segment_.operands_of(node))
        if (operand.is_value) needed[segment_.values[operand.number].node] = true;
    }
    for (uint16_t n = 0; n < count && is_mine(); ++n)
      if (needed[n] && !segment_.done[n]) run_one(n);
    return is_mine();
  }

  void run_one(uint16_t n) {
    segment_.nodes[n].anchor ? run_alone(segment_.nodes[n]) : run_node(n);
    if (is_mine()) segment_.done.set(n);
  }

  void run_group(const Group& group, GroupEntry* entry) {
    if (group.nodes.size() > 1) counts_.grouped += static_cast<int64_t>(group.nodes.size());
    if (entry && !entry->refusal.load(std::memory_order_relaxed))
      counts_.spared += static_cast<int64_t>(group.nodes.size() - 1) * segment_.spaces[group.space].numel;
    if (entry) {
      if (const GroupFunction* function = entry->function.load(std::memory_order_acquire)) {
        run_fused(group, *function);
        for (const uint16_t n : group.nodes)
          if (is_mine()) segment_.done.set(n);
        return;
      }
      const bool is_repeated = entry->meetings.fetch_add(1) >= 1 && !entry->refusal.load();
      if (is_repeated && (group.anchor < 0 || is_comparable(segment_, group)) && !entry->asked.exchange(true))
        wanted_.push_back(entry);
    }
    for (const uint16_t n : group.nodes) {
      run_one(n);
      if (!is_mine()) return;
      drop_after(n);
    }
  }

  // Tracing a plan calls Python, which may run a signal handler that runs the segment.
  bool is_mine() const { return segment_.generation == generation_; }

  void run_alone(const Node& node) {
    run_anchor(segment_, node);
    ++counts_.launches;
  }

  void run_fused(const Group& group, const GroupFunction& function) {
    ++counts_.launches;
    ++counts_.fused;
    if (function.op) return run_anchored(segment_, group, *function.op);
    Launch launch(segment_, group.space);
    ResultBlocks blocks(segment_);
    const int position = plan_.position.empty() ? 0 : plan_.position[group.nodes.back()];
    for (size_t k = 0; k < group.outputs.size(); ++k) {
      const Value& value = segment_.values[group.outputs[k]];
      launch.add(value, blocks.add(group.outputs[k], overwritten_by(value, position)), function.outputs[k]);
    }
    for (const GroupFunction::In& in : function.inputs) launch.add(group.inputs[in.number].operand, in.dtype);
    params_.clear();
    for (const auto& [node, number] : function.params)
      params_.push_back(segment_.params[segment_.nodes[group.nodes[node]].first_param + number]);
    launch.run(function.kernel, static_cast<int>(group.outputs.size()), params_.data(), nullptr);
    blocks.give();
  }

  // The memory that the value may overwrite because no op after `position` reads it; null: allocate. The op itself may
  // read it, element by element: a different view would be another input of that storage.
  Storage* overwritten_by(const Value& value, int position) const {
    if (value.taken < 0 || !writes_in_place_ || value.nbytes <= kInlineStorage) return nullptr;  // small memory stays
    const auto input = static_cast<size_t>(value.taken);
    Storage& former = *segment_.inputs[input].storage;
    if (former.refs.load(std::memory_order_acquire) != 1) return nullptr;
    const bool is_read_later = input < plan_.last_input_reader.size() && plan_.last_input_reader[input] > position;
    return is_read_later ? nullptr : &former;
  }

  void run_node(uint16_t of_node) {
    const Node& node = segment_.nodes[of_node];
    const int position = plan_.position.empty() ? 0 : plan_.position[of_node];
    const ElementFunction& function = *node.function;
    Launch launch(segment_, node.space);
    ResultBlocks blocks(segment_);
    for (int k = 0; k < function.num_outputs; ++k) {
      const auto number = static_cast<uint16_t>(node.first_value + k);
      const Value& value = segment_.values[number];
      launch.add(value, blocks.add(number, overwritten_by(value, position)), function.outputs[k]);
    }
    const std::span<const Operand> operands = segment_.operands_of(node);
    for (size_t k = 0; k < operands.size(); ++k) launch.add(operands[k], function.inputs[k].dtype);
    launch.run(function.kernel, function.num_outputs, segment_.params.data() + node.first_param, node.op);
    blocks.give();
    ++counts_.launches;
  }

  // Frees values that are neither live nor read by a later op, as happens when ops run immediately.
  void drop_after(uint16_t number) {
    const Node& node = segment_.nodes[number];
    const auto drop = [&](uint16_t value) {
      const Ref<Storage>& storage = segment_.values[value].storage;
      const bool is_needed = plan_.live[value] || plan_.last_reader[value] > plan_.position[number];
      if (!is_needed && storage && storage->host) empty_storage(*storage);
    };
    for (const Operand& operand : segment_.operands_of(node))
      if (operand.is_value) drop(operand.number);
    for (int k = 0; k < node.num_values; ++k) drop(static_cast<uint16_t>(node.first_value + k));
  }

  // One pass of a kernel over a space.
  class Launch {
   public:
    Launch(Segment& segment, uint8_t space) : segment_(segment), space_(segment.spaces[space]) {}

    void add(const Value& value, char* data, DType kernel_dtype) {
      const std::span<const int64_t> sizes = segment_.spaces[value.space].shape();
      add(data, value.dtype, kernel_dtype, sizes, value.strides);
    }
    void add(const Operand& operand, DType kernel_dtype) {
      if (operand.is_value) {
        const Value& value = segment_.values[operand.number];
        return add(value, static_cast<char*>(value.storage->host), kernel_dtype);
      }
      const Input& input = segment_.inputs[operand.number];
      char* data =
          static_cast<char*>(input.storage->host) + input.offset * static_cast<int64_t>(item_size(input.dtype));
      add(data, input.dtype, kernel_dtype, {input.sizes, static_cast<size_t>(input.ndim)}, input.strides);
    }
    void run(KernelRef& kernel, int num_outputs, const uint64_t* params, const OpRecord* op) {
      const MapCall call{kernel, space_.shape(), {operands_.data(), count_}, num_outputs, params};
      const int64_t status = run_map(call);
      if (status) raise_status(op ? *op : *segment_.nodes[0].op, status, {});
    }

   private:
    void add(char* data, DType dtype, DType kernel_dtype, std::span<const int64_t> sizes, const int64_t* own) {
      int64_t* strides = strides_[count_];
      const int added = space_.ndim - static_cast<int>(sizes.size());
      for (int axis = 0; axis < space_.ndim; ++axis) {
        const bool moves = axis >= added && sizes[static_cast<size_t>(axis - added)] == space_.sizes[axis];
        strides[axis] = moves ? own[axis - added] * static_cast<int64_t>(item_size(dtype)) : 0;
      }
      operands_[count_++] = {data, dtype, kernel_dtype, strides};
    }

    Segment& segment_;
    const Space& space_;
    size_t count_ = 0;
    std::array<MapOperand, kMaxOperands> operands_;
    int64_t strides_[kMaxOperands][kInlineDims];
  };

  Segment& segment_;
  const uint64_t generation_ = segment_.generation;
  const SegmentPlan& plan_;
  Counts& counts_;
  std::vector<GroupEntry*>& wanted_;
  std::vector<uint64_t> params_;
  bool writes_in_place_ = true;
};

bool is_plan_of(const SegmentPlan& plan, const Segment& segment, const std::vector<uint8_t>& live) {
  return plan.live == live && plan.nodes == segment.nodes && plan.operands == segment.operands &&
         are_classes_of(plan.numbers, segment);
}

}  // namespace

bool SegmentPlan::is_outdated() const {
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].anchor >= 0 && entries[g] && entries[g]->refusal.load(std::memory_order_relaxed)) return true;
  return false;
}

const SegmentPlan& SegmentPlans::plan_of(const Segment& segment) {
  live_.clear();
  uint64_t hash = segment.operands.size();
  for (const Node& node : segment.nodes)
    hash = std::rotl(hash, 7) ^ reinterpret_cast<uint64_t>(node.function) ^ reinterpret_cast<uint64_t>(node.anchor);
  uint64_t before = 0;
  for (const uint64_t number : segment.params) {  // approximates their classes
    hash = std::rotl(hash, 3) + (number == std::bit_cast<uint64_t>(1.0)) + 2 * (number == before);
    before = number;
  }
  for (const Value& value : segment.values) {
    live_.push_back(value.is_live());
    hash = std::rotl(hash, 1) + live_.back();
  }
  std::unique_ptr<SegmentPlan>& place = places_[(hash * 0x9E3779B97F4A7C15ull) >> 58];
  if (place && is_plan_of(*place, segment, live_) && !place->is_outdated()) return *place;
  auto made = std::make_unique<SegmentPlan>();
  made->live = live_;
  Planner(segment, *made).plan();
  place = std::move(made);
  return *place;
}

std::vector<int64_t> run_and_time(Segment& segment, const SegmentPlan& plan, clockid_t clock) {
  Counts counts;
  std::vector<GroupEntry*> wanted;
  return SegmentRun(segment, plan, counts, wanted).run_and_time(clock);
}

bool run_segment(Segment& segment, const SegmentPlan& plan, Counts& counts, std::vector<GroupEntry*>& wanted) {
  return SegmentRun(segment, plan, counts, wanted).run();
}

}  // namespace pellucid::record

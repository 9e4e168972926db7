#include "record/groups.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <unordered_map>

#include "core/dispatcher.h"
#include "core/error.h"
#include "kernels/nest.h"
#include "ops/trace.h"
#include "plan/tile_program.h"
#include "record/anchored.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::record {

void (*request_group)(int number, const std::string& description) = nullptr;

namespace {

constexpr uint64_t kOneBits = std::bit_cast<uint64_t>(1.0);

bool is_float(const ElementFunction::Parameter& parameter) { return parameter.dtype == DType::Float64; }

// Calls visit(parameter, index in the segment's params) for each number, until it returns false.
template <class Visit>
bool for_each_number(const Segment& segment, Visit&& visit) {
  for (const Node& node : segment.nodes)
    for (int k = 0; node.function && k < node.function->num_params; ++k)
      if (!visit(node.function->params[k], static_cast<size_t>(node.first_param + k))) return false;
  return true;
}

}  // namespace

std::vector<NumberClass> classes_of(const Segment& segment) {
  std::vector<NumberClass> classes(segment.params.size());
  std::map<std::pair<uint64_t, DType>, NumberClass> first_of;
  for_each_number(segment, [&](const ElementFunction::Parameter& parameter, size_t place) {
    const auto own = static_cast<NumberClass>(place);
    const uint64_t bits = segment.params[place];
    const bool is_whole = parameter.part == ElementFunction::Part::Whole;
    if (!is_whole) classes[place] = own;
    else if (is_float(parameter) && bits == kOneBits) classes[place] = kOne;
    else classes[place] = first_of.try_emplace({bits, parameter.dtype}, own).first->second;
    return true;
  });
  return classes;
}

bool are_classes_of(std::span<const NumberClass> classes, const Segment& segment) {
  if (classes.size() != segment.params.size()) return false;
  for (size_t k = 0; k < classes.size(); ++k)
    if (segment.params[k] != (classes[k] == kOne ? kOneBits : segment.params[classes[k]])) return false;
  return true;
}

namespace {

struct KeyHash {
  size_t operator()(const std::vector<uint64_t>& key) const {
    uint64_t hash = key.size();
    for (const uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15ull, hash ^= hash >> 29;
    return hash;
  }
};

FORK_SAFE ForkSafeMutex mutex;
struct Table {
  std::deque<GroupEntry> entries;
  std::unordered_map<std::vector<uint64_t>, GroupEntry*, KeyHash> by_key;
  std::unordered_map<const ElementFunction*, std::string> requests;
};
Table& table() {
  static auto* made = new Table;
  return *made;
}

// The classes of the group's numbers, relative to the group.
std::vector<NumberClass> group_classes(const Segment& segment, const Group& group,
                                       std::span<const NumberClass> classes) {
  std::vector<NumberClass> found, places;  // of each number: its class in the group, its class in the segment
  for (const uint16_t n : group.nodes) {
    const Node& node = segment.nodes[n];
    for (int k = 0; node.function && k < node.function->num_params; ++k) {
      const NumberClass wanted = classes[static_cast<size_t>(node.first_param + k)];
      places.push_back(wanted);
      const auto first = std::ranges::find(places, wanted) - places.begin();
      found.push_back(wanted == kOne ? kOne : static_cast<NumberClass>(first));
    }
  }
  return found;
}

std::vector<uint64_t> key_of(const Segment& segment, const Group& group, std::span<const NumberClass> own_numbers) {
  const Numbers numbers(segment, group);
  std::vector<uint64_t> key;
  key.reserve(4 * group.nodes.size() + group.outputs.size());
  for (const uint16_t n : group.nodes) {
    const Node& node = segment.nodes[n];
    key.push_back(reinterpret_cast<uint64_t>(node.function) | reinterpret_cast<uint64_t>(node.anchor));
    const std::span<const Operand> operands = segment.operands_of(node);
    for (size_t k = 0; k < operands.size(); ++k) key.push_back(numbers.of(operands[k], segment.dtype_read(node, k)));
  }
  for (const uint16_t value : group.outputs) key.push_back(kFirstValue + numbers.of_value(value));
  if (group.anchor >= 0) add_classes(segment, group, key);
  else key.insert(key.end(), own_numbers.begin(), own_numbers.end());
  return key;
}

std::string describe(const Table& all, const Segment& segment, const Group& group,
                     std::span<const NumberClass> own_numbers) {
  const Numbers numbers(segment, group);
  size_t number = 0;
  encoded::GroupDescription made;
  for (const uint16_t n : group.nodes) {
    const Node& node = segment.nodes[n];
    const ElementFunction& function = *node.function;
    encoded::Member& member = made.members.emplace_back(encoded::Member{.request = all.requests.at(&function)});
    const std::span<const Operand> operands = segment.operands_of(node);
    for (size_t k = 0; k < operands.size(); ++k)
      member.operands.push_back(
          {function.inputs[k].argument, static_cast<int64_t>(numbers.of(operands[k], function.inputs[k].dtype))});
    member.numbers.emplace();
    for (int k = 0; k < function.num_params; ++k, ++number)
      member.numbers->push_back(described(function.params[k], own_numbers[number]));
  }
  for (const uint16_t value : group.outputs) made.outputs.push_back(static_cast<int32_t>(numbers.of_value(value)));
  return encoded_record(made);
}

// A cache of functions whose requests are stored already, indexed by bits of their address.
const ElementFunction*& remembered_at(const ElementFunction& function) {
  static thread_local const ElementFunction* known[64] = {};
  return known[reinterpret_cast<uintptr_t>(&function) >> 6 & 63];
}

}  // namespace

bool is_known(const ElementFunction& function) {
  const ElementFunction*& place = remembered_at(function);
  if (place == &function) return true;
  const std::lock_guard guard(mutex);
  Table& all = table();
  if (!all.requests.contains(&function)) return false;
  place = &function;
  return true;
}

void remember_request(const ElementFunction& function, const OpCall& call, PointwiseKey key) {
  if (is_known(function)) return;
  keep_op_forever(*call.op);  // keys of groups contain the function's address
  const std::lock_guard guard(mutex);
  Table& all = table();
  all.requests.emplace(&function, pointwise_request(call, key));
}

GroupEntry& find_group(const Segment& segment, const Group& group, std::span<const NumberClass> classes) {
  std::vector<NumberClass> numbers = group_classes(segment, group, classes);
  std::vector<uint64_t> key = key_of(segment, group, numbers);
  const std::lock_guard guard(mutex);
  Table& all = table();
  if (const auto found = all.by_key.find(key); found != all.by_key.end()) return *found->second;
  GroupEntry& entry = all.entries.emplace_back();
  entry.number = static_cast<int>(all.entries.size() - 1);
  entry.key = key;
  for (const uint16_t n : group.nodes) {
    entry.functions.push_back(segment.nodes[n].function);
    entry.ops.push_back(segment.nodes[n].op);
  }
  if (group.anchor >= 0) {
    entry.example = excerpt(segment, group);
    entry.description = describe_anchored(
        *entry.example, [&](const ElementFunction* f) -> const std::string& { return all.requests.at(f); });
  } else {
    entry.description = describe(all, segment, group, numbers);
  }
  entry.numbers = std::move(numbers);
  all.by_key.emplace(std::move(key), &entry);
  return entry;
}

GroupEntry* group_numbered(int number) {
  const std::lock_guard guard(mutex);
  Table& all = table();
  return number >= 0 && static_cast<size_t>(number) < all.entries.size() ? &all.entries[static_cast<size_t>(number)]
                                                                         : nullptr;
}

std::vector<GroupEntry*> all_groups() {
  const std::lock_guard guard(mutex);
  Table& all = table();
  std::vector<GroupEntry*> entries;
  for (GroupEntry& entry : all.entries) entries.push_back(&entry);
  return entries;
}

// --------------------------------------------------------------------------------------------- answers

namespace {

uint16_t parameter_number(const ElementFunction& function, const encoded::GroupNumber& number) {
  for (uint16_t k = 0; k < function.num_params; ++k)
    if (function.params[k].argument == number.argument && function.params[k].part == number.part) return k;
  raise(ErrorKind::Value, "a group's kernel reads a number that its op does not have");
}

// Decodes the answer and the tile programs after it.
std::unique_ptr<GroupFunction> decode_group(const GroupEntry& entry, std::string_view answer) {
  const Traced traced = opened(answer);
  Decoder in(traced.bytes());
  auto read = in.record<encoded::GroupAnswer>();
  auto made = std::make_unique<GroupFunction>();
  made->kernel.id = read.kernel;
  for (const encoded::GroupInput& input : read.inputs) made->inputs.push_back({input.number, input.dtype});
  made->outputs = std::move(read.outputs);
  for (const encoded::GroupNumber& number : read.numbers) {
    if (number.member >= entry.functions.size())
      raise(ErrorKind::Value, "a group's kernel reads a number of an op that it does not have");
    made->params.emplace_back(number.member, parameter_number(*entry.functions[number.member], number));
  }
  const ProgramScope programs(traced.programs);
  attach_program(made->kernel);
  return made;
}

}  // namespace

namespace {

// `infinity`: the bits of the magnitude above which a word is NaN.
template <class Word>
bool are_same_floats(const void* a, const void* b, size_t nbytes, Word infinity) {
  constexpr Word kMagnitude = static_cast<Word>(~Word{0}) >> 1;
  for (size_t at = 0; at + sizeof(Word) <= nbytes; at += sizeof(Word)) {
    Word x, y;
    std::memcpy(&x, static_cast<const char*>(a) + at, sizeof x);
    std::memcpy(&y, static_cast<const char*>(b) + at, sizeof y);
    const bool are_nan = (x & kMagnitude) > infinity && (y & kMagnitude) > infinity;
    if (x != y && !are_nan) return false;
  }
  return true;
}

}  // namespace

bool are_same(const void* a, const void* b, size_t nbytes, DType dtype) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64: return are_same_floats<uint32_t>(a, b, nbytes, 0x7F800000);
    case DType::Float64:
    case DType::Complex128: return are_same_floats<uint64_t>(a, b, nbytes, 0x7FF0000000000000);
    case DType::Float16: return are_same_floats<uint16_t>(a, b, nbytes, 0x7C00);
    case DType::BFloat16: return are_same_floats<uint16_t>(a, b, nbytes, 0x7F80);
    default: return nbytes == 0 || std::memcmp(a, b, nbytes) == 0;
  }
}

// Normal numbers; halves of moderate size; small integers.
void fill_randomly(std::span<char> memory, DType dtype, std::mt19937& random) {
  std::normal_distribution<double> normal(0, 2);
  const auto fill = [&](auto example) {
    using T = decltype(example);
    auto* elements = reinterpret_cast<T*>(memory.data());
    const size_t count = memory.size() / sizeof(T);
    for (size_t i = 0; i < count; ++i) {
      const double drawn = normal(random);
      elements[i] = static_cast<T>(2 * i < count ? drawn : std::abs(drawn));
    }
  };
  switch (dtype) {
    case DType::Bool:
      for (char& byte : memory) byte = static_cast<char>(random() & 1);
      break;
    case DType::Float32:
    case DType::Complex64: fill(float{}); break;
    case DType::Float64:
    case DType::Complex128: fill(double{}); break;
    case DType::Float16:
    case DType::BFloat16:
      for (size_t i = 0; i + 1 < memory.size(); i += 2) {  // no NaN: the exponent's middle
        const auto bits = static_cast<uint16_t>((random() & (2 * i < memory.size() ? 0x83FF : 0x03FF)) |
                                                (dtype == DType::Float16 ? 0x3C00 : 0x3F80));
        std::memcpy(&memory[i], &bits, 2);
      }
      break;
    default:
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<char>(i % item_size(dtype) ? 0 : random() & 63);
  }
}

namespace {

// Enough elements for whole vectors and a remainder.
constexpr int64_t kNumChecked = 173;

using Column = std::vector<char>;

Column random_column(DType dtype, std::mt19937& random) {
  Column column(static_cast<size_t>(kNumChecked) * 16);
  fill_randomly({column.data(), static_cast<size_t>(kNumChecked) * item_size(dtype)}, dtype, random);
  return column;
}

// Runs the group's ops and its kernel on the same random data, and compares the results.
class Comparison {
 public:
  Comparison(const GroupEntry& entry, const GroupFunction& function) : entry_(entry), function_(function) {}

  bool agrees() {
    size_t at = 0;
    for (const ElementFunction* op : entry_.functions) {
      std::vector<MapOperand> operands;
      const size_t first = values_.size();
      for (int k = 0; k < op->num_outputs; ++k)
        values_.push_back({op->outputs[k], Column(static_cast<size_t>(kNumChecked) * 16)});
      for (int k = 0; k < op->num_outputs; ++k) operands.push_back(operand(values_[first + static_cast<size_t>(k)]));
      for (int k = 0; k < op->num_inputs; ++k) operands.push_back(read(entry_.key[++at], op->inputs[k].dtype));
      params_.push_back(random_params(*op));
      run(op->kernel, operands, op->num_outputs, params_.back().data());
      ++at;
    }
    return run_group(at);
  }

 private:
  struct Stored {
    DType dtype;
    Column column;
  };

  static MapOperand operand(Stored& stored) {
    return {stored.column.data(), stored.dtype, stored.dtype, strides_of(stored.dtype)};
  }
  static const int64_t* strides_of(DType dtype) {
    static const std::vector<int64_t> steps = [] {
      std::vector<int64_t> made;
      for (int k = 0; k < kNumDTypes; ++k) made.push_back(static_cast<int64_t>(item_size(static_cast<DType>(k))));
      return made;
    }();
    return &steps[static_cast<size_t>(dtype)];
  }
  MapOperand read(uint64_t code, DType dtype) {
    if (code >= kFirstValue) {
      MapOperand value = operand(values_[code - kFirstValue]);
      value.kernel_dtype = dtype;
      return value;
    }
    while (inputs_.size() <= code) inputs_.push_back({});
    if (inputs_[code].column.empty()) inputs_[code] = {dtype, random_column(dtype, random_)};
    return operand(inputs_[code]);
  }
  // Random numbers that are equal where the group's numbers are.
  std::vector<uint64_t> random_params(const ElementFunction& op) {
    const size_t first = numbers_.size();
    for (int k = 0; k < op.num_params; ++k) {
      const NumberClass like = entry_.numbers[numbers_.size()];
      if (like == kOne) numbers_.push_back(std::bit_cast<uint64_t>(1.0));
      else if (like < numbers_.size()) numbers_.push_back(uint64_t{numbers_[like]});
      else if (op.params[k].dtype == DType::Int64) numbers_.push_back(random_() % 4);
      else numbers_.push_back(std::bit_cast<uint64_t>(0.25 + static_cast<double>(random_() % 64) / 16));
    }
    return {numbers_.begin() + static_cast<std::ptrdiff_t>(first), numbers_.end()};
  }
  static void run(KernelRef& kernel, const std::vector<MapOperand>& operands, int num_outputs, const uint64_t* params) {
    const int64_t extents[] = {kNumChecked};
    run_map({kernel, extents, operands, num_outputs, params});
  }
  // `at`: the index in the key at which the outputs begin.
  bool run_group(size_t at) {
    std::deque<Stored> results;
    std::vector<MapOperand> operands;
    for (const DType dtype : function_.outputs) {
      results.push_back({dtype, Column(static_cast<size_t>(kNumChecked) * 16)});
      operands.push_back(operand(results.back()));
    }
    for (const GroupFunction::In& in : function_.inputs) operands.push_back(operand(inputs_.at(in.number)));
    std::vector<uint64_t> params;
    for (const auto& [node, number] : function_.params) params.push_back(params_[node][number]);
    run(function_.kernel, operands, static_cast<int>(results.size()), params.data());
    for (size_t k = 0; k < results.size(); ++k) {
      const Stored& expected = values_[entry_.key[at + k] - kFirstValue];
      if (expected.dtype != results[k].dtype) return false;
      const size_t bytes = static_cast<size_t>(kNumChecked) * item_size(expected.dtype);
      if (!are_same(expected.column.data(), results[k].column.data(), bytes, expected.dtype)) return false;
    }
    return true;
  }

  const GroupEntry& entry_;
  const GroupFunction& function_;
  std::mt19937 random_{20};
  std::deque<Stored> values_, inputs_;
  std::vector<std::vector<uint64_t>> params_;
  std::vector<uint64_t> numbers_;  // the same, in one vector
};

}  // namespace

void publish_group(int number, std::string_view answer) {
  GroupEntry* entry = group_numbered(number);
  if (!entry) raise(ErrorKind::Value, "there is no group %d", number);
  if (entry->example) return publish_anchored(*entry, answer);
  std::unique_ptr<GroupFunction> made = decode_group(*entry, answer);
  if (!made->kernel.get()) return refuse_group(number, "there is no compiler for its kernel (llvmlite)");
  if (!Comparison(*entry, *made).agrees()) return refuse_group(number, kOtherBits);
  entry->function.store(made.release(), std::memory_order_release);  // never freed
}

void refuse_group(int number, std::string_view reason) {
  if (GroupEntry* entry = group_numbered(number)) entry->refusal.store((new std::string(reason))->c_str());
}

}  // namespace pellucid::record

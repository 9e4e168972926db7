#include "ops/op_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "autograd/derivative.h"
#include "autograd/handler.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "kernels/conversion.h"
#include "kernels/pointwise.h"
#include "ops/derivation.h"
#include "ops/documentation.h"
#include "ops/element_functions.h"
#include "ops/graph_op.h"
#include "ops/join.h"
#include "ops/late_ops.h"
#include "plan/decode.h"
#include "plan/records.h"
#include "plan/tile_program.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

FORK_SAFE ForkSafeMutex mutex;
struct OpTable {
  std::deque<FrozenOp> ops;        // stable addresses
  std::vector<FrozenOp*> by_id;    // by record id
  std::vector<OpRecord*> records;  // of the file, in its order
  std::vector<SeenOp> seen;
};

OpTable& table() {
  static auto* made = new OpTable;
  return *made;
}

FrozenOp& add(OpRecord& record) {
  OpTable& all = table();
  if (all.by_id.size() <= record.id) all.by_id.resize(record.id + 1, nullptr);
  FrozenOp*& op = all.by_id[record.id];
  if (!op) op = &all.ops.emplace_back();  // otherwise the empty entry of a recycled record
  op->record = &record;
  return *op;
}

std::span<const uint8_t> map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    raise(ErrorKind::Runtime, "the op table %s cannot be opened (%s).\nBuild the package: python tools/build.py",
          path.c_str(), std::strerror(errno));
  struct stat facts{};
  fstat(file, &facts);
  const auto size = static_cast<size_t>(facts.st_size);
  void* memory = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) raise(ErrorKind::Runtime, "the op table %s cannot be read", path.c_str());
  return {static_cast<const uint8_t*>(memory), size};  // stays mapped for the life of the process
}

bool records_nothing(const OpRecord& op) {
  return op.unrecorded == (1u << op.schema.returns.size()) - 1 && op.unrecorded;
}

bool has_index(const Schema& schema) {
  return std::ranges::any_of(schema.arguments,
                             [](const Argument& a) { return a.name == "index" || a.name == "indices"; });
}

void register_handlers(OpRecord& op, FrozenOp& frozen) {
  if (op.kind == OpKind::View && op.variant == Variant::InPlace) return;  // intrinsics/in_place.cpp has their kernel
  frozen.derivative_plans = std::make_unique<Derivatives>();
  op.derivative = frozen.derivative_plans.get();
  register_kernel(op, Key::ViewInPlace, {view_handler, nullptr});
  if (!frozen.inverse.empty()) return register_join(op, frozen.inverse);
  // A factory's result does not depend on the elements of its arguments.
  if (op.kind == OpKind::Factory || records_nothing(op)) register_fall_through(op, Key::Autograd);
  else register_kernel(op, Key::Autograd, {frozen.saves ? saving_handler : autograd_handler, nullptr});
  if (is_scalar(op.kind)) {
    frozen.element_functions = std::make_unique<ElementFunctions>();
    if (!op.functional)
      op.kind_data =
          std::make_unique<PointwiseData>(op.schema, frozen.promoted, frozen.int_to_float, frozen.refuses_bools);
    const BoxedKernel handler = op.kind == OpKind::Foreach ? handle_foreach : handle_pointwise;
    register_kernel(op, Key::CPU, {handler, nullptr});
    register_kernel(op, Key::Meta, {handler, nullptr});
    return;
  }
  if (!op.functional) op.kind_data = std::make_unique<GraphData>(frozen.layout, has_index(op.schema));
  register_kernel(op, Key::CPU, {run_graph_op, nullptr});
  register_kernel(op, Key::Meta, {run_graph_op_meta, nullptr});
}

OpRecord* define_frozen(const encoded::OpRow& given) {
  OpRecord& record = *define_op(given.schema);
  FrozenOp& op = add(record);
  record.kind = given.kind;
  record.variant = given.variant;
  if (given.functional >= 0) record.functional = table().records.at(static_cast<size_t>(given.functional));
  record.is_method = given.is_method;
  record.is_function = given.is_function;
  record.python_module = given.module;
  record.tags = given.tags;
  op.int_to_float = given.int_to_float;
  op.refuses_bools = given.refuses_bools;
  op.promoted = given.promoted;
  op.inverse = given.inverse;
  op.layout = given.layout;
  record.cast_rule = given.autocast;
  op.saves = given.saves;
  record.casts_out = given.casts_out;
  record.writes_shared = given.writes_shared;
  for (const DType dtype : given.out_dtypes) record.out_dtypes |= uint64_t{1} << static_cast<int>(dtype);
  record.unrecorded = given.unrecorded;
  op.keys = given.keys;
  op.derivatives = given.derivatives;
  register_handlers(record, op);
  return &record;
}

}  // namespace

void load_op_table(const std::string& path, std::span<const Intrinsic> kernels) {
  const std::span<const uint8_t> file = map_file(path);
  const std::string start = std::string(kFrozenMagic) + std::string(kOpcodeDigest);
  if (file.size() < start.size() || std::memcmp(file.data(), start.data(), start.size()) != 0)
    raise(ErrorKind::Value, "%s is not an op table of this version of pellucid.\nRebuild or reinstall pellucid.",
          path.c_str());
  Decoder in(file.subspan(start.size()));
  auto given = in.record<encoded::FrozenFile>();
  {
    std::lock_guard lock(mutex);
    for (const encoded::OpRow& op : given.ops) table().records.push_back(define_frozen(op));
  }
  for (const encoded::ConversionRow& row : given.conversions) install_conversion(row.target, row.source, row.kernel);
  install_programs(given.programs);
  install_late_ops(given.late);
  for (const auto& [op, gradient, keywords, reads_results, composed, composed_gradients, numbers] : given.seen)
    table().seen.push_back({op, gradient, keywords, reads_results, composed, composed_gradients, numbers});
  install_documentation(std::move(given.documentation), given.texts);
  define_missing_ops = define_late_ops;
  define_intrinsics(given.intrinsics, kernels);
}

std::span<const SeenOp> seen_ops() { return table().seen; }

bool seen_gradient_reads_results(const OpRecord& op) {
  static const auto* reading = [] {
    auto* made = new std::unordered_set<std::string>;
    for (const SeenOp& seen : seen_ops())
      if (seen.reads_results) made->insert(qualified_name(seen.op));
    return made;
  }();
  return op.schema.returns.size() > 1 || reading->contains(op.qualified_name);
}

FrozenOp& frozen_op(const OpRecord& op) {
  const std::lock_guard lock(mutex);
  OpTable& all = table();
  if (op.id < all.by_id.size() && all.by_id[op.id]) return *all.by_id[op.id];
  return add(const_cast<OpRecord&>(op));  // made by Library.define: not in the frozen file
}

const std::string* derivative_origin(const OpRecord& op) {
  const FrozenOp& found = frozen_op(op);
  return found.origin.empty() ? nullptr : &found.origin;
}

bool is_scalar(OpKind kind) { return kind == OpKind::Pointwise || kind == OpKind::Random || kind == OpKind::Foreach; }

namespace {

// Frees the data of retired records, which only calls of these records could reach.
void recycle_retired_ops() {
  for (OpRecord* op : take_retired_ops()) {
    forget_derivation(*op);
    const std::unique_ptr<KindData> kind_data = std::move(op->kind_data);
    FrozenOp emptied;  // destroyed without holding a lock: it may own other records
    {
      std::lock_guard lock(mutex);
      std::swap(*table().by_id.at(op->id), emptied);
    }
    op->derivative = nullptr;
    recycle_op(*op);
  }
}

// Plans are decoded later: they point into a copy of the keys that lives as long as the op.
void add_keys(OpRecord& op, FrozenOp& frozen, std::span<const uint8_t> keys) {
  if (is_scalar(op.kind)) return add_element_functions(*frozen.element_functions, keys);
  frozen.own_keys.assign(keys.begin(), keys.end());
  add_plans(op, static_cast<GraphData&>(*op.kind_data), frozen.own_keys);
}

}  // namespace

std::shared_ptr<const OpRecord> derivative_op(const std::string& schema, OpKind kind, uint32_t promoted,
                                              std::string origin, ResultLayout layout, std::span<const uint8_t> keys) {
  constexpr std::string_view kNameSpace = "derivative";
  const std::string name = std::string(kNameSpace) + "::" + schema.substr(0, schema.find('('));
  if (std::shared_ptr<OpRecord> known = find_owned_op(name)) return known;
  recycle_retired_ops();
  std::shared_ptr<OpRecord> record = define_owned_op(schema, kNameSpace);
  record->kind = kind;
  record->variant = Variant::Functional;
  std::lock_guard lock(mutex);
  FrozenOp& frozen = add(*record);
  frozen.origin = std::move(origin);
  frozen.promoted = promoted;
  frozen.layout = layout;
  register_handlers(*record, frozen);
  add_keys(*record, frozen, keys);
  return record;
}

}  // namespace pellucid

#include "core/dispatcher.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/call_event.h"
#include "core/device_names.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/layout.h"
#include "core/owned_results.h"
#include "core/pinned_memory.h"
#include "threads/fork_safe_mutex.h"
#include "timeline/session.h"

namespace pellucid {

void (*define_missing_ops)(std::string_view name) = nullptr;

namespace {

struct Registration {
  KernelEntry own[kNumKeys];
  KernelEntry catch_all;
  KeySet fall_through;
};

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// Records are made at import and rarely later, so one lock suffices. Never destroyed.
FORK_SAFE ForkSafeRecursiveMutex mutex;
struct Registry {
  std::deque<OpRecord> records;
  std::deque<Registration> registrations;  // by record id
  std::unordered_map<std::string, OpRecord*, NameHash, std::equal_to<>> by_name;
  std::deque<OpRecord*> retired;  // oldest first
  std::vector<OpRecord*> free;
  std::vector<std::shared_ptr<OpRecord>> forever;
  int scopes = 0;  // number of live RetiredOpsScopes, during which retired records are not reused
  KernelEntry fallbacks[kNumKeys];
  std::vector<std::pair<int, DispatchObserver>> observers;
  int next_observer = 1;
};

Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

// The first of these that exists serves a key: own entry, fall-through, the key's fallback, catch-all. At
// Decompose only own entries count: an op without a decomposition is passed on as it is.
KernelEntry serving(const Registry& all, const Registration& entries, int key) {
  KernelEntry chosen = entries.own[key];
  if (!chosen.function && !entries.fall_through.has(static_cast<Key>(key))) {
    chosen = all.fallbacks[key];
    if (!chosen.function && static_cast<Key>(key) != Key::Decompose) chosen = entries.catch_all;
  }
  return chosen;
}

// After a registration for one key has changed.
void refresh(Registry& all, OpRecord& op, Key key) {
  const int place = static_cast<int>(key);
  op.table[place] = serving(all, all.registrations[op.id], place);
  op.registered = op.table[place].function ? op.registered | key : op.registered - KeySet(key);
  op.epoch.fetch_add(1, std::memory_order_relaxed);
}

void rebuild(Registry& all, OpRecord& op) {
  const Registration& entries = all.registrations[op.id];
  uint64_t bits = 0;
  for (int key = 0; key < kNumKeys; ++key) {
    op.table[key] = serving(all, entries, key);
    if (op.table[key].function) bits |= uint64_t{1} << key;
  }
  op.registered = KeySet::from_bits(bits);
  op.epoch.fetch_add(1, std::memory_order_relaxed);
}

OpRecord* find_defined(const std::string& qualified) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const auto found = all.by_name.find(qualified);
  return found == all.by_name.end() ? nullptr : found->second;
}

constexpr std::string_view kDefaultSpace = "aten::";

}  // namespace

std::string qualified_name(std::string_view name) {
  return name.find("::") == std::string_view::npos ? std::string(kDefaultSpace) + std::string(name) : std::string(name);
}

std::string_view short_name(std::string_view name) {
  return name.starts_with(kDefaultSpace) ? name.substr(kDefaultSpace.size()) : name;
}

OpRecord* find_op(std::string_view name) {
  const std::string qualified = qualified_name(name);
  if (OpRecord* op = find_defined(qualified)) return op;
  if (!define_missing_ops) return nullptr;
  const std::string_view missing = short_name(qualified);
  define_missing_ops(missing.substr(0, missing.find('.')));  // without a lock; another thread may do the same meanwhile
  return find_defined(qualified);
}

namespace {

// An empty record with an id; the caller holds the registry's lock.
OpRecord& new_record(Registry& all) {
  if (!all.free.empty()) {
    OpRecord& op = *all.free.back();
    all.free.pop_back();
    op.is_defined = true;
    return op;
  }
  OpRecord& op = all.records.emplace_back();
  all.registrations.emplace_back();
  op.id = static_cast<uint32_t>(all.records.size() - 1);
  return op;
}

// Called when the last owner releases a record.
void retire_op(OpRecord* op) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const auto found = all.by_name.find(op->qualified_name);
  if (found != all.by_name.end() && found->second == op) all.by_name.erase(found);
  op->is_defined = false;
  all.retired.push_back(op);
}

}  // namespace

OpRecord* define_op(std::string_view schema_text, std::string_view name_space) {
  Schema schema = parse_schema(schema_text);
  std::string qualified(schema.name_space.empty() ? name_space : std::string_view(schema.name_space));
  qualified += "::" + schema.name;
  if (!schema.overload.empty()) qualified += "." + schema.overload;
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  if (all.by_name.contains(qualified))
    raise(ErrorKind::Runtime, "the op %s is already defined; give the new one another overload name",
          qualified.c_str());
  OpRecord& op = new_record(all);
  op.schema = std::move(schema);
  op.qualified_name = qualified;
  all.by_name.emplace(std::move(qualified), &op);
  rebuild(all, op);
  return &op;
}

std::shared_ptr<OpRecord> find_owned_op(std::string_view qualified_name) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const auto found = all.by_name.find(qualified_name);
  if (found == all.by_name.end()) return nullptr;
  std::shared_ptr<OpRecord> owner = found->second->self.lock();
  if (!owner) all.by_name.erase(found);  // its last owner is releasing it right now
  return owner;
}

std::shared_ptr<OpRecord> define_owned_op(std::string_view schema_text, std::string_view name_space) {
  std::shared_ptr<OpRecord> owner(define_op(schema_text, name_space), retire_op);
  owner->self = owner;
  return owner;
}

void keep_op_forever(const OpRecord& op) {
  std::shared_ptr<OpRecord> owner = owner_of(op);
  if (!owner) return;
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  for (const auto& known : all.forever)
    if (known == owner) return;
  all.forever.push_back(std::move(owner));
}

RetiredOpsScope::RetiredOpsScope() {
  std::lock_guard lock(mutex);
  ++registry().scopes;
}
RetiredOpsScope::~RetiredOpsScope() {
  std::lock_guard lock(mutex);
  --registry().scopes;
}

std::vector<OpRecord*> take_retired_ops() {
  constexpr size_t kLast = 64;
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  std::vector<OpRecord*> taken;
  if (all.scopes || !all.observers.empty()) return taken;
  while (all.retired.size() > kLast) {
    taken.push_back(all.retired.front());
    all.retired.pop_front();
  }
  return taken;
}

void recycle_op(OpRecord& op) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  all.registrations[op.id] = {};
  all.registrations[op.id].fall_through = KeySet::from_bits(~uint64_t{0});
  rebuild(all, op);
  all.registrations[op.id] = {};
  all.free.push_back(&op);
}

OpCounts count_ops() {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  return {all.records.size(), all.retired.size(), all.free.size()};
}

void for_each_op(void (*visit)(OpRecord& op, void* context), void* context) {
  std::vector<OpRecord*> defined;
  {
    const std::lock_guard lock(mutex);
    Registry& all = registry();
    for (OpRecord& op : all.records)
      if (op.is_defined) defined.push_back(&op);
  }
  for (OpRecord* op : defined) visit(*op, context);  // without the lock: it may run Python
}

void register_kernel(OpRecord& op, Key key, KernelEntry entry, bool replace) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  Registration& entries = all.registrations[op.id];
  KernelEntry& slot = entries.own[static_cast<int>(key)];
  if (slot.function && !replace)
    raise(ErrorKind::Runtime, "%s already has a kernel for %s; pass replace to replace it", op.qualified_name.c_str(),
          std::string(name(key)).c_str());
  slot = entry;
  entries.fall_through = entries.fall_through - KeySet(key);
  refresh(all, op, key);
}

void register_catch_all(OpRecord& op, KernelEntry entry) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  all.registrations[op.id].catch_all = entry;
  rebuild(all, op);
}

void register_fall_through(OpRecord& op, Key key) { set_entry(op, key, {{}, /*falls_through=*/true}); }

void register_fallback(Key key, KernelEntry entry) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  all.fallbacks[static_cast<int>(key)] = entry;
  for (OpRecord& op : all.records) refresh(all, op, key);
}

KeyEntry entry_at(const OpRecord& op, Key key) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const Registration& entries = all.registrations[op.id];
  return {entries.own[static_cast<int>(key)], entries.fall_through.has(key)};
}

void set_entry(OpRecord& op, Key key, KeyEntry entry) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  Registration& entries = all.registrations[op.id];
  entries.own[static_cast<int>(key)] = entry.kernel;
  entries.fall_through = entry.falls_through ? entries.fall_through | key : entries.fall_through - KeySet(key);
  refresh(all, op, key);
}

KernelEntry catch_all_of(const OpRecord& op) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  return all.registrations[op.id].catch_all;
}

KernelEntry fallback_at(Key key) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  return all.fallbacks[static_cast<int>(key)];
}

void undefine_op(OpRecord& op) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  all.by_name.erase(op.qualified_name);
  op.is_defined = false;
  all.registrations[op.id] = {};
  all.registrations[op.id].fall_through = KeySet::from_bits(~uint64_t{0});  // nor the keys' fallbacks
  rebuild(all, op);
}

int add_dispatch_observer(DispatchObserver observer) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const int token = all.next_observer++;
  all.observers.emplace_back(token, observer);
  watch_more(kWatchObservers);
  return token;
}

void remove_dispatch_observer(int token) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  if (std::erase_if(all.observers, [&](const auto& entry) { return entry.first == token; }))
    watch_less(kWatchObservers);
}

namespace {

void dispatch_with_observers(OpCall& call) {
  std::vector<DispatchObserver> observers;  // a copy: an observer may add or remove observers
  {
    const std::lock_guard lock(mutex);
    Registry& all = registry();
    for (const auto& [token, observer] : all.observers) observers.push_back(observer);
  }
  const Key key = call.keys.highest();
  const KernelEntry entry = call.op->table[static_cast<int>(key)];
  if (!entry.function) raise_no_kernel(call);
  for (const DispatchObserver& observer : observers) observer.enter(call, key, observer.context);
  try {
    entry.function(call, entry.context);
  } catch (...) {
    for (const DispatchObserver& observer : observers) observer.leave(call, key, true, observer.context);
    throw;
  }
  for (const DispatchObserver& observer : observers) observer.leave(call, key, false, observer.context);
}

}  // namespace

void (*examine_results)(const OpCall& call, Key key) = nullptr;

void dispatch_watched(OpCall& call) {
  const CallEvent event(call);
  const Key key = call.keys.highest();
  if (is_watched(kWatchObservers)) {
    dispatch_with_observers(call);
  } else {
    const KernelEntry& entry = call.op->table[static_cast<int>(key)];
    if (!entry.function) raise_no_kernel(call);
    entry.function(call, entry.context);
  }
  if (!is_watched(kWatchValues)) return;
  OwnedResults results(call);
  examine_results(call, key);
  results.pass_on();
}

bool asks_to_pin(const OpCall& call, int k) {
  const Value& value = call.args[k];
  return value.tag == Tag::Bool && value.integer && k > 0 &&
         call.op->schema.arguments[static_cast<size_t>(k) - 1].type == ArgType::Device;
}

namespace {

// Runs a factory, whose argument k asks for pinned memory, and moves its result there.
void run_pinned(OpCall& call, int k) {
  std::vector<Value> args(call.args, call.args + call.num_args);
  args[static_cast<size_t>(k)] = {};
  OpCall plain{call.op, args.data(), call.rets, call.num_args, call.keys};
  const KernelEntry on_cpu = call.op->table[static_cast<int>(Key::CPU)];
  on_cpu.function(plain, on_cpu.context);
  const Tensor made = Tensor::adopt(std::exchange(call.rets[0], Value()).tensor);
  require_pinnable(made->device);
  const Ref<Storage> pinned = allocate_pinned_storage(made->storage->nbytes);
  std::memcpy(pinned->host, made->storage->host, made->storage->nbytes);
  call.rets[0] = Value::of(tensor_of(*pinned, made->shape(), made->stride(), made->offset, made->dtype).leak());
}

}  // namespace

bool ran_elsewhere(OpCall& call) {
  for (int k = 0; k < call.num_args; ++k) {
    if (asks_to_pin(call, k)) {
      if (catch_all_of(*call.op).function) return false;  // it allocates pinned memory itself
      return run_pinned(call, k), true;
    }
    if (call.args[k].tag == Tag::Layout && is_sparse(static_cast<Layout>(call.args[k].integer))) {
      core_hooks.run_as_sparse(call);
      return true;
    }
    if (call.args[k].tag != Tag::Device) continue;
    const Device device = decode_device(call.args[k].integer);
    if (device.type == DeviceType::CPU || device.type == DeviceType::Meta) continue;
    if (!is_user_device(device.type) && !find_backend(device.type)) raise_absent_device(device);
    const Key key = key_of_device(device.type);
    KernelEntry entry = entry_at(*call.op, key).kernel;
    if (!entry.function && find_backend(device.type)) {
      if (catch_all_of(*call.op).function) return false;  // it can allocate on any device
      entry = call.op->table[static_cast<int>(key)];
    }
    if (!entry.function) raise_absent_device(device);
    call.keys = call.keys | key;
    entry.function(call, entry.context);
    return true;
  }
  return false;
}

namespace {

// Each name once, in the order of first occurrence.
std::string list_of(std::span<const std::string> names) {
  std::string text;
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) == name) text.append(text.empty() ? "" : ", ").append(*name);
  return text;
}

// What was registered for the op itself, without the fallbacks of keys, which every op has.
std::vector<std::string> kernels_of(const OpRecord& op) {
  std::vector<std::string> names;
  for (int key = 0; key < kNumKeys; ++key)
    if (entry_at(op, static_cast<Key>(key)).kernel.function) names.emplace_back(name(static_cast<Key>(key)));
  if (catch_all_of(op).function) names.emplace_back("CompositeImplicitAutograd");
  return names;
}

// visit(tensor, index of its argument).
template <class Visit>
void each_tensor_of(const OpCall& call, Visit&& visit) {
  for (int k = 0; k < call.num_args; ++k) {
    const Value& value = call.args[k];
    if (value.tag == Tag::Tensor) visit(*value.tensor, k);
    else if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list())
        if (tensor) visit(*tensor, k);
  }
}

}  // namespace

void raise_no_kernel(const OpCall& call) {
  const KeySet keys = gather_keys(call), backends = keys & kBackends;
  const Key missing = backends.empty() ? Key::CPU : backends.highest();
  const std::string key(name(missing));
  std::vector<std::string> names, devices_found;
  each_tensor_of(call, [&](const TensorImpl& tensor, int) { devices_found.push_back(device_name(tensor.device)); });
  for (int bit = 0; bit < kNumKeys; ++bit)
    if (keys.has(static_cast<Key>(bit))) names.push_back(key_name(static_cast<Key>(bit), backends));
  const std::string& op = call.op->qualified_name;
  const std::string devices = list_of(devices_found), kernels = list_of(kernels_of(*call.op));
  const std::string remedy = missing == Key::Meta ? "torch.library.register_fake(\"" + op + "\", function)"
                                                  : "torch.library.impl(\"" + op + "\", \"" + key + "\", function)";
  raise(ErrorKind::NotImplemented,
        "Could not run '%s' with arguments from the '%s' backend: it has no kernel there.\n"
        "Its tensors are on: %s; their keys are: %s.\nIt has kernels for: %s.\nAdd one: %s",
        op.c_str(), key.c_str(), devices.empty() ? "no device" : devices.c_str(),
        names.empty() ? "none" : list_of(names).c_str(), kernels.empty() ? "nothing" : kernels.c_str(), remedy.c_str());
}

void require_device_of_kernel(const OpCall& call) {
  const KeySet backends = gather_keys(call) & kBackends;
  if (!backends.empty() && !backends.has(Key::CPU)) raise_no_kernel(call);
}

void raise_two_devices(const OpCall& call, Device first, const TensorImpl& other) {
  std::string place = "in";  // `other` may be a tensor that the op made
  each_tensor_of(call, [&](const TensorImpl& tensor, int k) {
    if (&tensor == &other)
      place = "when checking argument '" + call.op->schema.arguments[static_cast<size_t>(k)].name + "' of";
  });
  raise(ErrorKind::Runtime,
        "Expected all tensors to be on the same device, but found at least two devices, %s and %s! "
        "(%s %s)\nMove one of them: tensor.to(device)",
        device_name(first).c_str(), device_name(other.device).c_str(), place.c_str(), call.op->qualified_name.c_str());
}

}  // namespace pellucid

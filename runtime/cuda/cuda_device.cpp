#include "cuda/cuda_device.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/error.h"
#include "core/hooks.h"
#include "cuda/convolution_ops.h"
#include "cuda/convolutions.h"
#include "cuda/library.h"
#include "cuda/products.h"
#include "cuda/status_ring.h"
#include "ops/device_op.h"
#include "threads/at_fork.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::cuda {
namespace {

constexpr unsigned kThreads = 256;       // of a block, as gpu/builder.py has it
constexpr int kBlocksPerProcessor = 16;  // at most: threads take further points in turn
constexpr size_t kStreams = 32;          // of a priority on a GPU: handed out in turn, as PyTorch does
constexpr size_t kLogBytes = 4096;       // of the driver's messages on a module
constexpr PoolOptions kPool{PoolPolicy::BestFit, 512, 0, size_t{20} << 20, false, 0};

FORK_SAFE ForkSafeMutex mutex;  // of the tables below
KernelSource* source;
std::atomic<Gpus*> gpus;                    // never destroyed
std::atomic<bool> is_child_of_fork{false};  // a context does not survive a fork
std::atomic<bool> is_over{false};           // the process ends, and the driver may be gone
constinit thread_local int active = -1;     // the GPU whose context is this thread's current one

bool is_blocking() {
  for (const char* name : {"PELLUCID_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"})
    if (const char* const set = std::getenv(name); set && *set && std::strcmp(set, "0") != 0) return true;
  return false;
}

struct IdHash {
  size_t operator()(const KernelId& id) const {
    size_t hash;
    std::memcpy(&hash, id.data(), sizeof hash);
    return hash;
  }
};

// What a kernel's code depends on: id, GPU, numbers of axes, dtypes in memory.
std::string code_key(const KernelId& id, const GridLaunch& grid, std::span<const LaunchOperand> operands) {
  std::string key(reinterpret_cast<const char*>(id.data()), id.size());
  for (const int axes : {grid.stored, grid.reduced, grid.rows, grid.columns, grid.guards})
    key += static_cast<char>(axes);
  for (const LaunchOperand& operand : operands) key += static_cast<char>(operand.dtype);
  return key;
}

// For functions that must not raise.
void report(const Error& error) noexcept { std::fprintf(stderr, "%s\n", error.what()); }

struct StreamsInTurn {
  std::vector<int64_t> numbers;
  size_t next = 0;
};

// An optional library on a GPU, looked for when it is first needed.
template <class Library>
struct Optional {
  std::unique_ptr<Library> library;  // null: it is not installed, or does not work
  std::atomic<bool> is_known{false};
};

struct Gpu {
  Ordinal ordinal = 0;
  Handle context = nullptr;
  int processors = 1;
  std::vector<Handle> streams{nullptr};  // by number; the first is the context's default stream
  std::map<int, StreamsInTurn> by_priority;
  std::unordered_map<std::string, Handle> kernels;  // functions by code_key; null: no schedule takes it
  std::atomic<StatusRing*> statuses{nullptr};       // made at the first launch that needs it; never destroyed
  Optional<Products> products;
  Optional<Convolutions> convolutions;
};

struct Marked {
  Handle event = nullptr;
  int64_t stream = 0;
  uint64_t launches = 0;  // of the GPU's kernels that can fail, before the event
  bool is_captured = false;
};

}  // namespace

class Gpus final : public Backend {
 public:
  Gpus(std::unique_ptr<const Driver> driver, int count)
      : driver(std::move(driver)), count_(count), gpus_(static_cast<size_t>(count)), is_blocking_(is_blocking()) {}

  int device_count() override { return count_; }

  uint64_t allocate(Device device, size_t nbytes) override {
    use(device);
    const CaptureMode relaxed(*driver);
    uint64_t address = 0;
    if (const Status status = driver->allocate(&address, nbytes); status == kOutOfMemory) raise_full(device, nbytes);
    else check(status, "cuMemAlloc");
    return address;
  }

  void release(Device device, uint64_t address, size_t) noexcept override {
    if (!is_alive()) return;
    try {
      use(device);
      const CaptureMode relaxed(*driver);
      check(driver->release(address), "cuMemFree");
    } catch (const Error& error) { report(error); }
  }

  void to_host(Device device, void* to, uint64_t from, size_t nbytes) override {
    start_to_host(device, to, from, nbytes);
    finish_stream(device, current_stream(device));
  }
  void from_host(Device device, uint64_t to, const void* from, size_t nbytes) override {
    start_from_host(device, to, from, nbytes);
    finish_stream(device, current_stream(device));
  }
  void start_to_host(Device device, void* to, uint64_t from, size_t nbytes) override {
    check(driver->copy_to_host(to, from, nbytes, stream_of(device)), "cuMemcpyDtoHAsync");
  }
  void start_from_host(Device device, uint64_t to, const void* from, size_t nbytes) override {
    check(driver->copy_from_host(to, from, nbytes, stream_of(device)), "cuMemcpyHtoDAsync");
  }
  void copy_within(Device device, uint64_t to, uint64_t from, size_t nbytes) override {
    check(driver->copy_within(to, from, nbytes, stream_of(device)), "cuMemcpyDtoDAsync");
  }

  void* allocate_pinned(size_t nbytes) override {
    use({DeviceType::CUDA, static_cast<int8_t>(current_device(DeviceType::CUDA))});
    const CaptureMode relaxed(*driver);
    void* address = nullptr;
    check(driver->allocate_host(&address, nbytes, kHostPortable), "cuMemHostAlloc");
    return address;
  }

  bool has_pinned_memory() const override { return true; }
  bool has_generators() const override { return true; }

  bool launches_kernels() const override { return true; }
  bool takes_guards() const override { return true; }
  std::optional<int64_t> launch(const Launch& given) override;
  bool run_op(Device device, OpCall& call) override;
  void note_fallback(const std::string& op, const char* kernel) override { source->log_fallback(op, kernel); }

  void synchronize(Device device) override {
    use(device);
    StatusRing* const statuses = gpu(device).statuses.load(std::memory_order_acquire);
    const uint64_t launches = statuses ? statuses->count() : 0;
    without_interpreter_lock([&] { check(driver->synchronize(), "cuCtxSynchronize"); });
    if (statuses) statuses->raise_failures({}, launches);
  }

  bool has_streams() const override { return true; }
  bool is_alive() const override {
    return !is_child_of_fork.load(std::memory_order_relaxed) && !is_over.load(std::memory_order_relaxed);
  }

  int64_t new_stream(Device device, int priority) override {
    Gpu& own = use(device);
    int least = 0, greatest = 0;
    check(driver->stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
    priority = std::clamp(priority, greatest, least);
    const std::lock_guard lock(mutex);
    StreamsInTurn& known = own.by_priority[priority];
    if (known.numbers.size() == kStreams) return known.numbers[known.next++ % kStreams];
    Handle stream = nullptr;
    check(driver->new_stream(&stream, kStreamNonBlocking, priority), "cuStreamCreateWithPriority");
    own.streams.push_back(stream);
    return known.numbers.emplace_back(static_cast<int64_t>(own.streams.size()) - 1);
  }

  uint64_t record(Device device, int64_t stream) override { return record(device, stream, kEventDisableTiming); }
  uint64_t record_timed(Device device, int64_t stream) override { return record(device, stream, 0); }
  void wait(Device device, int64_t stream, uint64_t event) override {
    const Marked marked = find(event);
    check(driver->stream_waits(stream_of(device, stream), marked.event, 0), "cuStreamWaitEvent");
    if (marked.is_captured) pool->join_capture(device, stream, marked.stream);
  }
  bool is_done(Device device, uint64_t event) override {
    use(device);
    const CaptureMode relaxed(*driver);
    const Status status = driver->query_event(find(event).event);
    if (status != kNotReady) check(status, "cuEventQuery");
    return status == kSuccess;
  }
  void finish(Device device, uint64_t event) override {
    use(device);
    const Marked marked = find(event);
    without_interpreter_lock([&] { check(driver->finish_event(marked.event), "cuEventSynchronize"); });
    if (StatusRing* const statuses = gpu(device).statuses.load(std::memory_order_acquire))
      statuses->raise_failures(marked.stream, marked.launches);
  }
  void outwait(Device device, uint64_t event) override {
    use(device);
    const CaptureMode relaxed(*driver);
    const Handle handle = find(event).event;
    without_interpreter_lock([&] { check(driver->finish_event(handle), "cuEventSynchronize"); });
  }
  double elapsed(Device device, uint64_t first, uint64_t second) override {
    use(device);
    float milliseconds = 0;
    check(driver->elapsed(&milliseconds, find(first).event, find(second).event), "cuEventElapsedTime");
    return milliseconds;
  }
  void drop_event(Device device, uint64_t event) noexcept override {
    if (!is_alive()) return;
    Handle handle = nullptr;
    {
      const std::lock_guard lock(mutex);
      const auto found = events_.find(event);
      if (found == events_.end()) return;
      handle = found->second.event;
      events_.erase(found);
    }
    try {
      use(device);
      check(driver->drop_event(handle), "cuEventDestroy");
    } catch (const Error& error) { report(error); }
  }

  void begin_capture(Device device, int64_t stream, int mode) override {
    const Handle handle = stream_of(device, stream);
    StatusRing& statuses = statuses_of(device);
    check(driver->begin_capture(handle, mode), "cuStreamBeginCapture");
    statuses.begin_capture(stream);
  }
  uint64_t end_capture(Device device, int64_t stream) override;
  void replay(Device device, uint64_t graph, int64_t stream) override;
  void drop_graph(Device device, uint64_t graph) noexcept override;

  // Makes a GPU's context this thread's current one.
  Gpu& use(Device device) {
    const int index = device.index;
    if (active == index) [[likely]]
      return gpus_[static_cast<size_t>(index)];
    return enter(device);
  }

  Handle stream_of(Device device) { return stream_of(device, current_stream(device)); }
  Handle stream_of(Device device, int64_t stream) {
    Gpu& own = use(device);
    if (stream == 0) return nullptr;
    const std::lock_guard lock(mutex);
    if (stream < 0 || stream >= static_cast<int64_t>(own.streams.size()))
      raise(ErrorKind::Value, "%s has no stream %lld", device_name(device).c_str(), static_cast<long long>(stream));
    return own.streams[static_cast<size_t>(stream)];
  }

  Handle load(const std::string& image, const char* name);
  void check(Status status, const char* function) const { driver->check(status, function); }

  const std::unique_ptr<const Driver> driver;

 private:
  struct Captured {
    Handle graph, executable;
    StatusRing::Graph words;
  };

  // Lets this thread call what a capture of its own would forbid.
  class CaptureMode {
   public:
    explicit CaptureMode(const Driver& driver) : driver_(driver) { driver_.exchange_capture_mode(&mode_); }
    ~CaptureMode() { driver_.exchange_capture_mode(&mode_); }
    CaptureMode(const CaptureMode&) = delete;
    CaptureMode& operator=(const CaptureMode&) = delete;

   private:
    const Driver& driver_;
    int mode_ = kCaptureRelaxed;
  };

  Gpu& gpu(Device device) { return gpus_[static_cast<size_t>(device.index)]; }
  Gpu& enter(Device device);
  [[noreturn]] void raise_full(Device device, size_t nbytes);
  const KernelFacts* facts_of(const KernelId& id);
  Handle kernel_for(Device device, const KernelId& id, const GridLaunch& grid, std::span<const LaunchOperand> operands);
  StatusRing& statuses_of(Device device);
  bool multiply(const Launch& launch, const GridLaunch& grid, Handle stream);
  template <class Library, class Make>
  Library* find_optional(Optional<Library>& place, const char* name, Make&& make);

  uint64_t record(Device device, int64_t stream, unsigned flags) {
    const Handle handle = stream_of(device, stream);
    const StatusRing* const statuses = gpu(device).statuses.load(std::memory_order_acquire);
    Marked marked{nullptr, stream, statuses ? statuses->count() : 0, pool->capture_of(device, stream).has_value()};
    check(driver->new_event(&marked.event, flags), "cuEventCreate");
    std::unique_ptr<void, Status (*)(Handle)> owned(marked.event, driver->drop_event);
    check(driver->record(marked.event, handle), "cuEventRecord");
    const std::lock_guard lock(mutex);
    events_.emplace(++last_event_, marked);
    static_cast<void>(owned.release());
    return last_event_;
  }

  Marked find(uint64_t event) {
    const std::lock_guard lock(mutex);
    const auto found = events_.find(event);
    if (found == events_.end())
      raise(ErrorKind::Value, "there is no event %llu", static_cast<unsigned long long>(event));
    return found->second;
  }

  void finish_stream(Device device, int64_t stream) {
    const Handle handle = stream_of(device, stream);
    StatusRing* const statuses = gpu(device).statuses.load(std::memory_order_acquire);
    const uint64_t launches = statuses ? statuses->count() : 0;
    without_interpreter_lock([&] { check(driver->finish_stream(handle), "cuStreamSynchronize"); });
    if (statuses) statuses->raise_failures(stream, launches);
  }

  const int count_;
  std::vector<Gpu> gpus_;
  std::unordered_map<KernelId, std::optional<KernelFacts>, IdHash> facts_;
  std::unordered_map<uint64_t, Marked> events_;
  std::unordered_map<uint64_t, Captured> graphs_;
  uint64_t last_event_ = 0, last_graph_ = 0;
  const bool is_blocking_;
};

Gpu& Gpus::enter(Device device) {
  if (is_child_of_fork.load(std::memory_order_relaxed))
    raise(ErrorKind::Runtime,
          "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
          "start method");
  Gpu& own = gpu(device);
  const std::lock_guard lock(mutex);
  if (!own.context) {
    check(driver->device(&own.ordinal, device.index), "cuDeviceGet");
    int major = 0, minor = 0;
    check(driver->attribute(&major, Attribute::Major, own.ordinal), "cuDeviceGetAttribute");
    check(driver->attribute(&minor, Attribute::Minor, own.ordinal), "cuDeviceGetAttribute");
    if (major < 8)
      raise(ErrorKind::Runtime, "%s has compute capability %d.%d; kernels need 8.0 or later",
            device_name(device).c_str(), major, minor);
    check(driver->attribute(&own.processors, Attribute::Multiprocessors, own.ordinal), "cuDeviceGetAttribute");
    check(driver->retain_context(&own.context, own.ordinal), "cuDevicePrimaryCtxRetain");
  }
  check(driver->set_context(own.context), "cuCtxSetCurrent");
  active = device.index;
  return own;
}

void Gpus::raise_full(Device device, size_t nbytes) {
  MemoryInfo info{};
  driver->memory_info(&info.unused, &info.total);
  constexpr double kMiB = 1 << 20;
  char text[256];
  std::snprintf(text, sizeof text,
                "CUDA out of memory. Tried to allocate %.2f MiB. %s has a total capacity of %.2f MiB of which %.2f MiB "
                "is free.",
                static_cast<double>(nbytes) / kMiB, device_name(device).c_str(), static_cast<double>(info.total) / kMiB,
                static_cast<double>(info.unused) / kMiB);
  throw DeviceMemoryError(text);
}

const KernelFacts* Gpus::facts_of(const KernelId& id) {
  {
    const std::lock_guard lock(mutex);
    if (const auto known = facts_.find(id); known != facts_.end()) return known->second ? &*known->second : nullptr;
  }
  std::optional<KernelFacts> found = source->facts(id);
  const std::lock_guard lock(mutex);
  const auto& stored = facts_.emplace(id, std::move(found)).first->second;
  return stored ? &*stored : nullptr;
}

Handle Gpus::load(const std::string& image, const char* name) {
  const CaptureMode relaxed(*driver);
  std::vector<char> log(kLogBytes);
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes)};
  Handle module = nullptr, function = nullptr;
  const Status status = driver->load_module(&module, image.c_str(), 2, options, values);
  if (status != kSuccess && log[0])
    raise(ErrorKind::Runtime, "CUDA error: the driver refuses a kernel (%d):\n%s", status, log.data());
  check(status, "cuModuleLoadDataEx");
  check(driver->kernel_of_module(&function, module, name), "cuModuleGetFunction");
  return function;
}

Handle Gpus::kernel_for(Device device, const KernelId& id, const GridLaunch& grid,
                        std::span<const LaunchOperand> operands) {
  Gpu& own = gpu(device);
  std::string key = code_key(id, grid, operands);
  {
    const std::lock_guard lock(mutex);
    if (const auto known = own.kernels.find(key); known != own.kernels.end()) return known->second;
  }
  const std::string image = source->image(id, grid, operands, device.index);
  const Handle function = image.empty() ? nullptr : load(image, "kernel");
  const std::lock_guard lock(mutex);
  return own.kernels.emplace(std::move(key), function).first->second;
}

StatusRing& Gpus::statuses_of(Device device) {
  Gpu& own = gpu(device);
  if (StatusRing* const known = own.statuses.load(std::memory_order_acquire)) [[likely]]
    return *known;
  const std::lock_guard lock(mutex);
  if (!own.statuses.load(std::memory_order_relaxed)) {
    const CaptureMode relaxed(*driver);
    own.statuses.store(new StatusRing(*driver, device), std::memory_order_release);
  }
  return *own.statuses.load(std::memory_order_relaxed);
}

// Null: the library is not installed, or does not work on this GPU.
template <class Library, class Make>
Library* Gpus::find_optional(Optional<Library>& place, const char* name, Make&& make) {
  if (!place.is_known.load(std::memory_order_acquire)) {
    const std::string path = source->find_library(name);  // takes the interpreter's lock: before `mutex`
    std::string why_not;
    {
      const std::lock_guard lock(mutex);
      if (place.is_known.load(std::memory_order_relaxed)) return place.library.get();
      try {
        if (!path.empty()) place.library = make(path);
      } catch (const UnusableLibrary& error) { why_not = error.what(); }
      place.is_known.store(true, std::memory_order_release);
    }
    if (!why_not.empty()) warn("%s; the project's kernels run in its place from now on", why_not.c_str());
  }
  return place.library.get();
}

// By cuBLASLt, if it is installed and takes the product.
bool Gpus::multiply(const Launch& launch, const GridLaunch& grid, Handle stream) {
  if (must_be_deterministic.load(std::memory_order_relaxed)) return false;
  const CaptureMode relaxed(*driver);
  Products* const products = find_optional(gpu(launch.device).products, "cublasLt",
                                           [](const std::string& path) { return std::make_unique<Products>(path); });
  return products && products->run(launch, grid, stream);
}

// By cuDNN, if it is installed and takes the convolution.
bool Gpus::run_op(Device device, OpCall& call) {
  if (!form_of(*call.op) || !cudnn_settings.is_enabled.load(std::memory_order_relaxed)) return false;
  Gpu& own = use(device);
  const CaptureMode relaxed(*driver);
  Convolutions* const convolutions = find_optional(own.convolutions, "cudnn", [&](const std::string& path) {
    return std::make_unique<Convolutions>(path, *this, device);
  });
  if (!convolutions) return false;
  device_derivative.store(convolution_gradient, std::memory_order_relaxed);
  if (!convolutions->run(call)) return false;
  launches.fetch_add(1, std::memory_order_relaxed);
  source->log_library("cudnn", call.op->qualified_name, device);
  if (is_blocking_) finish_stream(device, current_stream(device));
  return true;
}

std::optional<int64_t> Gpus::launch(const Launch& given) {
  Gpu& own = use(given.device);
  const KernelFacts* const facts = facts_of(given.kernel.id);
  if (!facts) return std::nullopt;
  GridLaunch grid = place_on_grid(*facts, given, 0);
  const int64_t stream = current_stream(given.device);
  const Handle handle = stream_of(given.device, stream);
  if (facts->form == GridForm::Gemm && multiply(given, grid, handle)) {
    source->log_launch(given, false);
    if (is_blocking_) finish_stream(given.device, stream);
    return 0;
  }
  const Handle kernel = grid.is_too_deep ? nullptr : kernel_for(given.device, given.kernel.id, grid, given.operands);
  source->log_launch(given, !kernel);
  if (!kernel) return std::nullopt;
  std::optional<StatusRing::Word> status;
  if (facts->can_fail) grid.words[given.operands.size()] = status.emplace(statuses_of(given.device)).address();
  std::vector<void*> arguments(grid.words.size());
  for (size_t k = 0; k < arguments.size(); ++k) arguments[k] = &grid.words[k];
  // A block takes a row, a reduction, a scan or a tile of products; a thread an element of the others.
  const bool is_block_each = facts->form != GridForm::Map && facts->form != GridForm::Nest;
  const int64_t wanted = is_block_each ? grid.points : (grid.points + kThreads - 1) / kThreads;
  const int64_t most = int64_t{own.processors} * kBlocksPerProcessor;
  check(driver->launch(kernel, static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, most)), 1, 1, kThreads, 1, 1, 0,
                       handle, arguments.data(), nullptr),
        "cuLaunchKernel");
  if (status) status->publish(stream, given.op, pool->capture_of(given.device, stream));
  if (is_blocking_) finish_stream(given.device, stream);
  return 0;
}

uint64_t Gpus::end_capture(Device device, int64_t stream) {
  const Handle handle = stream_of(device, stream);
  Captured captured{};
  captured.words = statuses_of(device).end_capture(stream);
  check(driver->end_capture(handle, &captured.graph), "cuStreamEndCapture");
  std::unique_ptr<void, Status (*)(Handle)> owned(captured.graph, driver->drop_graph);
  check(driver->make_executable(&captured.executable, captured.graph, 0), "cuGraphInstantiateWithFlags");
  static_cast<void>(owned.release());
  const std::lock_guard lock(mutex);
  graphs_.emplace(++last_graph_, std::move(captured));
  return last_graph_;
}

void Gpus::replay(Device device, uint64_t graph, int64_t stream) {
  const Handle handle = stream_of(device, stream);
  Handle executable = nullptr;
  StatusRing::Graph words;
  {
    const std::lock_guard lock(mutex);
    const auto found = graphs_.find(graph);
    if (found == graphs_.end())
      raise(ErrorKind::Value, "there is no graph %llu", static_cast<unsigned long long>(graph));
    executable = found->second.executable;
    words = found->second.words;
  }
  check(driver->launch_graph(executable, handle), "cuGraphLaunch");
  statuses_of(device).repeat(words, stream);
}

void Gpus::drop_graph(Device device, uint64_t graph) noexcept {
  if (!is_alive()) return;
  try {
    use(device);
    Captured captured{};
    {
      const std::lock_guard lock(mutex);
      const auto found = graphs_.find(graph);
      if (found == graphs_.end()) return;
      captured = std::move(found->second);
      graphs_.erase(found);
    }
    check(driver->drop_executable(captured.executable), "cuGraphExecDestroy");
    check(driver->drop_graph(captured.graph), "cuGraphDestroy");
  } catch (const Error& error) { report(error); }
}

namespace {

FoundBackend find_backend_of_gpus() {
  FoundDriver found = find_driver();
  if (!found.driver) return {nullptr, std::move(found.why_not), {}};
  at_fork(nullptr, nullptr, [] { is_child_of_fork.store(true, std::memory_order_relaxed), active = -1; });
  std::atexit([] { is_over.store(true, std::memory_order_relaxed); });  // before the driver's own handlers
  auto made = std::make_unique<Gpus>(std::move(found.driver), std::min(found.device_count, INT8_MAX));
  gpus.store(made.get(), std::memory_order_release);
  serve_ops_on(DeviceType::CUDA);
  return {std::move(made), {}, kPool};
}

Gpus& required() {
  static_cast<void>(backend_of({DeviceType::CUDA, 0}));
  return *find_gpus();
}

Device gpu_named(int number) {
  if (number > INT8_MAX) raise(ErrorKind::Runtime, "invalid device ordinal: there is no GPU %d", number);
  return with_index({DeviceType::CUDA, static_cast<int8_t>(std::max(number, -1))});  // negative: the current one
}

}  // namespace

void install(KernelSource& given) {
  source = &given;
  find_cuda_with(find_backend_of_gpus);
}

Gpus* find_gpus() { return find_backend(DeviceType::CUDA) ? gpus.load(std::memory_order_acquire) : nullptr; }

int driver_version() { return required().driver->version; }

Properties properties_of(int number) {
  Gpus& all = required();
  const Device device = gpu_named(number);
  Ordinal ordinal = 0;
  all.check(all.driver->device(&ordinal, device.index), "cuDeviceGet");
  Properties found{};
  char name[256] = {};
  all.check(all.driver->device_name(name, sizeof name, ordinal), "cuDeviceGetName");
  found.name = name;
  all.check(all.driver->device_uuid(found.uuid, ordinal), "cuDeviceGetUuid");
  all.check(all.driver->total_memory(&found.total_memory, ordinal), "cuDeviceTotalMem");
  const auto ask = [&](Attribute attribute) {
    int value = 0;
    all.check(all.driver->attribute(&value, attribute, ordinal), "cuDeviceGetAttribute");
    return value;
  };
  found.major = ask(Attribute::Major);
  found.minor = ask(Attribute::Minor);
  found.multiprocessors = ask(Attribute::Multiprocessors);
  found.threads_per_multiprocessor = ask(Attribute::ThreadsPerMultiprocessor);
  found.warp_size = ask(Attribute::WarpSize);
  found.shared_bytes = ask(Attribute::SharedBytesPerBlock);
  found.shared_bytes_per_multiprocessor = ask(Attribute::SharedBytesPerMultiprocessor);
  found.shared_bytes_opt_in = ask(Attribute::SharedBytesOptIn);
  found.registers_per_multiprocessor = ask(Attribute::RegistersPerMultiprocessor);
  found.l2_bytes = ask(Attribute::L2Bytes);
  found.clock_rate = ask(Attribute::ClockRate);
  found.memory_clock_rate = ask(Attribute::MemoryClockRate);
  found.memory_bus_width = ask(Attribute::MemoryBusWidth);
  found.is_integrated = ask(Attribute::Integrated) != 0;
  return found;
}

MemoryInfo memory_of(int number) {
  Gpus& all = required();
  all.use(gpu_named(number));
  MemoryInfo info{};
  all.check(all.driver->memory_info(&info.unused, &info.total), "cuMemGetInfo");
  return info;
}

bool can_access_peer(int number, int peer) {
  Gpus& all = required();
  int can = 0;
  all.check(all.driver->can_access_peer(&can, all.use(gpu_named(number)).ordinal, all.use(gpu_named(peer)).ordinal),
            "cuDeviceCanAccessPeer");
  return can != 0;
}

void* stream_handle(int number, int64_t stream) { return required().stream_of(gpu_named(number), stream); }

std::string link_ptx(int number, const std::string& ptx) {
  Gpus& all = required();
  all.use(gpu_named(number));
  const Driver& driver = *all.driver;
  std::vector<char> log(kLogBytes);
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes)};
  Handle link = nullptr;
  all.check(driver.new_link(2, options, values, &link), "cuLinkCreate");
  const std::unique_ptr<void, Status (*)(Handle)> owned(link, driver.drop_link);
  Status status = driver.add_to_link(link, kInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1, "kernel.ptx", 0,
                                     nullptr, nullptr);
  void* image = nullptr;
  size_t nbytes = 0;
  if (status == kSuccess) status = driver.finish_link(link, &image, &nbytes);
  if (status != kSuccess && log[0])
    raise(ErrorKind::Runtime, "CUDA error: the driver refuses PTX (%d):\n%s", status, log.data());
  all.check(status, "cuLinkComplete");
  return {static_cast<const char*>(image), nbytes};
}

UserKernel load_kernel(int number, const std::string& image, const char* name) {
  Gpus& all = required();
  const Device device = gpu_named(number);
  all.use(device);
  return {all.load(image, name), device.index};
}

void allow_shared(const UserKernel& kernel, int nbytes) {
  Gpus& all = required();
  all.use(gpu_named(kernel.gpu));
  all.check(all.driver->set_attribute(kernel.function, kDynamicSharedBytes, nbytes), "cuFuncSetAttribute");
}

void launch_kernel(const UserKernel& kernel, const Grid& grid, std::span<uint64_t> words) {
  Gpus& all = required();
  const Device device = gpu_named(kernel.gpu);
  std::vector<void*> arguments;
  for (uint64_t& word : words) arguments.push_back(&word);
  const auto& [bx, by, bz] = grid.blocks;
  const auto& [tx, ty, tz] = grid.threads;
  all.check(all.driver->launch(kernel.function, bx, by, bz, tx, ty, tz, grid.shared_bytes, all.stream_of(device),
                               arguments.data(), nullptr),
            "cuLaunchKernel");
}

}  // namespace pellucid::cuda

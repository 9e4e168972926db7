// A stand-in for libcuda.so.1: the functions that runtime/cuda/driver.h loads, over the host's memory.
//
// Work runs as late as a GPU may run it: a stream's copies and kernels are queued, and run when something waits for
// them. Whoever forgets to wait reads old bytes. Kernels run through `runner`, which a test installs: it is given the
// first line of the PTX, which names the kernel, and the arguments. What a real driver refuses is refused with its
// number: no current context, addresses outside of blocks, wrong numbers of arguments, waiting while capturing.
//
// STANDIN="count=2 version=12040 memory=1000000 major=9 without=cuGraphLaunch" sets it up; `standin_fail` makes a call
// fail; `standin_log` has all calls since the last time.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101;
constexpr int kInvalidContext = 201, kInvalidPtx = 218, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600;
constexpr int kLaunchFailed = 719, kCaptureUnsupported = 900, kCaptureInvalidated = 901;
constexpr size_t kAlignment = 512;

using Runner = int (*)(const char* label, uint64_t* words, int num_words, const unsigned* grid);

struct Kernel {
  std::string label;
  int num_words;
  unsigned shared_bytes = 48 << 10;
};
using Work = std::function<int()>;
struct Graph {
  std::vector<Work> work;
  bool is_invalid = false;
  int mode = 0;  // of its capture
};
struct Stream {
  std::deque<Work> queue;
  uint64_t queued = 0, done = 0;
  bool is_running = false;
  Graph* graph = nullptr;  // while captured
};
struct Event {
  Stream* stream = nullptr;
  uint64_t at = 0;
  Graph* graph = nullptr;
  bool is_timed = false;
};

std::mutex mutex;
std::condition_variable changed;
std::map<std::string, std::string> options;
std::map<std::string, std::pair<int, int>> failures;  // function: status, calls until then
std::ostringstream calls;
std::map<uint64_t, std::pair<size_t, int>> blocks;  // address: bytes, device (-1: the host's)
std::vector<size_t> used(8);
std::map<int, Stream> default_streams;
std::vector<std::unique_ptr<Stream>> made_streams;
std::set<void*> contexts;
Runner runner;
int sticky;  // an error after which a real context is unusable
bool is_initialized;
thread_local int context = -1;
thread_local int capture_mode = 0;
thread_local int captures = 0;  // begun by this thread, unless relaxed
int global_captures = 0;

int option(const char* name, int otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::atoi(found->second.c_str());
}

struct Start {
  Start() {
    const char* const text = std::getenv("STANDIN");
    std::istringstream words(text ? text : "");
    for (std::string word; words >> word;) options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
} start;

// The status that a call begins with, after noting it.
template <class... Arguments>
int begin(const char* name, bool needs_context, Arguments... arguments) {
  calls << name;
  ((calls << ' ' << arguments), ...);
  calls << '\n';
  const auto failing = failures.find(name);
  if (failing != failures.end() && failing->second.second-- == 0) {
    const int status = failing->second.first;
    failures.erase(failing);
    return status;
  }
  if (sticky) return sticky;
  if (!is_initialized) return kNotInitialized;
  return needs_context && context < 0 ? kInvalidContext : 0;
}

#define BEGIN(...)                          \
  std::unique_lock<std::mutex> lock(mutex); \
  if (const int status = begin(__VA_ARGS__)) return status

Stream& stream_of(void* handle) { return handle ? *static_cast<Stream*>(handle) : default_streams[context]; }

bool is_inside(uint64_t address, size_t nbytes, int device) {
  auto block = blocks.upper_bound(address);
  if (block == blocks.begin()) return false;
  --block;
  return block->second.second == device && address + nbytes <= block->first + block->second.first;
}

// Runs a stream's work up to a number. `lock` is released while work runs, which may need the interpreter.
int run(std::unique_lock<std::mutex>& lock, Stream& stream, uint64_t until) {
  while (stream.done < until) {
    if (stream.is_running) {
      changed.wait(lock);
      continue;
    }
    Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.is_running = true;
    lock.unlock();
    const int status = work();
    lock.lock();
    stream.is_running = false;
    ++stream.done;
    changed.notify_all();
    if (status && !sticky) sticky = status;
  }
  return sticky;
}

int run_all(std::unique_lock<std::mutex>& lock, Stream& stream) { return run(lock, stream, stream.queued); }

void add(Stream& stream, Work work) {
  if (stream.graph) {
    stream.graph->work.push_back(std::move(work));
    return;
  }
  stream.queue.push_back(std::move(work));
  ++stream.queued;
}

std::vector<Stream*> streams_of_all() {
  std::vector<Stream*> all;
  for (auto& [device, stream] : default_streams) all.push_back(&stream);
  for (auto& stream : made_streams) all.push_back(stream.get());
  return all;
}

// A call that could disturb a capture.
bool is_forbidden() { return capture_mode != 2 && (captures > 0 || (!capture_mode && global_captures > 0)); }

// A call that waits for a stream; such a call ends its capture.
int refuse_capture(Stream& stream) {
  if (!stream.graph) return 0;
  stream.graph->is_invalid = true;
  return kCaptureUnsupported;
}

std::string first_line(const char* image) { return std::string(image, std::strcspn(image, "\n")); }

}  // namespace

EXPORT void standin_run_with(Runner given) { runner = given; }
EXPORT void standin_fail(const char* function, int status, int after) { failures[function] = {status, after}; }
EXPORT const char* standin_log() {
  static std::string text;
  const std::lock_guard<std::mutex> lock(mutex);
  text = calls.str();
  calls.str("");
  return text.c_str();
}
// The blocks in use as pairs of addresses: all of a GPU's memory that a kernel may touch.
EXPORT int standin_ranges(uint64_t* into, int most) {
  const std::lock_guard<std::mutex> lock(mutex);
  int count = 0;
  for (const auto& [address, block] : blocks) {
    if (count + 2 > most) break;
    into[count++] = address;
    into[count++] = address + block.first;
  }
  return count;
}

EXPORT int cuInit(unsigned) {
  const std::lock_guard<std::mutex> lock(mutex);
  is_initialized = true;
  if (const int status = option("init", 0)) return status;
  return option("count", 1) ? begin("cuInit", false) : kNoDevice;
}
EXPORT int cuDriverGetVersion(int* version) { return *version = option("version", 12040), 0; }
EXPORT int cuGetErrorName(int status, const char** text) {
  static thread_local std::string name;
  name = status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_" + std::to_string(status);
  return *text = name.c_str(), 0;
}
EXPORT int cuGetErrorString(int status, const char** text) {
  *text = status == kOutOfMemory          ? "out of memory"
          : status == kLaunchFailed       ? "unspecified launch failure"
          : status == kCaptureUnsupported ? "operation not permitted when stream is capturing"
                                          : "a stand-in error";
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) { return *count = option("count", 1), 0; }
EXPORT int cuDeviceGet(int* device, int number) {
  BEGIN("cuDeviceGet", false, number);
  return *device = number, number < option("count", 1) ? 0 : kInvalidDevice;
}
EXPORT int cuDeviceGetName(char* text, int size, int device) {
  return std::snprintf(text, size, "Stand-in %d", device), 0;
}
EXPORT int cuDeviceGetUuid(unsigned char* uuid, int device) { return std::memset(uuid, 0x10 + device, 16), 0; }
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  const std::map<int, int> known{
      {1, 1024},     {8, 49152},  {10, 32},      {13, 1500000}, {16, option("processors", 4)}, {18, 0},
      {36, 2000000}, {37, 512},   {38, 1 << 20}, {39, 2048},    {75, option("major", 9)},      {76, option("minor", 0)},
      {81, 102400},  {82, 65536}, {97, 101376}};
  const auto found = known.find(attribute);
  return found == known.end() ? kInvalidValue : (*value = found->second, 0);
}
EXPORT int cuDeviceTotalMem_v2(size_t* nbytes, int) { return *nbytes = option("memory", 1 << 30), 0; }
EXPORT int cuDeviceCanAccessPeer(int* can, int device, int peer) { return *can = device != peer, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void** made, int device) {
  BEGIN("cuDevicePrimaryCtxRetain", false, device);
  *made = reinterpret_cast<void*>(intptr_t{0x1000} + device);
  return contexts.insert(*made), 0;
}
EXPORT int cuCtxSetCurrent(void* given) {
  BEGIN("cuCtxSetCurrent", false, given);
  if (!contexts.count(given)) return kInvalidContext;
  return context = static_cast<int>(reinterpret_cast<intptr_t>(given) - 0x1000), 0;
}
EXPORT int cuCtxSynchronize() {
  BEGIN("cuCtxSynchronize", true);
  if (is_forbidden()) return kCaptureUnsupported;
  for (Stream* stream : streams_of_all())
    if (const int status = run_all(lock, *stream)) return status;
  return 0;
}
EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, 0; }

EXPORT int cuMemGetInfo_v2(size_t* unused, size_t* total) {
  BEGIN("cuMemGetInfo", true);
  *total = static_cast<size_t>(option("memory", 1 << 30));
  return *unused = *total - used[static_cast<size_t>(context)], 0;
}
EXPORT int cuMemAlloc_v2(uint64_t* address, size_t nbytes) {
  BEGIN("cuMemAlloc", true, nbytes);
  if (is_forbidden()) return kCaptureUnsupported;
  if (!nbytes) return kInvalidValue;
  size_t& taken = used[static_cast<size_t>(context)];
  if (taken + nbytes > static_cast<size_t>(option("memory", 1 << 30))) return kOutOfMemory;
  taken += nbytes;
  void* const made = std::aligned_alloc(kAlignment, (nbytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memset(made, 0xA5, nbytes);
  *address = reinterpret_cast<uint64_t>(made);
  return blocks[*address] = {nbytes, context}, 0;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  BEGIN("cuMemFree", true, address);
  if (is_forbidden()) return kCaptureUnsupported;
  const auto block = blocks.find(address);
  if (block == blocks.end() || block->second.second != context) return kInvalidValue;
  for (Stream* stream : streams_of_all())  // as the real one does
    if (const int status = run_all(lock, *stream)) return status;
  used[static_cast<size_t>(context)] -= block->second.first;
  std::free(reinterpret_cast<void*>(address));
  return blocks.erase(block), 0;
}
EXPORT int cuMemHostAlloc(void** address, size_t nbytes, unsigned flags) {
  BEGIN("cuMemHostAlloc", true, nbytes, flags);
  if (is_forbidden()) return kCaptureUnsupported;
  *address = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
  std::memset(*address, 0xA5, nbytes);
  return blocks[reinterpret_cast<uint64_t>(*address)] = {nbytes, -1}, 0;
}
// Pageable memory is read before the call returns, pinned memory when the copy runs.
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t nbytes, void* handle) {
  const bool is_pinned = is_inside(reinterpret_cast<uint64_t>(from), nbytes, -1);
  BEGIN("cuMemcpyHtoDAsync", true, nbytes, handle, is_pinned ? "pinned" : "pageable");
  if (!is_inside(to, nbytes, context)) return kInvalidValue;
  std::shared_ptr<std::vector<char>> staged;
  if (!is_pinned)
    staged =
        std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + nbytes);
  add(stream_of(handle),
      [=] { return std::memcpy(reinterpret_cast<void*>(to), staged ? staged->data() : from, nbytes), 0; });
  return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t nbytes, void* handle) {
  const bool is_pinned = is_inside(reinterpret_cast<uint64_t>(to), nbytes, -1);
  BEGIN("cuMemcpyDtoHAsync", true, nbytes, handle, is_pinned ? "pinned" : "pageable");
  if (!is_inside(from, nbytes, context)) return kInvalidValue;
  add(stream_of(handle), [=] { return std::memcpy(to, reinterpret_cast<void*>(from), nbytes), 0; });
  return 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t nbytes, void* handle) {
  BEGIN("cuMemcpyDtoDAsync", true, nbytes, handle);
  if (!is_inside(from, nbytes, context) || !is_inside(to, nbytes, context)) return kInvalidValue;
  add(stream_of(handle),
      [=] { return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), nbytes), 0; });
  return 0;
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t nbytes, void* handle) {
  BEGIN("cuMemsetD8Async", true, nbytes, handle);
  if (!is_inside(to, nbytes, context)) return kInvalidValue;
  add(stream_of(handle), [=] { return std::memset(reinterpret_cast<void*>(to), byte, nbytes), 0; });
  return 0;
}

EXPORT int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  BEGIN("cuStreamCreateWithPriority", true, flags, priority);
  made_streams.push_back(std::make_unique<Stream>());
  return *stream = made_streams.back().get(), 0;
}
EXPORT int cuStreamSynchronize(void* handle) {
  BEGIN("cuStreamSynchronize", true, handle);
  Stream& stream = stream_of(handle);
  if (const int status = refuse_capture(stream)) return status;
  return run_all(lock, stream);
}
EXPORT int cuStreamWaitEvent(void* handle, void* event, unsigned) {
  BEGIN("cuStreamWaitEvent", true, handle, event);
  Stream& stream = stream_of(handle);
  const Event& awaited = *static_cast<Event*>(event);
  if (awaited.graph) return stream.graph = awaited.graph, 0;  // joins the capture
  if (stream.graph) return kCaptureUnsupported;
  if (!awaited.stream) return 0;
  Stream* const other = awaited.stream;
  const uint64_t at = awaited.at;
  add(stream, [other, at] {
    std::unique_lock<std::mutex> inner(mutex);
    return run(inner, *other, at);
  });
  return 0;
}
EXPORT int cuEventCreate(void** event, unsigned flags) {
  BEGIN("cuEventCreate", true, flags);
  return *event = new Event{nullptr, 0, nullptr, !(flags & 2)}, 0;
}
EXPORT int cuEventRecord(void* event, void* handle) {
  BEGIN("cuEventRecord", true, event, handle);
  Stream& stream = stream_of(handle);
  auto& marked = *static_cast<Event*>(event);
  marked = {&stream, stream.queued, stream.graph, marked.is_timed};
  return 0;
}
EXPORT int cuEventQuery(void* event) {
  BEGIN("cuEventQuery", true, event);
  if (is_forbidden()) return kCaptureUnsupported;
  const Event& asked = *static_cast<Event*>(event);
  if (asked.graph) return kCaptureUnsupported;
  if (!asked.stream || asked.stream->done >= asked.at) return 0;
  const int status = run(lock, *asked.stream, asked.stream->done + 1);  // time passes
  return status ? status : kNotReady;
}
EXPORT int cuEventSynchronize(void* event) {
  BEGIN("cuEventSynchronize", true, event);
  if (is_forbidden()) return kCaptureUnsupported;
  const Event asked = *static_cast<Event*>(event);
  if (asked.graph) return kCaptureUnsupported;
  return asked.stream ? run(lock, *asked.stream, asked.at) : 0;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
  BEGIN("cuEventElapsedTime", true, first, second);
  const Event &from = *static_cast<Event*>(first), &to = *static_cast<Event*>(second);
  if (!from.stream || !to.stream || !from.is_timed || !to.is_timed) return kInvalidHandle;
  if (to.stream->done < to.at) return kNotReady;
  return *milliseconds = static_cast<float>(to.at - from.at), 0;  // a millisecond for each piece of work
}
EXPORT int cuEventDestroy_v2(void* event) {
  BEGIN("cuEventDestroy", true, event);
  return delete static_cast<Event*>(event), 0;
}

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values) {
  BEGIN("cuModuleLoadDataEx", true, first_line(static_cast<const char*>(image)));
  if (is_forbidden()) return kCaptureUnsupported;
  const char* const text = static_cast<const char*>(image);
  if (!std::strstr(text, ".version") || !std::strstr(text, ".target sm_")) {
    for (unsigned k = 0; k < count; ++k)
      if (options[k] == 5) std::strcpy(static_cast<char*>(values[k]), "ptxas: no .version");
    return kInvalidPtx;
  }
  return *module = new std::string(text), 0;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  BEGIN("cuModuleGetFunction", true, name);
  const std::string& text = *static_cast<std::string*>(module);
  const size_t at = text.find(".entry " + std::string(name) + "(");
  if (at == std::string::npos) return kNotFound;
  const std::string head = text.substr(at, text.find(")", at) - at);
  int parameters = 0;
  for (size_t k = head.find(".param"); k != std::string::npos; k = head.find(".param", k + 1)) ++parameters;
  return *function = new Kernel{first_line(text.c_str()), parameters}, 0;
}
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  BEGIN("cuFuncSetAttribute", true, attribute, value);
  if (attribute != 8 || value > 101376) return kInvalidValue;
  return static_cast<Kernel*>(function)->shared_bytes = static_cast<unsigned>(value), 0;
}
EXPORT int cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  BEGIN("cuLinkCreate", true);
  return *link = new std::string, 0;
}
EXPORT int cuLinkAddData_v2(void* link, int type, void* data, size_t nbytes, const char*, unsigned, int*, void**) {
  BEGIN("cuLinkAddData", true, type, nbytes);
  if (type != 1 || static_cast<char*>(data)[nbytes - 1]) return kInvalidValue;
  return *static_cast<std::string*>(link) = static_cast<char*>(data), 0;
}
EXPORT int cuLinkComplete(void* link, void** image, size_t* nbytes) {
  BEGIN("cuLinkComplete", true);
  std::string& text = *static_cast<std::string*>(link);
  return *image = text.data(), *nbytes = text.size() + 1, 0;
}
EXPORT int cuLinkDestroy(void* link) { return delete static_cast<std::string*>(link), 0; }
EXPORT int cuLaunchKernel(void* function, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz,
                          unsigned shared, void* handle, void** arguments, void** extra) {
  const Kernel& kernel = *static_cast<Kernel*>(function);
  BEGIN("cuLaunchKernel", true, kernel.label, bx, tx, handle);
  const std::vector<unsigned> grid{bx, by, bz, tx, ty, tz, shared};
  const bool is_empty = !bx || !by || !bz || !tx || !ty || !tz;
  if (is_empty || uint64_t{tx} * ty * tz > 1024 || shared > kernel.shared_bytes || extra) return kInvalidValue;
  std::vector<uint64_t> words;
  for (int k = 0; k < kernel.num_words; ++k) words.push_back(*static_cast<uint64_t*>(arguments[k]));
  add(stream_of(handle), [label = kernel.label, words, grid]() mutable {
    return runner ? runner(label.c_str(), words.data(), static_cast<int>(words.size()), grid.data()) : kLaunchFailed;
  });
  return 0;
}
EXPORT int cuLaunchHostFunc(void* handle, void (*function)(void*), void* given) {
  BEGIN("cuLaunchHostFunc", true, handle);
  add(stream_of(handle), [=] { return function(given), 0; });
  return 0;
}

EXPORT int cuStreamBeginCapture_v2(void* handle, int mode) {
  BEGIN("cuStreamBeginCapture", true, handle, mode);
  if (!handle) return kCaptureUnsupported;  // the default stream cannot be captured
  Stream& stream = stream_of(handle);
  if (stream.graph) return kInvalidValue;
  stream.graph = new Graph;
  stream.graph->mode = mode;
  captures += mode != 2;
  global_captures += !mode;
  return 0;
}
EXPORT int cuStreamEndCapture(void* handle, void** graph) {
  BEGIN("cuStreamEndCapture", true, handle);
  Graph* const ended = stream_of(handle).graph;
  if (!ended) return kInvalidValue;
  for (Stream* stream : streams_of_all())
    if (stream->graph == ended) stream->graph = nullptr;
  captures -= ended->mode != 2;
  global_captures -= !ended->mode;
  if (ended->is_invalid) return delete ended, *graph = nullptr, kCaptureInvalidated;
  return *graph = ended, 0;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) { return std::swap(*mode, capture_mode), 0; }
EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  BEGIN("cuGraphInstantiate", true);
  return *executable = new Graph(*static_cast<Graph*>(graph)), 0;
}
EXPORT int cuGraphLaunch(void* executable, void* handle) {
  BEGIN("cuGraphLaunch", true, handle);
  for (const Work& work : static_cast<Graph*>(executable)->work) add(stream_of(handle), work);
  return 0;
}
EXPORT int cuGraphExecDestroy(void* executable) {
  BEGIN("cuGraphExecDestroy", true);
  return delete static_cast<Graph*>(executable), 0;
}
EXPORT int cuGraphDestroy(void* graph) {
  BEGIN("cuGraphDestroy", true);
  return delete static_cast<Graph*>(graph), 0;
}

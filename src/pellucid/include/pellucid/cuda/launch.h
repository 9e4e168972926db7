// Kernels as functions that the emulator enters, and launches from C++: kernel<<<grid, block>>>(...).
//
// A launch goes to Python (pellucid/devices/cuda_kernels.py), which runs the kernel on a GPU or on the emulator.
#pragma once

#include <link.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "pellucid/cuda/functions.h"
#include "pellucid/cuda/signature.h"

namespace pellucid {
namespace cuda {

// Finds the memory of the library that has this header, when it is first asked.
PELLUCID_HIDDEN inline thread_local char first_of_block = 0;
PELLUCID_OWN inline int find_places(dl_phdr_info* library, size_t, void* into) {
  const auto* const own = reinterpret_cast<const char*>(&places);
  Places found{};
  size_t shared_bytes = 0;
  for (int k = 0; k < library->dlpi_phnum; ++k) {
    const auto& part = library->dlpi_phdr[k];
    const char* const first = reinterpret_cast<const char*>(library->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_TLS) shared_bytes = part.p_memsz;
    if (part.p_type != PT_LOAD) continue;
    if (!found.first || first < found.first) found.first = first;
    if (first + part.p_memsz > found.last) found.last = first + part.p_memsz;
  }
  if (own < found.first || own >= found.last) return 0;
  found.shared = static_cast<const char*>(library->dlpi_tls_data);
  found.shared_end = found.shared + shared_bytes;
  *static_cast<Places*>(into) = found;
  return 1;
}

// What a grid's first words say; the addresses of the kernel's arguments are behind them.
enum Word { kGrid = 0, kBlock = 3, kSharedBytes = 6, kArguments = 7 };

constexpr unsigned kMostBlocks = 65535, kMostThreads = 64;  // in y and z; in z
constexpr size_t kMostShared = 48 << 10;                    // dynamic shared memory of a launch in C++

template <auto Kernel>
struct Entry;
template <class... P, void (*Kernel)(P...)>
struct Entry<Kernel> {
  PELLUCID_OWN static void run(GridMachine* machine, const uint64_t* words) {
    running = nullptr;  // until this thread's numbers are known
    const auto dims = [&](Word at) {
      return dim3(unsigned(words[at]), unsigned(words[at + 1]), unsigned(words[at + 2]));
    };
    const dim3 threads = dims(kBlock), blocks = dims(kGrid);
    const auto place = [](int64_t number, dim3 within) {
      const auto k = static_cast<unsigned>(number);
      return uint3{k % within.x, k / within.x % within.y, k / within.x / within.y};
    };
    Thread self{machine,
                place(machine->thread, threads),
                place(machine->block, blocks),
                threads,
                blocks,
                words[kSharedBytes],
                static_cast<const char*>(__builtin_frame_address(0))};
    running = &self;
    if (blocks.y > kMostBlocks || blocks.z > kMostBlocks || threads.z > kMostThreads)
      fail("is of a grid that no GPU takes: its second and third dim are 65535 at most, a block's third 64");
    call(words + kArguments, std::index_sequence_for<P...>());
    running = nullptr;
  }

 private:
  template <size_t... K>
  PELLUCID_OWN static void call(const uint64_t* addresses, std::index_sequence<K...>) {
    Kernel(*reinterpret_cast<std::remove_reference_t<P>*>(addresses[K])...);
  }
};

// A launch as Python sees it (cuda_kernels.py has the same structure).
struct Request {
  const char* name;  // ends with the kernel's, in brackets
  void (*entry)(GridMachine*, const uint64_t*);
  const unsigned* signature;
  void* const* arguments;
  int count;
  unsigned grid[3], block[3];
  size_t shared_bytes;
};
struct Runtime {
  int (*launch)(const Request*, char* error, size_t error_bytes);
  int (*synchronize)(char* error, size_t error_bytes);
};
PELLUCID_HIDDEN inline Runtime runtime{};

struct Stream {  // the thread's current one: all launches go there
  Stream() = default;
  Stream(std::nullptr_t) {}
};

template <auto Kernel>
struct Named {
  static const char* name() { return __PRETTY_FUNCTION__; }
};

template <auto Kernel>
struct Launch;
template <class... P, void (*Kernel)(P...)>
struct Launch<Kernel> {
  Launch(dim3 grid, dim3 block, size_t shared_bytes = 0, Stream = {})
      : grid(grid), block(block), shared_bytes(shared_bytes) {}

  template <class... Given>
  void operator()(Given&&... given) const {
    static_assert(sizeof...(Given) == sizeof...(P), "a launch has as many arguments as the kernel has parameters");
    std::tuple<typename Plain<std::remove_reference_t<P>>::type...> values(std::forward<Given>(given)...);
    run(values, std::index_sequence_for<P...>());
  }

 private:
  const dim3 grid, block;
  const size_t shared_bytes;

  template <class Values, size_t... K>
  void run(Values& values, std::index_sequence<K...>) const {
    void* const arguments[] = {&std::get<K>(values)..., nullptr};
    const Request request{Named<Kernel>::name(),
                          Entry<Kernel>::run,
                          Signature<void (*)(P...)>::codes.values,
                          arguments,
                          sizeof...(K),
                          {grid.x, grid.y, grid.z},
                          {block.x, block.y, block.z},
                          shared_bytes};
    char error[1024] = {};
    if (shared_bytes > kMostShared)
      throw std::runtime_error("CUDA error: invalid argument\na launch from C++ has " + std::to_string(shared_bytes) +
                               " bytes of dynamic shared memory; 49152 are the most. For more, launch from Python: "
                               "torch.cuda._compile_kernel has set_shared_memory_config");
    if (!runtime.launch) throw std::runtime_error("a kernel was launched before its library was loaded by load()");
    if (runtime.launch(&request, error, sizeof error)) throw std::runtime_error(error);
  }
};

}  // namespace cuda
}  // namespace pellucid

// For Python, under the library's own names.
#define PELLUCID_EXPORT extern "C" __attribute__((visibility("default"), weak, used)) PELLUCID_OWN
PELLUCID_EXPORT void pellucid_cuda_places(uint64_t* range) {  // called before and after every grid
  pellucid::cuda::running = nullptr;
  volatile char* const first = &pellucid::cuda::first_of_block;  // makes the thread's copy
  static_cast<void>(*first);
  dl_iterate_phdr(pellucid::cuda::find_places, &pellucid::cuda::places);
  range[0] = reinterpret_cast<uint64_t>(pellucid::cuda::places.shared);
  range[1] = reinterpret_cast<uint64_t>(pellucid::cuda::places.shared_end);
}
PELLUCID_EXPORT void pellucid_cuda_use(const pellucid::cuda::Runtime* given) { pellucid::cuda::runtime = *given; }

// The library's kernel, for torch.cuda._compile_kernel.
#define PELLUCID_KERNEL(...)                                                       \
  PELLUCID_EXPORT void* pellucid_kernel_entry() {                                  \
    return reinterpret_cast<void*>(&::pellucid::cuda::Entry<(&__VA_ARGS__)>::run); \
  }                                                                                \
  PELLUCID_EXPORT void pellucid_kernel_signature(unsigned* into) {                 \
    const auto codes = ::pellucid::cuda::Signature<decltype(&__VA_ARGS__)>::codes; \
    for (int k = 0; k < 64; ++k) into[k] = codes.values[k];                        \
  }

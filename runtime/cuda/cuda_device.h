// NVIDIA GPUs as a device type: memory, streams, events, kernels and graphs by the driver (driver.h).
//
// Kernels come from a KernelSource, which the bindings install: it writes PTX for a kernel's definition. A kernel is
// loaded once per GPU and shape; from then on a launch takes no lock but the tables' and runs no Python. A kernel that
// can fail has a status word on its GPU, which is read when the program next waits for its stream.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/backend.h"
#include "cuda/driver.h"
#include "cuda/grid_launch.h"

namespace pellucid::cuda {

// What the device asks of the compiler.
struct KernelFacts : GridKernel {
  bool can_fail = false;
};
struct KernelSource {
  virtual ~KernelSource() = default;
  virtual std::optional<KernelFacts> facts(const KernelId& id) = 0;  // nullopt: nothing defines the kernel
  // PTX or a cubin for the GPU, with a function `kernel`; empty: no schedule takes it.
  virtual std::string image(const KernelId& id, const GridLaunch& grid, std::span<const LaunchOperand> operands,
                            int gpu) = 0;
  // Where NVIDIA's library of this name is ("cublasLt"); empty: it is not installed.
  virtual std::string find_library(const char* name) = 0;
  virtual void log_launch(const Launch& launch, bool is_declined) = 0;
  virtual void log_library(const char* name, const std::string& op, Device device) = 0;  // it ran a whole op
  virtual void log_fallback(const std::string& op, const char* kernel) = 0;
};

// A GPU's properties, for torch.cuda.get_device_properties.
struct Properties {
  std::string name;
  int major, minor, multiprocessors, threads_per_multiprocessor, warp_size;
  int shared_bytes, shared_bytes_per_multiprocessor, shared_bytes_opt_in, registers_per_multiprocessor;
  int l2_bytes, clock_rate, memory_clock_rate, memory_bus_width;
  bool is_integrated;
  size_t total_memory;
  unsigned char uuid[16];
};

class Gpus;  // the Backend of DeviceType::CUDA

// Makes the runtime look for GPUs when "cuda" is first used.
void install(KernelSource& source);
// Null without a usable GPU.
Gpus* find_gpus();

int driver_version();
Properties properties_of(int gpu);
struct MemoryInfo {
  size_t unused, total;
};
MemoryInfo memory_of(int gpu);
bool can_access_peer(int gpu, int peer);
void* stream_handle(int gpu, int64_t stream);  // a CUstream
// PTX to a cubin for the GPU; raises a Runtime error with the driver's log.
std::string link_ptx(int gpu, const std::string& ptx);

// A kernel that a user wrote.
struct UserKernel {
  Handle function;
  int gpu;
};
UserKernel load_kernel(int gpu, const std::string& image, const char* name);
// Lets launches of a kernel have more than 48 KiB of shared memory.
void allow_shared(const UserKernel& kernel, int nbytes);
struct Grid {
  unsigned blocks[3], threads[3], shared_bytes;
};
// Each argument is a word of 64 bits. Runs on the thread's current stream.
void launch_kernel(const UserKernel& kernel, const Grid& grid, std::span<uint64_t> words);

}  // namespace pellucid::cuda

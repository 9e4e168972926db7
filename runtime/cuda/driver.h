// NVIDIA's driver, found at run time: nothing is linked, and its headers are not needed.
//
// PELLUCID_CUDA_DRIVER names another library than libcuda.so.1. The names and numbers are those of NVIDIA's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pellucid::cuda {

using Status = int;    // CUresult
using Ordinal = int;   // CUdevice
using Handle = void*;  // CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUgraph, CUgraphExec, CUlinkState

enum : Status {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNotReady = 600,
};

// CUdevice_attribute
enum class Attribute : int {
  SharedBytesPerBlock = 8,
  WarpSize = 10,
  ClockRate = 13,
  Multiprocessors = 16,
  Integrated = 18,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2Bytes = 38,
  ThreadsPerMultiprocessor = 39,
  Major = 75,
  Minor = 76,
  SharedBytesPerMultiprocessor = 81,
  RegistersPerMultiprocessor = 82,
  SharedBytesOptIn = 97,
};

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostPortable = 1;
constexpr int kInputPtx = 1;                      // CUjitInputType
constexpr int kErrorLog = 5, kErrorLogBytes = 6;  // CUjit_option
constexpr int kCaptureRelaxed = 2;                // CUstreamCaptureMode
constexpr int kDynamicSharedBytes = 8;            // CUfunction_attribute

// member, symbol, parameters
#define PELLUCID_CUDA_FUNCTIONS(F)                                                                                     \
  F(init, "cuInit", (unsigned flags))                                                                                  \
  F(error_name, "cuGetErrorName", (Status status, const char** text))                                                  \
  F(error_text, "cuGetErrorString", (Status status, const char** text))                                                \
  F(device_count, "cuDeviceGetCount", (int* count))                                                                    \
  F(device, "cuDeviceGet", (Ordinal * device, int number))                                                             \
  F(device_name, "cuDeviceGetName", (char* text, int size, Ordinal device))                                            \
  F(device_uuid, "cuDeviceGetUuid", (unsigned char* uuid, Ordinal device))                                             \
  F(attribute, "cuDeviceGetAttribute", (int* value, Attribute attribute, Ordinal device))                              \
  F(total_memory, "cuDeviceTotalMem_v2", (size_t* nbytes, Ordinal device))                                             \
  F(can_access_peer, "cuDeviceCanAccessPeer", (int* can, Ordinal device, Ordinal peer))                                \
  F(retain_context, "cuDevicePrimaryCtxRetain", (Handle * context, Ordinal device))                                    \
  F(set_context, "cuCtxSetCurrent", (Handle context))                                                                  \
  F(synchronize, "cuCtxSynchronize", ())                                                                               \
  F(stream_priorities, "cuCtxGetStreamPriorityRange", (int* least, int* greatest))                                     \
  F(memory_info, "cuMemGetInfo_v2", (size_t* unused, size_t* total))                                                   \
  F(allocate, "cuMemAlloc_v2", (uint64_t* address, size_t nbytes))                                                     \
  F(release, "cuMemFree_v2", (uint64_t address))                                                                       \
  F(allocate_host, "cuMemHostAlloc", (void** address, size_t nbytes, unsigned flags))                                  \
  F(copy_from_host, "cuMemcpyHtoDAsync_v2", (uint64_t to, const void* from, size_t nbytes, Handle stream))             \
  F(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, uint64_t from, size_t nbytes, Handle stream))                     \
  F(copy_within, "cuMemcpyDtoDAsync_v2", (uint64_t to, uint64_t from, size_t nbytes, Handle stream))                   \
  F(fill_bytes, "cuMemsetD8Async", (uint64_t to, unsigned char byte, size_t nbytes, Handle stream))                    \
  F(new_stream, "cuStreamCreateWithPriority", (Handle * stream, unsigned flags, int priority))                         \
  F(finish_stream, "cuStreamSynchronize", (Handle stream))                                                             \
  F(stream_waits, "cuStreamWaitEvent", (Handle stream, Handle event, unsigned flags))                                  \
  F(new_event, "cuEventCreate", (Handle * event, unsigned flags))                                                      \
  F(record, "cuEventRecord", (Handle event, Handle stream))                                                            \
  F(query_event, "cuEventQuery", (Handle event))                                                                       \
  F(finish_event, "cuEventSynchronize", (Handle event))                                                                \
  F(elapsed, "cuEventElapsedTime", (float* milliseconds, Handle first, Handle second))                                 \
  F(drop_event, "cuEventDestroy_v2", (Handle event))                                                                   \
  F(load_module, "cuModuleLoadDataEx",                                                                                 \
    (Handle * module, const void* image, unsigned count, int* options, void** values))                                 \
  F(kernel_of_module, "cuModuleGetFunction", (Handle * function, Handle module, const char* name))                     \
  F(set_attribute, "cuFuncSetAttribute", (Handle function, int attribute, int value))                                  \
  F(new_link, "cuLinkCreate_v2", (unsigned count, int* options, void** values, Handle* link))                          \
  F(add_to_link, "cuLinkAddData_v2",                                                                                   \
    (Handle link, int type, void* data, size_t nbytes, const char* name, unsigned count, int* options, void** values)) \
  F(finish_link, "cuLinkComplete", (Handle link, void** image, size_t* nbytes))                                        \
  F(drop_link, "cuLinkDestroy", (Handle link))                                                                         \
  F(launch, "cuLaunchKernel",                                                                                          \
    (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
     unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments, void** extra))                          \
  F(begin_capture, "cuStreamBeginCapture_v2", (Handle stream, int mode))                                               \
  F(end_capture, "cuStreamEndCapture", (Handle stream, Handle * graph))                                                \
  F(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int* mode))                                           \
  F(make_executable, "cuGraphInstantiateWithFlags", (Handle * executable, Handle graph, unsigned long long flags))     \
  F(launch_graph, "cuGraphLaunch", (Handle executable, Handle stream))                                                 \
  F(drop_executable, "cuGraphExecDestroy", (Handle executable))                                                        \
  F(drop_graph, "cuGraphDestroy", (Handle graph))

struct Driver {
#define PELLUCID_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
  PELLUCID_CUDA_FUNCTIONS(PELLUCID_MEMBER)
#undef PELLUCID_MEMBER
  int version = 0;  // 12040: CUDA 12.4

  // Raises a Runtime error "CUDA error: ..." with the function's name, or DeviceMemoryError.
  void check(Status status, const char* function) const;
};

// The driver and how many GPUs it has; `driver` is null with the reason why it cannot be used. No reason: there is no
// driver library.
struct FoundDriver {
  std::unique_ptr<const Driver> driver;
  int device_count = 0;
  std::string why_not;
};
FoundDriver find_driver();

}  // namespace pellucid::cuda

// What the host's part of a CUDA source calls beside launches: streams, errors and guards under PyTorch's names.
//
// The thread's current stream takes all launches; errors of a launch are exceptions, so there is none to ask for.
#pragma once

#include "pellucid/cuda/launch.h"
#include "pellucid/torch/all.h"

using cudaStream_t = pellucid::cuda::Stream;
enum cudaError_t { cudaSuccess = 0 };
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaDeviceSynchronize() {
  char error[1024] = {};
  if (pellucid::cuda::runtime.synchronize(error, sizeof error)) throw std::runtime_error(error);
  return cudaSuccess;
}

namespace c10 {
namespace cuda {

struct CUDAStream {
  pellucid::cuda::Stream stream() const { return {}; }
  operator pellucid::cuda::Stream() const { return {}; }
};
inline CUDAStream getCurrentCUDAStream(int = -1) { return {}; }

// Makes a device the current one.
class CUDAGuard {
 public:
  explicit CUDAGuard(at::Device device) : index_(device.is_cuda() ? device.index() : -1) {
    if (index_ < 0) return;
    before_ = call("current_device").cast<int>();
    call("set_device", index_);
  }
  ~CUDAGuard() {
    if (index_ >= 0) call("set_device", before_);
  }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

 private:
  template <class... Arguments>
  static pybind11::object call(const char* name, Arguments... arguments) {
    const c10::detail::Lock lock;
    return pybind11::module_::import("pellucid.cuda").attr(name)(arguments...);
  }
  int index_, before_ = 0;
};
using OptionalCUDAGuard = CUDAGuard;

}  // namespace cuda
}  // namespace c10
namespace at {
namespace cuda {
using namespace c10::cuda;
}
}  // namespace at

#define C10_CUDA_CHECK(expression) static_cast<void>(expression)
#define AT_CUDA_CHECK(expression) static_cast<void>(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() static_cast<void>(0)

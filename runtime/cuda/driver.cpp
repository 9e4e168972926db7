#include "cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"

namespace pellucid::cuda {
namespace {

constexpr int kOldest = 11'000;  // reads the PTX of sm_80 kernels

// The functions of a library; "" or the name of one that it lacks.
std::string load_functions(void* library, Driver& driver) {
#define PELLUCID_LOAD(member, symbol, parameters)                                    \
  driver.member = reinterpret_cast<decltype(driver.member)>(dlsym(library, symbol)); \
  if (!driver.member) return symbol;
  PELLUCID_CUDA_FUNCTIONS(PELLUCID_LOAD)
#undef PELLUCID_LOAD
  return {};
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int version_of(void* library) {
  const auto ask = reinterpret_cast<Status (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  return ask && ask(&version) == kSuccess ? version : 0;
}

}  // namespace

void Driver::check(Status status, const char* function) const {
  if (status == kSuccess) [[likely]]
    return;
  const char *name = nullptr, *text = nullptr;
  error_name(status, &name);
  error_text(status, &text);
  const std::string message = std::string("CUDA error: ") + (text ? text : "unknown error") + "\n" + function +
                              " returned " + (name ? name : std::to_string(status).c_str());
  if (status == kOutOfMemory) throw DeviceMemoryError(message);
  raise(ErrorKind::Runtime,
        "%s. Work is asynchronous: the cause may be an earlier kernel or copy.\n"
        "PELLUCID_LAUNCH_BLOCKING=1 raises where a kernel fails.",
        message.c_str());
}

FoundDriver find_driver() {
  FoundDriver found;
  const char* const named = std::getenv("PELLUCID_CUDA_DRIVER");
  const std::string path = named && *named ? named : "libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: streams and memory live in it
  if (!library) {
    if (named && *named) found.why_not = "PELLUCID_CUDA_DRIVER: " + std::string(dlerror());
    return found;
  }
  auto driver = std::make_unique<Driver>();
  driver->version = version_of(library);
  if (driver->version < kOldest) {
    found.why_not = "The NVIDIA driver on your system is too old (found version " + std::to_string(driver->version) +
                    "). Kernels need CUDA " + version_text(kOldest) + " or later: update the driver.";
    return found;
  }
  if (const std::string missing = load_functions(library, *driver); !missing.empty()) {
    found.why_not =
        path + ", a driver for CUDA " + version_text(driver->version) + ", has no " + missing + ": update the driver.";
    return found;
  }
  Status status = driver->init(0);
  if (status == kSuccess) status = driver->device_count(&found.device_count);
  if (status == kNoDevice || (status == kSuccess && !found.device_count)) {
    found.why_not =
        "No CUDA GPUs are available: the driver is installed, and shows no GPU to this process.\n"
        "CUDA_VISIBLE_DEVICES selects the GPUs.";
    return found;
  }
  if (status != kSuccess) {
    const char* text = nullptr;
    driver->error_text(status, &text);
    found.why_not = "CUDA driver initialization failed: " + std::string(text ? text : "unknown error") + " (" +
                    std::to_string(status) + ").";
    return found;
  }
  found.driver = std::move(driver);
  return found;
}

}  // namespace pellucid::cuda

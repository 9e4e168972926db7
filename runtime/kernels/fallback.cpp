#include "kernels/fallback.h"

#include "core/device_names.h"
#include "core/error.h"
#include "core/hooks.h"

namespace pellucid {

void note_fallback(Backend& backend, const std::string& op, const char* kernel) {
  const std::string device = device_type_name(backend.type);
  switch (backend.policy.load(std::memory_order_relaxed)) {
    case FallbackPolicy::Allow: break;
    case FallbackPolicy::Warn:
      warn("%s: the kernel '%s' runs on the CPU, because %s does not launch it", op.c_str(), kernel, device.c_str());
      break;
    case FallbackPolicy::Error:
      raise(ErrorKind::NotImplemented,
            "%s: %s does not launch the kernel '%s', and its fallback to the CPU is set to \"error\".\n"
            "Give its backend a kernel, or allow the fallback: pellucid.devices.set_fallback(\"%s\", \"allow\")",
            op.c_str(), device.c_str(), kernel, device.c_str());
  }
  backend.fallbacks.fetch_add(1, std::memory_order_relaxed);
  backend.note_fallback(op, kernel);
}

}  // namespace pellucid

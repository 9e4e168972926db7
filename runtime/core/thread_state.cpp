#include "core/thread_state.h"

namespace pellucid {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

}  // namespace pellucid

// The standard headers that much of the runtime includes, for tools/build.py to compile once.
// Nothing includes this file: every source names the headers that it uses.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

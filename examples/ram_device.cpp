// A device in C++: memory of its own, and kernels of float32 arithmetic, which it interprets.
//
// Build and load it:  torch.utils.cpp_extension.load("ram_device", ["examples/ram_device.cpp"],
//                                                    is_python_module=False)
// Then torch.ones(3, device="ram") is on it. Kernels that it does not know run on the CPU. docs/devices.md explains.
#include <pellucid/device.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace pellucid::extension;

// One line of a kernel's text: "%2 = add f32 %0 %1", "%0 = load f32 1", "%1 = sym f64 p0".
struct Instruction {
  std::string op, dtype;
  double number = 0;
  size_t first = 0, second = 0;  // values; of a load or a sym the number of the input or the parameter
};
struct Program {
  std::vector<Instruction> instructions;
  size_t result = 0;
};

// Of "%3", "p3" or "3"; false for other words.
bool read_number(const std::string& word, size_t& number) {
  const char* const first = word.c_str() + (word[0] == '%' || word[0] == 'p');
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(first, end, number);
  return error == std::errc{} && rest == end;
}

// A map with one result, of arithmetic in float32 and float64; nullopt for others.
std::optional<Program> parse(std::string_view text) {
  const std::set<std::string> known{"load", "sym", "const", "cast", "neg", "add", "sub", "mul", "div"};
  std::istringstream lines{std::string(text)};
  std::string line, word, first, second;
  std::getline(lines, line);
  if (line.rfind("map ", 0) != 0 || line.find("-> (f32)") == line.npos) return {};
  Program program;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    words >> word >> first;
    if (word == "return") {
      if (!read_number(first, program.result)) return {};
      return program;
    }
    Instruction made;
    words >> made.op >> made.dtype >> first;
    if (!known.count(made.op) || (made.dtype != "f32" && made.dtype != "f64")) return {};
    if (made.op == "const") made.number = std::strtod(first.c_str(), nullptr);
    else if (!read_number(first, made.first)) return {};
    if (words >> second && !read_number(second, made.second)) return {};
    program.instructions.push_back(made);
  }
  return {};
}

constexpr int64_t kPoints = 256;  // interpreted at a time
using Values = std::array<double, kPoints>;

// What an instruction gives at some points; `places` has the addresses of each operand's elements, the result first.
void compute(const Instruction& one, const std::vector<Values>& values,
             const std::vector<std::array<char*, kPoints>>& places, const List<uint64_t>& params, int64_t count,
             Values& result) {
  const auto fill = [&](auto&& value_at) {
    for (int64_t k = 0; k < count; ++k)
      result[k] = one.dtype == "f32" ? static_cast<float>(value_at(k)) : static_cast<double>(value_at(k));
  };
  if (one.op == "const") return fill([&](int64_t) { return one.number; });
  if (one.op == "load")
    return fill([&](int64_t k) {
      float value;
      std::memcpy(&value, places[one.first + 1][k], sizeof value);
      return value;
    });
  if (one.op == "sym") {
    double number;
    std::memcpy(&number, &params[one.first], sizeof number);
    return fill([&](int64_t) { return number; });
  }
  const Values &a = values[one.first], &b = values[one.second];
  if (one.op == "cast") return fill([&](int64_t k) { return a[k]; });
  if (one.op == "neg") return fill([&](int64_t k) { return -a[k]; });
  if (one.op == "add") return fill([&](int64_t k) { return a[k] + b[k]; });
  if (one.op == "sub") return fill([&](int64_t k) { return a[k] - b[k]; });
  if (one.op == "mul") return fill([&](int64_t k) { return a[k] * b[k]; });
  return fill([&](int64_t k) { return a[k] / b[k]; });
}

class Ram final : public Device {
 public:
  uint64_t allocate(int, size_t nbytes) override {
    const std::lock_guard lock(mutex_);
    if (used_ + nbytes > kCapacity) throw NoMemory(std::to_string(used_) + " bytes are in use");
    const uint64_t address = next_;
    blocks_.emplace(address, std::unique_ptr<char[]>(new char[nbytes]));
    next_ += (nbytes + 127) / 64 * 64;
    used_ += nbytes;
    return address;
  }
  void release(int, uint64_t address, size_t nbytes) override {
    const std::lock_guard lock(mutex_);
    blocks_.erase(address);
    used_ -= nbytes;
  }
  void to_host(int, void* into, uint64_t address, size_t nbytes, int64_t) override {
    std::memcpy(into, place(address), nbytes);
  }
  void from_host(int, uint64_t address, const void* data, size_t nbytes, int64_t) override {
    std::memcpy(place(address), data, nbytes);
  }

  bool launch(int, const Kernel& kernel) override {
    for (const LaunchedOperand& operand : kernel.operands)
      if (std::string_view(operand.dtype) != "float32") return false;
    if (kernel.num_stored != static_cast<int32_t>(kernel.extents.size())) return false;
    const std::optional<Program>& program = program_of(kernel);
    if (!program) return false;
    int64_t points = 1;
    for (const int64_t extent : kernel.extents) points *= extent;
    for (int64_t first = 0; first < points; first += kPoints)
      run(*program, kernel, first, std::min(kPoints, points - first));
    return true;
  }

 private:
  static constexpr size_t kCapacity = size_t{1} << 28;

  // Compiled once per kernel: `id` names it. Without the lock, as `text` waits for the interpreter's.
  const std::optional<Program>& program_of(const Kernel& kernel) {
    const std::string id(reinterpret_cast<const char*>(kernel.id), Kernel::kIdBytes);
    std::unique_lock lock(mutex_);
    if (const auto known = programs_.find(id); known != programs_.end()) return known->second;
    lock.unlock();
    std::optional<Program> parsed = parse(kernel.text());
    lock.lock();
    return programs_.emplace(id, std::move(parsed)).first->second;
  }

  void run(const Program& program, const Kernel& kernel, int64_t first, int64_t count) {
    std::vector<std::array<char*, kPoints>> places(kernel.operands.size());
    for (size_t k = 0; k < places.size(); ++k)
      for (int64_t point = 0; point < count; ++point) {
        int64_t rest = first + point, offset = 0;
        for (size_t axis = kernel.extents.size(); axis-- > 0; rest /= kernel.extents[axis])
          offset += rest % kernel.extents[axis] * kernel.operands[k].strides[axis];
        places[k][static_cast<size_t>(point)] = place(kernel.operands[k].address + static_cast<uint64_t>(offset));
      }
    std::vector<Values> values;
    for (const Instruction& one : program.instructions) {
      Values result;
      compute(one, values, places, kernel.params, count, result);
      values.push_back(result);
    }
    for (int64_t k = 0; k < count; ++k) {
      const float result = static_cast<float>(values[program.result][k]);
      std::memcpy(places[0][k], &result, sizeof result);
    }
  }

  char* place(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto block = std::prev(blocks_.upper_bound(address));
    return block->second.get() + (address - block->first);
  }

  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<char[]>> blocks_;
  std::map<std::string, std::optional<Program>> programs_;
  uint64_t next_ = uint64_t{1} << 40;  // above all addresses of the CPU
  size_t used_ = 0;
};

PELLUCID_DEVICE("ram", Ram, 2);  // two devices

}  // namespace

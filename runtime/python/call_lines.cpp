#include "python/call_lines.h"

#include <frameobject.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "python/passing_error.h"

namespace pellucid::python {
namespace {

struct Line {
  PyCodeObject* code;
  int instruction;
  uint32_t caller;  // the line number entry of the calling frame; 0: none
  bool operator==(const Line&) const = default;
};
struct LineHash {
  size_t operator()(const Line& line) const {
    const uint64_t place = static_cast<uint64_t>(line.instruction) << 32 | line.caller;
    return (reinterpret_cast<uintptr_t>(line.code) ^ place) * 0x9E3779B97F4A7C15ull >> 7;
  }
};

// Used under the interpreter lock. Code objects are held, so that addresses are not reused.
struct Lines {
  std::vector<std::string> folders;
  std::unordered_map<PyCodeObject*, bool> inside;  // whether the code belongs to the package
  std::unordered_map<Line, uint32_t, LineHash> numbers;
  std::vector<Line> list;
  uint32_t first = 1;
  // A cache of recent lines, by address: most calls come from few lines.
  static constexpr size_t kRecent = 256;
  std::pair<PyCodeObject*, bool> recent_inside[kRecent] = {};
  std::pair<Line, uint32_t> recent_numbers[kRecent] = {};
};
Lines& lines() {
  static auto* made = new Lines;
  return *made;
}
// Those of anomaly mode, whose numbers may be needed at any later time: never forgotten.
Lines& stacks() {
  static auto* made = new Lines;
  return *made;
}

// Whether a file is in a folder; libraries that are installed inside of that folder are not.
bool is_below(std::string_view file, std::string_view folder) {
  return file.starts_with(folder) && file.substr(folder.size()).find("-packages/") == std::string_view::npos;
}

bool look_up_inside(Lines& all, PyCodeObject* code) {
  const auto found = all.inside.find(code);
  if (found != all.inside.end()) return found->second;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  bool inside = !file || file[0] == '<';
  for (const std::string& folder : all.folders) inside |= file && is_below(file, folder);
  Py_INCREF(code);
  return all.inside[code] = inside;
}

bool is_inside(Lines& all, PyCodeObject* code) {
  auto& recent = all.recent_inside[reinterpret_cast<uintptr_t>(code) / sizeof(PyCodeObject) % Lines::kRecent];
  if (recent.first != code) [[unlikely]]
    recent = {code, look_up_inside(all, code)};
  return recent.second;
}

std::pair<Line, uint32_t>& recent_number(Lines& all, const Line& line) {
  const size_t place = reinterpret_cast<uintptr_t>(line.code) >> 5 ^ static_cast<size_t>(line.instruction) >> 1;
  return all.recent_numbers[(place ^ line.caller) % Lines::kRecent];
}

uint32_t number_of(Lines& all, const Line& line) {
  auto& recent = recent_number(all, line);
  if (recent.first == line) [[likely]]
    return recent.second;
  const auto [entry, fresh] = all.numbers.try_emplace(line, all.first + static_cast<uint32_t>(all.list.size()));
  if (fresh) all.list.push_back(line);
  recent = {line, entry->second};
  return entry->second;
}

constexpr size_t kMostFrames = 96;
constexpr size_t kShownFrames = 2;  // by anomaly mode: a message has at most ten lines

// The user's innermost frame, or the stack's innermost `most` frames.
uint32_t read(Lines& all, bool whole_stack, size_t most = kMostFrames) {
  Line found[kMostFrames];
  size_t count = 0;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (frame && !whole_stack) {  // most often the frame is the user's and its line is cached
    PyCodeObject* code = PyFrame_GetCode(frame);
    const Line line{code, PyFrame_GetLasti(frame), 0};
    Py_DECREF(code);  // the frame holds it
    if (const auto& recent = recent_number(all, line); recent.first == line) [[likely]] {
      Py_DECREF(frame);
      return recent.second;
    }
  }
  while (frame && count < most) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool inside = is_inside(all, code);  // holds the code
    Py_DECREF(code);
    if (whole_stack || !inside) found[count++] = {code, PyFrame_GetLasti(frame), 0};
    PyFrameObject* caller = whole_stack || inside ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
  uint32_t number = 0;
  while (count) {
    found[--count].caller = number;
    number = number_of(all, found[count]);
  }
  return number;
}

}  // namespace

void read_line() {
  if (ThreadTimeline* timeline = thread_timeline()) timeline->line = read(lines(), is_watched(kWatchStacks));
}

void set_package_folders(PyObject* folders) {
  Lines& all = lines();
  all.folders.clear();
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(folders); ++k) {
    const char* folder = PyUnicode_AsUTF8(PyTuple_GET_ITEM(folders, k));
    if (!folder) raise_python();
    all.folders.emplace_back(folder);
  }
}

Object listed_lines() {
  const Lines& all = lines();
  Object list = own(PyList_New(0));
  for (size_t k = 0; k < all.list.size(); ++k) {
    const Line line = all.list[k];  // a copy: other threads add lines while Python runs
    Object entry =
        own(Py_BuildValue("OOiI", line.code->co_filename, line.code->co_name,
                          PyCode_Addr2Line(line.code, line.instruction), static_cast<unsigned>(line.caller)));
    checked(PyList_Append(list.get(), entry.get()));
  }
  return own(Py_BuildValue("IO", static_cast<unsigned>(all.first), list.get()));
}

void forget_lines() {
  Lines& all = lines();
  all.first += static_cast<uint32_t>(all.list.size());
  all.list.clear();
  std::ranges::fill(all.recent_inside, std::pair<PyCodeObject*, bool>{});
  std::ranges::fill(all.recent_numbers, std::pair<Line, uint32_t>{});
  all.numbers.clear();
  const auto inside = std::exchange(all.inside, {});
  for (const auto& [code, is_inside] : inside) Py_DECREF(code);
}

uint32_t number_of_stack() {
  HoldGil gil;
  return read(stacks(), /*whole_stack=*/true, kShownFrames);
}

namespace {

std::string format_stack(uint32_t number) {
  const Lines& all = stacks();
  Object frames = own(PyList_New(0));
  while (number >= all.first && number - all.first < all.list.size()) {
    const Line line = all.list[number - all.first];  // a copy: other threads add lines while Python runs
    Object entry = own(Py_BuildValue("OiOO", line.code->co_filename, PyCode_Addr2Line(line.code, line.instruction),
                                     line.code->co_name, Py_None));
    checked(PyList_Insert(frames.get(), 0, entry.get()));
    number = line.caller;
  }
  Object module = own(PyImport_ImportModule("traceback"));
  Object lines_of_text = own(PyObject_CallMethod(module.get(), "format_list", "O", frames.get()));
  Object text = own(PyUnicode_Join(to_string("").get(), lines_of_text.get()));
  const char* characters = PyUnicode_AsUTF8(text.get());
  if (!characters) raise_python();
  std::string found = characters;
  while (found.ends_with('\n')) found.pop_back();
  return found;
}

}  // namespace

std::string text_of_stack(uint32_t number) {
  HoldGil gil;
  const PassingError passing;
  try {
    return format_stack(number);
  } catch (...) {  // must not replace the error that the text is for
    PyErr_Clear();
    return "  (its lines could not be formatted)";
  }
}

}  // namespace pellucid::python

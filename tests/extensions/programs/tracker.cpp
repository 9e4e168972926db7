// Classes, enumerations and containers by pybind11's names, as tracking and evaluation code has them.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/extension.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace py = pybind11;

enum class Mode { Average, Last };

struct Detection {
  Detection(int64_t id, double score, bool ignore) : id(id), score(score), ignore(ignore) {}
  int64_t id = 0;
  double score = 0.0;
  bool ignore = false;
};

class Tracker {
 public:
  explicit Tracker(torch::Tensor start, Mode mode = Mode::Average) : state_(start.clone()), mode_(mode) {}
  virtual ~Tracker() = default;
  torch::Tensor update(const torch::Tensor& x) {
    steps_++;
    state_ = mode_ == Mode::Last ? x.clone() : state_ + (x - state_) / steps_;
    return state_;
  }
  void reset() { steps_ = 0; }
  int64_t steps() const { return steps_; }
  const torch::Tensor& state() const { return state_; }
  void set_state(torch::Tensor state) { state_ = std::move(state); }
  std::string name = "tracker";

 private:
  torch::Tensor state_;
  Mode mode_;
  int64_t steps_ = 0;
};

std::map<std::string, std::vector<double>> by_class(const std::vector<Detection>& found,
                                                    const std::unordered_map<int64_t, std::string>& names) {
  std::map<std::string, std::vector<double>> result;
  for (const auto& each : found)
    if (!each.ignore) result[names.at(each.id)].push_back(each.score);
  return result;
}

py::dict summary(py::list tensors, py::object extra) {
  py::dict result;
  double total = 0;
  for (auto item : tensors) total += item.cast<torch::Tensor>().sum().item<double>();
  result["total"] = total;
  result["count"] = py::len(tensors);
  result["extra"] = extra.is_none() ? py::str("none") : extra;
  return result;
}

torch::Tensor apply_twice(const std::function<torch::Tensor(torch::Tensor)>& f, torch::Tensor x) { return f(f(x)); }

py::tuple call_python(py::function f, torch::Tensor x, py::kwargs kwargs) {
  py::object first = f(x, kwargs.contains("scale") ? kwargs["scale"] : py::object(py::int_(1)));
  return py::make_tuple(first, f(x, 2).attr("shape"), std::string("done"));
}

std::pair<torch::Tensor, std::array<int64_t, 2>> without_lock(torch::Tensor x) {
  py::gil_scoped_release release;
  auto y = x * 2;
  {
    py::gil_scoped_acquire acquire;
    y += 1;
  }
  return {y, {y.size(0), y.dim()}};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "tracking";
  m.attr("__version__") = "1.2";
  m.attr("LIMIT") = py::int_(16);

  py::enum_<Mode>(m, "Mode").value("Average", Mode::Average).value("Last", Mode::Last).export_values();

  py::class_<Detection>(m, "Detection")
      .def(py::init<int64_t, double, bool>(), py::arg("id"), py::arg("score"), py::arg("ignore") = false)
      .def_readwrite("score", &Detection::score)
      .def_readonly("id", &Detection::id)
      .def("__repr__", [](const Detection& d) { return "<Detection " + std::to_string(d.id) + ">"; })
      .def("__eq__", [](const Detection& a, const Detection& b) { return a.id == b.id && a.score == b.score; });

  py::class_<Tracker, std::shared_ptr<Tracker>>(m, "Tracker", "a running state")
      .def(py::init<torch::Tensor, Mode>(), py::arg("start"), py::arg("mode") = Mode::Average)
      .def("update", &Tracker::update, py::arg("x"), "one step")
      .def("__call__", &Tracker::update)
      .def("reset", &Tracker::reset)
      .def_property_readonly("steps", &Tracker::steps)
      .def_property("state", &Tracker::state, &Tracker::set_state)
      .def_readwrite("name", &Tracker::name)
      .def("__len__", [](const Tracker& self) { return self.steps(); })
      .def_static("zeros", [](int64_t n) { return std::make_shared<Tracker>(torch::zeros({n})); })
      .def(py::pickle([](const Tracker& self) { return py::make_tuple(self.state(), self.name); },
                      [](py::tuple t) {
                        if (t.size() != 2) throw std::runtime_error("invalid state");
                        auto made = std::make_shared<Tracker>(t[0].cast<torch::Tensor>());
                        made->name = t[1].cast<std::string>();
                        return made;
                      }));

  m.def("by_class", &by_class, py::arg("found"), py::arg("names"));
  m.def("summary", &summary, py::arg("tensors"), py::arg("extra") = py::none());
  m.def("apply_twice", &apply_twice);
  m.def("call_python", &call_python);
  m.def("without_lock", &without_lock);
  m.def("released", [](torch::Tensor x) { return x + 1; }, py::call_guard<py::gil_scoped_release>());
  m.def("steps_of", [](std::shared_ptr<Tracker> tracker) { return tracker->steps(); });
  m.def("over", [](int64_t x) { return "int"; });
  m.def("over", [](torch::Tensor x) { return "tensor"; });
  m.def("over", [](std::string x) { return "text"; });
  m.def("fail", [](int64_t kind) {
    if (kind == 0) throw py::value_error("a value");
    if (kind == 1) throw std::out_of_range("a place");
    if (kind == 2) throw py::type_error("a type");
    if (kind == 3) throw std::invalid_argument("an argument");
    throw std::runtime_error("a run");
  });
  auto sub = m.def_submodule("sub", "more");
  sub.def("twice", [](double x) { return 2 * x; });
}

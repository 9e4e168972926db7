// The tutorial of custom classes: a stack that scripts and Python use.
#include <torch/custom_class.h>
#include <torch/script.h>

#include <string>
#include <vector>

template <class T>
struct MyStackClass : torch::CustomClassHolder {
  std::vector<T> stack_;
  MyStackClass(std::vector<T> init) : stack_(init.begin(), init.end()) {}

  void push(T x) { stack_.push_back(x); }
  T pop() {
    auto val = stack_.back();
    stack_.pop_back();
    return val;
  }
  c10::intrusive_ptr<MyStackClass> clone() const { return c10::make_intrusive<MyStackClass>(stack_); }
  void merge(const c10::intrusive_ptr<MyStackClass>& c) {
    for (auto& elem : c->stack_) push(elem);
  }
};

struct Counter : torch::CustomClassHolder {
  int64_t count = 0;
  torch::Tensor last;
  Counter() = default;
  torch::Tensor add(torch::Tensor x, int64_t times) {
    count += times;
    last = x * times;
    return last;
  }
};

c10::intrusive_ptr<MyStackClass<std::string>> manipulate_instance(
    const c10::intrusive_ptr<MyStackClass<std::string>>& instance) {
  instance->pop();
  return instance;
}

TORCH_LIBRARY(my_classes, m) {
  m.class_<MyStackClass<std::string>>("MyStackClass")
      .def(torch::init<std::vector<std::string>>())
      .def("top", [](const c10::intrusive_ptr<MyStackClass<std::string>>& self) { return self->stack_.back(); })
      .def("push", &MyStackClass<std::string>::push)
      .def("pop", &MyStackClass<std::string>::pop)
      .def("clone", &MyStackClass<std::string>::clone)
      .def("merge", &MyStackClass<std::string>::merge)
      .def_pickle(
          [](const c10::intrusive_ptr<MyStackClass<std::string>>& self) -> std::vector<std::string> {
            return self->stack_;
          },
          [](std::vector<std::string> state) -> c10::intrusive_ptr<MyStackClass<std::string>> {
            return c10::make_intrusive<MyStackClass<std::string>>(std::move(state));
          });
  m.class_<Counter>("Counter")
      .def(torch::init<>())
      .def("add", &Counter::add, "adds", {torch::arg("x"), torch::arg("times") = 2})
      .def("last",
           [](const c10::intrusive_ptr<Counter>& self) -> c10::optional<torch::Tensor> {
             return self->last.defined() ? c10::make_optional(self->last) : c10::nullopt;
           })
      .def_property(
          "count", [](const c10::intrusive_ptr<Counter>& self) { return self->count; },
          [](const c10::intrusive_ptr<Counter>& self, int64_t value) { self->count = value; })
      .def_static("zero", []() { return c10::make_intrusive<Counter>(); });
  m.def(
      "manipulate_instance(__torch__.torch.classes.my_classes.MyStackClass x) -> "
      "__torch__.torch.classes.my_classes.MyStackClass Y",
      manipulate_instance);
  m.def("count_twice", [](const c10::intrusive_ptr<Counter>& c, torch::Tensor x) {
    c->add(x, 1);
    return c->add(x, 1);
  });
}

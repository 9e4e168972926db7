// torch::save, torch::load, pickle_save and pickle_load: tensors and values in files that torch.load reads.
#pragma once

#include <fstream>
#include <iterator>

#include "pellucid/torch/objects.h"

namespace torch {

// A value as torch.save stores it.
inline std::vector<char> pickle_save(const at::IValue& value) {
  const c10::detail::Lock lock;
  const pybind11::object io = pybind11::object::steal(PyImport_ImportModule("io")).attr("BytesIO")();
  const pybind11::object save = pybind11::object::steal(PyImport_ImportModule("pellucid")).attr("save");
  save(value, io);
  const pybind11::object bytes = io.attr("getvalue")();
  const char* const data = PyBytes_AsString(bytes.ptr());
  return {data, data + PyBytes_Size(bytes.ptr())};
}
inline at::IValue pickle_load(const std::vector<char>& data) {
  const c10::detail::Lock lock;
  const pybind11::object bytes =
      pybind11::object::steal(PyBytes_FromStringAndSize(data.data(), static_cast<Py_ssize_t>(data.size())));
  const pybind11::object io = pybind11::object::steal(PyImport_ImportModule("io")).attr("BytesIO")(bytes);
  const pybind11::object load = pybind11::object::steal(PyImport_ImportModule("pellucid")).attr("load");
  return load(io).cast<at::IValue>();
}

inline void save(const at::IValue& value, std::ostream& out) {
  const std::vector<char> data = pickle_save(value);
  out.write(data.data(), static_cast<std::streamsize>(data.size()));
}
inline void save(const at::IValue& value, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  TORCH_CHECK(out, "torch::save: the file ", path, " cannot be written");
  save(value, out);
}
template <class T, std::enable_if_t<std::is_convertible_v<T, at::IValue>, int> = 0>
void load(T& value, std::istream& in) {
  value = pickle_load({std::istreambuf_iterator<char>(in), {}}).to<T>();
}
template <class T, std::enable_if_t<std::is_convertible_v<T, at::IValue>, int> = 0>
void load(T& value, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TORCH_CHECK(in, "torch::load: the file ", path, " cannot be read");
  load(value, in);
}

}  // namespace torch

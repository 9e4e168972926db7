// Sampling of graphs and search of neighbours: vectors that become tensors by from_blob, dictionaries of tensors,
// parallel loops, indices as Python writes them.
#include <ATen/Parallel.h>
#include <c10/util/irange.h>
#include <torch/extension.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace torch::indexing;

template <typename scalar_t>
inline torch::Tensor from_vector(const std::vector<scalar_t>& vec, bool inplace = false) {
  const auto size = (int64_t)vec.size();
  const auto out = torch::from_blob((scalar_t*)vec.data(), {size}, c10::CppTypeToScalarType<scalar_t>::value);
  return inplace ? out : out.clone();
}

std::tuple<torch::Tensor, torch::Tensor, std::vector<int64_t>> sample(const torch::Tensor& rowptr,
                                                                      const torch::Tensor& col,
                                                                      const torch::Tensor& seeds, int64_t hops) {
  TORCH_CHECK(rowptr.is_contiguous(), "Non-contiguous 'rowptr'");
  TORCH_CHECK(rowptr.scalar_type() == at::kLong, "expected int64, got ", rowptr.scalar_type());
  std::vector<int64_t> samples, edges, counts;
  std::unordered_map<int64_t, int64_t> to_local;
  AT_DISPATCH_INTEGRAL_TYPES(seeds.scalar_type(), "sample", [&] {
    const auto* seed_data = seeds.data_ptr<scalar_t>();
    for (const auto i : c10::irange(seeds.numel())) {
      samples.push_back(seed_data[i]);
      to_local.insert({seed_data[i], i});
    }
  });
  const auto* rowptr_data = rowptr.data_ptr<int64_t>();
  const auto* col_data = col.data_ptr<int64_t>();
  int64_t begin = 0, end = samples.size();
  for (int64_t hop = 0; hop < hops; hop++) {
    for (int64_t i = begin; i < end; i++)
      for (auto e = rowptr_data[samples[i]]; e < rowptr_data[samples[i] + 1]; e++) {
        const auto inserted = to_local.insert({col_data[e], (int64_t)samples.size()});
        if (inserted.second) samples.push_back(col_data[e]);
        edges.push_back(inserted.first->second);
      }
    counts.push_back(end - begin);
    begin = end, end = samples.size();
  }
  return std::make_tuple(from_vector<int64_t>(samples), from_vector<int64_t>(edges), counts);
}

// A dictionary of node types.
c10::Dict<std::string, torch::Tensor> degrees(const c10::Dict<std::string, torch::Tensor>& rowptr_dict) {
  c10::Dict<std::string, torch::Tensor> out_dict;
  for (const auto& kv : rowptr_dict) {
    const auto& rowptr = kv.value();
    out_dict.insert(kv.key(), rowptr.index({Slice(1, None)}) - rowptr.index({Slice(None, -1)}));
  }
  return out_dict;
}

torch::List<torch::Tensor> halve(const torch::List<torch::Tensor>& tensors, const c10::List<double>& factors) {
  torch::List<torch::Tensor> result;
  for (size_t i = 0; i < tensors.size(); i++) {
    torch::Tensor t = tensors.get(i);
    result.push_back(t * factors[i] / 2);
  }
  return result;
}

torch::Tensor nearest(torch::Tensor x, torch::Tensor y, c10::optional<torch::Tensor> mask) {
  auto out = torch::empty({y.size(0)}, torch::TensorOptions().dtype(torch::kLong).device(x.device()));
  std::atomic<int64_t> ran{0};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "nearest", [&] {
    auto x_acc = x.accessor<scalar_t, 2>();
    auto y_acc = y.accessor<scalar_t, 2>();
    auto out_data = out.data_ptr<int64_t>();
    at::parallel_for(0, y.size(0), at::internal::GRAIN_SIZE / 1000, [&](int64_t begin, int64_t end) {
      for (auto i = begin; i < end; i++) {
        float best = std::numeric_limits<float>::infinity();
        for (int64_t j = 0; j < x.size(0); j++) {
          float distance = 0;
          for (int64_t k = 0; k < x.size(1); k++) {
            const float difference = static_cast<float>(x_acc[j][k]) - static_cast<float>(y_acc[i][k]);
            distance += difference * difference;
          }
          if (distance < best) best = distance, out_data[i] = j;
        }
      }
      ran += end - begin;
    });
  });
  TORCH_CHECK(ran == y.size(0));
  if (mask.has_value()) out.index_put_({~*mask}, -1);
  return out;
}

std::vector<torch::Tensor> indexed(torch::Tensor x) {
  auto y = x.clone();
  y.index_put_({0, Slice(None, None, 2)}, -x.index({0, Slice(None, None, 2)}));
  y.index_put_({Ellipsis, -1}, torch::tensor(7.0));
  const auto rows = torch::tensor({1, 0}, torch::dtype(torch::kInt64));
  return {y,
          x.index({"...", 0}),
          x.index({rows}),
          x.index({rows, torch::tensor({2, 1})}),
          x.index({x > 3}),
          x.index({None, Slice(1)}),
          x.index({torch::indexing::Slice(), torch::indexing::Slice(0, 2)}),
          x[1][2]};
}

// Memory that the tensor frees.
torch::Tensor owned(int64_t n) {
  auto* data = new float[n];
  for (int64_t i = 0; i < n; i++) data[i] = i / 2.f;
  return torch::from_blob(
      data, {n / 2, 2}, {1, n / 2}, [](void* p) { delete[] static_cast<float*>(p); }, torch::kFloat32);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("nearest", &nearest, "nearest rows", py::arg("x"), py::arg("y"), py::arg("mask") = py::none());
  m.def("indexed", &indexed);
  m.def("owned", &owned);
  m.def("threads", [](bool) { return at::get_num_threads() > 0 && !at::in_parallel_region(); });
}

TORCH_LIBRARY(neighbours, m) {
  m.def("sample", &sample);
  m.def("degrees", &degrees);
  m.def("halve", halve);
}

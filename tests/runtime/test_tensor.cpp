#include <vector>

#include "../sanitizers/check.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/tensor.h"
#include "kernels/copy.h"
#include "test_kernels.h"

using namespace kernels_for_tests;

namespace {

using List = std::vector<int64_t>;
Tensor iota(List sizes) {
  Tensor tensor = empty(sizes, DType::Float32);
  for (int64_t i = 0; i < tensor->numel; ++i) tensor->host_as<float>()[i] = static_cast<float>(i);
  return tensor;
}
List strides_of(const TensorImpl& tensor) { return {tensor.strides, tensor.strides + tensor.ndim}; }

}  // namespace

TEST(fresh_tensors_are_row_major) {
  const Tensor t = iota({2, 3, 4});
  CHECK(t->is_contiguous() && t->numel == 24 && strides_of(*t) == (List{12, 4, 1}) && t->keys == KeySet(Key::CPU));
  const Tensor scalar = iota({});
  CHECK(scalar->numel == 1 && scalar->is_contiguous());
  const Tensor nothing = iota({3, 0, 5});
  CHECK(nothing->numel == 0 && nothing->is_contiguous() && strides_of(*nothing) == (List{5, 5, 1}));
  const Tensor deep = iota({1, 2, 1, 2, 1, 2, 1});
  CHECK(deep->ndim == 7 && deep->numel == 8 && deep->strides[1] == 4);
}

TEST(impossible_tensors_are_refused) {
  CHECK_RAISES("negative dimension -2", iota({3, -2}));
  CHECK_RAISES("64-bit address", iota({int64_t{1} << 62}));
  CHECK_RAISES("64-bit address", iota({int64_t{1} << 40, int64_t{1} << 40}));
  CHECK(iota({int64_t{1} << 62, 0})->numel == 0);
  CHECK_RAISES("not enough memory", iota({int64_t{1} << 58}));
  CHECK_RAISES("at most 64 dimensions", iota(List(65, 1)));
  const List sizes{2}, strides{-1};
  CHECK_RAISES("must not be negative", empty_strided(sizes, strides, DType::Float32));
}

TEST(views_share_storage_version_and_base) {
  const Tensor t = iota({4, 6});
  const List sizes{6, 4}, strides{1, 6};
  const Tensor transposed = make_view(*t, sizes, strides, 0);
  const Tensor twice = make_view(*transposed, t->shape(), t->stride(), 0);
  CHECK(!transposed->is_contiguous() && transposed->base == t.get() && twice->base == t.get());
  twice->bump_version();
  CHECK(t->version() == 1 && transposed->version() == 1);
  CHECK(!make_view(*t, sizes, strides, 0, true)->base);
}

TEST(memory_of_a_wrapper_is_asked_for_by_its_reader) {
  Tensor t = iota({2});
  t->flags |= TensorImpl::kNoMemory;
  CHECK_RAISES("without memory of its own", t->host());
  core_hooks.find_memory = [](TensorImpl& tensor) {
    tensor.flags = static_cast<uint16_t>(tensor.flags & ~TensorImpl::kNoMemory);
    tensor.host_as<float>()[0] = 9;
  };
  CHECK(t->host_as<float>()[0] == 9);
  core_hooks.find_memory = nullptr;
}

TEST(view_strides_agree_with_enumeration) {
  Random random;
  int possible = 0;
  for (int round = 0; round < 3000; ++round) {
    static constexpr int64_t kSizes[] = {1, 2, 3, 4};
    List sizes(static_cast<size_t>(random.below(4))), strides(sizes.size()), wanted;
    int64_t numel = 1, stride = 1 + random.below(2);
    for (size_t i = sizes.size(); i-- > 0;) {
      sizes[i] = kSizes[random.below(4)];
      strides[i] = stride;
      stride *= sizes[i] * (random.below(4) == 0 ? 2 : 1);
      numel *= sizes[i];
    }
    for (int64_t left = numel; left > 1 || random.below(2);) {
      const int64_t factor = left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : 1;
      wanted.insert(wanted.begin() + random.below(static_cast<int64_t>(wanted.size()) + 1), factor);
      left /= factor;
      if (left == 1 && wanted.size() > 5) break;
    }
    List result(wanted.size());
    if (!view_strides(sizes, strides, wanted, result.data())) continue;
    ++possible;
    List offsets, viewed;
    for_each_index(sizes, [&](const List& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
      offsets.push_back(offset);
    });
    for_each_index(wanted, [&](const List& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * result[i];
      viewed.push_back(offset);
    });
    CHECK(offsets == viewed);
  }
  CHECK(possible > 500);
}

TEST(sizes_are_inferred_wrapped_and_broadcast) {
  int64_t out[8];
  const List given{2, -1};
  infer_size(given, 6, out);
  CHECK(out[1] == 3);
  const List two{-1, -1}, wrong{4};
  CHECK_RAISES("only one dimension can be inferred", infer_size(two, 6, out));
  CHECK_RAISES("shape '[4]' is invalid for input of size 6", infer_size(wrong, 6, out));
  CHECK(wrap_dim(-1, 3) == 2 && wrap_dim(-1, 0) == 0);
  CHECK_RAISES("expected to be in range of [-3, 2]", wrap_dim(3, 3));
  const List a{3, 1}, b{2, 1, 4};
  CHECK(broadcast_sizes(a, b, out) == 3 && out[0] == 2 && out[1] == 3 && out[2] == 4);
}

TEST(dense_layouts_follow_the_strides) {
  const List sizes{2, 3, 4}, permuted{1, 8, 2}, gaps{1, 16, 4};
  List out(3);
  dense_strides_like(sizes, permuted, out.data());
  CHECK(out == permuted && is_non_overlapping_and_dense(sizes, permuted));
  dense_strides_like(sizes, gaps, out.data());
  CHECK(out == permuted && !is_non_overlapping_and_dense(sizes, gaps));
  const List image{2, 3, 4, 5}, nhwc{60, 1, 15, 3};
  CHECK(is_channels_last(image, nhwc) && !is_row_major(image, nhwc));
}

// By its definition: every element of one against every element of the other.
bool shares_elements(const TensorImpl& a, const TensorImpl& b) {
  for (int64_t i = 0; i < a.numel; ++i)
    for (int64_t j = 0; j < b.numel; ++j) {
      int64_t distance = a.offset - b.offset, rest_a = i, rest_b = j;
      for (int d = a.ndim - 1; d >= 0; --d, rest_a /= a.sizes[d + 1]) distance += rest_a % a.sizes[d] * a.strides[d];
      for (int d = b.ndim - 1; d >= 0; --d, rest_b /= b.sizes[d + 1]) distance -= rest_b % b.sizes[d] * b.strides[d];
      if (distance == 0) return true;
    }
  return false;
}

TEST(shared_elements_are_found_exactly) {
  const Tensor t = iota({200});
  uint64_t state = 1;
  const auto draw = [&](int64_t least, int64_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(most - least + 1));
  };
  const auto view = [&] {
    List sizes, strides;
    for (int64_t rank = draw(0, 3); rank--;) {
      sizes.push_back(draw(1, 4));
      strides.push_back(draw(0, 12));
    }
    return make_view(*t, sizes, strides, draw(0, 60), true);
  };
  for (int k = 0; k < 2000; ++k) {
    const Tensor a = view(), b = view();
    CHECK(may_share_elements(*a, *b) == shares_elements(*a, *b));
  }
}

TEST(overlaps_are_found) {
  const Tensor t = iota({10});
  const List five{5}, one{1}, zero{0};
  const Tensor low = make_view(*t, five, one, 0), high = make_view(*t, five, one, 5),
               middle = make_view(*t, five, one, 3);
  CHECK(memory_overlap(*low, *high) == MemoryOverlap::None && memory_overlap(*low, *middle) == MemoryOverlap::Partial);
  CHECK(memory_overlap(*low, *make_view(*t, five, one, 0)) == MemoryOverlap::Full);
  CHECK(internal_overlap(*make_view(*t, five, zero, 0)) == Overlap::Yes && internal_overlap(*low) == Overlap::No);
  CHECK_RAISES("out of bounds for a storage", check_in_storage(five, one, 6, 4, t->storage->nbytes));
}

TEST(resizing_keeps_the_leading_elements) {
  const Tensor t = iota({2, 2});
  const List larger{3, 2000}, smaller{3};
  resize_tensor(*t, larger);
  CHECK(t->numel == 6000 && t->is_contiguous() && t->host_as<float>()[3] == 3);
  resize_tensor(*t, smaller);
  CHECK(t->ndim == 1 && t->host_as<float>()[2] == 2);
}

TEST(copies_convert_and_broadcast) {
  const Tensor t = iota({3, 4});
  const List swapped{4, 3}, strides{1, 4};
  const Tensor transposed = make_view(*t, swapped, strides, 0);
  const Tensor dense = clone_row_major(*transposed);
  CHECK(dense->is_contiguous() && dense->host_as<float>()[1] == 4);
  CHECK(strides_of(*clone_elements(*transposed)) == strides);
  const Tensor integers = convert_elements(*t, DType::Int64);
  CHECK(integers->host_as<int64_t>()[11] == 11);
  const Tensor row = iota({4});
  copy_elements(*t, *row);
  CHECK(t->host_as<float>()[7] == 3);
  CHECK_RAISES("cannot be broadcast", copy_elements(*row, *t));
  fill_elements(*integers, Value::of_float(2.9));
  CHECK(integers->host_as<int64_t>()[5] == 2);
  fill_elements(*transposed, Value::of_bool(true));
  CHECK(t->host_as<float>()[5] == 1);
}

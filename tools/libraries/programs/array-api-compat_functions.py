"""The array API standard over tensors."""

import array_api_compat
import array_api_compat.torch as xp

x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
info = xp.__array_namespace_info__()
print("devices", info.devices(), info.default_device(), array_api_compat.device(x))
print("dtypes", sorted(info.dtypes()), info.default_dtypes())
print("namespace", array_api_compat.array_namespace(x).__name__)
RESULTS = {
    "sum": xp.sum(x, axis=0),
    "std": xp.std(x, correction=1),
    "unique": xp.unique_all(xp.asarray([3, 1, 1])),
    "matmul": xp.matmul(x, x),
    "svd": xp.linalg.svd(x).S,
    "sort": xp.sort(x, descending=True),
    "take": xp.take(x, xp.asarray([1, 0]), axis=1),
    "cumulative_sum": xp.cumulative_sum(x, axis=0, include_initial=True),
    "fft": xp.fft.fft(x),
    "vecdot": xp.vecdot(x, x),
    "clip": xp.clip(x, 1.5, 3),
    "nonzero": xp.nonzero(x),
    "searchsorted": xp.searchsorted(xp.asarray([1.0, 2.0]), xp.asarray([1.5])),
    "promotion": xp.result_type(xp.int8, xp.uint8),
    "isdtype": xp.isdtype(xp.float32, "real floating"),
}
for name, value in RESULTS.items():
    print(name, " ".join(str(value).split()))

// Functions of numbers where they saturate, cut or mix types, for test_cuda_warps.py.
__global__ void numbers(const float* x, unsigned long long* out, float scale, __half half) {
  const int i = threadIdx.x;
  const long long found[] = {__float2int_rz(x[i]),  __float2int_rn(x[i]),
                             __float2uint_rn(x[i]), __half2int_rn(__float2half(x[i]))};
  for (int k = 0; k < 4; ++k) out[4 * i + k] = found[k];
  if (i) return;
  unsigned long long* const more = out + 4 * blockDim.x;
  more[0] = max(-1, 3u) == 4294967295u && min(5u, 7) == 5u && max(2.5f, 2.75) == 2.75 && min(3ll, 2ull) == 2ull;
  more[1] = __mul24(0x1000003, 5);
  more[2] = __mul24(0x800000, 1);
  more[3] = isinf(scale) && __half2float(half) == 2.5f;
  atomicAdd(more + 4, 1);
}

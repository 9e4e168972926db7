// The words of CUDA C++, for test_cuda_kernels.py.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__constant__ float table[3] = {0.5f, 1.5f, 2.5f};
struct Pair {
  int first;
  float second;
};

__global__ void words(const float* x, int* numbers, float* values, __half* halves, long long n) {
  extern __shared__ int held[];
  __shared__ int counts[4];
  const dim3 size = blockDim;
  const int thread = threadIdx.x + size.x * (threadIdx.y + size.y * threadIdx.z);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (thread < 4) counts[thread] = 0;
  held[thread] = thread;
  __syncthreads();
  atomicAdd(&counts[0], 1);
  atomicMax(&counts[1], thread);
  atomicCAS(&counts[2], 0, 7);
  atomicInc(reinterpret_cast<unsigned*>(&counts[3]), 40);
  const int odd = __syncthreads_count(thread % 2);
  int* const own = numbers + (block * 64 + thread) * 12;
  own[0] = held[63 - thread];
  own[1] = __shfl_up_sync(0xffffffff, thread, 3);
  own[2] = __shfl_down_sync(0xffffffff, thread, 5, 16);
  own[3] = __shfl_sync(0xffffffff, thread, 9, 8);
  own[4] = __popc(__ballot_sync(0xffffffff, thread % 4 == 0));
  own[5] = __all_sync(0xffffffff, thread < 32) + 2 * __any_sync(0xffffffff, thread == 40);
  own[6] = __reduce_max_sync(0xffffffff, thread) + __popc(__match_any_sync(0xffffffff, thread / 8));
  own[7] = odd;
  own[8] = counts[0] * 1000 + counts[1];
  own[9] = counts[2] * 100 + counts[3];
  own[10] = max(min(thread, 20), 3) + __clz(thread + 1) + __brev(1u << 31);
  own[11] = 64 * blockIdx.y + threadIdx.y;
  if (thread >= n || block) return;  // the others meet at barriers without these
  const Pair pair{thread, table[thread % 3]};
  values[thread] = pair.second + rsqrtf(4.0f) + __fmaf_rn(x[thread], 2.0f, 1.0f) + __expf(0.0f);
  halves[thread] = __hadd(__float2half(x[thread]), __hmul(halves[thread], halves[thread]));
  __syncthreads();
  atomicAdd(halves, __float2half(__low2float(__floats2half2_rn(0.0f, 1.0f))));
}

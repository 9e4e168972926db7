// Functions of warps with lanes that are not there, and orders within a warp, by mode, for test_cuda_warps.py.
__global__ void warps(int* out, int mode) {
  __shared__ int counts[64];
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  const unsigned all = 0xffffffff;
  int* const own = out + 4 * i;
  if (mode == 0 || mode == 1) {
    __reduce_add_sync(all, 100);
    if (mode == 1 && lane >= 20) return;
    own[0] = __reduce_max_sync(all, -5);
    own[1] = __reduce_add_sync(all, 1);
    own[2] = __ballot_sync(all, true) ^ __match_any_sync(all, lane / 8);
    own[3] = __shfl_up_sync(all, i, 1) + 100 * __all_sync(all, true);
  }
  if (mode == 2) own[0] = __shfl_down_sync(all, i, 16);
  if (mode == 3 && lane % 2) own[0] = __reduce_add_sync(all, 1);
  if (mode == 3 && lane % 2 == 0) __syncwarp();
  if (mode == 4 || mode == 5) {
    if (lane < 4) counts[4 * warp + lane] = 0;
    __syncwarp();
    atomicAdd(&counts[4 * warp + lane % 4], 1);
    if (mode == 4) __syncwarp();
    own[0] = counts[4 * warp + lane % 4];
    __syncthreads();
    counts[i] = 10;
    atomicAdd(&counts[i], i);
    own[1] = counts[i];
  }
  if (mode == 6 || mode == 7) {
    if (i == 0) counts[0] = 0;
    if (mode == 6) __syncthreads();
    if (mode == 7) __syncwarp();
    if (mode == 6 || i != 0) atomicAdd(&counts[0], 1);
    __syncwarp();
    if (mode == 6) own[0] = counts[0];
  }
  if (mode == 8) *reinterpret_cast<int4*>(out) = *reinterpret_cast<int4*>(counts + 1);
}

__device__ void fill(char* held, int count, int* out) {
  for (int k = threadIdx.x; k < count; k += blockDim.x) held[k] = 1;
  out[threadIdx.x] = held[threadIdx.x];
}
__global__ void holds_much(int* out, int count) {
  __shared__ char held[60000];
  fill(held, count, out);
}

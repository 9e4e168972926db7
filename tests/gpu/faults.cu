// What the emulator finds, by mode, for test_cuda_kernels.py.
__device__ int deep(int n) {
  volatile int held[64];
  held[n % 64] = n;
  return n ? deep(n - 1) + held[0] : 0;
}

template <int N>
__global__ void faulty(float* x, int mode) {
  __shared__ float held[N];
  extern __shared__ float more[];
  const int i = threadIdx.x;
  if (mode == 0) held[i] = x[i], x[i] = held[N - 1 - i];
  if (mode == 1) x[i + 1] = 1;
  if (mode == 2) more[i + 1] = 1;
  if (mode == 3) assert(i < 9);
  if (mode == 4) x[i] = __shfl_sync(1u << i % 32, x[i], 0);
  if (mode == 5 && i) __syncwarp();
  if (mode == 5 && !i) __syncthreads();
  if (mode == 6) x[i] = deep(1000);
  if (mode == 7) x[i] = held[i];
  if (mode == 8) {
    held[i] = 0;
    __syncthreads();
    x[i] = held[N - 1 - i];
    held[i] = 1;
  }
  if (mode == 9) {
    held[i] = x[i];
    __syncwarp();
    x[i] = held[i ^ 1];
    __syncwarp();
    held[i] = 1;
  }
  if (mode == 10) held[0] = 0, __syncthreads(), atomicAdd(held, 1.0f), x[i] = held[0];
}

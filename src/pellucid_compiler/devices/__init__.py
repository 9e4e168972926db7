"""What a device needs of the compiler: the definitions of its kernels."""

"""Support vector machines with kernels."""

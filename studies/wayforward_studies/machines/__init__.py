"""The same small tables under the numerical kernels of other machines."""

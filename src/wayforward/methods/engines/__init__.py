"""Kernels that several methods share: neighbours, sparse edits, spheres, descent and exact selection."""

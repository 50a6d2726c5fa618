"""Random small lattices, brute force beside: what a method finds, misses and proves, against all that there is."""

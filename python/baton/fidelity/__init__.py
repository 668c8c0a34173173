"""`baton fidelity`: the simulated TCP beside the kernel's, in the same scenarios, simulated and live."""

"""`baton fidelity`: is the simulated TCP the one that runs? The same scenarios simulated and live, side by side."""

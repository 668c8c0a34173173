"""`baton compare`: two runs side by side, above all a simulated and a live one."""

"""Sweeps: a scenario over many values and seeds, on all cores."""

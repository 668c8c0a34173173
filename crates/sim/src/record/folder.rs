//! The folder of a run's results: prepared out of sight, and in its place only when it is complete.

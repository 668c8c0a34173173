//! Parts common to the radio's benchmarks: a line of their table, and the processor's time.

/// Prints a figure beside its target.
pub fn line(case: &str, figure: &str, target: &str) {
    println!("{case:<54} {figure:>12} {target:>16}");
}

/// Returns the processor time so far, on systems with Linux's counter (ticks of 10 ms); NaN elsewhere.
pub fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(')').next().unwrap_or_default();
    let user = fields.split_whitespace().nth(11).unwrap_or_default();
    user.parse::<f64>().map_or(f64::NAN, |ticks| ticks / 100.0)
}

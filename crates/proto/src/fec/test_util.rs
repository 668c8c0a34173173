//! Notation of the tests' vectors.

/// Returns the bytes of the vectors.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    let value = |at| (7 * at * at + 31 * at + 5) % 251;
    (0..length).map(|at| value(at) as u8).collect()
}

/// Formats bytes in two digits each.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

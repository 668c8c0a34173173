//! Notation of the tests' vectors.

/// The bytes that the vectors are of.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    let value = |at| (7 * at * at + 31 * at + 5) % 251;
    (0..length).map(|at| value(at) as u8).collect()
}

/// Two digits a byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

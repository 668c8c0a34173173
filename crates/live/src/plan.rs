//! placeholder
/// A kernel setting.
pub struct Sysctl {
    /// Path below /proc/sys.
    pub path: String,
    /// Value.
    pub value: String,
}

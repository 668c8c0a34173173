//! Settings of a connection. All others are quinn's defaults.

use quinn_proto::TransportConfig;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// Congestion control. quinn's BBR is left out, since it uses the system's randomness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionControl {
    /// CUBIC (RFC 9438), quinn's default.
    #[default]
    Cubic,
    /// NewReno (RFC 9002 section 7).
    NewReno,
}

/// Settings of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Congestion control of this end's data.
    pub congestion: CongestionControl,
}

impl Configuration {
    /// Returns the settings in quinn's form.
    pub(crate) fn transport(self) -> Arc<TransportConfig> {
        let factory: Arc<dyn ControllerFactory + Send + Sync> = match self.congestion {
            CongestionControl::Cubic => Arc::new(CubicConfig::default()),
            CongestionControl::NewReno => Arc::new(NewRenoConfig::default()),
        };
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(factory)
            .enable_segmentation_offload(false);
        Arc::new(transport)
    }
}

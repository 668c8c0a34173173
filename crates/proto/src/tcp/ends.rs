//! The two ends of a connection, and its largest packet.

use super::options::header_length;
use super::{Common, Endpoint};

/// Next plateaus of path MTUs (RFC 1191 section 7.1), for routers that do not report one.
const PLATEAUS: [u32; 4] = [1492, 1006, 508, 296];

/// Addresses of the two ends, which are constant, and the path MTU, which only falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    local: Endpoint,
    remote: Endpoint,
    path_mtu: u32,
}

impl Ends {
    /// Creates the ends. `path_mtu` is in bytes.
    pub(super) fn new(local: Endpoint, remote: Endpoint, path_mtu: u32) -> Ends {
        Ends {
            local,
            remote,
            path_mtu,
        }
    }

    pub(super) fn local(&self) -> Endpoint {
        self.local
    }

    pub(super) fn remote(&self) -> Endpoint {
        self.remote
    }

    #[cfg(test)]
    pub(super) fn path_mtu(&self) -> u32 {
        self.path_mtu
    }

    /// Returns the space for payload and options in a packet.
    pub(super) fn room_in_packet(&self) -> u32 {
        let headers = header_length(self.remote.address);
        self.path_mtu.saturating_sub(headers)
    }

    /// Returns the MSS of this end's SYN.
    pub(super) fn own_segment_size(&self, common: &Common) -> u16 {
        let most = u32::from(common.profile.maximum_segment_size);
        most.min(self.room_in_packet()) as u16
    }

    /// Returns "Eff.snd.MSS" (RFC 9293 section 3.7.1, RFC 6691), with options of `options` bytes in each segment.
    pub(super) fn sendable_segment_size(&self, common: &Common, options: u32) -> u32 {
        let path = self.room_in_packet().saturating_sub(options);
        let peer = u32::from(common.negotiated.peer_segment_size).saturating_sub(options);
        u32::from(common.profile.maximum_segment_size)
            .min(peer)
            .min(path)
            .max(1)
    }

    /// Takes in the MTU reported by a router, zero if it reports none (RFC 1191), of which `around` bytes are not
    /// TCP's. Returns true if that lowers the path MTU.
    pub(super) fn lower_path_mtu(&mut self, mtu: u32, around: u32) -> bool {
        let floor = if self.remote.address.is_ipv4() {
            68
        } else {
            1280
        };
        let mtu = match mtu {
            0 => PLATEAUS
                .into_iter()
                .find(|plateau| *plateau < self.path_mtu)
                .unwrap_or(floor),
            mtu => mtu.max(floor).saturating_sub(around),
        };
        let falls = mtu < self.path_mtu;
        if falls {
            self.path_mtu = mtu;
        }
        falls
    }
}

//! Selected fields of `struct tcp_info` (linux/tcp.h). The struct has grown at its end from kernel to kernel; a kernel
//! does not know fields beyond its own length.

use baton_proto::time::Duration;

/// TCP_INFINITE_SSTHRESH: no loss yet.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Statistics of a connection; windows in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpInfo {
    pub retransmission_timeout: Duration,
    /// Segment size in bytes.
    pub segment_size: u32,
    pub unacknowledged: u32,
    pub smoothed_rtt: Duration,
    pub slow_start_threshold: Option<u32>,
    pub congestion_window: u32,
    pub retransmitted: u32,
    pub timeouts: Option<u16>,
}

impl TcpInfo {
    /// Parses the struct's bytes; returns `None` if they are fewer than any kernel with sock_diag supplies.
    pub fn parse(bytes: &[u8]) -> Option<TcpInfo> {
        let field = |offset: usize| {
            let bytes = bytes.get(offset..offset + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let microseconds = |offset| Some(Duration::from_micros(field(offset)?.into()));
        let total_rto = bytes.get(240..242).and_then(|bytes| bytes.try_into().ok());
        Some(TcpInfo {
            retransmission_timeout: microseconds(8)?,
            segment_size: field(16)?,
            unacknowledged: field(24)?,
            smoothed_rtt: microseconds(68)?,
            slow_start_threshold: Some(field(76)?).filter(|&segments| segments < NO_THRESHOLD),
            congestion_window: field(80)?,
            retransmitted: field(100)?,
            timeouts: total_rto.map(u16::from_ne_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_struct_of_an_older_kernel_lacks_the_count_of_timeouts() {
        let mut bytes = [0; 248];
        bytes[76..80].copy_from_slice(&NO_THRESHOLD.to_ne_bytes());
        bytes[240] = 3;
        let info = TcpInfo::parse(&bytes).unwrap();
        assert_eq!((info.slow_start_threshold, info.timeouts), (None, Some(3)));
        assert_eq!(TcpInfo::parse(&bytes[..232]).unwrap().timeouts, None);
        assert_eq!(TcpInfo::parse(&bytes[..103]), None);
    }
}

//! Packets originated by the host itself.

use super::HOP_LIMIT;
use crate::packet::{BitErrors, Body, CodePoint, FlowId, Identity, IpHeader, Packet};
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Code points of flows, except those of zero.
pub(super) type CodePoints = BTreeMap<FlowId, CodePoint>;

/// Builder of a host's own packets, and of those of its layers.
#[derive(Debug)]
pub struct Origin<'a> {
    pub(super) identification: &'a mut u16,
    pub(super) code_points: Option<&'a CodePoints>,
}

impl Origin<'_> {
    /// Builds a packet.
    pub fn packet(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        body: Body,
        flow: Option<FlowId>,
    ) -> Packet {
        *self.identification = self.identification.wrapping_add(1);
        let code_point = self.code_point(&body, flow);
        let mut packet = Packet {
            ip: IpHeader {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                traffic_class: code_point.traffic_class(),
                identification: *self.identification,
                dont_fragment: true,
            },
            body,
            flow,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        };
        if let Body::Aerotp(aerotp) = &packet.body
            && aerotp.header.mode.repeats()
            && !aerotp.payload.is_empty()
        {
            packet.ip.allow_congestion_marks();
        }
        packet
    }

    /// Returns the code point of a packet: for AeroTP that of its class, otherwise that of its flow.
    #[inline]
    fn code_point(&self, body: &Body, flow: Option<FlowId>) -> CodePoint {
        if let Body::Aerotp(packet) = body {
            return CodePoint::class_selector(packet.header.class.number());
        }
        let code_point = self.code_points.zip(flow);
        let code_point = code_point.and_then(|(known, flow)| known.get(&flow));
        code_point.copied().unwrap_or_default()
    }
}

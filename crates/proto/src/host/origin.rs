//! The packets that a host makes itself.

use super::HOP_LIMIT;
use crate::packet::{BitErrors, Body, CodePoint, FlowId, Identity, IpHeader, Packet};
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Maker of a host's own packets, and of those of its layers.
#[derive(Debug, Default)]
pub struct Origin {
    identification: u16,
    /// Code points of flows, but for those where it is zero.
    code_points: BTreeMap<FlowId, CodePoint>,
}

impl Origin {
    /// Gives the packets of a flow that are made here a code point (RFC 2474).
    pub(super) fn set_code_point(&mut self, flow: FlowId, code_point: CodePoint) {
        self.code_points.insert(flow, code_point);
    }

    /// Makes a packet from a source to a destination.
    pub fn packet(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        body: Body,
        flow: Option<FlowId>,
    ) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        let code_point = self.code_point(&body, flow);
        Packet {
            ip: IpHeader {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                traffic_class: code_point.traffic_class(),
                identification: self.identification,
                dont_fragment: true,
            },
            body,
            flow,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        }
    }

    /// The code point of a packet: of AeroTP that of its class, of another that of its flow.
    #[inline]
    fn code_point(&self, body: &Body, flow: Option<FlowId>) -> CodePoint {
        if let Body::Aerotp(packet) = body {
            return CodePoint::class_selector(packet.header.class.number());
        }
        if self.code_points.is_empty() {
            return CodePoint::default();
        }
        let code_point = flow.and_then(|flow| self.code_points.get(&flow));
        code_point.copied().unwrap_or_default()
    }
}

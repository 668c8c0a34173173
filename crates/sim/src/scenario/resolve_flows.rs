//! Resolution of flows: their ends, data and transports.

use super::document::Path;
use super::error::{quoted, seconds};
use super::model::{Flow, NodeIndex, RadioService, Traffic, Transport};
use super::raw_flows::{RawFlow, RawTcp};
use super::resolve::{MOST_EVENTS, Report, node};
use super::resolve_links::Links;
use super::resolve_remedies;
use super::resolve_tcp;
use super::tagged::NameOr;
use super::traffic::RawTraffic;
use crate::transport::{RawTransport, aerotp};
use baton_proto::packet::CodePoint;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::collections::BTreeSet;

/// Bytes of IPv4's header.
const IPV4_HEADER: u32 = 20;
/// Bytes of IPv4's header and of UDP's or an ICMP echo's.
const DATAGRAM_HEADERS: u32 = IPV4_HEADER + 8;

/// Resolves all flows.
pub(super) fn flows(
    raw: &[RawFlow],
    links: &Links,
    end: Instant,
    report: &mut Report<'_>,
) -> Vec<Flow> {
    let top = Path::default().key("flows");
    let mut flows: Vec<Flow> = Vec::new();
    let mut names = BTreeSet::new();
    for (index, raw) in raw.iter().enumerate() {
        let path = top.index(index);
        if !names.insert(raw.name.as_str()) {
            let message = format!(
                "there is already a flow {}; expected another name",
                quoted(&raw.name)
            );
            report.wrong(&path.key("name"), message);
        }
        let last = flows.last().map(|last| &last.transport);
        if let Some(flow) = flow((raw, last), &path, links, end, report) {
            flows.push(flow);
        }
    }
    flows
}

/// Resolves a flow, which shares settings with the `last` one.
fn flow(
    (raw, last): (&RawFlow, Option<&Transport>),
    path: &Path,
    links: &Links,
    end: Instant,
    report: &mut Report<'_>,
) -> Option<Flow> {
    let from = node(&raw.from, &path.key("from"), links, report);
    let to = node(&raw.to, &path.key("to"), links, report);
    let start = Instant::ZERO + raw.start.map_or(Duration::ZERO, |start| start.0);
    let stop = raw.stop.map(|stop| Instant::ZERO + stop.0);
    let span = span(start, stop, end, path, report);
    let transport = transport((raw, last), path, report)?;
    let traffic = raw.traffic().resolve(&path.key("traffic"), span, report)?;
    let (from, to) = (from?, to?);
    check_ends(from, to, raw, links, path, report);
    if transport.connects() {
        check_stream(span, [from, to], links, path, report);
    } else {
        let headers = datagram_headers(&transport);
        check_datagram((traffic, headers), [from, to], links, path, report);
    }
    let remedies = resolve_remedies::named(raw, path, report);
    let paths = aerotp::paths::paths(raw, [from, to], links, path, report);
    let tcp = match &raw.transport {
        Some(NameOr(RawTransport::Tcp(tcp))) => tcp,
        _ => &RawTcp::default(),
    };
    Some(Flow {
        gateway: resolve_tcp::gateway(tcp, &remedies, &path.key("transport"), report),
        name: raw.name.clone(),
        from,
        to,
        start,
        start_jitter: raw.start_jitter.map_or(Duration::ZERO, |jitter| jitter.0),
        stop,
        transport,
        code_point: raw.code_point.and_then(CodePoint::new),
        traffic,
        radio_service: RadioService {
            priority: raw.priority.unwrap_or(RadioService::DEFAULT.priority),
            acknowledged: raw
                .acknowledged
                .unwrap_or(RadioService::DEFAULT.acknowledged),
        },
        remedies,
        paths,
        class: raw.class.clone(),
    })
}

/// Returns the span in which the source is active.
fn span(
    start: Instant,
    stop: Option<Instant>,
    end: Instant,
    path: &Path,
    report: &mut Report<'_>,
) -> Duration {
    if start >= end {
        let message = "is not before the end of the run: it never starts".to_owned();
        report.warn(&path.key("start"), message);
    }
    if let Some(stop) = stop
        && stop <= start
    {
        let message = format!("is not after the start at \"{} s\"", start.as_secs_f64());
        report.wrong(&path.key("stop"), message);
    }
    stop.unwrap_or(end).min(end).saturating_since(start)
}

fn check_ends(
    from: NodeIndex,
    to: NodeIndex,
    raw: &RawFlow,
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) {
    if from == to {
        let message = format!("the flow goes from {} to itself", quoted(&raw.to));
        report.wrong(&path.key("to"), message);
    } else if !links.join(from, to) {
        let message = format!(
            "no links lead from {} to {}",
            quoted(&raw.from),
            quoted(&raw.to)
        );
        report.wrong(&path.key("to"), message);
    }
}

/// Reports a stream that would make a run endless, since it takes all that the links give. Flows at a lower rate are
/// many times cheaper, and pass all the same.
fn check_stream(
    span: Duration,
    ends: [NodeIndex; 2],
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) {
    let fastest = |node: &NodeIndex| {
        let rates = links
            .of(*node)
            .flat_map(|link| [link.config.down.rate, link.config.up.rate]);
        rates.max().unwrap_or(DataRate::ZERO)
    };
    let rate = ends.iter().map(fastest).min().unwrap_or(DataRate::ZERO);
    let packets = rate.bits_in(span) / (1500 * 8);
    if packets > 100 * MOST_EVENTS {
        let message = format!(
            "could make {packets} packets in {}; stop it earlier",
            seconds(span)
        );
        report.wrong(path, message);
    }
}

/// Returns the length of the headers around a datagram's payload, with IPv4's header.
fn datagram_headers(transport: &Transport) -> u32 {
    transport.other().map_or(DATAGRAM_HEADERS, |transport| {
        IPV4_HEADER + transport.datagram_header_length()
    })
}

/// Reports datagrams that fit no link of their source, or none of their destination, and so never arrive.
fn check_datagram(
    (traffic, headers): (Traffic, u32),
    ends: [NodeIndex; 2],
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) {
    let (key, payload) = match traffic {
        Traffic::Constant { packet_size, .. } | Traffic::OnOff { packet_size, .. } => {
            ("packet_size", packet_size)
        }
        Traffic::Ping { size, .. } => ("size", size),
        Traffic::Bulk { .. } | Traffic::Pages { .. } => return,
    };
    let largest = ends
        .iter()
        .filter_map(|node| links.largest_mtu(*node))
        .min()
        .unwrap_or(u32::MAX);
    let length = payload.saturating_add(headers);
    if length > largest {
        let message = format!(
            "{payload} B and {headers} B of headers fit no MTU (largest {largest} B); \
             expected at most {} B",
            largest.saturating_sub(headers)
        );
        report.wrong(&path.key("traffic").key(key), message);
    }
}

fn transport(
    (raw, last): (&RawFlow, Option<&Transport>),
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Transport> {
    let traffic = raw.traffic();
    let here = path.key("transport");
    let default = match traffic.is_ping() {
        true => RawTransport::Icmp,
        false => RawTransport::Tcp(Box::default()),
    };
    let given = raw.transport.as_ref().map(|transport| &transport.0);
    match given.unwrap_or(&default) {
        RawTransport::Tcp(tcp) => {
            let [sender, receiver] = resolve_tcp::ends(tcp, &here, report)?;
            Some(Transport::tcp(sender, receiver, last))
        }
        RawTransport::Udp => {
            if matches!(traffic, RawTraffic::Bulk(_) | RawTraffic::Pages(_)) {
                let message = "bulk and pages need a connection; expected transport \"tcp\" or \"quic\", as \"udp\" \
                               carries only constant, on-off and ping";
                report.wrong(&here, message.to_owned());
            }
            Some(Transport::Udp)
        }
        RawTransport::Icmp => {
            if !traffic.is_ping() {
                report.wrong(&here, "\"icmp\" carries only traffic = \"ping\"".to_owned());
            }
            Some(Transport::Icmp)
        }
        other => other.resolve(raw, path, report),
    }
}

//! Signals of a handover to a mobile's connections, with study C's links: WiFi at interface 0, a satellite at interface 1.

use super::*;
use crate::crosslayer::{Control, Remedy, Signal, TransportView};
use crate::host::layer::{Layer, Rank};
use crate::interface::{LinkCommand, LinkParameters};
use crate::mobility::attachment::{
    AccessInterface, Entry, Handover, OldQueue, Policy, Settings, Timetable,
};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::tcp::profile::Profile;
use crate::time::Duration;
use std::sync::{Arc, Mutex};

const WIFI: PathParameters = PathParameters::at_mobile(link(2_000_000, 20));
const SATELLITE: PathParameters = PathParameters::at_mobile(link(1_000_000, 500));

const fn link(rate: u64, round_trip: u64) -> LinkParameters {
    LinkParameters {
        outgoing: DataRate::from_bits_per_second(rate),
        incoming: DataRate::from_bits_per_second(rate),
        round_trip: Duration::from_millis(round_trip),
        outgoing_queue: None,
        incoming_queue: Some(50),
        mtu: 1500,
    }
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

type Heard = Arc<Mutex<Vec<CrossLayerSignal>>>;

/// A remedy that only records signals.
#[derive(Debug)]
struct Listener(Heard);

impl Remedy for Listener {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _: &TransportView) -> Vec<Control> {
        self.0.lock().unwrap().push(*signal);
        Vec::new()
    }
}

/// Returns a mobile that moves to the satellite at 10 s, announced 400 ms ahead, after an outage of 4 s; and the
/// signals that its connection has received.
fn mobile(registers: bool) -> (Host, Heard) {
    let mut host = Host::new("10.0.0.1".parse().unwrap(), [1; 16]);
    let [wifi, satellite] = [host.add_interface(1500), host.add_interface(1500)];
    host.routes_mut().set_default(Some(wifi));
    let handover = Entry {
        at: at(10_000),
        to: Some(satellite),
        handover: Handover::Hard {
            outage: Duration::from_secs(4),
            old_queue: OldQueue::Discarded,
        },
        announced: Some(Duration::from_millis(400)),
    };
    let access = |id| AccessInterface {
        id,
        is_network: false,
    };
    let machine = Attachment::new(Settings {
        interfaces: vec![access(wifi), access(satellite)],
        policy: Policy::Timetable(Timetable::new(Some(wifi), vec![handover])),
        registers,
        signalling: None,
        detaches_old: false,
    });
    host.set_attachment(machine, false);
    for (interface, link) in [
        (wifi, link(2_000_000, 20)),
        (satellite, link(1_000_000, 500)),
    ] {
        host.handle_link(at(0), interface, LinkEvent::Parameters(link));
    }
    let own = host.attachment_mut().unwrap();
    own.begin(at(0), &[wifi, satellite]);
    while host.poll_attachment(at(0)).is_some() {}
    let remote = Endpoint {
        address: "10.0.0.2".parse().unwrap(),
        port: 80,
    };
    let socket = host.tcp_connect(at(0), remote, &Profile::named("rfc").unwrap(), None);
    let heard = Heard::default();
    let listener: Box<dyn Remedy> = Box::new(Listener(Arc::clone(&heard)));
    host.add_remedies(at(0), socket, [listener]);
    (host, heard)
}

/// Handles a timeout at a moment, and returns each output with the number of signals that the connection had received
/// before it.
fn outputs(host: &mut Host, heard: &Heard, milliseconds: u64) -> Vec<(Output, usize)> {
    let now = at(milliseconds);
    host.handle_timeout(now);
    std::iter::from_fn(|| {
        let output = host.poll_attachment(now)?;
        Some((output, heard.lock().unwrap().len()))
    })
    .collect()
}

fn take(heard: &Heard) -> Vec<CrossLayerSignal> {
    core::mem::take(&mut heard.lock().unwrap())
}

/// Study C's s1 and s3: "going down", "disconnected", "connected". The medium is blocked before the connection gets its
/// signal.
#[test]
fn a_connection_hears_of_a_hard_handover() {
    let (mut host, heard) = mobile(false);
    assert_eq!(take(&heard), [CrossLayerSignal::Begun(WIFI)]);
    assert_eq!(host.poll_timeout(), Some(at(9600)));
    outputs(&mut host, &heard, 9600);
    assert_eq!(take(&heard), [CrossLayerSignal::GoingDown]);
    let told = outputs(&mut host, &heard, 10_000);
    let detached = Output::Command(InterfaceId(0), LinkCommand::Detach { keep_queue: false });
    assert!(told.contains(&(detached, 0)), "{told:?}");
    assert_eq!(take(&heard), [CrossLayerSignal::Disconnected]);
    outputs(&mut host, &heard, 14_000);
    assert_eq!(take(&heard), [CrossLayerSignal::Connected(SATELLITE)]);
    assert_eq!(host.attachment().unwrap().attached(), Some(InterfaceId(1)));
}

/// A connection gets a medium's events of the link in use, and of no other link.
#[test]
fn a_connection_hears_of_the_link_in_use() {
    let (mut host, heard) = mobile(false);
    take(&heard);
    for (milliseconds, interface, event) in [
        (1000, 1, LinkEvent::Down),
        (2000, 0, LinkEvent::Down),
        (3000, 0, LinkEvent::Up),
        (4000, 0, LinkEvent::Rollback),
    ] {
        host.handle_link(at(milliseconds), InterfaceId(interface), event);
        while host.poll_attachment(at(milliseconds)).is_some() {}
    }
    let expected = [
        CrossLayerSignal::Disconnected,
        CrossLayerSignal::Connected(WIFI),
        CrossLayerSignal::Rollback,
    ];
    assert_eq!(take(&heard), expected);
}

/// With a mobility protocol, a connection gets a signal when the binding update leaves, and "connected" when the answer
/// about the handover's new link has arrived.
#[test]
fn a_connection_hears_of_the_registration() {
    let (mut host, heard) = mobile(true);
    outputs(&mut host, &heard, 9600);
    outputs(&mut host, &heard, 10_000);
    outputs(&mut host, &heard, 14_000);
    let expected = [
        CrossLayerSignal::Begun(WIFI),
        CrossLayerSignal::GoingDown,
        CrossLayerSignal::Disconnected,
    ];
    assert_eq!(take(&heard), expected);
    let sent = Signal::BindingSent("2001:db8::1".parse().unwrap());
    host.signal(at(14_500), sent);
    host.signal(at(15_000), Signal::Registered(InterfaceId(0)));
    assert_eq!(host.poll_attachment(at(15_000)), None);
    assert_eq!(take(&heard), [CrossLayerSignal::UpdateSent]);
    host.signal(at(15_500), Signal::Registered(InterfaceId(1)));
    while host.poll_attachment(at(15_500)).is_some() {}
    assert_eq!(take(&heard), [CrossLayerSignal::Connected(SATELLITE)]);
    // An update that extends the binding belongs to no handover.
    host.signal(at(20_000), sent);
    assert_eq!(take(&heard), []);
}

/// A layer that records its signals; one correspondent still sends to the mobile's old place.
#[derive(Debug, Default)]
struct Protocol {
    heard: Vec<(usize, LinkEvent)>,
    paths: Vec<Signal>,
    late: Option<IpAddr>,
}

impl Layer for Protocol {
    fn rank(&self) -> Rank {
        Rank::MobileNode
    }

    fn handle_signal(&mut self, _: Instant, signal: &Signal) {
        match *signal {
            Signal::Link(interface, event) => self.heard.push((interface.0, event)),
            Signal::NewPath(..) => self.paths.push(*signal),
            _ => {}
        }
    }

    fn is_sought_elsewhere(&self, _: Instant, peer: IpAddr) -> bool {
        self.late == Some(peer)
    }
}

/// A connection to a correspondent that sends to the old place gets "connected" when its own update leaves, not when
/// the home agent has answered.
#[test]
fn a_connection_to_a_late_correspondent_hears_later() {
    let (mut host, heard) = mobile(true);
    let peer = "10.0.0.2".parse().unwrap();
    host.add_layer(Protocol {
        late: Some(peer),
        ..Protocol::default()
    });
    for milliseconds in [9600, 10_000, 14_000] {
        outputs(&mut host, &heard, milliseconds);
    }
    take(&heard);
    host.signal(at(15_000), Signal::Registered(InterfaceId(1)));
    while host.poll_attachment(at(15_000)).is_some() {}
    assert_eq!(take(&heard), []);
    host.signal(at(16_000), Signal::BindingSent("10.0.0.3".parse().unwrap()));
    assert_eq!(take(&heard), []);
    host.signal(at(16_000), Signal::BindingSent(peer));
    let expected = [
        CrossLayerSignal::UpdateSent,
        CrossLayerSignal::Connected(SATELLITE),
    ];
    assert_eq!(take(&heard), expected);
}

/// The protocol gets link events as the attachment passes them on, and the path to report in its updates; it gets no
/// event of a link to which the mobile is not attached.
#[test]
fn the_protocol_hears_what_the_attachment_says() {
    let (mut host, heard) = mobile(true);
    host.add_layer(Protocol::default());
    host.attachment.as_mut().unwrap().reports_paths = true;
    host.handle_link(at(1000), InterfaceId(1), LinkEvent::Down);
    host.handle_link(at(2000), InterfaceId(1), LinkEvent::Up);
    for milliseconds in [9600, 10_000, 14_000] {
        outputs(&mut host, &heard, milliseconds);
    }
    let protocol: &Protocol = host.layer().unwrap();
    let expected = [
        (0, LinkEvent::GoingDown),
        (0, LinkEvent::Down),
        (1, LinkEvent::HandoverImminent),
        (1, LinkEvent::Up),
    ];
    assert_eq!(protocol.heard, expected);
    assert_eq!(protocol.paths, [Signal::NewPath(InterfaceId(1), SATELLITE)]);
}

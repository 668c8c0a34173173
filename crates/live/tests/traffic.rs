//! Flows over the kernel's stack, from one network namespace to another.

mod namespace;

use baton_live::sampler::{Sampler, SamplerReport};
use baton_live::traffic::{
    EndSpec, Failure, FlowOutcome, FlowSpec, SocketOptions, TrafficHandle, prepare,
};
use baton_proto::time::{Duration, Instant};
use baton_sim::observe::TcpInfoSample;
use baton_sim::rng::Seed;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario::model::NodeIndex;
use baton_sim::scenario::{self, Loaded};
use namespace::Namespace;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::channel;

/// Of source and sink.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

const LINK: &str = r#"
    name = "cable"
    [links.path]
    between = ["a", "b"]
    kind = "wired"
    rate = "10 Gbit/s"
    delay = "0 s"
    queue = "10000 packets"
"#;

/// A scenario of the given flows, each from a to b.
fn load(duration: &str, flows: &[&str]) -> Loaded {
    let mut text = format!("duration = {duration:?}\n{LINK}");
    for flow in flows {
        text += &format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n");
    }
    scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap()
}

fn specs<'a>(loaded: &Loaded, namespaces: &'a [Namespace; 2]) -> Vec<FlowSpec<'a>> {
    let scenario = &loaded.scenario;
    let end = |role: usize| EndSpec {
        namespace: namespaces[role].as_fd(),
        address: ADDRESSES[role].into(),
        options: SocketOptions::default(),
    };
    let spec = |(number, flow): (usize, &baton_sim::scenario::model::Flow)| FlowSpec {
        number,
        flow: flow.clone(),
        port: 5001 + number as u16,
        seed: Seed(scenario.seed),
        ends: [0, 1].map(end),
    };
    scenario.flows.iter().enumerate().map(spec).collect()
}

/// Samples the kernel's figures of the connections in a namespace meanwhile.
fn sample(namespace: &Namespace, time: std::time::Duration) -> (Vec<TcpInfoSample>, SamplerReport) {
    let (sender, samples) = channel();
    let zero = std::time::Instant::now();
    let interval = Duration::from_millis(5);
    let sampler = Sampler::start(namespace.as_fd(), NodeIndex(0), zero, interval, sender).unwrap();
    std::thread::sleep(time);
    let report = sampler.stop();
    (samples.iter().collect(), report)
}

fn start(specs: &[FlowSpec<'_>]) -> TrafficHandle {
    prepare(specs)
        .unwrap()
        .start(std::time::Instant::now())
        .unwrap()
}

fn run(specs: &[FlowSpec<'_>], milliseconds: u64) -> Vec<FlowOutcome> {
    let handle = start(specs);
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    handle.stop()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_live_run_delivers_what_the_simulated_one_does() {
    let pair = Namespace::pair(ADDRESSES);
    let flows = [
        "name = \"bulk\"\ntraffic.bytes = \"5 MB\"\nstart = \"100 ms\"",
        "name = \"blocks\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"800 kbit/s\"\ntraffic.bytes = \"30500 B\"",
        "name = \"datagrams\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"800 kbit/s\"\nstop = \"495 ms\"",
        "name = \"bursts\"\ntransport = \"udp\"\ntraffic.kind = \"on-off\"\ntraffic.rate = \"8 Mbit/s\"\ntraffic.on = \"20 ms\"\ntraffic.off = \"20 ms\"\nstop = \"600 ms\"",
        "name = \"stream-of-bursts\"\ntraffic.kind = \"on-off\"\ntraffic.rate = \"8 Mbit/s\"\ntraffic.on = \"20 ms\"\ntraffic.off = \"20 ms\"\nstop = \"600 ms\"",
        "name = \"pages\"\ntraffic.kind = \"pages\"\ntraffic.page = \"30 kB\"\ntraffic.think_time = \"50 ms\"\ntraffic.count = 4",
        "name = \"ping\"\ntraffic.kind = \"ping\"\ntraffic.interval = \"30 ms\"\ntraffic.count = 10",
        "name = \"ping-over-udp\"\ntransport = \"udp\"\ntraffic.kind = \"ping\"\ntraffic.interval = \"30 ms\"\nstop = \"500 ms\"\ntraffic.size = \"1 B\"",
        "name = \"ping-over-tcp\"\ntransport.kind = \"tcp\"\ntraffic.kind = \"ping\"\ntraffic.interval = \"30 ms\"\ntraffic.count = 10",
    ];
    let loaded = load("700 ms", &flows);
    let outcomes = run(&specs(&loaded, &pair), 750);
    let mut simulated = Run::new(loaded, &RunOptions::default()).unwrap();
    while !simulated.advance().unwrap() {}
    let simulated = simulated.finish(None).unwrap().summary.flows;
    for (outcome, simulated) in outcomes.iter().zip(&simulated) {
        let name = &simulated.name;
        assert_eq!(outcome.failure(), None, "{name}");
        let [source, sink] = &outcome.ends;
        let far = if simulated.ping.is_some() {
            source
        } else {
            sink
        };
        assert_eq!(far.received_bytes, simulated.delivered_bytes, "{name}");
        assert!(far.received_bytes > 0, "{name}");
        if let Some(ping) = simulated.ping {
            assert_eq!(source.round_trips.len() as u64, ping.answered, "{name}");
            let longest = source.round_trips.iter().map(|trip| trip.time).max();
            assert!(
                longest < Some(Duration::from_millis(200)),
                "{name}: {longest:?}"
            );
        }
    }
    let [_, bulk] = &outcomes[0].ends;
    let began = Instant::from_millis(100);
    assert!(bulk.last_received.unwrap() > began, "{bulk:?}");
    // The last of 50 blocks of 10 ms each is due at 490 ms.
    let [_, datagrams] = &outcomes[2].ends;
    let last = datagrams.last_received.unwrap();
    assert!(
        (490..600).contains(&(last.as_nanos() / 1_000_000)),
        "{last:?}"
    );
    // Four requests of 400 B.
    assert_eq!(outcomes[5].ends[0].received_bytes, 1600);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_source_that_stops_closes_and_all_it_wrote_arrives() {
    let pair = Namespace::pair(ADDRESSES);
    let loaded = load("1 s", &["name = \"bulk\"\nstop = \"100 ms\""]);
    let outcomes = run(&specs(&loaded, &pair), 300);
    let [source, sink] = &outcomes[0].ends;
    assert!(source.written_bytes > 1_000_000, "{source:?}");
    assert_eq!(source.written_bytes, sink.received_bytes);
    assert!(sink.last_received.unwrap() < Instant::from_millis(290));
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn the_end_of_the_run_is_prompt_whatever_the_flows_wait_for() {
    let pair = Namespace::pair(ADDRESSES);
    let flows = [
        "name = \"endless\"",
        "name = \"later\"\nstart = \"50 s\"",
        "name = \"datagrams\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"1 Gbit/s\"",
        "name = \"ping\"\ntraffic.kind = \"ping\"\ntraffic.interval = \"10 s\"",
    ];
    let handle = start(&specs(&load("60 s", &flows), &pair));
    std::thread::sleep(std::time::Duration::from_millis(100));
    let began = std::time::Instant::now();
    let outcomes = handle.stop();
    assert!(began.elapsed().as_millis() < 200, "{:?}", began.elapsed());
    assert!(outcomes.iter().all(|outcome| outcome.failure().is_none()));
    // A connection left half closed would keep its namespace alive.
    for namespace in &pair {
        let sockets = namespace.inside(|| std::fs::read_to_string("/proc/thread-self/net/tcp"));
        assert_eq!(sockets.unwrap().lines().count(), 1, "more than the heading");
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_connection_to_where_nobody_listens_is_refused() {
    let pair = Namespace::pair(ADDRESSES);
    let loaded = load("1 s", &["name = \"lonely\""]);
    let mut specs = specs(&loaded, &pair);
    // The listener listens at the source's own host.
    specs[0].ends[1].namespace = pair[0].as_fd();
    let outcomes = run(&specs, 50);
    assert_eq!(outcomes[0].ends[0].failure, Some(Failure::Refused));
    assert_eq!(
        outcomes[0].failure().unwrap().to_string(),
        "the connection was refused"
    );
    assert_eq!(outcomes[0].ends[1].failure, None);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn what_the_kernel_does_not_offer_is_named_before_anything_runs() {
    let pair = Namespace::pair(ADDRESSES);
    let loaded = load("1 s", &["name = \"odd\""]);
    let mut specs = specs(&loaded, &pair);
    specs[0].ends[0].options.congestion = Some("westwood-9".to_owned());
    let error = prepare(&specs).unwrap_err().to_string();
    assert!(
        error.contains("\"odd\"") && error.contains("source"),
        "{error}"
    );
    assert!(error.contains("TCP_CONGESTION \"westwood-9\""), "{error}");
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn datagrams_too_long_for_the_path_become_as_long_as_it_takes() {
    let pair = Namespace::pair(ADDRESSES);
    pair[0].inside(|| namespace::set_mtu(namespace::CABLE, 1000));
    let flow = "name = \"long\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"8 Mbit/s\"\ntraffic.packet_size = \"1400 B\"\nstop = \"100 ms\"";
    let outcomes = run(&specs(&load("1 s", &[flow]), &pair), 150);
    let [source, sink] = &outcomes[0].ends;
    assert_eq!(source.unsent_datagrams, 1);
    assert_eq!(source.written_bytes % 972, 0, "{source:?}");
    assert_eq!(sink.received_bytes, source.written_bytes);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn sockets_have_the_options_that_were_asked_for() {
    let pair = Namespace::pair(ADDRESSES);
    let loaded = load("1 s", &["name = \"bulk\""]);
    let mut specs = specs(&loaded, &pair);
    specs[0].ends[0].options = SocketOptions {
        congestion: Some("reno".to_owned()),
        maximum_segment_size: Some(1000),
        send_buffer: Some(500_000),
        no_delay: true,
        ..SocketOptions::default()
    };
    specs[0].ends[1].options = SocketOptions {
        window_clamp: Some(16_384),
        receive_buffer: Some(16_384),
        ..SocketOptions::default()
    };
    let handle = start(&specs);
    let (samples, report) = sample(&pair[0], std::time::Duration::from_millis(200));
    let outcomes = handle.stop();
    assert_eq!(outcomes[0].failure(), None);
    assert!(
        outcomes[0].ends[1].received_bytes > 1_000_000,
        "{outcomes:?}"
    );
    assert_eq!(report.congestion_controls, ["reno".to_owned()].into());
    // 12 B of the 1000 go to the timestamps option.
    assert!(
        samples.len() > 10
            && samples
                .iter()
                .all(|sample| sample.congestion_window % 988 == 0)
    );
    let mut in_flight: Vec<u32> = samples
        .iter()
        .map(|sample| sample.bytes_in_flight)
        .collect();
    in_flight.sort_unstable();
    // The clamp holds but between a segment's arrival and the read. There only the buffer bounds it,
    // which the kernel doubles (socket(7), SO_RCVBUF).
    assert!(in_flight[in_flight.len() / 2] <= 16_384, "{in_flight:?}");
    assert!(in_flight.last() <= Some(&32_768), "{in_flight:?}");
}

//! Options that the two stacks agree on, and connections that do not come about.

use crate::bench::{Bench, PLAIN, Setting, Side};
use crate::for_each;
use baton_proto::host::SocketEvent;
use baton_proto::tcp::profile::Profile;
use std::io::ErrorKind;

/// Bits of `tcpi_options` (linux/tcp.h).
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALING: u8 = 4;

/// A kernel without one of the options, as its settings name it.
const WITHOUT: [&[(&str, &str)]; 4] = [
    &[],
    &[("tcp_sack", "0")],
    &[("tcp_timestamps", "0")],
    &[("tcp_window_scaling", "0")],
];

fn assert_agreed(bench: &mut Bench, profile: &Profile, kernel_lacks: Option<&str>) {
    let has = |name| kernel_lacks != Some(name);
    let timestamps = profile.timestamps && has("tcp_timestamps");
    let sack = profile.sack && has("tcp_sack");
    let scaling = profile.window_scaling && has("tcp_window_scaling");
    let info = bench.kernel.info();
    let bit = |wanted: bool, bit: u8| if wanted { bit } else { 0 };
    let expected = bit(timestamps, TIMESTAMPS) | bit(sack, SACK) | bit(scaling, WINDOW_SCALING);
    assert_eq!(
        info.tcpi_options & (TIMESTAMPS | SACK | WINDOW_SCALING),
        expected
    );
    let headers = if bench.addresses[0].is_ipv4() { 40 } else { 60 };
    let connection = bench.connection();
    let negotiated = *connection.negotiated().unwrap();
    assert_eq!((negotiated.timestamps, negotiated.sack), (timestamps, sack));
    // A field of four bits each: the shift of what the kernel hears, and of what it says.
    let [hears, says] = [info.tcpi_snd_rcv_wscale & 15, info.tcpi_snd_rcv_wscale >> 4];
    assert_eq!(negotiated.window_shifts, scaling.then_some((hears, says)));
    if scaling {
        let smallest = (0..=14).find(|shift| profile.receive_buffer >> shift <= 0xFFFF);
        assert_eq!(Some(hears), smallest);
    }
    // RFC 6691: what the peer asked for, less the options of every segment.
    let option = if timestamps { 12 } else { 0 };
    let ours = u32::from(profile.maximum_segment_size).min(1500 - headers) - option;
    assert_eq!(connection.segment_size(), ours);
    assert_eq!(info.tcpi_snd_mss, ours);
    assert_eq!(info.tcpi_pmtu, 1500);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn both_say_the_same_of_what_they_agreed_on() {
    for_each(|profile, opener| {
        for (sysctls, ipv6) in WITHOUT
            .iter()
            .map(|without| (without, false))
            .chain([(&WITHOUT[0], true)])
        {
            let setting = Setting {
                links: PLAIN,
                sysctls,
                ipv6,
                ..Setting::default()
            };
            let mut bench = Bench::connected(&setting, profile, opener);
            bench.carry(Side::Ours, 30_000);
            bench.carry(Side::Kernel, 30_000);
            assert_agreed(&mut bench, profile, sysctls.first().map(|(name, _)| *name));
            assert_eq!(bench.connection().statistics().challenge_acks, 0);
            bench.close(opener, 1);
        }
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn syns_that_cross_make_one_connection() {
    for name in Profile::NAMES {
        let profile = Profile::named(name).unwrap();
        // After SYNs that cross, Linux 6.18 scales its window even if ours offered no scaling, against RFC 7323
        // section 1.3: it then says 502 and means 64256. So where we do not, it must not either.
        let unscaled = [("tcp_window_scaling", "0")];
        let setting = Setting {
            links: PLAIN,
            sysctls: if profile.window_scaling {
                &[]
            } else {
                &unscaled
            },
            ..Setting::default()
        };
        let mut bench = Bench::new(&setting);
        bench.open_at_once(&profile);
        bench.until("connected at both ends", |bench| {
            bench.kernel.is_open() && bench.events.contains(&SocketEvent::Connected)
        });
        for sent in bench.sent {
            assert!(sent.syn.is_some(), "{name}");
        }
        bench.carry(Side::Ours, 30_000);
        bench.carry(Side::Kernel, 30_000);
        bench.close(Side::Ours, 1);
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn where_nobody_listens_the_connection_is_refused() {
    let setting = Setting {
        links: PLAIN,
        ..Setting::default()
    };
    for name in Profile::NAMES {
        let mut bench = Bench::new(&setting);
        bench.connect(&Profile::named(name).unwrap());
        bench.until("refused", |bench| bench.events == [SocketEvent::Refused]);
    }
    let mut bench = Bench::new(&setting);
    bench.connect_to_nobody();
    bench.until("refused", |bench| {
        bench.kernel.error == Some(ErrorKind::ConnectionRefused)
    });
}

//! Closing one way, and breaking off.

use crate::bench::{Bench, PLAIN, Setting, Side};
use crate::for_each;
use baton_proto::host::SocketEvent;
use baton_proto::tcp::State;
use std::io::ErrorKind;

const SETTING: Setting<'static> = Setting {
    links: PLAIN,
    sysctls: &[],
    receive_buffer: None,
    ipv6: false,
};

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_side_that_has_closed_still_reads() {
    for_each(|profile, opener| {
        for first in Side::BOTH {
            let mut bench = Bench::connected(&SETTING, profile, opener);
            bench.carry(first, 20_000);
            bench.close(first, 100_000);
            // RFC 9293 section 3.6: who closes first waits for stray segments.
            let state = match first {
                Side::Ours => State::TimeWait,
                Side::Kernel => State::Closed,
            };
            assert_eq!(bench.connection().state(), state);
        }
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_side_that_breaks_off_is_heard() {
    for_each(|profile, opener| {
        // With nothing under way, and in the midst of a transfer either way.
        for under_way in [None, Some(Side::Ours), Some(Side::Kernel)] {
            for by in Side::BOTH {
                let mut bench = Bench::connected(&SETTING, profile, opener);
                if let Some(from) = under_way {
                    bench.until("under way", |bench| {
                        bench.write(from, 1_000_000);
                        bench.read(from);
                        bench.carried[from as usize].read > 50_000
                    });
                }
                match by {
                    Side::Ours => {
                        bench.connection().abort();
                        bench.until("reset at the kernel's end", |bench| {
                            bench.read(Side::Ours);
                            bench.kernel.error == Some(ErrorKind::ConnectionReset)
                        });
                    }
                    Side::Kernel => {
                        bench.kernel.abort();
                        bench.until("reset at our end", |bench| {
                            bench.events.contains(&SocketEvent::Reset)
                        });
                        assert_eq!(bench.connection().state(), State::Closed);
                    }
                }
            }
        }
    });
}

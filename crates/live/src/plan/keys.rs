//! Translation of each key into the kernel's settings, or the reason for its refusal.

use super::{KernelFacts, Plan};
use crate::traffic::SocketOptions;
use baton_proto::tcp::profile::{Autotuning, Profile, Recovery, RtoArithmetic, WindowArithmetic};
use baton_proto::time::Duration;
use baton_sim::scenario::model::NodeIndex;
use netlink_packet_route::route::RouteMetric;
use std::ops::RangeInclusive;

/// One end of a flow, for a key in the scenario.
pub(super) struct End<'a> {
    pub plan: &'a mut Plan,
    pub kernel: &'a KernelFacts,
    pub host: NodeIndex,
    /// The values of all keys.
    pub profile: &'a Profile,
    pub options: &'a mut SocketOptions,
    /// The key, for messages.
    pub key: String,
}

/// Translation of a key into settings of the kernel, or its refusal.
type Translate = fn(&mut End<'_>);

/// Every key of a flow's TCP.
pub(super) const KEYS: &[(&str, Translate)] = &[
    ("recovery", recovery),
    ("maximum_segment_size", maximum_segment_size),
    ("receive_buffer", receive_buffer),
    ("receive_autotuning", receive_buffer),
    ("send_buffer", send_buffer),
    ("send_autotuning", send_buffer),
    ("nagle", |end| end.options.no_delay = !end.profile.nagle),
    ("window_scaling", |end| {
        end.switch("tcp_window_scaling", end.profile.window_scaling)
    }),
    ("timestamps", |end| {
        end.switch("tcp_timestamps", end.profile.timestamps)
    }),
    ("sack", |end| end.switch("tcp_sack", end.profile.sack)),
    ("idle_restart", |end| {
        end.switch("tcp_slow_start_after_idle", end.profile.idle_restart);
    }),
    ("syn_retries", |end| {
        end.set_within("tcp_syn_retries", end.profile.syn_retries.into(), 1..=127);
    }),
    ("syn_ack_retries", |end| {
        let value = end.profile.syn_ack_retries.into();
        end.set_within("tcp_synack_retries", value, 0..=255);
    }),
    ("data_retries", |end| {
        end.set_within("tcp_retries2", end.profile.data_retries.into(), 0..=255);
    }),
    ("minimum_rto", minimum_rto),
    ("maximum_rto", |end| {
        let milliseconds = milliseconds(end.profile.maximum_rto);
        end.set_within("tcp_rto_max_ms", milliseconds, 1000..=120_000);
    }),
    ("duplicate_ack_threshold", duplicate_ack_threshold),
    ("initial_window", |end| {
        end.metric(RouteMetric::InitCwnd(end.profile.initial_window))
    }),
    ("delayed_ack", |end| match end.profile.delayed_ack {
        None => end.metric(RouteMetric::QuickAck(1)),
        Some(_) => end.refuse(
            "the kernel chooses the delay itself, 40 ms at first",
            Some("\"off\""),
        ),
    }),
    ("initial_slow_start_threshold", |end| {
        end.refuse(
            "the kernel begins without one, and cannot be told another",
            Some("\"off\""),
        );
    }),
    ("limited_transmit", |end| {
        if !end.profile.limited_transmit {
            end.refuse(
                "the kernel always sends on the first duplicate acknowledgments",
                Some("true"),
            );
        }
    }),
    ("initial_rto", |end| {
        if end.profile.initial_rto != Duration::from_secs(1) {
            end.refuse("the kernel begins with one second", Some("\"1 s\""));
        }
    }),
    ("tick", |end| {
        end.refuse("the kernel's clock is its own", None)
    }),
    ("rto_arithmetic", |end| {
        let linux = end.profile.rto_arithmetic == RtoArithmetic::Linux;
        end.refuse_unless(linux, "has its own");
    }),
    ("time_wait", |end| {
        if end.profile.time_wait != Duration::from_secs(60) {
            end.refuse("the kernel's lasts 60 s", Some("\"60 s\""));
        }
    }),
    ("syn_linear_timeouts", |end| {
        let value = end.profile.syn_linear_timeouts.into();
        end.set_within("tcp_syn_linear_timeouts", value, 0..=127);
    }),
    ("sack_compression", sack_compression),
    ("duplicate_sack", |end| {
        end.switch("tcp_dsack", end.profile.duplicate_sack)
    }),
    ("rack", |end| end.switch("tcp_recovery", end.profile.rack)),
    ("tail_loss_probe", |end| {
        let value = if end.profile.tail_loss_probe { 3 } else { 0 };
        end.set("tcp_early_retrans", value);
    }),
    ("forward_rto", |end| {
        let value = if end.profile.forward_rto { 2 } else { 0 };
        end.set("tcp_frto", value);
    }),
    ("quick_acks", |end| {
        end.refuse_unless(end.profile.quick_acks, "always delays as Linux does");
    }),
    ("proportional_rate_reduction", |end| {
        let on = end.profile.proportional_rate_reduction;
        end.refuse_unless(on, "always reduces in proportion");
    }),
    ("undo", |end| {
        end.refuse_unless(end.profile.undo, "always takes wrong reductions back");
    }),
    ("window_arithmetic", |end| {
        let linux = end.profile.window_arithmetic == WindowArithmetic::Linux;
        end.refuse_unless(linux, "has Linux's form of every congestion control");
    }),
    ("hystart", |end| {
        let message =
            "has one setting for all namespaces, /sys/module/tcp_cubic/parameters/hystart";
        end.refuse_unless(end.profile.hystart, message);
    }),
    ("long_term_rate", |end| {
        end.refuse_unless(end.profile.long_term_rate, "always looks for policers");
    }),
    ("minimum_rtt_window", minimum_rtt_window),
    ("push_bursts", |end| {
        end.refuse_unless(
            end.profile.push_bursts,
            "always pushes what leaves together",
        );
    }),
    ("snack", |end| {
        end.refuse_unless(!end.profile.snack, "knows no SNACK");
    }),
    ("rate_limit", |end| {
        let off = end.profile.rate_limit.is_none();
        end.refuse_unless(off, "has no rate control of SCPS-TP's kind");
    }),
    ("timer_wheel", |end| {
        end.refuse_unless(end.profile.timer_wheel, "always has coarse timers");
    }),
    ("transaction_opening", |end| {
        end.refuse_unless(!end.profile.transaction_opening, "knows no T/TCP");
    }),
    ("delay_by_gaps", refuse_old_linux),
    ("threshold_from_window", refuse_old_linux),
];

impl End<'_> {
    fn refuse(&mut self, message: &str, nearest: Option<&str>) {
        self.plan.refuse(&self.key, message, nearest);
    }

    /// Refuses a value that differs from the kernel's fixed behaviour.
    fn refuse_unless(&mut self, as_the_kernel: bool, habit: &str) {
        if !as_the_kernel {
            self.refuse(
                &format!("the kernel {habit}"),
                Some("the default of profile \"linux-6\""),
            );
        }
    }

    fn set(&mut self, name: &'static str, value: impl ToString) {
        let value = value.to_string();
        self.plan
            .set(self.kernel, self.host, name, value, &self.key);
    }

    /// Sets a value that the kernel accepts only within `range`.
    fn set_within(&mut self, name: &'static str, value: u64, range: RangeInclusive<u64>) {
        if range.contains(&value) {
            return self.set(name, value);
        }
        let nearest = value.clamp(*range.start(), *range.end());
        let message = format!(
            "the kernel's {name} takes {} to {}, not {value}",
            range.start(),
            range.end()
        );
        self.refuse(&message, Some(&format!("{name} = {nearest}")));
    }

    fn switch(&mut self, name: &'static str, on: bool) {
        self.set(name, u8::from(on));
    }

    /// Sets a route metric, which applies to all flows of the host.
    fn metric(&mut self, metric: RouteMetric) {
        let same_kind = |other: &RouteMetric| {
            core::mem::discriminant(other) == core::mem::discriminant(&metric)
        };
        let other = self
            .plan
            .metrics
            .iter()
            .find(|(host, other)| *host == self.host && same_kind(other));
        match other {
            Some((_, other)) if *other != metric => {
                let message = "the host can have only one, and another flow wants another";
                self.refuse(message, Some("flows between other hosts"));
            }
            Some(_) => {}
            None => self.plan.metrics.push((self.host, metric)),
        }
    }
}

/// Returns the buffer to request, so that a whole window of segments fits into it with the kernel's overhead, and one
/// segment that is acknowledged but not yet read. It is not much larger, since the window may briefly grow to the limit
/// of the buffer.
///
/// The kernel doubles the request, and advertises the share of it that corresponds to the data's share of a segment's
/// memory. Observed on Linux 6.18: that memory is a power of two that holds the segment, its headers and 320 B, and 256
/// B more.
fn buffer_for(window: u32, segment: u16) -> u32 {
    // Timestamps take 12 B of the segment.
    let data = u64::from(segment.saturating_sub(12).max(1));
    let memory = (u64::from(segment) + 500).next_power_of_two() + 256;
    let needed = ((u64::from(window) + data) * memory).div_ceil(2 * data);
    window.max(u32::try_from(needed).unwrap_or(u32::MAX))
}

fn maximum_segment_size(end: &mut End<'_>) {
    // TCP_MAXSEG accepts 88 to 32767 (net/ipv4/tcp.c).
    let size = end.profile.maximum_segment_size;
    if (88..=32_767).contains(&size) {
        end.options.maximum_segment_size = Some(size);
    } else {
        end.refuse("the kernel takes 88 B to 32767 B", Some("\"88 B\""));
    }
}

fn receive_buffer(end: &mut End<'_>) {
    let size = end.profile.receive_buffer;
    match end.profile.receive_autotuning {
        Autotuning::Off => {
            // The clamp limits the advertised window.
            end.options.receive_buffer = Some(buffer_for(size, end.profile.maximum_segment_size));
            end.options.window_clamp = Some(size);
        }
        Autotuning::Linux => {
            // The kernel reserves half of its memory for its own overhead.
            let memory = (2 * u64::from(size)).min(i32::MAX as u64);
            end.switch("tcp_moderate_rcvbuf", true);
            end.set("tcp_rmem", memory_range(131_072, memory));
        }
        Autotuning::RightSizing => end.refuse("the kernel has only its own", Some("true")),
    }
}

fn send_buffer(end: &mut End<'_>) {
    let size = end.profile.send_buffer;
    if end.profile.send_autotuning {
        end.set("tcp_wmem", memory_range(16_384, size.into()));
    } else {
        end.options.send_buffer = Some(size);
    }
}

/// Returns the minimum, the initial and the maximum size of a buffer, in bytes, in a sysctl's format.
fn memory_range(first: u64, most: u64) -> String {
    format!("{}\t{}\t{most}", most.min(4096), most.min(first))
}

fn minimum_rto(end: &mut End<'_>) {
    let time = end.profile.minimum_rto;
    if end.kernel.has_sysctl("tcp_rto_min_us") {
        end.set_within("tcp_rto_min_us", time.as_nanos() / 1000, 1..=1_000_000);
    } else {
        // Kernels before 6.11 have only a route's metric, in milliseconds.
        let milliseconds = u32::try_from(milliseconds(time)).unwrap_or(u32::MAX);
        end.metric(RouteMetric::RtoMin(milliseconds));
    }
}

fn minimum_rtt_window(end: &mut End<'_>) {
    // The kernel's maximum is a day, which also stands for "off".
    let most = 86_400;
    let seconds = end
        .profile
        .minimum_rtt_window
        .map_or(most, |window| milliseconds(window).div_ceil(1000));
    end.set_within("tcp_min_rtt_wlen", seconds, 1..=most);
}

fn recovery(end: &mut End<'_>) {
    match end.profile.recovery {
        Recovery::Sack => end.switch("tcp_sack", true),
        Recovery::Linux => {}
        Recovery::NewReno => end.switch("tcp_sack", false),
        Recovery::Reno | Recovery::Linux20 => {
            end.refuse(
                "the kernel stays in recovery until all is repaired",
                Some("\"newreno\""),
            );
        }
    }
}

fn duplicate_ack_threshold(end: &mut End<'_>) {
    match end.profile.duplicate_ack_threshold {
        Some(threshold) => {
            // With RACK the kernel goes by time instead of counts.
            end.set("tcp_recovery", 0);
            end.set("tcp_reordering", threshold);
        }
        None => end.refuse("the kernel's fast retransmit cannot be switched off", None),
    }
}

fn sack_compression(end: &mut End<'_>) {
    match end.profile.sack_compression {
        Some(time) => end.set("tcp_comp_sack_delay_ns", time.as_nanos()),
        None => end.set("tcp_comp_sack_nr", 0),
    }
}

fn refuse_old_linux(end: &mut End<'_>) {
    end.refuse("this is a habit of Linux 2.0", Some("profile \"classic\""));
}

fn milliseconds(time: Duration) -> u64 {
    time.as_nanos() / 1_000_000
}

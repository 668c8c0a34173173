//! Arbitrary events at a mobile, in any order.

use super::*;
use crate::mobility::attachment::failback::FailbackTimes;
use crate::mobility::handover_service::Signalling;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Hear(usize, LinkEvent),
    Registered(usize),
    Prepared,
    Request(Option<usize>, Handover),
}

fn events() -> impl Strategy<Value = LinkEvent> {
    prop::sample::select(vec![
        LinkEvent::Detected,
        LinkEvent::Up,
        LinkEvent::ParametersReport,
        LinkEvent::GoingDown,
        LinkEvent::CellGoingDown,
        LinkEvent::Rollback,
        LinkEvent::Down,
        LinkEvent::HandoverImminent,
        LinkEvent::HandoverComplete,
        LinkEvent::QueueDrained,
    ])
}

fn handovers() -> impl Strategy<Value = Handover> {
    let queues = [OldQueue::Stays, OldQueue::Discarded, OldQueue::Rerouted];
    let queues = prop::sample::select(queues.to_vec());
    let times = || (0..3u64).prop_map(|time| ms(50 * time));
    (any::<bool>(), queues, prop::option::of(times()), times()).prop_map(
        |(is_soft, old_queue, overlap, time)| match is_soft {
            true => Handover::Soft {
                overlap,
                old_queue,
                outgoing_after: time,
            },
            false => Handover::Hard {
                outage: time,
                old_queue,
            },
        },
    )
}

fn steps() -> impl Strategy<Value = Step> {
    let places = || prop::option::of(0..4usize);
    prop_oneof![
        6 => (0..4usize, events()).prop_map(|(place, event)| Step::Hear(place, event)),
        1 => (0..4usize).prop_map(Step::Registered),
        1 => Just(Step::Prepared),
        3 => (places(), handovers()).prop_map(|(to, handover)| Step::Request(to, handover)),
    ]
}

/// Rules that hold in any order of outputs.
#[derive(Debug, Default)]
struct Rules {
    begun: bool,
    told_up: [bool; 3],
    attached: Option<InterfaceId>,
}

impl Rules {
    /// Checks an output. Without a protocol, the links reported to it are not counted.
    fn check(&mut self, output: Output, registers: bool) -> Result<(), TestCaseError> {
        match output {
            Output::Command(interface, command) => {
                prop_assert!(interface.0 < 3);
                // A link in use is only left to be broken.
                let leaves = [LinkCommand::ReportDrained, LinkCommand::DiscardQueue];
                let in_use = self.attached == Some(interface);
                prop_assert!(!(in_use && leaves.contains(&command)));
            }
            Output::Signal(Signal::Begun(_)) => self.begun = true,
            Output::Signal(Signal::Complete(to)) => {
                prop_assert!(core::mem::take(&mut self.begun), "complete, but not begun");
                prop_assert_eq!(to, self.attached);
            }
            Output::Signal(Signal::Attached(to)) => self.attached = to,
            Output::Signal(Signal::InUse(interface, event)) => {
                prop_assert!(self.attached == Some(interface), "of another link");
                prop_assert!(
                    !(self.begun && event == LinkEvent::Up),
                    "up, but not complete"
                );
            }
            Output::Signal(Signal::Link(interface, event)) => match event {
                LinkEvent::Up => self.told_up[interface.0] = true,
                LinkEvent::Down => {
                    let was_up = core::mem::take(&mut self.told_up[interface.0]);
                    prop_assert!(was_up || !registers, "down again");
                }
                LinkEvent::GoingDown => {
                    prop_assert!(self.told_up[interface.0] || !registers, "down already");
                }
                _ => {}
            },
            Output::Signal(_) => {}
        }
        Ok(())
    }
}

fn policy(number: usize, at_times: &[(u64, Option<usize>, Handover)]) -> Policy {
    if number == 0 || number == 4 {
        let times = FailbackTimes {
            hold_time: ms(100),
            hysteresis: ms(30),
            longest_switch_time: ms(20),
        };
        let order = [2, 0, 1].map(InterfaceId).to_vec();
        let preference = Preference::new(times, order);
        return Policy::Preference(Box::new(match number {
            0 => preference,
            _ => preference.breaking_before_making(),
        }));
    }
    let mut at_times = at_times.to_vec();
    at_times.sort_by_key(|&(time, ..)| time);
    let announced = at_times.iter().map(|&(time, to, handover)| Entry {
        announced: (time % 3 == 0).then_some(ms(40)),
        ..entry(time, to.filter(|to| *to < 3), handover)
    });
    timetable(number - 1, &announced.collect::<Vec<Entry>>())
}

proptest! {
    #[test]
    fn outputs_keep_their_rules(
        number in 0..5usize,
        flags in any::<[bool; 4]>(),
        up in prop::collection::vec(0..3usize, 0..3),
        entries in prop::collection::vec((0..1000u64, prop::option::of(0..4usize), handovers()), 0..6),
        steps in prop::collection::vec((0..60u64, steps()), 0..40),
    ) {
        let [registers, prepares, forward, detaches_old] = flags;
        let signalling = match forward {
            true => Signalling::Forward,
            false => Signalling::Backward,
        };
        let mut mobile = Attachment::new(Settings {
            registers,
            signalling: prepares.then_some(signalling),
            detaches_old,
            ..settings(policy(number, &entries))
        });
        let mut rules = Rules::default();
        let up: Vec<InterfaceId> = up.into_iter().map(InterfaceId).collect();
        mobile.begin(at(0), &up);
        let mut now = 0;
        for (later, step) in steps {
            now += later;
            let mut turns = 0;
            while mobile.poll_timeout().is_some_and(|due| due <= at(now)) {
                mobile.handle_timeout(at(now));
                turns += 1;
                prop_assert!(turns < 100, "no end at {now}");
            }
            match step {
                Step::Hear(place, event) => mobile.handle_link(at(now), InterfaceId(place), event),
                Step::Registered(place) => {
                    mobile.handle_signal(at(now), &Signal::Registered(InterfaceId(place)));
                }
                Step::Prepared => mobile.handle_signal(at(now), &Signal::HandoverPrepared),
                Step::Request(to, handover) => {
                    let _ = mobile.request(at(now), to.map(InterfaceId), handover);
                }
            }
            while let Some(output) = mobile.poll() {
                rules.check(output, registers)?;
            }
        }
    }
}

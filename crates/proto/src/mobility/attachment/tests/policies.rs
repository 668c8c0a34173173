//! Handovers of preference and of external decisions. The times at which preference wants one are tested in `failback`.

use super::*;
use crate::mobility::attachment::decision::{Decision, MobileView, Occasion, Response};
use crate::mobility::attachment::failback::FailbackTimes;
use crate::rate::DataRate;
use std::sync::{Arc, Mutex};

fn preference(order: &[usize]) -> Policy {
    let times = FailbackTimes {
        hold_time: ms(3000),
        hysteresis: ms(8000),
        longest_switch_time: ms(50),
    };
    let order = order.iter().copied().map(InterfaceId);
    Policy::Preference(Box::new(Preference::new(times, order.collect())))
}

#[test]
fn a_lost_link_is_left_at_the_bound_and_returned_to_softly() {
    let mut mobile = Timeline::begin(settings(preference(&[0, 1])), &[0, 1]);
    mobile.told(0);
    mobile.hear(5005, 0, LinkEvent::Down);
    assert_eq!(
        mobile.told_at(5005),
        ["transports: 0 Down", "protocol: 0 Down"]
    );
    // It began with the loss of the link; there is nothing left to break.
    let expected = [
        "begun hard 0 to 1 at 5005",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(5055), expected);
    mobile.hear(10_000, 0, LinkEvent::Up);
    assert_eq!(mobile.told_at(10_000), [""; 0]);
    let expected = [
        "begun soft 1 to 0 at 13000",
        "0: Attach",
        "attached 0",
        "complete 0",
    ];
    assert_eq!(mobile.told_at(13_000), expected);
}

#[test]
fn a_link_that_says_that_it_is_going_down_is_left_at_once_and_softly() {
    let mut mobile = Timeline::begin(settings(preference(&[0, 1])), &[0, 1]);
    mobile.told(0);
    mobile.hear(1000, 0, LinkEvent::GoingDown);
    let expected = [
        "transports: 0 GoingDown",
        "protocol: 0 GoingDown",
        "begun soft 0 to 1 at 1000",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(1000), expected);
}

/// A satellite of study C: 1 Mbit/s, 500 ms, a queue of 42 packets.
const SATELLITE: LinkParameters = LinkParameters {
    outgoing: DataRate::from_bits_per_second(1_000_000),
    incoming: DataRate::from_bits_per_second(1_000_000),
    round_trip: Duration::from_millis(500),
    outgoing_queue: Some(42),
    incoming_queue: Some(42),
    mtu: 1500,
};

/// A full queue takes 42 * 12 ms, and one packet each way 24 ms: 1028 ms with the propagation.
#[test]
fn a_mobile_that_breaks_first_announces_a_round_trip_ahead() {
    let breaking = || {
        let times = FailbackTimes {
            hold_time: ms(0),
            hysteresis: ms(0),
            longest_switch_time: ms(50),
        };
        let order = [0, 1].map(InterfaceId).to_vec();
        let policy = Preference::new(times, order).breaking_before_making();
        let policy = Policy::Preference(Box::new(policy));
        let mut mobile = Timeline::begin(settings(policy), &[1]);
        mobile.mobile.handle_parameters(InterfaceId(1), SATELLITE);
        mobile.told(0);
        mobile
    };
    let mut mobile = breaking();
    mobile.hear(1000, 0, LinkEvent::Up);
    let expected = [
        "announced",
        "transports: 1 GoingDown",
        "protocol: 1 GoingDown",
        "1: GoingDown",
    ];
    assert_eq!(mobile.told_at(1000), expected);
    let expected = [
        "begun hard 1 to 0 at 2028",
        "0: detach",
        "1: detach",
        "transports: 1 Down",
        "protocol: 1 Down",
        "0: Attach",
        "attached 0",
        "complete 0",
    ];
    assert_eq!(mobile.told_at(2028), expected);
    // The found link is lost again: the mobile stays.
    let mut mobile = breaking();
    mobile.hear(1000, 0, LinkEvent::Up);
    mobile.told(1000);
    mobile.hear(1500, 0, LinkEvent::Down);
    let expected = ["transports: 1 Rollback", "protocol: 1 Rollback"];
    assert_eq!(mobile.told_at(1500), expected);
    assert!(mobile.told(5000).is_empty());
}

/// A mobile that chooses by itself among its links, and makes before it breaks, is on all that are up, with an address on
/// each. One that breaks first is on one at a time.
#[test]
fn a_mobile_with_a_protocol_is_on_all_links() {
    let begin = |policy: Policy| {
        let settings = Settings {
            registers: true,
            ..settings(policy)
        };
        let mut mobile = Timeline::begin(settings, &[0]);
        let first = mobile.told_at(0);
        mobile.hear(1000, 1, LinkEvent::Up);
        (first, mobile.told_at(1000))
    };
    let first = [
        "0: Attach",
        "attached 0",
        "protocol: 0 HandoverImminent",
        "transports: 0 Up",
        "protocol: 0 Up",
    ];
    let told = begin(preference(&[0, 1]));
    assert_eq!(
        told,
        (
            first.map(str::to_owned).to_vec(),
            vec!["protocol: 1 Up".to_owned()]
        )
    );
    let Policy::Preference(soft) = preference(&[0, 1]) else {
        panic!("a preference");
    };
    let (all, later) = begin(Policy::Preference(Box::new(soft.breaking_before_making())));
    assert_eq!(
        (all[0].as_str(), &all[1..]),
        ("1: detach", &first.map(str::to_owned)[..])
    );
    assert_eq!(later, [""; 0]);
    // Both up: the address on the other link is there when the mobile moves.
    let settings = Settings {
        registers: true,
        ..settings(preference(&[0, 1]))
    };
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    assert_eq!(mobile.told_at(0)[5..], ["1: Attach", "protocol: 1 Up"]);
    mobile.hear(1000, 0, LinkEvent::GoingDown);
    assert_eq!(
        mobile.told_at(1000).last().unwrap(),
        "protocol: 1 HandoverImminent"
    );
}

#[test]
fn preference_begins_with_the_best_link_that_is_up() {
    let begin = |up: &[usize]| Timeline::begin(settings(preference(&[0, 1])), up).told_at(0);
    assert_eq!(begin(&[1]), ["1: Attach", "attached 1"]);
    assert_eq!(begin(&[]), ["0: Attach", "attached 0"]);
}

/// A lost link is detached if interfaces lose their addresses with their links.
#[test]
fn a_lost_interface_loses_its_addresses() {
    let settings = Settings {
        detaches_old: true,
        ..settings(preference(&[0, 1]))
    };
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    mobile.hear(5000, 0, LinkEvent::Down);
    mobile.told(5000);
    assert_eq!(mobile.told_at(5050).last().unwrap(), "0: detach");
}

#[test]
fn a_mobile_with_a_policy_takes_no_orders() {
    let mut mobile = Timeline::begin(settings(preference(&[0, 1])), &[0, 1]);
    let refused = mobile.request(1000, Some(1), SOFT);
    assert_eq!(refused, Err(Refusal::ChoosesByPreference));
    let (mut mobile, _) = decided(&[], &[0, 1]);
    let refused = mobile.request(1000, Some(1), SOFT);
    assert_eq!(refused, Err(Refusal::ChoosesByDecision));
}

/// A decision with scripted answers, which records its questions.
#[derive(Debug)]
struct Scripted {
    answers: Vec<(Occasion, Answer)>,
    asked: Arc<Mutex<Vec<(Occasion, MobileView)>>>,
}

impl Decision for Scripted {
    fn on_event(&mut self, occasion: Occasion, mobile: &MobileView) -> Option<Answer> {
        self.asked.lock().unwrap().push((occasion, mobile.clone()));
        let mut answers = self.answers.iter();
        let answer = answers.position(|(to, _)| *to == occasion)?;
        Some(self.answers.remove(answer).1)
    }
}

type Asked = Arc<Mutex<Vec<(Occasion, MobileView)>>>;

/// Returns a mobile with the links 1, 0 and 2 at places 0, 1 and 2.
fn decided(answers: &[(Occasion, Answer)], up: &[usize]) -> (Timeline, Asked) {
    let asked = Asked::default();
    let decision = Scripted {
        answers: answers.to_vec(),
        asked: Arc::clone(&asked),
    };
    let places = [1, 0, 2].map(InterfaceId).to_vec();
    let policy = Policy::Decision(Box::new(Decider::new(Box::new(decision), places)));
    (Timeline::begin(settings(policy), up), asked)
}

fn use_softly(link: usize) -> Answer {
    Answer::Use {
        link,
        soft: true,
        outage: Duration::ZERO,
    }
}

/// A decision begins with the link that it names when told which are up, or else with the first link that is up.
#[test]
fn a_decision_names_the_first_link() {
    let named = (Occasion::Said(1, LinkEvent::Up), use_softly(1));
    let (mut mobile, asked) = decided(&[named], &[0, 1]);
    assert_eq!(mobile.told_at(0), ["0: Attach", "attached 0"]);
    let asked = asked.lock().unwrap();
    let occasions: Vec<Occasion> = asked.iter().map(|(occasion, _)| *occasion).collect();
    let up = |place| Occasion::Said(place, LinkEvent::Up);
    assert_eq!(occasions, [up(0), up(1)]);
    assert_eq!(asked[0].1.used, None);
    let up = |view: &MobileView| view.links.iter().map(|link| link.up).collect::<Vec<_>>();
    assert_eq!(up(&asked[0].1), [true, false, false]);
    assert_eq!(up(&asked[1].1), [true, true, false]);
    let (mut silent, _) = decided(&[], &[0]);
    assert_eq!(silent.told_at(0), ["0: Attach", "attached 0"]);
}

#[test]
fn a_decision_hears_what_is_measured_and_answers() {
    let report = Occasion::Said(1, LinkEvent::ParametersReport);
    let (mut mobile, asked) = decided(&[(report, use_softly(1))], &[0, 1]);
    mobile.told(0);
    mobile
        .mobile
        .handle_input(at(1000), Input::ReceivedPower(InterfaceId(0), Some(-77.0)));
    mobile
        .mobile
        .handle_input(at(1000), Input::Position(1500.0));
    mobile.hear(1000, 0, LinkEvent::ParametersReport);
    let expected = [
        "begun soft 1 to 0 at 1000",
        "0: Attach",
        "attached 0",
        "complete 0",
    ];
    assert_eq!(mobile.told_at(1000), expected);
    let asked = asked.lock().unwrap();
    let (_, view) = asked.last().unwrap();
    assert_eq!(
        (view.now, view.used, view.position_m),
        (at(1000), Some(0), Some(1500.0))
    );
    let power: Vec<Option<f64>> = view.links.iter().map(|link| link.received_dbm).collect();
    assert_eq!(power, [None, Some(-77.0), None]);
}

/// A link in use that is down is left as lost, whatever the answer; the links of a hard handover are broken.
#[test]
fn a_decision_leaves_a_link_softly_or_hard_or_as_lost() {
    let going_down = Occasion::Said(0, LinkEvent::GoingDown);
    let hard = Answer::Use {
        link: 1,
        soft: false,
        outage: ms(200),
    };
    let down = Occasion::Said(1, LinkEvent::Down);
    let (mut mobile, _) = decided(&[(going_down, hard), (down, use_softly(0))], &[0, 1]);
    mobile.told(0);
    mobile.hear(1000, 1, LinkEvent::GoingDown);
    let told = mobile.told(1200);
    let told: Vec<(u64, &str)> = told.iter().map(|(at, what)| (*at, what.as_str())).collect();
    assert_eq!(
        told,
        [
            (1000, "transports: 1 GoingDown"),
            (1000, "protocol: 1 GoingDown"),
            (1000, "begun hard 1 to 0 at 1000"),
            (1000, "0: detach"),
            (1000, "1: detach"),
            (1000, "transports: 1 Down"),
            (1000, "protocol: 1 Down"),
            (1200, "0: Attach"),
            (1200, "attached 0"),
            (1200, "complete 0"),
        ]
    );
    mobile.hear(2000, 0, LinkEvent::Down);
    let expected = [
        "transports: 0 Down",
        "protocol: 0 Down",
        "begun hard 0 to 1 at 2000",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(2000), expected);
}

/// The latest of several delays counts, and none is shorter than 1 ms.
#[test]
fn a_decision_may_be_asked_again() {
    let down = Occasion::Said(1, LinkEvent::Down);
    let answers = [
        (down, Answer::AskAgain(ms(300))),
        (Occasion::Said(1, LinkEvent::Up), Answer::AskAgain(ms(500))),
        (Occasion::Asked, Answer::AskAgain(Duration::ZERO)),
        (Occasion::Asked, use_softly(1)),
    ];
    let (mut mobile, asked) = decided(&answers, &[1]);
    mobile.hear(1000, 0, LinkEvent::Down);
    mobile.hear(1100, 0, LinkEvent::Up);
    mobile.told(1100);
    assert_eq!(mobile.told_at(1601)[0], "begun soft 1 to 0 at 1601");
    let asked = asked.lock().unwrap();
    let times = asked
        .iter()
        .filter(|(occasion, _)| *occasion == Occasion::Asked);
    let times: Vec<Instant> = times.map(|(_, view)| view.now).collect();
    assert_eq!(times, [at(1600), at(1601)]);
}

/// An answer that names the link in use, or a missing one, changes nothing.
#[test]
fn an_answer_may_change_nothing() {
    let up = Occasion::Said(0, LinkEvent::Up);
    let answers = [
        (up, use_softly(0)),
        (up, use_softly(0)),
        (up, use_softly(9)),
    ];
    let (mut mobile, _) = decided(&answers, &[0, 1]);
    mobile.told(0);
    mobile.hear(1000, 1, LinkEvent::Up);
    mobile.hear(2000, 1, LinkEvent::Up);
    let told = mobile.told(3000);
    assert!(
        told.iter().all(|(_, what)| !what.starts_with("begun")),
        "{told:?}"
    );
}

/// A decision that the test answers.
#[derive(Debug)]
struct Slow(Scripted);

impl Decision for Slow {
    fn on_event(&mut self, occasion: Occasion, mobile: &MobileView) -> Option<Answer> {
        self.0.on_event(occasion, mobile)
    }

    fn ask(&mut self, occasion: Occasion, mobile: &MobileView) -> Response {
        self.0.on_event(occasion, mobile);
        Response::Later
    }
}

/// Returns a mobile with delayed answers, with the links 0 and 1 at places 0 and 1, on the first.
fn slowly_decided() -> (Timeline, Asked) {
    let asked = Asked::default();
    let decision = Box::new(Slow(Scripted {
        answers: Vec::new(),
        asked: Arc::clone(&asked),
    }));
    let places = [0, 1].map(InterfaceId).to_vec();
    let policy = Policy::Decision(Box::new(Decider::new(decision, places)));
    let mut mobile = Timeline::begin(settings(policy), &[0, 1]);
    mobile.told(0);
    asked.lock().unwrap().clear();
    (mobile, asked)
}

/// Returns the time, the link in use and the links that are up, of each question.
fn questions(asked: &Asked) -> Vec<(Instant, Option<usize>, Vec<bool>)> {
    let asked = asked.lock().unwrap();
    let views = asked.iter().map(|(_, view)| view);
    let up = |view: &MobileView| view.links.iter().map(|link| link.up).collect();
    views.map(|view| (view.now, view.used, up(view))).collect()
}

/// A delayed answer holds from its arrival. The next question waits for it, and then shows the links as they were, but
/// with the link in use that the answer has chosen.
#[test]
fn an_answer_may_come_later() {
    let (mut mobile, asked) = slowly_decided();
    mobile.hear(1000, 0, LinkEvent::GoingDown);
    mobile.hear(1010, 1, LinkEvent::ParametersReport);
    mobile.told(1010);
    mobile.hear(1020, 0, LinkEvent::Down);
    assert_eq!(questions(&asked), [(at(1000), Some(0), vec![true, true])]);
    mobile.told(1040);
    mobile.answer(1050, Some(use_softly(1)));
    let lost_before = "begun hard 0 to 1 at 1020";
    assert_eq!(mobile.told_at(1050)[0], lost_before);
    assert_eq!(
        questions(&asked)[1..],
        [(at(1010), Some(1), vec![true, true])]
    );
    mobile.answer(1060, None);
    assert_eq!(
        questions(&asked)[2..],
        [(at(1020), Some(1), vec![false, true])]
    );
    mobile.answer(1070, None);
    // No question is left unanswered.
    mobile.answer(1080, Some(use_softly(0)));
    assert_eq!(mobile.told(2000), []);
}

/// The delay in a late answer counts from the question; if it has passed, the decision is asked at once.
#[test]
fn an_answer_that_comes_later_may_ask_to_be_asked_again() {
    let (mut mobile, asked) = slowly_decided();
    mobile.hear(1000, 1, LinkEvent::ParametersReport);
    mobile.answer(1030, Some(Answer::AskAgain(ms(100))));
    mobile.told(1100);
    mobile.answer(1350, Some(Answer::AskAgain(ms(100))));
    mobile.told(1400);
    let times: Vec<Instant> = questions(&asked)
        .iter()
        .map(|question| question.0)
        .collect();
    assert_eq!(times, [at(1000), at(1100), at(1350)]);
}

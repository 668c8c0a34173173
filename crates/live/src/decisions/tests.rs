//! Questions over a socket pair whose far end the test holds.

use super::*;
use baton_proto::mobility::attachment::decision::{External, LinkView};
use baton_sim::deciding::Decided;
use std::io::BufRead;
use std::os::fd::IntoRawFd;

/// Creates decisions, and the socket of the process that would answer.
fn pipe() -> (Decisions, UnixStream) {
    let (own, far) = UnixStream::pair().expect("a pair of sockets");
    let decisions = Decisions::open(Some(own.into_raw_fd())).expect("a socket");
    (decisions, far)
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn view(milliseconds: u64) -> MobileView {
    MobileView {
        now: at(milliseconds),
        used: Some(0),
        position_m: None,
        links: vec![LinkView::default(); 2],
    }
}

fn laptop(decisions: &Decisions) -> Box<dyn decision::Decision> {
    let class: External = decisions.named("mine.Chooser");
    class.build("laptop", &["near".to_owned(), "far".to_owned()], &[])
}

fn reply(far: &mut impl Write, decided: Decided) {
    let mobile = "laptop".to_owned();
    let line = encode(&Reply { mobile, decided });
    far.write_all(&line).expect("an open socket");
}

const SOFT: Decided = Decided::Use {
    link: 1,
    soft: true,
    outage_ns: 0,
};

/// The world goes on meanwhile; an answer after the deadline counts as late, but is valid.
#[test]
fn a_late_answer_is_counted_and_taken() {
    let (decisions, mut far) = pipe();
    let mut laptop = laptop(&decisions);
    for (asked, answered) in [(1000, 1010), (2000, 2011)] {
        assert_eq!(laptop.ask(Occasion::Asked, &view(asked)), Response::Later);
        assert!(decisions.poll(at(answered)).unwrap().is_empty());
        reply(&mut far, SOFT);
        let answers = decisions.poll(at(answered)).unwrap();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].mobile, "laptop");
        assert_eq!(Ok(answers[0].answer), SOFT.answer());
    }
    let told = decisions.summary(at(3000));
    assert_eq!(told[0]["decision"], "mine.Chooser");
    assert_eq!(
        (&told[0]["questions"], &told[0]["late"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(told[0]["longest_ms"], 11.0);
}

/// An answer still missing at the end of the run is late if its deadline has passed.
#[test]
fn a_question_may_be_open_at_the_end() {
    let (decisions, _far) = pipe();
    laptop(&decisions).ask(Occasion::Asked, &view(1000));
    assert_eq!(decisions.summary(at(1005))[0]["late"], 0);
    assert_eq!(decisions.summary(at(1020))[0]["late"], 1);
    assert_eq!(decisions.summary(at(1020))[0]["longest_ms"], 20.0);
}

/// Before time zero the world waits for the class.
#[test]
fn the_first_link_is_waited_for() {
    let (decisions, far) = pipe();
    let mut laptop = laptop(&decisions);
    let answering = std::thread::spawn(move || {
        let mut line = String::new();
        io::BufReader::new(&far).read_line(&mut line).unwrap();
        let question: Question = decode(line.as_bytes()).unwrap();
        reply(&mut &far, SOFT);
        (far, question)
    });
    let answer = laptop.on_event(Occasion::Asked, &view(0));
    let (_far, question) = answering.join().unwrap();
    assert_eq!(question, Question::new("laptop", Occasion::Asked, &view(0)));
    assert_eq!(Ok(answer), SOFT.answer());
    assert_eq!(decisions.summary(at(0))[0]["questions"], 0);
}

/// Each kind of failure of a class ends the run, with the names of the class and of its mobile.
#[test]
fn a_class_that_fails_is_named() {
    let why_not =
        |decisions: &Decisions, milliseconds| decisions.poll(at(milliseconds)).unwrap_err();
    let (decisions, mut far) = pipe();
    laptop(&decisions).ask(Occasion::Asked, &view(1000));
    let why = "raised ValueError: no link".to_owned();
    reply(&mut far, Decided::Failed { why });
    let raised = "mobile laptop: mine.Chooser raised ValueError: no link";
    assert_eq!(why_not(&decisions, 1000), raised);

    let (decisions, _far) = pipe();
    laptop(&decisions).ask(Occasion::Asked, &view(1000));
    assert!(decisions.poll(at(6000)).is_ok());
    let hangs =
        "mobile laptop: mine.Chooser has not answered for 5 s; expected an answer within 10 ms";
    assert_eq!(why_not(&decisions, 6001), hangs);

    let (decisions, far) = pipe();
    laptop(&decisions).ask(Occasion::Asked, &view(1000));
    drop(far);
    let gone = "mobile laptop: the process of mine.Chooser does not answer: ";
    assert!(why_not(&decisions, 1000).starts_with(gone));

    let (decisions, mut far) = pipe();
    laptop(&decisions).ask(Occasion::Asked, &view(1000));
    far.write_all(b"{\"mobile\": 1}\n").unwrap();
    assert!(why_not(&decisions, 1000).contains("an invalid answer"));

    let decisions = Decisions::open(None).unwrap();
    assert_eq!(laptop(&decisions).on_event(Occasion::Asked, &view(0)), None);
    assert!(why_not(&decisions, 0).contains("expected a run by `baton live`"));
}

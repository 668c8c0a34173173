//! Decisions of Python classes in another process: questions and answers.
//!
//! The world does not wait for an answer, as a real network would not: packets go on, and the answer takes effect on
//! arrival. Only before time zero, when the class names its first link, does the world wait.

use baton_linux::readiness::wait_readable;
use baton_proto::mobility::attachment::decision::{self, Answer, MobileView, Occasion, Response};
use baton_proto::time::{Duration, Instant};
use baton_sim::deciding::{Question, Reply, decode, encode};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Time from an event to its answer above which the answer is late. In a simulated run a decision takes no time, and a
/// live run is to agree with it within 10 ms.
pub const DEADLINE: Duration = Duration::from_millis(10);
/// Time without an answer after which the run gives up on the class.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The decisions of a run.
#[derive(Clone, Debug)]
pub struct Decisions(Arc<Mutex<Pipe>>);

/// The socket to the classes' process, and the state of each mobile's questions.
#[derive(Debug)]
struct Pipe {
    stream: Option<UnixStream>,
    /// An incomplete line.
    rest: Vec<u8>,
    mobiles: BTreeMap<String, Asked>,
    failure: Option<String>,
}

/// Questions to one mobile's class.
#[derive(Debug, Default)]
struct Asked {
    class: String,
    /// Time of the event whose answer is outstanding.
    unanswered: Option<Instant>,
    questions: u64,
    late: u64,
    longest: Duration,
}

/// An answer to one mobile.
#[derive(Debug)]
pub struct Answered {
    /// The mobile's name.
    pub mobile: String,
    /// The answer.
    pub answer: Option<Answer>,
}

impl Decisions {
    /// Creates decisions whose classes are behind this descriptor, a stream socket that the caller has opened for this
    /// process. Without one, decisions can be named, but not asked.
    ///
    /// # Errors
    /// A descriptor that is not a stream socket.
    #[allow(unsafe_code)]
    pub fn open(number: Option<RawFd>) -> io::Result<Decisions> {
        let stream = match number {
            Some(number) => {
                // SAFETY: the caller guarantees that the descriptor is open and for this process's use; it is taken
                // once.
                let socket = unsafe { OwnedFd::from_raw_fd(number) };
                fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
                let stream = UnixStream::from(socket);
                stream.set_nonblocking(true)?;
                Some(stream)
            }
            None => None,
        };
        Ok(Decisions(Arc::new(Mutex::new(Pipe {
            stream,
            rest: Vec::new(),
            mobiles: BTreeMap::new(),
            failure: None,
        }))))
    }

    /// Returns the decision of a class; the classes' own process has checked that the class exists.
    pub fn named(&self, class: &str) -> decision::External {
        let (pipe, name) = (self.clone(), class.to_owned());
        decision::External::new(class, move |mobile, _, _| {
            let asked = Asked {
                class: name.clone(),
                ..Asked::default()
            };
            pipe.lock().mobiles.insert(mobile.to_owned(), asked);
            Box::new(Remote {
                pipe: pipe.clone(),
                mobile: mobile.to_owned(),
            })
        })
    }

    /// Returns the answers that have arrived by `now`, the world's time.
    ///
    /// # Errors
    /// The reason for the lack of further answers: a class has failed or hangs, or its process is gone.
    pub fn poll(&self, now: Instant) -> Result<Vec<Answered>, String> {
        let mut pipe = self.lock();
        if pipe.is_waiting() {
            pipe.receive();
        }
        let answers = pipe.take_answers(now);
        pipe.give_up_late(now);
        match &pipe.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(answers),
        }
    }

    /// Calls `wait` with the descriptor that becomes readable with an answer, if one is outstanding.
    pub fn waiting<T>(&self, wait: impl FnOnce(Option<BorrowedFd<'_>>) -> T) -> T {
        let pipe = self.lock();
        let stream = pipe.stream.as_ref().filter(|_| pipe.is_waiting());
        wait(stream.map(AsFd::as_fd))
    }

    /// Summarizes each mobile's decisions for the results; `end` is the world's last moment.
    pub fn summary(&self, end: Instant) -> Value {
        let pipe = self.lock();
        let one = |(mobile, asked): (&String, &Asked)| {
            let open = asked.unanswered.map(|at| end.saturating_since(at));
            let is_late = u64::from(open.is_some_and(|open| open > DEADLINE));
            let longest = asked.longest.max(open.unwrap_or_default());
            json!({
                "mobile": mobile,
                "decision": asked.class,
                "questions": asked.questions,
                "late": asked.late + is_late,
                "longest_ms": longest.as_nanos() as f64 / 1e6,
                "deadline_ms": DEADLINE.as_nanos() as f64 / 1e6,
            })
        };
        pipe.mobiles.iter().map(one).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipe {
    fn is_waiting(&self) -> bool {
        let mut mobiles = self.mobiles.values();
        mobiles.any(|asked| asked.unanswered.is_some())
    }

    fn fail(&mut self, why: impl Into<String>) {
        self.failure.get_or_insert(why.into());
    }

    /// Sends a question; keeps a failure.
    fn ask(&mut self, question: &Question, at: Instant) {
        let Some(asked) = self.mobiles.get_mut(&question.mobile) else {
            return;
        };
        asked.unanswered = Some(at);
        let Some(stream) = &mut self.stream else {
            let message = format!(
                "mobile {}: {} is a class in Python, which nothing here can run; expected a run by `baton live`",
                question.mobile, asked.class
            );
            return self.fail(message);
        };
        // At most one question per mobile is outstanding, so that they fit the socket's buffer.
        if let Err(error) = stream.write_all(&encode(question)) {
            self.end(&error.to_string());
        }
    }

    /// Reads the output of the classes' process.
    fn receive(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return self.end("it has ended"),
                Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.end(&error.to_string()),
            }
        }
    }

    /// Notes the end of the classes' process.
    fn end(&mut self, why: &str) {
        let waiting = self.mobiles.iter();
        let mut waiting = waiting.filter(|(_, asked)| asked.unanswered.is_some());
        let whose = waiting.next().map(|(mobile, asked)| {
            format!(
                "mobile {mobile}: the process of {} does not answer",
                asked.class
            )
        });
        let whose =
            whose.unwrap_or_else(|| "the process of the classes does not answer".to_owned());
        self.fail(format!("{whose}: {why}"));
    }

    /// Extracts whole lines.
    fn take_answers(&mut self, now: Instant) -> Vec<Answered> {
        let mut answers = Vec::new();
        while let Some(length) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=length).collect();
            match decode::<Reply>(&line) {
                Ok(reply) => answers.extend(self.take_reply(now, reply)),
                Err(error) => self.fail(format!(
                    "the process of the classes has written an invalid answer ({error}); is it of another version?"
                )),
            }
        }
        answers
    }

    fn take_reply(&mut self, now: Instant, reply: Reply) -> Option<Answered> {
        let asked = self.mobiles.get_mut(&reply.mobile)?;
        let took = now.saturating_since(asked.unanswered.take()?);
        asked.late += u64::from(took > DEADLINE);
        asked.longest = asked.longest.max(took);
        match reply.decided.answer() {
            Ok(answer) => Some(Answered {
                mobile: reply.mobile,
                answer,
            }),
            Err(why) => {
                let message = format!("mobile {}: {} {why}", reply.mobile, asked.class);
                self.fail(message);
                None
            }
        }
    }

    /// Gives up on a class that does not answer. The time counts from the event, which may have waited behind others.
    fn give_up_late(&mut self, now: Instant) {
        let hangs = |asked: &Asked| asked.unanswered.is_some_and(|at| now > at + PATIENCE);
        let found = self.mobiles.iter().find(|(_, asked)| hangs(asked));
        if let Some((mobile, asked)) = found {
            let message = format!(
                "mobile {mobile}: {} has not answered for {} s; expected an answer within {} ms",
                asked.class,
                PATIENCE.as_secs_f64(),
                DEADLINE.as_nanos() / 1_000_000
            );
            self.fail(message);
        }
    }
}

/// A mobile's decision in the other process.
#[derive(Debug)]
struct Remote {
    pipe: Decisions,
    mobile: String,
}

impl decision::Decision for Remote {
    /// Waits for the answer, at no cost in world time, which has not begun.
    fn on_event(&mut self, occasion: Occasion, view: &MobileView) -> Option<Answer> {
        let question = Question::new(&self.mobile, occasion, view);
        self.pipe.lock().ask(&question, view.now);
        let begun = std::time::Instant::now();
        loop {
            let waited = Duration::from_nanos(begun.elapsed().as_nanos() as u64);
            let mut answers = self.pipe.poll(view.now).ok()?;
            if let Some(answered) = answers.pop() {
                return answered.answer;
            }
            if waited > PATIENCE {
                let mut pipe = self.pipe.lock();
                pipe.give_up_late(view.now + waited);
                return None;
            }
            let wait = |stream: Option<BorrowedFd<'_>>| {
                let left = std::time::Duration::from_nanos((PATIENCE - waited).as_nanos());
                wait_readable(stream.as_slice(), left).map(drop)
            };
            if let Err(error) = self.pipe.waiting(wait) {
                self.pipe.lock().end(&error.to_string());
            }
        }
    }

    fn ask(&mut self, occasion: Occasion, view: &MobileView) -> Response {
        let question = Question::new(&self.mobile, occasion, view);
        let mut pipe = self.pipe.lock();
        pipe.ask(&question, view.now);
        if let Some(asked) = pipe.mobiles.get_mut(&self.mobile) {
            asked.questions += 1;
        }
        Response::Later
    }
}

#[cfg(test)]
mod tests;

//! Queue of one aircraft in one direction: packets, cut into fragments as they are granted, and kept until they have
//! arrived.
//!
//! *Fragments.* A fragment is the part of one packet granted in one multiframe. It is lost if any of its frames is.
//!
//! *Acknowledged mode.* A sender knows when to expect each fragment's acknowledgment. If none arrives by then, the
//! fragment is retransmitted, up to five times, each time after a new request; then the packet is given up.
//! Retransmissions come first, in the order of packets. The receiver delivers packets in order (chosen: it spares TCP
//! above reordering).
//!
//! *Unacknowledged mode.* A lost fragment loses the packet, whose rest is sent all the same.

use crate::link::{DropReason, Outcome};
use crate::packets::PacketId;
use baton_proto::time::Instant;
use std::collections::VecDeque;

/// Most retransmissions of a fragment (study D, section 5.5).
pub const RETRANSMISSIONS: u8 = 5;
/// Priorities, the highest number first: 0 to 7 of flows, and that of signalling.
pub const PRIORITIES: u8 = SIGNALLING_PRIORITY + 1;
/// Priority of signalling, which no flow's traffic overtakes: a mobile drops packets to its new address before the
/// acknowledgement of its update.
pub const SIGNALLING_PRIORITY: u8 = 8;

/// Packets up to which a queue takes no more memory than they need.
const FEW: usize = 4;

/// End of a packet.
pub type Ended = (PacketId, Instant, Outcome);

/// Packets of one priority.
#[derive(Debug)]
pub struct Class {
    /// Its priority.
    pub priority: u8,
    /// Deficit counter: bytes that deficit round robin still lets it send in this turn.
    pub deficit: u32,
    /// True if the class is on the scheduler's list.
    pub listed: bool,
    /// Bytes that may be granted.
    ready: u32,
    /// Bytes that must be requested first.
    wanting: u32,
    /// Latest end reported so far.
    last_end: Instant,
    /// Number of the first packet in `held`.
    first: u64,
    held: VecDeque<Held>,
}

#[derive(Debug)]
struct Held {
    packet: PacketId,
    acknowledged: bool,
    fate: Fate,
    length: u32,
    /// Pieces that have not arrived, in the order of their bytes.
    pieces: Vec<Piece>,
    /// Latest arrival of a piece so far.
    completed: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    /// Loss of a fragment for good.
    Lost,
    /// End of the packet, reported already.
    Told,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    offset: u32,
    length: u32,
    retransmissions: u8,
    state: State,
    /// Time since which the piece is to be requested, if it is.
    wanting_since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not requested yet.
    Wanting,
    /// Ready to be granted.
    Ready,
    /// Under way, or lost without its sender's knowledge.
    Sent,
}

/// A granted fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Number of the packet in its class.
    pub number: u64,
    /// First byte of the fragment in the packet.
    pub offset: u32,
    /// Bytes of the fragment.
    pub length: u32,
    /// True in acknowledged mode.
    pub acknowledged: bool,
}

/// Fate of a fragment whose acknowledgment is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Retransmission.
    Again,
    /// End of its packet, given up now or before.
    GivenUp,
}

impl Class {
    /// Creates an empty class.
    pub fn new(priority: u8) -> Class {
        Class {
            priority,
            deficit: 0,
            listed: false,
            ready: 0,
            wanting: 0,
            last_end: Instant::ZERO,
            first: 0,
            held: VecDeque::new(),
        }
    }

    /// Takes in a packet; it must be requested first if `wanting`.
    pub fn push(
        &mut self,
        packet: PacketId,
        length: u32,
        acknowledged: bool,
        wanting: Option<Instant>,
    ) {
        let state = match wanting {
            Some(_) => {
                self.wanting += length;
                State::Wanting
            }
            None => {
                self.ready += length;
                State::Ready
            }
        };
        if self.held.len() < FEW {
            // Mostly one or two packets wait.
            self.held.reserve_exact(1);
        }
        self.held.push_back(Held {
            packet,
            acknowledged,
            fate: Fate::Open,
            length,
            pieces: vec![Piece {
                offset: 0,
                length,
                retransmissions: 0,
                state,
                wanting_since: wanting.unwrap_or(Instant::ZERO),
            }],
            completed: Instant::ZERO,
        });
    }

    /// Returns the bytes ready to be granted.
    pub fn ready(&self) -> u32 {
        self.ready
    }

    /// Returns the bytes not granted yet.
    pub fn waiting(&self) -> u32 {
        self.ready + self.wanting
    }

    /// Returns true if data must be requested.
    pub fn is_wanting(&self) -> bool {
        self.wanting > 0
    }

    /// Returns true if it is empty.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the packets and bytes that have not arrived.
    pub fn size(&self) -> (u32, u32) {
        let open = self.held.iter().filter(|held| !held.pieces.is_empty());
        open.fold((0, 0), |(packets, bytes), held| {
            let left: u32 = held.pieces.iter().map(|piece| piece.length).sum();
            (packets + 1, bytes + left)
        })
    }

    /// Requests the bytes that have been wanting since before `slot`.
    pub fn request(&mut self, slot: Instant) {
        for piece in self.held.iter_mut().flat_map(|held| &mut held.pieces) {
            if piece.state == State::Wanting && piece.wanting_since < slot {
                piece.state = State::Ready;
                self.wanting -= piece.length;
                self.ready += piece.length;
            }
        }
    }

    /// Counts bytes as granted; [`take`](Class::take) then cuts the fragments.
    pub fn reserve(&mut self, bytes: u32) {
        self.ready -= bytes;
    }

    /// Cuts fragments for `bytes` that were reserved.
    pub fn take(&mut self, mut bytes: u32, fragments: &mut Vec<Fragment>) {
        for (index, held) in self.held.iter_mut().enumerate() {
            let mut place = 0;
            while bytes > 0 && place < held.pieces.len() {
                let piece = held.pieces[place];
                if piece.state == State::Ready {
                    let length = piece.length.min(bytes);
                    bytes -= length;
                    held.pieces[place].length = length;
                    held.pieces[place].state = State::Sent;
                    if length < piece.length {
                        let rest = Piece {
                            offset: piece.offset + length,
                            length: piece.length - length,
                            ..piece
                        };
                        held.pieces.insert(place + 1, rest);
                    }
                    fragments.push(Fragment {
                        number: self.first + index as u64,
                        offset: piece.offset,
                        length,
                        acknowledged: held.acknowledged,
                    });
                }
                place += 1;
            }
            if bytes == 0 {
                return;
            }
        }
    }

    /// Settles a fragment's arrival at a time, perhaps in the future, or in unacknowledged mode its loss.
    pub fn settle(&mut self, fragment: &Fragment, at: Instant, lost: bool, ended: &mut Vec<Ended>) {
        let Some(held) = self.held_mut(fragment.number) else {
            return;
        };
        held.pieces
            .retain(|piece| piece.offset != fragment.offset || piece.state != State::Sent);
        held.completed = held.completed.max(at);
        if lost {
            held.fate = Fate::Lost;
        }
        self.tell(ended);
    }

    /// Handles a missing acknowledgment. `wanting` as in [`push`](Class::push).
    pub fn retry(
        &mut self,
        fragment: &Fragment,
        now: Instant,
        wanting: bool,
        ended: &mut Vec<Ended>,
    ) -> Retry {
        let Some(held) = self.held_mut(fragment.number) else {
            return Retry::GivenUp;
        };
        let same =
            |piece: &&mut Piece| piece.offset == fragment.offset && piece.state == State::Sent;
        let Some(piece) = held.pieces.iter_mut().find(same) else {
            return Retry::GivenUp;
        };
        if piece.retransmissions == RETRANSMISSIONS {
            self.give_up(fragment.number, now, ended);
            return Retry::GivenUp;
        }
        piece.retransmissions += 1;
        if wanting {
            piece.state = State::Wanting;
            piece.wanting_since = now;
            self.wanting += fragment.length;
        } else {
            piece.state = State::Ready;
            self.ready += fragment.length;
        }
        Retry::Again
    }

    fn give_up(&mut self, number: u64, now: Instant, ended: &mut Vec<Ended>) {
        let Some(held) = self.held_mut(number) else {
            return;
        };
        held.fate = Fate::Told;
        held.completed = now;
        ended.push((held.packet, now, Outcome::Dropped(DropReason::RetryLimit)));
        for piece in core::mem::take(&mut held.pieces) {
            match piece.state {
                State::Wanting => self.wanting -= piece.length,
                State::Ready => self.ready -= piece.length,
                State::Sent => {}
            }
        }
        self.tell(ended);
    }

    /// Delivers complete packets, in order.
    fn tell(&mut self, ended: &mut Vec<Ended>) {
        while self.held.front().is_some_and(|held| held.pieces.is_empty()) {
            let Some(held) = self.held.pop_front() else {
                return;
            };
            self.first += 1;
            self.last_end = self.last_end.max(held.completed);
            match held.fate {
                Fate::Told => {}
                Fate::Open => ended.push((held.packet, self.last_end, Outcome::UNDAMAGED)),
                Fate::Lost => {
                    let lost = Outcome::Dropped(DropReason::ChannelError);
                    ended.push((held.packet, self.last_end, lost));
                }
            }
        }
        if self.held.is_empty() {
            // An idle aircraft keeps no memory.
            self.held = VecDeque::new();
        }
    }

    /// Leaves the cell: the receiver delivers the packets that it has held back; incomplete packets are lost, or begin
    /// anew in another cell if `kept`, where they must be requested if `wanting`.
    pub fn leave(&mut self, now: Instant, kept: bool, wanting: bool, ended: &mut Vec<Ended>) {
        let held = core::mem::take(&mut self.held);
        self.first += held.len() as u64;
        (self.ready, self.wanting, self.deficit) = (0, 0, 0);
        self.listed = false;
        for held in held {
            if held.fate == Fate::Told {
                continue;
            }
            if held.pieces.is_empty() {
                let at = self.last_end.max(held.completed).max(now);
                let outcome = match held.fate {
                    Fate::Lost => Outcome::Dropped(DropReason::ChannelError),
                    _ => Outcome::UNDAMAGED,
                };
                ended.push((held.packet, at, outcome));
            } else if kept {
                let since = wanting.then_some(now);
                self.push(held.packet, held.length, held.acknowledged, since);
            } else {
                let lost = Outcome::Dropped(DropReason::LinkDown);
                ended.push((held.packet, now, lost));
            }
        }
    }

    fn held_mut(&mut self, number: u64) -> Option<&mut Held> {
        let index = number.checked_sub(self.first)?;
        self.held.get_mut(index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(class: &mut Class, bytes: u32) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        class.reserve(bytes);
        class.take(bytes, &mut fragments);
        fragments
    }

    const AT: fn(u64) -> Instant = Instant::from_millis;

    #[test]
    fn a_packet_is_cut_by_grants_and_handed_up_when_it_is_whole() {
        let mut class = Class::new(0);
        let mut ended = Vec::new();
        class.push(PacketId(7), 100, true, None);
        class.push(PacketId(8), 50, true, None);
        let first = sent(&mut class, 60);
        assert_eq!(
            first
                .iter()
                .map(|part| (part.offset, part.length))
                .collect::<Vec<_>>(),
            [(0, 60)]
        );
        let second = sent(&mut class, 90);
        assert_eq!(
            second
                .iter()
                .map(|part| (part.number, part.offset, part.length))
                .collect::<Vec<_>>(),
            [(0, 60, 40), (1, 0, 50)]
        );
        // The second packet is complete first, and waits for the first.
        class.settle(&second[1], AT(20), false, &mut ended);
        class.settle(&second[0], AT(21), false, &mut ended);
        assert!(ended.is_empty());
        assert_eq!(
            class.retry(&first[0], AT(30), false, &mut ended),
            Retry::Again
        );
        assert_eq!(class.ready(), 60);
        let again = sent(&mut class, 60);
        class.settle(&again[0], AT(40), false, &mut ended);
        let expected = [
            (PacketId(7), AT(40), Outcome::UNDAMAGED),
            (PacketId(8), AT(40), Outcome::UNDAMAGED),
        ];
        assert_eq!(ended, expected);
        assert!(class.is_empty());
    }

    #[test]
    fn after_five_retransmissions_a_packet_is_given_up_and_those_behind_go_on() {
        let mut class = Class::new(0);
        let mut ended = Vec::new();
        class.push(PacketId(1), 10, true, Some(AT(0)));
        class.push(PacketId(2), 10, true, Some(AT(0)));
        class.request(AT(0));
        assert_eq!(class.ready(), 0, "offered in the slot is too late");
        class.request(AT(1));
        let parts = sent(&mut class, 20);
        class.settle(&parts[1], AT(5), false, &mut ended);
        for round in 1..=5 {
            assert_eq!(
                class.retry(&parts[0], AT(round * 100), true, &mut ended),
                Retry::Again
            );
            assert!(
                class.is_wanting() && class.ready() == 0,
                "a new request each"
            );
            class.request(AT(round * 100 + 10));
            assert_eq!(sent(&mut class, 10), [parts[0]]);
        }
        assert_eq!(
            class.retry(&parts[0], AT(600), true, &mut ended),
            Retry::GivenUp
        );
        let given_up = Outcome::Dropped(DropReason::RetryLimit);
        let expected = [
            (PacketId(1), AT(600), given_up),
            (PacketId(2), AT(600), Outcome::UNDAMAGED),
        ];
        assert_eq!(ended, expected);
    }

    #[test]
    fn an_unacknowledged_packet_is_lost_with_one_fragment() {
        let mut class = Class::new(0);
        let mut ended = Vec::new();
        class.push(PacketId(1), 20, false, None);
        let first = sent(&mut class, 10);
        class.settle(&first[0], AT(1), true, &mut ended);
        assert!(ended.is_empty() && class.ready() == 10);
        let second = sent(&mut class, 10);
        class.settle(&second[0], AT(2), false, &mut ended);
        assert_eq!(
            ended,
            [(
                PacketId(1),
                AT(2),
                Outcome::Dropped(DropReason::ChannelError)
            )]
        );
    }

    #[test]
    fn leaving_a_cell_begins_packets_anew_or_loses_them() {
        let mut class = Class::new(0);
        let mut ended = Vec::new();
        class.push(PacketId(1), 20, true, None);
        class.push(PacketId(2), 5, true, None);
        let parts = sent(&mut class, 15);
        class.settle(&parts[0], AT(1), false, &mut ended);
        class.leave(AT(3), true, true, &mut ended);
        assert!(ended.is_empty());
        assert_eq!(class.size(), (2, 25));
        assert!(class.is_wanting() && class.ready() == 0);
        // Transmissions in the old cell no longer count.
        assert_eq!(
            class.retry(&parts[0], AT(4), true, &mut ended),
            Retry::GivenUp
        );
        class.leave(AT(5), false, true, &mut ended);
        assert_eq!(ended.len(), 2);
        assert!(class.is_empty());
    }
}

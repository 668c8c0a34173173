//! Orders of remedies for the receiving half.

use super::super::receiving::Receiver;
use crate::crosslayer::HandoverNotice;
use crate::wire::tcp::TcpHeader;
use core::num::NonZeroU8;
use std::collections::VecDeque;

/// Most ACKs pending on a remedy's behalf; a request for more is reduced to this.
const MOST_ACKNOWLEDGMENTS: usize = 16;

/// Orders in force, if a remedy steers the connection.
#[derive(Debug, Default)]
pub(in crate::tcp) struct AckOrders(Option<Box<Orders>>);

#[derive(Debug, Default)]
struct Orders {
    offer: Option<Offer>,
    /// Right edge of the window last offered, in bytes from the start of the data.
    edge: u64,
    keeps_last: bool,
    kept: Option<TcpHeader>,
    /// ACKs due, with the window that each offers.
    acknowledgments: VecDeque<Option<Offer>>,
    notice: Option<Notice>,
}

/// Limit of the offered window beyond a position, or beyond the received data if that is farther.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Offer {
    most: u32,
    beyond: u64,
    /// True if data received beyond the position, while data before it is missing, makes room as well.
    missing_arrives: bool,
}

#[derive(Clone, Copy, Debug)]
struct Notice {
    number: NonZeroU8,
    /// Copies still to send, whether or not data is missing.
    left: u8,
}

impl AckOrders {
    /// Tracks the end of the offered window from now on.
    pub(in crate::tcp) fn begin(&mut self) {
        self.orders();
    }

    fn orders(&mut self) -> &mut Orders {
        self.0.get_or_insert_default()
    }

    /// Offers at most `window` bytes beyond the received data; `None` offers all the room.
    pub(super) fn offer(&mut self, window: Option<u32>) {
        self.orders().offer = window.map(|most| Offer {
            most,
            beyond: 0,
            missing_arrives: false,
        });
    }

    /// Offers at most `window` bytes beyond the offered window.
    pub(super) fn offer_more(&mut self, window: u32, missing_arrives: bool) {
        let orders = self.orders();
        orders.offer = Some(Offer {
            most: window,
            beyond: orders.edge,
            missing_arrives,
        });
    }

    pub(super) fn keep_last(&mut self, keeps: bool) {
        let orders = self.orders();
        orders.keeps_last = keeps;
        orders.kept = orders.kept.take().filter(|_| keeps);
    }

    /// Requests so many ACKs, each with the present offer.
    pub(super) fn acknowledge(&mut self, copies: u8) {
        let orders = self.orders();
        let room = MOST_ACKNOWLEDGMENTS.saturating_sub(orders.acknowledgments.len());
        let copies = usize::from(copies).min(room);
        let each = core::iter::repeat_n(orders.offer, copies);
        orders.acknowledgments.extend(each);
    }

    pub(super) fn notify(&mut self, number: NonZeroU8, times: u8) {
        self.orders().notice = Some(Notice {
            number,
            left: times,
        });
    }

    /// Returns true if an ACK is due on a remedy's behalf.
    pub(in crate::tcp) fn owes_acknowledgment(&self) -> bool {
        let orders = self.0.as_ref();
        orders.is_some_and(|orders| !orders.acknowledgments.is_empty())
    }

    /// Takes the next such ACK: its offer is in force from now on. Returns the previous one.
    pub(in crate::tcp) fn take_owed(&mut self) -> Option<Option<Offer>> {
        let orders = self.0.as_mut()?;
        let offer = orders.acknowledgments.pop_front()?;
        Some(core::mem::replace(&mut orders.offer, offer))
    }

    /// Restores a previous offer.
    pub(in crate::tcp) fn restore(&mut self, offer: Option<Offer>) {
        self.orders().offer = offer;
    }

    /// Lets an ACK through, or the one that was kept instead.
    pub(in crate::tcp) fn let_through(&mut self, acknowledgment: TcpHeader) -> Option<TcpHeader> {
        match &mut self.0 {
            Some(orders) if orders.keeps_last => orders.kept.replace(acknowledgment),
            _ => Some(acknowledgment),
        }
    }

    /// Returns the window field to offer, at most `window`, scaled by `shift`.
    pub(in crate::tcp) fn limit_offer(&mut self, data: &Receiver, window: u16, shift: u8) -> u16 {
        let Some(orders) = &mut self.0 else {
            return window;
        };
        let next = data.next();
        let most = orders.offer.map_or(u64::MAX, |offer| {
            let end = next.max(offer.beyond) + u64::from(offer.most);
            if !offer.missing_arrives {
                return end - next;
            }
            let ahead = match next < offer.beyond {
                true => data.held_beyond(offer.beyond),
                false => 0,
            };
            (end + ahead).max(orders.edge) - next
        });
        // Rounded up: a scaled field gives multiples, and rounding down would exclude the last segment of the offer.
        let field = window.min(u16::try_from(most.div_ceil(1 << shift)).unwrap_or(u16::MAX));
        orders.edge = next + (u64::from(field) << shift);
        field
    }

    /// Returns the handover notice for the ACK that leaves now, for segments of this size.
    pub(in crate::tcp) fn next_notice(
        &mut self,
        data: &Receiver,
        segment_size: u32,
    ) -> Option<HandoverNotice> {
        let orders = self.0.as_mut()?;
        let notice = orders.notice.as_mut()?;
        let missing = data.missing();
        let segments = missing.div_ceil(u64::from(segment_size.max(1)));
        let said = HandoverNotice {
            number: notice.number,
            outstanding: u16::try_from(segments).unwrap_or(u16::MAX),
        };
        notice.left = notice.left.saturating_sub(1);
        if notice.left == 0 && missing == 0 {
            orders.notice = None;
        }
        Some(said)
    }
}

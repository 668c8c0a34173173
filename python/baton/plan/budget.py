"""Study D's link budget (its tables 1 and 2) for a user's own cell. The equations are those of the L-DACS1 model, with
the sign of equation 1 corrected; see `crates/sim/src/link/ldacs1/budget.rs`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from baton._baton import json_link_budget


@dataclass(frozen=True)
class Station:
    """A transmitter and receiver: dBm, dBi and dB."""

    power_dbm: float
    gain_dbi: float
    loss_db: float
    """Loss in cables and diplexer, in each direction."""
    noise_figure_db: float


@dataclass(frozen=True)
class Channel:
    """Common values of both directions."""

    distance_m: float
    bandwidth_hz: float
    snr_db: float
    """Signal-to-noise ratio that the modulation needs."""
    safety_db: float
    """Margin that the signal must have beyond that."""


@dataclass(frozen=True)
class Budget:
    """Budget of one direction. Powers in dBm; `margin_db` is the remaining margin, and `range_m` the distance at which
    none remains."""

    received_dbm: float
    noise_dbm: float
    sensitivity_dbm: float
    operation_point_dbm: float
    margin_db: float
    range_m: float


def budget(sender: Station, receiver: Station, frequency_hz: float, channel: Channel) -> Budget:
    """Computes the budget from one station to another."""
    parameters = {
        "transmit_power_dbm": sender.power_dbm,
        "transmit_gain_db": sender.gain_dbi - sender.loss_db,
        "receive_gain_db": receiver.gain_dbi - receiver.loss_db,
        "frequency_hz": frequency_hz,
        "noise_figure_db": receiver.noise_figure_db,
        "bandwidth_hz": channel.bandwidth_hz,
        "margin_db": channel.safety_db,
    }
    return Budget(**json.loads(json_link_budget(json.dumps(parameters), channel.snr_db, channel.distance_m)))

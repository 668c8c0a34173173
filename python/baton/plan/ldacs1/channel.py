"""The channel of L-DACS1 between modulator and demodulator: OFDM, Rician fading, pulses that the receiver blanks, and
noise. SNR is the energy of a symbol over the noise density, as the link budget's power over noise in the used band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .symbols import Complex, Floats, levels

CARRIERS = 50
SAMPLES = 64
"""Samples of an OFDM symbol without its prefix; carriers are 9.765625 kHz apart."""
SAMPLE_S = 1 / (SAMPLES * 9765.625)
SYMBOL_S = 120e-6
"""Time of an OFDM symbol with its prefix of 17.6 us."""
_PATHS = 8
"""Plane waves that make up each echo."""

PASSES = 3
"""Passes of the receiver over an OFDM symbol with blanked samples (chosen)."""
_BINS = np.r_[SAMPLES - CARRIERS // 2 : SAMPLES, 1 : CARRIERS // 2 + 1]
"""Carriers' places in an OFDM symbol's spectrum, by rising frequency; the middle one is empty."""


@dataclass(frozen=True)
class EnRoute:
    """An aircraft in flight: a direct path, weak echoes, and pulses of distance measuring equipment that the receiver
    blanks. The receiver estimates the channel from pilots."""

    rician_k_db: float = 15.0
    """Power of the direct path over that of the echoes in dB, 15 in the mean of published measurements."""
    pulse_pairs_per_s: float = 10_800.0
    """Pairs of pulses of all interfering stations: three (chosen) of 3600 a second."""
    blanked_s: float = 6.4e-6
    """Time blanked for each pulse (chosen): that of a Gaussian pulse of 3.5 us at half amplitude above a tenth of its
    peak."""
    pulse_spacing_s: float = 12e-6
    """Time between a pair's two pulses (the equipment's X channels)."""
    doppler_hz: float = 1250.0
    """Largest Doppler shift of an echo: 375 m/s at 1 GHz."""
    echo_delays_s: tuple[float, ...] = (0.3e-6, 15e-6)
    """Delays of the echoes, of equal power (chosen)."""


@dataclass(frozen=True)
class Grid:
    """Places of a frame: OFDM symbols times carriers, the carriers of pilots in each symbol, and the data's places,
    counted through all carriers of all symbols."""

    periods: int
    pilots: tuple[tuple[int, ...], ...]
    data: npt.NDArray[np.intp]


def grid(periods: int, width: int, pilots: tuple[tuple[int, ...], ...], symbols: int) -> Grid:
    """Lays out a frame on the first `width` carriers: its data symbols are spread evenly over the places that pilots
    leave."""
    free = [CARRIERS * n + k for n in range(periods) for k in range(width) if k not in pilots[n]]
    chosen = np.linspace(0, len(free) - 1, symbols).round().astype(np.intp)
    return Grid(periods, pilots, np.array(free, dtype=np.intp)[chosen])


def white(data: Complex, snr_db: float, draws: np.random.Generator) -> tuple[Complex, Floats]:
    """Returns the data symbols with white noise, and the variance of each."""
    noise = 10 ** (-snr_db / 10)
    return data + _noise(data.shape, noise, draws), np.full(data.shape, noise, np.float32)


def en_route(
    data: Complex, bits_per_symbol: int, grid: Grid, snr_db: float, channel: EnRoute, draws: np.random.Generator
) -> tuple[Complex, Floats]:
    """Returns the data symbols as the receiver equalises them, and its estimate of the variance of each.

    The receiver knows which samples it has blanked, and lessens the crosstalk of carriers that blanking causes: it
    expects symbols from what it has received, and takes their part in the blanked samples off again. Places without
    data are loaded with QPSK symbols, those of pilots and of other aircraft.
    """
    frames, noise = data.shape[0], 10 ** (-snr_db / 10)
    load = draws.integers(0, 4, (frames, grid.periods * CARRIERS))
    sent = np.exp(0.5j * np.pi * (load + 0.5)).astype(np.complex64)
    sent[:, grid.data] = data
    shape = (frames, grid.periods, CARRIERS)
    faded = sent.reshape(shape) * _fading(frames, grid.periods, channel, draws)
    samples = _samples(faded)
    samples += _noise(samples.shape, noise, draws)
    blank = _blanked(frames, grid.periods, channel, draws)
    samples[blank] = 0
    kept = np.maximum(1 - blank.mean(axis=2, dtype=np.float32, keepdims=True), 0.1)
    at, weights = _interpolation(grid)
    expected: Complex = np.zeros(shape, np.complex64)
    doubt: Floats = np.ones(shape, np.float32)
    for _ in range(PASSES):
        filled = np.where(blank, _samples(expected), samples)
        received = np.fft.fft(filled, norm="ortho").astype(np.complex64)[:, :, _BINS]
        # Without its own part in the blanked samples, a carrier has a share of `kept` of its amplitude, and crosstalk
        # of what is not known of the others.
        received = ((received - (1 - kept) * expected) / kept).reshape(frames, -1)
        gain = (received[:, at] / sent[:, at]) @ weights
        power = np.abs(gain.reshape(shape)) ** 2
        crosstalk = (1 - kept) * (doubt * power).mean(axis=2, keepdims=True)
        variance = ((noise + crosstalk) / (kept * power)).reshape(frames, -1).astype(np.float32)
        received /= gain
        symbols, doubt = _expect(received, variance, 2)
        symbols[:, grid.data], doubt[:, grid.data] = _expect(
            received[:, grid.data], variance[:, grid.data], bits_per_symbol
        )
        symbols[:, at], doubt[:, at] = sent[:, at], 0
        expected, doubt = (gain * symbols).reshape(shape), doubt.reshape(shape)
    return received[:, grid.data], variance[:, grid.data]


def _samples(carriers: Complex) -> Complex:
    """Returns the samples of OFDM symbols."""
    spectrum = np.zeros((*carriers.shape[:2], SAMPLES), np.complex64)
    spectrum[:, :, _BINS] = carriers
    return np.fft.ifft(spectrum, norm="ortho").astype(np.complex64)


def _expect(received: Complex, variance: Floats, bits_per_symbol: int) -> tuple[Complex, Floats]:
    """Returns the expected symbols and their variances, given what was received."""
    amplitudes = levels(bits_per_symbol // 2)
    means, spreads = [], np.zeros(received.shape, np.float32)
    for part in (received.real, received.imag):
        exponents = -((part[..., None] - amplitudes) ** 2) / variance[..., None]
        likely = np.exp(exponents - exponents.max(axis=2, keepdims=True))
        likely /= likely.sum(axis=2, keepdims=True)
        mean = likely @ amplitudes
        spreads += likely @ amplitudes**2 - mean**2
        means.append(mean)
    return (means[0] + 1j * means[1]).astype(np.complex64), np.maximum(spreads, 0)


def _interpolation(grid: Grid) -> tuple[npt.NDArray[np.intp], Complex]:
    """Returns the places of the pilots, and the weight of each in the estimate of every place: linear in time on each
    carrier with pilots, then linear over the carriers, constant outside."""
    at = [(n, k) for n, carriers in enumerate(grid.pilots) for k in carriers]
    weights = np.zeros((len(at), grid.periods, CARRIERS))
    carriers = sorted({k for _, k in at})
    for pilot, (period, carrier) in enumerate(at):
        on_carrier = [n for n, k in at if k == carrier]
        own = [float(n == period) for n in on_carrier]
        in_time = np.interp(range(grid.periods), on_carrier, own)
        in_frequency = np.interp(range(CARRIERS), carriers, [float(k == carrier) for k in carriers])
        weights[pilot] = np.outer(in_time, in_frequency)
    places = np.array([CARRIERS * n + k for n, k in at], dtype=np.intp)
    return places, weights.reshape(len(at), -1).astype(np.complex64)


def _noise(shape: tuple[int, ...], variance: float, draws: np.random.Generator) -> Complex:
    parts = draws.standard_normal((*shape, 2), dtype=np.float32) * np.float32(np.sqrt(variance / 2))
    noise: Complex = parts.view(np.complex64)[..., 0]
    return noise


def _fading(frames: int, periods: int, channel: EnRoute, draws: np.random.Generator) -> Complex:
    """Returns the gain of each carrier in each OFDM symbol: the direct path, and echoes of plane waves from random
    directions (Jakes)."""
    ratio = 10 ** (channel.rician_k_db / 10)
    times = np.arange(periods) * SYMBOL_S
    frequencies = np.arange(CARRIERS) / (SAMPLES * SAMPLE_S)
    total = np.full((frames, periods, CARRIERS), np.sqrt(ratio / (ratio + 1)), np.complex64)
    scale = np.sqrt(1 / ((ratio + 1) * len(channel.echo_delays_s) * _PATHS))
    for delay in channel.echo_delays_s:
        shifts = channel.doppler_hz * np.cos(draws.uniform(0, 2 * np.pi, (frames, _PATHS, 1)))
        phases = draws.uniform(0, 2 * np.pi, (frames, _PATHS, 1))
        waves = np.exp(1j * (2 * np.pi * shifts * times + phases)).sum(axis=1)
        turns = np.exp(-2j * np.pi * frequencies * delay)
        total += (scale * waves[:, :, None] * turns).astype(np.complex64)
    return total


def _blanked(frames: int, periods: int, channel: EnRoute, draws: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Returns the samples that the receiver blanks: pairs of pulses begin at random moments."""
    length = round(channel.blanked_s / SAMPLE_S)
    spacing = round(channel.pulse_spacing_s / SAMPLE_S)
    before = spacing + length
    prefix = round(SYMBOL_S / SAMPLE_S) - SAMPLES
    begins = draws.random((frames, before + periods * (SAMPLES + prefix)), np.float32)
    starts = begins < channel.pulse_pairs_per_s * SAMPLE_S
    blank = np.zeros_like(starts)
    for offset in (*range(length), *range(spacing, spacing + length)):
        blank[:, offset:] |= starts[:, : starts.shape[1] - offset]
    return blank[:, before:].reshape(frames, periods, prefix + SAMPLES)[:, :, prefix:]

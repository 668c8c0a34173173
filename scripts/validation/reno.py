"""Reno (RFC 5681) as a congestion control in Python: what `docs/how-to/write-a-congestion-control.md` writes."""

from __future__ import annotations

from baton.tcp import AckSample, LossSample


class Reno:
    """Reno's window."""

    def __init__(self, segment_size: int, initial_window: int, initial_slow_start_threshold: int) -> None:
        self.segment_size, self.window = segment_size, initial_window
        self.slow_start_threshold, self.acknowledged = initial_slow_start_threshold, 0

    def on_acknowledged(self, sample: AckSample) -> None:
        """Slow start, or a segment for each window."""
        if not sample.window_limited:
            return
        if self.window < self.slow_start_threshold:
            self.window += min(sample.acknowledged_bytes, self.segment_size)
            return
        self.acknowledged += sample.acknowledged_bytes
        if self.acknowledged >= self.window:
            self.acknowledged -= self.window
            self.window += self.segment_size

    def on_loss(self, loss: LossSample) -> None:
        """Half of what was in flight."""
        self.slow_start_threshold = max(loss.bytes_in_flight // 2, 2 * self.segment_size)
        self.window, self.acknowledged = self.slow_start_threshold, 0

    def on_timeout(self, loss: LossSample) -> None:
        """One segment, and slow start up to half of what was in flight."""
        if not loss.repeated:
            in_flight = min(loss.bytes_in_flight, self.window)
            self.slow_start_threshold = max(in_flight // 2, 2 * self.segment_size)
        self.window, self.acknowledged = self.segment_size, 0

    def on_idle_restart(self, restart_window: int) -> None:
        """No more than the initial window."""
        self.window, self.acknowledged = min(self.window, restart_window), 0

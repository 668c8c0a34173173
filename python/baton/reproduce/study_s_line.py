"""Study S's journey on its line, where signal strength and protocols decide (S8)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of

#: Traffic that fills no queue, as equations 4 and 5 have none: a datagram each 11 ms.
_STEADY = (
    "flows=[{ name = 'download', from = 'server', to = 'train', transport = 'udp',"
    " traffic = { kind = 'constant', rate = '1 Mbit/s', packet_size = '1400 B' } }]"
)
_RECORDED = ["record.packets=true", "duration=235 s"]

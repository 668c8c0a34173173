"""Programs of the hosts: a server, a client that keeps the times of what it receives, a relay, and a stream of
datagrams. Each runs in a network namespace of its own, and prints what it has measured as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import struct
import threading
import time

IPPROTO_MPTCP = 262
# A client keeps the first arrival in each of these times, and the longest time between any two.
KEPT_EVERY_S = 0.01
STAMP = struct.Struct("!Id")
# The kernel's time of a datagram's arrival, a `timespec` (socket(7)). Python does not name the option.
SO_TIMESTAMPNS = 35
ARRIVAL = struct.Struct("@ll")


def tcp(*, is_multipath: bool) -> socket.socket:
    """Makes a socket of TCP, or of the kernel's multipath TCP."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP if is_multipath else 0)


def listen(address: str, port: int, *, is_multipath: bool = False) -> socket.socket:
    """Listens."""
    listener = tcp(is_multipath=is_multipath)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    return listener


def serve(given: argparse.Namespace) -> None:
    """Answers each caller with as many bytes, and by the congestion control, as its first line asks for."""
    listener = listen("0.0.0.0", given.port, is_multipath=given.multipath)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    """Answers one caller, who may go away before the end."""
    with connection, contextlib.suppress(OSError):
        control, size = connection.makefile("rb").readline().split()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        piece = bytes(1 << 16)
        for start in range(0, int(size), len(piece)):
            connection.sendall(piece[: int(size) - start])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def fetch(given: argparse.Namespace) -> None:
    """Downloads until all has come or the time is over, and prints when it came. Times are of the machine's clock."""
    begun = time.monotonic()
    received, longest, last = 0, 0.0, None
    arrivals: list[tuple[float, int]] = []
    with tcp(is_multipath=given.multipath) as connection:
        connection.settimeout(given.within)
        connection.connect((given.address, given.port))
        connection.sendall(f"{given.control} {given.size}\n".encode())
        while received < given.size and (left := begun + given.within - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                read = connection.recv(1 << 20)
            except TimeoutError:
                break
            if not read:
                raise SystemExit(f"the download ended after {received} of {given.size} bytes")
            received += len(read)
            now = time.monotonic()
            longest = max(longest, 0.0 if last is None else now - last)
            last = now
            if not arrivals or now - arrivals[-1][0] >= KEPT_EVERY_S or received == given.size:
                arrivals.append((now, received))
    ended = begun + given.within if received < given.size else time.monotonic()
    print(json.dumps({"bytes": received, "taken_s": ended - begun, "longest_stall_s": longest, "arrivals": arrivals}))


def relay(given: argparse.Namespace) -> None:
    """Ends each connection, and joins it to one of its own to the target."""
    listener = listen(given.address, given.port)
    if given.control:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, given.control.encode())
    while True:
        near, _ = listener.accept()
        far = socket.create_connection((given.target, given.target_port))
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(source, sink), daemon=True).start()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Copies one direction to its end."""
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 20):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


def send(given: argparse.Namespace) -> None:
    """Sends numbered datagrams at a constant rate, each with its time."""
    interval, padding = given.length * 8 / given.rate, bytes(given.length - STAMP.size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, given.code_point << 2)
        begun = time.monotonic()
        for number in range(int(given.seconds / interval)):
            time.sleep(max(0.0, begun + number * interval - time.monotonic()))
            sender.sendto(STAMP.pack(number, time.time()) + padding, (given.address, given.port))


def receive(given: argparse.Namespace) -> None:
    """Prints the delay of each datagram in seconds, by its number, once none has come for so long.

    As in ping, the kernel says when it arrived: this program's own wait for a processor is no delay of the network.
    """
    delays: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.bind(("0.0.0.0", given.port))
        receiver.settimeout(given.silence)
        with contextlib.suppress(TimeoutError):
            while True:
                datagram, [(_, _, arrival), *_], _, _ = receiver.recvmsg(2048, socket.CMSG_SPACE(ARRIVAL.size))
                number, sent = STAMP.unpack_from(datagram)
                seconds, nanoseconds = ARRIVAL.unpack(arrival)
                delays.setdefault(number, seconds - sent + nanoseconds / 1e9)
    print(json.dumps(delays))


def main() -> None:
    """Runs one of the programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    programs = parser.add_subparsers(required=True)
    for program, arguments in {
        serve: {"port": int},
        fetch: {"address": str, "port": int, "control": str, "size": int, "within": float},
        relay: {"address": str, "port": int, "target": str, "target_port": int},
        send: {"address": str, "port": int, "rate": float, "length": int, "code_point": int, "seconds": float},
        receive: {"port": int, "silence": float},
    }.items():
        own = programs.add_parser(program.__name__)
        own.set_defaults(program=program)
        for name, of_type in arguments.items():
            own.add_argument(name, type=of_type)
        if program in (serve, fetch):
            own.add_argument("--multipath", action="store_true")
        if program is relay:
            own.add_argument("--control")
    given = parser.parse_args()
    given.program(given)


if __name__ == "__main__":
    main()

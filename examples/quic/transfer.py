"""A download over QUIC, to see what a handover does to it. Needs `.venv/bin/pip install aioquic`.

    sudo .venv/bin/baton live train --handover '8 s hard 2 s' --set live.address=new \
        --server '.venv/bin/python examples/quic/transfer.py serve' \
        -- .venv/bin/python examples/quic/transfer.py fetch server 8000000

The server says from where its client speaks, so that a migration shows in `server.log`. The client says how long the
download took and how long it stood still, which `--expect 'program.reported.longest_stall_s < 3'` takes, too. It exits
with 1 if it failed.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import ssl
import sys
import tempfile
import time
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PORT = 4433
PROTOCOL = ["transfer"]
# A client that only receives must speak up, or the server would go on sending to an address that is gone.
PING_EVERY_S = 0.25


class Server(QuicConnectionProtocol):
    """Answers a number in ASCII with as many bytes."""

    asked = b""
    peer = None

    def datagram_received(self, data: bytes, address: tuple) -> None:
        """Notes where the client is."""
        if address != self.peer:
            self.peer = address
            print(f"client at {address[0]} port {address[1]}", flush=True)
        super().datagram_received(data, address)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Sends what is asked for when the question is complete."""
        if isinstance(event, StreamDataReceived):
            self.asked += event.data
            if event.end_stream:
                self._quic.send_stream_data(event.stream_id, bytes(int(self.asked)), end_stream=True)
                self.transmit()


class Client(QuicConnectionProtocol):
    """Fetches, and measures how long it stands still."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.received, self.longest_stall_s, self.last = 0, 0.0, time.monotonic()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Counts what comes."""
        if isinstance(event, StreamDataReceived):
            now = time.monotonic()
            self.longest_stall_s, self.last = max(self.longest_stall_s, now - self.last), now
            self.received += len(event.data)
            if event.end_stream and not self.done.done():
                self.done.set_result(None)
        elif isinstance(event, ConnectionTerminated) and not self.done.done():
            self.done.set_exception(ConnectionError(event.reason_phrase or "the connection was lost"))

    async def fetch(self, count: int) -> None:
        """Asks for so many bytes and waits for them."""
        self.last = time.monotonic()
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, str(count).encode(), end_stream=True)
        self.transmit()
        pings = asyncio.ensure_future(self.keep_pinging())
        try:
            await self.done
        finally:
            pings.cancel()

    async def keep_pinging(self) -> None:
        """Sends a PING now and then, and does not wait for its answer."""
        waiting = set()
        while True:
            ping = asyncio.ensure_future(self.ping())
            ping.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # the transfer tells
            waiting.add(ping)
            await asyncio.sleep(PING_EVERY_S)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate signed by its own key, which the client does not check: this is a laboratory."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    signed = builder.sign(key, hashes.SHA256())
    chain_file, key_file = folder / "chain.pem", folder / "key.pem"
    chain_file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return chain_file, key_file


async def run_server(port: int) -> None:
    """Serves until it is killed."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL)
    with tempfile.TemporaryDirectory() as folder:
        configuration.load_cert_chain(*certificate(Path(folder)))
    await serve("::", port, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


async def run_client(host: str, port: int, count: int) -> int:
    """Fetches once; returns the exit status."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=PROTOCOL, verify_mode=ssl.CERT_NONE)
    begun = time.monotonic()
    try:
        async with connect(host, port, configuration=configuration, create_protocol=Client) as client:
            await client.fetch(count)
    except ConnectionError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    taken = time.monotonic() - begun
    report(longest_stall_s=client.longest_stall_s)
    print(f"{client.received} bytes in {taken:.2f} s; longest stall {client.longest_stall_s * 1000:.0f} ms")
    return 0 if client.received == count else 1


def report(**numbers: float) -> None:
    """Tells Baton, where it runs us, what we have measured."""
    file = os.environ.get("BATON_REPORT")
    if file is not None:
        with Path(file).open("a") as opened:
            opened.writelines(f"{name}={number}\n" for name, number in numbers.items())


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="A download over QUIC")
    parser.add_argument("--port", type=int, default=PORT)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("serve")
    fetch = what.add_parser("fetch")
    fetch.add_argument("host")
    fetch.add_argument("bytes", type=int)
    given = parser.parse_args()
    if given.what == "serve":
        asyncio.run(run_server(given.port))
    return asyncio.run(run_client(given.host, given.port, given.bytes))


if __name__ == "__main__":
    sys.exit(main())

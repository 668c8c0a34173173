"""Accepts TCP connections at addresses and a port, and sends back what arrives, as long as it lives."""

import selectors
import socket
import sys

# As many as begin at once; the kernel's own limit counts, too.
MOST_WAITING = 1 << 15


def echo(stream: socket.socket) -> None:
    """Sends back what waits to be read."""
    try:
        data = stream.recv(65536)
        stream.sendall(data)
    except ConnectionResetError:
        data = b""
    if not data:
        selector.unregister(stream)
        stream.close()


selector = selectors.DefaultSelector()
for address in sys.argv[2:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, int(sys.argv[1])), family=family, backlog=MOST_WAITING)
    selector.register(listener, selectors.EVENT_READ)
    print("listening at", address, flush=True)
while True:
    for key, _ in selector.select():
        ready = key.fileobj
        assert isinstance(ready, socket.socket)
        if ready.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            stream, _ = ready.accept()
            selector.register(stream, selectors.EVENT_READ)
        else:
            echo(ready)

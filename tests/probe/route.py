"""K8: changes to the network by NETLINK_ROUTE. Outside it runs in a network namespace of its own."""

import socket
import struct

from prelude import attempt, os


def ask_route(kind, body, flags=0x605):  # REQUEST|ACK|CREATE|EXCL
    """One request to NETLINK_ROUTE; raises what the kernel answers."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.settimeout(2)
        s.bind((0, 0))
        s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = s.recv(8192)
        code = -struct.unpack_from("=i", answer, 16)[0]
        if code:
            raise OSError(code, "")


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


LINK = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, b"probe0\0") + attribute(18, attribute(1, b"ifb\0"))
ADDRESS = struct.pack("=BBBBi", socket.AF_INET, 32, 0, 0, 1) + attribute(2, bytes([10, 9, 8, 7]))
ROUTE = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 254, 4, 253, 1, 0) + attribute(
    1, bytes([10, 9, 8, 6])) + attribute(4, struct.pack("=i", 1))
QDISC = struct.pack("=BxHiIII", 0, 0, 1, 0x10000, 0xFFFFFFFF, 0) + attribute(1, b"pfifo\0")
UP = struct.pack("=BxHiII", 0, 0, 1, 1, 1)
if os.getuid() == 0:
    attempt("K8 up", ask_route, 16, UP, 0x5)
attempt("K8 RTM_NEWLINK", ask_route, 16, LINK)
attempt("K8 RTM_NEWADDR", ask_route, 20, ADDRESS)
attempt("K8 RTM_NEWROUTE", ask_route, 24, ROUTE)
attempt("K8 RTM_NEWQDISC", ask_route, 36, QDISC)

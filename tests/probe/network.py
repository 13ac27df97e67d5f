"""N1 to N4, K7, K8: everything that would be a way out. PORT, LAN and ABSTRACT name listeners of the test's."""

import socket

from prelude import attempt, say

INSIDE, PORT, LAN, ABSTRACT = (globals()[name] for name in ("INSIDE", "PORT", "LAN", "ABSTRACT"))


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)


def resolve(name):
    socket.getaddrinfo(name, 80)


TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM
attempt("N1 udp", connect, socket.AF_INET, UDP, ("8.8.8.8", 53))
attempt("N1 udp6", connect, socket.AF_INET6, UDP, ("2001:4860:4860::8888", 53))
attempt("N1 icmp", socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
attempt("N1 ping", socket.socket, socket.AF_INET, UDP, socket.IPPROTO_ICMP)
attempt("N1 broadcast", connect, socket.AF_INET, UDP, ("192.0.2.255", 9))
attempt("N1 multicast", connect, socket.AF_INET, UDP, ("224.0.0.251", 5353))
attempt("N2 metadata", connect, socket.AF_INET, UDP, ("169.254.169.254", 80))
attempt("N2 metadata6", connect, socket.AF_INET6, UDP, ("fd00:ec2::254", 80))
if INSIDE:  # in a cell these are refused at once; outside they would leave the machine
    attempt("N1 tcp", connect, socket.AF_INET, TCP, ("1.1.1.1", 443))
    attempt("N1 tcp6", connect, socket.AF_INET6, TCP, ("2606:4700:4700::1111", 443))
    attempt("N2 metadata tcp", connect, socket.AF_INET, TCP, ("169.254.169.254", 80))
    attempt("N2 metadata name", resolve, "metadata.google.internal")
attempt("N3 127.0.0.1", connect, socket.AF_INET, TCP, ("127.0.0.1", PORT))
attempt("N3 ::1", connect, socket.AF_INET6, TCP, ("::1", PORT))
attempt("N3 0.0.0.0", connect, socket.AF_INET, TCP, ("0.0.0.0", PORT))
attempt("N3 lan", connect, socket.AF_INET, TCP, (LAN, PORT))
attempt("N4 abstract", connect, socket.AF_UNIX, TCP, "\0" + ABSTRACT)
attempt("N4 path", connect, socket.AF_UNIX, TCP, "/tmp/" + ABSTRACT)
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/notify",
             "/run/systemd/private", "/tmp/.X11-unix/X0", "/run/containerd/containerd.sock"):
    attempt("N4 " + path, connect, socket.AF_UNIX, TCP, path)
say("N4 unix", value=open("/proc/self/net/unix").read().splitlines()[1:])

# K7
opened = []
for family in range(61):
    for kind in range(1, 11):
        for protocol in (0, 1, 6, 17, 132, 136, 255, 262):
            try:
                socket.socket(family, kind, protocol).close()
                opened.append([family, kind, protocol])
            except OSError:
                pass
say("K7", value=opened)
attempt("K7 socketpair", lambda: [s.close() for s in socket.socketpair(socket.AF_UNIX)] and None)
attempt("K7 socketpair inet", socket.socketpair, socket.AF_INET)

# K8
for protocol, name in ((4, "SOCK_DIAG"), (6, "XFRM"), (9, "AUDIT"), (12, "NETFILTER"), (15, "KOBJECT_UEVENT"),
                       (16, "GENERIC")):
    attempt("K8 " + name, lambda p=protocol: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p).close())


# What must go on working: a server and a client on the cell's own loopback.
def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"x")
        assert server.accept()[0].recv(1) == b"x"


attempt("loopback", own_loopback)

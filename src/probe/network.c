/* Sockets that must not be, and that there is nobody to talk to. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probe/probe.h"

enum { PROTOCOL_MPTCP = 262 };

static const struct {
	const char *name;
	int family, type, protocol;
} sockets[] = {
	{ "socket_unix", AF_UNIX, SOCK_STREAM, 0 },
	{ "socket_vsock", AF_VSOCK, SOCK_STREAM, 0 },
	{ "socket_packet", AF_PACKET, SOCK_RAW, 0 },
	{ "socket_alg", AF_ALG, SOCK_SEQPACKET, 0 },
	{ "socket_xdp", AF_XDP, SOCK_RAW, 0 },
	{ "socket_bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
	{ "socket_can", AF_CAN, SOCK_RAW, 1 },
	{ "socket_tipc", AF_TIPC, SOCK_RDM, 0 },
	{ "socket_raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "socket_raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
	{ "socket_ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
	{ "socket_sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
	{ "socket_mptcp", AF_INET, SOCK_STREAM, PROTOCOL_MPTCP },
	{ "netlink_sock_diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG },
	{ "netlink_xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM },
	{ "netlink_audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
	{ "netlink_netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	{ "netlink_uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
	{ "netlink_generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC },
};

/* TEST-NET-1, its IPv6 counterpart, and where clouds keep their secrets: nobody is reached. */
static const struct {
	const char *name, *address;
	bool is_v6;
} hosts[] = {
	{ "connect_out", "192.0.2.1", false },
	{ "connect_out6", "2001:db8::1", true },
	{ "connect_metadata", "169.254.169.254", false },
};

static int connect_v4(const char *address)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	_cleanup_close_ int fd = socket(AF_INET, type, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };

	(void)inet_pton(AF_INET, address, &to.sin_addr);
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static int connect_v6(const char *address)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	_cleanup_close_ int fd = socket(AF_INET6, type, 0);
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(80) };

	(void)inet_pton(AF_INET6, address, &to.sin6_addr);
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static bool has_name(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += len)
		if ((p == list || p[-1] == ',') && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

/* Those that are up. Some kernels put tunnels into every new namespace, which are down. */
static void say_interfaces(void)
{
	struct ifaddrs *all = NULL;
	char outcome[256] = "";

	if (getifaddrs(&all) < 0) {
		probe_say_result("interfaces_up", -1);
		return;
	}
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		size_t used = strlen(outcome);

		if (!(one->ifa_flags & IFF_UP) || has_name(outcome, one->ifa_name))
			continue;
		snprintf(outcome + used, sizeof(outcome) - used, "%s%s", used ? "," : "",
			 one->ifa_name);
	}
	freeifaddrs(all);
	probe_say("interfaces_up", outcome[0] ? outcome : "none");
}

void probe_network(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		int fd = socket(sockets[i].family, sockets[i].type | SOCK_CLOEXEC,
				sockets[i].protocol);

		probe_say_result(sockets[i].name, fd);
		(void)fd_close(fd);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		probe_say_result(hosts[i].name, hosts[i].is_v6 ? connect_v6(hosts[i].address)
							       : connect_v4(hosts[i].address));
	say_interfaces();
}

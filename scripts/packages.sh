# Debian and Ubuntu packages that the commands of ./dev need, and how they get there. Sourced by dev.
# shellcheck shell=bash

declare -A packages=(
	[build]="gcc libc6-dev meson ninja-build pkg-config libuv1-dev libmicrohttpd-dev libjansson-dev libssl-dev
		libseccomp-dev libcap-dev libsqlite3-dev libinih-dev"
	[runtimes]="python3 bash coreutils grep sed mawk findutils tar gzip jq"
	[test]="libcmocka-dev python3 python3-pytest python3-matplotlib python3-pil python3-pandas uidmap strace bubblewrap procps util-linux iproute2"
	[clients]="nodejs npm"
	[vm]="qemu-system-x86 mmdebstrap fakeroot e2fsprogs"
	[lint]="clang-format clang-tidy cppcheck shellcheck codespell pmccabe python3 pyflakes3 libcmocka-dev"
	[format]="clang-format"
	[fuzz]="clang"
	[bench]="bubblewrap python3"
)
declare -A package_reasons=(
	[build]="to compile hotcell"
	[runtimes]="for the languages that run in cells"
	[test]="for the tests"
	[clients]="for npm, which installs the MCP clients to test with"
	[vm]="for an emulated machine to test on"
	[lint]="for the checks"
	[format]="to format C"
	[fuzz]="for libFuzzer"
	[bench]="to measure, with something to compare to"
)

# need GROUP...: installs what is missing of these groups
need() {
	local group missing
	if ! command -v dpkg-query >/dev/null; then
		# Another distribution: Meson will name what it does not find.
		return
	fi
	for group in "$@"; do
		# shellcheck disable=SC2086 # a list of words
		missing=$(packages_missing ${packages[$group]})
		# shellcheck disable=SC2086
		[ -z "$missing" ] || packages_install "${package_reasons[$group]}" $missing
		[ "$group" != fuzz ] || need_fuzz_runtime
	done
}

# libFuzzer is in a package named after clang's version, or (older Ubuntu) comes with clang itself.
need_fuzz_runtime() {
	local package
	package=libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev
	if [ -n "$(packages_missing "$package")" ] && apt-cache show "$package" >/dev/null 2>&1; then
		packages_install "${package_reasons[fuzz]}" "$package"
	fi
}

# Prints those of its arguments that are not installed.
packages_missing() {
	{ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
		awk -v wanted="$*" '
			$1 == "installed" { have[$2] = 1 }
			END {
				n = split(wanted, names, " ")
				for (i = 1; i <= n; i++)
					if (!(names[i] in have))
						printf "%s ", names[i]
			}'
}

# packages_install REASON PACKAGE...
packages_install() {
	local reason=$1
	shift
	local install=(install -y --no-install-recommends "$@")
	# Somebody else may be installing too, a fresh machine by itself for instance.
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
	local by_hand="apt-get update && apt-get ${install[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		if ! sudo -n true 2>/dev/null; then
			printf 'dev: needs packages %s; as root, run:\n  %s\n' "$reason" "$by_hand" >&2
			exit 1
		fi
		apt=(sudo -n "${apt[@]}")
	fi
	printf 'installing %s: %s\n' "$reason" "$*" >&2
	if [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | head -n 1)" ]; then
		packages_quietly "${apt[@]}" update || true
	fi
	# The first try may fail because old lists name files that the mirror no longer has.
	packages_quietly "${apt[@]}" "${install[@]}" 2>/dev/null && return
	packages_quietly "${apt[@]}" update && packages_quietly "${apt[@]}" "${install[@]}" && return
	printf 'dev: could not install them; as root, try:\n  %s\n' "$by_hand" >&2
	exit 1
}

# Runs a command with its chatter kept back unless it fails.
packages_quietly() {
	local output
	output=$("$@" 2>&1 </dev/null) || {
		printf '%s\n' "$output" | tail -n 20 >&2
		return 1
	}
}

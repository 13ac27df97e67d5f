/*
 * Runs a seccomp program the way the kernel does, and remembers where it has been.
 *
 * Only the instructions our generator uses; anything else, a load outside struct seccomp_data or a
 * jump outside the program fails the test, as it would fail seccomp(2).
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum bpf_seen { BPF_SEEN = 1, BPF_SEEN_TRUE = 2, BPF_SEEN_FALSE = 4 };

/* The program did something the kernel would have refused to load. */
#define BPF_BROKEN 0xdeadbeefu

/* seen: one byte for each instruction, collected over many runs. */
static inline uint32_t bpf_run(const struct sock_filter *code, size_t length,
			       const struct seccomp_data *data, uint8_t *seen)
{
	uint32_t a = 0;

	for (size_t at = 0; at < length; at++) {
		const struct sock_filter *op = &code[at];
		int holds;

		seen[at] |= BPF_SEEN;
		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (op->k % 4 || op->k > sizeof(*data) - 4)
				return BPF_BROKEN;
			memcpy(&a, (const char *)data + op->k, 4);
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			continue;
		case BPF_JMP | BPF_JA:
			at += op->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			holds = a == op->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			holds = a >= op->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			holds = a > op->k;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			return BPF_BROKEN;
		}
		seen[at] |= holds ? BPF_SEEN_TRUE : BPF_SEEN_FALSE;
		at += holds ? op->jt : op->jf;
	}
	return BPF_BROKEN;
}

/* The first instruction that was never run, or a branch that always went one way; length if there
 * is none. */
static inline size_t bpf_unseen(const struct sock_filter *code, size_t length, const uint8_t *seen)
{
	for (size_t at = 0; at < length; at++) {
		int conditional = BPF_CLASS(code[at].code) == BPF_JMP &&
				  BPF_OP(code[at].code) != BPF_JA;

		if (seen[at] !=
		    (conditional ? BPF_SEEN | BPF_SEEN_TRUE | BPF_SEEN_FALSE : BPF_SEEN))
			return at;
	}
	return length;
}

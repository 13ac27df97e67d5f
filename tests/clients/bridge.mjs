/*
 * Holds one real MCP client open for a test: orders come as lines of JSON on stdin, answers go out on stdout.
 *
 *   node bridge.mjs PACKAGES KIND NAME COMMAND ARG...
 *
 * PACKAGES is the node_modules with the clients, KIND one of those below, NAME what the client calls itself.
 * An order: {id, do: about | list | ping | discover | call | close, ...}. Its answer: {id, value} or {id, error}.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const [packages, kind, name, command, ...args] = process.argv.slice(2);
/* An import would look for the packages beside this file. */
const load = createRequire(path.join(packages, 'beside.js'));

/* The SDKs give a server only what they think safe of the environment, and so it is here. */
function serverEnvironment(getDefault) {
	const env = getDefault();
	for (const key of ['UBSAN_OPTIONS', 'ASAN_OPTIONS'])
		if (process.env[key])
			env[key] = process.env[key];
	return env;
}

/* What the client is unhappy with: messages that are none of its business, or not what they should be. */
const complaints = [];
const complain = (error) => void complaints.push(String(error));

async function startV1() {
	const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
	const { StdioClientTransport, getDefaultEnvironment } = load('@modelcontextprotocol/sdk/client/stdio.js');
	const client = new Client({ name, version: '1' });
	client.onerror = complain;
	const transport = new StdioClientTransport({ command, args, env: serverEnvironment(getDefaultEnvironment) });
	/* The v1 client does not tell what was agreed upon, its transport is told. */
	transport.setProtocolVersion = (version) => (client.agreedVersion = version);
	await client.connect(transport);
	return {
		client, transport,
		version: () => client.agreedVersion,
		callTool: (params, options) => client.callTool(params, undefined, options),
	};
}

async function startV2(mode) {
	const { Client } = load('@modelcontextprotocol/client');
	const { StdioClientTransport, getDefaultEnvironment } = load('@modelcontextprotocol/client/stdio');
	const client = new Client({ name, version: '1' }, mode ? { versionNegotiation: { mode } } : undefined);
	client.onerror = complain;
	const transport = new StdioClientTransport({ command, args, env: serverEnvironment(getDefaultEnvironment) });
	await client.connect(transport);
	return {
		client, transport,
		version: () => client.getNegotiatedProtocolVersion(),
		callTool: (params, options) => client.callTool(params, options),
	};
}

const kinds = {
	'sdk1': startV1,
	'sdk2': () => startV2(),
	'sdk2-auto': () => startV2('auto'),
	'sdk2-modern': () => startV2({ pin: '2026-07-28' }),
};

const session = await kinds[kind]();
const { client, transport } = session;

/* {name?, arguments, progress?, cancelAfter?: a text in the progress after which the call is given up} */
async function call(order) {
	const progress = [];
	const abort = new AbortController();
	const options = { signal: abort.signal, timeout: 60000 };
	if (order.progress || order.cancelAfter)
		options.onprogress = (update) => {
			progress.push({ ...update, at: performance.now() });
			if (order.cancelAfter && progress.map((p) => p.message ?? '').join('').includes(order.cancelAfter))
				abort.abort('the test gives up');
		};
	const begun = performance.now();
	try {
		const params = { name: order.name ?? 'sandbox_execute', arguments: order.arguments };
		const result = await session.callTool(params, options);
		const ended = performance.now();
		for (const update of progress)
			update.msBeforeEnd = ended - update.at;
		return { result, progress, ms: ended - begun };
	} catch (error) {
		return { failed: String(error), code: error.code, progress, ms: performance.now() - begun };
	}
}

const orders = {
	about: () => ({
		pid: transport.pid,
		version: session.version(),
		server: client.getServerVersion(),
		capabilities: client.getServerCapabilities(),
		instructions: client.getInstructions(),
		complaints,
	}),
	list: () => client.listTools(),
	ping: () => client.ping(),
	discover: () => client.discover(),
	call,
	close: () => client.close(),
};

function say(answer) {
	process.stdout.write(JSON.stringify(answer) + '\n');
}

async function obey(order) {
	try {
		say({ id: order.id, value: (await orders[order.do](order)) ?? null });
	} catch (error) {
		say({ id: order.id, error: String(error), code: error.code });
	}
}

const input = readline.createInterface({ input: process.stdin });
input.on('line', (line) => void obey(JSON.parse(line)));
say({ id: 'ready' });
await once(input, 'close');
await client.close();

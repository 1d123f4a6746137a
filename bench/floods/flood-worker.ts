import { request as httpRequest } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { LINK_PROTOCOL } from '#link';
import type { Flood, FloodRequest } from './flood.js';

/** One merchant's flood in a thread of its own, so that the clock of the other merchant's calls is not held up. Ends by being ended. */
const AGAIN_MS = 100;
/** To a server and back through a network: without it one party's calls are those of its own machine, on the server's processors. */
const WAY_MS = 20;
const { flood, made } = workerData as { flood: Flood; made: Int32Array };
let sent = 0;

// A flood comes from machines of its own: on Linux this is the thread's own priority, and what it needs to make it is what is left.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_LOW);

async function main(): Promise<void> {
  const turns = Array.from({ length: flood.connections }, async () => {
    for (;;) await once();
  });
  await Promise.all(turns);
}

async function once(): Promise<void> {
  if (flood.kind === 'idle handshakes') return handshake(flood.url, flood.headers);
  const one = flood.requests[sent % flood.requests.length];
  sent += 1;
  Atomics.add(made, 0, 1);
  if (!one) throw new Error('a flood needs a request');
  return flood.kind === 'calls' ? call(one) : heldCall(one, flood.kind);
}

/** Refused or not: the next one follows, as from a caller that heeds nothing. */
async function call({ url, method, headers, body }: FloodRequest): Promise<void> {
  try {
    const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
    await response.arrayBuffer();
    await delay(WAY_MS);
  } catch (error) {
    // Cut off, which is an answer to a flood; a wrong address would be seen by its first probe (flood.ts).
    if (!(error instanceof TypeError)) throw error;
    await delay(AGAIN_MS);
  }
}

/** Holds what it has for as long as the server lets it: a body that never ends, or an answer that is never read. */
function heldCall(
  { url, method, headers, body }: FloodRequest,
  kind: 'unread answers' | 'endless uploads',
): Promise<void> {
  return new Promise((resolve) => {
    const sending = httpRequest(url, { method, headers, agent: false });
    const end = (): void => void delay(AGAIN_MS).then(resolve);
    sending.once('close', end);
    sending.on('error', () => sending.destroy()); // 'close' follows
    if (kind === 'endless uploads') {
      sending.write(body ?? '');
      sending.on('response', (response) => response.resume());
    } else {
      sending.on('response', (response) => {
        response.pause();
        // A refusal is short: let its connection go, so that the next one tries again.
        if ((response.statusCode ?? 500) > 299) response.resume();
      });
      sending.end(body);
    }
  });
}

function handshake(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, LINK_PROTOCOL, { headers, perMessageDeflate: false });
    socket.on('error', () => socket.terminate()); // 'close' follows
    socket.once('close', () => void delay(AGAIN_MS).then(resolve));
  });
}

await main();

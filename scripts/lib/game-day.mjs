import { setTimeout as delay } from 'node:timers/promises';
import path from 'node:path';

import { readJson } from './files.mjs';
import { commandOf } from './processes.mjs';
import { PROGRAMS } from './programs.mjs';
import { PROCESSES_FILE } from './supervisor.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('./programs.mjs').Program} Program */
/**
 * @typedef {{ program: Program, what: string, seen: string, page: string }} Fault
 * `seen`: where a person finds it; `page`: what to read
 */

/** Each stops a program without ending it: it takes connections and answers nothing, which is harder to see than a crash. */
export const FAULTS = /** @type {Readonly<Record<string, Fault>>} */ ({
  'silent-register': {
    program: PROGRAMS.register,
    what: 'the cash register takes connections and answers nothing',
    seen: 'console: Registers shows it as unreachable, its lane waits; alarm DeviceUnreachable or ReceiptsWaitTooLong',
    page: 'docs/runbook.md, "A register does not take receipts"',
  },
  'tax-operator-away': {
    program: PROGRAMS.ofd,
    what: 'the tax operator takes connections and answers nothing',
    seen: 'console: Overview and Registers show documents that are not sent and a fuse that burns; sales go on',
    page: 'docs/runbook.md, "Documents that do not reach the OFD"',
  },
  'no-relay': {
    program: PROGRAMS.relay,
    what: 'the device relay stands still',
    seen: 'console: receipts stay accepted at every register, Platform misses a relay; alarm NoRelay',
    page: 'docs/alarms.md, NoRelay',
  },
  'stalled-gateway': {
    program: PROGRAMS.gateway,
    what: 'the gateway takes connections and answers nothing',
    seen: 'no console, no answer from /readyz; alarms ProgramDown and NoGateway',
    page: 'docs/alarms.md, ProgramDown',
  },
});

/**
 * The process of a program of `npm start`, whose command was seen: process numbers are used again.
 * @param {string} dataDir
 * @param {Program} program
 */
export function processOf(dataDir, program) {
  const file = path.join(dataDir, 'logs', PROCESSES_FILE);
  const pids = /** @type {Record<string, number | null> | undefined} */ (readJson(file));
  const pid = pids?.[program.name];
  if (typeof pid === 'number' && isProcessOf(pid, program)) return pid;
  throw new UserError(`The ${program.title} does not run; begin with npm start, in another terminal.`);
}

/**
 * @param {number} pid
 * @param {Program} program
 */
export function isProcessOf(pid, program) {
  return commandOf(pid).includes(program.main);
}

/**
 * @typedef {{ gateway_url: string, token_url: string, client_id: string, client_secret: string, product_name: string,
 *   cashier_id: string, price?: number }} Demo
 */

/** A shop that sells through the demo's gateway, whatever becomes of it: each sale under its own key until it is answered. */
export class DemoShop {
  /** @type {Map<string, string | null>} ids by key; null: not answered yet */
  #sales = new Map();
  #token = '';
  #isOpen = true;
  #name = `game-day-${Date.now()}`;

  /** @param {Demo} demo */
  constructor(demo) {
    this.demo = demo;
  }

  /** @param {number} everyMs */
  async sellUntilClosed(everyMs) {
    for (let number = 1; this.#isOpen; number += 1) {
      const key = `${this.#name}-${number}`;
      this.#sales.set(key, null);
      await this.#sell(key);
      await delay(everyMs);
    }
  }

  /**
   * Closes, repeats what was not answered, and waits until everything has come to its end.
   * @param {number} patienceMs
   * @returns {Promise<Record<string, number>>} sales by status; `unanswered` among them
   */
  async close(patienceMs) {
    this.#isOpen = false;
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const counts = await this.#count();
      const open = (counts['unanswered'] ?? 0) + (counts['accepted'] ?? 0) + (counts['sending'] ?? 0);
      if (open === 0 || performance.now() > deadline) return counts;
      await delay(500);
    }
  }

  async #count() {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const [key, id] of this.#sales) {
      if (id === null) await this.#sell(key);
      const known = this.#sales.get(key);
      const receipt = known ? await this.#call('GET', `/v1/receipts/${known}`) : null;
      const status = typeof receipt?.['status'] === 'string' ? receipt['status'] : 'unanswered';
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  /** @param {string} key */
  async #sell(key) {
    const { product_name: name, price = 1_500_000, cashier_id } = this.demo;
    const sale = { items: [{ name, price, qty: 1 }], payment: { method: 'cash' }, cashier_id };
    const receipt = await this.#call('POST', '/v1/receipts', { key, body: sale });
    if (typeof receipt?.['id'] === 'string') this.#sales.set(key, receipt['id']);
  }

  /**
   * @param {string} method
   * @param {string} route
   * @param {{ key?: string, body?: unknown }} [more]
   * @returns {Promise<Record<string, unknown> | null>} null: no answer, or a refusal; it is asked again
   */
  async #call(method, route, { key, body } = {}) {
    const signal = AbortSignal.timeout(3_000);
    try {
      if (this.#token === '') this.#token = await this.#login(signal);
      const headers = {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': 'application/json', prefer: 'respond-async' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      };
      const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) };
      const response = await fetch(`${this.demo.gateway_url}${route}`, init);
      if (response.status === 401) this.#token = '';
      const answer = await response.json();
      return response.ok ? answer : null;
    } catch {
      return null;
    }
  }

  /** @param {AbortSignal} signal */
  async #login(signal) {
    const { token_url, client_id, client_secret } = this.demo;
    const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const response = await fetch(token_url, { method: 'POST', headers: { authorization }, body, signal });
    const { access_token: token } = await response.json();
    return typeof token === 'string' ? token : '';
  }
}

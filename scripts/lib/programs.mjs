import path from 'node:path';

import { portOf, ROOT } from './paths.mjs';

/**
 * @typedef {{
 *   name: string, title: string, main: string, portName: string, defaultPort: number, probe: string | null,
 *   needsDatabase: boolean,
 * }} Program `probe`: the path that answers 200 when the program works; null: it is ready when its port is open
 */

/** @type {Record<'gateway' | 'relay' | 'register' | 'ofd' | 'payments', Program>} */
export const PROGRAMS = {
  ofd: program('ofd', 'OFD simulator', 'ofd-simulator/src/main.js', ['OFD_PORT', 8756]),
  payments: program('payments-sim', 'payments simulator', 'payments-simulator/src/main.js', [
    'PAYMENTS_SIM_PORT',
    8757,
  ]),
  register: program('register', 'cash register', 'cash-register/src/main.js', ['REGISTER_PORT', 8765]),
  gateway: {
    ...program('gateway', 'gateway', 'gateway/src/main.js', ['GATEWAY_PORT', 8080]),
    probe: '/readyz',
    needsDatabase: true,
  },
  relay: {
    ...program('relay', 'device relay', 'device-relay/src/main.js', ['RELAY_PORT', 8081]),
    probe: '/readyz',
    needsDatabase: true,
  },
};

/** Not part of `npm start`: it stands beside a register in a shop. Ready when it runs, whether its relay is there or not. */
export const AGENT = {
  ...program('agent', 'link agent', 'link-agent/src/main.js', ['AGENT_PORT', 8766]),
  probe: '/healthz',
};

/**
 * @param {string} name
 * @param {string} title
 * @param {string} main below dist/apps
 * @param {[string, number]} port
 * @returns {Program}
 */
function program(name, title, main, [portName, defaultPort]) {
  const file = path.join(ROOT, 'dist', 'apps', main);
  return { name, title, main: file, portName, defaultPort, probe: null, needsDatabase: false };
}

/**
 * @param {Program} program
 * @param {NodeJS.ProcessEnv} env
 */
export function baseUrlOf({ portName, defaultPort }, env) {
  return `http://127.0.0.1:${portOf(env, portName, defaultPort)}`;
}

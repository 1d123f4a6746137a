import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { GatewayClient } from '../../system/gateway-client.js';
import { Program } from '../../system/program.js';
import { skipped, type CaseRun, type FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { judge } from '../frame/truth.js';

const LIBRARIES = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`);
/** Ten minutes forward, ten back, right again. */
const JUMPS_S = [600, -600, 0];

export const clockJumps: FaultCase = {
  number: '14',
  name: 'clock of a gateway and a relay jumps ±10 minutes',
  stage: 'fleet',
  full: { receipts: 2_000, strikes: 12 },
  tenth: { receipts: 200, strikes: 2 },
  quick: { receipts: 100, strikes: 2 },
  maxSeconds: 300,
  run: (run) => {
    const library = LIBRARIES.find((path) => existsSync(path));
    return library ? jumpClocks(run, library) : Promise.resolve(skipped('libfaketime is not installed'));
  },
};

/** One more gateway and relay whose clock is moved under them, beside relays whose clock is right. */
async function jumpClocks({ stage, size, chance, prefix }: CaseRun, library: string): ReturnType<FaultCase['run']> {
  const { system } = stage;
  const clock = join(system.folder, 'clock');
  const setClock = (seconds: number): void => {
    writeFileSync(`${clock}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    renameSync(`${clock}.new`, clock);
  };
  setClock(0);
  const port = await freePorts(2);
  const env = {
    ...system.programEnv,
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  const [url, relayUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const gateway = new Program(
    'gateway-clock',
    'gateway/src/main.js',
    { ...env, GATEWAY_PORT: String(port) },
    `${url}/readyz`,
  );
  const relay = new Program(
    'relay-clock',
    'device-relay/src/main.js',
    { ...env, RELAY_URL: relayUrl, RELAY_PORT: String(port + 1) },
    `${relayUrl}/readyz`,
  );
  try {
    await Promise.all([gateway.start(), relay.start()]);
    const client = new GatewayClient([url], system.merchant);
    const load = new Load(client, { prefix, chance, total: size.receipts, waitS: 10 });
    const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, (nth) => {
      setClock(JUMPS_S[nth % JUMPS_S.length] ?? 0);
      return Promise.resolve();
    });
    const sold = await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    const setbacks = new Set(sold.flatMap((one) => one.setbacks));
    // A token may seem expired to a clock that has run away; the client fetches another one.
    setbacks.delete('401 invalid_token');
    if (setbacks.size > 0) verdict.failures.push(`failed calls: ${[...setbacks].join(', ')}`);
    const unregistered = sold.filter(({ prefer, answer }) => prefer !== 'respond-async' && answer.status !== 201);
    if (unregistered.length > 0) verdict.failures.push(`${unregistered.length} waited 10 s in vain`);
    return { ...verdict, kills: 0, figures: [`${kills} jumps`] };
  } finally {
    await Promise.all([gateway.end(), relay.end()]);
  }
}

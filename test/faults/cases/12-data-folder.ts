import { cpSync, renameSync, rmSync } from 'node:fs';
import { LocalApiClient } from '#local-api';
import { sql } from '../../system/database.js';
import { startMoreRegisters, type MoreRegisters } from '../../system/more-registers.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { CaseRun, FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { IMPATIENT } from '../frame/stage.js';
import { judge, type Verdict } from '../frame/truth.js';

const SCOPES = ['receipts:write', 'receipts:read', 'operator:resolve'];
/** Stand in the lane behind the one that is under way. */
const WAITING = 3;

export const dataFolder: FaultCase = {
  number: '12',
  name: "a register's data folder put back from an older copy, and cleared",
  stage: 'fleet',
  full: { receipts: 400, strikes: 5 },
  tenth: { receipts: 80, strikes: 1 },
  quick: { receipts: 40, strikes: 1 },
  mayPark: true,
  maxSeconds: 600,
  async run(run) {
    const verdicts: Verdict[] = [];
    for (let round = 0; round < run.size.strikes; round += 1) {
      verdicts.push(await onRegister(run, `${run.prefix}-r${round}`, putBackOlder));
      verdicts.push(await onRegister(run, `${run.prefix}-c${round}`, clear));
    }
    const sum = (key: 'receipts' | 'lost' | 'doubled' | 'wrongOrder' | 'parked'): number =>
      verdicts.reduce((total, verdict) => total + verdict[key], 0);
    return {
      ...{ receipts: sum('receipts'), lost: sum('lost'), doubled: sum('doubled'), wrongOrder: sum('wrongOrder') },
      ...{ parked: sum('parked'), failures: verdicts.flatMap(({ failures }) => failures) },
      kills: verdicts.length,
      figures: ['the lane stopped each time until an operator adopted the register'],
    };
  },
};

interface Work {
  run: CaseRun;
  more: MoreRegisters;
  prefix: string;
  /** Sells `count` and waits for each. */
  sell: (count: number) => Promise<Load>;
}

async function onRegister(run: CaseRun, prefix: string, breakIt: (work: Work) => Promise<Verdict>): Promise<Verdict> {
  const { system } = run.stage;
  const more = await startMoreRegisters(system, { profile: IMPATIENT, scopes: SCOPES });
  let loads = 0;
  const sell = async (count: number): Promise<Load> => {
    loads += 1;
    const load = new Load(more.client, {
      ...{ prefix: `${prefix}-${loads}`, chance: run.chance, total: count, perTill: 1, asyncShare: 0, breathMs: 0 },
    });
    await load.end();
    return load;
  };
  try {
    return await breakIt({ run, more, prefix, sell });
  } finally {
    await more.program.end();
  }
}

/** The copy is older than the last sales, one of which was under way: the register has forgotten them, the gateway not. */
async function putBackOlder({ run, more, prefix, sell }: Work): Promise<Verdict> {
  const { system } = run.stage;
  const { program, folder } = more;
  const half = Math.floor(run.size.receipts / run.size.strikes / 4);
  const loads = [await sell(half)];
  await program.end();
  cpSync(folder, `${folder}.older`, { recursive: true });
  await program.start();
  loads.push(await sell(half));
  loads.push(await leaveUnderWay(run, more, prefix));
  await program.end('SIGKILL');
  renameSync(folder, `${folder}.newer`);
  renameSync(`${folder}.older`, folder);
  await program.start();
  await expectReplaced(system, more);
  const failures = await sequenceOf(system, more).then((held) =>
    held === half ? [] : [`the register in its older state was sent ${held - half} receipts`],
  );
  // As the runbook says: the newer data come back, the attempt is parked with its evidence, the register is adopted.
  await program.end();
  rmSync(folder, { recursive: true });
  renameSync(`${folder}.newer`, folder);
  await program.start();
  await parkOpenAttempt(system, more);
  await adopt(more);
  const verdict = await judge(system, loads, { prefix, tills: more.merchant.tills });
  return { ...verdict, failures: [...verdict.failures, ...failures] };
}

/** Another terminal and another journal stand there now. */
async function clear({ run, more, prefix, sell }: Work): Promise<Verdict> {
  const { system } = run.stage;
  const loads = [await sell(Math.floor(run.size.receipts / run.size.strikes / 2))];
  await more.program.end('SIGKILL');
  rmSync(more.folder, { recursive: true });
  const waiting = new Load(more.client, {
    ...{ prefix: `${prefix}-w`, chance: run.chance, total: WAITING, perTill: 1, asyncShare: 1 },
  });
  await waiting.end();
  await more.program.start();
  await expectReplaced(system, more);
  const held = await sequenceOf(system, more);
  await adopt(more);
  // The cleared journal cannot be asked any more: here the OFD is the judge.
  const verdict = await judge(system, [...loads, waiting], { prefix, tills: more.merchant.tills, hasJournal: false });
  if (held > 0) verdict.failures.push('the cleared register was sold to before an operator adopted it');
  return verdict;
}

/** One that the register has and never answered, and some that wait behind it. */
async function leaveUnderWay(
  { stage: { system }, chance }: CaseRun,
  more: MoreRegisters,
  prefix: string,
): Promise<Load> {
  await fetch(`${more.merchant.tills[0]?.registerUrl}/emulator/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': system.registerApiKey },
    body: JSON.stringify({ rules: [{ fault: 'late_answer', next: 1, delay_ms: 60_000 }] }),
  }).then((response) => response.arrayBuffer());
  const load = new Load(more.client, {
    ...{ prefix: `${prefix}-u`, chance, total: 1 + WAITING, perTill: 1, asyncShare: 1, breathMs: 0 },
  });
  await load.end();
  await until('an attempt is open', () => openAttempt(system, more), Boolean);
  return load;
}

async function openAttempt(system: TestSystem, { merchant }: MoreRegisters): Promise<string | null> {
  const rows = await sql<{ id: string }>(
    system.database,
    "SELECT id FROM attempts WHERE state = 'open' AND device_id = $1",
    [merchant.tills[0]?.deviceId],
  );
  return rows[0]?.id ?? null;
}

async function expectReplaced(system: TestSystem, { merchant }: MoreRegisters): Promise<void> {
  await until(
    'the device is replaced',
    () =>
      sql<{ state: string }>(system.database, 'SELECT state::text FROM devices WHERE id = $1', [
        merchant.tills[0]?.deviceId,
      ]),
    ([device]) => device?.state === 'replaced',
  );
}

async function sequenceOf(system: TestSystem, { merchant }: MoreRegisters): Promise<number> {
  const baseUrl = merchant.tills[0]?.registerUrl ?? '';
  const register = new LocalApiClient({ baseUrl, apiKey: system.registerApiKey, timeoutMs: 10_000 });
  try {
    const info = await register.fmInfo();
    if (info.kind !== 'ok') throw new Error(`GET /fm/info: ${info.kind}`);
    return info.value.currentReceiptSeq;
  } finally {
    register.close();
  }
}

async function parkOpenAttempt(system: TestSystem, more: MoreRegisters): Promise<void> {
  const id = await openAttempt(system, more);
  if (id) await operate(more, `/v1/operator/attempts/${id}/park`);
}

function adopt(more: MoreRegisters): Promise<void> {
  return operate(more, `/v1/operator/devices/${more.merchant.tills[0]?.deviceId}/adopt`);
}

async function operate({ client }: MoreRegisters, path: string): Promise<void> {
  const { status, body } = await client.post(path, { reason: 'fault test: checked at the register' });
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${body.code} ${body.detail}`);
}

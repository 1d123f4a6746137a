import type { Command } from 'commander';
import type { Schema } from '#sdk';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Column } from '../output/table.js';
import { inSession, type Session, type World } from '../session.js';

type Device = Schema<'DeviceView'>;

/** A list of registers has an end that people can read. */
const MOST = 10_000;

const COLUMNS: readonly Column<Device>[] = [
  { title: 'REGISTER', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: ({ state }) => state },
  { title: 'WAITING', of: ({ lane }) => lane.waiting, isNumber: true },
  { title: 'TERMINAL', of: ({ terminal_id: terminal }) => terminal },
  { title: 'SEEN', of: ({ last_seen_at: at }) => at?.slice(0, 19) },
  { title: 'WHY', of: ({ state_reason: reason }) => reason },
];

const CHANGES = {
  drain: 'give it no new receipts; what waits goes out',
  resume: 'give a drained register receipts again',
  disable: 'stop its lane where it is',
  enable: 'let its lane go on',
} as const;

type Change = keyof typeof CHANGES;

export function addDevices(program: Command, world: World): void {
  const devices = program.command('devices').description('the cash registers (scope devices:admin)');
  devices
    .command('list')
    .description('all registers')
    .option('--state <state>', 'online, degraded, unreachable, blocked, expired, replaced, disabled')
    .action(inSession<[{ state?: string }]>(world, list));
  devices
    .command('get')
    .argument('<id>')
    .description('one register: state, lane, what runs out')
    .action(inSession<[string]>(world, get));
  devices
    .command('check')
    .argument('<id>')
    .description('ask the register now how it is')
    .action(inSession<[string]>(world, check));
  for (const [name, description] of Object.entries(CHANGES)) {
    devices
      .command(name)
      .argument('<id>')
      .description(description)
      .action(inSession<[string]>(world, (session, id) => change(session, name as Change, id)));
  }
}

async function list(session: Session, { state }: { state?: string }): Promise<ExitCode> {
  const fgw = await session.client();
  const filters = { state: state as never, limit: 100 };
  const found = await fgw.devices.list(filters, { signal: session.stopping }).toArray({ limit: MOST });
  session.output.table(COLUMNS, found);
  return EXIT.done;
}

async function get(session: Session, id: string): Promise<ExitCode> {
  const fgw = await session.client();
  return show(session, await fgw.devices.get(id, { signal: session.stopping }));
}

async function check(session: Session, id: string): Promise<ExitCode> {
  const fgw = await session.client();
  const call = { signal: session.stopping };
  const { state } = await fgw.devices.check(id, call);
  if (state === 'pending') session.output.note('The register has not answered yet; what is shown is older.');
  return show(session, await fgw.devices.get(id, call));
}

async function change(session: Session, name: Change, id: string): Promise<ExitCode> {
  const fgw = await session.client();
  return show(session, await fgw.devices[name](id, { signal: session.stopping }));
}

function show({ output }: Session, device: Device): ExitCode {
  const { lane, countdowns } = device;
  const { subscription, memory, fuse, shift } = countdowns;
  output.record(device, [
    ['register', device.id],
    ['name', device.name],
    ['state', device.state],
    ['why', device.state_reason],
    ['terminal', device.terminal_id],
    ['address', device.base_url],
    ['last seen', device.last_seen_at],
    ['draining since', device.draining_since],
    ['waiting', lane.waiting],
    ['works again at', lane.due_at],
    ['because of', lane.due_reason],
    ['shift', shift === null ? null : `${shift.number}, ${shift.documents_left} documents left`],
    ['memory', memory === null ? null : `${memory.receipts_left} of ${memory.receipts_max} receipts left`],
    ['subscription', subscription?.expires_at],
    ['unsent until', fuse?.deadline_at],
  ]);
  return EXIT.done;
}

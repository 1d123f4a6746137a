import type { Command } from 'commander';
import type { FiscalEvent } from '#sdk';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { plain } from '../output/table.js';
import { inSession, type Session, type World } from '../session.js';

interface TailOptions {
  events?: string;
  fromStart?: boolean;
  cursor?: string;
  once?: boolean;
}

/** How often a feed with nothing new is asked. */
export const IDLE_MS = 1_000;

/** A command that shows events as they happen. @param types those that are shown unless `--events` says others */
export function addTail(parent: Command, world: World, about: { description: string; types: string | null }): void {
  parent
    .command('tail')
    .description(about.description)
    .option('--events <types>', 'receipt.registered,refund.* …', about.types ?? undefined)
    .option('--from-start', 'begin with the first event there is; otherwise only what comes')
    .option('--cursor <cursor>', 'begin after this place of the feed')
    .option('--once', 'show what there is and stop')
    .action(inSession<[TailOptions]>(world, tail));
}

async function tail(session: Session, { events, fromStart, cursor, once }: TailOptions): Promise<ExitCode> {
  const fgw = await session.patientClient();
  const options = { signal: session.stopping };
  const types = typesOf(events);
  const isAll = fromStart === true || once === true;
  const begin = cursor ?? (isAll ? null : await fgw.events.end(options));
  const filters = { ...(types && { types }), cursor: begin };
  if (once === true) {
    for await (const event of fgw.events.list(filters, options)) show(session, event);
    return EXIT.done;
  }
  if (session.world.isTerminal) session.output.note('Waiting for events; Ctrl-C ends it.');
  for await (const event of fgw.events.follow(filters, { ...options, idleMs: IDLE_MS })) show(session, event);
  return EXIT.done;
}

export function typesOf(events: string | undefined): string[] | null {
  const types = events?.split(',').map((type) => type.trim());
  return types === undefined || types.includes('*') ? null : types;
}

function show({ output }: Session, event: FiscalEvent): void {
  if (output.isJson) return output.json(event);
  const facts = Object.entries(event.data).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  const shown = facts.map(([name, value]) => plain(`${name}=${String(value)}`)).join(' ');
  output.line(`${output.paint('dim', event.timestamp)}  ${event.type.padEnd(24)}  ${shown}`);
}

import type { Command } from 'commander';
import { ProblemError, type FiscalEvent, type FiscalGateway } from '#sdk';
import { isReadableOnTheWay } from '../addresses.js';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { forwardEvent, type Receiver, type Try } from '../listen/forward-event.js';
import { ListenPlace, listenSecret, type Place } from '../listen/listen-place.js';
import { inSession, type Session, type World } from '../session.js';
import { IDLE_MS, typesOf } from './tail.js';

interface ListenOptions {
  forwardTo?: string;
  events: string;
  fromNow?: boolean;
  fromStart?: boolean;
  printSecret?: boolean;
}

export function addListen(program: Command, world: World): void {
  program
    .command('listen')
    .description('bring the events to a receiver on this machine, signed as production signs them')
    .option('--forward-to <address>', 'http://localhost:3000/hook')
    .option('--events <types>', 'receipt.registered,refund.* …', '*')
    .option('--from-now', 'leave out what has happened since this receiver was last listened for')
    .option('--from-start', 'begin with the first event there is')
    .option('--print-secret', 'show the secret that signs, and stop')
    .addHelpText('after', '\nIt reads the feed of events: the gateway need not be able to reach this machine.')
    .action(inSession<[ListenOptions]>(world, listen));
}

async function listen(session: Session, options: ListenOptions): Promise<ExitCode> {
  const { output, world } = session;
  const profile = await session.profile();
  const { configFile } = world.environment;
  if (options.printSecret === true) {
    const { secret } = await listenSecret(configFile, profile);
    if (output.isJson) output.json({ secret });
    else output.line(secret);
    return EXIT.done;
  }
  const url = addressOf(options.forwardTo);
  const { merchant_id: merchantId } = profile.session ?? {};
  // A person with several merchants reads another feed for each.
  const feed = [profile.url, profile.client_id, ...(merchantId === undefined ? [] : [merchantId])];
  const names = [...feed, url, options.events];
  const kept = new ListenPlace(configFile, names);
  const fgw = await session.patientClient();
  if (isReadableOnTheWay(url)) {
    output.note(
      output.paint('yellow', `${url} is http to another machine: the events can be read on the way. Use https.`),
    );
  }
  const { secret, isNew } = await listenSecret(configFile, profile);
  if (isNew) output.note(`The secret of the receiver: ${secret} (\`fgw listen --print-secret\` shows it again)`);
  const place = await beginAt(fgw, kept, options, session.stopping);
  output.note(`Forwarding ${options.events} to ${url}; Ctrl-C ends it.`);
  const types = typesOf(options.events);
  try {
    await forwardAll(session, fgw, { types, kept, place, receiver: { url, secret } });
  } catch (error) {
    throw lostPlace(error) ?? error;
  }
  return EXIT.done;
}

interface Listening {
  types: string[] | null;
  kept: ListenPlace;
  place: Place;
  receiver: Receiver;
}

/** Ends only by the signal. */
async function forwardAll(session: Session, fgw: FiscalGateway, listening: Listening): Promise<void> {
  const { types, kept, receiver } = listening;
  let { place } = listening;
  const filters = { ...(types && { types }), cursor: place.cursor };
  for await (const page of fgw.events.followPages(filters, { signal: session.stopping, idleMs: IDLE_MS })) {
    for (const event of page.data) {
      if (place.done.includes(event.id)) continue;
      await forward(session, event, receiver);
      place = { ...place, done: [...place.done, event.id] };
      await kept.keep(place);
    }
    place = { cursor: page.next_cursor, done: [] };
    await kept.keep(place);
  }
}

async function forward(session: Session, event: FiscalEvent, receiver: Receiver): Promise<void> {
  const onTry = (one: Try): void => show(session, event, one);
  const isTaken = await forwardEvent(event, receiver, { signal: session.stopping, onTry });
  if (!isTaken) session.output.note(`  given up: ${event.id}; \`fgw events tail --once\` still lists it.`);
}

/** Where this receiver was left; the first time, what comes from now on. */
async function beginAt(
  fgw: FiscalGateway,
  kept: ListenPlace,
  { fromNow, fromStart }: ListenOptions,
  signal: AbortSignal,
): Promise<Place> {
  const before = fromNow === true || fromStart === true ? null : await kept.read();
  if (before !== null) return before;
  const place = { cursor: fromStart === true ? null : await fgw.events.end({ signal }), done: [] };
  await kept.keep(place);
  return place;
}

function show({ output }: Session, { id, type, timestamp }: FiscalEvent, one: Try): void {
  const { status, reason, durationMs, number } = one;
  if (output.isJson) return output.json({ event: id, type, try: number, status, reason, duration_ms: durationMs });
  const isTaken = status !== null && status >= 200 && status < 300;
  const answer = output.paint(isTaken ? 'green' : 'red', String(status ?? reason));
  output.line(`${output.paint('dim', timestamp)}  ${type.padEnd(24)}  ${id}  ${answer}  ${durationMs} ms`);
}

/** @throws CommandError */
function addressOf(given: string | undefined): string {
  if (given === undefined) throw new CommandError('--forward-to is missing: --forward-to http://localhost:3000/hook');
  const address = given.includes('://') ? given : `http://${given}`;
  if (!/^https?:/i.test(address) || !URL.canParse(address)) throw new CommandError(`${given} is no address.`);
  return new URL(address).href;
}

/** After an older database was put back the kept place may name nothing any more. */
function lostPlace(error: unknown): CommandError | null {
  if (!(error instanceof ProblemError) || !error.faults.some(({ pointer }) => pointer === '/cursor')) return null;
  return new CommandError('The place that was kept is not in the feed any more: use --from-now or --from-start.');
}

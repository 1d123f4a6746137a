import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { isReadableOnTheWay } from '../addresses.js';
import { checkAccess, checkRegisters, checkSignature, checkToken } from '../doctor/check-client.js';
import { checkGateway } from '../doctor/check-gateway.js';
import { fault, ok, warning, type Finding } from '../doctor/finding.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Colour } from '../output/colours.js';
import { plain } from '../output/table.js';
import { NoProfileError, type Profile } from '../profiles.js';
import { inSession, type Session, type World } from '../session.js';

const MARKS = {
  ok: ['green', '✔'],
  warning: ['yellow', '!'],
  fault: ['red', '✖'],
  skipped: ['dim', '–'],
} as const satisfies Record<Finding['state'], readonly [Colour, string]>;

export function addDoctor(program: Command, world: World): void {
  program
    .command('doctor')
    .description('find out why it does not work: network, clock, token, signature, registers; and what to do')
    .action(inSession<[object]>(world, doctor));
}

async function doctor(session: Session): Promise<ExitCode> {
  let isWell = true;
  for await (const finding of examine(session)) {
    show(session, finding);
    isWell &&= finding.state !== 'fault';
  }
  return isWell ? EXIT.done : EXIT.unhealthy;
}

/** Each check builds on the one before: after a fault the rest would only repeat it. */
async function* examine(session: Session): AsyncGenerator<Finding, void, undefined> {
  const { stopping: signal } = session;
  const found = await readProfile(session);
  yield found.finding;
  if (found.profile === null) return;
  if (!session.isInsecure && isReadableOnTheWay(found.profile.url)) {
    yield fault(
      'network',
      'the gateway is called by http',
      'Secret and token can be read on the way: use https, or --insecure.',
    );
    return;
  }
  const { findings, isReachable } = await checkGateway(found.profile.url, signal);
  yield* findings;
  if (!isReachable) return;
  const fgw = await session.client();
  const { finding, scopes } = await checkToken(fgw);
  yield finding;
  if (scopes === null) return;
  yield await checkAccess(fgw, scopes, signal);
  yield await checkSignature(fgw, { scopes, hasKey: found.profile.key_id !== undefined, signal });
  yield* await checkRegisters(fgw, scopes, signal);
}

async function readProfile(session: Session): Promise<{ finding: Finding; profile: Profile | null }> {
  try {
    const profile = await session.profile();
    if (!/^https?:\/\//.test(profile.url)) {
      return {
        finding: fault('profile', `${profile.url} is no address`, 'It begins with https://: `fgw login`.'),
        profile: null,
      };
    }
    return { finding: (await checkFile(session)) ?? ok('profile', `${profile.client_id} at ${profile.url}`), profile };
  } catch (error) {
    if (!(error instanceof NoProfileError)) throw error;
    return { finding: fault('profile', 'there is none', error.message), profile: null };
  }
}

/** The secret stands in it. */
async function checkFile({ profiles: { file } }: Session): Promise<Finding | null> {
  const mode = await stat(file).then(
    (found) => found.mode & 0o077,
    () => 0,
  );
  if (mode === 0 || process.platform === 'win32') return null;
  return warning('profile', `${file} can be read by others`, `Renew the secret; then chmod 600 ${file}.`);
}

function show({ output }: Session, finding: Finding): void {
  if (output.isJson) return output.json(finding);
  const [colour, mark] = MARKS[finding.state];
  output.line(`${output.paint(colour, mark)} ${finding.check.padEnd(9)}  ${plain(finding.found)}`);
  if (finding.todo !== null) output.line(`  ${' '.repeat(9)}  → ${plain(finding.todo)}`);
}

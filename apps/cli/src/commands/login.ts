import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { FiscalGateway } from '#sdk';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { isSameOrigin } from '../addresses.js';
import { clientOptionsOf, foreignOrigin, type Profile } from '../profiles.js';
import { readInput, readJsonInput } from '../read-input.js';
import { loginInBrowser, endSession, type BrowserLoginOptions } from '../browser/login-in-browser.js';
import { inSession, type Session, type World } from '../session.js';

interface LoginOptions extends BrowserLoginOptions {
  browser?: boolean;
  clientId?: string;
  secretStdin?: boolean;
  from?: string;
  keyId?: string;
  signingKeyFile?: string;
}

export function addLogin(program: Command, world: World): void {
  program
    .command('login')
    .description('keep the address of a gateway, and the credentials of a client or the session of a person')
    .option('--browser', 'a person logs in: the console asks in a browser on this machine')
    .option('--merchant <code>', 'with --browser: the merchant to act for, where the person has several')
    .option('--no-open', 'with --browser: print the link, open no browser')
    .option('--client-id <id>', 'cli_…')
    .option('--secret-stdin', 'read the secret from standard input; otherwise it is asked for')
    .option('--from <file>', 'take address and client from a file as `npm start` writes it: .data/demo.json')
    .option('--key-id <id>', 'key_…, for clients that must sign')
    .option('--signing-key-file <path>', 'its private key, PKCS #8 in PEM; it stays where it is')
    .addHelpText(
      'after',
      '\nWithout --browser a client logs in (OAuth 2.0 client credentials). For programs make one in the console (Access).',
    )
    .action(inSession<[LoginOptions]>(world, login));
  program
    .command('logout')
    .description('forget the credentials of the profile')
    .action(inSession<[object]>(world, logout));
}

async function login(session: Session, options: LoginOptions): Promise<ExitCode> {
  if (options.browser === true) return loginInBrowser(session, await gatewayOf(session), options);
  const profile = { ...(await given(session, options)), ...keyOf(options) };
  // Nothing is kept that does not work.
  const { scopes = [] } = await new FiscalGateway(await clientOptionsOf(profile, session)).accessToken();
  await session.profiles.keep(session.profileName, profile);
  const { url, client_id: clientId } = profile;
  session.output.record({ profile: session.profileName, url, client_id: clientId, scopes }, [
    ['profile', session.profileName],
    ['gateway', url],
    ['client', clientId],
    ['scopes', scopes.join(' ')],
    ['kept in', session.profiles.file],
  ]);
  return EXIT.done;
}

async function logout(session: Session): Promise<ExitCode> {
  const kept = await session.profiles.find(session.profileName);
  if (kept?.session !== undefined && !(await endSession(kept, session)))
    session.output.note('The gateway did not answer: end the session in the console (My account).');
  const wasThere = await session.profiles.remove(session.profileName);
  session.output.note(wasThere ? `Forgot ${session.profileName}.` : `There is no profile ${session.profileName}.`);
  return EXIT.done;
}

function gatewayOf({ globals, world }: Session): Promise<string> {
  const url = globals.url ?? world.environment.url;
  return url === null ? ask(world, 'Gateway: ') : Promise.resolve(url);
}

/** From the file, the command line, the environment, or the person at the terminal. */
async function given(session: Session, options: LoginOptions): Promise<Profile> {
  const { world, globals } = session;
  const { environment } = world;
  const file = options.from === undefined ? {} : await readJsonInput(options.from, world.stdin);
  const fromFile = (name: string): string | null => (typeof file[name] === 'string' ? file[name] : null);
  const url = globals.url ?? environment.url ?? fromFile('gateway_url') ?? (await ask(world, 'Gateway: '));
  const own = fromFile('gateway_url');
  const isGiven =
    (options.clientId ?? environment.clientId) !== null && (options.secretStdin ?? environment.clientSecret !== null);
  if (own !== null && !isGiven && !isSameOrigin(url, own)) throw foreignOrigin(url, own);
  const clientId = options.clientId ?? environment.clientId ?? fromFile('client_id') ?? (await ask(world, 'Client: '));
  const secret =
    options.secretStdin === true
      ? (await readInput('-', world.stdin)).trim()
      : (environment.clientSecret ?? fromFile('client_secret') ?? (await ask(world, 'Secret: ', { isHidden: true })));
  return { url, client_id: clientId, client_secret: secret };
}

function keyOf({ keyId, signingKeyFile }: LoginOptions): Partial<Profile> {
  if (keyId === undefined && signingKeyFile === undefined) return {};
  if (keyId === undefined || signingKeyFile === undefined)
    throw new CommandError('--key-id and --signing-key-file belong together.');
  return { key_id: keyId, signing_key_file: signingKeyFile };
}

/** @throws CommandError when standard input is no terminal */
async function ask(world: World, question: string, { isHidden = false } = {}): Promise<string> {
  const { stdin, streams } = world;
  if (!stdin.isTTY) {
    throw new CommandError(`${question.replace(/: $/, '')} is missing: see \`fgw login --help\`.`);
  }
  // What is typed is echoed to nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: isHidden ? nowhere : streams.stderr, terminal: true });
  if (isHidden) streams.stderr.write(question);
  try {
    const answer = (await reader.question(isHidden ? '' : question, { signal: world.stopping })).trim();
    if (isHidden) streams.stderr.write('\n');
    return answer;
  } finally {
    reader.close();
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { VERSION } from '#sdk';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { plain } from '../output/table.js';
import { refuseReadable, type Profile } from '../profiles.js';
import type { Session } from '../session.js';
import { Loopback, type Brought } from './loopback.js';
import { openBrowser } from './open-browser.js';

export interface BrowserLoginOptions {
  merchant?: string;
  open?: boolean;
}

/** What `POST /auth/terminal/token` answers, as far as it is used. */
interface Answer {
  access_token: string;
  me: {
    user: { id: string; email: string };
    session: { expires_at: string };
    scopes: string[];
    memberships: { merchant: { id: string; code: string }; roles: string[] }[];
    platform_roles: string[];
  };
}

const WAIT_MS = 300_000;
const CALL_MS = 30_000;
/** So many characters of the challenge the console shows as well. */
const SHOWN = 6;

/** Authorization code with PKCE over the loopback address (RFC 8252): the person logs in and confirms in the console. */
export async function loginInBrowser(session: Session, url: string, options: BrowserLoginOptions): Promise<ExitCode> {
  refuseReadable(url, session.isInsecure);
  const base = url.replace(/(?<!\/)\/+$/, '');
  const verifier = randomBytes(32).toString('base64url');
  const brought = await confirmation(session, base, { verifier, isOpened: options.open !== false });
  if (brought === null) throw new CommandError('No confirmation came from the browser.', EXIT.denied);
  if (brought.kind === 'refused') throw new CommandError('The person in the browser has refused.', EXIT.denied);
  const answer = await call<Answer>(`${base}/auth/terminal/token`, { code: brought.code, code_verifier: verifier });
  const profile = profileOf(base, answer);
  const merchantId = merchantOf(answer, options.merchant ?? brought.merchant);
  if (merchantId === undefined && options.merchant !== undefined) {
    await endSession(profile, session);
    throw new CommandError(`${answer.me.user.email} has no merchant ${options.merchant}.`, EXIT.denied);
  }
  const { token, expires_at: until, scopes } = profile.session;
  const kept = { token, expires_at: until, scopes, ...(merchantId !== undefined && { merchant_id: merchantId }) };
  await session.profiles.keep(session.profileName, { ...profile, session: kept });
  report(session, answer, merchantId);
  return EXIT.done;
}

/** Ends the session at the gateway. @returns false: it did not answer */
export async function endSession({ url, session: kept }: Profile, session: Session): Promise<boolean> {
  refuseReadable(url, session.isInsecure);
  try {
    await call(`${url}/v1/session/logout`, {}, kept?.token);
    return true;
  } catch (error) {
    // Ended before: nothing is left to end.
    if (error instanceof CommandError) return error.exitCode === EXIT.denied;
    throw error;
  }
}

async function confirmation(
  session: Session,
  base: string,
  { verifier, isOpened }: { verifier: string; isOpened: boolean },
): Promise<Brought | null> {
  const state = randomBytes(24).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const loopback = new Loopback(state);
  const port = await loopback.listen();
  try {
    const query = new URLSearchParams({ code_challenge: challenge, state, port: String(port) });
    const link = `${base}/auth/terminal?${query.toString()}`;
    session.output.note(
      `Open this in a browser on this machine, and check that it shows ${challenge.slice(0, SHOWN)}:`,
    );
    session.output.note(link);
    if (isOpened) openBrowser(link);
    return await loopback.wait(AbortSignal.any([session.stopping, AbortSignal.timeout(WAIT_MS)]));
  } finally {
    loopback.close();
  }
}

/** By its code or id; what the person does not have is none. */
function merchantOf({ me }: Answer, wanted: string | null): string | undefined {
  const { memberships, platform_roles: platformRoles } = me;
  const [only, ...more] = memberships;
  if (wanted === null) return more.length === 0 && platformRoles.length === 0 ? only?.merchant.id : undefined;
  const own = memberships.find(({ merchant: { id, code } }) => id === wanted || code === wanted);
  return own?.merchant.id ?? (platformRoles.length > 0 && /^mer_[0-9a-z]{26}$/.test(wanted) ? wanted : undefined);
}

function profileOf(url: string, { access_token: token, me }: Answer): Required<Pick<Profile, 'session'>> & Profile {
  const { user, session, scopes } = me;
  return { url, client_id: user.id, session: { token, expires_at: session.expires_at, scopes } };
}

function report({ profileName, profiles, output }: Session, { me }: Answer, merchantId: string | undefined): void {
  const { user, memberships, platform_roles: platformRoles, session } = me;
  const at = memberships.find(({ merchant }) => merchant.id === merchantId);
  const roles = [...(at?.roles ?? []), ...platformRoles];
  const facts = { profile: profileName, user: user.email, merchant_id: merchantId ?? null, roles };
  output.record({ ...facts, expires_at: session.expires_at }, [
    ['profile', profileName],
    ['user', user.email],
    ['merchant', at?.merchant.code ?? merchantId ?? 'none: name one with --merchant'],
    ['roles', roles.join(' ')],
    ['until', session.expires_at],
    ['kept in', profiles.file],
  ]);
}

/** @throws CommandError with what the gateway says */
async function call<T>(url: string, body: object, token?: string): Promise<T> {
  const headers = {
    'content-type': 'application/json',
    'user-agent': `fgw/${VERSION} (${hostname()})`,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const response = await fetch(url, {
    ...{ method: 'POST', headers, body: JSON.stringify(body), redirect: 'error', signal: AbortSignal.timeout(CALL_MS) },
  }).catch((error: unknown) => {
    throw new CommandError(`The gateway does not answer: ${plain(String(error))}`, EXIT.noAnswer);
  });
  const answer = (await response.json().catch(() => ({}))) as T & { detail?: string };
  if (response.ok) return answer;
  const isLater = response.status === 429 || response.status >= 500;
  throw new CommandError(
    plain(answer.detail ?? `The gateway answers ${response.status}.`),
    isLater ? EXIT.noAnswer : EXIT.denied,
  );
}

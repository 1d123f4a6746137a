import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hostName, isLoopbackAddress, isLoopbackName } from './hosts.js';
import type { Screen } from './screen.js';
import type { Session } from './sessions.js';
import { isLanguage, preferredLanguage, sayer, type Language, type Say } from './words.js';

const LANGUAGE_COOKIE = 'register-language';
const YEAR_SECONDS = 365 * 24 * 60 * 60;

/** One request to the screen: who asks, in which language, and with which tokens the answer is made. */
export interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly language: Language;
  readonly say: Say;
  /** `null`: not logged in. */
  readonly session: Session | null;
  readonly sessionToken: string | null;
  /** Goes into every form; see {@link isOwnForm}. */
  readonly formToken: string;
  /** Allows this answer's own style and script, no others. */
  readonly nonce: string;
}

/** @param touch whether a person asked, not a page that refreshes itself */
export function openVisit(screen: Screen, request: FastifyRequest, reply: FastifyReply, touch: boolean): Visit {
  const language = languageOf(screen, request, reply);
  const sessionToken = readCookie(request, screen.sessionCookie);
  const session = screen.sessions.find(sessionToken, touch);
  return {
    ...{ request, reply, language, say: sayer(language), session, sessionToken },
    formToken: formTokenOf(screen, session ? (sessionToken ?? '') : visitorToken(screen, request, reply)),
    nonce: randomBytes(16).toString('base64'),
  };
}

/**
 * Whether a form was made by us for this very browser (against cross-site request forgery): it repeats what only our
 * page knows, a keyed digest of the visitor's own cookie. Where the browser sends the form's origin, it must be ours.
 */
export function isOwnForm(screen: Screen, { request }: Visit, form: URLSearchParams): boolean {
  const { origin, host } = request.headers;
  if (origin !== undefined && origin !== `http://${host ?? ''}` && origin !== `https://${host ?? ''}`) return false;
  const given = Buffer.from(form.get('form') ?? '');
  return [screen.sessionCookie, screen.visitorCookie].some((name) => {
    const token = readCookie(request, name);
    if (token === null) return false;
    const expected = Buffer.from(formTokenOf(screen, token));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** On this machine, asking by a name of this machine, through no proxy that admits to being one. */
export function isLocalVisitor({ request }: Visit): boolean {
  const { headers } = request;
  const proxied = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
  const name = hostName(headers.host);
  return !proxied && name !== null && isLoopbackName(name) && isLoopbackAddress(request.socket.remoteAddress);
}

export function setCookie(reply: FastifyReply, name: string, value: string): void {
  reply.header('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`);
}

export function dropCookie(reply: FastifyReply, name: string): void {
  reply.header('set-cookie', `${name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`);
}

/** Before the login there is no session to bind a form to: the visitor gets a cookie that says nothing else. */
function visitorToken(screen: Screen, request: FastifyRequest, reply: FastifyReply): string {
  const known = readCookie(request, screen.visitorCookie);
  if (known !== null) return known;
  const made = randomBytes(32).toString('base64url');
  setCookie(reply, screen.visitorCookie, made);
  return made;
}

function formTokenOf(screen: Screen, token: string): string {
  return createHmac('sha256', screen.formKey).update(token).digest('base64url');
}

function languageOf(screen: Screen, request: FastifyRequest, reply: FastifyReply): Language {
  const { lang } = request.query as { lang?: unknown };
  if (isLanguage(lang)) {
    const scope = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${String(YEAR_SECONDS)}`;
    reply.header('set-cookie', `${LANGUAGE_COOKIE}=${lang}; ${scope}`);
    return lang;
  }
  const chosen = readCookie(request, LANGUAGE_COOKIE);
  if (isLanguage(chosen)) return chosen;
  return preferredLanguage(request.headers['accept-language']) ?? screen.register.settings.RECEIPT_LANGUAGE;
}

/** Only values as we make them: 1 to 64 letters of base64url. */
function readCookie(request: FastifyRequest, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && /^[\w-]{1,64}$/.test(value ?? '')) return value ?? null;
  }
  return null;
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Register } from '../register.js';
import { ACTIONS, OPEN_ACTIONS } from './actions.js';
import type { Answer } from './answer.js';
import { isOwnHost } from './hosts.js';
import { frame } from './layout.js';
import type { Notice } from './notice.js';
import { entrancePage, errorPage } from './pages/entrance-pages.js';
import { homePage, livePart } from './pages/home-page.js';
import { localServerPage } from './pages/local-server-page.js';
import { journalFile, profilePage, receiptPage } from './pages/profile-page.js';
import { Screen } from './screen.js';
import { isOwnForm, openVisit, type Visit } from './visit.js';
import type { WordKey } from './words.js';

const FORM_LIMIT_BYTES = 8 * 1024;
const LIVE = '/screen/live';
const RECEIPT = /^\/screen\/receipts\/[1-9]\d{0,14}$/;
const PAGES: ReadonlyMap<string, typeof homePage> = new Map<string, typeof homePage>([
  ['/', homePage],
  [LIVE, livePart],
  ['/screen/profile', profilePage],
  ['/screen/local-server', localServerPage],
  ['/screen/journal.jsonl', journalFile],
]);

const SCREEN_ROUTES: ReadonlySet<string> = new Set(['/', '/screen/*']);

/**
 * A request that a session may open instead of the token: its route is one of the screen's, and its path is spelled plainly. The
 * route decides; the spelling can only take away.
 */
export function isScreenRequest({ is404, routeOptions, url }: FastifyRequest): boolean {
  return !is404 && SCREEN_ROUTES.has(routeOptions.url ?? '') && isScreenUrl(url);
}

/** With or without a query. */
function isScreenUrl(url: string): boolean {
  return url === '/' || url.startsWith('/?') || url.startsWith('/screen/');
}

/**
 * The register's screen beside its local API. Two routes with a table behind them, because an emulator has a thousand
 * registers; in a scope of their own, so that the API goes on taking JSON alone.
 */
export function addScreen(server: FastifyInstance, register: Register): void {
  const screen = new Screen(register);
  void server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_LIMIT_BYTES },
      (_request, body, ready) => ready(null, new URLSearchParams(body)),
    );
    scope.addHook('onRequest', (request, reply, next) => {
      if (isOwnHost(request.headers.host, register.settings.REGISTER_SCREEN_HOSTS)) next();
      else void refuse(screen, { request, reply, status: 403, key: 'foreign_host' });
    });
    scope.setErrorHandler((error, request, reply) => refuseError(screen, { error, request, reply }));
    const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      if (isScreenUrl(request.url)) return serve(screen, request, reply);
      // The router takes `//` for `/`; to the API it is an unknown call.
      reply.callNotFound();
      return reply;
    };
    scope.get('/', show);
    scope.get('/screen/*', show);
    scope.post('/screen/*', (request, reply) => act(screen, request, reply));
    done();
  });
}

async function serve(screen: Screen, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const path = pathOf(request);
  const visit = openVisit(screen, request, reply, path !== LIVE);
  if (!visit.session) {
    if (path === '/') return send(screen, visit, entrancePage(screen, visit));
    return send(screen, visit, path === LIVE ? { kind: 'status', status: 401 } : { kind: 'go', to: '/' });
  }
  const page = PAGES.get(path) ?? (RECEIPT.test(path) ? receiptPage : undefined);
  return send(screen, visit, (await page?.(screen, visit)) ?? errorPage(visit, 404, 'not_found'));
}

async function act(screen: Screen, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const visit = openVisit(screen, request, reply, true);
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
  if (!isOwnForm(screen, visit, form)) return send(screen, visit, errorPage(visit, 403, 'bad_form'));
  const path = pathOf(request);
  const open = OPEN_ACTIONS.get(path);
  const action = open ?? ACTIONS.get(path);
  if (!action) return send(screen, visit, errorPage(visit, 404, 'not_found'));
  // The session ended while the page was open: log in first.
  if (!open && !visit.session) return send(screen, visit, { kind: 'go', to: '/' });
  return send(screen, visit, await action(screen, visit, form));
}

function send(screen: Screen, visit: Visit, answer: Answer): FastifyReply {
  const { reply, nonce } = visit;
  reply.headers(safeHeaders(nonce));
  switch (answer.kind) {
    case 'page': {
      const page = frame({ screen, visit, title: answer.title, body: answer.body, notice: takeNotice(visit) });
      return reply
        .code(answer.status ?? 200)
        .type('text/html; charset=utf-8')
        .send(page);
    }
    case 'part':
      return reply.type('text/html; charset=utf-8').send(answer.body.text);
    case 'document':
      return reply.type('text/html; charset=utf-8').send(answer.html);
    case 'file':
      reply.header('content-disposition', `attachment; filename="${answer.name}"`);
      return reply.type(answer.mediaType).send(answer.content);
    case 'go':
      return reply.redirect(answer.to, 303);
    case 'status':
      return reply.code(answer.status).send();
  }
}

function takeNotice({ session }: Visit): Notice | null {
  if (!session) return null;
  const { notice } = session;
  session.notice = null;
  return notice;
}

/** Nothing from outside, nothing inline but ours, no framing, no copies in caches. */
function safeHeaders(nonce: string): Record<string, string> {
  const own = `'nonce-${nonce}'`;
  return {
    'Content-Security-Policy':
      `default-src 'none'; style-src ${own}; script-src ${own}; img-src data:; connect-src 'self'; ` +
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}

interface RefusedVisit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly status: number;
  readonly key: WordKey;
}

function refuse(screen: Screen, { request, reply, status, key }: RefusedVisit): FastifyReply {
  const visit = openVisit(screen, request, reply, false);
  // A request by a foreign host name is shown nothing of the register and no session of it.
  const stranger = { ...visit, session: null };
  return send(screen, stranger, errorPage(stranger, status, key));
}

interface FailedVisit {
  readonly error: unknown;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

function refuseError(screen: Screen, { error, request, reply }: FailedVisit): FastifyReply {
  const { statusCode } = error as { statusCode?: unknown };
  const isClients = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  if (isClients) return refuse(screen, { request, reply, status: statusCode, key: 'unreadable' });
  screen.register.logger.error({ err: error, method: request.method, path: pathOf(request) }, 'the screen failed');
  return refuse(screen, { request, reply, status: 500, key: 'internal' });
}

function pathOf(request: FastifyRequest): string {
  const [path = '/'] = request.url.split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

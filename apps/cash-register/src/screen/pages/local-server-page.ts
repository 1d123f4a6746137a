import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { markup, type Markup } from '#paper';
import { APP_VERSION } from '../../local-api/routes.js';
import type { Page } from '../answer.js';
import { isLoopbackName } from '../hosts.js';
import { asked, card, facts, form } from '../layout.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';

/** Profile → Local server of the specification: state, address and access token. */
export const localServerPage: Page = (screen, visit) => {
  const { say } = visit;
  const state = card(say('local_server'), markup`${serverState(screen, visit)}${addresses(screen, visit)}`);
  const token = card(say('token'), accessToken(screen, visit));
  return { kind: 'page', title: say('local_server'), body: markup`<div class="two">${state}${token}</div>` };
};

function serverState({ register }: Screen, { say }: Visit): Markup {
  const refusal = register.barred() ?? register.module.fault();
  const state = refusal
    ? markup`<span class="tag bad">${say('server_stopped')} (${refusal.code})</span>`
    : markup`<span class="tag good">${say('server_runs')}</span>`;
  return facts([
    [say('server_state'), state],
    [say('version'), APP_VERSION],
    [say('terminal'), register.module.info().terminalId],
  ]);
}

function addresses({ register }: Screen, { say, request }: Visit): Markup {
  const host = register.settings.REGISTER_HOST;
  const urls = reachableAt(host, request.headers.host ?? '', request.socket.localPort ?? 0);
  const hint = isLoopbackName(host) ? markup`<p class="hint">${say('address_local')}</p>` : null;
  const list = urls.map((url) => markup`<li><code>${url}</code></li>`);
  return markup`<h3>${say('address')}</h3><ul class="plain" id="addresses">${list}</ul>${hint}`;
}

/** First the address by which this page was reached: it works at least from here. */
function reachableAt(host: string, asked: string, port: number): string[] {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const outer = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address);
  const hosts = isEverywhere ? outer : [host];
  const url = (one: string): string => `http://${isIP(one) === 6 ? `[${one}]` : one}:${String(port)}`;
  return [...new Set([`http://${asked}`, ...hosts.map(url)])];
}

function accessToken({ register }: Screen, visit: Visit): Markup {
  const { say } = visit;
  const { value } = register.accessToken;
  const tick = markup`<label class="tick"><input type="checkbox" name="confirm" value="yes" required><span>${say('token_confirm')}</span></label>`;
  return markup`<p class="hint">${say('token_text')}</p>
<div class="token"><p class="mask"><code>••••••••••••${value.slice(-4)}</code></p><div class="row"><details id="shown"><summary class="button quiet">${say('show')}</summary><p><code id="token">${value}</code></p></details>
<button type="button" class="quiet needs-script" data-copy="token" data-copied="${say('copied')}">${say('copy')}</button></div></div>
${asked(say('token_renew'), '', form(visit, 'token/renew', say('token_renew'), tick))}`;
}

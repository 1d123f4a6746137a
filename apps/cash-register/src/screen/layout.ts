import { isTestModule, markup, trusted, type Markup } from '#paper';
import type { Notice } from './notice.js';
import type { Screen } from './screen.js';
import { SCRIPT } from './script.js';
import { STYLE } from './style.js';
import type { Visit } from './visit.js';
import { LANGUAGES, type Say } from './words.js';

export interface FramedPage {
  readonly screen: Screen;
  readonly visit: Visit;
  readonly title: string;
  readonly body: Markup;
  readonly notice: Notice | null;
}

/** A whole page around its body: banners, navigation, language. A stranger learns neither business nor terminal. */
export function frame({ screen, visit, title, body, notice }: FramedPage): string {
  const { say, language, nonce, session } = visit;
  const { faults, settings } = screen.register;
  const heading = session ? settings.REGISTER_BUSINESS_NAME : say('app');
  return markup`<!DOCTYPE html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"><style nonce="${nonce}">${trusted(STYLE)}</style></head><body>
${faults ? markup`<p class="banner emulator" role="alert">${say('emulator')}</p>` : null}
<header><a class="brand" href="/">${heading}</a>${session ? navigation(visit) : null}${languages(visit)}</header>
<main>${session ? testModule(screen, say) : null}${notice ? noticeLine(say, notice) : null}${body}</main>
<script nonce="${nonce}">${trusted(SCRIPT)}</script></body></html>`.text;
}

export function noticeLine(say: Say, { tone, key, values }: Notice): Markup {
  return markup`<p class="notice ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">${say(key, values)}</p>`;
}

export function card(title: string, body: Markup, kind = ''): Markup {
  return markup`<section class="card ${kind}"><h2>${title}</h2>${body}</section>`;
}

/** A list of names and values. */
export function facts(rows: readonly (readonly [string, string | Markup])[]): Markup {
  return markup`<dl>${rows.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A form that posts to an action of ours; `fields` come before its one button. */
export function form({ formToken }: Visit, path: string, button: string, fields: Markup | null = null): Markup {
  return markup`<form method="post" action="/screen/${path}" autocomplete="off">
<input type="hidden" name="form" value="${formToken}">${fields}<button>${button}</button></form>`;
}

/** Asks once more before what cannot be taken back; works without a script. */
export function asked(title: string, question: string, answer: Markup): Markup {
  return markup`<details class="asked"><summary class="button">${title}</summary>${question === '' ? null : markup`<p>${question}</p>`}${answer}</details>`;
}

function navigation(visit: Visit): Markup {
  const { say, request } = visit;
  const links = [
    ['/', say('till')],
    ['/screen/profile', say('profile')],
    ['/screen/local-server', say('local_server')],
  ] as const;
  const [path] = request.url.split('?', 1);
  const here = (href: string): Markup | null => (href === path ? markup` aria-current="page"` : null);
  return markup`<nav>${links.map(([href, text]) => markup`<a href="${href}"${here(href)}>${text}</a>`)}</nav>`;
}

function languages({ say, language, request }: Visit): Markup {
  const [path = '/'] = request.url.split('?', 1);
  // A form's answer has an address of its own that has no GET.
  const target = request.method === 'GET' ? path : '/';
  const link = (one: string): Markup => {
    const here = one === language ? markup` aria-current="true"` : null;
    return markup`<a href="${target}?lang=${one}" hreflang="${one}"${here}>${one.toUpperCase()}</a>`;
  };
  return markup`<div class="languages" role="group" aria-label="${say('language')}">${LANGUAGES.map(link)}</div>`;
}

function testModule({ register }: Screen, say: Say): Markup | null {
  if (!isTestModule(register.module.info().terminalId)) return null;
  return markup`<p class="notice test">${say('test_module')}</p>`;
}

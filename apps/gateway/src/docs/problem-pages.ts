import { problemKind } from '#http';
import { escapeHtml, markup, trusted, type Markup } from '#paper';
import { ADVICE, type AdviceAction, type ProblemCode } from '#problems';

/** The first words about each action; docs/errors.md says the same at length. */
const ACTIONS: Readonly<Record<AdviceAction, string>> = {
  repeat: 'Repeat the same request later, under the same Idempotency-Key.',
  renew: 'Renew token, signature or login, then send the same request under the same Idempotency-Key.',
  change: 'Change the request.',
  read: 'Read the present state before anything else.',
  ask: 'A person has to act first.',
};

/** What a code means and what its caller does: the page that `type` of a problem names. */
export function problemPage(code: ProblemCode): string {
  const { status, title, retryable, retryAfterSeconds, rule } = problemKind(code);
  const { action, means, then } = ADVICE[code];
  const after = retryAfterSeconds === undefined ? '' : `, after ${retryAfterSeconds} s unless Retry-After says otherwise`;
  return page(
    code,
    markup`<p><a href="/docs/problems">All problem codes</a></p>
<h1>${title}</h1>
<dl>
<dt>code</dt><dd><code>${code}</code></dd>
<dt>status</dt><dd>${status}</dd>
<dt>retryable</dt><dd>${retryable ? `true${after}` : 'false'}</dd>
${rule === undefined ? null : markup`<dt>rule</dt><dd><code>${rule}</code></dd>`}
</dl>
<h2>What it means</h2>
<p>${sentence(means)}</p>
<h2>What to do</h2>
<p><strong>${ACTIONS[action]}</strong> ${sentence(then)}</p>`,
  );
}

/** Every code with its advice. */
export function problemIndex(): string {
  const codes = Object.keys(ADVICE) as ProblemCode[];
  const rows = codes.map(
    (code) => markup`<tr><td><a href="/docs/problems/${code}"><code>${code}</code></a></td><td>${problemKind(code).status}</td>
<td>${problemKind(code).title}</td><td>${sentence(ADVICE[code].then)}</td></tr>
`,
  );
  return page(
    'Problem codes',
    markup`<h1>Problem codes</h1>
<p>A refusal names its code in <code>code</code>, and this page's address for it in <code>type</code>.</p>
<table><thead><tr><th>Code</th><th>Status</th><th>Meaning</th><th>What to do</th></tr></thead><tbody>
${rows}</tbody></table>`,
  );
}

/** The little Markdown of an advice: `code`, and links to pages of the guide. */
function sentence(text: string): Markup {
  return trusted(
    escapeHtml(text)
      .replace(/`([^`]+)`/g, '<code>$1</code>')
      .replace(/\[([^[\]]+)\]\(([\w-]+)\.md\)/g, '<a href="/docs/guide/$2">$1</a>'),
  );
}

function page(title: string, content: Markup): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Fiscal receipt gateway</title>
<link rel="stylesheet" href="/docs/docs.css">
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
</head>
<body class="text">
${DOCS_LINKS}
<main>
${content}
</main>
</body>
</html>
`.text;
}

/** The head of every page below /docs. */
export const DOCS_LINKS = trusted(
  '<nav class="docs-links"><a href="/docs">API</a> <a href="/docs/problems">Problem codes</a> <a href="/docs/guide/">Guide</a></nav>',
);

export const DOCS_STYLE = `.docs-links { padding: 0.75rem 1.25rem; font: 16px/1.5 system-ui, sans-serif; border-bottom: 1px solid #8884; }
.docs-links a { margin-right: 1.25rem; }
body.reference { margin: 0; --scalar-custom-header-height: 49px; }
body.reference .docs-links { position: sticky; top: 0; z-index: 10; box-sizing: border-box; height: 49px; color-scheme: light dark; background: Canvas; }
body.text { margin: 0; font: 16px/1.5 system-ui, sans-serif; color-scheme: light dark; }
body.text main { max-width: 72rem; margin: 0 auto; padding: 1rem 1.25rem 3rem; }
body.text dl { display: grid; grid-template-columns: max-content auto; gap: 0.25rem 1.25rem; }
body.text dd { margin: 0; }
body.text table { border-collapse: collapse; }
body.text th, body.text td { padding: 0.3rem 0.75rem 0.3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; }
`;

/** In place of the guide, in an installation that was built without it. */
export function guideMissingPage(): string {
  return page(
    'No guide',
    markup`<h1>This installation has no guide</h1>
<p>The gateway serves the guide when <code>dist/docs-site</code> exists. Build it in the gateway’s folder, then start the gateway anew:</p>
<pre><code>npm run docs</code></pre>
<p>The image of the container has it. The description of the API is at <a href="/docs">/docs</a>, the problem codes are at
<a href="/docs/problems">/docs/problems</a>.</p>`,
  );
}

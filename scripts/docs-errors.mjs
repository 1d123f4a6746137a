import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * node scripts/docs-errors.mjs writes docs/errors.md from the catalogue of problem codes; with --check it only compares.
 * @typedef {{ status: number, title: string, retryable: boolean, retryAfterSeconds?: number, rule?: string }} ProblemKind
 * @typedef {{ action: 'repeat' | 'renew' | 'change' | 'read' | 'ask', means: string, then: string }} Advice
 * @typedef {Record<string, ProblemKind>} Catalogue
 * @typedef {Readonly<Record<string, Advice>>} Advices
 */

const ROOT = path.join(import.meta.dirname, '..');
const PAGE = path.join(ROOT, 'docs', 'errors.md');
const PROBLEMS_LIBRARY = path.join(ROOT, 'dist', 'libs', 'problems', 'src', 'index.js');

const INTRODUCTION = `<!-- Generated from libs/problems/src (problem-codes.ts, advice) by scripts/docs-errors.mjs. Change those, not this page. -->
# Problem codes

Every refusal of the API below \`/v1\` is an RFC 9457 document (\`application/problem+json\`):

\`\`\`json
{
  "type": "/docs/problems/required",
  "title": "A required field is missing",
  "status": 422,
  "detail": "cashier_id is required",
  "code": "required",
  "retryable": false,
  "request_id": "…",
  "errors": [{ "pointer": "/cashier_id", "code": "required", "detail": "cashier_id is required" }]
}
\`\`\`

| Field | Meaning |
| --- | --- |
| \`code\` | For programs: only this is stable. With several faults it is the code of the first one. |
| \`detail\` | A sentence for people. It may change. |
| \`type\` | A page of the gateway about this one code; \`/docs/problems\` lists all. |
| \`errors\` | Every fault at once, at most a hundred. \`pointer\` is an RFC 6901 pointer into the body that you sent, counted from 0; \`""\` is the whole body. \`rule\` is the name of the rule in the specification of the local fiscal API. |
| \`retryable\` | Whether the same request can succeed later. If so, send it again with the same \`Idempotency-Key\`, after the seconds of the \`Retry-After\` header where there is one. |
| \`request_id\` | The same as the header \`X-Request-Id\`, which every answer carries; the gateway's log has it, too. |

**Was anything stored?** A sale that the gateway refused is not stored, and its key stays free. A sale that the *register* refused is stored as
\`rejected\`: its 422 has a \`Location\` header, and the corrected sale needs a new key.

The token endpoint answers in the form of RFC 6749 instead (\`{"error", "error_description"}\`). No endpoint answers some of these codes yet; they are reserved so that their
meaning never changes.

## What to do

In the tables below, "What to do" begins with one of these words.

| Word | What the caller does |
| --- | --- |
| **Repeat** | Send the same request later, with the same \`Idempotency-Key\`. Wait for the seconds of \`Retry-After\` (the table has the usual ones); let the pauses grow, and make them random. Exactly these codes are \`retryable\`. |
| **Renew** | Get a new token, signature or login. Then send the same request with the same \`Idempotency-Key\`. |
| **Change** | The request cannot succeed as it is: correct it. Its key is free, unless the answer has a \`Location\`: then use a new key. |
| **Read** | The state is not what the caller assumed. Read it before anything else; do not repeat. |
| **Ask** | A person has to act first. Keep the request and its key, and show the sentence to the person who can act. |
`;

/** @type {{ title: string, holds: (code: string, kind: ProblemKind) => boolean }[]} */
const SECTIONS = [
  { title: 'Rules of the cash register', holds: (code) => /^[EFS]-\d{3}$/.test(code) },
  { title: 'The request cannot be read (400)', holds: (_code, { status }) => status === 400 },
  { title: 'Who is calling (401, 403)', holds: (_code, { status }) => status === 401 || status === 403 },
  { title: 'The content cannot be used (422)', holds: (_code, { status }) => status === 422 },
  { title: 'Path, method, size and pace (other 4xx)', holds: (_code, { status }) => status < 500 },
  { title: 'On our side (5xx)', holds: () => true },
];

/** @type {Record<Advice['action'], string>} */
const WORDS = { repeat: 'Repeat', renew: 'Renew', change: 'Change', read: 'Read', ask: 'Ask' };

/**
 * The page as text; every code stands in the first section that fits it.
 * @param {Catalogue} catalogue
 * @param {Advices} advices
 * @returns {string}
 */
export function renderErrorsPage(catalogue, advices) {
  const faults = findAdviceFaults(catalogue, advices);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const left = new Map(Object.entries(catalogue).sort(([, a], [, b]) => a.status - b.status));
  const sections = SECTIONS.map(({ title, holds }) => {
    const entries = [...left].filter(([code, kind]) => holds(code, kind));
    for (const [code] of entries) left.delete(code);
    return entries.length === 0 ? '' : `\n## ${title}\n\n${renderTable(entries, advices)}\n`;
  });
  return `${INTRODUCTION}${sections.join('')}`;
}

/**
 * A code without advice, advice for no code, and advice to repeat what cannot succeed.
 * @param {Catalogue} catalogue
 * @param {Advices} advices
 * @returns {string[]}
 */
export function findAdviceFaults(catalogue, advices) {
  const ofCodes = Object.entries(catalogue).flatMap(([code, { retryable }]) => {
    const advice = advices[code];
    if (advice === undefined || advice.means === '' || advice.then === '') return [`${code} has no advice`];
    return (advice.action === 'repeat') === retryable
      ? []
      : [`${code} is ${retryable ? '' : 'not '}retryable, and its advice is ${advice.action}`];
  });
  const foreign = Object.keys(advices).filter((code) => !Object.hasOwn(catalogue, code));
  return [...ofCodes, ...foreign.map((code) => `${code} has advice and is no code`)];
}

/**
 * @param {[string, ProblemKind][]} entries
 * @param {Advices} advices
 */
function renderTable(entries, advices) {
  const rows = entries.map(([code, kind]) => {
    const { action, means, then } = /** @type {Advice} */ (advices[code]);
    const rule = kind.rule === undefined ? '' : ` (\`${kind.rule}\`)`;
    const what = `**${WORDS[action]}**${renderRetry(kind)}. ${then}`;
    return [`\`${code}\``, String(kind.status), `${kind.title}${rule}. ${means}`, what];
  });
  const head = ['Code', 'Status', 'Meaning', 'What to do'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** @param {ProblemKind} kind */
function renderRetry({ retryAfterSeconds }) {
  return retryAfterSeconds === undefined ? '' : ` after ${retryAfterSeconds} s`;
}

/** The built catalogue, as the programs read it. */
async function readLibrary() {
  const { prepareWorkspace } = await import('./lib/prepare.mjs');
  await prepareWorkspace();
  /** @type {{ PROBLEMS: Catalogue, ADVICE: Advices }} */
  const library = await import(pathToFileURL(PROBLEMS_LIBRARY).href);
  return library;
}

async function main() {
  const { UserError } = await import('./lib/user-error.mjs');
  const { PROBLEMS, ADVICE } = await readLibrary();
  const faults = findAdviceFaults(PROBLEMS, ADVICE);
  if (faults.length > 0) throw new UserError(`libs/problems/src/advice: ${faults.join('; ')}`);
  const page = renderErrorsPage(PROBLEMS, ADVICE);
  if (!process.argv.includes('--check')) {
    fs.writeFileSync(PAGE, page);
    return;
  }
  const written = fs.existsSync(PAGE) ? fs.readFileSync(PAGE, 'utf8') : '';
  if (written !== page)
    throw new UserError('docs/errors.md is not what the catalogue says: run node scripts/docs-errors.mjs');
}

if (process.argv[1] === import.meta.filename) {
  const { runProgram } = await import('./lib/user-error.mjs');
  await runProgram(main);
}

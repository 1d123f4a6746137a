import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * node scripts/docs-errors.mjs writes docs/errors.md from the catalogue of problem codes; with --check it only compares.
 * @typedef {{ status: number, title: string, retryable: boolean, retryAfterSeconds?: number, rule?: string }} ProblemKind
 * @typedef {Record<string, ProblemKind>} Catalogue
 */

const ROOT = path.join(import.meta.dirname, '..');
const PAGE = path.join(ROOT, 'docs', 'errors.md');
const CATALOGUE = path.join(ROOT, 'dist', 'libs', 'problems', 'src', 'problem-codes.js');

const INTRODUCTION = `<!-- Generated from libs/problems/src/problem-codes.ts by scripts/docs-errors.mjs. Change the catalogue, not this page. -->
# Problem codes

Every refusal of the API below \`/v1\` is an RFC 9457 document (\`application/problem+json\`):

\`\`\`json
{
  "type": "urn:fiscal-gateway:problem:required",
  "title": "A required field is missing",
  "status": 422,
  "detail": "cashier_id is required",
  "code": "required",
  "retryable": false,
  "request_id": "…",
  "errors": [{ "pointer": "/cashier_id", "code": "required", "detail": "cashier_id is required" }]
}
\`\`\`

- \`code\` is for programs, \`detail\` for people; only \`code\` is stable. With several faults it is the code of the first one.
- \`errors\` names every fault at once, the first hundred of them. \`pointer\` is an RFC 6901 pointer into the body you sent, counted from 0; \`""\` is the
  whole body. \`rule\` is the name of the rule in the specification of the local fiscal API.
- \`retryable\` says whether the same request can succeed later. Send it again with the same \`Idempotency-Key\`, after the
  seconds of the \`Retry-After\` header where there is one.
- Every answer carries \`X-Request-Id\`; the log has it as \`request_id\`.
- A receipt that the register refused is stored: its 422 has a \`Location\` header. One that the gateway refused is not
  stored, and its key stays free.
- The token endpoint answers in the form of RFC 6749 instead (\`{"error", "error_description"}\`).
- Some codes of this list have no endpoint yet that answers them; they are reserved so that their meaning never changes.
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

/**
 * The page as text; every code stands in the first section that fits it.
 * @param {Catalogue} catalogue
 * @returns {string}
 */
export function renderErrorsPage(catalogue) {
  const left = new Map(Object.entries(catalogue).sort(([, a], [, b]) => a.status - b.status));
  const sections = SECTIONS.map(({ title, holds }) => {
    const entries = [...left].filter(([code, kind]) => holds(code, kind));
    for (const [code] of entries) left.delete(code);
    return entries.length === 0 ? '' : `\n## ${title}\n\n${renderTable(entries)}\n`;
  });
  return `${INTRODUCTION}${sections.join('')}`;
}

/** @param {[string, ProblemKind][]} entries */
function renderTable(entries) {
  const hasRules = entries.some(([, { rule }]) => rule !== undefined);
  const head = ['Code', 'Status', 'Meaning', hasRules ? 'Rule' : 'Again later?'];
  const rows = entries.map(([code, kind]) => [
    `\`${code}\``,
    String(kind.status),
    kind.title,
    hasRules ? (kind.rule === undefined ? '' : `\`${kind.rule}\``) : renderRetry(kind),
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** @param {ProblemKind} kind */
function renderRetry({ retryable, retryAfterSeconds }) {
  if (!retryable) return 'no';
  return retryAfterSeconds === undefined ? 'yes' : `yes, after ${retryAfterSeconds} s`;
}

/** The built catalogue, as the programs read it. */
async function readCatalogue() {
  const { prepareWorkspace } = await import('./lib/prepare.mjs');
  await prepareWorkspace();
  const { PROBLEMS } = await import(pathToFileURL(CATALOGUE).href);
  return /** @type {Catalogue} */ (PROBLEMS);
}

async function main() {
  const { UserError } = await import('./lib/user-error.mjs');
  const page = renderErrorsPage(await readCatalogue());
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

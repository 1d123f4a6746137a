/**
 * ESLint rule `local/owned-tables`: the ledger's tables are written by their owner alone (docs/adr/0061-one-ledger.md). Everything else
 * calls a verb of the owner, so that each move is a pair of the table of moves and has its event.
 */

const LEDGER = /\/libs\/ledger\/src\//;
/** And what comes back from an archive, as it was. */
const PAYMENTS = /\/apps\/gateway\/src\/payments\/repository\/|\/libs\/ledger\/src\/archive\//;

/** Where each table may be written; events have one file of their own. */
const OWNERS = {
  receipts: LEDGER,
  attempts: LEDGER,
  attempt_claims: LEDGER,
  idempotency_claims: LEDGER,
  external_id_claims: LEDGER,
  registration_claims: LEDGER,
  lanes: LEDGER,
  events: /\/libs\/ledger\/src\/events\.ts$/,
  payments: PAYMENTS,
  payment_calls: PAYMENTS,
  payment_refunds: PAYMENTS,
};

const TABLES = Object.keys(OWNERS).join('|');
const WRITE = new RegExp(`\\b(?:INSERT\\s+INTO|UPDATE(?:\\s+ONLY)?|DELETE\\s+FROM)\\s+"?(${TABLES})\\b`, 'gi');
/** Prisma's models of these tables. */
const MODELS = {
  receipt: 'receipts',
  attempt: 'attempts',
  attemptClaim: 'attempt_claims',
  idempotencyClaim: 'idempotency_claims',
  externalIdClaim: 'external_id_claims',
  registrationClaim: 'registration_claims',
  lane: 'lanes',
  event: 'events',
  payment: 'payments',
  paymentCall: 'payment_calls',
  paymentRefund: 'payment_refunds',
};
const WRITING = /^(create|update|delete|upsert)/;

/** @type {import('eslint').Rule.RuleModule} */
export const ownedTables = {
  meta: { messages: { owned: '{{table}} is written by its owner alone: call a verb of {{owner}}.' } },
  create(context) {
    const file = context.filename.replaceAll('\\', '/');
    const report = (/** @type {import('estree').Node} */ node, /** @type {string} */ table) => {
      const owner = Object.entries(OWNERS).find(([name]) => name === table)?.[1];
      if (owner === undefined || owner.test(file)) return;
      const name = owner === PAYMENTS ? 'apps/gateway/src/payments/repository' : 'libs/ledger';
      context.report({ node, messageId: 'owned', data: { table, owner: name } });
    };
    const checkText = (/** @type {import('estree').Node} */ node, /** @type {string} */ text) => {
      for (const [, table] of text.matchAll(WRITE)) report(node, String(table).toLowerCase());
    };
    return {
      TemplateElement: (node) => checkText(node, node.value.raw),
      Literal: (node) => {
        if (typeof node.value === 'string') checkText(node, node.value);
      },
      CallExpression: ({ callee }) => {
        if (callee.type !== 'MemberExpression' || callee.object.type !== 'MemberExpression') return;
        const [verb, model] = [callee.property, callee.object.property];
        if (verb.type !== 'Identifier' || model.type !== 'Identifier' || !WRITING.test(verb.name)) return;
        const table = Object.entries(MODELS).find(([name]) => name === model.name)?.[1];
        if (table !== undefined) report(callee, table);
      },
    };
  },
};

import { ROOT } from './paths.mjs';

/**
 * ESLint rule `local/ledger-readers`: the tables of the ledger are read in `libs/ledger/src/reading`, in a repository of the reader's
 * own context (`….repository.ts`), or in one of the files below, each with what it needs of its own. A statement that two files want
 * belongs to the ledger (docs/adr/0061-one-ledger.md). The tables of payments are read within `apps/gateway/src/payments`.
 */

/** A page by its own filter and order, or a join with tables that the ledger does not know. */
export const LEDGER_READERS = /** @type {Readonly<Record<string, string>>} */ ({
  'apps/device-relay/src/copies/hold-after-restore.ts': 'the state of a restored copy, before any program has a pool',
  'apps/device-relay/src/copies/hold-receipts.ts': 'receipts to be held, on the connection that holds the copy',
  'apps/device-relay/src/emulated/emulated-store.ts':
    'the register of the sandbox: its receipt with what was forced on it',
  'apps/device-relay/src/events/renumber-events.ts': 'the last position, in the statement that plans the renumbering',
  'apps/device-relay/src/lanes/latency-minutes.ts':
    'the times of receipts that just settled, with the minutes that they are added to',
  'apps/device-relay/src/lanes/read-lanes.ts':
    'the relay’s reads of a lane: devices, places, and locks in one statement',
  'apps/gateway/src/fleet/onboarding/onboarding.ts': 'one fact of ten about a new merchant, in one statement',
  'apps/gateway/src/notify/events/event-reader.ts':
    'the feed of events by transaction and position: the reader of events',
  'apps/gateway/src/notify/timeline/read-timeline.ts': 'what belongs to a receipt, its refunds and its payment',
  'apps/gateway/src/notify/timeline/timeline-sources.ts': 'one union over the tables that a timeline is made of',
  'apps/gateway/src/notify/webhooks/merchants-with-news.ts':
    'the first event of each merchant behind its cursor, and those of new positions',
  'apps/gateway/src/notify/webhooks/plan-deliveries.ts':
    'events joined with endpoints and cursors, in the statement that makes deliveries',
  'apps/gateway/src/notify/webhooks/recover-deliveries.ts': 'events of deliveries that failed',
  'apps/gateway/src/notify/webhooks/replay-events.ts': 'a range of events, by time',
  'apps/gateway/src/notify/webhooks/webhook-history.ts': 'events of deliveries as the client reads them',
  'apps/gateway/src/operator/complete-fiscal.ts': 'the receipt under its lock, in the transaction of the decision',
  'apps/gateway/src/operator/list-unknown.ts':
    'the page of the operator: attempts with devices, lanes and the last good receipt',
  'apps/gateway/src/operator/lock-device.ts': 'the lane under its lock, in the transaction of the decision',
  'apps/gateway/src/operator/overview/receipt-sums.ts': 'sums of the overview, by its own windows',
  'apps/gateway/src/operator/restore/held-receipts.ts': 'held receipts with the checks after a restore',
  'apps/gateway/src/operator/restore/hold-lanes.ts': 'the same, by lane',
  'apps/gateway/src/operator/restore/nothing-lost.ts': 'the same, for the decision that nothing was lost',
  'apps/gateway/src/operator/restore/register-gaps.ts':
    'the numbers of receipts against those that registers count, register by register',
  'apps/gateway/src/payments/change-payment.ts': 'a payment with its receipt, under their locks',
  'apps/gateway/src/payments/emulated/emulated-provider.ts':
    'the provider of the sandbox: the payment with its receipt',
  'apps/gateway/src/payments/inbound/payme-groups.ts':
    'a group of calls in one statement (docs/adr/0039-grouped-provider-calls.md)',
  'apps/gateway/src/payments/pay-back-refund.ts': 'the money of a refund with the receipt that states it',
  'apps/gateway/src/payments/reconciliation.ts': 'payments that do not agree with their receipts, in one pass',
  'apps/gateway/src/payments/resolve-payment.ts': 'a payment with its receipt, under their locks',
  'apps/gateway/src/payments/search-payments.ts': 'the payment that a receipt names, in the page of the search',
  'apps/gateway/src/payments/several-receipts.ts': 'the further receipts of a payment, as a part of its statements',
  'apps/gateway/src/programs/cli/doctor/check-database.ts':
    'how many lanes there are, beside the settings of the server',
  'apps/gateway/src/receipts/documents/read-shown-receipt.ts':
    'what a receipt shows: the merchant, the place and the sale or its refunds',
  'apps/gateway/src/receipts/reports/reconciliation.ts': 'own sums of a shift against those of its Z report',
  'apps/gateway/src/receipts/reports/turnover.ts': 'sums by day and by rate, over the lines of documents',
  'apps/gateway/src/receipts/search/search-receipts.ts': 'the page of the search, by its filters and their indexes',
});

const LEDGER_TABLES = 'receipts|attempts|lanes|events';
const PAYMENT_TABLES = 'payments|payment_calls|payment_refunds';
const LEDGER_MODELS = /^(receipt|attempt|lane|event)$/;
const PAYMENT_MODELS = /^(payment|paymentCall|paymentRefund)$/;
const READING = /^(find|count|aggregate|groupBy)/;
const readOf = (/** @type {string} */ tables) => new RegExp(`\\b(?:FROM|JOIN)\\s+(?:ONLY\\s+)?"?(${tables})\\b`, 'i');
const LEDGER_READ = readOf(LEDGER_TABLES);
const PAYMENT_READ = readOf(PAYMENT_TABLES);

/**
 * Whether this text, a statement or a part of one, reads a table that is not the file's own.
 * @param {string} file
 * @param {string} text
 */
export function readsOfOthers(file, text) {
  if (/\/libs\/ledger\/src\//.test(file)) return false;
  return LEDGER_READ.test(text) || (!isOfPayments(file) && PAYMENT_READ.test(text));
}

/** @param {string} file */
const isOfPayments = (file) => /\/apps\/gateway\/src\/payments\//.test(file);

/** @param {string} file */
function isReader(file) {
  if (file.endsWith('.repository.ts') || /\/libs\/ledger\/src\//.test(file)) return true;
  return Object.keys(LEDGER_READERS).some((reader) => file === `${ROOT.replaceAll('\\', '/')}/${reader}`);
}

/** @type {import('eslint').Rule.RuleModule} */
export const ledgerReaders = {
  meta: {
    messages: {
      reads: 'Read it by a function of libs/ledger/src/reading or in a repository (scripts/lib/ledger-readers.mjs).',
    },
  },
  create(context) {
    const file = context.filename.replaceAll('\\', '/');
    if (isReader(file)) return {};
    const check = (/** @type {import('estree').Node} */ node, /** @type {string} */ text) => {
      if (readsOfOthers(file, text)) context.report({ node, messageId: 'reads' });
    };
    return {
      TemplateElement: (node) => check(node, node.value.raw),
      Literal: (node) => {
        if (typeof node.value === 'string') check(node, node.value);
      },
      CallExpression: ({ callee }) => {
        if (callee.type !== 'MemberExpression' || callee.object.type !== 'MemberExpression') return;
        const [verb, model] = [callee.property, callee.object.property];
        if (verb.type !== 'Identifier' || model.type !== 'Identifier' || !READING.test(verb.name)) return;
        const isLedger = LEDGER_MODELS.test(model.name);
        if (isLedger || (!isOfPayments(file) && PAYMENT_MODELS.test(model.name))) {
          context.report({ node: callee, messageId: 'reads' });
        }
      },
    };
  },
};

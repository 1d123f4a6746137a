import imported from '@jest/test-sequencer';

/** Its types describe the CommonJS form, where the class is a field of what is imported. */
const Sequencer = /** @type {typeof imported.default} */ (/** @type {unknown} */ (imported));

/** Files that take longest, the longest first: as measured in a run of all on a slow machine (2026-11-30). */
const LONG = [
  'test/console/console.e2e-spec.ts',
  'test/faults/tenths-releases.long-spec.ts',
  'test/console/people.e2e-spec.ts',
  'test/hostile/routes.long-spec.ts',
  'test/faults/tenths-fleet.e2e-spec.ts',
  'test/deployment/image-stages.e2e-spec.ts',
  'test/console/actions.e2e-spec.ts',
  'test/examples/examples.e2e-spec.ts',
  'test/faults/tenths-payments.e2e-spec.ts',
  'test/faults/tenths-providers.e2e-spec.ts',
  'test/system/terminals.e2e-spec.ts',
  'test/faults/tenths-nation.long-spec.ts',
  'test/recovery/restore.e2e-spec.ts',
  'test/cli/cli.e2e-spec.ts',
  'test/start/quickstart.e2e-spec.ts',
  'test/start/npm-start.e2e-spec.ts',
  'test/system/alerts-registers.e2e-spec.ts',
  'test/console/providers.e2e-spec.ts',
  'test/system/queue-servers.e2e-spec.ts',
  'test/console/lists.e2e-spec.ts',
  'test/system/alerts-callers.e2e-spec.ts',
  'test/system/operations.e2e-spec.ts',
  'test/faults/tenths-outages.e2e-spec.ts',
  'test/messages/messages-killed.e2e-spec.ts',
  'test/system/stopping.e2e-spec.ts',
  'test/screen/whole-path.e2e-spec.ts',
  'test/system/workers.e2e-spec.ts',
  'test/links/dial-out.e2e-spec.ts',
  'test/cli/trigger.e2e-spec.ts',
  'test/recovery/restore-after-failover.e2e-spec.ts',
  'test/hostile/files.e2e-spec.ts',
  'test/register/kill-nine.e2e-spec.ts',
  'test/console/shop-work.e2e-spec.ts',
  'test/examples/woocommerce.e2e-spec.ts',
  'test/system/payments.e2e-spec.ts',
  'test/recovery/read-replica.int-spec.ts',
  'test/quality/ended-servers.int-spec.ts',
  'test/payments/provider-contract.int-spec.ts',
  'test/payments/every-way.int-spec.ts',
  'test/payments/refunds.int-spec.ts',
  'test/api/no-secrets.int-spec.ts',
  'test/payments/decision-tables.int-spec.ts',
  'test/payments/payments.int-spec.ts',
  'apps/gateway/src/receipts/refunds/refunds.int-spec.ts',
  'apps/gateway/src/access/signing/signing.int-spec.ts',
  'test/api/role-matrix.int-spec.ts',
  'apps/device-relay/src/lanes/lane-plans.int-spec.ts',
  'apps/gateway/src/notify/events/event-horizon.int-spec.ts',
  'test/api/matrices.int-spec.ts',
  'test/messages/messages.int-spec.ts',
  'apps/gateway/src/notify/events/event-streams.int-spec.ts',
  'apps/device-relay/src/lanes/simulation/simulation.spec.ts',
  'apps/device-relay/src/lanes/simulation/simulation-second-half.spec.ts',
  'apps/gateway/src/receipts/receipts.int-spec.ts',
  'test/payments/comparison.int-spec.ts',
  'test/payments/two-attempts.int-spec.ts',
  'test/payments/inbound.int-spec.ts',
  'apps/device-relay/src/watch-day.int-spec.ts',
  'libs/queue/src/lane-queue.silent.int-spec.ts',
  'apps/device-relay/src/lanes/advisory-lane-locks.int-spec.ts',
  'libs/database/src/silent-sessions.int-spec.ts',
  'libs/http/src/unread-answers.int-spec.ts',
  'libs/runtime/src/workers/supervisor.int-spec.ts',
  'apps/gateway/src/receipts/documents/receipt-page.int-spec.ts',
  'test/screen/receipt-page.int-spec.ts',
];

/**
 * In a fresh clone jest knows no times and goes by the size of the files: a small one that takes minutes would begin last,
 * and the whole run would wait for it.
 */
export default class LongestFirst extends Sequencer {
  /**
   * @override
   * @type {InstanceType<typeof Sequencer>['sort']}
   */
  async sort(tests) {
    const rank = (/** @type {{ path: string }} */ { path }) => {
      const at = LONG.findIndex((file) => path.endsWith(file));
      return at < 0 ? LONG.length : at;
    };
    const usual = await super.sort(tests);
    return [...usual].sort((left, right) => rank(left) - rank(right));
  }
}

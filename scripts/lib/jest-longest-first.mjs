import imported from '@jest/test-sequencer';

/** Its types describe the CommonJS form, where the class is a field of what is imported. */
const Sequencer = /** @type {typeof imported.default} */ (/** @type {unknown} */ (imported));

/** Files that take half a minute and more, the longest first. */
const LONG = [
  'apps/device-relay/src/lanes/simulation/simulation.spec.ts',
  'apps/device-relay/src/lanes/simulation/simulation-second-half.spec.ts',
  'test/faults/tenths-fleet.e2e-spec.ts',
  'test/faults/tenths-outages.e2e-spec.ts',
  'test/screen/whole-path.e2e-spec.ts',
  'test/examples/examples.e2e-spec.ts',
  'test/cli/cli.e2e-spec.ts',
  'test/api/code-samples.e2e-spec.ts',
  'test/start/quickstart.e2e-spec.ts',
  'test/quality/docs-site.e2e-spec.ts',
  'test/faults/tenths-payments.e2e-spec.ts',
  'test/faults/tenths-nation.e2e-spec.ts',
  'test/faults/tenths-line.e2e-spec.ts',
  'test/faults/tenths-lossy.e2e-spec.ts',
  'test/recovery/restore.e2e-spec.ts',
  'test/recovery/restore-after-failover.e2e-spec.ts',
  'test/system/operations.e2e-spec.ts',
  'test/system/queue-outage.e2e-spec.ts',
  'test/api/no-secrets.int-spec.ts',
  'apps/device-relay/src/watch-day.int-spec.ts',
  'test/payments/two-attempts.int-spec.ts',
  'apps/gateway/src/notify/events/event-horizon.int-spec.ts',
  'test/payments/every-way.int-spec.ts',
  'test/payments/provider-contract.int-spec.ts',
  'test/payments/refunds.int-spec.ts',
  'test/payments/payments.int-spec.ts',
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

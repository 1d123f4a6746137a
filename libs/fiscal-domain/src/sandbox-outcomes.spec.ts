// Promise: a value forces exactly what docs/sandbox.md says, and everything else forces nothing.
import { isId, isTestId, prefixOf, ulidOf } from './ids.js';
import { readSandboxOutcome, SANDBOX_PRICES, sandboxOutcomeOf } from './sandbox-outcomes.js';

test('every price has a value that can be read', () => {
  for (const value of SANDBOX_PRICES.values()) expect([value, readSandboxOutcome(value)]).not.toContain(null);
  expect(SANDBOX_PRICES.size).toBe(26);
});

test.each([
  ['rejected_E-003', { kind: 'rejected', code: 'E-003' }],
  ['refused_E-016', { kind: 'refused', code: 'E-016' }],
  ['offline_600', { kind: 'offline', seconds: 600 }],
  ['ofd_backlog', { kind: 'ofd_backlog', seconds: 60 }],
  ['slow_30', { kind: 'slow', seconds: 30 }],
  ['unknown', { kind: 'unknown' }],
  ['payment_declined', { kind: 'payment_declined' }],
  ['hold_expired', { kind: 'hold_expired' }],
])('%s', (text, outcome) => {
  expect(readSandboxOutcome(text)).toEqual(outcome);
});

test.each([
  ...[
    '',
    'offline',
    'offline_0',
    'offline_601',
    'offline_-1',
    'offline_1e2',
    'slow_31',
    'ofd_backlog_3601',
    'unknown_1',
  ],
  ...[
    'rejected',
    'rejected_E-001',
    'rejected_E-016',
    'rejected_E-019',
    'refused_E-003',
    'rejected_e-003',
    'answer_lost ',
  ],
])('%j forces nothing', (text) => {
  expect(readSandboxOutcome(text)).toBeNull();
});

test('metadata comes before the price; an ordinary price forces nothing', () => {
  expect(sandboxOutcomeOf('slow_1', 100_052)).toEqual({ kind: 'slow', seconds: 1 });
  expect(sandboxOutcomeOf(null, 100_052)).toEqual({ kind: 'unknown' });
  expect([sandboxOutcomeOf(null, 100_000), sandboxOutcomeOf(null, null)]).toEqual([null, null]);
});

test('ids of a sandbox say so, and are ids', () => {
  const ulid = '01k00000000000000000000000';
  expect([isId('rcp', `rcp_test_${ulid}`), isId('rcp', `rcp_${ulid}`), isId('rcp', `rcp_test_test_${ulid}`)]).toEqual([
    ...[true, true, false],
  ]);
  expect([isTestId(`mer_test_${ulid}`), isTestId(`mer_${ulid}`), isTestId('test_')]).toEqual([true, false, false]);
  expect([prefixOf('rcp', `mer_test_${ulid}`), prefixOf('rcp', `mer_${ulid}`)]).toEqual(['rcp_test', 'rcp']);
  expect(ulidOf(`rcp_test_${ulid}`)).toBe(ulid.toUpperCase());
});

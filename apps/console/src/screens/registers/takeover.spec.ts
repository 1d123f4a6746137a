// Promise: what is drawn as taking over is what the gateway would choose from: the branch before the group, and no register that gets nothing.
import { takesOver } from './takeover.js';

const till = (id: string, more: Partial<Parameters<typeof takesOver>[0]> = {}): Parameters<typeof takesOver>[0] => ({
  id,
  branch_id: 'brn_1',
  group_id: 'grp_1',
  state: 'online',
  draining_since: null,
  ...more,
});

test('the branch first, then the rest of the group', () => {
  const all = [
    till('a'),
    till('b'),
    till('c', { branch_id: 'brn_2' }),
    till('d', { branch_id: 'brn_2', group_id: null }),
  ];
  const found = takesOver(all[0] ?? till('a'), all);
  expect([found.branch.map(({ id }) => id), found.group.map(({ id }) => id)]).toEqual([['b'], ['c']]);
});

test('a register that drains, is disabled or was replaced takes over nothing; one that is away may return', () => {
  const all = [
    till('a'),
    till('b', { draining_since: '2026-11-22T10:00:00Z' }),
    till('c', { state: 'disabled' }),
    till('d', { state: 'replaced' }),
    till('e', { state: 'unreachable' }),
  ];
  expect(takesOver(all[0] ?? till('a'), all).branch.map(({ id }) => id)).toEqual(['e']);
});

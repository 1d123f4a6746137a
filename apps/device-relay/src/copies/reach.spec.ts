// Promise: after a restore every register is asked that failover can have given a receipt to, and no other.
import { Reach, type FleetDevice } from './reach.js';

const device = (id: string, more: Partial<FleetDevice> = {}): FleetDevice => ({
  ...{
    id,
    merchantId: 'mer',
    branchId: 'brn_1',
    groupId: null,
    hasFailover: false,
    knowsKeys: true,
    wasExchanged: false,
  },
  ...more,
});
const asked = (fleet: FleetDevice[], more: { deviceId?: string; movedFrom?: string[]; isRefund?: boolean } = {}) =>
  new Reach(fleet)
    .registersThatMayHave({ deviceId: 'a', movedFrom: [], isRefund: false, ...more })
    .map(({ id }) => id)
    .sort();

test('a register with keys and without failover answers for itself: nothing has to be asked', () => {
  expect(asked([device('a'), device('b')])).toEqual([]);
});

test('a register without keys is compared itself', () => {
  expect(asked([device('a', { knowsKeys: false }), device('b')])).toEqual(['a']);
});

test('with failover: all of its branch and its group, and of no other branch, group or merchant', () => {
  const fleet = [
    device('a', { hasFailover: true, groupId: 'g1' }),
    device('b'),
    device('c', { branchId: 'brn_2', groupId: 'g1' }),
    device('d', { branchId: 'brn_2' }),
    device('e', { merchantId: 'other' }),
    device('f', { branchId: 'brn_3', groupId: 'g2' }),
  ];
  expect(asked(fleet)).toEqual(['b', 'c']);
  expect(asked([...fleet.slice(1), device('a', { hasFailover: true, knowsKeys: false })])).toEqual(['a', 'b']);
});

test('and on from there, where those have failover too', () => {
  const fleet = [
    device('a', { hasFailover: true }),
    device('b', { hasFailover: true, groupId: 'g1' }),
    device('c', { branchId: 'brn_2', groupId: 'g1', hasFailover: true }),
    device('d', { branchId: 'brn_2' }),
  ];
  expect(asked(fleet)).toEqual(['b', 'c', 'd']);
});

test('what was moved before: those that it came from, whatever their failover is now', () => {
  const fleet = [device('a'), device('b'), device('c')];
  expect(asked(fleet, { movedFrom: ['b', 'gone'] })).toEqual(['b']);
});

test('a refund never moves', () => {
  const fleet = [device('a', { hasFailover: true }), device('b')];
  expect(asked(fleet, { isRefund: true })).toEqual([]);
  expect(asked([device('a', { hasFailover: true, knowsKeys: false }), device('b')], { isRefund: true })).toEqual(['a']);
});

import type { Device } from '../../api/api.js';

type Placed = Pick<Device, 'id' | 'branch_id' | 'group_id' | 'state' | 'draining_since'>;

/** Who gets the sales of a register that cannot take them: the circles of docs/fleet.md, the nearest first. */
export interface Takeover<D> {
  branch: D[];
  group: D[];
}

/** In these states a register gets nothing new, whatever fails beside it. */
const OUT: readonly Device['state'][] = ['disabled', 'replaced', 'claimed_elsewhere'];

export function takesOver<D extends Placed>(of: Placed, all: readonly D[]): Takeover<D> {
  const able = all.filter(({ id, state, draining_since: drains }) => id !== of.id && !OUT.includes(state) && !drains);
  const branch = able.filter(({ branch_id: id }) => id === of.branch_id);
  const group = able.filter((one) => of.group_id !== null && one.group_id === of.group_id && !branch.includes(one));
  return { branch, group };
}

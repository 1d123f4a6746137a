import { reservePorts } from '../../../../scripts/lib/reserved-ports.mjs';

/**
 * `count` ports in a row that are free now and that no other test on this machine is given while this process lives: what is
 * started on them later, or is down for a while, finds them free. @returns the first
 */
export async function freePorts(count: number): Promise<number> {
  const { first } = await reservePorts(count);
  return first;
}

import { isId } from '#fiscal-domain';

/** A place in the log: the event after which to go on. */
export interface EventPlace {
  position: bigint;
  id: string;
}

/** Before the first event. */
export const BEGINNING: EventPlace = { position: 0n, id: '' };

export function cursorOf({ position, id }: EventPlace): string {
  return Buffer.from(`${position}|${id}`).toString('base64url');
}

/** Null for what is no cursor of the log; whether its event exists is not known yet. */
export function readEventCursor(cursor: string): EventPlace | null {
  const [position = '', id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('|');
  if (position === '0' && id === '') return BEGINNING;
  return /^[1-9]\d{0,17}$/.test(position) && isId('evt', id) ? { position: BigInt(position), id } : null;
}

import type { Prisma } from '#database';
import { viewOfColumns } from '../../http/view-of-columns.js';

export interface ClientKeyView {
  id: string;
  use: 'signing' | 'authentication';
  algorithm: string;
  name: string;
  /** SPKI, PEM; null for an HMAC key. */
  public_key: string | null;
  created_at: string;
  /** Null while it is active. */
  disabled_at: string | null;
}

/** The answer to making an HMAC key: the only time that its secret is shown. */
export interface NewClientKeyView extends ClientKeyView {
  secret?: string;
}

export function clientKeyView(
  row: Omit<Prisma.ClientKeyGetPayload<object>, 'secretSealed' | 'clientId'>,
): ClientKeyView {
  return viewOfColumns(row, 'id', 'use', 'algorithm', 'name', 'publicKey', 'createdAt', 'disabledAt');
}

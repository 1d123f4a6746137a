// Promise: what a row holds is answered under the names of this API, its times as RFC 3339, and nothing that was not named.
import { viewOfColumns } from './view-of-columns.js';

test('named columns alone, times as text, nulls as they are', () => {
  const at = new Date('2026-02-03T04:05:06.789Z');
  const row = { id: 'whk_1', previousSecretExpiresAt: null, createdAt: at, updated_at: at, secretHash: 'hidden' };
  expect(viewOfColumns(row, 'id', 'createdAt', 'updated_at', 'previousSecretExpiresAt')).toEqual({
    id: 'whk_1',
    created_at: '2026-02-03T04:05:06.789Z',
    updated_at: '2026-02-03T04:05:06.789Z',
    previous_secret_expires_at: null,
  });
});

// Promise: the doctor says when the log of the database is no longer archived.
import { archiverFinding } from './check-database.js';

test.each([
  [{ failed_wal: null, failed_after_success: null }, 'ok'],
  [{ failed_wal: '0000000100000000000000A1', failed_after_success: false }, 'ok'],
  [{ failed_wal: '0000000100000000000000A1', failed_after_success: true }, 'bad'],
])('%j', (archiver, state) => {
  expect(archiverFinding(archiver)).toMatchObject({ check: 'archiving of the log', state });
});

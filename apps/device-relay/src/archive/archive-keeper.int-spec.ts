// Promise: an old attempt leaves the database only when a durable archive holds it as it was; whenever the keeper is killed none is lost,
// and none stands twice in what is restored.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ARCHIVE_PLACES, archiveIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { ArchiveLag } from './archive-lag.js';
import {
  archives,
  at,
  attempts,
  keeper,
  keeperProgram,
  keeperIn,
  linesOf,
  newest,
  restoreAll,
  run,
  runToEnd,
  sell,
  withAttempts,
  writtenArchive,
} from './testing/aged-attempts.js';
import { killRounds } from './testing/kill-rounds.js';

/** The same lines, packed in another way, with a manifest that says so. */
async function replace(data: string, whole: Buffer): Promise<void> {
  const packed = gzipSync(gunzipSync(whole), { level: 1 });
  const file = data.replace(/\.ndjson\.gz$/, '.json');
  const manifest = JSON.parse((await at.place.get(file)).toString()) as object;
  const found = { bytes: packed.length, sha256: createHash('sha256').update(packed).digest('hex') };
  expect(packed.equals(whole)).toBe(false);
  await at.place.put(data, packed);
  await at.place.put(file, Buffer.from(JSON.stringify({ ...manifest, ...found })));
}

describe.each(ARCHIVE_PLACES)('with %s', (_kind, open) => {
  withAttempts(open);

  test('what is old and proven leaves, and comes back as it was; what may still move stays', async () => {
    const old = [
      await sell(),
      await sell({ status: 'rejected', state: 'rejected' }),
      await sell({ state: 'not_registered' }),
    ];
    const refunded = await sell();
    const refund = { refundOf: refunded.receiptId, status: 'unknown', state: 'unknown' };
    const staying = [
      refunded,
      await sell(refund),
      await sell({ status: 'unknown', state: 'unknown' }),
      await sell({ status: 'sending', state: 'open', register: 'dev_2' }),
      await sell({ ofd: 'pending' }),
      await sell({ daysAgo: 300 }),
      await sell({ register: 'dev_3' }),
      await sell({ daysAgo: 1 }),
    ].map(({ attemptId }) => attemptId);
    const before = await attempts();

    await runToEnd(keeper({ rowsAtOnce: 2 }));
    expect((await attempts()).map(({ id }) => id)).toEqual([...staying].sort());
    const [archive, ...more] = await archives();
    expect(more).toEqual([]);
    expect(archive).toMatchObject({ state: 'removed', rows: 3, removed: 3 });
    const name = String(archive?.name);
    expect((await linesOf(name)).sort()).toEqual(
      before
        .filter(({ id }) => old.some(({ attemptId }) => attemptId === id))
        .map(({ row }) => row)
        .sort(),
    );
    expect(await archiveIn(at.place.settings).check(name)).toBe('whole');

    expect(await restoreAll()).toBe(3);
    expect(await restoreAll()).toBe(0);
    expect(await attempts()).toEqual(before);
    // Brought back, they stay for thirty days; then the same archive takes them again.
    await runToEnd(keeper());
    expect(await attempts()).toEqual(before);
    await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
    await runToEnd(keeper());
    expect((await attempts()).map(({ id }) => id)).toEqual([...staying].sort());
    expect((await archives()).map(({ state }) => state)).toEqual(['removed']);
  });

  test('a keeper that is killed at any moment loses no attempt and archives none twice', async () => {
    for (let sale = 0; sale < 60; sale += 1) await sell();
    await newest();
    const before = await attempts();
    let unfinished = 0;
    const killed = await killRounds(at.owner, keeperProgram(), async () => {
      unfinished += (await archives()).filter(({ state }) => state === 'writing' || state === 'written').length;
      // What has left stands in an archive that is whole.
      const here = new Set((await attempts()).map(({ id }) => id));
      const { rows } = await at.owner.query<{ id: string; archive: string }>(
        'SELECT id, archive FROM archived_attempts',
      );
      expect(new Set([...here, ...rows.map(({ id }) => id)])).toEqual(new Set(before.map(({ id }) => id)));
      for (const archive of new Set(rows.map((row) => row.archive)))
        expect(await archiveIn(at.place.settings).check(archive)).toBe('whole');
    });
    expect(killed).toBeGreaterThan(0);
    expect(unfinished).toBeGreaterThan(0);

    // The server ends the session of a killed keeper when it notices; until then its lock stands.
    const deadline = Date.now() + 60_000;
    const last = keeper();
    const isOver = async (): Promise<boolean> =>
      (await attempts()).length === 1 && (await archives()).every(({ state }) => state === 'removed');
    while (!(await isOver()) && Date.now() < deadline) {
      await runToEnd(last);
      await delay(50);
    }
    expect((await attempts()).length).toBe(1);
    const written = await archives();
    expect(new Set(written.map(({ state }) => state))).toEqual(new Set(['removed']));
    const lines = (await Promise.all(written.map(({ name }) => linesOf(name)))).flat();
    expect(lines.sort()).toEqual(
      before
        .slice(0, -1)
        .map(({ row }) => row)
        .sort(),
    );
    expect(await restoreAll()).toBe(60);
    expect(await attempts()).toEqual(before);
  });

  test.each<[string, string, (data: string, whole: Buffer) => Promise<void>]>([
    [
      'changed',
      'changed',
      (data, whole) => at.place.put(data, Buffer.concat([whole.subarray(0, -1), Buffer.from([1])])),
    ],
    ['cut', 'changed', (data, whole) => at.place.put(data, whole.subarray(0, 10))],
    ['lost', 'no_file', (data) => at.place.remove(data)],
    // It holds the same rows; yet it is not the one that was recorded, and would never be brought back.
    ['replaced, with its manifest', 'whole', replace],
  ])('no row leaves for an archive whose file was %s; its rows leave with another one', async (_, state, spoil) => {
    const { attemptId } = await sell();
    await newest();
    const name = await writtenArchive();
    const data = `${name}.ndjson.gz`;
    const whole = await at.place.get(data);
    const manifest = await at.place.get(`${name}.json`);
    await spoil(data, whole);
    expect(await archiveIn(at.place.settings).check(name)).toBe(state);
    await runToEnd(keeper());
    const [spoilt, other, ...more] = await archives();
    expect(spoilt).toMatchObject({ name, state: 'written' });
    expect(other).toMatchObject({ state: 'removed', rows: 1, removed: 1 });
    expect(more).toEqual([]);
    const { rows } = await at.owner.query<{ id: string; archive: string }>('SELECT id, archive FROM archived_attempts');
    expect(rows).toEqual([{ id: attemptId, archive: other?.name }]);
    expect(await new ArchiveLag('attempts', 395).read(run)).toBeGreaterThan(0);

    await at.place.put(data, whole);
    await at.place.put(`${name}.json`, manifest);
    await runToEnd(keeper());
    expect((await archives())[0]).toMatchObject({ name, state: 'removed', removed: 0 });
    expect(await new ArchiveLag('attempts', 395).read(run)).toBe(0);
    expect((await at.place.list()).filter((file) => file.endsWith('.part'))).toEqual([]);
  });

  test('nothing leaves for a place that has none of the archives', async () => {
    await sell();
    await newest();
    await runToEnd(keeper());
    const { attemptId } = await sell();
    await newest();
    await expect(keeperIn(await at.place.another()).run()).rejects.toThrow(/none of the newest archives/);
    expect((await attempts()).map(({ id }) => id)).toContain(attemptId);
  });
});

// Promise: after one way back, a second one still brings the database of any moment: of a later one, and of one that the first has left out.
import { ended, Installation, mayRun } from './compose-installation.js';

let one: Installation;
beforeAll(async () => {
  if (!mayRun) return;
  one = new Installation();
  one.create();
  await one.start();
  await one.sql('CREATE TABLE sales (number int PRIMARY KEY)');
});
afterAll(() => one?.remove());

const heldTest = mayRun ? test : test.skip;

const sell = (number: number): Promise<unknown> => one.sql(`INSERT INTO sales VALUES (${String(number)})`);
async function backUp(keep = 4): Promise<void> {
  await one.nextSecond();
  expect(ended(one.script('back-up.sh', ['once'], { BACKUP_KEEP: String(keep) }))).toEqual([0, expect.anything()]);
  await one.nextSecond();
}
async function goBack(...args: string[]): Promise<number[]> {
  await one.archived();
  await one.lose();
  expect(ended(one.script('restore.sh', args))).toEqual([0, '']);
  await one.recover();
  return one.numbers();
}

let early: string;
let between: string;
let again: string;

heldTest('a second way back to a later time brings what the first has left out', async () => {
  await sell(1);
  await backUp();
  early = await one.clock();
  await sell(2);
  await one.nextSecond();
  between = await one.clock();
  await sell(3);
  // On the way that is left: neither its log nor its backups lead to what comes after the first way back.
  await backUp();
  expect(await goBack(early)).toEqual([1]);
  await one.nextSecond();
  await sell(10);
  await one.nextSecond();
  again = await one.clock();
  await sell(11);
  expect(await goBack(between)).toEqual([1, 2]);
});

heldTest('a third one brings what was sold after the first, though the newest backup lies on another way', async () => {
  await sell(20);
  expect(await goBack(again)).toEqual([1, 10]);
});

heldTest('without a time it is the end of the last way, or of the one that is named', async () => {
  await sell(30);
  expect(await goBack()).toEqual([1, 10, 30]);
  expect(await goBack('', '1')).toEqual([1, 2, 3]);
  expect(await goBack(early, '2')).toEqual([1]);
});

heldTest('a way that there never was is refused', async () => {
  await one.archived();
  await one.lose();
  expect(ended(one.script('restore.sh', [early, "2'"]))).toEqual([1, expect.stringContaining('is no timeline')]);
  expect(ended(one.script('restore.sh', [early, '77']))).toEqual([1, expect.stringContaining('leads to timeline 77')]);
  expect(ended(one.script('restore.sh', []))).toEqual([0, '']);
  await one.recover();
});

heldTest('no log goes that a kept backup needs, though an older one begins further on', async () => {
  for (let number = 40; number < 46; number += 1) {
    await sell(number);
    await one.archived();
  }
  await backUp();
  expect(await goBack(early)).toEqual([1]);
  await backUp();
  await sell(50);
  await one.nextSecond();
  const moment = await one.clock();
  await sell(51);
  await one.archived();
  await backUp(3);
  expect(await goBack(moment)).toEqual([1, 50]);
});

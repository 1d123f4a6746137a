// Promise: work for silent registers takes no place from others, and no bound is ever passed.
import { asideWhileSilent, Places, type Place } from './places.js';

/** Runs at once what waits for a microtask. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function take(places: Places, count: number): Promise<Place[]> {
  const taken = await Promise.all(Array.from({ length: count }, () => places.enter()));
  return taken.filter((place) => place !== null);
}

test('as many as there are places; the others in the order in which they came', async () => {
  const places = new Places({ places: 2, aside: 10 });
  const [first, second] = await take(places, 2);
  const order: string[] = [];
  const third = places.enter().then((place) => (order.push('third'), place));
  void places.enter().then(() => order.push('fourth'));
  expect([places.free, places.waiting]).toEqual([0, 2]);
  expect(places.tryEnter()).toBeNull();
  first!.leave();
  await turn();
  expect(order).toEqual(['third']);
  second!.leave();
  (await third)!.leave();
  await turn();
  expect(order).toEqual(['third', 'fourth']);
  expect([places.free, places.waiting]).toEqual([1, 0]);
});

test('what is set aside frees its place, and comes back before all that has not begun', async () => {
  const places = new Places({ places: 1, aside: 10 });
  const [silent] = await take(places, 1);
  expect(silent!.setAside()).toBe(true);
  expect([places.free, places.aside]).toEqual([1, 1]);
  const [other] = await take(places, 1);
  const order: string[] = [];
  void places.enter().then(() => order.push('new'));
  void silent!.comeBack().then(() => order.push('back'));
  other!.leave();
  await turn();
  expect([order, places.free, places.aside]).toEqual([['back'], 0, 0]);
  silent!.leave();
  await turn();
  expect(order).toEqual(['back', 'new']);
});

test('when too much is set aside, silent work keeps its place: the bound counts everything', async () => {
  const places = new Places({ places: 3, aside: 2 });
  const taken = await take(places, 3);
  expect(taken.map((place) => place.setAside())).toEqual([true, true, false]);
  expect([places.free, places.aside]).toEqual([2, 2]);
  taken[0]!.leave();
  expect(taken[2]!.setAside()).toBe(true);
  expect([places.free, places.aside]).toEqual([3, 2]);
});

test('a closed one turns new work away and lets set-aside work end', async () => {
  const places = new Places({ places: 1, aside: 1 });
  const [silent] = await take(places, 1);
  silent!.setAside();
  const [other] = await take(places, 1);
  const refused = places.enter();
  places.close();
  expect([await refused, await places.enter(), places.free]).toEqual([null, null, 0]);
  const back = silent!.comeBack();
  other!.leave();
  await back;
  silent!.leave();
  expect([places.aside, places.waiting]).toEqual([0, 0]);
});

test('a call that is answered at once is never set aside; a silent one is, and comes back with its answer or its error', async () => {
  const places = new Places({ places: 1, aside: 1 });
  const [place] = await take(places, 1);
  const timers: (() => void)[] = [];
  const later = (_afterMs: number, run: () => void): (() => void) => {
    timers.push(run);
    return () => timers.splice(timers.indexOf(run), 1);
  };
  const run = { place: place!, later };
  expect(await asideWhileSilent(run, () => Promise.resolve('at once'))).toBe('at once');
  expect([timers.length, places.aside]).toEqual([0, 0]);
  let answer = (_said: string): void => undefined;
  const silent = asideWhileSilent(run, () => new Promise<string>((resolve) => (answer = resolve)));
  timers[0]?.();
  expect([places.free, places.aside]).toEqual([1, 1]);
  answer('late');
  expect(await silent).toBe('late');
  expect([places.free, places.aside]).toEqual([0, 0]);
  const broken = asideWhileSilent(run, () => Promise.reject(new Error('reset')));
  await expect(broken).rejects.toThrow('reset');
  expect(places.free).toBe(0);
});

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

test('divided: one merchant gets all places but those that are kept, another one a place at once, however many wait', async () => {
  const places = new Places({ places: 4, aside: 0, isDivided: true });
  const taken = await Promise.all([1, 2, 3].map(() => places.enter('a')));
  for (let lane = 0; lane < 100; lane += 1) void places.enter('a');
  expect([taken.filter(Boolean).length, places.tryEnter('a'), places.waiting, places.free]).toEqual([3, null, 100, 0]);
  expect(places.loadOf('a')).toBe(103);
  expect(places.tryEnter('b')).not.toBeNull();
});

test('divided: answers of one merchant’s slow registers come back before its own new work, not before another merchant', async () => {
  const places = new Places({ places: 2, aside: 200, isDivided: true });
  const order: string[] = [];
  const slow: Place[] = [];
  for (let lane = 0; lane < 50; lane += 1) {
    const place = places.tryEnter('a');
    place?.setAside();
    if (place) slow.push(place);
  }
  expect(slow).toHaveLength(50);
  const working = [places.tryEnter('a'), places.tryEnter('b')];
  void places.enter('a').then(() => order.push('new of a'));
  for (const place of slow) void place.comeBack().then(() => order.push('back of a'));
  void places.enter('b').then((place) => (order.push('new of b'), place?.leave()));
  working[1]?.leave();
  await turn();
  expect(order).toEqual(['new of b']);
  working[0]?.leave();
  for (const place of slow) {
    await turn();
    place.leave();
  }
  await turn();
  expect(order.slice(1)).toEqual([...slow.map(() => 'back of a'), 'new of a']);
});

test('divided: one merchant’s silent registers do not use up what may be set aside', () => {
  const places = new Places({ places: 10, aside: 5, isDivided: true });
  const set = (merchant: string): boolean => places.tryEnter(merchant)?.setAside() ?? false;
  expect(['a', 'a', 'a', 'a', 'a', 'b', 'b'].map(set)).toEqual([true, true, true, true, false, true, false]);
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
  let answer = (_answer: string): void => undefined;
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

// Promise: a linked register is asked who it is by one at a time, again where it dialled in anew meanwhile, and no stop leaves one that is asked behind.
import { createLogger } from '#runtime';
import { AdmitWhenLinked } from './admit-when-linked.js';

class Asked {
  readonly ids: string[] = [];
  readonly ends: (() => void)[] = [];
  linked: (deviceId: string) => void = () => undefined;
  readonly admission = new AdmitWhenLinked(
    { whenLinked: (listener) => void (this.linked = listener) },
    {
      executeIfWaiting: (id) => {
        this.ids.push(id);
        return new Promise((resolve) => this.ends.push(() => resolve(null)));
      },
    },
    5_000,
    createLogger('relay', 'silent'),
  );

  constructor() {
    this.admission.onApplicationBootstrap();
  }
}

test('polls that come while a device is asked ask it no second time; the next one does', async () => {
  const asked = new Asked();
  const polls = ['dev_1', 'dev_1', 'dev_2', 'dev_1'].map((id) => asked.admission.ask(id));
  expect(asked.ids).toEqual(['dev_1', 'dev_2']);
  for (const end of asked.ends) end();
  await Promise.all(polls);
  void asked.admission.ask('dev_1');
  expect(asked.ids).toEqual(['dev_1', 'dev_2', 'dev_1']);
});

test('one that dials in while it is asked over the link before is asked over the new one as well', async () => {
  const asked = new Asked();
  asked.linked('dev_1');
  asked.linked('dev_1');
  expect(asked.ids).toEqual(['dev_1']);
  asked.ends[0]?.();
  await new Promise(setImmediate);
  expect(asked.ids).toEqual(['dev_1', 'dev_1']);
});

test('a stop waits for those that are asked, and nothing new begins', async () => {
  const asked = new Asked();
  void asked.admission.ask('dev_1');
  let hasStopped = false;
  const stopped = asked.admission.beforeApplicationShutdown().then(() => (hasStopped = true));
  await asked.admission.ask('dev_2');
  asked.linked('dev_3');
  await new Promise(setImmediate);
  expect([asked.ids, hasStopped]).toEqual([['dev_1'], false]);
  asked.ends[0]?.();
  await stopped;
  expect(asked.ids).toEqual(['dev_1']);
});

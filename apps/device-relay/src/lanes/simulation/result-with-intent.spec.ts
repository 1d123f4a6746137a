// Promise: a result and the next intent, written in one commit, are both there or neither, whatever strikes between them and the bytes.
import type { ReceiptRow } from './testing/ledger-rows.js';
import { Stage } from './testing/stage.js';

let stage: Stage;

afterEach(() => expect(stage.promises.broken).toEqual([]));

describe('the result with the next intent, in one commit', () => {
  /** Two receipts of one lane. @param strike when the intent of the second is written, and its answer is not delivered yet */
  const twoWith = (strike: () => void): ReceiptRow[] => {
    stage = new Stage(2);
    stage.addDevice('dev-1', { keyed: true });
    let intents = 0;
    stage.server.onIntent = () => {
      intents += 1;
      if (intents === 2) strike();
    };
    const both = [stage.accept('dev-1'), stage.accept('dev-1')];
    stage.at(3_000, () => stage.relays[1]!.wake('dev-1'));
    return both;
  };
  const expectBoth = async (receipts: ReceiptRow[]): Promise<void> => {
    await stage.runFor(120);
    expect(receipts.map(({ status }) => status)).toEqual(['registered', 'registered']);
    expect([stage.ledger.together, stage.attemptsOf('dev-1')]).toEqual([1, 2]);
  };

  test('a relay that dies with it: its successor goes on with the open attempt', async () => {
    await expectBoth(twoWith(() => stage.relays[0]!.kill()));
  });

  test('whose answer is lost: the result is found recorded, the next receipt as the open attempt of the lane', async () => {
    const receipts = twoWith(() => {
      stage.server.faults.lostCommit = 1;
      stage.time.after(0, () => (stage.server.faults.lostCommit = 0));
    });
    await expectBoth(receipts);
  });

  test('a pause before the bytes, while another relay takes the lane: the guard stops them', async () => {
    const receipts = twoWith(() => {
      const [relay] = stage.relays;
      relay!.process.pause();
      relay!.locks.loseSession(20_000);
      stage.time.after(30_000, () => relay!.process.goOn(false));
    });
    await expectBoth(receipts);
  });

  test('a receipt that is cancelled before it leaves the result recorded, and the one behind it follows', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', { keyed: true, lagMs: 50 });
    const [first, second, third] = [stage.accept('dev-1'), stage.accept('dev-1'), stage.accept('dev-1')];
    stage.server.onIntent = () => stage.ledger.cancel(second);
    await stage.runFor(5);
    expect([first.status, second.status, third.status]).toEqual(['registered', 'cancelled', 'registered']);
  });

  test('a register that connects too slowly for it: each receipt goes its own way, and no place is lost', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', { keyed: true, lagMs: 1_500 });
    const before = stage.relays[0]!.freePlaces;
    const receipts = [1, 2, 3, 4].map(() => stage.accept('dev-1'));
    await stage.runFor(120);
    expect(new Set(receipts.map(({ status }) => status))).toEqual(new Set(['registered']));
    expect([stage.ledger.together, stage.relays[0]!.freePlaces]).toEqual([0, before]);
  });
});

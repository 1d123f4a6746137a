// Promise: a decision sends its own fields and no others, so that none of an earlier choice slips in.
import { decisionBody, EMPTY_DECISION, endedDraft } from './decision-body.js';

const typed = {
  ...EMPTY_DECISION,
  reason: 'seen at the register',
  seq: '17',
  sign: '123456789012',
  link: 'https://ofd.uz/x',
};

test('registered', () => {
  expect(
    decisionBody({ ...typed, at: '2026-11-22T10:00', surplusSeq: '18', confirmUnsettled: true, isEnded: true }),
  ).toEqual({
    decision: 'registered',
    reason: 'seen at the register',
    receipt_seq: 17,
    fiscal_sign: '123456789012',
    verification_url: 'https://ofd.uz/x',
    registered_at: '2026-11-22T05:00:00.000Z',
  });
});

test('registered, in a module of which a copy that was put back knows nothing', () => {
  expect(decisionBody({ ...typed, confirmTerminal: true })).toMatchObject({ confirm_terminal: true });
});

test('an advance has a terminal instead of a link', () => {
  const advance = { ...EMPTY_DECISION, reason: 'seen at the register', seq: '17', terminal: 'UZ1' };
  expect(decisionBody(advance)).toEqual({
    ...{ decision: 'registered', reason: 'seen at the register', receipt_seq: 17, terminal_id: 'UZ1' },
  });
});

test('not registered', () => {
  const draft = { ...typed, decision: 'not_registered' as const, confirmTerminal: true };
  expect(decisionBody(draft)).toEqual({ decision: 'not_registered', reason: 'seen at the register' });
  expect(decisionBody({ ...draft, confirmUnsettled: true })).toMatchObject({ confirm_unsettled: true });
  expect(decisionBody({ ...draft, isEnded: true })).toMatchObject({ send_again: false });
});

test('a duplicate names the surplus document', () => {
  const surplus = { surplusSeq: 'x', surplusSign: '210987654321', surplusLink: 'https://ofd.uz/y' };
  expect(decisionBody({ ...typed, ...surplus, decision: 'duplicate' })).toMatchObject({
    receipt_seq: 17,
    surplus: { receipt_seq: 0, fiscal_sign: '210987654321', verification_url: 'https://ofd.uz/y' },
  });
});

test('of a receipt that was ended: its document is taken back, or the one that is shown is not there any more', () => {
  const evidence = { found_late: [{ receipt_seq: 17, terminal_id: 'UZ1' }, { receipt_seq: 18 }] };
  const draft = { ...typed, surplusSeq: '18', surplusSign: '210987654321', surplusLink: 'https://ofd.uz/y' };
  expect(decisionBody(endedDraft(draft, evidence))).toEqual({
    ...{ decision: 'duplicate', reason: 'seen at the register' },
    ...{ receipt_seq: 17, fiscal_sign: '123456789012', verification_url: 'https://ofd.uz/x' },
  });
  expect(decisionBody(endedDraft({ ...draft, decision: 'not_registered' }, evidence))).toEqual({
    ...{ decision: 'not_registered', reason: 'seen at the register', send_again: false },
    ...{ receipt_seq: 17, terminal_id: 'UZ1' },
  });
});

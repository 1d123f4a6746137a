// Promise: what goes over a link arrives as it was sent, and whatever is no frame of it is recognised as none.
import fc from 'fast-check';
import { hashEnrolmentCode, newEnrolmentCode } from './enrolment-code.js';
import { refusalOfCall } from './allowed-calls.js';
import {
  decodeFrame,
  encodeAnswer,
  encodeFrame,
  LINK_LIMITS,
  readAnswer,
  readFromRegister,
  readToRegister,
  type Frame,
} from './frames.js';
import { readLinkUrl } from './link-url.js';

const HEAD = { method: 'POST', path: '/receipts', headers: { 'X-API-Key': 'k' }, connectTimeoutMs: 1_000 };
const LIMITS = { timeoutMs: 1_000, maxAnswerBytes: 10 };
const frame = (header: object, body = ''): Frame => ({ header: { ...header }, body: Buffer.from(body) });

test('header and body come back, whatever bytes they hold', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.uint8Array(), (header, bytes) => {
      const body = Buffer.from(bytes);
      const decoded = decodeFrame(encodeFrame(header, body));
      expect(decoded?.header).toEqual(JSON.parse(JSON.stringify(header)));
      expect(decoded?.body.equals(body)).toBe(true);
    }),
  );
});

test('random bytes never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const decoded = decodeFrame(Buffer.from(bytes));
      if (decoded) expect([readToRegister(decoded), readFromRegister(decoded)]).toBeDefined();
    }),
  );
});

test('a header beyond its bound is none, also when it is there', () => {
  const header = { x: 'y'.repeat(LINK_LIMITS.headerBytes) };
  expect(decodeFrame(encodeFrame(header))).toBeNull();
  const headers = { 'x-long': 'y'.repeat(LINK_LIMITS.headerBytes) };
  const decoded = encodeAnswer(
    { type: 'result', id: 1 },
    { kind: 'answered', httpStatus: 200, headers, body: Buffer.alloc(0) },
  );
  expect(readAnswer(decodeFrame(decoded)!)).toEqual({ kind: 'failed', reason: 'too_large' });
});

test.each([
  { type: 'open', id: 1, head: HEAD, bodyBytes: 5, sendWithinMs: 1 },
  { type: 'send', id: 1, limits: LIMITS },
  { type: 'call', id: 1, head: HEAD, limits: LIMITS },
  { type: 'cancel', id: 1 },
])('the register understands %j', (header) => {
  expect(readToRegister(frame(header))).toEqual(header);
});

test.each([
  {},
  { type: 'cancel' },
  { type: 'cancel', id: -1 },
  { type: 'cancel', id: 1.5 },
  { type: 'cancel', id: '1' },
  { type: 'open', id: 1, head: HEAD, bodyBytes: LINK_LIMITS.requestBytes + 1, sendWithinMs: 1 },
  { type: 'open', id: 1, head: { ...HEAD, method: 'DELETE' }, bodyBytes: 1, sendWithinMs: 1 },
  { type: 'open', id: 1, head: { ...HEAD, headers: { a: 1 } }, bodyBytes: 1, sendWithinMs: 1 },
  { type: 'call', id: 1, head: HEAD },
  { type: 'call', id: 1, head: HEAD, limits: { ...LIMITS, maxAnswerBytes: LINK_LIMITS.answerBytes + 1 } },
  { type: 'send', id: 1, limits: [] },
  { type: 'format_disk', id: 1 },
])('the register refuses %j', (header) => {
  expect(readToRegister(frame(header))).toBeNull();
});

test('an answer keeps status, headers and bytes, but not what belongs to the connection', () => {
  const headers = { 'content-type': 'application/json', connection: 'keep-alive', 'x-subscription-state': 'active' };
  const answer = { kind: 'answered' as const, httpStatus: 200, headers, body: Buffer.from('{"ä":1}') };
  const decoded = readFromRegister(decodeFrame(encodeAnswer({ type: 'result', id: 3 }, answer))!);
  const { connection: _connection, ...carried } = headers;
  expect(decoded).toEqual({ type: 'result', id: 3, answer: { ...answer, headers: carried } });
});

test.each([
  { type: 'result', id: 1, kind: 'answered', httpStatus: 200 },
  { type: 'result', id: 1, kind: 'failed', reason: 'because' },
  { type: 'result', id: 1, kind: 'not_sent' },
  { type: 'result', id: 1, kind: 'registered' },
  { type: 'ready' },
  { type: 'open', id: 1 },
])('a register cannot say %j', (header) => {
  expect(readFromRegister(frame(header))).toBeNull();
});

test.each([
  ['GET', '/status'],
  ['GET', '/receipts?key=rcp_1%20x'],
  ['GET', '/receipts/17'],
  ['POST', '/receipts'],
  ['POST', '/z-report/send-unsent'],
] as const)('%s %s is a call of the local API', (method, path) => {
  expect(refusalOfCall({ ...HEAD, method, path })).toBeNull();
});

test.each([
  ['GET', '/'],
  ['GET', '/screen'],
  ['GET', '/status/../screen'],
  ['GET', '//evil.example/status'],
  ['GET', 'http://evil.example/status'],
  ['GET', '/receipts'],
  ['GET', '/status?x=1'],
  ['GET', '/receipts/1/2'],
  ['GET', '/status\r\nX: y'],
  ['POST', '/emulator/faults'],
  ['POST', '/status'],
  ['POST', '/receipts/../emulator/faults'],
] as const)('%s %s leads nowhere', (method, path) => {
  expect(refusalOfCall({ ...HEAD, method, path })).toBe('path_not_allowed');
});

test('no header beyond those of the local API goes along', () => {
  expect(refusalOfCall({ ...HEAD, method: 'POST', headers: { Host: 'evil.example' } })).toBe('header_not_allowed');
});

test('codes are drawn anew each time, and their hash does not mind how they were typed', () => {
  const codes = new Set(Array.from({ length: 1_000 }, newEnrolmentCode));
  expect(codes.size).toBe(1_000);
  const code = newEnrolmentCode();
  const typed = ` ${code.toLowerCase().replaceAll('-', '').replaceAll('0', 'o').replaceAll('1', 'l')} `;
  expect(hashEnrolmentCode(typed)).toEqual(hashEnrolmentCode(code));
  expect(hashEnrolmentCode(newEnrolmentCode())).not.toEqual(hashEnrolmentCode(code));
});

describe('LINK_URL', () => {
  const device = 'dev_01aaaaaaaaaaaaaaaaaaaaaaaa';
  test.each(['wss://links.example/link', 'ws://127.0.0.1:8081/link', 'ws://localhost/link', 'ws://[::1]:1/link'])(
    '%s',
    (url) => {
      expect(readLinkUrl(`${url}?device=${device}`).deviceId).toBe(device);
    },
  );
  test.each(['ws://links.example/link', 'ws://10.0.0.1/link', 'ws://127.0.0.1.evil.example/link'])(
    '%s needs TLS, or a word that it may',
    (url) => {
      expect(() => readLinkUrl(`${url}?device=${device}`)).toThrow('wss://');
      expect(readLinkUrl(`${url}?device=${device}`, { allowInsecure: true }).deviceId).toBe(device);
    },
  );
  test.each(['https://links.example', 'wss://links.example/link', 'wss://links.example/link?device=1', 'nonsense'])(
    '%s is refused',
    (url) => {
      expect(() => readLinkUrl(url)).toThrow('link_url');
    },
  );
});

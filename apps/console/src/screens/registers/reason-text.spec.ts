// Promise: why a register or an attempt stands is said in the person's language; what is not known is said as it is in the log.
import { reasonText } from './reason-text.js';

test.each([
  ['GET /status: timeout', 'Касса не ответила на /status: не ответила вовремя'],
  ['GET /fm/info: ECONNREFUSED', 'Касса не ответила на /fm/info: отказала в соединении'],
  ['E-001: the register is not activated', 'E-001: касса не активирована'],
  ['F-003: the memory is full, 858 documents are unsent', 'F-003: память заполнена документами, не переданными в ОФД'],
  ['E-016: another terminal, 5 of them', 'E-016: another terminal, 5 of them'],
  [
    'left open by a process that is gone; could not be resolved in time',
    'программа остановилась, не дождавшись ответа; выяснить за отведённое время не удалось',
  ],
  ['parked by an operator: Касса сгорела', 'отложил человек: Касса сгорела'],
  ['no answer; parked by an operator: x; timeout', 'ответа нет; отложил человек: x; timeout'],
  ['POST /receipts/sale: link_of_another_key', 'Касса не ответила на /receipts/sale: канал открыт с другим ключом'],
  ['F-003: The disk of the register is full: make room in its data folder', 'F-003: диск заполнен'],
  ['memory: 800 of 858 places are taken by unsent documents', 'память заполняется документами, не переданными в ОФД'],
  ['toString: x', 'toString: x'],
  ['sequence 7 belongs to another receipt', 'sequence 7 belongs to another receipt'],
  ['constructor', 'constructor'],
])('%s', (said, shown) => {
  expect(reasonText(said, 'ru')).toBe(shown);
});

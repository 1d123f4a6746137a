import { somToTiyin } from '../som.js';
import type { WireObject } from '../wire.js';
import { isClickSigned, type ClickSigned } from './click.signature.js';

/** Click's SHOP API as it arrives: a form; every answer is HTTP 200 with a JSON body. */
export interface ClickCommand {
  action: 'prepare' | 'complete';
  clickTransId: string;
  clickPaydocId: string;
  /** Our payment's id. */
  merchantTransId: string;
  merchantPrepareId: string | null;
  /** Null when it is no sum of whole tiyin. */
  amountTiyin: number | null;
  /** Negative: Click itself failed. */
  error: number;
}

export type ClickReading = { kind: 'command'; command: ClickCommand } | { kind: 'fault'; answer: WireObject };

export const CLICK_NOTES = {
  0: 'Success',
  [-1]: 'SIGN CHECK FAILED!',
  [-2]: 'Incorrect parameter amount',
  [-3]: 'Action not found',
  [-4]: 'Already paid',
  [-5]: 'User does not exist',
  [-6]: 'Transaction does not exist',
  [-7]: 'Failed to update user',
  [-8]: 'Error in request from click',
  [-9]: 'Transaction cancelled',
} as const;
export type ClickError = keyof typeof CLICK_NOTES;

const NEEDED = [
  'click_trans_id',
  'service_id',
  'click_paydoc_id',
  'merchant_trans_id',
  'amount',
  'action',
  'error',
  'sign_time',
  'sign_string',
] as const;
const LONGEST = 512;

/** In the order that is recommended: -8 for a broken request, -1 for the signature, -3 for the action. */
export function readClickRequest(
  form: ReadonlyMap<string, string>,
  account: { serviceId: string; secretKey: string },
): ClickReading {
  const at = (name: string): string => form.get(name) ?? '';
  const echo = { click_trans_id: asNumber(at('click_trans_id')), merchant_trans_id: at('merchant_trans_id') };
  const fault = (error: ClickError): ClickReading => ({ kind: 'fault', answer: { ...echo, ...clickNote(error) } });
  if (NEEDED.some((name) => at(name) === '' || at(name).length > LONGEST)) return fault(-8);
  const isComplete = at('action') === '1';
  if (isComplete && at('merchant_prepare_id') === '') return fault(-8);
  const ids = [at('click_trans_id'), at('click_paydoc_id')];
  if (!/^-?\d{1,9}$/.test(at('error')) || ids.some((id) => !/^\d{1,19}$/.test(id))) return fault(-8);
  const signed: ClickSigned = {
    clickTransId: at('click_trans_id'),
    serviceId: at('service_id'),
    merchantTransId: at('merchant_trans_id'),
    merchantPrepareId: isComplete ? at('merchant_prepare_id') : null,
    amount: at('amount'),
    action: at('action'),
    signTime: at('sign_time'),
  };
  if (at('service_id') !== account.serviceId) return fault(-1);
  if (!isClickSigned(signed, at('sign_string'), account.secretKey)) return fault(-1);
  if (!isComplete && at('action') !== '0') return fault(-3);
  const amount = somToTiyin(at('amount'));
  return {
    kind: 'command',
    command: {
      action: isComplete ? 'complete' : 'prepare',
      clickTransId: signed.clickTransId,
      clickPaydocId: at('click_paydoc_id'),
      merchantTransId: signed.merchantTransId,
      merchantPrepareId: signed.merchantPrepareId,
      amountTiyin: amount.kind === 'ok' ? amount.tiyin : null,
      error: Number(at('error')),
    },
  };
}

/** The answer to a call that nothing is known of: its ids come back as they came. */
export function clickFault(body: string, error: ClickError): WireObject {
  const form = new URLSearchParams(body);
  return {
    click_trans_id: asNumber(form.get('click_trans_id') ?? ''),
    merchant_trans_id: form.get('merchant_trans_id') ?? '',
    ...clickNote(error),
  };
}

export function clickNote(error: ClickError): { error: number; error_note: string } {
  return { error, error_note: CLICK_NOTES[error] };
}

/** Prepare's and Complete's answer; both ids are the attempt's own number, the same however often it is asked. */
export function clickAnswer(command: ClickCommand, error: ClickError, attemptNumber: number | null): WireObject {
  const name = command.action === 'prepare' ? 'merchant_prepare_id' : 'merchant_confirm_id';
  return {
    click_trans_id: asNumber(command.clickTransId),
    merchant_trans_id: command.merchantTransId,
    [name]: attemptNumber,
    ...clickNote(error),
  };
}

/** A bigint of Click's may leave the numbers that JSON keeps exact: then it goes back as text. */
function asNumber(text: string): number | string {
  const value = Number(text);
  return text !== '' && Number.isSafeInteger(value) ? value : text;
}

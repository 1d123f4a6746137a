import { ask, change, read, repeat } from './advice.js';

/** Registers, webhooks, messages, and the decisions of operators. */
export const OF_FLEET = {
  secret_required: change(
    'A secret goes only to the address that it was given for.',
    'Send the secret together with the new address.',
  ),
  address_not_allowed: ask(
    'The gateway does not call this address.',
    'Take a public https address; the operator of the gateway opens private networks.',
  ),
  code_taken: change('Codes are used once, also by what is archived.', 'Take another code, or restore the old one.'),
  in_use: read('Something depends on it, or a limit is reached.', 'Remove what `detail` names first.'),

  device_limit_reached: ask(
    'The merchant has as many registers as it may have.',
    'Delete one, or ask the operator of the gateway.',
  ),
  device_key_refused: change(
    'The register does not take this access token.',
    'Copy the token from the register: Profile → Local server.',
  ),
  device_not_activated: ask(
    'The register was never activated (E-001).',
    'Activate it at its screen; the tax office issues the module.',
  ),
  device_module_not_ready: ask(
    'The fiscal module does not answer or is broken (F-001).',
    'Read the register’s screen; call its service.',
  ),
  device_subscription_expired: ask(
    'The subscription of the register has ended (E-002).',
    'Pay it at the register’s vendor; waiting receipts then go out by themselves.',
  ),
  device_tin_mismatch: change('The module is issued to another TIN.', 'Connect it to its own merchant.'),
  device_terminal_taken: read(
    'The terminal is registered already.',
    'Read `GET /v1/devices`; change that device instead.',
  ),
  device_other_terminal: ask(
    'Another fiscal module stands at this address.',
    'Correct the address, or adopt the new module once a person has checked it.',
  ),
  device_not_a_register: change(
    'Something else answers there.',
    'Check address and port, and that the local server is switched on.',
  ),
  device_refused: ask(
    'The register refused; `errors` has its own code.',
    'Do what the code says ([runbook](runbook.md)).',
  ),
  device_unreachable: repeat(
    'The register cannot be reached. Nothing is lost.',
    'Check power, network and the local server; repeat later.',
  ),
  device_call_pending: repeat(
    'No relay took the call in time; nothing was changed.',
    'Repeat it; ask the operator of the gateway whether relays run.',
  ),
  device_not_enrolled: ask(
    'The register behind NAT has never dialled in.',
    'Finish its enrolment at the register ([links](link.md)).',
  ),
  device_replaced: ask('Another fiscal module was found in the register.', 'An operator adopts it in the console.'),
  device_disabled: ask('The register is disabled.', 'Its administrator enables it, or the sale goes elsewhere.'),
  device_claimed_elsewhere: ask(
    'Another merchant of this gateway holds the terminal.',
    'Prove by a challenge that the module is here.',
  ),
  terminal_not_claimed_elsewhere: read('The terminal is yours or free.', 'Nothing has to be proven.'),
  challenge_missing: change('No challenge is open, or it has expired.', 'Ask for one, then register its receipt.'),
  terminal_not_proven: change(
    'The receipt is of another terminal, or lacks the word.',
    'Register a receipt with the word of the challenge on this module.',
  ),
  ofd_unavailable: repeat('The OFD cannot be asked.', 'Repeat after `Retry-After`.'),
  device_not_at_rest: repeat('A receipt may have been routed to it a moment ago.', 'Repeat after `Retry-After`.'),
  device_lane_not_empty: repeat(
    'Receipts wait for this register.',
    'Repeat when they are out; those that are `unknown` need a decision.',
  ),
  device_not_replaced: read('There is nothing to adopt.', 'Read the device.'),
  terminal_still_watched: change(
    'The device has this module: what it has delivered to the OFD is read from it.',
    'Name the terminal of a module that is gone; of one that was put back from a copy say it before the device is adopted.',
  ),
  device_not_blocked: read('There is nothing to unblock.', 'Read the device.'),
  device_not_linked: read('The register is called at its address, not over a link.', 'Use address and key.'),

  webhook_limit_reached: change(
    'The merchant has as many webhooks as it may have.',
    'Delete one; one address may take all events.',
  ),
  webhook_disabled: change(
    'The webhook was disabled, perhaps after many failures.',
    'Correct the receiver, enable it, then replay.',
  ),
  channel_not_configured: ask(
    'The merchant has no account for this channel.',
    'The owner adds one ([messages](messages.md)).',
  ),
  account_disabled: ask('The account is disabled; `detail` says why.', 'The owner corrects and enables it.'),
  address_suppressed: read(
    'The buyer does not want messages, or the address does not exist.',
    'Show the receipt’s link in another way.',
  ),
  message_limit_reached: read('The receipt was sent often enough.', 'Read its messages; show the link or the QR code.'),

  attempt_open: ask('The register is still being asked.', 'Wait; or park the attempt in the console, then decide.'),
  attempt_closed: read('The attempt has ended by itself.', 'Read the receipt.'),
  already_resolved: read('Another decision was first.', 'Read the attempt and its receipt.'),
  lane_unsettled: repeat(
    'A lost request may still reach the register.',
    'Repeat the decision after `Retry-After`; do not force it.',
  ),
  sequence_taken: change(
    'The number belongs to another receipt.',
    'Read the number again from the register’s journal or the OFD.',
  ),
  receipt_not_registered: read(
    'Only a registered receipt allows this.',
    'Read the receipt; cancel it when it still waits.',
  ),
  fiscal_complete: read('The fiscal sign is there and never changes.', 'Read the receipt.'),
  contradicts_reading: change(
    'The register’s counters say something else.',
    'Compare number and time with the register’s journal.',
  ),
  contradicts_link: change(
    'The verification link says something else.',
    'Copy the values from the link’s page at the OFD.',
  ),
};

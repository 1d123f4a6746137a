import { chatOwner, messageAddressOwner, messageCredentialsOwner, messageKeyOwner } from './message-columns.js';
import { callbackOwner, credentialsOwner, instrumentOwner } from './payment-columns.js';
import { apiKeyOwner, idTokenOwner, signingSecretOwner, totpOwner, webhookSecretOwner } from './sealed-columns.js';

/** A column of envelope-encrypted values (`seal` of #runtime). */
export interface SealedColumn {
  table: string;
  /** Text, and one row at most for each; the primary key, but for codes and references, which are random. */
  idColumn: string;
  column: string;
  /** What the value of the row with this id is bound to. */
  ownerOf: (id: string) => string;
}

/** Every sealed column of the database: what a rotation of SECRETS_KEY has to seal anew. A test finds one that is missing. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'devices', idColumn: 'id', column: 'api_key_sealed', ownerOf: apiKeyOwner },
  // At most one code of a device is open; a used one has given its key to the device.
  { table: 'link_enrolments', idColumn: 'device_id', column: 'api_key_sealed', ownerOf: apiKeyOwner },
  { table: 'client_keys', idColumn: 'id', column: 'secret_sealed', ownerOf: signingSecretOwner },
  { table: 'provider_accounts', idColumn: 'id', column: 'credentials_sealed', ownerOf: credentialsOwner },
  { table: 'payments', idColumn: 'id', column: 'instrument_sealed', ownerOf: instrumentOwner },
  { table: 'provider_callbacks', idColumn: 'reference', column: 'body_sealed', ownerOf: callbackOwner },
  { table: 'webhook_secrets', idColumn: 'owner_id', column: 'secret_sealed', ownerOf: webhookSecretOwner },
  { table: 'webhook_secrets', idColumn: 'owner_id', column: 'previous_sealed', ownerOf: webhookSecretOwner },
  { table: 'message_accounts', idColumn: 'id', column: 'credentials_sealed', ownerOf: messageCredentialsOwner },
  { table: 'messages', idColumn: 'id', column: 'address_sealed', ownerOf: messageAddressOwner },
  { table: 'message_keys', idColumn: 'id', column: 'key_sealed', ownerOf: messageKeyOwner },
  { table: 'bot_chats', idColumn: 'id', column: 'chat_sealed', ownerOf: chatOwner },
  { table: 'users', idColumn: 'id', column: 'totp_sealed', ownerOf: totpOwner },
  { table: 'user_sessions', idColumn: 'id', column: 'id_token_sealed', ownerOf: idTokenOwner },
];

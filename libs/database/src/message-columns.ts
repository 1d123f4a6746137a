/** Names the row and column that sealed values of messages belong to: they open there only (`seal` and `open` of #secrets). */
export function messageAddressOwner(messageId: string): string {
  return `messages|${messageId}|address_sealed`;
}

export function messageCredentialsOwner(accountId: string): string {
  return `message_accounts|${accountId}|credentials_sealed`;
}

export function messageKeyOwner(id: string): string {
  return `message_keys|${id}|key_sealed`;
}

export function chatOwner(id: string): string {
  return `bot_chats|${id}|chat_sealed`;
}

/** Names the row and column that sealed values of payments belong to: they open there only (`seal` and `open` of #runtime). */
export function credentialsOwner(accountId: string): string {
  return `provider_accounts|${accountId}|credentials_sealed`;
}

export function instrumentOwner(paymentId: string): string {
  return `payments|${paymentId}|instrument_sealed`;
}

/** @param reference of the kept call: its row's own name, as its number is not known before it is written */
export function callbackOwner(reference: string): string {
  return `provider_callbacks|${reference}|body_sealed`;
}

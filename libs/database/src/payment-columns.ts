/** Names the row and column that sealed values of payments belong to: they open there only (`seal` and `open` of #runtime). */
export function credentialsOwner(accountId: string): string {
  return `provider_accounts|${accountId}|credentials_sealed`;
}

export function instrumentOwner(paymentId: string): string {
  return `payments|${paymentId}|instrument_sealed`;
}

/**
 * Names the row and column that a device's sealed API key belongs to: it opens there only (`seal` and `open` of #runtime).
 * Who seals and who opens must say the same, so it is said here.
 */
export function apiKeyOwner(deviceId: string): string {
  return `devices|${deviceId}|api_key_sealed`;
}

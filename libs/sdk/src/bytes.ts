/** Named by what makes them: the name of the type with its buffer differs between versions of TypeScript. */
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>['encode']>;

const encoder = new TextEncoder();

export function bytesOf(text: string): Bytes {
  return encoder.encode(text);
}

export function base64Of(bytes: ArrayLike<number>): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 1) binary += String.fromCharCode(bytes[at] ?? 0);
  return btoa(binary);
}

export function base64UrlOf(bytes: ArrayLike<number>): string {
  return base64Of(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @returns null when it is no base64 */
export function bytesOfBase64(text: string): Bytes | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

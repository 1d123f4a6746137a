type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/**
 * `/` anywhere but in a field, and Ctrl-K everywhere. Also where the keyboard writes Cyrillic: there the key of the K writes `л`, and that of the
 * slash a dot.
 */
export function asksForPalette(pressed: Pressed, isTyping: boolean): boolean {
  const { key, code, ctrlKey, metaKey, altKey } = pressed;
  if (ctrlKey || metaKey) return !altKey && (key.toLowerCase() === 'k' || (code === 'KeyK' && !isLatin(key)));
  return !altKey && !isTyping && (key === '/' || (key === '.' && code === 'Slash'));
}

/** A letter that a Latin keyboard, however it is laid out, has put there on purpose. */
function isLatin(key: string): boolean {
  return /^[a-z]$/i.test(key);
}

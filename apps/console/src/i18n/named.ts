/** A name that the console does not know yet is shown as it is. */
export function named(words: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(words, name) ? (words[name] ?? name) : name;
}

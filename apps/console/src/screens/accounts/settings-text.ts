/** `name = value`, one in each line; what a value holds behind the first `=` is its own. */
export type SettingsText = { kind: 'ok'; settings: Record<string, string> } | { kind: 'wrong'; line: string };

const NAME = /^[a-z][a-z0-9_]*$/;

export function readSettings(text: string): SettingsText {
  const settings: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(0, at)).trim();
    if (!NAME.test(name)) return { kind: 'wrong', line: line.trim().slice(0, 40) };
    // A key or certificate is one line here, with \n where it breaks.
    settings[name] = line
      .slice(at + 1)
      .trim()
      .replaceAll('\\n', '\n');
  }
  return { kind: 'ok', settings };
}

export function writeSettings(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value.replaceAll('\n', '\\n')}`)
    .join('\n');
}

/** Where the queue's Redis is, as QUEUE_URL says it. */
export type QueueAddress =
  | { kind: 'server'; url: string }
  | { kind: 'sentinel'; hosts: readonly Host[]; master: string; account: Account; isTls: boolean }
  | { kind: 'cluster'; hosts: readonly Host[]; account: Account; isTls: boolean };

export interface Host {
  host: string;
  port: number;
}

export interface Account {
  username?: string;
  password?: string;
}

const MUST =
  'a URL that begins with redis:// or rediss://, redis+sentinel://host,host/name, or redis+cluster://host,host';
const SEVERAL =
  /^(?<tls>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<account>[^@/]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<master>[\w.-]+))?$/;
const HOST = /^(?<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(?<port>\d{1,5}))?$/;
const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 };

/** @throws Error saying what it must be, without repeating what may hold a password */
export function parseQueueUrl(url: string): QueueAddress {
  if (/^rediss?:\/\//.test(url) && URL.canParse(url)) return { kind: 'server', url };
  const { tls, kind, account = '', hosts = '', master } = SEVERAL.exec(url)?.groups ?? {};
  const port = kind === 'sentinel' || kind === 'cluster' ? DEFAULT_PORTS[kind] : null;
  if (port === null) throw new Error(MUST);
  const several = { hosts: hosts.split(',').map((host) => parseHost(host, port)), account: parseAccount(account) };
  const isTls = tls === 'rediss';
  if (kind === 'cluster' && master === undefined) return { kind, ...several, isTls };
  if (kind === 'sentinel' && master !== undefined) return { kind, ...several, isTls, master };
  throw new Error(MUST);
}

/** For a table of settings: the text as it is, once it can be read. */
export function checkedQueueUrl(url: string): string {
  parseQueueUrl(url);
  return url;
}

function parseHost(text: string, defaultPort: number): Host {
  const { host, port } = HOST.exec(text)?.groups ?? {};
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) throw new Error(MUST);
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

function parseAccount(text: string): Account {
  if (text === '') return {};
  const [username = '', ...rest] = text.split(':');
  const password = rest.join(':');
  return {
    ...(username !== '' && { username: decoded(username) }),
    ...(password !== '' && { password: decoded(password) }),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error(MUST, { cause: error });
  }
}

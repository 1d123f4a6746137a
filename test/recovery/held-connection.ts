import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server on which a long answer stands still in the middle until it is resumed; other connections go on. */
export interface HeldConnection {
  port: number;
  /** A connection has carried so much, and stands. */
  held: Promise<void>;
  resume(): void;
  close(): Promise<void>;
}

export async function holdLongAnswer(target: number, bytes: number): Promise<HeldConnection> {
  const sockets = new Set<Socket>();
  let markHeld = (): void => undefined;
  const held = new Promise<void>((resolve) => (markHeld = resolve));
  let standing: Socket | null = null;
  let isOver = false;
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1');
    let carried = 0;
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.on('end', () => to.end());
      from.on('data', (chunk: Buffer) => {
        if (!to.write(chunk)) from.pause();
        if (from === client) return;
        carried += chunk.length;
        if (carried < bytes || standing !== null || isOver) return;
        standing = from.pause();
        markHeld();
      });
      to.on('drain', () => (from === standing ? undefined : from.resume()));
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    held,
    resume: () => {
      isOver = true;
      standing?.resume();
      standing = null;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}

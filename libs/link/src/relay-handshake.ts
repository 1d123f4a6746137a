import type { WebSocket } from 'ws';
import { CLOSE, decodeFrame, encodeFrame, LINK_LIMITS } from './frames.js';
import { isAnswerTo, newChallenge, readHello, type Hello, type LinkRefusal, type Verdict } from './handshake.js';

export type Greeting =
  | { kind: 'proven'; hello: Hello }
  | { kind: 'refused'; reason: LinkRefusal }
  | { kind: 'failed'; reason: string };

/**
 * The relay's side of a handshake: challenge, and the register's proof that it has the key that it names. Whether that key
 * may do anything is the caller's next question.
 */
export function greetRegister(
  socket: WebSocket,
  { relay, timeoutMs }: { relay: string; timeoutMs: number },
): Promise<Greeting> {
  const challenge = newChallenge(relay);
  return new Promise((resolve) => {
    const end = (greeting: Greeting): void => {
      clearTimeout(timer);
      socket.off('message', onMessage);
      socket.off('close', onClose);
      resolve(greeting);
    };
    const timer = setTimeout(() => {
      socket.close(CLOSE.tooSlow, 'no answer to the challenge');
      end({ kind: 'failed', reason: 'no answer to the challenge' });
    }, timeoutMs);
    const onClose = (): void => end({ kind: 'failed', reason: 'closed before an answer' });
    const onMessage = (data: unknown, isBinary: boolean): void => {
      const frame =
        isBinary && Buffer.isBuffer(data) && data.length <= LINK_LIMITS.handshakeBytes ? decodeFrame(data) : null;
      const hello = frame && readHello(frame.header);
      if (!hello) {
        socket.close(CLOSE.malformed, 'not an answer to the challenge');
        return end({ kind: 'failed', reason: 'not an answer to the challenge' });
      }
      end(isAnswerTo(challenge, hello) ? { kind: 'proven', hello } : { kind: 'refused', reason: 'signature_wrong' });
    };
    socket.on('message', onMessage);
    socket.on('close', onClose);
    socket.send(encodeFrame(challenge));
  });
}

/** The last word of a handshake. A refused register receives the reason, and is then cut. */
export function giveVerdict(socket: WebSocket, verdict: Verdict): void {
  socket.send(encodeFrame(verdict));
  if (verdict.type === 'refused') socket.close(CLOSE.refused, verdict.reason);
}

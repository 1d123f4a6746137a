import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorBody, httpStatusOf } from '#fiscal-module';
import { refusalCode, type FaultBoard } from './faults.js';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface FaultyCall {
  readonly path: string;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * Runs a call and answers it; on an emulator with the faults that strike around it. What is decided before the work
 * says nothing about the answer, and the other way round: a late request may also lose its answer.
 */
export async function withReceiptFaults(
  faults: FaultBoard | null,
  call: FaultyCall,
  work: () => Promise<Answer>,
): Promise<FastifyReply> {
  const { path, request, reply } = call;
  if (!faults) return send(reply, await work());
  if (faults.draw('drop_request', path)) return hangUp(request, reply);
  const refuse = faults.draw('refuse', path);
  if (refuse) {
    const code = refusalCode(refuse);
    const body = errorBody({ kind: 'refused', code, message: `refused by the emulator with ${code}` });
    return send(reply, { status: httpStatusOf(code), body });
  }
  const late = faults.draw('late_request', path);
  // Asleep on its way: it takes no place in line, holds no key, and works even when the client has gone.
  if (late) await sleep(late.delayMs);
  const answer = await work();
  // All of it now: a call that answers late uses up no rule that is set while it sleeps.
  const lateAnswer = faults.draw('late_answer', path);
  const isDropped = faults.draw('drop_answer', path) !== null;
  const isError = !isDropped && faults.draw('error_after', path) !== null;
  if (lateAnswer) await sleep(lateAnswer.delayMs);
  if (isDropped) return hangUp(request, reply);
  if (isError) {
    const body = errorBody({ kind: 'refused', code: 'S-004', message: 'error by the emulator in place of the answer' });
    return send(reply, { status: 500, body });
  }
  return send(reply, answer);
}

function send(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply.code(status).send(body);
}

function hangUp(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  request.raw.socket.destroy();
  return reply;
}

import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { isError, redact, scrubText } from './redaction.js';
import { currentTrace } from './tracing/tracing.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type Logger = PinoLogger;

/**
 * JSON lines with secrets removed by field name and by pattern (redaction.ts).
 * @param name the program, written into every line
 * @param destination standard output unless given
 */
export function createLogger(name: string, level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    base: { pid: process.pid },
    // Of the request or receipt that the line is about, while tracing is on.
    mixin: (): object => {
      const trace = currentTrace();
      return trace === null ? {} : { trace_id: trace.traceId };
    },
    timestamp: pino.stdTimeFunctions.isoTime,
    // redact() already turned errors into plain objects.
    serializers: { err: (error: unknown) => error },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => redact(fields) as Record<string, unknown>,
    },
    hooks: {
      logMethod(this: PinoLogger, args: Parameters<pino.LogFn>, method: pino.LogFn): void {
        const scrubbed = args.map((arg) => (typeof arg === 'string' ? scrubText(arg) : arg));
        // pino takes the message from an error when none is given, past the scrubbing: give it.
        const error = errorWithin(args[0]);
        if (error && args.length === 1) scrubbed.push(scrubText(error.message));
        method.apply(this, scrubbed as unknown as Parameters<pino.LogFn>);
      },
    },
  };
  return pino(options, destination ?? standardOutput());
}

let isGuarded = false;

/**
 * Node's own stream instead of pino's: when the reader of the pipe is gone (a supervisor that was killed), pino's final
 * flush tries for ever and the program could not be stopped. Lines that have no reader are dropped.
 */
function standardOutput(): DestinationStream {
  if (!isGuarded) {
    isGuarded = true;
    process.stdout.on('error', () => undefined);
  }
  return process.stdout;
}

function errorWithin(first: unknown): Error | undefined {
  if (isError(first)) return first;
  const inner = typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined;
  return isError(inner) ? inner : undefined;
}

/** Nest's own messages, through the program's logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    // Nest logs every module and route at start: useful when debugging only.
    this.write('debug', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  private write(level: Exclude<LogLevel, 'silent'>, message: unknown, rest: unknown[]): void {
    const context = rest.length > 0 ? rest[rest.length - 1] : undefined;
    const more = rest.slice(0, -1).filter((item) => item !== undefined);
    const fields: Record<string, unknown> = { context };
    if (more.length > 0) fields['more'] = more;
    if (isError(message)) this.logger[level]({ ...fields, err: message }, message.message);
    else this.logger[level](fields, typeof message === 'string' ? message : JSON.stringify(message));
  }
}

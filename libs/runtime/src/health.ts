import {
  Controller,
  Get,
  Inject,
  Module,
  Res,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Answers } from './answers.js';
import { Stopping } from './stopping.js';

/** Something without which the program cannot do its work. */
export interface ReadinessCheck {
  name: string;
  /** Rejects when it is not there. Bounded by the caller. */
  check(): Promise<unknown>;
  /** Shown, but the program can do its work without it. */
  optional?: boolean;
}

export type CheckState = 'up' | 'down' | 'timeout';

export interface Readiness {
  status: 'ready' | 'not_ready';
  checks: Record<string, { state: CheckState; took_ms: number }>;
}

const CHECKS = Symbol('readiness checks');
const CHECK_TIMEOUT_MS = 2_000;

/** Runs all checks at once; one that hangs is a failure after `timeoutMs`. Says nothing of the reason: that is logged. */
export async function checkReadiness(
  checks: readonly ReadinessCheck[],
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<Readiness> {
  const results = await Promise.all(
    checks.map(async (check) => {
      const begun = performance.now();
      const state = await boundedState(check, timeoutMs);
      const took_ms = Math.round(performance.now() - begun);
      return { name: check.name, state, took_ms, isFine: state === 'up' || check.optional === true };
    }),
  );
  const checksByName = results.map(({ name, state, took_ms }) => [name, { state, took_ms }] as const);
  const ready = results.every(({ isFine }) => isFine);
  return { status: ready ? 'ready' : 'not_ready', checks: Object.fromEntries(checksByName) };
}

async function boundedState(check: ReadinessCheck, timeoutMs: number): Promise<CheckState> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<CheckState>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), timeoutMs);
  });
  const state = Promise.resolve()
    .then(() => check.check())
    .then(
      (): CheckState => 'up',
      (): CheckState => 'down',
    );
  try {
    return await Promise.race([state, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const STOPPING: Readiness = { status: 'not_ready', checks: { stopping: { state: 'down', took_ms: 0 } } };

@Controller()
class HealthController {
  constructor(
    @Inject(CHECKS) private readonly checks: readonly ReadinessCheck[],
    private readonly stopping: Stopping,
  ) {}

  /** The process runs and its event loop turns. Asks no other program: a lost database must not restart the program. */
  @Get('healthz')
  alive(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Answers({ statuses: [200, 503] })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<Readiness> {
    const readiness = this.stopping.isBegun ? STOPPING : await checkReadiness(this.checks);
    void reply.header('cache-control', 'no-store').status(readiness.status === 'ready' ? 200 : 503);
    return readiness;
  }
}

/** `GET /healthz` and `GET /readyz`, and `Stopping`. The factory gets the injected providers and names the checks. */
@Module({})
export class HealthModule {
  static register(options: {
    imports?: ModuleMetadata['imports'];
    inject?: FactoryProvider['inject'];
    useFactory: FactoryProvider<readonly ReadinessCheck[]>['useFactory'];
  }): DynamicModule {
    return {
      module: HealthModule,
      imports: options.imports ?? [],
      controllers: [HealthController],
      providers: [{ provide: CHECKS, inject: options.inject ?? [], useFactory: options.useFactory }, Stopping],
      exports: [Stopping],
    };
  }
}

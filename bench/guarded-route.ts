import 'reflect-metadata';
import { Body, Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics } from '#runtime';
import { GatewayModule } from '../apps/gateway/src/gateway.module.js';
import { Scopes } from '../apps/gateway/src/http/scopes.js';
import { loadSettings } from '../apps/gateway/src/settings.js';

/**
 * The gateway as it runs, with one route more that does nothing: once behind all locks, once without any. Started as a
 * process of its own, so that its processor time is its own too.
 */
@Controller()
class BenchController {
  @Post('v1/bench')
  @HttpCode(200)
  @Scopes('receipts:write')
  guarded(@Body() body: Record<string, unknown>): unknown {
    return { fields: Object.keys(body).length };
  }

  @Post('bench')
  @HttpCode(200)
  open(@Body() body: Record<string, unknown>): unknown {
    return { fields: Object.keys(body).length };
  }

  /** Processor time of this process so far, microseconds. */
  @Get('bench/cpu')
  cpu(): { microseconds: number } {
    const { user, system } = process.cpuUsage();
    return { microseconds: user + system };
  }
}

const settings = loadSettings();
const logger = createLogger('gateway', settings.LOG_LEVEL);
const metrics = new Metrics('gateway');

@Module({ imports: [GatewayModule.create(settings, logger, metrics)], controllers: [BenchController] })
class BenchModule {}

const app = await createFastifyNestApp(BenchModule, { logger, metrics });
await app.listen(settings.GATEWAY_PORT, '127.0.0.1');

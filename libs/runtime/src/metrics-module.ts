import { Controller, Get, Inject, Module, Res, type DynamicModule } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Answers } from './answers.js';
import { Metrics } from './metrics.js';

@Controller()
class MetricsController {
  constructor(@Inject(Metrics) private readonly metrics: Metrics) {}

  @Get('metrics')
  @Answers({ mediaTypes: ['text/plain'] })
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { contentType, text } = await this.metrics.read();
    void reply.type(contentType);
    return text;
  }
}

/** `Metrics` for injection everywhere, and `GET /metrics` on the program's own port unless it has one of its own (metrics-server.ts). */
@Module({})
export class MetricsModule {
  static register(metrics: Metrics, { hasOwnPort }: { hasOwnPort: boolean }): DynamicModule {
    return {
      module: MetricsModule,
      global: true,
      controllers: hasOwnPort ? [] : [MetricsController],
      providers: [{ provide: Metrics, useValue: metrics }],
      exports: [Metrics],
    };
  }
}
